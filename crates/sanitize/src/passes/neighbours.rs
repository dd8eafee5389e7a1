//! Joins user messages in a row, for wires on which roles must alternate.
//!
//! Nothing is lost: the blocks of the later message follow those of the earlier one. Assistant messages in a row were
//! joined when their calls were gathered.

use trunkline_message_tree::Role;

use super::Item;
use crate::{Repair, RepairKind};

/// Joins every run of user messages into the first of the run.
pub(crate) fn join(items: Vec<Item>, repairs: &mut Vec<Repair>) -> Vec<Item> {
    let users = |item: &Item| item.message.role == Role::User;
    if items.windows(2).all(|pair| !pair.iter().all(users)) {
        return items;
    }
    let mut joined: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        match joined.last_mut() {
            Some(earlier) if earlier.message.role == Role::User && item.message.role == Role::User => {
                repairs.push(Repair { at: item.at, kind: RepairKind::Joined { role: Role::User } });
                earlier.message.content.extend(item.message.content);
            }
            _ => joined.push(item),
        }
    }
    joined
}
