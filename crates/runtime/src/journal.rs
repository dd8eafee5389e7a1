//! What the runtime itself writes into the log beside messages.
//!
//! A call is noted as started before it runs and as finished when it ends, not when its siblings end; the result nodes
//! follow together, in call order. A kill in between costs nothing that a tool has returned.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Timestamp, ToolResult};
use trunkline_session_store::{Note, Record};

use crate::CallPlace;

/// The layer of the notes in this module.
pub(crate) const LAYER: &str = "runtime";

/// A call is about to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CallStarted {
    pub(crate) call: CallPlace,
    pub(crate) tool: String,
}

/// A call has ended, or will never run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CallFinished {
    pub(crate) call: CallPlace,
    pub(crate) result: ToolResult,
    /// Whether the tool ran to its end; if not, the result is the harness's word.
    pub(crate) ran: bool,
}

/// A letter was read that could have no effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LetterRefused {
    pub(crate) letter: u64,
    pub(crate) kind: String,
    pub(crate) reason: String,
}

pub(crate) const CALL_STARTED: &str = "call_started";
pub(crate) const CALL_FINISHED: &str = "call_finished";
pub(crate) const LETTER_REFUSED: &str = "letter_refused";

/// Makes a record of a note.
pub(crate) fn note(layer: &str, kind: &str, at: Timestamp, body: &impl Serialize) -> Record {
    let body = serde_json::to_string(body).expect("a note is plain data with text keys");
    Record::Note(Note { layer: layer.to_owned(), kind: kind.to_owned(), at, body })
}

/// Reads a note's body.
pub(crate) fn read<T: DeserializeOwned>(note: &Note) -> Result<T, crate::RuntimeError> {
    serde_json::from_str(&note.body).map_err(|source| crate::RuntimeError::BadNote {
        layer: note.layer.clone(),
        kind: note.kind.clone(),
        fault: source.to_string(),
    })
}
