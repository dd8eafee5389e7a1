//! Writes calls and results as text, for wires that refuse them in a request without tools.

use std::collections::HashMap;

use trunkline_message_tree::{Author, Content, Part, Role};

use super::{Item, quoted_words};
use crate::{Repair, RepairKind};

/// Turns every call and every result of one turn into words of the same side; pictures stay pictures.
pub(super) fn flatten(items: &mut [Item], repairs: &mut Vec<Repair>) {
    let mut names: HashMap<String, String> = HashMap::new();
    for Item { message, at, .. } in items {
        if message.role == Role::Tool && !message.content.is_empty() {
            message.role = Role::User;
            message.author = Author::Harness;
        }
        if !message.content.iter().any(|block| block.as_call().is_some() || block.as_result().is_some()) {
            continue;
        }
        for block in std::mem::take(&mut message.content) {
            match block {
                Content::ToolCall(call) => {
                    let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
                    message.content.push(Content::text(format!("[called {} with {arguments}]", call.name)));
                    let call_id = call.id.clone();
                    repairs.push(Repair { at: *at, kind: RepairKind::Flattened { call_id } });
                    names.insert(call.id, call.name);
                }
                Content::ToolResult(result) => {
                    let name = names.get(&result.call_id).map_or("tool", String::as_str);
                    let verb = if result.is_error { "failed" } else { "returned" };
                    message
                        .content
                        .push(Content::text(format!("[{name} {verb}]\n{}", quoted_words(&result))));
                    message.content.extend(result.content.into_iter().filter_map(|part| match part {
                        Part::Text { .. } | Part::Opaque { .. } => None,
                        Part::Image(media) => Some(Content::Image(media)),
                        Part::Document(media) => Some(Content::Document(media)),
                    }));
                }
                block => message.content.push(block),
            }
        }
    }
}
