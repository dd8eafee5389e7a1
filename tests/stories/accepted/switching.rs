//! A conversation that one service accepted goes on at any other.
//!
//! The history is what was recorded; where only its maker could read something, it is marked, so that a validator sees
//! it if it is sent on.

use std::collections::BTreeMap;

use trunkline_message_tree::{Content, Message, Origin, Role, notation};
use trunkline_sanitize::{Account, WireRules, sanitize};

use super::{accepted, wires};
use crate::validators::FOREIGN;
use crate::{recordings, services};

#[test]
fn accepted_histories_can_go_on_at_every_other_service() {
    let Some(folder) = recordings::folder() else { return };
    let (mut failures, mut switched) = (Vec::new(), BTreeMap::new());
    for wire in wires::ALL {
        for (exchange, history) in accepted(&wire, &folder) {
            let messages: Vec<Message> =
                history.messages.iter().map(|message| moved(message, wire.protocol.name())).collect();
            for name in WireRules::NAMES {
                let rules = WireRules::named(name).expect("a name of a rule set");
                // The same wire reads what it wrote.
                if wire.protocol.name().starts_with(&*rules.wire) {
                    continue;
                }
                let mut facts = history.facts.clone();
                facts.origin = Some(Origin::new(*name, "another"));
                let sanitized = sanitize(messages.as_slice(), &rules, &facts);
                *switched.entry(*name).or_insert(0) += usize::from(history.has_results());
                if let Err(answer) = services::answer(name, &sanitized.messages, &sanitized.facts(&facts)) {
                    let (account, sent) =
                        (Account::of(&sanitized.repairs), notation::print(&sanitized.messages));
                    failures.push(format!("{} at {name}: {answer}\n{account}\n{sent}", exchange.file));
                }
            }
        }
    }
    eprintln!("histories with tools that went on elsewhere: {switched:?}");
    assert!(switched.values().all(|histories| *histories > 0), "nothing was read");
    assert!(failures.is_empty(), "{} faults:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Returns the message as another service gets it.
fn moved(message: &Message, provider: &str) -> Message {
    let mut message = message.clone();
    if message.role == Role::Assistant {
        message.origin = Some(Origin::new(provider, "recorded"));
    }
    let mark = |text: &mut String| text.insert_str(0, FOREIGN);
    for block in &mut message.content {
        match block {
            Content::Thinking { signature, .. } => signature.iter_mut().for_each(mark),
            Content::RedactedThinking { data } => mark(data),
            Content::ToolCall(call) => call.signature.iter_mut().for_each(mark),
            Content::ServerCall { json, .. }
            | Content::ServerResult { json, .. }
            | Content::Opaque { json, .. } => {
                json.replace_range(..1, &format!("{{\"made_by\":\"{FOREIGN}\","));
            }
            Content::Text { .. } | Content::Image(_) | Content::Document(_) | Content::ToolResult(_) => {}
        }
    }
    message
}
