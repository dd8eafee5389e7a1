//! JSON inside a record: parameters of a model, inputs of a step.
//!
//! It is kept as the text that it came as, in a string of the record's own JSON. Read into values and written again, a
//! number could lose digits and keys their order, and then a digest would be one of something that nobody wrote.

use std::fmt;
use std::str::FromStr;

use serde::de::IgnoredAny;

use crate::Invalid;
use crate::json::{Place, Spelled};

/// Deeper texts are refused, so that every reader which counts its own depth (most stop at 128) can read the text also
/// inside another one.
const MAX_DEPTH: usize = 100;

/// A text that is one JSON value, kept byte for byte; at most 100 brackets deep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonText(String);

impl JsonText {
    /// Takes the text as it is; white space around the value stays.
    ///
    /// # Errors
    ///
    /// [`Invalid::Json`] if it is not one JSON value, [`Invalid::JsonDepth`] if it is nested too deeply.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if depth(&text) > MAX_DEPTH {
            return Err(Invalid::JsonDepth);
        }
        match serde_json::from_str::<IgnoredAny>(&text) {
            Ok(IgnoredAny) => Ok(Self(text)),
            Err(error) => Err(Invalid::Json { message: error.to_string() }),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Spelled for JsonText {
    fn spelling<'a>(&'a self, _: &'a mut Place) -> &'a str {
        &self.0
    }
}

impl FromStr for JsonText {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

/// How many brackets are open at once at most; in what is no JSON, some number.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut inside, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !inside => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
