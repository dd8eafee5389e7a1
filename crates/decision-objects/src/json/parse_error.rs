//! Where a text departs from the form, and how.

use std::fmt;

use crate::invalid::excerpt;
use crate::{Digest, Invalid};

/// A fault and its place, printed as `$.considered[2].reason: the text is blank`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Innermost first: each level adds itself on the way out.
    steps: Vec<Step>,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// What is wrong at the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text is not JSON, or not UTF-8.
    #[error("not valid JSON: {message}")]
    Syntax {
        /// What the JSON parser says.
        message: String,
    },
    /// The form has no such key here.
    #[error("unknown key")]
    UnknownKey,
    /// The key stands here twice.
    #[error("duplicate key")]
    DuplicateKey,
    /// The form needs this key here.
    #[error("missing key")]
    MissingKey,
    /// The value is of another JSON type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The type in the form.
        expected: &'static str,
        /// The type in the text.
        found: &'static str,
    },
    /// The word is none of those that can stand here.
    #[error("{found:?} is not a word that can stand here; expected {expected}")]
    UnknownWord {
        /// The beginning of the word.
        found: String,
        /// The words of the form.
        expected: &'static str,
    },
    /// The number does not fit.
    #[error("{found} is not {expected}")]
    NumberRange {
        /// The beginning of the number.
        found: String,
        /// What fits.
        expected: &'static str,
    },
    /// The value is right, its spelling is not the one of the form.
    #[error("{found:?} must be spelled {canonical:?}")]
    Spelling {
        /// The beginning of the text.
        found: String,
        /// How it is written.
        canonical: String,
    },
    /// The text is of a later version of the form.
    #[error("version {version} is not known; this release reads version 1")]
    Version {
        /// The version.
        version: u32,
    },
    /// The value breaks a rule of its own.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The value is not the one that the digest was made of.
    #[error("the digest is {found}, expected {expected}")]
    DigestMismatch {
        /// The digest that was asked for.
        expected: Digest,
        /// The digest of the value.
        found: Digest,
    },
}

impl ParseError {
    /// Where, from `$`, the whole document: `$.created_by.id`.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::from("$");
        for step in self.steps.iter().rev() {
            match step {
                Step::Key(key) if is_plain(key) => path.extend([".", key.as_str()]),
                Step::Key(key) => path.push_str(&format!("[{key:?}]")),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    /// What is wrong there.
    #[must_use]
    pub const fn fault(&self) -> &Fault {
        &self.fault
    }

    pub(crate) fn inside_key(mut self, key: &str) -> Self {
        self.enter_key(key);
        self
    }

    pub(crate) fn inside_index(mut self, index: usize) -> Self {
        self.enter_index(index);
        self
    }

    pub(super) fn enter_key(&mut self, key: &str) {
        self.steps.push(Step::Key(excerpt(key)));
    }

    pub(super) fn enter_index(&mut self, index: usize) {
        self.steps.push(Step::Index(index));
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.fault)
    }
}

impl std::error::Error for ParseError {}

impl From<Fault> for ParseError {
    fn from(fault: Fault) -> Self {
        Self { steps: Vec::new(), fault }
    }
}

impl From<Invalid> for ParseError {
    fn from(invalid: Invalid) -> Self {
        Fault::Invalid(invalid).into()
    }
}

/// A key from a hostile text may hold anything, also what a terminal obeys; then it is printed quoted.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
