//! What a person alone lets be written: the folder in which a project keeps what later runs go by.
//!
//! Neither a policy, nor a rule, nor the model approves what is written there, and a call that may change something and names
//! the folder is asked about under every policy. In what other words a command could say it no text tells; whatever comes to
//! stand there counts for nothing until a person has trusted it.

use serde_json::{Map, Value};
use trunkline_resolve_queue::{Entry, NextDecision};

use crate::state::resolve::Part;
use crate::words::call::{Access, Proposal};

/// The name of the folder, wherever it lies.
const FOLDER: &str = ".trunkline";

/// Returns whether a proposal writes there.
pub(crate) fn is_written(proposal: &Proposal) -> bool {
    let is_inside = |path: &str| path.split(['/', '\\']).any(|name| name.eq_ignore_ascii_case(FOLDER));
    proposal.written().any(is_inside)
}

/// Returns whether a call names the folder, of a tool that may change something.
pub(crate) fn is_named(access: Access, arguments: &Map<String, Value>) -> bool {
    access == Access::Exclusive && is_in_fields(arguments)
}

/// A path may be the name of a field as well as what it holds.
fn is_in_fields(fields: &Map<String, Value>) -> bool {
    fields.iter().any(|(name, value)| is_in_text(name) || is_in(value))
}

fn is_in(value: &Value) -> bool {
    match value {
        Value::String(text) => is_in_text(text),
        Value::Array(items) => items.iter().any(is_in),
        Value::Object(fields) => is_in_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_in_text(text: &str) -> bool {
    text.as_bytes().windows(FOLDER.len()).any(|piece| piece.eq_ignore_ascii_case(FOLDER.as_bytes()))
}

/// Returns whether a person alone may approve something that is in the queue, whatever it was staged with: a log of an earlier
/// version says that a policy may.
pub(crate) fn is_guarded(part: &Part, entry: &Entry<Value>) -> bool {
    let arguments = || entry.proposal.payload.get("arguments").and_then(Value::as_object);
    match part.gated_call(entry.id) {
        None => is_written(&entry.proposal),
        Some(_) => arguments().is_some_and(|arguments| is_named(Access::Exclusive, arguments)),
    }
}

/// Takes a decision from everybody but a person.
pub(crate) fn by_person(next: NextDecision) -> NextDecision {
    match next {
        NextDecision::Approve | NextDecision::Model => NextDecision::Person,
        next @ (NextDecision::Forbid | NextDecision::Person | NextDecision::GiveUp) => next,
    }
}
