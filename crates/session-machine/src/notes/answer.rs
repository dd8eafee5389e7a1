//! What is recorded beside an answer of the model: what of it could not be read, behind what it was written, or why it came to
//! nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_sanitize::PrefixDigest;
use trunkline_session_store::{Note, Record};

use crate::notes::journal::LAYER;
use crate::notes::record::note;
use crate::words::attempt::Attempt;
use crate::words::event::Event;

/// The kind of the note of an attempt.
pub(crate) const ATTEMPT: &str = "attempt";
pub(crate) const WRITTEN_UNDER: &str = "written_under";
const ANSWER_UNREAD: &str = "answer_unread";

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

/// An answer that holds reasoning which is bound was written behind this.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WrittenUnder {
    pub(crate) node: NodeId,
    pub(crate) prefix: PrefixDigest,
}

/// Returns the record of what could not be read of an answer: how each part begins, and what is wrong with it.
pub(crate) fn unread(parts: &[(String, String)], at: Timestamp) -> Option<Record> {
    let part = |(text, cause): &(String, String)| UnreadPart { text: text.clone(), cause: cause.clone() };
    let parts: Vec<UnreadPart> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| note(LAYER, ANSWER_UNREAD, at, &AnswerUnread { parts }))
}

/// Returns the record of an attempt that came to nothing.
pub(crate) fn attempted(attempt: &Attempt, at: Timestamp) -> Record {
    note(LAYER, ATTEMPT, at, attempt)
}

/// Returns the record of what an answer was written behind.
pub(crate) fn written_under(written: &WrittenUnder, at: Timestamp) -> Record {
    note(LAYER, WRITTEN_UNDER, at, written)
}

/// Returns what observers are told of a recorded note.
pub fn event(note: &Note) -> Option<Event> {
    if (note.layer.as_str(), note.kind.as_str()) != (LAYER, ATTEMPT) {
        return None;
    }
    let attempt: Attempt = serde_json::from_str(&note.body).ok()?;
    let wait = attempt.until.map(|until| Duration::from_millis(until.0.saturating_sub(note.at.0)));
    Some(Event::AttemptFailed { attempt, wait })
}
