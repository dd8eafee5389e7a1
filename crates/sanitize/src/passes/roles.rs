//! Gives every block a message of a role that may hold it.
//!
//! A call in a user message becomes an assistant message of its own; an empty user message stays behind it, because
//! whatever follows was said after the user had had a turn.

use trunkline_message_tree::{Author, Content, Role};

use super::provenance::is_reasoning_item;
use super::{Item, is_blank_part};
use crate::{BlockKind, Repair, RepairKind, SystemPlace, WireRules};

/// Moves misplaced blocks and turns late instructions into messages of the harness.
pub(crate) fn rehome(items: Vec<Item>, rules: &WireRules, repairs: &mut Vec<Repair>) -> Vec<Item> {
    if items.iter().all(|item| is_home(item, rules)) {
        return items;
    }
    let mut homes: Vec<Item> = Vec::with_capacity(items.len());
    let mut leading = true;
    // What an assistant message cannot hold waits here: results until its turn ends, media until the results do.
    let mut results: Vec<Item> = Vec::new();
    let mut media: Vec<Item> = Vec::new();
    for mut item in items {
        if item.is_assistant() {
            // The turn goes on unless something came in between.
            if homes.last().is_some_and(|home| !home.is_assistant()) {
                homes.append(&mut media);
            }
        } else {
            homes.append(&mut results);
            if item.message.role != Role::Tool {
                homes.append(&mut media);
            }
        }
        leading &= homes.last().is_none_or(|home| home.message.role == Role::System);
        if item.message.role == Role::System && !leading && rules.system != SystemPlace::Anywhere {
            item.message.role = Role::User;
            item.message.author = Author::Harness;
            repairs.push(Repair { at: item.at, kind: RepairKind::SystemToUser });
        }
        let role = item.message.role;
        // Late instructions may bring a wire's own blocks along, such as tools that are added. What says nothing may go later
        // on, and what stood behind it leads then.
        let brings = role == Role::System && !leading && homes.iter().any(begins);
        let home = |block: &Content| match block {
            Content::Opaque { json, .. } if brings && !is_reasoning_item(json) => role,
            _ => home(block, role),
        };
        if item.message.content.iter().all(|block| home(block) == role) {
            homes.push(item);
            continue;
        }
        for (block, content) in item.message.content.iter().enumerate() {
            let to = home(content);
            if to != role {
                let kind = RepairKind::Rehomed { block: kind(content), from: role, to };
                repairs.push(Repair { at: item.place_of(block), kind });
            }
        }
        if role == Role::Assistant {
            for content in take_if(&mut item.message.content, |block| home(block) == Role::Tool) {
                results.push(item.piece(Role::Tool, vec![content]));
            }
            let pictures = take_if(&mut item.message.content, |block| home(block) == Role::User);
            if !pictures.is_empty() {
                media.push(item.piece(Role::User, pictures));
            }
            homes.push(item);
        } else {
            split(item, brings, &mut homes);
        }
    }
    homes.append(&mut results);
    homes.append(&mut media);
    homes
}

/// Whether nothing can move out of a message and it cannot move itself, wherever it stands.
fn is_home(item: &Item, rules: &WireRules) -> bool {
    let role = item.message.role;
    let may_be_late = item.at.message > 0 && role == Role::System && rules.system != SystemPlace::Anywhere;
    !may_be_late && item.message.content.iter().all(|block| home(block, role) == role)
}

/// Whether something of a message is certainly left when it is through: a result that holds nothing and has no call is not.
fn begins(home: &Item) -> bool {
    let stays =
        |block: &Content| !block.as_result().is_some_and(|result| result.content.iter().all(is_blank_part));
    home.message.role != Role::System && home.message.content.iter().any(stays)
}

/// Which role a block belongs to when it stands in a message of `role`.
fn home(block: &Content, role: Role) -> Role {
    match (block, role) {
        (Content::ToolCall(_), _) => Role::Assistant,
        (Content::ToolResult(_), Role::User) => Role::User,
        (Content::ToolResult(_), _) => Role::Tool,
        (Content::Text { .. }, Role::Tool) => Role::User,
        (Content::Text { .. }, _) => role,
        (Content::Image(_) | Content::Document(_), _) => Role::User,
        (Content::Opaque { .. }, Role::User | Role::Assistant) => role,
        (Content::Opaque { .. }, _) => Role::User,
        // Refused elsewhere and dropped by the pass before, so where they are left they may stay.
        (Content::Thinking { .. } | Content::RedactedThinking { .. }, _) => role,
        (Content::ServerCall { .. } | Content::ServerResult { .. }, _) => role,
    }
}

/// Cuts a message of the user's side into messages of one role each; `brings` tells that a wire's own blocks stay.
fn split(mut item: Item, brings: bool, homes: &mut Vec<Item>) {
    let role = item.message.role;
    let home = |block: &Content, role: Role| match block {
        Content::Opaque { json, .. } if brings && !is_reasoning_item(json) => role,
        _ => home(block, role),
    };
    let mut blocks = std::mem::take(&mut item.message.content);
    let mut pieces: Vec<Item> = Vec::new();
    if role == Role::System {
        // Instructions that led go on leading.
        let instructions = take_if(&mut blocks, |block| home(block, role) == role);
        if !instructions.is_empty() {
            pieces.push(item.piece(role, instructions));
        }
    }
    for block in blocks {
        let to = home(&block, role);
        // Pieces since the last call; a block joins its like among them, so that results stay together.
        let since = pieces.iter().rposition(Item::is_assistant).filter(|_| to != Role::Assistant);
        let start = since.map_or(0, |call| call + 1);
        match pieces.iter_mut().skip(start).find(|piece| piece.message.role == to) {
            Some(piece) if to != Role::Assistant => piece.message.content.push(block),
            _ => pieces.push(item.piece(to, vec![block])),
        }
    }
    let ends_with_call = pieces.last().is_some_and(Item::is_assistant);
    homes.append(&mut pieces);
    if ends_with_call {
        homes.push(Item { ghost: true, ..item.piece(Role::User, Vec::new()) });
    }
}

fn take_if(content: &mut Vec<Content>, wanted: impl Fn(&Content) -> bool) -> Vec<Content> {
    let (taken, kept) = std::mem::take(content).into_iter().partition(wanted);
    *content = kept;
    taken
}

fn kind(block: &Content) -> BlockKind {
    match block {
        Content::Text { .. } => BlockKind::Text,
        Content::Thinking { .. } | Content::RedactedThinking { .. } => BlockKind::Thinking,
        Content::Image(_) => BlockKind::Image,
        Content::Document(_) => BlockKind::Document,
        Content::ToolCall(_) => BlockKind::Call,
        Content::ToolResult(_) => BlockKind::Result,
        Content::ServerCall { .. } => BlockKind::ServerCall,
        Content::ServerResult { .. } => BlockKind::ServerResult,
        Content::Opaque { .. } => BlockKind::Opaque,
    }
}
