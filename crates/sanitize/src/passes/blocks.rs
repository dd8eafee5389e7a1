//! Leaves out the blocks that a wire refuses wherever they stand: blank texts and what belongs to another provider.
//!
//! Each message is read alone, so what becomes of a block never depends on what is said later. A message that becomes
//! empty stays for now: it still marks a turn.

use std::collections::HashSet;

use trunkline_message_tree::{Content, Message, Origin, Role};

use super::{Item, is_blank, is_blank_part};
use crate::json;
use crate::{
    BlankText, BlockKind, Place, Reasoning, Repair, RepairKind, RequestFacts, ThinkingLoss, WireRules,
};

/// Drops refused blocks in place.
pub(crate) fn drop_refused(
    items: &mut [Item],
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let mut leading = true;
    let mut server_calls = HashSet::new();
    for Item { message, at, .. } in items {
        leading &= message.role == Role::System;
        drop_thinking(message, *at, rules, facts, repairs);
        let speaks = leading && !message.content.iter().all(is_blank_text);
        let beside_call = message.role == Role::Assistant && message.calls().next().is_some();
        let (role, origin) = (message.role, message.origin.take());
        let mut block = 0;
        message.content.retain_mut(|content| {
            let at = at.block(block);
            block += 1;
            let cause = match content {
                Content::Text { text } => {
                    let refused = match rules.blank_text {
                        BlankText::Allowed => false,
                        BlankText::BesideCall if beside_call => text.is_empty(),
                        BlankText::BesideCall | BlankText::Refused => is_blank(text),
                    };
                    // Instructions that say nothing at all are legal: there is nothing to send.
                    (refused && (!leading || speaks)).then_some(RepairKind::BlankDropped)
                }
                Content::ToolResult(result) => {
                    let parts = result.content.len();
                    // One text alone travels as a string, which may be blank where a block may not.
                    if rules.blank_text != BlankText::Allowed && parts > 1 {
                        result.content.retain(|part| !is_blank_part(part));
                    }
                    if result.content.len() < parts {
                        let call_id = result.call_id.clone();
                        repairs.push(Repair { at, kind: RepairKind::BlankPartsDropped { call_id } });
                    }
                    None
                }
                Content::ServerCall { id, json } => {
                    let native = rules.server_tools && is_native(origin.as_ref(), facts);
                    let whole = role == Role::Assistant && json::is_object(json);
                    if native && whole {
                        server_calls.insert(id.clone());
                    }
                    lost(BlockKind::ServerCall, native, whole)
                }
                Content::ServerResult { call_id, json } => {
                    let native = rules.server_tools && is_native(origin.as_ref(), facts);
                    let whole =
                        role == Role::Assistant && json::is_object(json) && server_calls.contains(call_id);
                    lost(BlockKind::ServerResult, native, whole)
                }
                Content::Opaque { wire, json } => {
                    lost(BlockKind::Opaque, *wire == rules.name, json::is_object(json))
                }
                _ => None,
            };
            let keep = cause.is_none();
            repairs.extend(cause.map(|kind| Repair { at, kind }));
            keep
        });
        message.origin = origin;
        // A picture among the instructions moves out in the next pass, and what follows no longer leads.
        leading &= message.content.iter().all(|block| matches!(block, Content::Text { .. }));
    }
}

fn lost(block: BlockKind, native: bool, whole: bool) -> Option<RepairKind> {
    match (native, whole) {
        (true, true) => None,
        (true, false) => Some(RepairKind::BrokenDropped { block }),
        (false, _) => Some(RepairKind::ForeignDropped { block }),
    }
}

/// Drops all reasoning of a message or none: signatures cover what stands beside them.
fn drop_thinking(
    message: &mut Message,
    at: Place,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let blocks = message.content.iter().filter(|block| is_thinking(block)).count();
    if blocks == 0 {
        return;
    }
    let unsigned = |block: &Content| match block {
        Content::Thinking { signature, .. } => signature.as_ref().is_none_or(String::is_empty),
        _ => false,
    };
    let why = match rules.reasoning {
        Reasoning::Absent => ThinkingLoss::NotOnWire,
        _ if message.role != Role::Assistant => ThinkingLoss::Misplaced,
        Reasoning::Any => return,
        Reasoning::Signed if facts.origin.is_some() && facts.origin != message.origin => {
            ThinkingLoss::Foreign
        }
        Reasoning::Signed if message.content.iter().any(unsigned) => ThinkingLoss::Unsigned,
        Reasoning::Signed => return,
    };
    message.content.retain(|block| !is_thinking(block));
    repairs.push(Repair { at, kind: RepairKind::ThinkingDropped { blocks, why } });
}

pub(crate) fn is_thinking(block: &Content) -> bool {
    matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. })
}

fn is_blank_text(block: &Content) -> bool {
    matches!(block, Content::Text { text } if is_blank(text))
}

/// Whether a provider's own block may go back to the provider of this request.
fn is_native(origin: Option<&Origin>, facts: &RequestFacts) -> bool {
    match (origin, &facts.origin) {
        (Some(wrote), Some(reads)) => wrote.provider == reads.provider,
        _ => true,
    }
}
