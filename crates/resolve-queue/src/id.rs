//! Names of proposals and of attempts to apply them.
//!
//! Reading what a model or a person typed is lenient, reading a stored record is strict: a log has one spelling for one thing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of one proposal in its queue, printed `p12`.
///
/// Parsing takes what people and models write: `p12`, `P12`, `12`, `[p12]`, with blanks around it.
/// In JSON it is the text `"p12"` and nothing else.
///
/// ```
/// use trunkline_resolve_queue::ProposalId;
///
/// assert_eq!("[p12]".parse(), Ok(ProposalId(12)));
/// assert_eq!(ProposalId(12).to_string(), "p12");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(pub u32);

/// One attempt to apply a proposal, printed `p12-1`.
///
/// The printed form is the idempotency key of that attempt inside its queue; a caller with many queues puts the queue's own name before it.
/// Attempts are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    /// What is applied.
    pub proposal: ProposalId,
    /// Which attempt it is, counting from 1.
    pub number: u32,
}

/// A text that names no proposal or attempt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {expected}")]
pub struct ParseIdError {
    /// What was found.
    pub found: String,
    /// What would have been understood.
    pub expected: &'static str,
}

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.proposal, self.number)
    }
}

impl FromStr for ProposalId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim();
        let bare = bare.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(bare).trim();
        let number = bare.strip_prefix(['p', 'P']).unwrap_or(bare);
        digits(number)
            .map(ProposalId)
            .ok_or_else(|| ParseIdError { found: text.to_owned(), expected: "a proposal's id such as p12" })
    }
}

impl FromStr for Attempt {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('-').and_then(|(proposal, number)| {
            Some(Attempt { proposal: printed(proposal)?, number: digits(number)? })
        });
        parsed.ok_or_else(|| ParseIdError {
            found: text.to_owned(),
            expected: "an attempt's key such as p12-1",
        })
    }
}

impl Serialize for ProposalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProposalId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        printed(&text).ok_or_else(|| {
            de::Error::invalid_value(de::Unexpected::Str(&text), &"a proposal's id such as \"p12\"")
        })
    }
}

impl Serialize for Attempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Attempt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<Attempt>().ok().filter(|attempt| attempt.to_string() == text).ok_or_else(|| {
            de::Error::invalid_value(de::Unexpected::Str(&text), &"an attempt's key such as \"p12-1\"")
        })
    }
}

/// Reads exactly what `Display` prints.
fn printed(text: &str) -> Option<ProposalId> {
    let id = ProposalId(digits(text.strip_prefix('p')?)?);
    (id.to_string() == text).then_some(id)
}

/// Decimal digits only: `u32::from_str` would also take a plus sign.
fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
