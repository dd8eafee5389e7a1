//! Blocks of JSON to ours.
//!
//! What is not known becomes an opaque block and is carried. Only what cannot be a block at all is reported.

use trunkline_message_tree::{Content, Media, MediaSource, Part, StopReason, ToolCall, ToolResult, Usage};

use super::WIRE;
use crate::json::{Fields, Value};

/// What a message says.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    pub(crate) blocks: Vec<Content>,
    /// The bytes of each block.
    pub(crate) raws: Vec<&'a str>,
    /// Elements that are no blocks: strings, which were read as text, and others, which were left out.
    pub(crate) odd: usize,
}

/// Reads the content of a message: a string or blocks.
pub(crate) fn body<'a>(content: Option<&Value<'a>>) -> Result<Body<'a>, String> {
    let Some(content) = content else { return Ok(Body::default()) };
    if let Some(text) = content.text() {
        return Ok(Body { blocks: vec![Content::text(text)], raws: vec![content.get()], odd: 0 });
    }
    let items = content.items().ok_or_else(|| "its content is neither a string nor blocks".to_owned())?;
    let mut odd = 0;
    let (mut blocks, mut raws) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items.iter() {
        if let Some(fields) = item.fields() {
            blocks.push(block(&fields, item.get()));
            raws.push(item.get());
            continue;
        }
        odd += 1;
        if let Some(text) = item.text() {
            blocks.push(Content::text(text));
            raws.push(item.get());
        }
    }
    Ok(Body { blocks, raws, odd })
}

/// Reads one block.
fn block(fields: &Fields<'_>, raw: &str) -> Content {
    let owned = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned);
    let json = || raw.to_owned();
    let kind = fields.text("type").unwrap_or_default();
    let known = match kind.as_ref() {
        "text" => owned("text").map(Content::text),
        // An empty signature proves nothing; clients write one where the provider gave none.
        "thinking" => owned("thinking").map(|text| Content::Thinking {
            text,
            signature: owned("signature").filter(|signature| !signature.is_empty()),
        }),
        "redacted_thinking" => owned("data").map(|data| Content::RedactedThinking { data }),
        "image" => media(fields, "image/*").map(Content::Image),
        "document" => media(fields, "application/pdf").map(Content::Document),
        "tool_use" => Some(Content::ToolCall(ToolCall {
            id: owned("id").unwrap_or_default(),
            name: owned("name").unwrap_or_default(),
            arguments: fields.get("input").map(|input| input.get().to_owned()).unwrap_or_default(),
            signature: None,
        })),
        "tool_result" => Some(Content::ToolResult(ToolResult {
            call_id: owned("tool_use_id").unwrap_or_default(),
            content: fields.get("content").map(parts).unwrap_or_default(),
            is_error: fields.flag("is_error"),
        })),
        "server_tool_use" | "mcp_tool_use" => owned("id").map(|id| Content::ServerCall { id, json: json() }),
        kind if kind.ends_with("_tool_result") => {
            owned("tool_use_id").map(|call_id| Content::ServerResult { call_id, json: json() })
        }
        _ => None,
    };
    known.unwrap_or_else(|| Content::Opaque { wire: WIRE.to_owned(), json: json() })
}

/// Reads what a tool returned. A part of a kind that we have no word for is carried as it is.
fn parts(content: &Value<'_>) -> Vec<Part> {
    if let Some(text) = content.text() {
        return if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
    }
    let Some(items) = content.items() else { return vec![Part::text(content.get())] };
    let part = |item: &Value<'_>| {
        let known = item.fields().and_then(|fields| match fields.text("type")?.as_ref() {
            "text" => fields.text("text").map(Part::text),
            "image" => media(&fields, "image/*").map(Part::Image),
            "document" => media(&fields, "application/pdf").map(Part::Document),
            _ => None,
        });
        let raw = || match item.fields() {
            Some(_) => Part::Opaque { wire: WIRE.to_owned(), json: item.get().to_owned() },
            None => Part::text(item.get()),
        };
        known.or_else(|| item.text().map(Part::text)).unwrap_or_else(raw)
    };
    items.iter().map(part).collect()
}

/// Reads bytes or their address. The wire does not say what kind of picture stands at an address.
fn media(fields: &Fields<'_>, kind_at_address: &str) -> Option<Media> {
    let source = fields.object("source")?;
    match source.text("type")?.as_ref() {
        "base64" => Some(Media {
            media_type: source.text("media_type")?.into_owned(),
            source: MediaSource::Base64(source.text("data")?.into_owned()),
        }),
        "url" => Some(Media {
            media_type: kind_at_address.to_owned(),
            source: MediaSource::Url(source.text("url")?.into_owned()),
        }),
        _ => None,
    }
}

/// Reads why the model stopped.
pub(crate) fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Reads what a request cost. This wire counts cached tokens apart; ours are part of the prompt.
pub(crate) fn usage(fields: &Fields<'_>) -> Usage {
    let cache_read_tokens = fields.count("cache_read_input_tokens");
    let cache_write_tokens = fields.count("cache_creation_input_tokens");
    let plain = fields.count("input_tokens");
    Usage {
        input_tokens: plain.saturating_add(cache_read_tokens).saturating_add(cache_write_tokens),
        output_tokens: fields.count("output_tokens"),
        cache_read_tokens,
        cache_write_tokens,
        reasoning_tokens: 0,
    }
}
