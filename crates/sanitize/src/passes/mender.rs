//! Goes over a list turn by turn: what is sound is taken as it is, the rest goes through the passes.

use std::borrow::{Borrow, Cow};
use std::collections::HashSet;
use std::sync::Arc;

use trunkline_message_tree::{Author, Content, Message, Role};

use super::empties::{self, Before};
use super::pairing::Pairs;
use super::server_pairs::ServerBlock;
use super::{Asked, Item, blocks, ends, flatten, is_silent, roles};
use crate::sound::Survey;
use crate::{
    Alternate, BRIDGE_STUB, HEAD_STUB, Head, Place, Repair, RepairKind, RequestFacts, SystemPlace, Thinking,
    WireRules,
};

/// Repairs a list in which the survey found something that is not certainly sound.
pub(crate) fn mend(
    given: Cow<'_, [Message]>,
    mut survey: Survey,
    halves: &HashSet<ServerBlock>,
    rules: &WireRules,
    facts: &RequestFacts,
    thinking: Thinking,
    repairs: &mut Vec<Repair>,
) -> Mended {
    let len = given.len();
    let asked = Asked::new(rules, facts, thinking);
    let mut mender = Mender { line: Line::with_capacity(len + 8), pairs: Pairs::new(rules, false) };
    // Where each turn begins in what came out.
    let mut starts: Vec<usize> = Vec::with_capacity(survey.turns.len());
    let mut messages = Messages::from(given);
    for turn in 0..survey.turns.len() {
        starts.push(mender.line.out.len());
        let start = survey.turns[turn].start;
        let end = survey.turns.get(turn + 1).map_or(len, |next| next.start);
        if survey.turns[turn].sound {
            for (index, message) in messages.by_ref().take(end - start).enumerate() {
                mender.line.take(start + index, message, rules, repairs);
                if index == 0 {
                    // Behind a message that was put before the whole list.
                    starts[turn] = mender.line.out.len() - 1;
                }
            }
            continue;
        }
        let given = messages.by_ref().take(end - start).enumerate();
        let items: Vec<Item> = given.map(|(index, message)| Item::new(start + index, message)).collect();
        let elsewhere = |out: &[Message], id: &str| {
            let mut earlier = survey.messages_with(id).take_while(|message| *message < start);
            earlier.any(|message| {
                let turn = survey.turn_of(message);
                let stands = starts[turn] + (message - survey.turns[turn].start);
                let called = out.get(stands).is_some_and(|one| one.calls().any(|call| call.id == id));
                survey.turns[turn].sound && called
            })
        };
        let is_last = turn + 1 == survey.turns.len();
        let place = TurnPlace { is_first: turn == 0, tail: is_last.then(|| Place::end(len)) };
        mender.mend_turn(items, place, &asked, halves, &elsewhere, repairs);
        // Who now bears an id that was made here has to give way.
        for id in mender.pairs.made.drain(..) {
            let later: Vec<usize> = survey.messages_with(&id).filter(|message| *message >= end).collect();
            later.into_iter().for_each(|message| survey.distrust(message));
        }
    }
    Mended { messages: mender.line.out, from: mender.line.from }
}

/// A list that was mended, and for each message the one that it was made of first.
pub(crate) struct Mended {
    pub(crate) messages: Vec<Message>,
    pub(crate) from: Vec<usize>,
}

/// What goes from turn to turn.
#[derive(Clone, Debug)]
pub(crate) struct Mender<M> {
    pub(crate) line: Line<M>,
    pub(crate) pairs: Pairs,
}

/// Where a turn stands.
pub(crate) struct TurnPlace {
    pub(crate) is_first: bool,
    /// The end of the list, if the turn stands there.
    pub(crate) tail: Option<Place>,
}

impl<M: Held> Mender<M> {
    /// Mends one turn; what is before it has come out already. `elsewhere` is told what that is, and knows the ids of the calls in
    /// earlier turns that were taken as they are.
    pub(crate) fn mend_turn(
        &mut self,
        mut items: Vec<Item>,
        place: TurnPlace,
        asked: &Asked<'_>,
        halves: &HashSet<ServerBlock>,
        elsewhere: &dyn Fn(&[M], &str) -> bool,
        repairs: &mut Vec<Repair>,
    ) {
        let Asked { rules, facts, thinking, .. } = *asked;
        let Mender { line, pairs } = self;
        // What a message may hold comes before who answers whom, and both before what became empty on the way.
        blocks::drop_refused(&mut items, line.leading, halves, rules, facts, repairs);
        let items = roles::rehome(items, rules, repairs);
        let mut items = pairs.pair(items, &|id| elsewhere(&line.out, id), asked, repairs);
        if rules.tool_blocks_need_tools && facts.tools_offered == Some(false) {
            flatten::flatten(&mut items, repairs);
        }
        blocks::drop_asides(&mut items, repairs);
        let mut items = empties::drop_empty(items, line.before(), repairs);
        if let Some(end) = place.tail {
            ends::mend_tail(&mut items, &line.out, rules, thinking, end, repairs);
        }
        for item in items {
            line.push(item, rules, repairs);
        }
        // An assistant that was given has spoken, whatever is left of it.
        line.leading = false;
        line.spoken |= !place.is_first;
    }
}

/// A message that came out: of its own, or shared with the list that was given.
pub(crate) trait Held: Borrow<Message> + From<Message> + Clone {
    fn change(&mut self) -> &mut Message;
}

impl Held for Message {
    fn change(&mut self) -> &mut Message {
        self
    }
}

impl Held for Arc<Message> {
    fn change(&mut self) -> &mut Message {
        Arc::make_mut(self)
    }
}

/// What has come out so far.
#[derive(Clone, Debug)]
pub(crate) struct Line<M> {
    pub(crate) out: Vec<M>,
    /// Which message each was made of first.
    from: Vec<usize>,
    /// Whether the assistant has spoken.
    spoken: bool,
    /// Whether anything but instructions is left.
    begun: bool,
    /// Whether only instructions were given.
    leading: bool,
    /// The first instructions that say something.
    instructions: Option<usize>,
}

/// Where that stood when a turn began.
#[derive(Clone, Debug)]
pub(crate) struct LineMark<M> {
    /// How many messages had come out.
    pub(crate) out: usize,
    /// The last of them, which a later one may be joined to.
    last: Option<M>,
    spoken: bool,
    begun: bool,
    leading: bool,
    instructions: Option<usize>,
}

impl Line<Arc<Message>> {
    /// Puts messages that were given in the place of those that say the same, from `first` on.
    pub(crate) fn lend(&mut self, first: usize, given: &[Arc<Message>]) {
        for (out, from) in self.out.iter_mut().zip(&self.from).skip(first) {
            if let Some(given) = given.get(*from).filter(|given| *given == out) {
                out.clone_from(given);
            }
        }
    }
}

impl<M: Held> Line<M> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Line {
            out: Vec::with_capacity(capacity),
            from: Vec::with_capacity(capacity),
            spoken: false,
            begun: false,
            leading: true,
            instructions: None,
        }
    }

    /// Returns where it stands, at the beginning of a turn.
    pub(crate) fn mark(&self) -> LineMark<M> {
        let Line { spoken, begun, leading, instructions, .. } = *self;
        LineMark { out: self.out.len(), last: self.out.last().cloned(), spoken, begun, leading, instructions }
    }

    /// Takes back what came out since.
    pub(crate) fn go_back(&mut self, mark: &LineMark<M>) {
        self.out.truncate(mark.out);
        self.from.truncate(mark.out);
        if let (Some(last), Some(before)) = (self.out.last_mut(), &mark.last) {
            last.clone_from(before);
        }
        (self.spoken, self.begun) = (mark.spoken, mark.begun);
        (self.leading, self.instructions) = (mark.leading, mark.instructions);
    }

    fn before(&self) -> Before {
        let last = self.out.iter().map(Borrow::borrow).rfind(|message| message.role != Role::System);
        let assistant = last.is_some_and(|last| last.role == Role::Assistant);
        Before { spoken: self.spoken, begun: self.begun, leading: self.leading, assistant }
    }

    /// Takes a message of a sound turn as it is.
    pub(crate) fn take(&mut self, index: usize, held: M, rules: &WireRules, repairs: &mut Vec<Repair>) {
        let message: &Message = held.borrow();
        if !self.begun {
            self.begin(Place::message(index, message), message.role, rules, repairs);
        }
        self.leading &= message.role == Role::System;
        self.spoken |= message.role == Role::Assistant;
        if self.leading && self.instructions.is_none() && !is_silent(message) {
            self.instructions = Some(self.out.len());
        }
        self.out.push(held);
        self.from.push(index);
    }

    /// Puts a user message before a history that the wire would not begin with.
    fn begin(&mut self, at: Place, role: Role, rules: &WireRules, repairs: &mut Vec<Repair>) {
        self.begun = role != Role::System;
        if role == Role::Assistant && rules.head == Head::User {
            self.out.push(Message::harness(HEAD_STUB).into());
            self.from.push(at.message);
            repairs.push(Repair { at, kind: RepairKind::HeadAdded });
        }
    }

    /// Takes a mended message; joins it to the one before where the wire wants that, or puts a bridge in between.
    fn push(&mut self, item: Item, rules: &WireRules, repairs: &mut Vec<Repair>) {
        let Item { message, at, .. } = item;
        if !self.begun {
            self.begin(at, message.role, rules, repairs);
        }
        self.spoken |= message.role == Role::Assistant;
        let after_results = self.out.last().is_some_and(|last| ends_in_results(last.borrow()));
        if !rules.words_after_results && after_results && has_words(&message) {
            let bridge = vec![Content::text(BRIDGE_STUB)];
            self.out.push(Message::new(Role::Assistant, Author::Harness, bridge).into());
            self.from.push(at.message);
            repairs.push(Repair { at, kind: RepairKind::Bridged });
        }
        match self.earlier(&message, rules) {
            Some(earlier) => {
                repairs.push(Repair { at, kind: RepairKind::Joined { role: message.role } });
                earlier.change().content.extend(message.content);
            }
            None => {
                if message.role == Role::System && self.instructions.is_none() && !is_silent(&message) {
                    self.instructions = Some(self.out.len());
                }
                self.out.push(message.into());
                self.from.push(at.message);
            }
        }
    }

    /// Returns the message that this one has to be joined to. Assistant messages were joined when their calls were gathered.
    fn earlier(&mut self, message: &Message, rules: &WireRules) -> Option<&mut M> {
        let speaks = |message: &Message| message.role == Role::System && !is_silent(message);
        match message.role {
            Role::User if rules.alternate == Alternate::Strict => {
                self.out.last_mut().filter(|last| (**last).borrow().role == Role::User)
            }
            Role::System if rules.system == SystemPlace::One && speaks(message) => {
                self.instructions.and_then(|first| self.out.get_mut(first))
            }
            _ => None,
        }
    }
}

fn ends_in_results(message: &Message) -> bool {
    message.role != Role::Assistant && message.content.last().is_some_and(|last| last.as_result().is_some())
}

fn has_words(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().any(|block| block.as_result().is_none())
}

/// The messages that were given, one after the other; only those that were borrowed are copied.
enum Messages<'a> {
    Borrowed(std::slice::Iter<'a, Message>),
    Owned(std::vec::IntoIter<Message>),
}

impl<'a> From<Cow<'a, [Message]>> for Messages<'a> {
    fn from(given: Cow<'a, [Message]>) -> Self {
        match given {
            Cow::Borrowed(messages) => Messages::Borrowed(messages.iter()),
            Cow::Owned(messages) => Messages::Owned(messages.into_iter()),
        }
    }
}

impl Iterator for Messages<'_> {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        match self {
            Messages::Borrowed(messages) => messages.next().cloned(),
            Messages::Owned(messages) => messages.next(),
        }
    }
}
