//! One message of a conversation, and what is known of how it came to be.
//!
//! The role is what a provider sees; the author is who it really was. A lesson that the harness writes is a `user`
//! message on every wire, and must still not count as the words of a person.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Content, NodeId, Part, ToolResult};

/// The part that a message plays on the wire.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "every wire must be broken by a new role")]
pub enum Role {
    /// Instructions.
    System,
    /// The model's counterpart.
    User,
    /// The model.
    Assistant,
    /// Results of tools; on some wires they travel inside a user message.
    Tool,
}

/// Who really wrote a message. Refusing and rebasing depend on it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Author {
    /// A human being.
    Person,
    /// A language model.
    Model,
    /// A tool.
    Tool,
    /// The program between them.
    Harness,
}

/// Which provider and model wrote a message, and where. Signatures are valid only there.
///
/// ```
/// use trunkline_message_tree::Origin;
///
/// let here = Origin::new("openai-chat", "m").at("5d5b09f6dcb2d53a");
/// let there = Origin::new("openai-chat", "m").at("93a23971a914e5ea");
/// assert!(!here.agrees_with(&there));
/// // Of what was written before addresses were kept, nobody knows where it came from.
/// let once = Origin::new("openai-chat", "m");
/// assert!(once.agrees_with(&here) && !once.is_from(&here));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The provider, such as `anthropic`.
    pub provider: String,
    /// The model as it was asked for.
    pub model: String,
    /// A digest of the address that was asked, so that two services that speak alike can be told apart; `None` if nobody
    /// knows. It is compared and never read: whoever asks over a network makes it, the address itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Origin {
    /// Returns an origin of which no address is known.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Origin { provider: provider.into(), model: model.into(), address: None }
    }

    /// Returns it with the digest of an address.
    #[must_use]
    pub fn at(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Returns whether provider and model are the same, and the addresses are not known to differ.
    pub fn agrees_with(&self, other: &Origin) -> bool {
        let apart = matches!((&self.address, &other.address), (Some(here), Some(there)) if here != there);
        self.provider == other.provider && self.model == other.model && !apart
    }

    /// Returns whether provider, model and address are the same, and the address is known.
    pub fn is_from(&self, other: &Origin) -> bool {
        self.address.is_some() && self == other
    }
}

/// Tokens of one request, as the provider counted them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The whole prompt, cached tokens included.
    pub input_tokens: u64,
    /// Everything that the model wrote, reasoning included.
    pub output_tokens: u64,
    /// The part of the prompt that was read from the provider's cache.
    pub cache_read_tokens: u64,
    /// The part of the prompt that was written to the provider's cache.
    pub cache_write_tokens: u64,
    /// The part of the output that was reasoning, where the provider tells.
    pub reasoning_tokens: u64,
}

/// Why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It asked for tools.
    ToolUse,
    /// The limit of output tokens was reached; the last block may be cut.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// It or its provider declined.
    Refusal,
    /// The context window was full.
    ContextWindow,
    /// The provider paused a long turn; send the history again to go on.
    Pause,
    /// We cut it off; the last block may be cut.
    Cancelled,
    /// The connection ended before the message did; the last block may be cut.
    Cut,
    /// A reason that we have no name for, as the provider wrote it.
    Other(String),
}

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The node that it was read from; `None` for what exists in one request only.
    ///
    /// Set by the tree, so that repairs and errors can name a place that a person can look up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The part it plays on the wire.
    pub role: Role,
    /// Who really wrote it.
    pub author: Author,
    /// Its blocks, in order.
    pub content: Vec<Content>,
    /// Which model wrote it, for messages of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Why the model stopped, for messages of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// What the request that gave it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Message {
    /// Returns a message without origin, stop reason and usage.
    pub fn new(role: Role, author: Author, content: Vec<Content>) -> Self {
        Message { node: None, role, author, content, origin: None, stop: None, usage: None }
    }

    /// Returns instructions; a session's root.
    pub fn system(text: impl Into<String>) -> Self {
        Message::new(Role::System, Author::Harness, vec![Content::text(text)])
    }

    /// Returns the words of a person.
    pub fn user(text: impl Into<String>) -> Self {
        Message::new(Role::User, Author::Person, vec![Content::text(text)])
    }

    /// Returns words of the harness: a `user` message on the wire, but nobody's prompt.
    pub fn harness(text: impl Into<String>) -> Self {
        Message::new(Role::User, Author::Harness, vec![Content::text(text)])
    }

    /// Returns words of a model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message::new(Role::Assistant, Author::Model, vec![Content::text(text)])
    }

    /// Returns a tool's answer to one call.
    pub fn tool_result(call_id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        let result = ToolResult { call_id: call_id.into(), content: vec![Part::text(text)], is_error };
        Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)])
    }

    /// Gives back the room that lists and texts have for more: a stored message never grows.
    ///
    /// A text that came in pieces may have twice the room that it needs, and a list of one block that was read from a log has
    /// room for four.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.content.shrink_to_fit();
        self.content.iter_mut().for_each(Content::shrink_to_fit);
    }

    /// Returns the tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &crate::ToolCall> {
        self.content.iter().filter_map(Content::as_call)
    }

    /// Returns the tool results, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(Content::as_result)
    }

    /// Returns whether it brings results, or stands in their place: imported histories have them in user messages.
    pub fn brings_results(&self) -> bool {
        self.role == Role::Tool || self.results().next().is_some()
    }

    /// Returns the text blocks, joined by line breaks; no reasoning, no calls, no results.
    ///
    /// For what a tool answered: `message.results().map(ToolResult::text)`.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                Content::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}
