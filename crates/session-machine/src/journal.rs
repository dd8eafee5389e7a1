//! What the runtime itself writes into the log beside messages.
//!
//! A call is noted as started before it runs and as finished when it ends, not when its siblings end; the result nodes
//! follow together, in call order. A kill in between costs nothing that a tool has returned.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::{Draft, Timestamp, ToolResult};
use trunkline_session_store::{InboxId, Note, Record};

use crate::CallPlace;

/// The layer of the notes in this module.
pub const LAYER: &str = "runtime";

/// A call is about to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallStarted {
    /// Which.
    pub call: CallPlace,
    /// The tool.
    pub tool: String,
}

/// A call has ended, or will never run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CallFinished {
    pub(crate) call: CallPlace,
    pub(crate) result: ToolResult,
    /// Whether the tool ran to its end; if not, the result is the harness's word.
    pub(crate) ran: bool,
    /// What is told of it beside the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Value>,
}

/// A letter was read that could have no effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LetterRefused {
    /// Its number.
    pub letter: u64,
    /// What it asked for.
    pub kind: String,
    /// Why it had none.
    pub reason: String,
}

/// A letter was read that leaves no other trace: what it asked for is over, or was so already.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LetterTaken {
    letter: u64,
    kind: String,
}

/// Parts of an answer could not be read; the rest of it is the message of the same batch, if there is any.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AnswerUnread {
    parts: Vec<UnreadPart>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct UnreadPart {
    text: String,
    cause: String,
}

/// The kind of [`CallStarted`].
pub const CALL_STARTED: &str = "call_started";
pub(crate) const CALL_FINISHED: &str = "call_finished";
/// The kind of [`LetterRefused`].
pub const LETTER_REFUSED: &str = "letter_refused";
const LETTER_TAKEN: &str = "letter_taken";
const ANSWER_UNREAD: &str = "answer_unread";

/// The layer of what the tree keeps beside its entries.
pub const TREE: &str = "tree";
/// The kind of a note that names a node or a branch.
pub const NAME: &str = "name";
/// The state of a name that was taken away.
pub(crate) const GONE: &str = "gone";

/// What the letter is called that decides on a proposal.
pub(crate) const VERDICT: &str = "verdict";

/// Returns the entries of a draft as records.
pub(crate) fn entries(draft: Draft<'_>) -> Vec<Record> {
    draft.into_entries().into_iter().map(Record::Entry).collect()
}

/// Makes a record of a note.
pub fn note(layer: &str, kind: &str, at: Timestamp, body: &impl Serialize) -> Record {
    Record::Note(Note::new(layer, kind, at, json(body)))
}

/// Returns the body of a note.
pub fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("a note is plain data with text keys")
}

/// Returns the record of a letter that leaves no other: no batch that consumes a letter is empty, so the record at its
/// end tells what became of the letter.
pub fn letter_taken(letter: InboxId, kind: &str, at: Timestamp) -> Record {
    note(LAYER, LETTER_TAKEN, at, &LetterTaken { letter: letter.0, kind: kind.to_owned() })
}

/// Returns the record of what could not be read of an answer: how each part begins, and what is wrong with it.
pub(crate) fn unread(parts: &[(String, String)], at: Timestamp) -> Option<Record> {
    let part = |(text, cause): &(String, String)| UnreadPart { text: text.clone(), cause: cause.clone() };
    let parts: Vec<UnreadPart> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| note(LAYER, ANSWER_UNREAD, at, &AnswerUnread { parts }))
}

/// Reads a note's body.
///
/// # Errors
///
/// [`RuntimeError`](crate::RuntimeError) if that does not fit.
pub fn read<T: DeserializeOwned>(note: &Note) -> Result<T, crate::RuntimeError> {
    serde_json::from_str(&note.body).map_err(|source| crate::RuntimeError::BadNote {
        layer: note.layer.clone(),
        kind: note.kind.clone(),
        fault: source.to_string(),
    })
}
