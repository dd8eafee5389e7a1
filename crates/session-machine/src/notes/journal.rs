//! What the runtime itself writes into the log beside messages.
//!
//! A call is noted as started before it runs and as finished when it ends, not when its siblings end; the result nodes
//! follow together, in call order. A kill in between costs nothing that a tool has returned.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::{Timestamp, ToolResult};
use trunkline_revert::Effects;
use trunkline_session_store::{InboxId, Record};

use crate::notes::record::note;
use crate::words::call::CallPlace;

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
    /// What it did to the world, as its tool said when it ended; `None` if the tool said nothing, or nobody asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) effects: Option<Box<Effects>>,
}

/// What people are shown for a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToolLabel {
    pub(crate) tool: String,
    pub(crate) label: String,
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

/// The kind of [`CallStarted`].
pub const CALL_STARTED: &str = "call_started";
/// The kind of the record that a call has ended, or will never run.
pub const CALL_FINISHED: &str = "call_finished";
/// The kind of a note on what people are shown for a tool.
pub const TOOL_LABEL: &str = "tool_label";
/// The kind of [`LetterRefused`].
pub const LETTER_REFUSED: &str = "letter_refused";
const LETTER_TAKEN: &str = "letter_taken";

/// What the letter is called that decides on a proposal.
pub(crate) const VERDICT: &str = "verdict";

/// Returns the record that a call is about to run.
pub(crate) fn call_started(call: &CallPlace, tool: &str, at: Timestamp) -> Record {
    note(LAYER, CALL_STARTED, at, &CallStarted { call: call.clone(), tool: tool.to_owned() })
}

/// Returns the record of what people are shown for a tool.
pub(crate) fn tool_label(tool: &str, label: &str, at: Timestamp) -> Record {
    note(LAYER, TOOL_LABEL, at, &ToolLabel { tool: tool.to_owned(), label: label.to_owned() })
}

/// Returns the record of a call's result.
pub(crate) fn call_finished(finished: &CallFinished, at: Timestamp) -> Record {
    note(LAYER, CALL_FINISHED, at, finished)
}

/// Returns the record of a letter that leaves no other: no batch that consumes a letter is empty, so the record at its
/// end tells what became of the letter.
pub fn letter_taken(letter: InboxId, kind: &str, at: Timestamp) -> Record {
    note(LAYER, LETTER_TAKEN, at, &LetterTaken { letter: letter.0, kind: kind.to_owned() })
}
