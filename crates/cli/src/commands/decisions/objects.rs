//! All objects that a session holds: those of its own runs, and those of another system that were taken in.

use serde_json::{Map, Value};
use trunkline_runtime::decision_objects::{Family, Object, ParseError, RunId, git_internal};
use trunkline_runtime::{family_of, objects_taken_in};

use crate::commands::decisions::found::Book;

/// Whether a text is in git-internal's form; what is no JSON is in none.
pub(crate) fn is_git_internal(json: &str) -> bool {
    let fields: Option<Map<String, Value>> = serde_json::from_str(json).ok();
    fields.is_some_and(|fields| fields.contains_key("object_type") || fields.contains_key("object_id"))
}

/// Reads an object in the form in which it is; `None` if it is not wholly one of ours.
pub(crate) fn read(json: &str) -> Result<Option<Object>, ParseError> {
    match is_git_internal(json) {
        true => git_internal::import(json.as_bytes()).map(|imported| imported.object),
        false => Object::parse(json.as_bytes()).map(Some),
    }
}

/// Returns the texts of what was taken in, with the numbers of their records.
pub(super) fn taken_in(book: &Book) -> Vec<(u64, &str)> {
    objects_taken_in(&book.log).collect()
}

/// Returns what the session's own runs have brought about.
pub(super) fn own(book: &Book) -> Family {
    family_of(&book.log)
}

/// Returns all objects of a session side by side.
pub(super) fn all(book: &Book) -> Family {
    let mut all = own(book);
    all.extend(objects_taken_in(&book.log).filter_map(|(_, json)| read(json).ok().flatten()));
    all
}

/// Returns the objects of one run, with the task, the plan, the intent and the snapshot that it names.
pub(super) fn of_run(all: &Family, run: RunId) -> Family {
    let mut named = Vec::new();
    if let Some(Object::Run(record)) = all.get(run) {
        let opening = record.opening();
        named.extend(opening.intent.and_then(|id| all.get(id)));
        named.extend(opening.plan.and_then(|id| all.get(id)));
        named.extend(opening.task.and_then(|id| all.get(id)));
        named.extend(opening.snapshot.and_then(|id| all.get(id)));
    }
    named.into_iter().chain(all.iter().filter(|object| object.run() == Some(run))).cloned().collect()
}
