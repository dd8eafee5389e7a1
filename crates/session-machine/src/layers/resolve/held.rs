//! What an open turn holds back: calls behind edits that are not settled, and words that have no place yet.
//!
//! A model that writes "edit, then run the tests" in one turn means it in that order. What looks runs at once; what may
//! change something waits until the edits that were called ahead of it are applied or put aside.

use trunkline_message_tree::Timestamp;

use crate::layers::resolve::rules::{self, Turn};
use crate::layers::resolve::work_on;
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
            && !(entry.awaits_decision() && rules::turn_of(setting, part, entry, at) == Turn::Model)
    });
    staged.map(|entry| entry.id).collect()
}

/// Returns what has to happen to the first of these, if anything.
pub(crate) fn work_ahead(setting: &Setting, part: &Part, ids: &[Id], at: Timestamp) -> Option<Work> {
    work_on(setting, part, part.queue.unsettled().filter(|entry| ids.contains(&entry.id)), at)
}
