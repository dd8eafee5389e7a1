//! The passes, kept from one request to the next.
//!
//! They mend a list turn by turn, and what they know where a turn begins can be taken back to that. So what stands behind the
//! last turn that stayed is mended again, and nothing else. The last turn is mended as the last one each time: how a list ends
//! is asked of that turn alone. Turns that a provider's own call is open between are mended together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use trunkline_message_tree::{Message, Role};

use super::{INDEX_BITS, LOOKALIKES, Turn, Walk, digest};
use crate::passes::noted::Noted;
use crate::passes::pairing::{Pairs, PairsMark};
use crate::passes::server_pairs::{self, ServerBlock, ServerPairs};
use crate::passes::{Asked, Item, Line, LineMark, Mender, TurnPlace};
use crate::{IdScope, Place, Repair, RequestFacts, WireRules};

/// A list that was mended, as far as it stood when it was looked at last.
#[derive(Clone, Debug)]
pub(super) struct Mending {
    /// How many messages, from the first, are those that were looked at.
    read: usize,
    loop_from: usize,
    /// Where it can be gone on from, in order; the last one is where the last turn begins.
    marks: Vec<Mark>,
    /// The turns that came through, and whether each was taken as it is.
    turns: Vec<Turn>,
    mender: Mender<Arc<Message>>,
    repairs: Vec<Repair>,
    /// Digests of the calls in order, and for each the messages that have one, as [`Survey`](super::Survey) has them.
    calls: Vec<u64>,
    known: HashMap<u64, Vec<usize>>,
    /// The digests of ids that were made.
    made: Noted<u64, ()>,
    so_far: SoFar,
    kept: usize,
}

/// What is known of all turns that came through.
#[derive(Copy, Clone, Debug, Default)]
struct SoFar {
    /// Whether the walk found something in one.
    spoiled: bool,
    /// Whether one went through the passes.
    mended: bool,
    /// Whether one came out otherwise than it went in.
    altered: bool,
}

/// What is known where a turn begins.
#[derive(Clone, Debug)]
struct Mark {
    start: usize,
    last: Option<Role>,
    instructed: bool,
    turns: usize,
    repairs: usize,
    calls: usize,
    made: usize,
    so_far: SoFar,
    pairs: PairsMark,
    line: LineMark<Arc<Message>>,
}

/// What a look at a list has found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing has to be done.
    Sound,
    /// It came through the passes.
    Mended,
    /// It has to be looked at as a whole.
    Unsure,
}

/// A turn that was walked over.
struct Span {
    start: usize,
    end: usize,
    sound: bool,
    calls: Vec<u64>,
}

/// Turns that are mended together.
struct Chunk<'a> {
    spans: Vec<Span>,
    halves: HashSet<ServerBlock>,
    server_blocks: bool,
    messages: &'a [Arc<Message>],
}

impl Mending {
    pub(super) fn new(rules: &WireRules) -> Self {
        Mending {
            read: 0,
            loop_from: 0,
            marks: Vec::new(),
            turns: Vec::new(),
            mender: Mender { line: Line::with_capacity(0), pairs: Pairs::new(rules, true) },
            repairs: Vec::new(),
            calls: Vec::new(),
            known: HashMap::new(),
            made: Noted::new(true),
            so_far: SoFar::default(),
            kept: 0,
        }
    }

    /// Forgets what is not among the first `kept` messages of the next list.
    pub(super) fn keep(&mut self, kept: usize) {
        self.read = self.read.min(kept);
    }

    /// Returns the messages as they came out.
    pub(super) fn sent(&self) -> &[Arc<Message>] {
        &self.mender.line.out
    }

    /// Returns how many of them, from the first, came out of the list before as well.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Whether nothing came out otherwise than it went in.
    pub(super) fn is_unaltered(&self) -> bool {
        self.repairs.is_empty() && !self.so_far.altered
    }

    /// Looks at a list under the rules and facts of the one before, but for the running loop.
    pub(super) fn refresh(
        &mut self,
        messages: &[Arc<Message>],
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> Found {
        let moved = std::mem::replace(&mut self.loop_from, facts.loop_from);
        if moved != facts.loop_from {
            self.keep(moved.min(facts.loop_from));
        }
        self.keep(messages.len());
        let before = self.go_back();
        self.read = messages.len();
        let found = self.go_on(messages, &before, &Asked::new(rules, facts, facts.thinking));
        let now = self.sent().iter().skip(before.from);
        let same = before.out.iter().zip(now).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        self.kept = before.from.saturating_add(same).min(self.sent().len());
        found
    }

    /// Goes back to where the last turn begins that stayed, and returns what had come out from there on.
    fn go_back(&mut self) -> Before {
        while self.marks.pop_if(|mark| mark.start >= self.read && mark.start > 0).is_some() {}
        if self.marks.is_empty() {
            let mark = self.mark(0, None, false);
            self.marks.push(mark);
        }
        let Some(mark) = self.marks.last() else { return Before::default() };
        let from = mark.line.out.saturating_sub(1);
        let out = self.mender.line.out.get(from..).unwrap_or_default().to_vec();
        self.mender.line.go_back(&mark.line);
        self.mender.pairs.go_back(mark.pairs);
        self.made.go_back(mark.made);
        self.turns.truncate(mark.turns);
        self.repairs.truncate(mark.repairs);
        self.so_far = mark.so_far;
        for digest in self.calls.drain(mark.calls..) {
            if let Some(messages) = self.known.get_mut(&digest) {
                messages.pop();
                if messages.is_empty() {
                    self.known.remove(&digest);
                }
            }
        }
        Before { from, out }
    }

    fn mark(&self, start: usize, last: Option<Role>, instructed: bool) -> Mark {
        Mark {
            start,
            last,
            instructed,
            turns: self.turns.len(),
            repairs: self.repairs.len(),
            calls: self.calls.len(),
            made: self.made.mark(),
            so_far: self.so_far,
            pairs: self.mender.pairs.mark(),
            line: self.mender.line.mark(),
        }
    }

    /// Walks from the last mark to the end; each turn is mended when the next one begins.
    fn go_on(&mut self, messages: &[Arc<Message>], before: &Before, asked: &Asked<'_>) -> Found {
        let Some(mark) = self.marks.last() else { return Found::Unsure };
        let first = mark.start;
        let (rules, facts) = (asked.rules, asked.facts);
        let mut walk = Walk::from(first, mark.last, mark.instructed, rules, facts);
        let mut pairs = ServerPairs::default();
        let mut spans: Vec<Span> = Vec::new();
        let mut start = first;
        for (index, message) in messages.iter().enumerate().skip(first) {
            let begins =
                index > first && message.role == Role::Assistant && walk.last != Some(Role::Assistant);
            let (last, instructed, calls) = (walk.last, walk.instructed, walk.survey.calls.len());
            walk.step(index, message);
            if begins {
                let later = walk.survey.calls.split_off(calls);
                let calls = std::mem::replace(&mut walk.survey.calls, later);
                let sound = walk.survey.turns.iter().rev().nth(1).is_some_and(|turn| turn.sound);
                spans.push(Span { start, end: index, sound, calls });
                start = index;
                // What a provider's own call is open between is mended when it is known how that ends.
                if !pairs.waits() {
                    let ServerPairs { halves, any: server_blocks, .. } = std::mem::take(&mut pairs);
                    let spans = std::mem::take(&mut spans);
                    let chunk = Chunk { spans, halves, server_blocks, messages };
                    if self.settle(chunk, None, before, asked) == Found::Unsure {
                        return Found::Unsure;
                    }
                    let mark = self.mark(index, last, instructed);
                    self.marks.push(mark);
                }
            }
            pairs.step(index, message, rules, facts, true, false);
        }
        let last = messages.last().map(|last| &**last);
        let sound = walk.survey.turns.last().is_some_and(|turn| turn.sound)
            && !walk.ends_in_thinking
            && walk.open.is_empty();
        let ends_well = walk.ends_well(last);
        spans.push(Span { start, end: messages.len(), sound, calls: walk.survey.calls });
        if !server_pairs::may_go_on(last) {
            pairs.close();
        }
        let ServerPairs { halves, any: server_blocks, .. } = pairs;
        let chunk = Chunk { spans, halves, server_blocks, messages };
        self.settle(chunk, Some(ends_well), before, asked)
    }

    /// Brings turns through; `ends_well` is told of those at the end of the list, unless something in them has to be mended.
    fn settle(
        &mut self,
        mut chunk: Chunk<'_>,
        ends_well: Option<bool>,
        before: &Before,
        asked: &Asked<'_>,
    ) -> Found {
        let unique = asked.rules.ids_unique_in == IdScope::History;
        for span in &mut chunk.spans {
            span.sound &= !(self.note(&span.calls) && unique);
            self.so_far.spoiled |= !span.sound;
        }
        if let (Some(ends_well), Some(last)) = (ends_well, chunk.spans.last_mut()) {
            let spoiled = self.so_far.spoiled || !ends_well;
            if !spoiled && !self.so_far.mended && chunk.halves.is_empty() {
                return Found::Sound;
            }
            last.sound &= !spoiled;
        }
        let from = self.mender.line.out.len();
        let count = chunk.spans.len();
        for (number, span) in chunk.spans.iter().enumerate() {
            let is_tail = ends_well.is_some() && number + 1 == count;
            let repaired = self.repairs.len();
            self.bring(span, &chunk, is_tail, asked);
            if let Some(repairs) = self.repairs.get_mut(repaired..) {
                repairs.sort_by_key(|repair| repair.at.message);
            }
        }
        before.lend(&mut self.mender.line.out, from);
        let out = self.mender.line.out.get(from..).unwrap_or_default();
        let (rules, facts) = (asked.rules, asked.facts);
        // What came between a provider's call and its result, the whole list is asked about.
        if chunk.server_blocks && self.so_far.mended {
            let mut pairs = ServerPairs::default();
            for (index, message) in out.iter().enumerate() {
                pairs.step(index, message, rules, facts, true, false);
            }
            let may_wait = ends_well.is_some() && server_pairs::may_go_on(out.last().map(|last| &**last));
            if !pairs.halves.is_empty() || (pairs.waits() && !may_wait) {
                return Found::Unsure;
            }
        }
        Found::Mended
    }

    /// Notes the calls of a turn; returns whether an earlier message has a call that looks like one of them.
    fn note(&mut self, calls: &[u64]) -> bool {
        let mut again = false;
        for call in calls {
            let (digest, message) = parts(*call);
            let messages = self.known.entry(digest).or_default();
            again |= messages.last().is_some_and(|last| *last != message);
            messages.push(message);
            self.calls.push(digest);
        }
        again
    }

    /// Whether a call of the turn bears an id that was made for an earlier one.
    fn gives_way(&self, calls: &[u64]) -> bool {
        calls.iter().any(|call| {
            let (digest, message) = parts(*call);
            let place = || self.known.get(&digest).map_or(0, |all| all.partition_point(|one| *one < message));
            self.made.contains(&digest) && place() < LOOKALIKES
        })
    }

    /// Brings one turn through.
    fn bring(&mut self, span: &Span, chunk: &Chunk<'_>, is_tail: bool, asked: &Asked<'_>) {
        let places = span.start..span.end;
        let half = chunk.halves.iter().any(|(message, _)| places.contains(message));
        let sound = span.sound && !half && !self.gives_way(&span.calls);
        let given = chunk.messages.get(places.clone()).unwrap_or_default();
        let Mending { mender, known, turns, repairs, so_far, made, .. } = self;
        let first = mender.line.out.len();
        let is_first = turns.is_empty();
        if sound {
            for (index, message) in places.zip(given) {
                mender.line.take(index, Arc::clone(message), asked.rules, repairs);
            }
        } else {
            let items = places.zip(given).map(|(index, message)| Item::new(index, Message::clone(message)));
            let elsewhere = |_: &[Arc<Message>], id: &str| {
                let found = known.get(&(digest(id) >> INDEX_BITS)).into_iter().flatten().copied();
                found.take(LOOKALIKES).take_while(|message| *message < span.start).any(|message| {
                    let turn = turns.partition_point(|turn| turn.start <= message).saturating_sub(1);
                    let as_given = turns.get(turn).is_some_and(|turn| turn.sound);
                    let message = chunk.messages.get(message);
                    as_given && message.is_some_and(|one| one.calls().any(|call| call.id == id))
                })
            };
            let tail = is_tail.then(|| Place::end(chunk.messages.len()));
            let place = TurnPlace { is_first, tail };
            mender.mend_turn(items.collect(), place, asked, &chunk.halves, &elsewhere, repairs);
            for id in mender.pairs.made.drain(..) {
                made.insert(digest(&id) >> INDEX_BITS, ());
            }
            mender.line.lend(first, chunk.messages);
            so_far.mended = true;
        }
        let came = mender.line.out.get(first..).unwrap_or_default();
        let same = came.iter().zip(given).all(|(came, given)| Arc::ptr_eq(came, given));
        so_far.altered |= came.len() != given.len() || !same;
        turns.push(Turn { start: span.start, sound });
    }
}

/// Returns the digest of a call and the message that has it.
fn parts(call: u64) -> (u64, usize) {
    (call >> INDEX_BITS, (call & ((1 << INDEX_BITS) - 1)) as usize)
}

/// What had come out before, from some place on.
#[derive(Default)]
struct Before {
    from: usize,
    out: Vec<Arc<Message>>,
}

impl Before {
    /// Puts messages that came out before in the place of those that say the same there, from `first` on and one before.
    fn lend(&self, out: &mut [Arc<Message>], first: usize) {
        let first = first.saturating_sub(1).max(self.from);
        let earlier = self.out.iter().skip(first - self.from);
        for (now, earlier) in out.iter_mut().skip(first).zip(earlier) {
            if !Arc::ptr_eq(now, earlier) && now == earlier {
                now.clone_from(earlier);
            }
        }
    }
}
