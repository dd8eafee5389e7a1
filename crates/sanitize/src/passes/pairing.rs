//! Pairs calls with results, by position and never by id alone.
//!
//! A call is answered between its own turn and the next word of the assistant, or not at all: when the assistant spoke
//! again, a request had been sent in which the call already had an answer, and changing that answer now would change
//! what the provider has cached. A result that comes later is quoted where it arrived.

use std::collections::HashSet;

use super::call_ids::CallIds;
use super::names::Names;
use super::noted::Noted;
use super::slot::Slot;
use super::{Asked, Item, companions, turn};
use crate::{Repair, ResultPlace, WireRules};

/// What is remembered from turn to turn.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    ids: CallIds,
    names: Names,
    /// Every call that came through here, by the id under which it was stored, with the id by which the model knows it.
    closed: Noted<String, String>,
    /// Ids that were made since somebody asked.
    pub(crate) made: Vec<String>,
}

/// Where that stands at the beginning of a turn.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct PairsMark {
    ids: [usize; 2],
    names: [usize; 2],
    closed: usize,
}

impl Pairs {
    pub(crate) fn new(rules: &WireRules, goes_back: bool) -> Self {
        let (ids, names) = (CallIds::new(rules, goes_back), Names::new(goes_back));
        Pairs { ids, names, closed: Noted::new(goes_back), made: Vec::new() }
    }

    /// Returns where it stands.
    pub(crate) fn mark(&self) -> PairsMark {
        PairsMark { ids: self.ids.mark(), names: self.names.mark(), closed: self.closed.mark() }
    }

    /// Forgets the calls that came since.
    pub(crate) fn go_back(&mut self, mark: PairsMark) {
        self.ids.go_back(mark.ids);
        self.names.go_back(mark.names);
        self.closed.go_back(mark.closed);
        self.made.clear();
    }

    /// Gives every call exactly one result in the place where the wire wants it, and quotes all other results.
    ///
    /// `elsewhere` knows the ids of the calls in earlier turns that were sound and never came here.
    pub(super) fn pair(
        &mut self,
        items: Vec<Item>,
        elsewhere: &dyn Fn(&str) -> bool,
        asked: &Asked<'_>,
        repairs: &mut Vec<Repair>,
    ) -> Vec<Item> {
        let Asked { rules, facts, thinking, ref known } = *asked;
        let mut paired = Vec::with_capacity(items.len());
        let mut ends = ends_of_answers(&items, rules).into_iter();
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let mut run = Vec::new();
            while let Some(item) = items.next_if(Item::is_assistant) {
                run.push(item);
                if ends.next() == Some(true) {
                    break;
                }
            }
            self.ids.begin_turn();
            let mut run = turn::gather(run, rules, facts, repairs);
            let mut calls = Vec::new();
            for gathered in &mut run {
                let (ids, names) = (&mut self.ids, &mut self.names);
                calls.extend(turn::open_calls(gathered, ids, names, elsewhere, asked, repairs));
            }
            companions::complete(&mut run, rules, thinking, repairs);
            paired.extend(run.into_iter().map(|gathered| gathered.item));

            let mut slot = Slot::new(calls, repairs);
            let closed =
                |id: &str| self.closed.get(id).cloned().or_else(|| elsewhere(id).then(|| id.to_owned()));
            while let Some(item) = items.next_if(|item| !item.is_assistant()) {
                slot.receive(item, &closed);
            }
            slot.put_results_first(rules);
            slot.note_arguments_and_move_media(rules.media_in_results);
            slot.answer_open_calls(known);
            if rules.results_in_call_order {
                slot.put_in_call_order();
            }
            slot.fit_results(rules, facts);
            let (calls, mut received) = slot.close();
            paired.append(&mut received);
            for call in calls {
                if call.id != call.stored_id {
                    self.made.push(call.id.clone());
                }
                self.closed.insert(call.stored_id, call.id);
            }
        }
        paired
    }
}

/// Tells for each assistant message whether an answer ends with it although another follows.
///
/// Some recorders store one answer as several messages and its results after the last, so messages in a row are one answer if
/// any of them could be meant by those results. If none of a message's calls has a result there, the result was lost, and the
/// message after it answered that.
fn ends_of_answers(items: &[Item], rules: &WireRules) -> Vec<bool> {
    let mut ends = vec![false; items.iter().filter(|item| item.is_assistant()).count()];
    if rules.results == ResultPlace::AfterTurn {
        return ends;
    }
    let mut end = ends.len();
    // From the back, so that each message sees what is called and answered behind it.
    let mut behind: HashSet<&str> = HashSet::new();
    let mut follows = false;
    for item in items.iter().rev() {
        if !item.is_assistant() {
            if follows {
                behind.clear();
            }
            follows = false;
            behind.extend(item.message.results().map(|result| result.call_id.as_str()));
            continue;
        }
        end -= 1;
        let mut calls = item.message.calls().map(|call| call.id.as_str()).peekable();
        ends[end] = follows && calls.peek().is_some() && calls.all(|call| !behind.contains(call));
        behind.extend(item.message.calls().map(|call| call.id.as_str()));
        follows = true;
    }
    ends
}
