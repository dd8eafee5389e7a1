//! The words that others may add: `other: answered`.
//!
//! An open vocabulary swallows typing errors: `comit` would become a verdict of its own, and nobody would notice that
//! the run never ended in a commit. A label is therefore refused when it could be taken for a word that has a meaning.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::invalid::excerpt;
use crate::json::{Place, Spelled};

const MAX_LENGTH: usize = 64;

/// Refused with one slip of the pen too: mistaking these changes what happened to somebody's files.
const VERDICTS: [&str; 10] = [
    "commit",
    "checkpoint",
    "abandon",
    "retry",
    "rollback",
    "committed",
    "checkpointed",
    "abandoned",
    "retried",
    "rolled_back",
];

/// Refused as they stand; one letter away from `test` lies `text`, which is a good label.
const KINDS: [&str; 8] = ["other", "human", "agent", "system", "mcp_client", "test", "lint", "build"];

/// A word in lower snake case that is no reserved word, nor nearly one.
///
/// Reserved are the verdicts (with their past forms, and everything that is one edit away from either or doubles other
/// letters), `other`, the kinds of actor and the kinds of evidence; neither case nor separators disguise them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// Takes the word.
    ///
    /// # Errors
    ///
    /// [`Invalid::Label`] if it is not lower snake case or too long,
    /// [`Invalid::ReservedLabel`] if it reads like a reserved word.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if let Some(word) = reserved_word(&text) {
            return Err(Invalid::ReservedLabel { text: excerpt(&text), word });
        }
        if text.len() > MAX_LENGTH || !is_lower_snake_case(&text) {
            return Err(Invalid::Label { text: excerpt(&text) });
        }
        Ok(Self(text))
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Spelled for Label {
    fn spelling<'a>(&'a self, _: &'a mut Place) -> &'a str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

fn is_lower_snake_case(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.split('_').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// Whether the text is the word in other dress, or one slip of the pen away from it.
pub(crate) fn nearly(word: &str, text: &str) -> bool {
    at_most_one_edit_apart(&letters(word), &letters(text))
}

fn reserved_word(text: &str) -> Option<&'static str> {
    let given = letters(text);
    let single = |mut letters: Vec<u8>| {
        letters.dedup();
        letters
    };
    let verdict = VERDICTS.into_iter().find(|word| {
        let word = letters(word);
        // Which letters are doubled is what people get wrong most: `comitt` is two edits away, and yet the word.
        at_most_one_edit_apart(&word, &given) || single(word) == single(given.clone())
    });
    verdict.or_else(|| KINDS.into_iter().find(|word| letters(word) == given))
}

/// What is left when case, separators and other decoration are taken away.
pub(crate) fn letters(word: &str) -> Vec<u8> {
    word.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// One letter more, less, other, or two neighbours swapped.
fn at_most_one_edit_apart(left: &[u8], right: &[u8]) -> bool {
    let same_start = left.iter().zip(right).take_while(|(one, other)| one == other).count();
    let (left, right) = (left.split_at(same_start).1, right.split_at(same_start).1);
    let same_end = left.iter().rev().zip(right.iter().rev()).take_while(|(one, other)| one == other).count();
    match (left.split_at(left.len() - same_end).0, right.split_at(right.len() - same_end).0) {
        ([a, b], [c, d]) => a == d && b == c,
        (left, right) => left.len() <= 1 && right.len() <= 1,
    }
}
