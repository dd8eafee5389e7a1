//! Recognises a list that needs no repair, in one walk and without a copy.
//!
//! It may be wrong in one direction only: what it calls sound is left as it is, what it is unsure of goes through the
//! passes, which then find nothing to do.

use std::collections::HashSet;

use trunkline_message_tree::{Content, Message, Part, Role, StopReason, ToolResult};

use crate::passes::{id_fits, is_blank, is_thinking};
use crate::{
    BlankText, Head, IdScope, Reasoning, RequestFacts, ResultPlace, SystemPlace, Tail, Thinking, WireRules,
    json,
};

/// More calls in one message than this are paired with a map, by the passes.
pub(crate) const FEW_CALLS: usize = 16;

/// Returns whether the list is certainly legal.
pub(crate) fn is_sound(
    messages: &[Message],
    rules: &WireRules,
    facts: &RequestFacts,
    thinking: Thinking,
) -> bool {
    let mut walk = Walk {
        rules,
        facts,
        last: None,
        open: Vec::new(),
        user_messages: 0,
        ids: Vec::new(),
        server_calls: HashSet::new(),
    };
    messages.iter().all(|message| walk.step(message)) && walk.ends_well(messages, thinking)
}

struct Walk<'a> {
    rules: &'a WireRules,
    facts: &'a RequestFacts,
    /// The role before; `None` while there were only instructions.
    last: Option<Role>,
    /// The calls of the last turn that have no result yet.
    open: Vec<&'a str>,
    /// Messages since that turn that hold anything but results in tool messages.
    user_messages: usize,
    /// Digests of all call ids so far, where ids must differ in the whole list.
    ids: Vec<u64>,
    server_calls: HashSet<&'a str>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, message: &'a Message) -> bool {
        let sound = match message.role {
            Role::System => self.system(message),
            Role::User => self.user(message),
            Role::Assistant => self.assistant(message),
            Role::Tool => self.tool(message),
        };
        if self.last.is_some() || message.role != Role::System {
            self.last = Some(message.role);
        }
        sound
    }

    fn system(&mut self, message: &Message) -> bool {
        let words = message.content.iter().filter(|block| self.is_speech(block, false)).count();
        if self.last.is_none() {
            let only_text = message.content.iter().all(|block| matches!(block, Content::Text { .. }));
            return only_text && (words == 0 || words == message.content.len());
        }
        self.user_messages += 1;
        self.rules.system == SystemPlace::Anywhere
            && self.open.is_empty()
            && words > 0
            && words == message.content.len()
    }

    fn user(&mut self, message: &'a Message) -> bool {
        if message.content.is_empty() || (self.rules.alternate && self.last == Some(Role::User)) {
            return false;
        }
        let may_answer = self.rules.results == ResultPlace::UserMessage && self.user_messages == 0;
        self.user_messages += 1;
        let mut words = false;
        for block in &message.content {
            let sound = match block {
                Content::ToolResult(result) => may_answer && !words && self.answer(result),
                Content::Image(_) | Content::Document(_) => true,
                Content::Opaque { wire, json } => *wire == self.rules.name && json::is_object(json),
                block => self.is_speech(block, false),
            };
            words |= block.as_result().is_none();
            if !sound {
                return false;
            }
        }
        self.open.is_empty()
    }

    fn tool(&mut self, message: &'a Message) -> bool {
        self.user_messages == 0
            && !message.content.is_empty()
            && message.content.iter().all(|block| block.as_result().is_some_and(|result| self.answer(result)))
    }

    fn assistant(&mut self, message: &'a Message) -> bool {
        let placed = match self.last {
            None => self.rules.head == Head::Any,
            Some(Role::Assistant) => !self.rules.alternate,
            Some(_) => true,
        };
        if !placed || !self.open.is_empty() || message.content.is_empty() {
            return false;
        }
        self.user_messages = 0;
        let beside_call = message.calls().next().is_some();
        for block in &message.content {
            let sound = match block {
                Content::Text { .. } => self.is_speech(block, beside_call),
                Content::ToolCall(call) => {
                    let new = !self.open.contains(&call.id.as_str());
                    if self.rules.ids_unique_in == IdScope::History {
                        self.ids.push(digest(&call.id));
                    }
                    self.open.push(&call.id);
                    new && self.open.len() <= FEW_CALLS
                        && id_fits(&call.id, &self.rules.ids)
                        && json::are_arguments(&call.arguments)
                }
                Content::Thinking { signature, .. } => {
                    self.may_think(message)
                        && (self.unsigned_may_stay() || signature.as_ref().is_some_and(|s| !s.is_empty()))
                }
                Content::RedactedThinking { .. } => self.may_think(message),
                Content::ServerCall { id, json } => {
                    self.server_calls.insert(id);
                    self.is_native(message) && json::is_object(json)
                }
                Content::ServerResult { call_id, json } => {
                    self.server_calls.contains(call_id.as_str())
                        && self.is_native(message)
                        && json::is_object(json)
                }
                Content::Opaque { wire, json } => *wire == self.rules.name && json::is_object(json),
                Content::Image(_) | Content::Document(_) | Content::ToolResult(_) => false,
            };
            if !sound {
                return false;
            }
        }
        true
    }

    /// Whether the result answers an open call and holds what the wire takes; the call is open no more.
    fn answer(&mut self, result: &ToolResult) -> bool {
        let Some(call) = self.open.iter().position(|id| *id == result.call_id) else { return false };
        self.open.swap_remove(call);
        result.content.iter().all(|part| match part {
            Part::Text { text } => {
                self.rules.blank_text == BlankText::Allowed || result.content.len() == 1 || !is_blank(text)
            }
            Part::Image(_) | Part::Document(_) => self.rules.media_in_results,
        })
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

    fn may_think(&self, message: &Message) -> bool {
        match self.rules.reasoning {
            Reasoning::Any => true,
            Reasoning::Absent => false,
            Reasoning::Signed => self.facts.origin.is_none() || self.facts.origin == message.origin,
        }
    }

    fn unsigned_may_stay(&self) -> bool {
        self.rules.reasoning == Reasoning::Any
    }

    fn is_native(&self, message: &Message) -> bool {
        self.rules.server_tools
            && match (&message.origin, &self.facts.origin) {
                (Some(wrote), Some(reads)) => wrote.provider == reads.provider,
                _ => true,
            }
    }

    fn ends_well(&mut self, messages: &[Message], thinking: Thinking) -> bool {
        let Some(last) = messages.last() else { return false };
        // Two ids of one digest may still differ; then the passes find out.
        self.ids.sort_unstable();
        if self.ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return false;
        }
        match self.last {
            None => self.rules.head == Head::Any && self.rules.tail == Tail::Any,
            Some(Role::Assistant) => {
                let continued = self.rules.tail == Tail::Any || last.stop == Some(StopReason::Pause);
                let padded = match last.content.last() {
                    Some(Content::Text { text }) => text.ends_with(char::is_whitespace) || text.is_empty(),
                    _ => false,
                };
                let thinks = last.content.iter().any(is_thinking);
                self.open.is_empty()
                    && continued
                    && !(self.rules.final_white_space_refused && padded)
                    && !(self.rules.final_thinking_needs_thinking && thinking == Thinking::Off && thinks)
            }
            Some(_) => self.open.is_empty(),
        }
    }
}

/// A quick digest: equal ids have equal ones, others nearly never.
fn digest(id: &str) -> u64 {
    id.as_bytes().chunks(8).fold(id.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (digest.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}
