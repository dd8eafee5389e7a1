//! What waits, what has to happen to it, and what an open turn holds back: calls behind edits that are not settled.
//!
//! A model that writes "edit, then run the tests" in one turn means it in that order. What looks runs at once; what may
//! change something waits until the edits that were called ahead of it are applied or put aside.

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Entry, NextDecision, next_work};

use crate::rules::judging;
use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::call::CallPlace;
use crate::words::work::{Id, Work};

/// Returns the edits that a call has staged and that somebody else than the model has yet to settle. The model cannot: its
/// turn is open, and what it has not decided in it was not meant to be done before the rest.
pub(crate) fn ahead(setting: &Setting, part: &Part, place: &CallPlace, at: Timestamp) -> Vec<Id> {
    let node = place.node.to_string();
    let staged = part.queue.unsettled().filter(|entry| {
        let call = entry.proposal.call.as_ref();
        call.is_some_and(|call| call.node == node && call.call_id == place.id)
            && part.gated_call(entry.id).is_none()
            && !(entry.awaits_decision()
                && judging::next_decision(setting, part, entry, at) == NextDecision::Model)
    });
    staged.map(|entry| entry.id).collect()
}

/// Returns what has to happen to the first of these, if anything.
pub(crate) fn work_ahead(setting: &Setting, part: &Part, ids: &[Id], at: Timestamp) -> Option<Work> {
    work_on(setting, part, part.queue.unsettled().filter(|entry| ids.contains(&entry.id)), at)
}

/// Returns everything that still waits for a decision.
pub(crate) fn undecided(part: &Part) -> Vec<Id> {
    part.queue.pending().map(|entry| entry.id).collect()
}

/// Returns what a verdict on the run has to wait for, as it is shown.
pub(crate) fn unsettled(part: &Part) -> Vec<String> {
    part.queue.unsettled().map(|entry| entry.id.to_string()).collect()
}

/// Returns what has to happen to the oldest proposal that is not settled, if anything.
pub(crate) fn work(setting: &Setting, part: &Part, at: Timestamp) -> Option<Work> {
    work_on(setting, part, part.queue.unsettled(), at)
}

fn work_on<'a>(
    setting: &Setting,
    part: &Part,
    entries: impl Iterator<Item = &'a Entry<Value>>,
    at: Timestamp,
) -> Option<Work> {
    next_work(entries, |entry| judging::next_decision(setting, part, entry, at))
}
