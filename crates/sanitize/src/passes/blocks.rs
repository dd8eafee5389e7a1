//! Leaves out the blocks that a wire refuses wherever they stand: blank texts and what belongs to another provider or model.
//!
//! Each message is read alone, so what becomes of a block never depends on what is said later. A message that becomes
//! empty stays for now: it still marks a turn.

use std::collections::HashSet;

use trunkline_message_tree::{Content, Media, Message, Part, Role};

use super::names::refers_to_nothing;
use super::provenance::{
    is_beside, is_from_here, is_native, is_only_beside, is_ours, is_reasoning_item, is_signed_part,
    is_unsigned, may_return, may_sign, summary_of,
};
use super::server_pairs::ServerBlock;
use super::{Item, is_blank, is_blank_part, raw_words};
use crate::{
    BlankText, BlockKind, CallSignatures, ForeignReasoning, Place, Reasoning, Repair, RepairKind,
    RequestFacts, SIGNATURE_STUB, ThinkingLoss, WireRules,
};
use crate::{bound, json};

/// Drops refused blocks in place. `leading` tells whether only instructions came before.
pub(crate) fn drop_refused(
    items: &mut [Item],
    mut leading: bool,
    halves: &HashSet<ServerBlock>,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    for Item { message, at, .. } in items {
        leading &= message.role == Role::System;
        // What stays in its place comes first, while blocks are still where they were given.
        replace_media(message, *at, rules, facts, repairs);
        drop_signatures(message, *at, rules, facts, repairs);
        quote_foreign_items(message, *at, rules, facts, repairs);
        // Items of one answer point at its reasoning; if that has to go, they go with it.
        let orphaned = is_orphaned(message, rules, facts);
        let unbound = bound::is_unbound(message, facts);
        let speaks = leading && !message.content.iter().all(is_blank_text);
        // A call that becomes words later on keeps no white space company.
        let flattened = rules.tool_blocks_need_tools && facts.tools_offered == Some(false);
        let beside_call = !flattened && message.role == Role::Assistant && message.calls().next().is_some();
        let signs = may_sign(message, rules, facts);
        let native = rules.server_tools && is_native(message.origin.as_ref(), facts);
        let (first_thought, last_thought) = (
            message.content.iter().position(is_thinking),
            message.content.iter().rposition(is_thinking).unwrap_or(0),
        );
        let mut thoughts_parted = false;
        let (mut block, mut server_block) = (0, 0);
        message.content.retain_mut(|content| {
            let at = at.block(block);
            let between = first_thought.is_some_and(|first| first < block) && block < last_thought;
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
                    // One text alone travels as a string where there are such, which may be blank where a block may not.
                    let blocks = parts > 1 || rules.results_are_blocks;
                    if rules.blank_text != BlankText::Allowed && blocks {
                        result.content.retain(|part| !is_blank_part(part));
                    }
                    if result.content.len() < parts {
                        let call_id = result.call_id.clone();
                        repairs.push(Repair { at, kind: RepairKind::BlankPartsDropped { call_id } });
                    }
                    None
                }
                Content::ServerCall { json, .. } => {
                    let half = halves.contains(&(at.message, server_block));
                    server_block += 1;
                    lost(BlockKind::ServerCall, native, json::is_carried_object(json) && !orphaned && !half)
                }
                Content::ServerResult { json, .. } => {
                    let half = halves.contains(&(at.message, server_block));
                    server_block += 1;
                    lost(BlockKind::ServerResult, native, json::is_carried_object(json) && !orphaned && !half)
                }
                // With the reasoning, below.
                Content::Opaque { wire, json }
                    if orphaned && *wire == rules.wire && is_reasoning_item(json) =>
                {
                    None
                }
                // Reasoning of a server of the same wire, on one that knows no such part.
                Content::Opaque { wire, json }
                    if *wire == rules.wire && !rules.fields.takes_part(json) && is_reasoning_item(json) =>
                {
                    Some(RepairKind::ThinkingDropped { blocks: 1, why: ThinkingLoss::NotOnWire })
                }
                Content::Opaque { wire, json } => {
                    let native = *wire == rules.wire
                        && rules.fields.takes_part(json)
                        && (signs || !is_signed_part(json));
                    // What was said beside a text is no item, and points at nothing.
                    let stays = !orphaned || (unbound && is_beside(json));
                    lost(BlockKind::Opaque, native, json::is_carried_object(json) && stays)
                }
                _ => None,
            };
            let keep = cause.is_none();
            thoughts_parted |= !keep && between;
            repairs.extend(cause.map(|kind| Repair { at, kind }));
            keep
        });
        drop_thinking(message, *at, thoughts_parted, rules, facts, repairs);
        // A picture among the instructions moves out in the next pass, and what follows no longer leads.
        leading &= message.content.iter().all(|block| matches!(block, Content::Text { .. }));
    }
}

/// The same for one message of the assistant's.
pub(crate) fn drop_refused_of(
    index: usize,
    message: Message,
    rules: &WireRules,
    facts: &RequestFacts,
) -> (Message, Vec<Repair>) {
    let mut items = [Item::new(index, message)];
    let mut repairs = Vec::new();
    drop_refused(&mut items, false, &HashSet::new(), rules, facts, &mut repairs);
    let [Item { message, .. }] = items;
    (message, repairs)
}

/// Drops what was said beside blocks that are gone, where nothing else is left in the message.
pub(crate) fn drop_asides(items: &mut [Item], repairs: &mut Vec<Repair>) {
    for Item { message, at, .. } in items {
        if is_only_beside(message) {
            let kind = RepairKind::BrokenDropped { block: BlockKind::Opaque };
            repairs.extend(message.content.drain(..).map(|_| Repair { at: *at, kind: kind.clone() }));
        }
    }
}

fn lost(block: BlockKind, native: bool, whole: bool) -> Option<RepairKind> {
    match (native, whole) {
        (true, true) => None,
        (true, false) => Some(RepairKind::BrokenDropped { block }),
        (false, _) => Some(RepairKind::ForeignDropped { block }),
    }
}

/// Drops all reasoning of a message or none: signatures cover what stands beside them. `parted` tells that a block between
/// two thoughts was dropped.
fn drop_thinking(
    message: &mut Message,
    at: Place,
    parted: bool,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let (assistant, ours) = (message.role == Role::Assistant, is_ours(message, facts));
    let quotes = facts.foreign_reasoning == ForeignReasoning::AsText && assistant && !ours;
    drop_items(message, at, quotes, rules, facts, repairs);
    let blocks = message.content.iter().filter(|block| is_thinking(block)).count();
    // Empty reasoning that was put beside calls is nobody's and may stay.
    let nobodys =
        |block: &Content| matches!(block, Content::Thinking { text, signature: None } if text.is_empty());
    let beside_calls = rules.reasoning_beside_calls && assistant;
    if blocks == 0 || (beside_calls && message.content.iter().filter(|b| is_thinking(b)).all(nobodys)) {
        return;
    }
    let unsigned = |block: &Content| match block {
        Content::Thinking { signature, .. } => signature.as_ref().is_none_or(String::is_empty),
        _ => false,
    };
    let encrypted = |block: &Content| matches!(block, Content::RedactedThinking { .. });
    let unbound = bound::is_unbound(message, facts);
    let returns = may_return(message, at.message, rules, facts);
    let closed = is_unsigned(message) && !returns && is_from_here(message, facts);
    let mixed = message.content.iter().any(unsigned);
    let why = match rules.reasoning {
        Reasoning::Absent => ThinkingLoss::NotOnWire,
        Reasoning::Returned if !is_from_here(message, facts) => ThinkingLoss::NotOnWire,
        _ if !assistant => ThinkingLoss::Misplaced,
        Reasoning::Any if !unbound => return,
        Reasoning::Any => ThinkingLoss::PrefixChanged,
        _ if !ours => ThinkingLoss::Foreign,
        _ if unbound => ThinkingLoss::PrefixChanged,
        Reasoning::Signed if mixed => ThinkingLoss::Unsigned,
        Reasoning::SignedOrReturned if mixed && closed => ThinkingLoss::LoopOver,
        Reasoning::SignedOrReturned if mixed && !returns => ThinkingLoss::Unsigned,
        Reasoning::Signed | Reasoning::SignedOrReturned if parted => ThinkingLoss::Parted,
        Reasoning::Returned | Reasoning::Own | Reasoning::Plain if closed => ThinkingLoss::LoopOver,
        // What is encrypted has no field there, and nothing covers the rest.
        Reasoning::Plain | Reasoning::Returned if message.content.iter().any(encrypted) => {
            ThinkingLoss::NotOnWire
        }
        Reasoning::Returned if !returns => ThinkingLoss::LoopOver,
        _ => return,
    };
    let stays = |block: &Content| {
        why == ThinkingLoss::NotOnWire && ours && assistant && {
            let kept =
                rules.reasoning == Reasoning::Plain || (rules.reasoning == Reasoning::Returned && returns);
            kept && !encrypted(block)
        }
    };
    let (mut quoted, mut dropped) = (0, 0);
    message.content.retain_mut(|block| {
        if !is_thinking(block) || stays(block) {
            return true;
        }
        match block {
            Content::Thinking { text, .. } if quotes && !is_blank(text) => {
                *block = quoted_reasoning(text);
                quoted += 1;
                true
            }
            _ => {
                dropped += 1;
                false
            }
        }
    });
    if quoted > 0 {
        repairs.push(Repair { at, kind: RepairKind::ThinkingQuoted { blocks: quoted } });
    }
    if dropped > 0 {
        repairs.push(Repair { at, kind: RepairKind::ThinkingDropped { blocks: dropped, why } });
    }
}

/// Drops items of reasoning that another model wrote or that stand where nobody reasons.
fn drop_items(
    message: &mut Message,
    at: Place,
    quotes: bool,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let assistant = message.role == Role::Assistant;
    if (assistant && !is_orphaned(message, rules, facts))
        || !message.content.iter().any(|block| is_item(block, rules))
    {
        return;
    }
    let (mut blocks, mut quoted) = (0, 0);
    message.content.retain_mut(|block| {
        let Content::Opaque { json, .. } = &*block else { return true };
        if !is_item(block, rules) {
            return true;
        }
        let summary = summary_of(json).filter(|_| quotes);
        quoted += usize::from(summary.is_some());
        blocks += usize::from(summary.is_none());
        summary.map(|summary| *block = quoted_reasoning(&summary)).is_some()
    });
    if quoted > 0 {
        repairs.push(Repair { at, kind: RepairKind::ThinkingQuoted { blocks: quoted } });
    }
    if blocks > 0 {
        let why = match assistant {
            true if is_ours(message, facts) => ThinkingLoss::PrefixChanged,
            true => ThinkingLoss::Foreign,
            false => ThinkingLoss::Misplaced,
        };
        repairs.push(Repair { at, kind: RepairKind::ThinkingDropped { blocks, why } });
    }
}

/// Turns what can be read of another wire's reasoning into text, where that is wished for.
fn quote_foreign_items(
    message: &mut Message,
    at: Place,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    if facts.foreign_reasoning != ForeignReasoning::AsText || message.role != Role::Assistant {
        return;
    }
    for (block, content) in message.content.iter_mut().enumerate() {
        let Content::Opaque { wire, json } = &*content else { continue };
        if *wire == rules.wire || !is_reasoning_item(json) {
            continue;
        }
        if let Some(summary) = summary_of(json) {
            *content = quoted_reasoning(&summary);
            repairs.push(Repair { at: at.block(block), kind: RepairKind::ThinkingQuoted { blocks: 1 } });
        }
    }
}

/// Whether a message holds items of reasoning that have to go, so that whatever points at them has to go with them.
pub(super) fn is_orphaned(message: &Message, rules: &WireRules, facts: &RequestFacts) -> bool {
    message.role == Role::Assistant
        && (!is_ours(message, facts) || bound::is_unbound(message, facts))
        && message.content.iter().any(|block| is_item(block, rules))
}

fn is_item(block: &Content, rules: &WireRules) -> bool {
    match block {
        Content::Opaque { wire, json } => {
            rules.reasoning_items && *wire == rules.wire && is_reasoning_item(json)
        }
        _ => false,
    }
}

fn quoted_reasoning(text: &str) -> Content {
    Content::text(format!("(earlier reasoning)\n{text}"))
}

/// Puts words in the place of pictures and documents where a wire takes none, and of raw parts that are not its own.
fn replace_media(
    message: &mut Message,
    at: Place,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let words = |media: &Media| format!("({} left out: not taken here)", media.media_type);
    for (block, content) in message.content.iter_mut().enumerate() {
        let mut parts = 0;
        match content {
            Content::Image(image) if !rules.takes_image(image) => {
                (*content, parts) = (Content::text(words(image)), 1);
            }
            Content::Document(document) if !rules.takes_document(document) => {
                (*content, parts) = (Content::text(words(document)), 1);
            }
            Content::ToolResult(result) => {
                for part in &mut result.content {
                    match part {
                        Part::Image(image) if !rules.takes_image(image) => *part = Part::text(words(image)),
                        Part::Document(document) if !rules.takes_document(document) => {
                            *part = Part::text(words(document));
                        }
                        Part::Opaque { wire, json }
                            if *wire != rules.wire
                                || !json::is_carried_object(json)
                                || !rules.fields.takes_part(json)
                                || refers_to_nothing(json, rules, facts) =>
                        {
                            *part = Part::text(raw_words(wire, json));
                        }
                        _ => continue,
                    }
                    parts += 1;
                }
            }
            _ => {}
        }
        if parts > 0 {
            repairs.push(Repair { at: at.block(block), kind: RepairKind::MediaReplaced { parts } });
        }
    }
}

/// Drops what another model signed, but for the value that stands for a lost signature where one is asked for.
fn drop_signatures(
    message: &mut Message,
    at: Place,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) {
    let assistant = message.role == Role::Assistant;
    if may_sign(message, rules, facts) {
        return;
    }
    let mut leads = rules.call_signatures == CallSignatures::Leading && assistant;
    for (block, content) in message.content.iter_mut().enumerate() {
        let Content::ToolCall(call) = content else { continue };
        let stands_in = leads && call.signature.as_deref() == Some(SIGNATURE_STUB);
        leads = false;
        if call.signature.is_some() && !stands_in {
            call.signature = None;
            let call_id = call.id.clone();
            repairs.push(Repair { at: at.block(block), kind: RepairKind::SignatureDropped { call_id } });
        }
    }
}

pub(crate) fn is_thinking(block: &Content) -> bool {
    matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. })
}

fn is_blank_text(block: &Content) -> bool {
    matches!(block, Content::Text { text } if is_blank(text))
}
