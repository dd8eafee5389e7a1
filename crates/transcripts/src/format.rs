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
    /// A rollout file of Codex: JSON lines.
    Codex,
    /// A session file of pi or oh-my-pi: JSON lines.
    Pi,
    /// A session of opencode as `opencode export` prints it: JSON.
    Opencode,
    /// A session file of Gemini CLI: JSON, or JSON lines since 0.40.
    GeminiCli,
    /// A message list of the Anthropic Messages API, bare or inside a request body.
    Anthropic,
    /// A message list of the OpenAI Chat Completions API, bare or inside a request body.
    OpenAiChat,
}

impl Format {
    /// Every format, in the order in which they are documented.
    pub const ALL: &[Format] = &[
        Format::ClaudeCode,
        Format::Codex,
        Format::Pi,
        Format::Opencode,
        Format::GeminiCli,
        Format::Anthropic,
        Format::OpenAiChat,
    ];

    /// Returns the name, as [`FromStr`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::ClaudeCode => "claude-code",
            Format::Codex => "codex",
            Format::Pi => "pi",
            Format::Opencode => "opencode",
            Format::GeminiCli => "gemini-cli",
            Format::Anthropic => "anthropic",
            Format::OpenAiChat => "openai-chat",
        }
    }

    /// Tells whether it is a session of an agent, which goes on with the next prompt; the others are lists as they are sent.
    pub const fn is_session(self) -> bool {
        !matches!(self, Format::Anthropic | Format::OpenAiChat)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the names of all formats, for sentences.
pub(crate) fn names() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} and {last}", others.join(", "))
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no format is called {text:?}; there are {}", names())]
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
