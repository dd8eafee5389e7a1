//! Leaves out messages that hold nothing, without letting two turns of the assistant touch.
//!
//! An empty user message between two assistant messages stands for a request that was sent. Left out, it would turn
//! two answers into one, so it gets a stub.

use trunkline_message_tree::{Author, Content, Role};

use super::Item;
use crate::{HEAD_STUB, Repair, RepairKind, TAIL_STUB};

/// Drops empty messages; instructions at the head may be empty.
pub(crate) fn drop_empty(items: Vec<Item>, repairs: &mut Vec<Repair>) -> Vec<Item> {
    if items.iter().all(|item| !item.is_empty()) {
        return items;
    }
    let mut kept = Vec::with_capacity(items.len());
    let mut leading = true;
    let mut spoken = false;
    // Whether anything but instructions is left in front.
    let mut begun = false;
    // Empty messages since the assistant's last turn, whether or not that turn was empty itself.
    let mut hollow: Vec<Item> = Vec::new();
    for item in items {
        leading &= item.message.role == Role::System;
        if item.is_assistant() {
            fill(&mut hollow, &mut kept, spoken, &mut begun, repairs);
            spoken = true;
            if item.is_empty() {
                repairs.push(dropped(&item));
                continue;
            }
        } else if item.is_empty() && !leading {
            hollow.push(item);
            continue;
        }
        begun |= item.message.role != Role::System;
        kept.push(item);
    }
    fill(&mut hollow, &mut kept, spoken, &mut begun, repairs);
    kept
}

/// Ends the user's turn: puts a stub where nothing else was said in it.
fn fill(
    hollow: &mut Vec<Item>,
    kept: &mut Vec<Item>,
    spoken: bool,
    begun: &mut bool,
    repairs: &mut Vec<Repair>,
) {
    for mut item in hollow.drain(..) {
        if !*begun || kept.last().is_some_and(Item::is_assistant) {
            item.message.role = Role::User;
            item.message.author = Author::Harness;
            item.message.content = vec![Content::text(if spoken { TAIL_STUB } else { HEAD_STUB })];
            repairs.push(Repair { at: item.at, kind: RepairKind::EmptyStubbed });
            kept.push(item);
            *begun = true;
        } else if !item.ghost {
            repairs.push(dropped(&item));
        }
    }
}

fn dropped(item: &Item) -> Repair {
    Repair { at: item.at, kind: RepairKind::EmptyDropped { role: item.message.role } }
}
