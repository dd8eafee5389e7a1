//! Paths of touched files.
//!
//! A path here is a name in a record, never opened by this crate. It is checked all the same:
//! somebody will join it to a folder one day, and by then nobody remembers where the record came from.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::invalid::excerpt;
use crate::json::{Place, Spelled};

/// A path inside the workspace, with `/` between its parts, as git writes it.
///
/// Refused: blank, absolute, with a drive letter, with an empty, `.` or `..` part (a `\` counts as a separator too), with NUL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

impl RelativePath {
    /// Takes the path as it is; nothing is normalised.
    ///
    /// # Errors
    ///
    /// [`Invalid::Path`] with the rule that it breaks.
    pub fn new(path: impl Into<String>) -> Result<Self, Invalid> {
        let path = path.into();
        match fault(&path) {
            Some(why) => Err(Invalid::Path { text: excerpt(&path), why }),
            None => Ok(Self(path)),
        }
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Spelled for RelativePath {
    fn spelling<'a>(&'a self, _: &'a mut Place) -> &'a str {
        &self.0
    }
}

impl FromStr for RelativePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

fn fault(path: &str) -> Option<&'static str> {
    // Windows reads `C:x` as a path on another drive; elsewhere a file called so is rare enough.
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut parts = path.split(['/', '\\']);
    if path.trim().is_empty() {
        Some("it is blank")
    } else if path.starts_with(['/', '\\']) || drive {
        Some("it is absolute")
    } else if path.contains('\0') {
        Some("it contains NUL")
    } else if parts.any(|part| matches!(part, "" | "." | "..")) {
        Some("it has an empty, `.` or `..` part")
    } else {
        None
    }
}
