//! Sees to what must stand beside what in the assistant's turn: reasoning, those it was thought for, and signatures.

use trunkline_message_tree::{Content, Role};

use super::provenance::is_reasoning_item;
use super::turn::Gathered;
use super::{Item, is_thinking};
use crate::{
    CallSignatures, Repair, RepairKind, ResultPlace, SIGNATURE_STUB, Thinking, ThinkingLoss, WireRules,
};

/// Mends a run of assistant messages whose calls are settled.
pub(super) fn complete(
    run: &mut [Gathered],
    rules: &WireRules,
    thinking: Thinking,
    repairs: &mut Vec<Repair>,
) {
    if rules.reasoning_items {
        // Where the turn is one, what follows may stand in a later message of it.
        let one = rules.results == ResultPlace::AfterTurn;
        for gathered in run.iter_mut().rev() {
            if drop_followerless(&mut gathered.item, rules, repairs) && one {
                break;
            }
        }
    }
    if !rules.thinking_may_end_turn {
        for gathered in run.iter_mut().rev() {
            drop_final_thinking(&mut gathered.item, repairs);
            if !gathered.item.is_empty() {
                break;
            }
        }
    }
    for Gathered { item, .. } in run {
        if rules.call_signatures == CallSignatures::Leading {
            sign(item, repairs);
        }
        let thinks = item.message.content.iter().any(is_thinking);
        let calls = item.message.calls().next().is_some();
        if rules.reasoning_beside_calls && thinking != Thinking::Off && calls && !thinks {
            item.message.content.insert(0, Content::Thinking { text: String::new(), signature: None });
            repairs.push(Repair { at: item.at, kind: RepairKind::ThinkingAdded });
        }
    }
}

/// Drops the items of reasoning at the end of a message; returns whether it holds anything that they could be for.
pub(super) fn drop_followerless(item: &mut Item, rules: &WireRules, repairs: &mut Vec<Repair>) -> bool {
    let is_item = |block: &Content| match block {
        Content::Opaque { wire, json } => *wire == rules.wire && is_reasoning_item(json),
        _ => false,
    };
    let content = &mut item.message.content;
    debug_assert_eq!(item.message.role, Role::Assistant, "only the assistant reasons");
    let follows = |block: &Content| !is_item(block) && !is_thinking(block);
    let kept = content.iter().rposition(follows).map_or(0, |last| last + 1);
    let mut index = 0;
    let before = content.len();
    content.retain(|block| {
        index += 1;
        index <= kept || !is_item(block)
    });
    let blocks = before - content.len();
    if blocks > 0 {
        let why = ThinkingLoss::NoFollower;
        repairs.push(Repair { at: item.at, kind: RepairKind::ThinkingDropped { blocks, why } });
    }
    kept > 0
}

/// Drops all reasoning of a message that ends with some: nothing of it may be changed, so nothing of it can stay.
pub(super) fn drop_final_thinking(item: &mut Item, repairs: &mut Vec<Repair>) {
    let content = &mut item.message.content;
    if !content.last().is_some_and(is_thinking) {
        return;
    }
    let before = content.len();
    content.retain(|block| !is_thinking(block));
    let (blocks, why) = (before - content.len(), ThinkingLoss::NoFollower);
    repairs.push(Repair { at: item.at, kind: RepairKind::ThinkingDropped { blocks, why } });
}

/// Puts the stub on the first call if it carries no signature, and takes it off the others.
fn sign(item: &mut Item, repairs: &mut Vec<Repair>) {
    let at = item.at;
    let mut leads = true;
    for content in &mut item.message.content {
        let Content::ToolCall(call) = content else { continue };
        let call_id = call.id.clone();
        if leads && call.signature.as_ref().is_none_or(String::is_empty) {
            call.signature = Some(SIGNATURE_STUB.to_owned());
            repairs.push(Repair { at, kind: RepairKind::SignatureAdded { call_id } });
        } else if !leads && call.signature.as_deref() == Some(SIGNATURE_STUB) {
            call.signature = None;
            repairs.push(Repair { at, kind: RepairKind::SignatureDropped { call_id } });
        }
        leads = false;
    }
}
