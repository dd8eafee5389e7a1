//! A whole family in git-internal's form, and what each object loses by it.

use serde_json::{Map, Value};

use super::{Kind, NoForm, Violation, import, project};
use crate::{Actor, Family, Object, ObjectName, RunId, Timestamp};

/// An object in git-internal's form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Projected {
    /// The JSON, as its writer would write it.
    pub json: String,
    /// What does not come back from it: the keys of our form, or why nothing comes back. Empty if the same object does.
    pub lost: Vec<String>,
}

/// What became of one object of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The object.
    pub object: ObjectName,
    /// Its text, or why it has none there.
    pub projected: Result<Projected, NoForm>,
}

/// Prints every object of a family in git-internal's form, in the order of adding; objects whose name was already taken come last.
///
/// A patch set and evidence were made when their run was opened, and by its actor, as far as that form wants to know: ours
/// does not say. Where the run is not in the family its decision stands in.
///
/// ```
/// use trunkline_decision_objects::git_internal::export;
/// use trunkline_decision_objects::{Family, Object};
///
/// let run = r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000002","at":"2026-11-21T20:49:31Z","actor":{"kind":"agent","id":"coder-1"},"goal":"fix it","base_commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","task":"00000000-0000-0000-0000-000000000001"}"#;
/// let family: Family = [Object::parse(run.as_bytes())?].into_iter().collect();
/// let [one] = export(&family).try_into().expect("there is one");
/// let projected = one.projected.expect("a run with a task and a commit has a form there");
/// assert!(projected.json.starts_with(r#"{"object_id":"00000000-0000-0000-0000-000000000002","object_type":"run""#));
/// assert_eq!(projected.lost, ["goal"]);
/// # Ok::<(), trunkline_decision_objects::ParseError>(())
/// ```
#[must_use]
pub fn export(family: &Family) -> Vec<Exported> {
    let decisions = family.first_decisions();
    let made = |run: RunId| -> Option<(Timestamp, &Actor)> {
        if let Some(Object::Run(run)) = family.get(run) {
            return Some((run.opening().at, &run.opening().actor));
        }
        decisions.get(&run).map(|decision| (decision.at(), decision.decided_by()))
    };
    let exported = |object: &Object| {
        let made = match object {
            Object::PatchSet(patch_set) => made(patch_set.run()).ok_or(Kind::PatchSet),
            Object::Evidence(evidence) => made(evidence.run()).ok_or(Kind::Evidence),
            Object::Run(run) => Ok((run.opening().at, &run.opening().actor)),
            Object::Decision(decision) => Ok((decision.at(), decision.decided_by())),
            Object::Intent(one) => Ok((one.header().at, &one.header().by)),
            Object::Plan(one) => Ok((one.header().at, &one.header().by)),
            Object::Task(one) => Ok((one.header().at, &one.header().by)),
            Object::ContextSnapshot(one) => Ok((one.header().at, &one.header().by)),
            Object::Provenance(one) => Ok((one.header().at, &one.header().by)),
            Object::IntentEvent(one) => Ok((one.header().at, &one.header().by)),
            Object::TaskEvent(one) => Ok((one.header().at, &one.header().by)),
            Object::RunEvent(one) => Ok((one.header().at, &one.header().by)),
            Object::StepEvent(one) => Ok((one.header().at, &one.header().by)),
            Object::Usage(one) => Ok((one.header().at, &one.header().by)),
            Object::ToolInvocation(one) => Ok((one.header().at, &one.header().by)),
            Object::ContextFrame(one) => Ok((one.header().at, &one.header().by)),
            Object::Selection(one) => Ok((one.header().at, &one.header().by)),
        };
        let (at, by) = made.map_err(|kind| NoForm::Needs { kind, field: "created_by" })?;
        project_told(object, at, by)
    };
    let all = family.iter().chain(family.clashes());
    all.map(|object| Exported { object: object.name(), projected: exported(object) }).collect()
}

/// Prints an object as [`project`] does, and tells what that form has no place for.
///
/// # Errors
///
/// As [`project`].
pub fn project_told(object: &Object, at: Timestamp, by: &Actor) -> Result<Projected, NoForm> {
    let json = project(object, at, by)?;
    let lost = match import(json.as_bytes()) {
        Ok(imported) => match &imported.object {
            Some(again) if again == object => Vec::new(),
            Some(again) => differing(object, again),
            None => imported
                .violations
                .iter()
                .filter(|one| !one.is_harmless())
                .map(Violation::to_string)
                .collect(),
        },
        // What is written can be read; should that fail once, it is told and not passed over.
        Err(error) => vec![error.to_string()],
    };
    Ok(Projected { json, lost })
}

/// The keys under which two objects differ.
fn differing(one: &Object, other: &Object) -> Vec<String> {
    let (one, other) = (entries(one), entries(other));
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().filter(|&key| one.get(key) != other.get(key)).cloned().collect()
}

fn entries(object: &Object) -> Map<String, Value> {
    serde_json::from_str(&object.print()).unwrap_or_default()
}
