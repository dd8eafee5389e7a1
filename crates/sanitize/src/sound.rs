//! Recognises what needs no repair, in one walk and without a copy.
//!
//! A turn is a run of assistant messages with what follows it, up to the next; what stands before the first is a turn as
//! well. The walk may be wrong in one direction only: what it calls sound is left as it is, what it is unsure of goes
//! through the passes, which may find nothing to do.

mod live;
mod mending;

use trunkline_message_tree::{Content, Message, Part, Role, StopReason, ToolCall, ToolResult};

pub use self::live::{LiveCheck, LiveList};

use crate::passes::{
    id_fits, is_blank, is_blank_part, is_server_block, is_thinking, name_fits, provenance, refers_to_nothing,
};
use crate::{
    Alternate, BlankText, CallSignatures, Head, IdScope, Reasoning, RequestFacts, ResultPlace, SystemPlace,
    Tail, Thinking, WireRules, bound, facts, json,
};

/// More calls in one turn than this are paired with a map, by the passes.
pub(crate) const FEW_CALLS: usize = 16;

/// What one walk over a list finds out.
pub(crate) struct Survey {
    /// The turns, in order.
    pub(crate) turns: Vec<Turn>,
    /// The calls: a digest of the id in the upper bits, the message in the lower ones; sorted.
    calls: Vec<u64>,
    /// Whether there are calls that the provider ran itself, or results of such.
    pub(crate) server_blocks: bool,
    /// Whether nothing has to be done at all.
    pub(crate) sound: bool,
}

/// How many bits of an entry in [`Survey::calls`] are the message.
const INDEX_BITS: u32 = 28;

/// So many calls of one digest are looked at; more look alike only if somebody made them so.
const LOOKALIKES: usize = 64;

impl Survey {
    /// Returns the messages that have a call of that id or of one that looks like it, in order.
    pub(crate) fn messages_with(&self, id: &str) -> impl Iterator<Item = usize> {
        let wanted = digest(id) >> INDEX_BITS;
        let first = self.calls.partition_point(|call| call >> INDEX_BITS < wanted);
        let found = self.calls.iter().skip(first).take_while(move |call| *call >> INDEX_BITS == wanted);
        found.take(LOOKALIKES).map(|call| (call & ((1 << INDEX_BITS) - 1)) as usize)
    }

    /// Returns the turn that a message belongs to.
    pub(crate) fn turn_of(&self, message: usize) -> usize {
        self.turns.partition_point(|turn| turn.start <= message).saturating_sub(1)
    }
}

impl Survey {
    /// Takes back what was said of the turn with that message.
    pub(crate) fn distrust(&mut self, message: usize) {
        if std::mem::replace(&mut self.sound, false) {
            self.calls.sort_unstable();
        }
        let turn = self.turn_of(message);
        if let Some(turn) = self.turns.get_mut(turn) {
            turn.sound = false;
        }
    }
}

/// Where a turn begins, and whether it is certainly legal where it stands.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) start: usize,
    pub(crate) sound: bool,
}

/// Walks a list once.
pub(crate) fn survey(
    messages: &[Message],
    rules: &WireRules,
    facts: &RequestFacts,
    thinking: Thinking,
) -> Survey {
    let survey = Survey {
        turns: vec![Turn { start: 0, sound: true }],
        calls: Vec::with_capacity(messages.len() / 2),
        server_blocks: false,
        sound: true,
    };
    let mut walk = Walk {
        rules,
        facts,
        thinking,
        index: 0,
        last: None,
        instructed: false,
        open: Vec::new(),
        user_messages: 0,
        answered: false,
        ends_in_thinking: false,
        survey,
    };
    for (index, message) in messages.iter().enumerate() {
        walk.step(index, message);
    }
    walk.end(messages)
}

/// Whether an answer is certainly legal behind words of the user, whatever loop runs and whatever it stands behind.
pub(crate) fn stands_alone(index: usize, message: &Message, rules: &WireRules, facts: &RequestFacts) -> bool {
    let mut facts = facts.clone();
    facts.loop_from = usize::MAX;
    let mut walk = Walk::from(index, Some(Role::User), false, rules, &facts);
    walk.step(index, message);
    walk.is_sound() && !walk.ends_in_thinking
}

struct Walk<'a> {
    rules: &'a WireRules,
    facts: &'a RequestFacts,
    thinking: Thinking,
    /// The message at hand.
    index: usize,
    /// The role before; `None` while there were only instructions.
    last: Option<Role>,
    /// Whether there were instructions that say something.
    instructed: bool,
    /// The calls of this turn that have no result yet, in order.
    open: Vec<&'a ToolCall>,
    /// Messages since the assistant's that hold anything but results in tool messages.
    user_messages: usize,
    /// Whether there were results in this turn.
    answered: bool,
    /// Whether the assistant's last block is reasoning, on a wire that refuses this.
    ends_in_thinking: bool,
    survey: Survey,
}

impl<'a> Walk<'a> {
    fn step(&mut self, index: usize, message: &'a Message) {
        self.index = index;
        let assistant = message.role == Role::Assistant;
        if assistant && self.last != Some(Role::Assistant) && index > 0 {
            self.close_turn();
            self.survey.turns.push(Turn { start: index, sound: true });
        }
        if !assistant && self.ends_in_thinking {
            self.spoil();
        }
        let sound = match message.role {
            _ if !self.is_sound() => true,
            _ if provenance::is_only_beside(message) => false,
            Role::System => self.system(message),
            Role::User => self.user(message),
            Role::Assistant => self.assistant(message),
            Role::Tool => self.tool(message),
        };
        if !sound {
            self.spoil();
        }
        // Some of them may be noted already; twice in one turn is for the turn itself to see.
        if !self.is_sound() {
            self.note_calls(message);
        }
        self.ends_in_thinking =
            !self.rules.thinking_may_end_turn && assistant && message.content.last().is_some_and(is_thinking);
        if self.last.is_some() || message.role != Role::System {
            self.last = Some(message.role);
        }
    }

    /// Notes the ids of a message that is not sound, all of them.
    fn note_calls(&mut self, message: &'a Message) {
        self.survey.server_blocks |= message.content.iter().any(is_server_block);
        message.calls().for_each(|call| self.note_call(call));
    }

    fn note_call(&mut self, call: &ToolCall) {
        let index = self.index as u64 & ((1 << INDEX_BITS) - 1);
        self.survey.calls.push(digest(&call.id) >> INDEX_BITS << INDEX_BITS | index);
    }

    fn is_sound(&self) -> bool {
        self.survey.turns.last().is_some_and(|turn| turn.sound)
    }

    fn spoil(&mut self) {
        self.survey.sound = false;
        if let Some(turn) = self.survey.turns.last_mut() {
            turn.sound = false;
        }
    }

    fn close_turn(&mut self) {
        if !self.open.is_empty() {
            self.spoil();
        }
        self.open.clear();
        self.user_messages = 0;
        self.answered = false;
    }

    fn system(&mut self, message: &Message) -> bool {
        let words = message.content.iter().filter(|block| self.is_speech(block, false)).count();
        if self.last.is_none() {
            let only_text = message.content.iter().all(|block| matches!(block, Content::Text { .. }));
            let silent = message.content.iter().all(is_blank_text);
            let first = !(self.instructed && self.rules.system == SystemPlace::One) || silent;
            self.instructed |= !silent;
            return only_text && first && (words == 0 || words == message.content.len());
        }
        self.user_messages += 1;
        self.rules.system == SystemPlace::Anywhere
            && (self.open.is_empty() || self.rules.results_may_wait())
            && words > 0
            && words == message.content.len()
    }

    fn user(&mut self, message: &'a Message) -> bool {
        let strict = self.rules.alternate == Alternate::Strict;
        if message.content.is_empty() || (strict && self.last == Some(Role::User)) {
            return false;
        }
        let may_answer = self.rules.results == ResultPlace::UserMessage && self.user_messages == 0;
        self.user_messages += 1;
        let mut words = false;
        for block in &message.content {
            let sound = match block {
                Content::ToolResult(result) => may_answer && !words && self.answer(result),
                Content::Image(image) => self.rules.takes_image(image),
                Content::Document(document) => self.rules.takes_document(document),
                Content::Opaque { wire, json } => {
                    *wire == self.rules.wire
                        && json::is_carried_object(json)
                        && self.rules.fields.takes_part(json)
                        && !(self.rules.reasoning_items && provenance::is_reasoning_item(json))
                        && self.is_unsigned_or_ours(message, json)
                }
                block => self.is_speech(block, false),
            };
            words |= block.as_result().is_none();
            if !sound {
                return false;
            }
        }
        (self.open.is_empty() || self.rules.results_may_wait())
            && !(words && self.answered && !self.rules.words_after_results)
    }

    fn tool(&mut self, message: &'a Message) -> bool {
        (self.user_messages == 0 || self.rules.results_may_wait())
            && !message.content.is_empty()
            && message.content.iter().all(|block| block.as_result().is_some_and(|result| self.answer(result)))
    }

    fn assistant(&mut self, message: &'a Message) -> bool {
        let placed = match self.last {
            None => self.rules.head == Head::Any,
            Some(Role::Assistant) => {
                let apart = match self.rules.alternate {
                    Alternate::Free => true,
                    Alternate::NoCalls => message.calls().next().is_none(),
                    Alternate::Strict => false,
                };
                self.rules.results == ResultPlace::AfterTurn || (apart && self.open.is_empty())
            }
            Some(_) => true,
        };
        if !placed || message.content.is_empty() {
            return false;
        }
        if bound::is_unbound(message, self.facts) && bound::is_signed(message, self.rules) {
            return false;
        }
        let beside_call = message.calls().next().is_some();
        let mut leads = self.rules.call_signatures == CallSignatures::Leading;
        let mut thinks = false;
        let mut called = false;
        for block in &message.content {
            let is_call = block.as_call().is_some();
            if called && !is_call && !self.rules.words_after_calls {
                return false;
            }
            called |= is_call;
            let sound = match block {
                Content::Text { .. } => self.is_speech(block, beside_call),
                Content::ToolCall(call) => {
                    let leads = std::mem::replace(&mut leads, false);
                    self.call(call) && self.is_signed_well(message, call, leads)
                }
                Content::Thinking { signature, .. } => {
                    thinks = true;
                    let signed = signature.as_ref().is_some_and(|signature| !signature.is_empty());
                    self.may_think(message, signed)
                }
                Content::RedactedThinking { .. } => {
                    thinks = true;
                    let clear = matches!(self.rules.reasoning, Reasoning::Plain | Reasoning::Returned);
                    self.may_think(message, true) && !clear
                }
                // Who answers whom here is for the whole list to see.
                Content::ServerCall { .. } | Content::ServerResult { .. } => {
                    self.survey.server_blocks = true;
                    true
                }
                Content::Opaque { wire, json } => {
                    *wire == self.rules.wire
                        && json::is_carried_object(json)
                        && self.rules.fields.takes_part(json)
                        && self.stands_well(message, json)
                        && self.is_unsigned_or_ours(message, json)
                }
                Content::Image(_) | Content::Document(_) | Content::ToolResult(_) => false,
            };
            if !sound {
                return false;
            }
        }
        let needs = self.rules.reasoning_beside_calls && self.thinking != Thinking::Off && beside_call;
        thinks || !needs
    }

    fn call(&mut self, call: &'a ToolCall) -> bool {
        let tools = !(self.rules.tool_blocks_need_tools && self.facts.tools_offered == Some(false));
        self.note_call(call);
        let new = self.open.iter().all(|open| open.id != call.id);
        self.open.push(call);
        tools
            && new
            && self.open.len() <= FEW_CALLS
            && id_fits(&call.id, &self.rules.ids)
            && name_fits(&call.name, self.rules, self.facts)
            && json::are_arguments(&call.arguments, self.rules.null_arguments)
    }

    fn is_signed_well(&self, message: &Message, call: &ToolCall, leads: bool) -> bool {
        if self.rules.call_signatures == CallSignatures::Ignored {
            return true;
        }
        match &call.signature {
            None => !leads,
            Some(signature) => provenance::is_ours(message, self.facts) && !(leads && signature.is_empty()),
        }
    }

    fn is_unsigned_or_ours(&self, message: &Message, json: &str) -> bool {
        provenance::may_sign(message, self.rules, self.facts) || !provenance::is_signed_part(json)
    }

    /// Whether an item of this wire is certainly fine: its own reasoning has a follower, or none is about.
    fn stands_well(&self, message: &Message, json: &str) -> bool {
        !self.rules.reasoning_items
            || (provenance::is_ours(message, self.facts)
                && (!provenance::is_reasoning_item(json)
                    || message.content.last().is_some_and(|last| last.as_call().is_some() || is_words(last))))
    }

    /// Whether the result answers an open call and holds what the wire takes; the call is open no more.
    fn answer(&mut self, result: &ToolResult) -> bool {
        let Some(call) = self.open.iter().position(|call| call.id == result.call_id) else { return false };
        let passed_over = self.rules.results_in_call_order
            && self.open.iter().take(call).any(|open| open.name == self.open[call].name);
        self.open.remove(call);
        self.answered = true;
        let mut bytes = 0;
        let fine = result.content.iter().all(|part| match part {
            Part::Text { text } => {
                bytes += text.len();
                let is_block = result.content.len() > 1 || self.rules.results_are_blocks;
                !is_block || self.rules.blank_text == BlankText::Allowed || !is_blank(text)
            }
            Part::Image(image) => self.rules.takes_image(image) && self.rules.media_in_results,
            Part::Document(document) => self.rules.takes_document(document) && self.rules.media_in_results,
            Part::Opaque { wire, json } => {
                *wire == self.rules.wire
                    && json::is_carried_object(json)
                    && self.rules.fields.takes_part(json)
                    && !refers_to_nothing(json, self.rules, self.facts)
            }
        });
        fine && !passed_over
            && !facts::is_too_large(bytes, self.facts)
            && (!self.rules.results_are_blocks
                || !result.is_error
                || !result.content.iter().all(is_blank_part))
    }

    /// Whether the block is text that the wire takes.
    fn is_speech(&self, block: &Content, beside_call: bool) -> bool {
        let Content::Text { text } = block else { return false };
        match self.rules.blank_text {
            BlankText::Allowed => true,
            BlankText::BesideCall if beside_call => !text.is_empty(),
            BlankText::BesideCall | BlankText::Refused => !is_blank(text),
        }
    }

    fn may_think(&self, message: &Message, signed: bool) -> bool {
        let returns = || provenance::may_return(message, self.index, self.rules, self.facts);
        match self.rules.reasoning {
            Reasoning::Any => true,
            Reasoning::Absent => false,
            Reasoning::Signed => signed && provenance::is_ours(message, self.facts),
            Reasoning::SignedOrReturned => (signed && provenance::is_ours(message, self.facts)) || returns(),
            Reasoning::Returned => returns(),
            Reasoning::Own | Reasoning::Plain => {
                (signed && provenance::is_ours(message, self.facts)) || returns()
            }
        }
    }

    fn end(mut self, messages: &[Message]) -> Survey {
        if self.ends_in_thinking {
            self.spoil();
        }
        self.close_turn();
        if !self.ends_well(messages.last()) {
            self.survey.sound = false;
        }
        let Survey { turns, calls, sound, .. } = &mut self.survey;
        // Who asks nothing of ids and finds nothing wrong needs no order.
        let unique = self.rules.ids_unique_in == IdScope::History;
        let mut again: Vec<usize> = Vec::new();
        if !*sound || (unique && !all_differ(calls)) {
            calls.sort_unstable();
            for pair in calls.windows(2) {
                let same_id = pair[0] >> INDEX_BITS == pair[1] >> INDEX_BITS && pair[0] != pair[1];
                if same_id && unique {
                    again.push((pair[1] & ((1 << INDEX_BITS) - 1)) as usize);
                }
            }
        }
        // So many messages that their numbers run into each other: then nobody is trusted.
        if messages.len() >> INDEX_BITS > 0 {
            *sound = false;
            turns.iter_mut().for_each(|turn| turn.sound = false);
        }
        again.into_iter().for_each(|message| self.survey.distrust(message));
        // The last turn goes through the passes with the rest, because only they mend the end of a list.
        if let Some(last) = self.survey.turns.last_mut() {
            last.sound &= self.survey.sound;
        }
        self.survey
    }

    fn ends_well(&self, last: Option<&Message>) -> bool {
        let Some(last) = last else { return false };
        match self.last {
            None => self.instructed && self.rules.head == Head::Any && self.rules.tail == Tail::Any,
            Some(Role::Assistant) => {
                let continued = self.rules.tail == Tail::Any || last.stop == Some(StopReason::Pause);
                let padded = match last.content.last() {
                    Some(Content::Text { text }) => text.ends_with(char::is_whitespace) || text.is_empty(),
                    _ => false,
                };
                let thinks = last.content.iter().any(is_thinking);
                let silent = self.thinking == Thinking::Off;
                continued
                    && !(self.rules.final_white_space_refused && padded)
                    && !(self.rules.final_thinking_needs_thinking && silent && thinks)
            }
            // Whether somebody of the user's side spoke before them is for the passes to see.
            Some(Role::System) => self.rules.tail == Tail::Any,
            Some(_) => true,
        }
    }
}

fn is_words(block: &Content) -> bool {
    matches!(block, Content::Text { .. })
}

fn is_blank_text(block: &Content) -> bool {
    matches!(block, Content::Text { text } if is_blank(text))
}

/// A quick digest: equal ids have equal ones, others nearly never.
fn digest(id: &str) -> u64 {
    let bytes = id.as_bytes();
    let step = |digest: u64, word: u64| (digest.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = bytes.as_chunks::<8>();
    let digest =
        words.iter().fold(bytes.len() as u64, |digest, word| step(digest, u64::from_le_bytes(*word)));
    let digest = match bytes.last_chunk::<8>() {
        _ if rest.is_empty() => digest,
        // The last eight bytes once more cost less than a loop over those that are left.
        Some(last) => step(digest, u64::from_le_bytes(*last)),
        None => rest.iter().fold(digest, |digest, byte| step(digest, u64::from(*byte))),
    };
    digest ^ (digest >> 32)
}

/// Whether no two calls are of one digest; it may say no where it would have to look longer.
///
/// A third of the time of sorting them, which only a list that is mended needs.
fn all_differ(calls: &[u64]) -> bool {
    const PROBES: usize = 16;
    let bits = (2 * calls.len()).next_power_of_two().trailing_zeros().clamp(4, 30);
    let mut table = vec![0_u32; 1 << bits];
    calls.iter().all(|call| {
        let digest = call >> INDEX_BITS;
        let mark = (digest as u32).max(1);
        let first = (digest >> (64 - INDEX_BITS - bits)) as usize;
        for slot in (first..first + PROBES).map(|slot| slot & (table.len() - 1)) {
            match table[slot] {
                0 => {
                    table[slot] = mark;
                    return true;
                }
                seen if seen == mark => return false,
                _ => {}
            }
        }
        false
    })
}
