//! What is recorded of discard hooks: that one was begun, and how it ended.
//!
//! Only of proposals whose tools have one, so in sessions of other tools there is none of these notes.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{End, ProposalId};
use trunkline_session_store::{Note, Record};

use crate::notes::record;
use crate::notes::resolve::{DISCARD_HOOK, LAYER};
use crate::words::event::Event;
use crate::words::hook::HookEnded;

#[derive(Serialize, Deserialize)]
pub(crate) struct HookNote {
    pub(crate) proposal: ProposalId,
    /// Of which of its ends.
    pub(crate) end: u32,
    pub(crate) change: HookChange,
}

/// What happened to a hook.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookChange {
    /// It is called.
    Began,
    /// The model was told of the discard before the hook was called, because its tool was not there or had none.
    Told,
    /// It has ended, or is not called any more.
    Ended(HookEnded),
}

/// Returns the record of what happened to the hook of an end.
pub(crate) fn note(end: &End, change: HookChange, at: Timestamp) -> Record {
    let note = HookNote { proposal: end.proposal, end: end.number, change };
    record::note(LAYER, DISCARD_HOOK, at, &note)
}

/// Returns what observers are told of a recorded note.
pub(crate) fn event(recorded: &Note) -> Option<Event> {
    if (recorded.layer.as_str(), recorded.kind.as_str()) != (LAYER, DISCARD_HOOK) {
        return None;
    }
    let HookNote { proposal, change, .. } = serde_json::from_str(&recorded.body).ok()?;
    match change {
        HookChange::Ended(ended) => Some(Event::DiscardHook { proposal, ended }),
        HookChange::Began | HookChange::Told => None,
    }
}
