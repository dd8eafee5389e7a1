//! Which formats there are.
//!
//! Their names are what people type, so they are short and stay.

use std::fmt;
use std::str::FromStr;

/// A format that can be read and written.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A session file of Claude Code: JSON lines.
    ClaudeCode,
    /// A message list of the Anthropic Messages API, bare or inside a request body.
    Anthropic,
    /// A message list of the OpenAI Chat Completions API, bare or inside a request body.
    OpenAiChat,
}

impl Format {
    /// Every format, in the order in which they are documented.
    pub const ALL: &[Format] = &[Format::ClaudeCode, Format::Anthropic, Format::OpenAiChat];

    /// Returns the name, as [`FromStr`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::ClaudeCode => "claude-code",
            Format::Anthropic => "anthropic",
            Format::OpenAiChat => "openai-chat",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no format is called {text:?}; there are claude-code, anthropic and openai-chat")]
pub struct ParseFormatError {
    /// What was given.
    pub text: String,
}

impl FromStr for Format {
    type Err = ParseFormatError;

    /// Reads the names that [`Format::name`] gives.
    ///
    /// # Errors
    ///
    /// [`ParseFormatError`] for anything else.
    fn from_str(text: &str) -> Result<Self, ParseFormatError> {
        let known = Format::ALL.iter().find(|format| format.name() == text);
        known.copied().ok_or_else(|| ParseFormatError { text: text.chars().take(40).collect() })
    }
}
