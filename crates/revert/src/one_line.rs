//! Folds text to one bounded line.
//!
//! What a model writes ends up in notes, refusals and listings, where a line break would look like the start of
//! something else.

/// Folds white space and control characters to single spaces and keeps at most `max_chars` characters.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<&str>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    line.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}
