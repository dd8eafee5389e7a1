//! Mends the tail of a list.

use std::borrow::Borrow;

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::{Item, companions, is_blank, is_silent, is_thinking};
use crate::{HEAD_STUB, Head, Place, Repair, RepairKind, TAIL_STUB, Tail, Thinking, ThinkingLoss, WireRules};

/// Makes the last message one that the wire takes in the last place. `items` is the last turn, `before` what came before it.
pub(super) fn mend_tail<M: Borrow<Message>>(
    items: &mut Vec<Item>,
    before: &[M],
    rules: &WireRules,
    thinking: Thinking,
    end: Place,
    repairs: &mut Vec<Repair>,
) {
    // What is left of the last message may be nothing; then the one before it is the last.
    while let Some(last) = items.last_mut().filter(|last| last.is_assistant()) {
        if rules.tail == Tail::User && last.message.stop != Some(StopReason::Pause) {
            if !rules.thinking_may_end_turn {
                companions::drop_final_thinking(last, repairs);
            }
            if last.is_empty() {
                repairs
                    .push(Repair { at: last.at, kind: RepairKind::EmptyDropped { role: Role::Assistant } });
                items.pop();
                continue;
            }
            items.push(Item::stub(TAIL_STUB, end));
            repairs.push(Repair { at: end, kind: RepairKind::TailAdded });
        } else if mend_last(last, rules, thinking, repairs) {
            items.pop();
        } else {
            break;
        }
    }
    // Instructions at the end are nobody's turn: who spoke before them spoke last.
    let all = before.iter().map(Borrow::borrow).chain(items.iter().map(|item| &item.message));
    let spoken = all.rev().find(|message| message.role != Role::System);
    let continues = |last: &&Message| last.role == Role::Assistant && last.stop != Some(StopReason::Pause);
    if rules.tail == Tail::User && spoken.filter(continues).is_some() {
        items.push(Item::stub(TAIL_STUB, end));
        repairs.push(Repair { at: end, kind: RepairKind::TailAdded });
    }
    let all = || before.iter().map(Borrow::borrow).chain(items.iter().map(|item| &item.message));
    let nothing_said = all().all(|message| message.role == Role::System);
    let nothing = nothing_said && all().all(is_silent);
    if nothing_said && (nothing || rules.head == Head::User || rules.tail == Tail::User) {
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
    if !rules.thinking_may_end_turn {
        companions::drop_final_thinking(last, repairs);
    }
    if rules.reasoning_items {
        companions::drop_followerless(last, rules, repairs);
    }
    let content = &last.message.content;
    if content.is_empty() {
        repairs.push(Repair { at, kind: RepairKind::EmptyDropped { role: Role::Assistant } });
    }
    content.is_empty()
}
