//! Goes over a list turn by turn: what is sound is taken as it is, the rest goes through the passes.

use std::borrow::Cow;
use std::collections::HashSet;

use trunkline_message_tree::{Author, Content, Message, Role};

use super::empties::{self, Before};
use super::pairing::Pairs;
use super::server_pairs::ServerBlock;
use super::{Item, blocks, ends, flatten, is_silent, roles};
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
    let mut pairs = Pairs::new(rules, facts, thinking);
    let mut line = Line {
        rules,
        out: Vec::with_capacity(len + 8),
        from: Vec::with_capacity(len + 8),
        spoken: false,
        begun: false,
        leading: true,
        instructions: None,
    };
    // Where each turn begins in what came out.
    let mut starts: Vec<usize> = Vec::with_capacity(survey.turns.len());
    let mut messages = Messages::from(given);
    for turn in 0..survey.turns.len() {
        starts.push(line.out.len());
        let start = survey.turns[turn].start;
        let end = survey.turns.get(turn + 1).map_or(len, |next| next.start);
        if survey.turns[turn].sound {
            for (index, message) in messages.by_ref().take(end - start).enumerate() {
                line.take(start + index, message, repairs);
                if index == 0 {
                    // Behind a message that was put before the whole list.
                    starts[turn] = line.out.len() - 1;
                }
            }
            continue;
        }
        let given = messages.by_ref().take(end - start).enumerate();
        let mut items: Vec<Item> = given.map(|(index, message)| Item::new(start + index, message)).collect();

        // What a message may hold comes before who answers whom, and both before what became empty on the way.
        blocks::drop_refused(&mut items, line.leading, halves, rules, facts, repairs);
        let items = roles::rehome(items, rules, repairs);
        let elsewhere = |id: &str| {
            let mut earlier = survey.messages_with(id).take_while(|message| *message < start);
            earlier.any(|message| {
                let turn = survey.turn_of(message);
                let stands = starts[turn] + (message - survey.turns[turn].start);
                let called = line.out.get(stands).is_some_and(|one| one.calls().any(|call| call.id == id));
                survey.turns[turn].sound && called
            })
        };
        let mut items = pairs.pair(items, &elsewhere, repairs);
        // Who now bears an id that was made here has to give way.
        for id in pairs.made.drain(..) {
            let later: Vec<usize> = survey.messages_with(&id).filter(|message| *message >= end).collect();
            later.into_iter().for_each(|message| survey.distrust(message));
        }
        if rules.tool_blocks_need_tools && facts.tools_offered == Some(false) {
            flatten::flatten(&mut items, repairs);
        }
        blocks::drop_asides(&mut items, repairs);
        let mut items = empties::drop_empty(items, line.before(), repairs);
        if turn + 1 == survey.turns.len() {
            ends::mend_tail(&mut items, &line.out, rules, thinking, Place::end(len), repairs);
        }
        for item in items {
            line.push(item, repairs);
        }
        // An assistant that was given has spoken, whatever is left of it.
        line.leading = false;
        line.spoken |= turn > 0;
    }
    Mended { messages: line.out, from: line.from }
}

/// A list that was mended, and for each message the one that it was made of first.
pub(crate) struct Mended {
    pub(crate) messages: Vec<Message>,
    pub(crate) from: Vec<usize>,
}

/// What has come out so far.
struct Line<'a> {
    rules: &'a WireRules,
    out: Vec<Message>,
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

impl Line<'_> {
    fn before(&self) -> Before {
        let last = self.out.iter().rfind(|message| message.role != Role::System);
        let assistant = last.is_some_and(|last| last.role == Role::Assistant);
        Before { spoken: self.spoken, begun: self.begun, leading: self.leading, assistant }
    }

    /// Takes a message of a sound turn as it is.
    fn take(&mut self, index: usize, message: Message, repairs: &mut Vec<Repair>) {
        if !self.begun {
            self.begin(Place::message(index, &message), message.role, repairs);
        }
        self.leading &= message.role == Role::System;
        self.spoken |= message.role == Role::Assistant;
        if self.leading && self.instructions.is_none() && !is_silent(&message) {
            self.instructions = Some(self.out.len());
        }
        self.out.push(message);
        self.from.push(index);
    }

    /// Puts a user message before a history that the wire would not begin with.
    fn begin(&mut self, at: Place, role: Role, repairs: &mut Vec<Repair>) {
        self.begun = role != Role::System;
        if role == Role::Assistant && self.rules.head == Head::User {
            self.out.push(Message::harness(HEAD_STUB));
            self.from.push(at.message);
            repairs.push(Repair { at, kind: RepairKind::HeadAdded });
        }
    }

    /// Takes a mended message; joins it to the one before where the wire wants that, or puts a bridge in between.
    fn push(&mut self, item: Item, repairs: &mut Vec<Repair>) {
        let Item { message, at, .. } = item;
        if !self.begun {
            self.begin(at, message.role, repairs);
        }
        self.spoken |= message.role == Role::Assistant;
        let after_results = self.out.last().is_some_and(ends_in_results);
        if !self.rules.words_after_results && after_results && has_words(&message) {
            let bridge = vec![Content::text(BRIDGE_STUB)];
            self.out.push(Message::new(Role::Assistant, Author::Harness, bridge));
            self.from.push(at.message);
            repairs.push(Repair { at, kind: RepairKind::Bridged });
        }
        match self.earlier(&message) {
            Some(earlier) => {
                repairs.push(Repair { at, kind: RepairKind::Joined { role: message.role } });
                earlier.content.extend(message.content);
            }
            None => {
                if message.role == Role::System && self.instructions.is_none() && !is_silent(&message) {
                    self.instructions = Some(self.out.len());
                }
                self.out.push(message);
                self.from.push(at.message);
            }
        }
    }

    /// Returns the message that this one has to be joined to. Assistant messages were joined when their calls were gathered.
    fn earlier(&mut self, message: &Message) -> Option<&mut Message> {
        let speaks = |message: &Message| message.role == Role::System && !is_silent(message);
        match message.role {
            Role::User if self.rules.alternate == Alternate::Strict => {
                self.out.last_mut().filter(|last| last.role == Role::User)
            }
            Role::System if self.rules.system == SystemPlace::One && speaks(message) => {
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
