//! Who types.

use crate::term::text::one_line;

/// Returns who types, as the system calls them; empty if it does not say.
pub(crate) fn user() -> String {
    one_line(&std::env::var("USER").unwrap_or_default(), 40)
}
