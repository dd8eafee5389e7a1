//! Judges every block where it stands.

use std::collections::HashSet;

use serde_json::{Map, Value};
use trunkline_message_tree::{Content, Message, Part, Role};

use super::Case;
use crate::{BlankText, BlockKind, Place, Reasoning, ResultPlace, ViolationKind};

/// Judges each message by itself.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message]) {
    let mut server_calls: HashSet<&str> = HashSet::new();
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    for (index, message) in messages.iter().enumerate() {
        let at = Place::message(index, message);
        let leads = index < leading;
        if message.content.is_empty() && !leads {
            case.find(at, ViolationKind::Empty);
        }
        // Instructions that say nothing are not sent at all.
        let silent = leads && message.text().trim().is_empty();
        for (block, content) in message.content.iter().enumerate() {
            let at = at.block(block);
            if let Some(block) = case.misplaced(message.role, content) {
                case.find(at, ViolationKind::Misplaced { block });
                continue;
            }
            match content {
                Content::Text { text } if !silent && case.is_refused_blank(text, message) => {
                    case.find(at, ViolationKind::Blank);
                }
                Content::Thinking { signature, .. } => {
                    let signed = signature.as_ref().is_some_and(|signature| !signature.is_empty());
                    case.thinking(at, message, signed);
                }
                Content::RedactedThinking { .. } => case.thinking(at, message, true),
                Content::ToolResult(result) => case.parts(at, &result.content),
                Content::ServerCall { id, json } => {
                    case.server(at, BlockKind::ServerCall, message, json, true);
                    server_calls.insert(id);
                }
                Content::ServerResult { call_id, json } => {
                    let called = server_calls.contains(call_id.as_str());
                    case.server(at, BlockKind::ServerResult, message, json, called);
                }
                Content::Opaque { wire, json } if *wire != case.rules.name || !is_json_object(json) => {
                    case.find(at, ViolationKind::ForeignBlock { block: BlockKind::Opaque });
                }
                _ => {}
            }
        }
    }
}

impl Case<'_> {
    /// Returns the kind of a block that the role cannot hold.
    fn misplaced(&self, role: Role, content: &Content) -> Option<BlockKind> {
        let (kind, fits) = match content {
            Content::Text { .. } => (BlockKind::Text, role != Role::Tool),
            Content::Thinking { .. } | Content::RedactedThinking { .. } => {
                (BlockKind::Thinking, role == Role::Assistant)
            }
            Content::Image(_) => (BlockKind::Image, role == Role::User),
            Content::Document(_) => (BlockKind::Document, role == Role::User),
            Content::ToolCall(_) => (BlockKind::Call, role == Role::Assistant),
            Content::ToolResult(_) => {
                let in_user = role == Role::User && self.rules.results == ResultPlace::UserMessage;
                (BlockKind::Result, role == Role::Tool || in_user)
            }
            Content::ServerCall { .. } => (BlockKind::ServerCall, role == Role::Assistant),
            Content::ServerResult { .. } => (BlockKind::ServerResult, role == Role::Assistant),
            Content::Opaque { .. } => (BlockKind::Opaque, matches!(role, Role::User | Role::Assistant)),
        };
        (!fits).then_some(kind)
    }

    fn is_refused_blank(&self, text: &str, message: &Message) -> bool {
        let calls = message.role == Role::Assistant && message.calls().count() > 0;
        match self.rules.blank_text {
            BlankText::Allowed => false,
            BlankText::BesideCall if calls => text.is_empty(),
            BlankText::BesideCall | BlankText::Refused => text.trim().is_empty(),
        }
    }

    fn thinking(&mut self, at: Place, message: &Message, signed: bool) {
        let ours = self.facts.origin.is_none() || self.facts.origin == message.origin;
        let taken = match self.rules.reasoning {
            Reasoning::Any => true,
            Reasoning::Signed => signed && ours,
            Reasoning::Absent => false,
        };
        if !taken {
            self.find(at, ViolationKind::ForeignThinking);
        }
    }

    fn parts(&mut self, at: Place, parts: &[Part]) {
        for part in parts {
            match part {
                // One text alone is no block but a string, and a string may be blank.
                Part::Text { text }
                    if self.rules.blank_text != BlankText::Allowed
                        && parts.len() > 1
                        && text.trim().is_empty() =>
                {
                    self.find(at, ViolationKind::Blank);
                }
                Part::Image(_) if !self.rules.media_in_results => {
                    self.find(at, ViolationKind::Misplaced { block: BlockKind::Image });
                }
                Part::Document(_) if !self.rules.media_in_results => {
                    self.find(at, ViolationKind::Misplaced { block: BlockKind::Document });
                }
                _ => {}
            }
        }
    }

    fn server(&mut self, at: Place, block: BlockKind, message: &Message, json: &str, called: bool) {
        let provider = |origin: &Option<trunkline_message_tree::Origin>| {
            origin.as_ref().map(|origin| origin.provider.clone())
        };
        let (wrote, reads) = (provider(&message.origin), provider(&self.facts.origin));
        let ours = wrote.is_none() || reads.is_none() || wrote == reads;
        if !(self.rules.server_tools && ours && called && is_json_object(json)) {
            self.find(at, ViolationKind::ForeignBlock { block });
        }
    }
}

fn is_json_object(json: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(json).is_ok()
}
