//! A digest of everything that stands before an answer in a request.
//!
//! Some services take signed reasoning back only behind exactly what it was written behind. Who keeps a digest of that beside
//! each answer can tell before a request is sent whether it still stands there.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use trunkline_message_tree::{Content, Media, MediaSource, Message, NodeId, Part, Role, ToolCall, ToolSpec};

/// The digest of tools and messages in the order in which a request has them: a SHA-256, printed as 64 lower-case hexadecimal
/// digits.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrefixDigest([u8; 32]);

/// The text is not the digest of a prefix.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParsePrefixError;

impl fmt::Display for ParsePrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the digest of a prefix: 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for ParsePrefixError {}

impl fmt::Display for PrefixDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PrefixDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PrefixDigest {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(ParsePrefixError),
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(ParsePrefixError) };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return Err(ParsePrefixError);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? * 16 + digit(*low)?;
        }
        Ok(PrefixDigest(bytes))
    }
}

impl Serialize for PrefixDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PrefixDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A beginning of a request, digested piece by piece: first the tools as they are sent, then the messages.
///
/// Counts what a service reads: of a message its role and its blocks, and not which node it is, who is known to have written it,
/// or what it cost. Two lists of pieces have one digest only if they are equal.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_sanitize::Prefix;
///
/// let mut asked = Prefix::new();
/// asked.message(&Message::user("is 91 prime?"));
/// let before = asked.digest();
/// asked.message(&Message::assistant("no"));
/// assert_ne!(asked.digest(), before, "an answer stands behind what it answers");
/// ```
#[derive(Clone)]
pub struct Prefix {
    hash: Sha256,
}

impl Default for Prefix {
    fn default() -> Self {
        Prefix::new()
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prefix").field(&self.digest()).finish()
    }
}

impl Prefix {
    /// Returns the beginning of a request that has nothing yet.
    pub fn new() -> Self {
        Prefix { hash: Sha256::new() }
    }

    /// Returns what goes on behind tools and fields of which the digest is known, or behind nothing.
    pub fn after(head: Option<&PrefixDigest>) -> Self {
        let mut prefix = Prefix::new();
        if let Some(head) = head {
            prefix.tag(b'^');
            prefix.hash.update(head.0);
        }
        prefix
    }

    /// Adds a tool as it is offered.
    pub fn tool(&mut self, tool: &ToolSpec) {
        self.tag(b'o');
        self.text(&tool.name);
        self.text(&tool.description);
        self.text(&tool.input_schema.to_string());
        self.tag(match tool.strict {
            None => b'-',
            Some(false) => b'0',
            Some(true) => b'1',
        });
    }

    /// Adds a field of the wire's own that stands before the messages, such as instructions that are sent beside them.
    pub fn field(&mut self, name: &str, value: &Value) {
        self.tag(b'f');
        self.text(name);
        self.text(&value.to_string());
    }

    /// Adds a message as it is sent.
    pub fn message(&mut self, message: &Message) {
        self.tag(match message.role {
            Role::System => b'S',
            Role::User => b'U',
            Role::Assistant => b'A',
            Role::Tool => b'T',
        });
        self.count(message.content.len());
        message.content.iter().for_each(|block| self.block(block));
    }

    /// Returns the digest of what was added.
    pub fn digest(&self) -> PrefixDigest {
        PrefixDigest(self.hash.clone().finalize().into())
    }

    fn block(&mut self, block: &Content) {
        match block {
            Content::Text { text } => self.texts(b't', &[text]),
            Content::Thinking { text, signature } => {
                self.texts(b'h', &[text]);
                self.maybe(signature.as_ref());
            }
            Content::RedactedThinking { data } => self.texts(b'x', &[data]),
            Content::Image(media) => self.media(b'i', media),
            Content::Document(media) => self.media(b'd', media),
            Content::ToolCall(ToolCall { id, name, arguments, signature }) => {
                self.texts(b'c', &[id, name, arguments]);
                self.maybe(signature.as_ref());
            }
            Content::ToolResult(result) => {
                self.texts(b'r', &[&result.call_id]);
                self.tag(if result.is_error { b'1' } else { b'0' });
                self.count(result.content.len());
                for part in &result.content {
                    match part {
                        Part::Text { text } => self.texts(b't', &[text]),
                        Part::Image(media) => self.media(b'i', media),
                        Part::Document(media) => self.media(b'd', media),
                        Part::Opaque { wire, json } => self.texts(b'p', &[wire, json]),
                    }
                }
            }
            Content::ServerCall { id, json } => self.texts(b's', &[id, json]),
            Content::ServerResult { call_id, json } => self.texts(b'a', &[call_id, json]),
            Content::Opaque { wire, json } => self.texts(b'p', &[wire, json]),
        }
    }

    fn media(&mut self, tag: u8, media: &Media) {
        let (kind, source) = match &media.source {
            MediaSource::Base64(bytes) => ("base64", bytes),
            MediaSource::Url(address) => ("url", address),
        };
        self.texts(tag, &[&media.media_type, kind, source]);
    }

    fn maybe(&mut self, text: Option<&String>) {
        match text {
            Some(text) => self.texts(b'1', &[text]),
            None => self.tag(b'0'),
        }
    }

    fn texts(&mut self, tag: u8, texts: &[&str]) {
        self.tag(tag);
        texts.iter().for_each(|text| self.text(text));
    }

    /// With its length, so that no two lists of texts run together alike.
    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.hash.update(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        self.hash.update((count as u64).to_le_bytes());
    }

    fn tag(&mut self, tag: u8) {
        self.hash.update([tag]);
    }
}

/// Behind what each answer was written, by its node, as far as that is known. Cheap to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    known: Arc<BTreeMap<NodeId, PrefixDigest>>,
}

impl Prefixes {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns of how many answers it is known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the digest of what stood before an answer when it was written.
    pub fn get(&self, node: NodeId) -> Option<&PrefixDigest> {
        self.known.get(&node)
    }

    /// Notes behind what an answer was written. All of it is copied if a copy of these is still in use.
    pub fn insert(&mut self, node: NodeId, prefix: PrefixDigest) {
        Arc::make_mut(&mut self.known).insert(node, prefix);
    }
}

impl FromIterator<(NodeId, PrefixDigest)> for Prefixes {
    fn from_iter<I: IntoIterator<Item = (NodeId, PrefixDigest)>>(known: I) -> Self {
        Prefixes { known: Arc::new(known.into_iter().collect()) }
    }
}

impl Serialize for Prefixes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Prefixes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Prefixes { known: Arc::new(BTreeMap::deserialize(deserializer)?) })
    }
}
