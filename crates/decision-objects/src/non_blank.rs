//! Text that says something.
//!
//! Only the blank is refused; what is inside (line ends, other scripts, leading spaces) is kept as it came.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::json::{Place, Spelled};

/// A text with at least one character that is not white space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NonBlank(String);

impl NonBlank {
    /// Takes the text as it is.
    ///
    /// # Errors
    ///
    /// [`Invalid::Blank`] if it is empty or white space only.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if text.trim().is_empty() { Err(Invalid::Blank) } else { Ok(Self(text)) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NonBlank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Spelled for NonBlank {
    fn spelling<'a>(&'a self, _: &'a mut Place) -> &'a str {
        &self.0
    }
}

impl FromStr for NonBlank {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}
