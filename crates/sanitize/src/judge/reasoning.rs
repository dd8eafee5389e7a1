//! Judges reasoning and signatures: who made them, and what must stand beside them.

use serde_json::Value;
use trunkline_message_tree::{Content, Message, Role};

use super::Case;
use super::layout::Turn;
use crate::{CallSignatures, Place, Reasoning, SIGNATURE_STUB, Thinking, ThinkingLoss, ViolationKind};

/// Judges each message by itself, then each turn.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    for (index, message) in messages.iter().enumerate().filter(|(_, m)| m.role == Role::Assistant) {
        case.provenance(Place::message(index, message), message);
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
        self.facts.origin.is_none() || self.facts.origin == message.origin
    }

    /// Whether an opaque block is an item of reasoning.
    pub(super) fn is_reasoning_item(&self, wire: &str, json: &str) -> bool {
        self.rules.reasoning_items
            && *wire == *self.rules.wire
            && serde_json::from_str(json).is_ok_and(|item: Value| item["type"] == "reasoning")
    }

    fn provenance(&mut self, at: Place, message: &Message) {
        let ours = self.is_ours(message);
        for (block, content) in message.content.iter().enumerate() {
            let (reasons, signed) = match content {
                Content::Thinking { signature, .. } => {
                    (true, signature.as_ref().is_some_and(|signature| !signature.is_empty()))
                }
                Content::RedactedThinking { .. } => (true, true),
                _ => (false, false),
            };
            let encrypted = matches!(content, Content::RedactedThinking { .. });
            let refused = match self.rules.reasoning {
                Reasoning::Absent => Some(ThinkingLoss::NotOnWire),
                Reasoning::Any => None,
                _ if !ours => Some(ThinkingLoss::Foreign),
                Reasoning::Signed if !signed => Some(ThinkingLoss::Unsigned),
                // What is encrypted has no field there.
                Reasoning::Plain if encrypted => Some(ThinkingLoss::NotOnWire),
                Reasoning::Signed | Reasoning::Own | Reasoning::Plain => None,
            };
            let foreign_item = match content {
                Content::Opaque { wire, json } => !ours && self.is_reasoning_item(wire, json),
                _ => false,
            };
            // Empty reasoning that was put beside calls is nobody's.
            let nobodys = self.rules.reasoning_beside_calls
                && matches!(content, Content::Thinking { text, signature: None } if text.is_empty());
            let refused = refused.filter(|_| reasons && !nobodys);
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

fn is_thinking(block: &Content) -> bool {
    matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. })
}
