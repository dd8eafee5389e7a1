//! What a person says to the model: words, and what they show beside them.

use trunkline_message_tree::{Content, Part};
use trunkline_session_machine::RuntimeError;

use super::order::Order;

/// What a person says: words, with pictures and documents beside them, in the order in which they are to be read.
///
/// Made of a text, or of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt(Vec<Part>);

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Prompt(vec![Part::text(text)])
    }
}

impl From<&String> for Prompt {
    fn from(text: &String) -> Self {
        Prompt(vec![Part::text(text)])
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Prompt(vec![Part::text(text)])
    }
}

impl From<Vec<Part>> for Prompt {
    fn from(parts: Vec<Part>) -> Self {
        Prompt(parts)
    }
}

impl Prompt {
    /// Returns the order that gives it.
    pub(crate) fn into_order(self) -> Order {
        match <[Part; 1]>::try_from(self.0) {
            Ok([Part::Text { text }]) => Order::Prompt { text },
            Ok(parts) => Order::PromptWith { parts: parts.into() },
            Err(parts) => Order::PromptWith { parts },
        }
    }
}

/// Returns the words among the parts of a prompt.
pub(crate) fn words_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Returns what the message is made of.
///
/// # Errors
///
/// [`RuntimeError::Refused`] without any part, and for one that only a provider can write.
pub(crate) fn content_of(parts: &[Part]) -> Result<Vec<Content>, RuntimeError> {
    let refused = |reason: &str| RuntimeError::Refused { reason: reason.to_owned() };
    if parts.is_empty() {
        return Err(refused("a prompt has at least one part"));
    }
    let content = parts.iter().cloned().map(|part| match part {
        Part::Text { text } => Ok(Content::Text { text }),
        Part::Image(media) => Ok(Content::Image(media)),
        Part::Document(media) => Ok(Content::Document(media)),
        Part::Opaque { .. } => {
            Err(refused("a prompt has words, pictures and documents, and no parts of a provider's own"))
        }
    });
    content.collect()
}
