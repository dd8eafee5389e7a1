//! What the client holds of a session while its file is read: the list of messages, and what came and went before it.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Role, Timestamp};

use super::answers::{Answers, Beside};
use super::message::Parsed;
use super::said::Said;
use super::same::{same_words, take_over};
use super::words;
use crate::log::{Entry, Log, Part};

/// A message with the results of its calls. Either can be missing.
#[derive(Debug)]
struct Unit {
    /// The unit that it continues, which was made before it.
    parent: Option<usize>,
    at: Option<Timestamp>,
    said: Option<Said>,
    answers: Answers,
    place: Place,
    /// Where it stands in the list, while it does.
    listed: Option<usize>,
    /// The unit that continued it last.
    next: Option<usize>,
}

/// What a unit is in its session.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Place {
    Said,
    Copy { of: usize },
    Compaction,
}

/// What an id stands for.
#[derive(Copy, Clone, Debug)]
enum Named {
    Unit(usize),
    /// Something behind a unit that is none: a notice, or results that stand with their calls.
    Behind(Option<usize>),
}

/// All units, and the list that the session holds.
#[derive(Debug, Default)]
pub(super) struct Units {
    units: Vec<Unit>,
    /// The messages that the client holds, in order.
    list: Vec<usize>,
    ids: HashMap<String, Named>,
    /// Which unit has a call.
    calls: HashMap<String, usize>,
    /// Which unit has a result whose call was not there.
    orphans: HashMap<String, usize>,
    /// The unit that was said first, last.
    root: Option<usize>,
}

impl Units {
    /// Takes a message that was written at the end of the file: a new one, or one that is there already once more.
    /// Tells whether its id was that of a message of another kind.
    pub(super) fn write(&mut self, mut parsed: Parsed) -> bool {
        let id = parsed.id.take();
        let named = id.as_ref().and_then(|id| self.ids.get(id).copied());
        let mut beside = Beside::default();
        for answer in std::mem::take(&mut parsed.loose) {
            self.answer(answer, &mut parsed, &mut beside);
        }
        beside.take_out(&mut parsed.said);
        if parsed.said.is_none() && parsed.answers.is_empty() {
            if let (Some(id), None) = (id, named) {
                self.ids.insert(id, Named::Behind(self.list.last().copied()));
            }
            return false;
        }
        let held = named.and_then(|named| match named {
            Named::Unit(unit) => self.units.get(unit).filter(|held| held.listed.is_some()).map(|_| unit),
            Named::Behind(_) => None,
        });
        let role = |said: Option<&Said>| said.map(|said| said.message.role);
        let unit = held.filter(|unit| {
            let said = self.units.get(*unit).and_then(|unit| unit.said.as_ref());
            role(said) == role(parsed.said.as_ref())
        });
        match unit {
            Some(unit) => self.renew(unit, parsed, true),
            None => {
                let unit = self.push(parsed, Place::Said);
                self.name(id, unit);
            }
        }
        held.is_some() && unit.is_none()
    }

    /// Gives a result in a message of the user to its call; one whose call is not there stays in its message.
    fn answer(&mut self, answer: Said, parsed: &mut Parsed, beside: &mut Beside) {
        let call = answer.result().map(|result| result.call_id.as_str()).unwrap_or_default();
        let unit = self.calls.get(call).and_then(|unit| self.units.get_mut(*unit));
        match unit.filter(|unit| unit.listed.is_some()) {
            Some(unit) => attach(&mut unit.answers, answer, beside),
            None => parsed.answers.add(answer, false),
        }
    }

    /// Takes messages back: the one named and all behind it; all if it is not known.
    pub(super) fn rewind(&mut self, id: &str) {
        let listed = |unit: usize| self.units.get(unit).and_then(|unit| unit.listed);
        let keep = match self.ids.get(id) {
            Some(Named::Unit(unit)) => listed(*unit),
            Some(Named::Behind(Some(unit))) => listed(*unit).map(|place| place + 1),
            Some(Named::Behind(None)) | None => None,
        };
        self.cut(keep.unwrap_or(0));
    }

    /// Shortens the list.
    fn cut(&mut self, keep: usize) {
        while self.list.len() > keep {
            let unit = self.list.pop().and_then(|unit| self.units.get_mut(unit));
            if let Some(unit) = unit {
                unit.listed = None;
            }
        }
    }

    /// Puts a list in place of all messages. `record` gives a record to an element that is kept.
    pub(super) fn replace(&mut self, messages: Vec<Parsed>, mut record: impl FnMut(&mut Parsed, usize)) {
        let given = joined(messages);
        let (matched, at) = self.matched(&given);
        let next = matched.len();
        let diverges = next < given.len() && at < self.list.len();
        if diverges && self.is_end(&given) {
            return;
        }
        if diverges && self.is_rewrite(&given, next, at) {
            self.rewrite(given, &mut record);
            return;
        }
        self.cut(at);
        let mut matched = matched.into_iter();
        for (element, mut parsed) in given {
            let found = matched.next();
            let id = parsed.id.take();
            if let Some(unit) = found.or_else(|| self.found_again(id.as_deref(), &parsed)) {
                if found.is_none() {
                    self.list_unit(unit);
                }
                record(&mut parsed, element);
                self.name(id, unit);
                self.renew(unit, parsed, false);
                continue;
            }
            record(&mut parsed, element);
            let unit = self.push(parsed, Place::Said);
            self.name(id, unit);
        }
    }

    /// Returns the units that the first elements say again, and how far in the list they reach.
    fn matched(&self, given: &[(usize, Parsed)]) -> (Vec<usize>, usize) {
        let mut matched = Vec::new();
        // The client leaves some words out when it goes on; to look past all of them each time would take too long.
        let mut passed = given.len().saturating_add(16);
        let mut at = 0;
        while let Some(unit) = self.list.get(at) {
            let Some(held) = self.units.get(*unit) else { break };
            let is_it = |(_, parsed): &(usize, Parsed)| {
                is_context(parsed.said.as_ref()) && is_context(held.said.as_ref()) || is_same(parsed, held)
            };
            if given.get(matched.len()).is_some_and(is_it) {
                matched.push(*unit);
            } else if passed > 0
                && held.said.as_ref().is_some_and(|said| words::is_passed_over(&said.message))
            {
                passed -= 1;
            } else {
                break;
            }
            at += 1;
        }
        (matched, at)
    }

    /// Lays a list behind the end of the one that is held, which it covers.
    fn rewrite(&mut self, given: Vec<(usize, Parsed)>, record: &mut impl FnMut(&mut Parsed, usize)) {
        let mut copied: Vec<Option<usize>> = given.iter().map(|(_, parsed)| self.copied(parsed)).collect();
        // What a compaction kept has other ids, and stood at the end.
        let ends = given.iter().zip(&mut copied).rev().zip(self.list.iter().rev());
        for (((_, parsed), copied), held) in ends {
            if !self.units.get(*held).is_some_and(|held| is_same(parsed, held)) {
                break;
            }
            *copied = Some(*held);
        }
        let end = self.tip();
        self.cut(0);
        for ((element, mut parsed), of) in given.into_iter().zip(copied) {
            let id = parsed.id.take();
            record(&mut parsed, element);
            let unit = match self.tip() {
                None => self.push_behind(end, parsed, Place::Compaction),
                tip => self.push_behind(tip, parsed, of.map_or(Place::Said, |of| Place::Copy { of })),
            };
            self.name(id, unit);
        }
    }

    /// Tells whether a list is the end of the one that is held, from a place behind its beginning: then what stands
    /// before is covered.
    ///
    /// The client writes messages that it made itself one by one before it writes the list of them.
    fn is_end(&mut self, given: &[(usize, Parsed)]) -> bool {
        let id = given.first().and_then(|(_, parsed)| parsed.id.as_ref());
        let Some(Named::Unit(first)) = id.and_then(|id| self.ids.get(id)).copied() else { return false };
        let Some(place) = self.units.get(first).and_then(|unit| unit.listed) else { return false };
        let end = self.list.get(place..).unwrap_or_default();
        let same = |(unit, (_, parsed)): (&usize, &(usize, Parsed))| {
            self.units.get(*unit).is_some_and(|held| is_same(parsed, held))
        };
        if place == 0 || end.len() != given.len() || !end.iter().zip(given).all(same) {
            return false;
        }
        let end = end.to_vec();
        let before = self.list.get(..place).unwrap_or_default().to_vec();
        // What was kept word for word stood at the end before.
        let kept = end.iter().rev().zip(before.iter().rev());
        let kept: Vec<(usize, usize)> = kept
            .take_while(|(one, other)| self.says_same(**one, **other))
            .map(|(one, other)| (*one, *other))
            .collect();
        for (unit, of) in kept {
            if let Some(unit) = self.units.get_mut(unit).filter(|unit| unit.place == Place::Said) {
                unit.place = Place::Copy { of };
            }
        }
        if let Some(unit) = self.units.get_mut(first) {
            unit.place = Place::Compaction;
        }
        self.cut(0);
        end.into_iter().for_each(|unit| self.list_unit(unit));
        true
    }

    fn says_same(&self, one: usize, other: usize) -> bool {
        let said = |unit: usize| self.units.get(unit).and_then(|unit| unit.said.as_ref());
        said(one).zip(said(other)).is_some_and(|(one, other)| same_words(&one.message, &other.message))
    }

    /// Tells whether a list says in other words what was said before, as after a compaction, and not something else.
    fn is_rewrite(&self, given: &[(usize, Parsed)], next: usize, at: usize) -> bool {
        let is_held = |parsed: &Parsed| {
            let named = parsed.id.as_ref().and_then(|id| self.ids.get(id));
            let Some(Named::Unit(unit)) = named else { return false };
            self.units.get(*unit).and_then(|unit| unit.listed).is_some_and(|place| place >= at)
        };
        let rest = given.get(next..).unwrap_or_default();
        rest.iter().any(|(_, parsed)| is_held(parsed))
            || rest
                .iter()
                .take(2)
                .any(|(_, parsed)| parsed.said.as_ref().is_some_and(|said| words::is_summary(&said.message)))
    }

    /// Returns the unit that an element says again.
    fn copied(&self, parsed: &Parsed) -> Option<usize> {
        let Some(Named::Unit(unit)) = self.ids.get(parsed.id.as_ref()?) else { return None };
        self.units.get(*unit).filter(|held| is_same(parsed, held)).map(|_| *unit)
    }

    /// Returns the unit that comes next where an element says it again after it was gone.
    fn found_again(&self, id: Option<&str>, parsed: &Parsed) -> Option<usize> {
        let tip = self.tip();
        let named = id.and_then(|id| self.ids.get(id)).and_then(|named| match named {
            Named::Unit(unit) => Some(*unit),
            Named::Behind(_) => None,
        });
        let next = match tip {
            Some(tip) => self.units.get(tip).and_then(|tip| tip.next),
            None => self.root,
        };
        named.into_iter().chain(next).find(|unit| {
            let fits = |held: &Unit| {
                held.parent == tip
                    && held.listed.is_none()
                    && held.place != Place::Compaction
                    && is_same(parsed, held)
            };
            self.units.get(*unit).is_some_and(fits)
        })
    }

    fn tip(&self) -> Option<usize> {
        self.list.last().copied()
    }

    fn push(&mut self, parsed: Parsed, place: Place) -> usize {
        self.push_behind(self.tip(), parsed, place)
    }

    fn push_behind(&mut self, parent: Option<usize>, parsed: Parsed, place: Place) -> usize {
        let unit = self.units.len();
        match parent.and_then(|parent| self.units.get_mut(parent)) {
            Some(parent) => parent.next = Some(unit),
            None => self.root = Some(unit),
        }
        let Parsed { at, said, answers, .. } = parsed;
        self.units.push(Unit { parent, at, said, answers, place, listed: None, next: None });
        self.list_unit(unit);
        unit
    }

    fn list_unit(&mut self, unit: usize) {
        if let Some(held) = self.units.get_mut(unit) {
            held.listed = Some(self.list.len());
            self.list.push(unit);
        }
        self.note_calls(unit);
    }

    /// Notes where calls are. Results that were written before their calls go to them.
    fn note_calls(&mut self, unit: usize) {
        let Some(held) = self.units.get(unit) else { return };
        let calls = held.said.iter().flat_map(|said| said.message.calls());
        let calls: Vec<String> = calls.map(|call| call.id.clone()).collect();
        if held.said.is_none() {
            let results = held.answers.calls().map(|call| (call.to_owned(), unit));
            self.orphans.extend(results);
        }
        for call in calls {
            let orphan = self.orphans.remove(&call).and_then(|orphan| self.units.get_mut(orphan));
            let answer =
                orphan.filter(|orphan| orphan.listed.is_some()).and_then(|of| of.answers.take(&call));
            if let (Some(answer), Some(held)) = (answer, self.units.get_mut(unit)) {
                held.answers.add(answer, false);
            }
            self.calls.insert(call, unit);
        }
    }

    fn name(&mut self, id: Option<String>, unit: usize) {
        if let Some(id) = id {
            self.ids.insert(id, Named::Unit(unit));
        }
    }

    /// Takes over what a later record says of a message. `is_whole` tells that the record is all that is to be known of
    /// it; the list that is written when a session goes on has lost how it came to be.
    fn renew(&mut self, unit: usize, parsed: Parsed, is_whole: bool) {
        let Some(held) = self.units.get_mut(unit) else { return };
        let Parsed { said, answers, .. } = parsed;
        if let Some(said) = said {
            match &mut held.said {
                None => held.said = Some(said),
                Some(before) if is_whole => *before = said,
                Some(before) => take_over(before, said),
            }
        }
        answers.into_list().into_iter().for_each(|answer| held.answers.add(answer, is_whole));
        if is_whole && let Some(said) = held.said.as_ref().filter(|said| said.message.role == Role::Assistant)
        {
            let calls: HashSet<&str> = said.message.calls().map(|call| call.id.as_str()).collect();
            held.answers.retain(&calls);
        }
        self.note_calls(unit);
    }

    /// Gives the entries to a log.
    pub(super) fn into_log(self, log: &mut Log) {
        let mut last: Vec<Option<usize>> = Vec::with_capacity(self.units.len());
        let mut first: Vec<Option<usize>> = Vec::with_capacity(self.units.len());
        for unit in self.units {
            let mut tip = unit.parent.and_then(|parent| last.get(parent).copied().flatten());
            let mut begins = None;
            let part = match unit.place {
                Place::Said => Part::Said,
                Place::Compaction => Part::Compaction { kept: None },
                Place::Copy { of } => {
                    first.get(of).copied().flatten().map_or(Part::Said, |of| Part::Copy { of })
                }
            };
            for Said { message, source, .. } in exact(unit.said, unit.answers.into_list()) {
                let part = if begins.is_none() { part } else { Part::Said };
                let entry = log.push(Entry { parent: tip, at: unit.at, message, source, part });
                begins = begins.or(Some(entry));
                tip = Some(entry);
            }
            first.push(begins);
            last.push(tip);
        }
        log.head = self.list.last().and_then(|unit| last.get(*unit).copied().flatten());
    }
}

/// Puts together what a unit says, and notes where its records say other things too: a call and its result can have
/// been read from two.
fn exact(said: Option<Said>, answers: Vec<Said>) -> Vec<Said> {
    let Some(mut said) = said else { return answers };
    let record = said.source.records.clone();
    let with_calls = || answers.iter().filter(|answer| !answer.is_loose);
    let of_record = with_calls().filter(|answer| answer.source.records == record).count();
    let is_exact = of_record == said.answered && of_record == with_calls().count();
    said.source.exact &= is_exact;
    let answers = answers.into_iter().map(|mut answer| {
        answer.source.exact &= is_exact || answer.is_loose;
        answer
    });
    std::iter::once(said).chain(answers).collect()
}

/// Adds a result to those of a message, unless it is there; what stands beside it is then there too.
fn attach(answers: &mut Answers, answer: Said, beside: &mut Beside) {
    let call = answer.result().map(|result| result.call_id.as_str()).unwrap_or_default();
    match answers.get(call) {
        Some(held) => beside.note(held),
        None => answers.add(answer, false),
    }
}

/// Joins results in messages of the user with the calls in the same list.
fn joined(messages: Vec<Parsed>) -> Vec<(usize, Parsed)> {
    let mut given: Vec<(usize, Parsed)> = Vec::with_capacity(messages.len());
    let mut calls: HashMap<String, usize> = HashMap::new();
    for (element, mut parsed) in messages.into_iter().enumerate() {
        let mut beside = Beside::default();
        for mut answer in std::mem::take(&mut parsed.loose) {
            let id = answer.result().map(|result| result.call_id.as_str()).unwrap_or_default();
            match calls.get(id).and_then(|at| given.get_mut(*at)) {
                Some((_, of)) => {
                    // It stands in another record than the call: written with it, it is a new record.
                    answer.source.exact = false;
                    attach(&mut of.answers, answer, &mut beside);
                }
                None => parsed.answers.add(answer, false),
            }
        }
        beside.take_out(&mut parsed.said);
        if parsed.said.is_none() && parsed.answers.is_empty() {
            continue;
        }
        for call in parsed.said.iter().flat_map(|said| said.message.calls()) {
            calls.insert(call.id.clone(), given.len());
        }
        given.push((element, parsed));
    }
    given
}

/// Tells whether it says where the client runs.
fn is_context(said: Option<&Said>) -> bool {
    said.is_some_and(|said| words::is_context(&said.message))
}

/// Tells whether an element of a list says what a unit says.
fn is_same(parsed: &Parsed, held: &Unit) -> bool {
    let said = match (&parsed.said, &held.said) {
        (Some(one), Some(other)) => same_words(&one.message, &other.message),
        (None, None) => true,
        _ => false,
    };
    said && parsed.answers.agree_with(&held.answers)
}
