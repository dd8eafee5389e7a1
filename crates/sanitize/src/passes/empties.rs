//! Leaves out messages that hold nothing, without letting two turns of the assistant touch.
//!
//! An empty user message between two assistant messages stands for a request that was sent. Left out, it would turn
//! two answers into one, so it gets a stub.

use trunkline_message_tree::{Author, Content, Role};

use super::Item;
use crate::{HEAD_STUB, Repair, RepairKind, TAIL_STUB};

/// What stands before a turn.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Before {
    /// Whether the assistant has spoken.
    pub(crate) spoken: bool,
    /// Whether anything but instructions is left.
    pub(crate) begun: bool,
    /// Whether only instructions were given.
    pub(crate) leading: bool,
    /// Whether the last message that is left is the assistant's, instructions aside.
    pub(crate) assistant: bool,
}

impl Before {
    /// Takes note of a message that is left.
    fn pass(&mut self, role: Role) {
        self.begun |= role != Role::System;
        if role != Role::System {
            self.assistant = role == Role::Assistant;
        }
    }
}

/// Drops empty messages of one turn; instructions at the head may be empty.
pub(crate) fn drop_empty(items: Vec<Item>, mut before: Before, repairs: &mut Vec<Repair>) -> Vec<Item> {
    if items.iter().all(|item| !item.is_empty()) {
        return items;
    }
    let mut kept = Vec::with_capacity(items.len());
    // Empty messages since the assistant's last turn, whether or not that turn was empty itself.
    let mut hollow: Vec<Item> = Vec::new();
    for item in items {
        before.leading &= item.message.role == Role::System;
        if item.is_assistant() {
            fill(&mut hollow, &mut kept, &mut before, repairs);
            before.spoken = true;
            if item.is_empty() {
                repairs.push(dropped(&item));
                continue;
            }
        } else if item.is_empty() && !before.leading {
            hollow.push(item);
            continue;
        }
        before.pass(item.message.role);
        kept.push(item);
    }
    fill(&mut hollow, &mut kept, &mut before, repairs);
    kept
}

/// Ends the user's turn: puts a stub where nothing else was said in it.
fn fill(hollow: &mut Vec<Item>, kept: &mut Vec<Item>, before: &mut Before, repairs: &mut Vec<Repair>) {
    for mut item in hollow.drain(..) {
        if !before.begun || before.assistant {
            item.message.role = Role::User;
            item.message.author = Author::Harness;
            item.message.content = vec![Content::text(if before.spoken { TAIL_STUB } else { HEAD_STUB })];
            repairs.push(Repair { at: item.at, kind: RepairKind::EmptyStubbed });
            before.pass(Role::User);
            kept.push(item);
        } else if !item.ghost {
            repairs.push(dropped(&item));
        }
    }
}

fn dropped(item: &Item) -> Repair {
    Repair { at: item.at, kind: RepairKind::EmptyDropped { role: item.message.role } }
}
