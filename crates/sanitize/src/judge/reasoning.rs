//! Judges reasoning and signatures: who made them, and what must stand beside them.

use serde_json::Value;
use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::Case;
use super::layout::Turn;
use crate::{
    CallSignatures, Place, Prefix, Reasoning, SIGNATURE_STUB, Thinking, ThinkingLoss, ViolationKind,
};

/// Judges each message by itself, then each turn.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    let running = running_from(messages);
    for (index, message) in messages.iter().enumerate().filter(|(_, m)| m.role == Role::Assistant) {
        case.provenance(Place::message(index, message), message, index >= running);
    }
    if case.rules.reasoning_bound {
        case.bindings(messages);
    }
    for turn in turns.iter().filter(|turn| turn.role == Role::Assistant) {
        case.companions(turn);
    }
    if !case.rules.thinking_may_end_turn {
        for (index, message) in messages.iter().enumerate() {
            let goes_on = messages.get(index + 1).is_some_and(|next| next.role == Role::Assistant);
            let last = message.content.len().saturating_sub(1);
            if !goes_on && message.content.last().is_some_and(is_thinking) && message.role == Role::Assistant
            {
                case.find(
                    Place::message(index, message).block(last),
                    ViolationKind::ReasoningWithoutFollower,
                );
            }
        }
    }
}

impl Case<'_> {
    pub(super) fn is_ours(&self, message: &Message) -> bool {
        let Some(reads) = &self.facts.origin else { return true };
        message.origin.as_ref().is_some_and(|wrote| {
            let address =
                wrote.address.is_none() || reads.address.is_none() || wrote.address == reads.address;
            (&wrote.provider, &wrote.model) == (&reads.provider, &reads.model) && address
        })
    }

    /// Whether an opaque block is an item of reasoning.
    pub(super) fn is_reasoning_item(&self, wire: &str, json: &str) -> bool {
        self.rules.reasoning_items
            && *wire == *self.rules.wire
            && serde_json::from_str(json).is_ok_and(|item: Value| item["type"] == "reasoning")
    }

    /// Whether the message is known to come from the address that is asked.
    fn is_of_this_address(&self, message: &Message) -> bool {
        match (&self.facts.origin, &message.origin) {
            (Some(reads), Some(wrote)) => reads.address.is_some() && reads == wrote,
            _ => false,
        }
    }

    fn provenance(&mut self, at: Place, message: &Message, runs: bool) {
        let ours = self.is_ours(message);
        let here = self.is_of_this_address(message);
        let signs = |content: &Content| match content {
            Content::Thinking { signature, .. } => signature.as_deref().is_some_and(|one| !one.is_empty()),
            Content::RedactedThinking { .. } => true,
            _ => false,
        };
        let loose = !message.content.iter().any(signs);
        let no_loop = self.rules.tool_blocks_need_tools && self.facts.tools_offered == Some(false);
        // What nobody signed is of use in the loop that it was thought in, unless the wire wants more.
        let timely = self.rules.reasoning_beside_calls || (runs && !no_loop);
        let whole = matches!(message.stop, Some(StopReason::EndTurn | StopReason::ToolUse));
        for (block, content) in message.content.iter().enumerate() {
            let (reasons, signed) = match content {
                Content::Thinking { signature, .. } => {
                    (true, signature.as_ref().is_some_and(|signature| !signature.is_empty()))
                }
                Content::RedactedThinking { .. } => (true, true),
                _ => (false, false),
            };
            let encrypted = matches!(content, Content::RedactedThinking { .. });
            let taken = match self.rules.reasoning {
                Reasoning::Any => true,
                Reasoning::Signed => signed && ours,
                Reasoning::SignedOrReturned => ours && (signed || (here && timely && whole)),
                Reasoning::Own => ours && !(loose && here && !timely),
                // What is encrypted has no field there.
                Reasoning::Plain => ours && !(loose && here && !timely) && !encrypted,
                Reasoning::Returned => here && timely && !encrypted,
                Reasoning::Absent => false,
            };
            let why = match self.rules.reasoning {
                Reasoning::Absent => ThinkingLoss::NotOnWire,
                Reasoning::Plain | Reasoning::Returned if encrypted => ThinkingLoss::NotOnWire,
                Reasoning::Returned if !here => ThinkingLoss::Foreign,
                _ if !ours => ThinkingLoss::Foreign,
                _ if here && !timely => ThinkingLoss::LoopOver,
                _ => ThinkingLoss::Unsigned,
            };
            let foreign_item = match content {
                Content::Opaque { wire, json } => !ours && self.is_reasoning_item(wire, json),
                _ => false,
            };
            // Empty reasoning that was put beside calls is nobody's.
            let nobodys = self.rules.reasoning_beside_calls
                && matches!(content, Content::Thinking { text, signature: None } if text.is_empty());
            let refused = (reasons && !taken && !nobodys).then_some(why);
            if let Some(why) = refused.or(foreign_item.then_some(ThinkingLoss::Foreign)) {
                self.find(at.block(block), ViolationKind::ForeignThinking { why });
            }
        }
        let lacks = message.calls().count() > 0 && !message.content.iter().any(is_thinking);
        if lacks && self.rules.reasoning_beside_calls && self.facts.thinking != Thinking::Off {
            self.find(at, ViolationKind::ReasoningMissing);
        }
        self.signatures(at, message, ours);
    }

    /// Judges whether reasoning that is bound stands behind what it was written behind.
    fn bindings(&mut self, messages: &[Message]) {
        let mut before = Prefix::after(self.facts.head.as_ref());
        for (index, message) in messages.iter().enumerate() {
            let written = message.node.and_then(|node| self.facts.prefixes.get(node)).copied();
            let changed = written.is_some_and(|written| written != before.digest());
            for (block, content) in message.content.iter().enumerate() {
                let bound = match content {
                    Content::Thinking { signature: Some(signature), .. } => !signature.is_empty(),
                    Content::RedactedThinking { .. } => true,
                    Content::Opaque { wire, json } => self.is_reasoning_item(wire, json),
                    _ => false,
                };
                if changed && bound && message.role == Role::Assistant {
                    let kind = ViolationKind::ForeignThinking { why: ThinkingLoss::PrefixChanged };
                    self.find(Place::message(index, message).block(block), kind);
                }
            }
            before.message(message);
        }
    }

    fn signatures(&mut self, at: Place, message: &Message, ours: bool) {
        if self.rules.call_signatures == CallSignatures::Ignored {
            return;
        }
        let mut first = self.rules.call_signatures == CallSignatures::Leading;
        for (block, content) in message.content.iter().enumerate() {
            let Content::ToolCall(call) = content else { continue };
            let stands_in = first && call.signature.as_deref() == Some(SIGNATURE_STUB);
            let call_id = call.id.clone();
            if call.signature.is_some() && !ours && !stands_in {
                self.find(at.block(block), ViolationKind::ForeignSignature { call_id });
            } else if first && call.signature.as_ref().is_none_or(String::is_empty) {
                self.find(at.block(block), ViolationKind::SignatureMissing { call_id });
            }
            first = false;
        }
    }

    /// Judges what must stand beside what in one turn.
    fn companions(&mut self, turn: &Turn<'_>) {
        let is_item = |block: &Content| match block {
            Content::Opaque { wire, json } => self.is_reasoning_item(wire, json),
            _ => false,
        };
        let follows = |block: &Content| !is_item(block) && !is_thinking(block);
        let last = turn.blocks.iter().rposition(|(_, block)| follows(block));
        let alone = |(index, (_, block)): &(usize, &(Place, &Content))| {
            is_item(block) && last.is_none_or(|last| *index > last)
        };
        let found: Vec<Place> =
            turn.blocks.iter().enumerate().filter(alone).map(|(_, (at, _))| *at).collect();
        for at in found {
            self.find(at, ViolationKind::ReasoningWithoutFollower);
        }
    }
}

/// Returns the message from which on the tool loop goes that is not over yet; the number of messages if all are over.
fn running_from(messages: &[Message]) -> usize {
    let speaks =
        |message: &Message| message.role == Role::User && message.results().count() < message.content.len();
    let mut from_end = messages.iter().rev().filter(|message| message.role != Role::System);
    let over = match from_end.next() {
        Some(last) if last.role == Role::Assistant => last.calls().count() == 0,
        Some(last) => speaks(last),
        None => true,
    };
    if over {
        return messages.len();
    }
    messages
        .iter()
        .enumerate()
        .filter(|(_, message)| speaks(message))
        .map(|(at, _)| at + 1)
        .max()
        .unwrap_or(0)
}

fn is_thinking(block: &Content) -> bool {
    matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. })
}
