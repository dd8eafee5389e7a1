//! Foreign text made fit for a terminal.
//!
//! What models, tools and files say is hostile here: an escape sequence can overwrite the line above it, a direction
//! mark can reorder it. Both are shown as signs instead of acted on, character by character, so that it also works on
//! text that comes in pieces.

use std::borrow::Cow;

/// Shows control and direction characters as signs; line ends and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|character| *character != '\r').map(|character| match character {
        '\n' | '\t' => character,
        // U+2400 and following are the pictures of the control characters.
        '\0'..'\u{20}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        hidden if is_hidden(hidden) => '\u{fffd}',
        plain => plain,
    });
    Cow::Owned(shown.collect())
}

/// Writes control and direction characters in JSON as escapes, which say the same; line ends and tabs stay.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match is_hidden(character) {
            // All of them have four digits at most.
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Makes one line of at most `limit` characters, white space folded.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let (mut taken, mut last) = (0, 0);
    for word in text.split_whitespace() {
        let gap = if taken > 0 { " " } else { "" };
        for character in gap.chars().chain(safe(word).chars()) {
            if taken == limit {
                line.truncate(last);
                line.push('…');
                return line;
            }
            last = line.len();
            line.push(character);
            taken += 1;
        }
    }
    line
}

/// Cuts one line after `limit` characters.
pub(crate) fn cut(line: &str, limit: usize) -> Cow<'_, str> {
    if line.chars().count() <= limit {
        return Cow::Borrowed(line);
    }
    let kept: String = line.chars().take(limit.saturating_sub(1)).collect();
    Cow::Owned(kept + "…")
}

/// Breaks one line at its spaces into lines of at most `limit` characters, and longer words where they reach the end.
pub(crate) fn wrapped(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let length = word.chars().count();
        let taken = lines.last().map_or(limit, |line| line.chars().count() + 1);
        let mut room = limit.saturating_sub(taken);
        if let Some(line) = lines.last_mut().filter(|_| length <= room || (length > limit && room > 0)) {
            line.push(' ');
        } else {
            lines.push(String::new());
            room = limit;
        }
        for character in word.chars() {
            if room == 0 {
                lines.push(String::new());
                room = limit;
            }
            if let Some(line) = lines.last_mut() {
                line.push(character);
            }
            room -= 1;
        }
    }
    lines
}

/// Returns the first `limit` lines, and how many more there are.
pub(crate) fn first_lines(text: &str, limit: usize) -> (Vec<&str>, usize) {
    let mut lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(limit);
    lines.truncate(limit);
    (lines, more)
}

/// Prints a count with its word: `1 node`, `3 nodes`.
pub(crate) fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// Prints a number with thin groups of three digits: `1 234 567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

fn is_hidden(character: char) -> bool {
    let turns = matches!(
        character,
        // The bidirectional controls: marks, embeddings, overrides and isolates (UAX #9, revision 50, read 2026-11).
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && !matches!(character, '\n' | '\t'))
}
