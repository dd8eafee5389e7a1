//! The same walk, kept from one request to the next; where it finds something, the passes are.
//!
//! A turn begins with nothing open, so what the walk knows there is small, and whatever comes later is judged from the last
//! turn that stayed.

use std::collections::HashMap;
use std::sync::Arc;

use trunkline_message_tree::{Message, Role};

use super::mending::{Found, Mending};
use super::{INDEX_BITS, Survey, Turn, Walk};
use crate::bound::Fold;
use crate::passes::live_loop;
use crate::{IdScope, PrefixDigest, Prefixes, Repair, RequestFacts, Thinking, WireRules};

/// Tells from one request to the next whether a conversation is legal as it stands, at the cost of what was added to it.
///
/// ```
/// use std::sync::Arc;
/// use trunkline_message_tree::Message;
/// use trunkline_sanitize::{LiveCheck, RequestFacts, WireRules};
///
/// let (rules, facts) = (WireRules::anthropic(), RequestFacts::default());
/// let mut check = LiveCheck::new();
/// let mut messages = vec![Arc::new(Message::user("hi"))];
/// assert!(check.is_legal(&messages, 0, &rules, &facts));
/// messages.push(Arc::new(Message::tool_result("c1", "of no call", false)));
/// assert!(!check.is_legal(&messages, 1, &rules, &facts), "the first message is what it was");
/// ```
#[derive(Clone, Debug, Default)]
pub struct LiveCheck {
    asked: Option<(WireRules, RequestFacts)>,
    /// How many messages, from the first, are the ones that `turns` and `calls` were read from.
    read: usize,
    turns: Vec<Start>,
    /// The calls in order, as [`Survey`] has them.
    calls: Vec<u64>,
    /// How many calls there are of each digest, and how many are of one that an earlier call has.
    known: HashMap<u64, u32>,
    again: usize,
    /// What stands before each answer, where reasoning is bound to that.
    fold: Fold,
    /// What is kept of a list that had to be mended.
    mended: Option<Box<Mended>>,
    /// From where the last answer was taken.
    source: Option<Source>,
}

/// A list that had to be mended.
#[derive(Clone, Debug)]
struct Mended {
    first: Mending,
    /// What came out, looked at once more: what was put in may have ended a loop.
    second: Mending,
    /// What stands before each answer there.
    fold: Fold,
}

/// Where the messages of an answer are kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Source {
    /// With the caller.
    Given,
    /// Here, without reasoning that is bound to something else.
    Bound,
    /// Here, mended.
    Mended,
}

/// A list that may be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiveList<'a> {
    /// The messages: those that were given, but for what was mended or left out.
    pub messages: &'a [Arc<Message>],
    /// How many of them, from the first, are the very ones of the answer before; none if that was no list, or one that was mended
    /// where this one is not, or the other way round.
    pub kept: usize,
    /// What was mended or left out, in the order of the list that was given.
    pub repairs: &'a [Repair],
    /// What an answer to this list is written behind; `None` unless that [matters](WireRules::reasoning_bound).
    pub prefix: Option<PrefixDigest>,
}

/// What the walk knows where a turn begins.
#[derive(Copy, Clone, Debug)]
struct Start {
    index: usize,
    last: Option<Role>,
    instructed: bool,
    /// How many calls came before.
    calls: usize,
}

impl LiveCheck {
    /// Returns the check of a conversation that was not looked at yet.
    pub fn new() -> Self {
        LiveCheck::default()
    }

    /// Returns whether the list is legal as it stands: [`sanitize`](crate::sanitize) would repair nothing and give it back as it
    /// is. `kept` says how many of its messages, from the first, are those of the list that was given last.
    ///
    /// A `false` may be wrong, as beside reasoning that is left out: ask `sanitize` then. A `true` is not. Costs a few steps per
    /// block from the beginning of the turn in which the first other message stands, and a small step for each message since
    /// the user last spoke where the origin has an address or the model reasons. Reasoning that may go back while its tool loop
    /// runs is looked at once more when the loop is over; other rules or facts make it start over.
    pub fn is_legal(
        &mut self,
        messages: &[Arc<Message>],
        kept: usize,
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> bool {
        self.list(messages, kept, rules, facts).is_some_and(|list| list.repairs.is_empty())
    }

    /// Returns the list as it may be sent, as [`sanitize`](crate::sanitize) would make it, with what was repaired. `kept` says how
    /// many of the messages, from the first, are those of the list that was given last.
    ///
    /// `None` where the whole list has to be looked at; it may be wrong. So it is where the request must be sent without thinking,
    /// where [fields](RequestFacts::fields) are known, where both something was mended and reasoning stands behind something
    /// else than it was written behind, and where a repair comes between a provider's own call and its result.
    ///
    /// Costs what [`is_legal`](LiveCheck::is_legal) costs, and once more where something had to be mended, in which case the last
    /// turn is mended each time; where reasoning is bound, the digest of what came. What is known of an answer must not be taken
    /// back or changed while its message stays, unless all is.
    pub fn list<'a>(
        &'a mut self,
        messages: &'a [Arc<Message>],
        kept: usize,
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> Option<LiveList<'a>> {
        let before = self.source.take();
        let (kept, source) = self.find(messages, kept, rules, facts)?;
        self.source = Some(source);
        // What came from elsewhere last has nothing in common with this.
        let kept = if before == Some(source) { kept } else { 0 };
        let bound = rules.reasoning_bound;
        Some(match (source, self.mended.as_deref()) {
            (Source::Mended, Some(Mended { first, fold, .. })) => {
                let prefix = bound.then(|| fold.digest());
                LiveList { messages: first.sent(), kept, repairs: first.repairs(), prefix }
            }
            (Source::Bound, _) => {
                let (messages, repairs) = (self.fold.sent(), self.fold.left_out());
                LiveList { messages, kept, repairs, prefix: Some(self.fold.digest()) }
            }
            _ => {
                let prefix = bound.then(|| self.fold.digest());
                LiveList { messages, kept, repairs: &[], prefix }
            }
        })
    }

    /// Looks for a list that may be sent; returns from where it is to be taken, and how much of it is as before there.
    fn find(
        &mut self,
        messages: &[Arc<Message>],
        kept: usize,
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> Option<(usize, Source)> {
        let given = kept.min(messages.len());
        self.read = self.read.min(given);
        self.fold.keep(kept, facts);
        if let Some(mended) = &mut self.mended {
            mended.first.keep(given);
        }
        let forced =
            rules.forced_choice_stops_thinking && facts.choice_forced && facts.thinking == Thinking::On;
        if forced || !facts.fields.is_empty() || messages.len() >> INDEX_BITS > 0 {
            return None;
        }
        if !self.asks_as_before(rules, facts) {
            self.fold = Fold::default();
            self.mended = None;
        }
        let mut fold = std::mem::take(&mut self.fold);
        let mut kept = given;
        if rules.reasoning_bound {
            kept = fold.refresh(messages, kept, rules, facts);
            self.read = self.read.min(kept);
        } else {
            fold = Fold::default();
        }
        let sent = if rules.reasoning_bound { fold.sent() } else { messages };
        let asked = self.ask(sent, rules, facts);
        let legal = self.walk(sent, rules, &asked)
            && self.again == 0
            && fold.is_sure(messages)
            && !live_loop::has_lost_thinking(sent, rules, asked.thinking);
        self.asked = Some((rules.clone(), asked));
        self.fold = fold;
        let left_out = !self.fold.left_out().is_empty();
        match legal {
            true if left_out => return Some((kept, Source::Bound)),
            true => return Some((given, Source::Given)),
            false => {}
        }
        let (kept, source) = self.mend(messages, rules, facts)?;
        let kept = if source == Source::Given { given } else { kept };
        // Reasoning of which nothing has to be mended but that it goes is known of the list that was given.
        (source == Source::Mended || !left_out).then_some((kept, source))
    }

    /// Runs the passes over what came.
    fn mend(
        &mut self,
        messages: &[Arc<Message>],
        rules: &WireRules,
        facts: &RequestFacts,
    ) -> Option<(usize, Source)> {
        let new =
            || Mended { first: Mending::new(rules), second: Mending::new(rules), fold: Fold::default() };
        let Mended { first, second, fold } = &mut **self.mended.get_or_insert_with(|| Box::new(new()));
        let mut facts = facts.clone();
        let returns = facts.origin.as_ref().is_some_and(|origin| origin.address.is_some());
        if returns {
            facts.loop_from = live_loop::start(messages);
        }
        let found = first.refresh(messages, rules, &facts);
        let (sent, kept) = (first.sent(), first.kept());
        second.keep(kept);
        fold.keep(kept, &facts);
        let lost = |messages: &[Arc<Message>]| live_loop::has_lost_thinking(messages, rules, facts.thinking);
        match found {
            Found::Unsure => return None,
            Found::Mended if !first.repairs().is_empty() => {}
            // What the passes did not touch goes back as it is.
            Found::Mended | Found::Sound => return (!lost(messages)).then_some((0, Source::Given)),
        }
        if lost(sent) {
            return None;
        }
        if returns {
            facts.loop_from = live_loop::start(sent);
            let again = second.refresh(sent, rules, &facts);
            if again == Found::Unsure || !(again == Found::Sound || second.is_unaltered()) {
                return None;
            }
        }
        if rules.reasoning_bound {
            fold.refresh(sent, kept, rules, &facts);
            if !fold.left_out().is_empty() {
                return None;
            }
        }
        Some((kept, Source::Mended))
    }

    /// Returns whether what is left out of an answer depends on what it depended on before.
    fn asks_as_before(&self, rules: &WireRules, facts: &RequestFacts) -> bool {
        let Some((ruled, asked)) = &self.asked else { return true };
        let mut now = facts.clone();
        now.prefixes = Prefixes::default();
        now.loop_from = asked.loop_from;
        ruled == rules && *asked == now
    }

    /// Returns the facts with the place of the running loop, and forgets what was read under others.
    fn ask(&mut self, messages: &[Arc<Message>], rules: &WireRules, facts: &RequestFacts) -> RequestFacts {
        let mut now = facts.clone();
        // They grow with each answer; what was found of them is in the list.
        now.prefixes = Prefixes::default();
        if facts.origin.as_ref().is_some_and(|origin| origin.address.is_some()) {
            now.loop_from = live_loop::start(messages);
        }
        match self.asked.take() {
            Some((ruled, mut asked)) if ruled == *rules => {
                let moved = std::mem::replace(&mut asked.loop_from, now.loop_from);
                if asked != now {
                    self.read = 0;
                } else if moved != now.loop_from {
                    self.read = self.read.min(moved.min(now.loop_from));
                }
            }
            _ => self.read = 0,
        }
        now
    }

    /// Walks from the last turn that stayed to the end, or to where something is wrong.
    fn walk(&mut self, messages: &[Arc<Message>], rules: &WireRules, facts: &RequestFacts) -> bool {
        while self.turns.pop_if(|turn| turn.index >= self.read && turn.index > 0).is_some() {}
        let start = match self.turns.last() {
            Some(start) => *start,
            None => Start { index: 0, last: None, instructed: false, calls: 0 },
        };
        if self.turns.is_empty() {
            self.turns.push(start);
        }
        self.forget_calls(start.calls);
        let mut walk = Walk::from(start.index, start.last, start.instructed, rules, facts);
        for (index, message) in messages.iter().enumerate().skip(start.index) {
            let begins = message.role == Role::Assistant && walk.last != Some(Role::Assistant);
            let (last, instructed, calls) = (walk.last, walk.instructed, walk.survey.calls.len());
            walk.step(index, message);
            if !walk.survey.sound || walk.survey.server_blocks {
                self.read = index;
                // Those of the turn that is looked at again come again.
                let begun = self.turns.last().map_or(0, |turn| turn.calls.saturating_sub(start.calls));
                walk.survey.calls.truncate(begun);
                let calls = walk.survey.calls;
                self.take_calls(calls, rules);
                return false;
            }
            if begins && index > start.index {
                self.turns.push(Start { index, last, instructed, calls: start.calls + calls });
            }
        }
        self.read = messages.len();
        let ends = !walk.ends_in_thinking && walk.open.is_empty();
        let ends = ends && walk.ends_well(messages.last().map(|last| &**last));
        let calls = walk.survey.calls;
        self.take_calls(calls, rules);
        ends
    }

    fn take_calls(&mut self, calls: Vec<u64>, rules: &WireRules) {
        if rules.ids_unique_in == IdScope::History {
            for call in &calls {
                let times = self.known.entry(call >> INDEX_BITS).or_default();
                self.again += usize::from(*times > 0);
                *times += 1;
            }
        }
        self.calls.extend(calls);
    }

    fn forget_calls(&mut self, left: usize) {
        for call in self.calls.drain(left.min(self.calls.len())..) {
            if let Some(times) = self.known.get_mut(&(call >> INDEX_BITS)) {
                *times -= 1;
                self.again -= usize::from(*times > 0);
                if *times == 0 {
                    self.known.remove(&(call >> INDEX_BITS));
                }
            }
        }
    }
}

impl<'a> Walk<'a> {
    /// Returns a walk that goes on where a turn begins.
    pub(super) fn from(
        start: usize,
        last: Option<Role>,
        instructed: bool,
        rules: &'a WireRules,
        facts: &'a RequestFacts,
    ) -> Self {
        let survey = Survey {
            turns: vec![Turn { start, sound: true }],
            calls: Vec::new(),
            server_blocks: false,
            sound: true,
        };
        Walk {
            rules,
            facts,
            thinking: facts.thinking,
            index: start,
            last,
            instructed,
            open: Vec::new(),
            user_messages: 0,
            answered: false,
            ends_in_thinking: false,
            survey,
        }
    }
}
