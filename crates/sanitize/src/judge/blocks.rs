//! Judges every block where it stands.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::Value;
use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, Role, ToolResult};

use super::Case;
use crate::{
    BlankText, BlockKind, CallSignatures, MediaAddresses, MediaTypes, Place, ResultPlace, SystemPlace,
    TakenMedia, ViolationKind,
};

/// Judges each message by itself.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message]) {
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    for (index, message) in messages.iter().enumerate() {
        let at = Place::message(index, message);
        let leads = index < leading;
        if message.content.is_empty() && !leads {
            case.find(at, ViolationKind::Empty);
        }
        let calls = message.role == Role::Assistant && message.calls().next().is_some();
        let foreign_items = case.holds_foreign_items(message);
        // Instructions that say nothing are not sent at all.
        let silent = leads && message.text().trim().is_empty();
        let alone = message.content.iter().all(is_aside);
        for (block, content) in message.content.iter().enumerate() {
            let at = at.block(block);
            // Late instructions may bring a wire's own blocks along, such as tools that are added.
            let brings = message.role == Role::System && !leads && case.rules.system == SystemPlace::Anywhere;
            let stays = |block: &BlockKind| !(brings && *block == BlockKind::Opaque);
            if let Some(block) = case.misplaced(message.role, content).filter(stays) {
                case.find(at, ViolationKind::Misplaced { block });
                continue;
            }
            let is_tool_block = content.as_call().is_some() || content.as_result().is_some();
            if is_tool_block && case.rules.tool_blocks_need_tools && case.facts.tools_offered == Some(false) {
                case.find(at, ViolationKind::NoToolsOffered);
            }
            match content {
                Content::Text { text } if !silent && case.is_refused_blank(text, calls) => {
                    case.find(at, ViolationKind::Blank);
                }
                Content::ToolResult(result) => case.result(at, result),
                Content::Image(media) if case.is_refused_media(BlockKind::Image, media) => {
                    case.find(at, ViolationKind::MediaRefused);
                }
                Content::Document(media) if case.is_refused_media(BlockKind::Document, media) => {
                    case.find(at, ViolationKind::MediaRefused);
                }
                Content::Opaque { wire, json } => {
                    let signs = message.role == Role::Assistant && case.is_ours(message);
                    match alone {
                        true => case.find(at, ViolationKind::ForeignBlock { block: BlockKind::Opaque }),
                        false => case.opaque(at, foreign_items, signs, wire, json),
                    }
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
            Content::Opaque { wire, json } if self.is_reasoning_item(wire, json) => {
                (BlockKind::Thinking, role == Role::Assistant)
            }
            Content::Opaque { .. } => (BlockKind::Opaque, matches!(role, Role::User | Role::Assistant)),
        };
        (!fits).then_some(kind)
    }

    fn is_refused_blank(&self, text: &str, calls: bool) -> bool {
        match self.rules.blank_text {
            BlankText::Allowed => false,
            BlankText::BesideCall if calls => text.is_empty(),
            BlankText::BesideCall | BlankText::Refused => text.trim().is_empty(),
        }
    }

    fn is_refused_media(&self, block: BlockKind, media: &Media) -> bool {
        let taken = match self.rules.media {
            TakenMedia::All => true,
            TakenMedia::Images => block == BlockKind::Image,
            TakenMedia::None => false,
        };
        let address = match (&media.source, self.rules.media_addresses) {
            (MediaSource::Base64(_), _) => true,
            (MediaSource::Url(_), MediaAddresses::Any) => true,
            (MediaSource::Url(_), MediaAddresses::Images) => block == BlockKind::Image,
            (MediaSource::Url(address), MediaAddresses::S3) => address.starts_with("s3://"),
            (MediaSource::Url(_), MediaAddresses::None) => false,
        };
        let by_bytes = matches!(media.source, MediaSource::Base64(_));
        let known = match self.rules.media_types {
            MediaTypes::Any => true,
            MediaTypes::Web => !by_bytes || block != BlockKind::Image || is_web_image(&media.media_type),
            MediaTypes::Messages if block == BlockKind::Image => !by_bytes || is_web_image(&media.media_type),
            MediaTypes::Messages => !by_bytes || is_text_or_pdf(&media.media_type),
            MediaTypes::Gemini => !by_bytes || is_read_by_gemini(block, &media.media_type),
            MediaTypes::Converse => has_format(block, &media.media_type),
        };
        !(taken && address && known)
    }

    fn result(&mut self, at: Place, result: &ToolResult) {
        let call_id = || result.call_id.clone();
        let mut says_something = false;
        let mut bytes = 0;
        for part in &result.content {
            let (media, blank) = match part {
                Part::Text { text } => (None, text.trim().is_empty()),
                Part::Image(media) => (Some((BlockKind::Image, media)), false),
                Part::Document(media) => (Some((BlockKind::Document, media)), false),
                Part::Opaque { wire, json } => {
                    let sound = is_json_object(json) && self.has_part(json) && self.knows_reference(json);
                    if *wire != self.rules.wire || !sound {
                        self.find(at, ViolationKind::ForeignBlock { block: BlockKind::Opaque });
                    }
                    (None, false)
                }
            };
            says_something |= !blank;
            if let Part::Text { text } = part {
                bytes += text.len();
            }
            // One text alone is no block but a string, and a string may be blank, where there are strings.
            let is_block = result.content.len() > 1 || self.rules.results_are_blocks;
            if blank && self.rules.blank_text != BlankText::Allowed && is_block {
                self.find(at, ViolationKind::Blank);
            }
            match media {
                Some((block, media)) if self.is_refused_media(block, media) => {
                    self.find(at, ViolationKind::MediaRefused);
                }
                Some((block, _)) if !self.rules.media_in_results => {
                    self.find(at, ViolationKind::Misplaced { block });
                }
                _ => {}
            }
        }
        if result.is_error && !says_something && self.rules.results_are_blocks {
            self.find(at, ViolationKind::EmptyErrorResult { call_id: call_id() });
        }
        if self.facts.context_window.is_some_and(|tokens| bytes as u64 > 4 * u64::from(tokens.max(256))) {
            self.find(at, ViolationKind::ResultTooLarge { call_id: call_id() });
        }
    }

    /// `signs` tells whether the model of this request wrote the message.
    fn opaque(&mut self, at: Place, foreign_items: bool, signs: bool, wire: &str, json: &str) {
        // Items of one answer point at its reasoning; without that they are refused.
        let orphaned = || foreign_items && !self.is_reasoning_item(wire, json);
        let signed_elsewhere =
            || !signs && self.rules.call_signatures != CallSignatures::Ignored && is_signed(json);
        let known = is_json_object(json) && self.has_part(json);
        if *wire != *self.rules.wire || !known || orphaned() || signed_elsewhere() {
            self.find(at, ViolationKind::ForeignBlock { block: BlockKind::Opaque });
        }
    }

    pub(super) fn holds_foreign_items(&self, message: &Message) -> bool {
        let is_item = |block: &Content| match block {
            Content::Opaque { wire, json } => self.is_reasoning_item(wire, json),
            _ => false,
        };
        message.role == Role::Assistant && !self.is_ours(message) && message.content.iter().any(is_item)
    }
}

/// Whether a block that is carried as it came is an object; what is in it is for its provider to read.
pub(super) fn is_json_object(json: &str) -> bool {
    let keys: Result<HashMap<Cow<'_, str>, IgnoredAny>, _> = serde_json::from_str(json);
    keys.is_ok()
}

/// Whether a part of Gemini carries a signature, itself or in what is kept of it beside its words.
fn is_signed(json: &str) -> bool {
    let part: Value = serde_json::from_str(json).unwrap_or_default();
    let beside_call = !part["besideCall"]["extra_content"].is_null();
    beside_call || [&part, &part["part"]].iter().any(|part| !part["thoughtSignature"].is_null())
}

fn is_web_image(media_type: &str) -> bool {
    has_format(BlockKind::Image, media_type)
}

fn is_read_by_gemini(block: BlockKind, media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match (block, essence.split_once('/').unwrap_or_default()) {
        (BlockKind::Image, ("image", "avif" | "heic" | "heif")) => true,
        (BlockKind::Image, _) => is_web_image(media_type),
        (_, ("text" | "audio" | "video", _)) => true,
        (_, ("application", kind)) => matches!(kind, "pdf" | "rtf" | "x-javascript" | "x-python"),
        _ => false,
    }
}

fn is_text_or_pdf(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/pdf" || essence.starts_with("text/")
}

impl Case<'_> {
    /// Whether a part refers to no tool, or to one that is known to be offered, or nothing is known.
    fn knows_reference(&self, json: &str) -> bool {
        let part: Value = serde_json::from_str(json).unwrap_or_default();
        let nothing_known = self.facts.tools.is_empty() && self.facts.tools_offered != Some(false);
        if !self.rules.references_need_tools || nothing_known || part["type"] != "tool_reference" {
            return true;
        }
        part["tool_name"].as_str().is_some_and(|name| self.facts.tools.iter().any(|tool| tool == name))
    }
}

/// Whether Bedrock Converse has a word for that type.
fn has_format(block: BlockKind, media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match (block, essence.split_once('/').unwrap_or_default()) {
        (BlockKind::Image, ("image", kind)) => matches!(kind, "png" | "jpeg" | "jpg" | "gif" | "webp"),
        (BlockKind::Image, _) => false,
        (_, ("text", _)) => true,
        (_, ("application", kind)) => {
            matches!(kind, "pdf" | "json" | "xml" | "msword" | "vnd.ms-excel")
                || kind == "vnd.openxmlformats-officedocument.wordprocessingml.document"
                || kind == "vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        }
        _ => false,
    }
}

/// Whether a block only adds to the one before it or to its message.
fn is_aside(block: &Content) -> bool {
    let Content::Opaque { json, .. } = block else { return false };
    let members: Option<HashMap<String, IgnoredAny>> =
        if json.contains("\"beside") { serde_json::from_str(json).ok() } else { None };
    members.is_some_and(|members| {
        members.keys().any(|name| matches!(name.as_str(), "besideText" | "besideCall" | "besideMessage"))
    })
}
