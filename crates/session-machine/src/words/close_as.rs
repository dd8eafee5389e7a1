//! How a person ends a run, and how a model asks for its end.

use serde::{Deserialize, Serialize};

/// The word for a run whose task goes on without it: its prompt was left, and not by a person.
pub(crate) const PROMPT_LEFT: &str = "prompt_left";

/// How a person ends an open run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CloseAs {
    /// It is put down. The next run of the session takes it up from there.
    Checkpoint {
        /// What to go on from.
        words: String,
    },
    /// Its goal is given up. Nothing goes on before somebody says more.
    Abandon {
        /// Why.
        reason: String,
    },
    /// Another run shall try again. It is opened in the same batch, and the reason is its prompt.
    Retry {
        /// What to do otherwise.
        reason: String,
    },
}

impl CloseAs {
    /// Returns the verdict that it leads to, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            CloseAs::Checkpoint { .. } => "checkpoint",
            CloseAs::Abandon { .. } => "abandon",
            CloseAs::Retry { .. } => "retry",
        }
    }

    /// Returns the same with other words.
    #[must_use]
    pub fn with_words(&self, words: impl Into<String>) -> Self {
        let words = words.into();
        match self {
            CloseAs::Checkpoint { .. } => CloseAs::Checkpoint { words },
            CloseAs::Abandon { .. } => CloseAs::Abandon { reason: words },
            CloseAs::Retry { .. } => CloseAs::Retry { reason: words },
        }
    }

    /// Returns what was said with it.
    pub fn words(&self) -> &str {
        match self {
            CloseAs::Checkpoint { words } => words,
            CloseAs::Abandon { reason } | CloseAs::Retry { reason } => reason,
        }
    }
}
