//! What is recorded of branches that were left: the notes for the model, the requests, what they cost, and what a watch has seen.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{MoveId, NodeId, Timestamp};
use trunkline_revert::{
    Break, CacheMiss, MergeRecord, MergeRefused, Note, Observation, ProposalEvent, PruneRecord, Record,
    SummaryBy, UnreadRequest,
};
use trunkline_session_store::{Note as StoredNote, Record as Stored};

use crate::notes::record::{note, read};
use crate::words::event::Event;

/// The layer of the notes in this module.
pub const LAYER: &str = "revert";
/// The kind of a note that a revert leaves for the model.
pub const NOTE: &str = "note";
pub(crate) const DRAINED: &str = "drained";
/// A request to revert whose arguments could not be read.
pub(crate) const UNREAD: &str = "unread";
pub(crate) const MERGE: &str = "merge";
/// A model's merge that was refused.
pub(crate) const MERGE_REFUSED: &str = "merge_refused";
/// Results that the model leaves out of later requests, or was not allowed to.
pub(crate) const PRUNED: &str = "pruned";
pub(crate) const CACHE_MISS: &str = "cache_miss";
/// A summary was asked for, of a revert that had none.
pub const SUMMARY_ASKED: &str = "summary_asked";
/// A turn that has ended, as a watch sees it.
pub(crate) const TURN: &str = "turn";
/// A step back that was proposed, or what became of it.
pub(crate) const PROPOSAL: &str = "proposal";
pub(crate) const BREAK: &str = "break";
pub(crate) const FAILED: &str = "compaction_failed";

/// A summary was asked for.
#[derive(Serialize, Deserialize)]
pub struct SummaryAsked {
    #[serde(rename = "move")]
    /// The revert.
    pub head_move: MoveId,
}

/// What is kept of a miss.
#[derive(Serialize, Deserialize)]
pub(crate) struct CacheMissNote {
    /// The revert after which it was.
    #[serde(rename = "move")]
    pub(crate) head_move: MoveId,
    /// The message that brought the usage.
    pub(crate) node: NodeId,
    #[serde(flatten)]
    pub(crate) miss: CacheMiss,
}

/// A summary could not be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// Where the head was.
    pub(crate) head: NodeId,
    /// How large the prompt was.
    pub(crate) tokens: u64,
    pub(crate) reason: String,
}

/// Returns whether a look at a session tells what notes of a kind say; the others are for the writer.
pub fn is_told(kind: &str) -> bool {
    [NOTE, DRAINED, UNREAD, MERGE, PRUNED, PROPOSAL, BREAK].contains(&kind)
}

/// Returns the record of what a move leaves for the model.
pub(crate) fn told(told: &Note, at: Timestamp) -> Stored {
    note(LAYER, NOTE, at, told)
}

/// Returns the record of a request to revert, applied or refused.
pub(crate) fn drained(drained: &Record, at: Timestamp) -> Stored {
    note(LAYER, DRAINED, at, drained)
}

/// Returns the record of a request whose arguments could not be read.
pub(crate) fn unread(request: &UnreadRequest, at: Timestamp) -> Stored {
    note(LAYER, UNREAD, at, request)
}

/// Returns the record of a merge.
pub(crate) fn merged(merge: &MergeRecord, at: Timestamp) -> Stored {
    note(LAYER, MERGE, at, merge)
}

/// Returns the record of a model's merge that was refused.
pub(crate) fn merge_refused(refused: &MergeRefused, at: Timestamp) -> Stored {
    note(LAYER, MERGE_REFUSED, at, refused)
}

/// Returns the record of results that are left out, or of why they are not.
pub(crate) fn pruned(pruned: &PruneRecord, at: Timestamp) -> Stored {
    note(LAYER, PRUNED, at, pruned)
}

/// Returns the record of a cache that was read less than was expected.
pub(crate) fn missed(missed: &CacheMissNote, at: Timestamp) -> Stored {
    note(LAYER, CACHE_MISS, at, missed)
}

/// Returns the record that a summary was asked for.
pub(crate) fn summary_asked(head_move: MoveId, at: Timestamp) -> Stored {
    note(LAYER, SUMMARY_ASKED, at, &SummaryAsked { head_move })
}

/// Returns the record of a turn, as a watch sees it.
pub(crate) fn turn(turn: &Observation, at: Timestamp) -> Stored {
    note(LAYER, TURN, at, turn)
}

/// Returns the record of a step back that was proposed, or of what became of it.
pub(crate) fn proposal(event: &ProposalEvent, at: Timestamp) -> Stored {
    note(LAYER, PROPOSAL, at, event)
}

/// Returns the record of the place from which on a request does not continue the one before it.
pub(crate) fn broke(lost: &Break, at: Timestamp) -> Stored {
    note(LAYER, BREAK, at, lost)
}

/// Returns the record of a compaction that came to nothing.
pub(crate) fn compaction_failed(failed: &Failed, at: Timestamp) -> Stored {
    note(LAYER, FAILED, at, failed)
}

/// Returns what observers are told of a recorded note.
pub fn event(note: &StoredNote) -> Option<Event> {
    if note.layer != LAYER {
        return None;
    }
    match note.kind.as_str() {
        DRAINED => serde_json::from_str(&note.body).ok().map(Event::Reverted),
        UNREAD => read(note).ok().map(Event::RevertUnread),
        SUMMARY_ASKED => {
            let SummaryAsked { head_move } = read(note).ok()?;
            Some(Event::SummaryAsked { head_move })
        }
        PROPOSAL => serde_json::from_str(&note.body).ok().map(Event::StepBack),
        MERGE => {
            let merge: MergeRecord = serde_json::from_str(&note.body).ok()?;
            merge.call.is_some().then(|| Event::Merged(Box::new(merge)))
        }
        MERGE_REFUSED => serde_json::from_str(&note.body).ok().map(Event::MergeRefused),
        PRUNED => serde_json::from_str(&note.body).ok().map(Event::Pruned),
        CACHE_MISS => {
            let miss: CacheMissNote = serde_json::from_str(&note.body).ok()?;
            Some(Event::CacheMissed { head_move: miss.head_move, miss: miss.miss })
        }
        NOTE => {
            let note: Note = serde_json::from_str(&note.body).ok()?;
            (note.by == SummaryBy::Model).then(|| Event::LateSummary(Box::new(note)))
        }
        BREAK => read(note).ok().map(Event::CacheBroken),
        FAILED => read(note).ok().map(|Failed { reason, .. }| Event::CompactionFailed { reason }),
        _ => None,
    }
}
