//! What a message is made of.
//!
//! Whatever a model wrote is kept byte for byte: arguments as text, signatures and foreign payloads unread.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One block of a message.
///
/// Exhaustive on purpose: a wire that met a kind it does not know would drop words in silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "every wire must be broken by a new kind of block")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A model's reasoning in the clear.
    Thinking {
        /// The reasoning.
        text: String,
        /// The provider's proof that it wrote this; opaque, valid only for its [`Origin`](crate::Origin).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A model's reasoning, encrypted by its provider.
    RedactedThinking {
        /// The opaque payload.
        data: String,
    },
    /// A picture.
    Image(Media),
    /// A document, such as a PDF.
    Document(Media),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// A tool that the provider itself runs was asked for; its answer stands in the same message.
    ServerCall {
        /// The provider's id.
        id: String,
        /// The block as it came, JSON.
        json: String,
    },
    /// The answer of a tool that the provider runs.
    ServerResult {
        /// The id of the [`Content::ServerCall`] it belongs to.
        call_id: String,
        /// The block as it came, JSON.
        json: String,
    },
    /// A block that only its own wire understands; carried, never read.
    Opaque {
        /// The wire it came from, such as `anthropic`.
        wire: String,
        /// The block as it came, JSON.
        json: String,
    },
}

impl Content {
    /// Returns a block of words.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }
    }

    /// Returns the tool call, if this block is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        match self {
            Content::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the tool result, if this block is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        match self {
            Content::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

impl Content {
    /// Gives back the room that lists and texts have for more; the small ones are not worth it.
    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Content::Text { text } | Content::Thinking { text, .. } => text.shrink_to_fit(),
            Content::RedactedThinking { data } => data.shrink_to_fit(),
            Content::Image(media) | Content::Document(media) => media.shrink_to_fit(),
            Content::ToolCall(call) => call.arguments.shrink_to_fit(),
            Content::ToolResult(result) => {
                result.content.shrink_to_fit();
                result.content.iter_mut().for_each(Part::shrink_to_fit);
            }
            Content::ServerCall { json, .. }
            | Content::ServerResult { json, .. }
            | Content::Opaque { json, .. } => json.shrink_to_fit(),
        }
    }
}

/// Bytes of a picture or a document, or where they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes or their address.
    pub source: MediaSource,
}

/// Where the bytes of a [`Media`] are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "every wire must be broken by a new kind of source")]
pub enum MediaSource {
    /// Here, in standard base64.
    Base64(String),
    /// At an address that the provider fetches.
    Url(String),
}

impl Media {
    fn shrink_to_fit(&mut self) {
        match &mut self.source {
            MediaSource::Base64(text) | MediaSource::Url(text) => text.shrink_to_fit(),
        }
    }
}

/// A model's request for a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id for this call; not unique in a session, see the crate page.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, exactly the bytes that the model wrote; they need not be JSON.
    pub arguments: String,
    /// A provider's signature of this very call, opaque.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ToolCall {
    /// Parses the arguments; an empty text means no arguments.
    ///
    /// It does not see why the reply ended; [`Message::outcome_of`](crate::Message::outcome_of) does.
    ///
    /// # Errors
    ///
    /// The parser's error if the text is cut short, is not JSON, or is not an object. Such a call must never run.
    pub fn parse_arguments(&self) -> Result<Map<String, Value>, serde_json::Error> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(&self.arguments)
    }
}

/// A tool's answer to one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that is answered.
    pub call_id: String,
    /// What the tool returned; may be empty.
    pub content: Vec<Part>,
    /// Whether the tool reports a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolResult {
    /// Returns the text parts, joined by line breaks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::Image(_) | Part::Document(_) | Part::Opaque { .. } => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// One part of a tool's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "every wire must be broken by a new kind of part")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// A document.
    Document(Media),
    /// Anything else that a provider's results can hold, as the exact JSON of one object; only that wire can read it.
    Opaque {
        /// The wire.
        wire: String,
        /// The JSON.
        json: String,
    },
}

impl Part {
    /// Returns a part of words.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text { text: text.into() }
    }

    fn shrink_to_fit(&mut self) {
        match self {
            Part::Text { text } => text.shrink_to_fit(),
            Part::Image(media) | Part::Document(media) => media.shrink_to_fit(),
            Part::Opaque { json, .. } => json.shrink_to_fit(),
        }
    }
}
