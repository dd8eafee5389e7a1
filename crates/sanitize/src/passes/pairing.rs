//! Pairs calls with results, by position and never by id alone.
//!
//! A call is answered between its own turn and the next word of the assistant, or not at all: when the assistant spoke
//! again, a request had been sent in which the call already had an answer, and changing that answer now would change
//! what the provider has cached. A result that comes later is quoted where it arrived.

use std::collections::HashMap;

use super::Item;
use super::call_ids::CallIds;
use super::known_calls::KnownCalls;
use super::slot::Slot;
use super::turn;
use crate::{Repair, RequestFacts, WireRules};

/// Gives every call exactly one result in the place where the wire wants it, and quotes all other results.
pub(crate) fn pair(
    items: Vec<Item>,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) -> Vec<Item> {
    let mut paired = Vec::with_capacity(items.len());
    let mut ids = CallIds::new(rules);
    let known = KnownCalls::new(facts);
    // Every call of earlier turns, by the id under which it was stored, with the id by which the model knows it.
    let mut closed: HashMap<String, String> = HashMap::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        let mut run = Vec::new();
        while let Some(item) = items.next_if(Item::is_assistant) {
            run.push(item);
        }
        ids.begin_turn();
        let (mut run, stored) = turn::gather(run, rules.alternate, facts, repairs);
        // Only the last message of the run holds calls; those before it were joined to it.
        let calls = run.last_mut().map(|last| turn::open_calls(last, &stored, &mut ids, repairs));
        paired.append(&mut run);

        let mut slot = Slot::new(calls.unwrap_or_default(), repairs);
        while let Some(item) = items.next_if(|item| !item.is_assistant()) {
            slot.receive(item, &closed);
        }
        slot.put_results_first(rules.results);
        slot.note_arguments_and_move_media(rules.media_in_results);
        slot.answer_open_calls(&known);
        let (calls, mut received) = slot.close();
        paired.append(&mut received);
        closed.extend(calls.into_iter().map(|call| (call.stored_id, call.id)));
    }
    paired
}
