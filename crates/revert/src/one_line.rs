//! Folds text to one bounded line.
//!
//! What a model writes ends up in notes, refusals and listings, where a line break would look like the start of
//! something else.

use std::borrow::Cow;

use crate::mark::is_bidi_control;

/// Folds white space and control characters to single spaces, drops what changes the direction of text, and keeps at most `max_chars` characters.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let text: Cow<'_, str> =
        if text.contains(is_bidi_control) { text.replace(is_bidi_control, "").into() } else { text.into() };
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<&str>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    line.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}
