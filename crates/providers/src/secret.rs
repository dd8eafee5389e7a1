//! A key that does not print itself.

use std::fmt;

/// A provider's key. Its `Debug` shows `***`, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key. White space around it, as files and shells leave it, is taken off.
    pub fn new(key: impl AsRef<str>) -> Self {
        Secret(key.as_ref().trim().to_owned())
    }

    /// Returns the key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
