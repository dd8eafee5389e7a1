//! The JSON forms of git-internal's sixteen AI objects (0.8 to 0.10, read 2026-11).
//!
//! Each is a projection of ours, and unknown keys are refused there, so nothing of ours can ride along: a decision has no
//! place for its evidence, a usage none for what a cache took, a run none for its goal. Keep our own form beside it;
//! [`project`] says for each kind what is lost.
//!
//! The other way, two become none of ours: a patch set, unless its artifact says the digest of its diff (as [`project`] writes
//! it: the store `sha256`, and the digest as the key), and a rollback, which does not say what it undoes. Their bytes are
//! kept, and the violations say so. [`export`] writes a whole [`Family`](crate::Family), and tells for each object what is lost.
//!
//! A commit's name must have 64 digits there. The name of a SHA-1 commit is filled up with 24 zeros, here and nowhere else.
//!
//! ```
//! use trunkline_decision_objects::git_internal;
//!
//! let bytes = br#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"Commit"}"#;
//! let imported = git_internal::import(bytes)?;
//!
//! // Its own reader takes "Commit" for a word of somebody else's, and so for a verdict that is no commit.
//! assert!(imported.object.is_none());
//! let violation = imported.violations[0].to_string();
//! assert_eq!(violation, r#"decision_type: "Commit" is not a label: it reads like the reserved word `commit`"#);
//! // It is not ours to correct: it goes out as it came in.
//! assert_eq!(imported.print().as_bytes(), bytes);
//! # Ok::<(), trunkline_decision_objects::ParseError>(())
//! ```

mod any_json;
mod decision;
mod events;
mod export;
mod flat;
mod judge;
mod project;
mod schema;
mod snapshots;
mod time;
mod violation;
mod written;

pub use export::{Exported, Projected, export, project_told};
pub use project::NoForm;
pub use schema::Kind;
pub use violation::Violation;

use std::borrow::Cow;

use uuid::Uuid;

use crate::invalid::excerpt;
use crate::json::Fields;
use crate::{Actor, Decision, Digest, Fault, Object, ParseError, Timestamp};
use flat::{Flat, Value};
use judge::Judge;
use time::Time;

/// An object that came from outside, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// What it was read as.
    pub kind: Kind,
    /// The object, if it keeps our rules: each violation [is harmless](Violation::is_harmless).
    ///
    /// What it says of others is not looked at, such as whether a plan is for the run's intent; a
    /// [`Family`](crate::Family) tells that.
    pub object: Option<Object>,
    /// Everything that is wrong with it; the header comes first.
    pub violations: Vec<Violation>,
    /// The bytes that came in.
    pub original: Vec<u8>,
    /// What was read as it is printed, if that is not the original.
    respelled: Option<String>,
}

impl Imported {
    /// The decision, if it is one and keeps our rules.
    #[must_use]
    pub const fn decision(&self) -> Option<&Decision> {
        match &self.object {
            Some(Object::Decision(decision)) => Some(decision),
            _ => None,
        }
    }

    /// Prints what was read, as git-internal's writer would: not an echo of the bytes that came in.
    ///
    /// The two are the same unless [`Violation::Respelled`] is listed.
    #[must_use]
    pub fn print(&self) -> String {
        let original = || String::from_utf8_lossy(&self.original).into_owned();
        self.respelled.clone().unwrap_or_else(original)
    }
}

/// Reads an object at least as leniently as git-internal itself does, and lists what it let pass.
///
/// Which object it is, its `object_type` says.
///
/// # Errors
///
/// [`ParseError`] for what git-internal refuses too: not JSON, unknown, duplicate and missing keys, wrong types,
/// malformed ids, times and hashes; and for an `object_type` that is none of the AI objects.
pub fn import(json: &[u8]) -> Result<Imported, ParseError> {
    if let Some(flat) = written::read(json, None) {
        return Ok(judged(json, &flat, None));
    }
    let fields = Fields::document(json, None)?;
    let missing = || ParseError::from(Fault::MissingKey);
    let kind = fields.peek("object_type").ok_or_else(missing).and_then(|raw| {
        let text = flat::object_type(raw)?;
        Kind::of_word(&text).ok_or_else(|| {
            let expected = "the type of one of git-internal's AI objects";
            Fault::UnknownWord { found: excerpt(&text), expected }.into()
        })
    });
    finish(json, fields, kind.map_err(|error| error.inside_key("object_type"))?)
}

/// Reads an object as one of the given kind, as git-internal's readers do: they never look at `object_type`.
///
/// # Errors
///
/// As [`import`], but any of git-internal's 23 object types is let pass and listed.
pub fn import_as(kind: Kind, json: &[u8]) -> Result<Imported, ParseError> {
    match written::read(json, Some(kind)) {
        Some(flat) => Ok(judged(json, &flat, None)),
        None => finish(json, Fields::document(json, None)?, kind),
    }
}

fn finish(json: &[u8], fields: Fields<'_>, kind: Kind) -> Result<Imported, ParseError> {
    let flat = Flat::parse(fields, kind)?;
    let respelled = Some(flat.print()).filter(|printed| printed.as_bytes() != json);
    Ok(judged(json, &flat, respelled))
}

fn judged(json: &[u8], flat: &Flat<'_>, respelled: Option<String>) -> Imported {
    let mut judge = Judge::default();
    let object = judge.object(flat);
    judge.traps(flat.body());
    let mut violations = judge.violations;
    let object = object.filter(|_| violations.iter().all(Violation::is_harmless));
    if respelled.is_some() {
        violations.push(Violation::Respelled);
    }
    Imported { kind: flat.kind, object, violations, original: json.to_vec(), respelled }
}

/// Prints a decision in git-internal's form.
///
/// The verdict's reason and the decision's rationale share one field there; if both are given, a blank line parts them.
#[must_use]
pub fn print(decision: &Decision) -> String {
    decision::project(decision).print()
}

/// Prints any object of ours in git-internal's form.
///
/// `at` and `by` stand in the header where ours does not say when and by whom: patch sets say neither, evidence does not
/// say who.
///
/// What has no place there is lost:
///
/// | ours | lost |
/// |---|---|
/// | run | goal, predecessor, intent, the state of the files; `cwd` is written empty |
/// | patch set | the text of the diff, what a renamed file was called; lines that nobody counted are 0, and so is a sequence that was not given |
/// | decision | evidence, alternatives, who approved, what it cites, what a rollback undoes and reverts to, the state that a checkpoint names |
/// | evidence | the decision that rests on it |
/// | usage | which tokens the cache took and gave: they count as input; of more than nine billion dollars the last digits |
/// | tool invocation | the call's name, its times, digests of artifacts; what was denied, cancelled or timed out is `error` |
/// | context frame, run event, step event, arguments of a tool | whether a text that is JSON was meant as text; what [`import`] read comes back as it was |
/// | whatever holds JSON | spelling and order of keys; `null` is written, and its reader takes it for absent; what its reader cannot hold (a number beyond a double's, half a surrogate pair) becomes a text |
///
/// # Errors
///
/// [`NoForm`] for a run without a task or a commit, and a patch set without a commit: its reader refuses those. A selection
/// has no object there.
pub fn project(object: &Object, at: Timestamp, by: &Actor) -> Result<String, NoForm> {
    project::flat(object, at, by).map(|flat| flat.print())
}

/// The SHA-256 that git-internal calls the object hash: over a word for the kind, a space, the length, NUL and the JSON.
///
/// The word is not always the one in `object_type`: `patchset`, `snapshot` and `invocation` are shorter here.
#[must_use]
pub fn object_hash(kind: Kind, json: &str) -> Digest {
    Digest::of(format!("{} {}\0{json}", kind.label(), json.len()).as_bytes())
}

fn header(kind: Kind, id: Uuid, at: Timestamp, by: &Actor) -> [Value<'_>; 5] {
    [Value::Uuid(id), Value::Word(kind.as_str()), Value::Unsigned(1), Value::Time(Time::Ours(at)), actor(by)]
}

fn actor(by: &Actor) -> Value<'_> {
    let kind = Value::Other(Cow::Borrowed(by.kind.as_str()));
    let display_name =
        by.display_name.as_deref().map_or(Value::Absent, |name| Value::Text(Cow::Borrowed(name)));
    Value::Record(vec![kind, Value::Text(Cow::Borrowed(by.id.as_str())), display_name])
}

impl Judge {
    fn object(&mut self, flat: &Flat<'_>) -> Option<Object> {
        Some(match flat.kind {
            Kind::Intent => Object::Intent(self.intent(flat)?),
            Kind::Plan => Object::Plan(self.plan(flat)?),
            Kind::Task => Object::Task(self.task(flat)?),
            Kind::Run => Object::Run(self.run(flat)?),
            Kind::PatchSet => Object::PatchSet(self.patch_set(flat)?),
            Kind::ContextSnapshot => Object::ContextSnapshot(self.context_snapshot(flat)?),
            Kind::Provenance => Object::Provenance(self.provenance(flat)?),
            Kind::IntentEvent => Object::IntentEvent(self.intent_event(flat)?),
            Kind::TaskEvent => Object::TaskEvent(self.task_event(flat)?),
            Kind::RunEvent => Object::RunEvent(self.run_event(flat)?),
            Kind::PlanStepEvent => Object::StepEvent(self.step_event(flat)?),
            Kind::RunUsage => Object::Usage(self.usage(flat)?),
            Kind::ToolInvocation => Object::ToolInvocation(self.tool_invocation(flat)?),
            Kind::Evidence => Object::Evidence(self.evidence(flat)?),
            Kind::ContextFrame => Object::ContextFrame(self.context_frame(flat)?),
            Kind::Decision => Object::Decision(self.decision(flat)?),
        })
    }
}
