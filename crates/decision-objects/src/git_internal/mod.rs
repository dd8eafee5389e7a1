//! The JSON form of git-internal's `Decision` object (0.8 to 0.10, read 2026-11).
//!
//! That form is a projection: it has no place for evidence, considered alternatives, who approved, or which decision a
//! rollback undoes, and it refuses unknown keys, so nothing of ours can ride along. Keep our own form beside it.
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
//! assert!(imported.decision.is_none());
//! let violation = imported.violations[0].to_string();
//! assert_eq!(violation, r#"decision_type: "Commit" is not a label: it reads like the reserved word `commit`"#);
//! // It is not ours to correct: it goes out as it came in.
//! assert_eq!(imported.print().as_bytes(), bytes);
//! # Ok::<(), trunkline_decision_objects::ParseError>(())
//! ```

mod any_json;
mod decision;
mod flat;
mod judge;
mod schema;
mod time;
mod violation;

pub use schema::Kind;
pub use violation::Violation;

use std::borrow::Cow;

use uuid::Uuid;

use crate::json::{Fields, read};
use crate::{Actor, Decision, Digest, Fault, ParseError, Timestamp};
use flat::{Flat, Value};
use judge::Judge;
use time::Time;

/// An object that came from outside, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// What it was read as.
    pub kind: Kind,
    /// The decision, if it is one and keeps our rules: each violation [is harmless](Violation::is_harmless).
    ///
    /// That its patch set is of its own run cannot be seen here; ask [`Decision::check_grounds`].
    pub decision: Option<Decision>,
    /// Everything that is wrong with it; the header comes first.
    pub violations: Vec<Violation>,
    /// The bytes that came in.
    pub original: Vec<u8>,
    /// What was read as it is printed, if that is not the original.
    respelled: Option<String>,
}

impl Imported {
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
    let fields = Fields::document(json, None)?;
    let missing = || ParseError::from(Fault::MissingKey);
    let kind = fields
        .peek("object_type")
        .ok_or_else(missing)
        .and_then(|raw| read::word(raw, "the type of one of git-internal's AI objects", Kind::of_word));
    finish(json, fields, kind.map_err(|error| error.inside_key("object_type"))?)
}

/// Reads an object as one of the given kind, as git-internal's readers do: they never look at `object_type`.
///
/// # Errors
///
/// As [`import`], but any of git-internal's 23 object types is let pass and listed.
pub fn import_as(kind: Kind, json: &[u8]) -> Result<Imported, ParseError> {
    finish(json, Fields::document(json, None)?, kind)
}

fn finish(json: &[u8], fields: Fields<'_>, kind: Kind) -> Result<Imported, ParseError> {
    let flat = Flat::parse(fields, kind)?;
    let mut judge = Judge::default();
    let decision = judge.decision(&flat);
    judge.traps(flat.body());
    let mut violations = judge.violations;
    let decision = decision.filter(|_| violations.iter().all(Violation::is_harmless));
    let respelled = Some(flat.print()).filter(|printed| printed.as_bytes() != json);
    if respelled.is_some() {
        violations.push(Violation::Respelled);
    }
    Ok(Imported { kind, decision, violations, original: json.to_vec(), respelled })
}

/// Prints a decision in git-internal's form.
///
/// The verdict's reason and the decision's rationale share one field there; if both are given, a blank line parts them.
#[must_use]
pub fn print(decision: &Decision) -> String {
    decision::project(decision).print()
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
