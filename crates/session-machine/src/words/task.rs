//! What a person gives as a task, and how they end one.

use serde::{Deserialize, Serialize};

/// How often a task may be tried again, unless its giver says otherwise.
const RETRIES: u32 = 5;
/// The most bytes of a text of a task, or of what is said with it; what is longer belongs into a file that it names.
pub(crate) const LONGEST: usize = 64 * 1024;
/// The most constraints or criteria of a task.
const MOST: usize = 256;

/// A piece of work that a person gives to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewTask {
    /// What it is called.
    pub title: String,
    /// What it is, at length; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What must not be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// When it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<String>,
    /// What it is for, where the session has no open intent and the task itself does not say it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub intent: String,
    /// How much may be spent on it.
    #[serde(default)]
    pub bounds: Bounds,
}

/// How much may be spent on a task, over all its runs; `None` for as much as each drive allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bounds {
    /// How many of its runs may try again what another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How many answers of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// How many tokens that a provider counted, prompt and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// How a person ends a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndTask {
    /// It is done.
    Done {
        /// How that was seen; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It is no longer wanted.
    Drop {
        /// Why.
        reason: String,
    },
}

impl NewTask {
    /// Returns a task that is nothing but its title; it may be tried again five times.
    pub fn new(title: impl Into<String>) -> Self {
        NewTask {
            title: title.into(),
            description: String::new(),
            constraints: Vec::new(),
            acceptance_criteria: Vec::new(),
            intent: String::new(),
            bounds: Bounds { retries: Some(RETRIES), ..Bounds::default() },
        }
    }

    /// Checks that a session can be given it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), String> {
        let title = self.title.trim();
        if title.is_empty() {
            return Err("a task has a title".to_owned());
        }
        if title.contains(['\n', '\r']) {
            return Err("the title of a task is one line; say the rest in its description".to_owned());
        }
        let listed = || self.constraints.iter().chain(&self.acceptance_criteria);
        let mut texts = [&self.title, &self.description, &self.intent].into_iter().chain(listed());
        if texts.any(|text| text.len() > LONGEST) {
            return Err(
                "a text of the task is longer than 64 KiB; put it into a file, and name that".to_owned()
            );
        }
        if self.constraints.len().max(self.acceptance_criteria.len()) > MOST {
            return Err(format!("a task may have at most {MOST} constraints and {MOST} acceptance criteria"));
        }
        match listed().any(|text| text.trim().is_empty()) {
            true => Err("a constraint or a criterion of the task is blank".to_owned()),
            false => Ok(()),
        }
    }

    /// Returns the task in words, as a model is given it.
    pub fn text(&self) -> String {
        let listed = |head: &str, lines: &[String]| match lines.is_empty() {
            true => String::new(),
            false => format!("\n\n{head}\n- {}", lines.join("\n- ")),
        };
        let description = self.description.trim();
        let description = if description.is_empty() { String::new() } else { format!("\n\n{description}") };
        format!(
            "{}{description}{}{}",
            self.title.trim(),
            listed("Keep to this:", &self.constraints),
            listed("It is done when:", &self.acceptance_criteria)
        )
    }
}

impl Bounds {
    /// Returns these bounds with those of `newer` in place of the ones that it names.
    #[must_use]
    pub fn with(self, newer: Bounds) -> Self {
        Bounds {
            retries: newer.retries.or(self.retries),
            turns: newer.turns.or(self.turns),
            tokens: newer.tokens.or(self.tokens),
        }
    }

    /// Returns whether nothing is bounded.
    pub fn is_empty(&self) -> bool {
        *self == Bounds::default()
    }
}
