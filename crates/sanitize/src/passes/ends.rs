//! Mends the head and the tail of a list.

use trunkline_message_tree::{Content, Role, StopReason};

use super::blocks::is_thinking;
use super::{Item, is_blank};
use crate::{HEAD_STUB, Head, Place, Repair, RepairKind, TAIL_STUB, Tail, Thinking, ThinkingLoss, WireRules};

/// Puts a user message before a history that the wire would not begin with.
pub(crate) fn mend_head(items: &mut Vec<Item>, rules: &WireRules, repairs: &mut Vec<Repair>) {
    let Some(first) = items.iter().position(|item| item.message.role != Role::System) else { return };
    if rules.head == Head::User && items[first].is_assistant() {
        let at = items[first].at;
        items.insert(first, Item::stub(HEAD_STUB, at));
        repairs.push(Repair { at, kind: RepairKind::HeadAdded });
    }
}

/// Makes the last message one that the wire takes in the last place.
pub(crate) fn mend_tail(
    items: &mut Vec<Item>,
    rules: &WireRules,
    thinking: Thinking,
    end: Place,
    repairs: &mut Vec<Repair>,
) {
    if rules.tail == Tail::User {
        let continues = |item: &Item| item.is_assistant() && item.message.stop != Some(StopReason::Pause);
        if items.last().is_some_and(continues) {
            items.push(Item::stub(TAIL_STUB, end));
            repairs.push(Repair { at: end, kind: RepairKind::TailAdded });
        }
    }
    while items
        .last_mut()
        .is_some_and(|last| last.is_assistant() && mend_last(last, rules, thinking, repairs))
    {
        items.pop();
    }
    let nothing_said = items.iter().all(|item| item.message.role == Role::System);
    if nothing_said && (items.is_empty() || rules.head == Head::User || rules.tail == Tail::User) {
        items.push(Item::stub(HEAD_STUB, end));
        repairs.push(Repair { at: end, kind: RepairKind::HeadAdded });
    }
}

/// Mends an assistant message in the last place; returns whether nothing is left of it.
fn mend_last(last: &mut Item, rules: &WireRules, thinking: Thinking, repairs: &mut Vec<Repair>) -> bool {
    let at = last.at;
    let content = &mut last.message.content;
    if rules.final_thinking_needs_thinking && thinking == Thinking::Off {
        let blocks = content.iter().filter(|block| is_thinking(block)).count();
        content.retain(|block| !is_thinking(block));
        if blocks > 0 {
            let why = ThinkingLoss::Final;
            repairs.push(Repair { at, kind: RepairKind::ThinkingDropped { blocks, why } });
        }
    }
    if rules.final_white_space_refused {
        while let Some(Content::Text { text }) = content.last_mut() {
            let end = text.trim_end().len();
            if end == text.len() && !is_blank(text) {
                break;
            }
            text.truncate(end);
            repairs.push(Repair { at, kind: RepairKind::Trimmed });
            if !text.is_empty() {
                break;
            }
            content.pop();
        }
    }
    if content.is_empty() {
        repairs.push(Repair { at, kind: RepairKind::EmptyDropped { role: Role::Assistant } });
    }
    content.is_empty()
}
