//! Foreign text made fit for a terminal.
//!
//! What models, tools and files say is hostile here: an escape sequence can overwrite the line above it, a direction
//! mark can reorder it, and much is not drawn at all. All of it is shown instead of acted on.

use std::borrow::Cow;

use trunkline_tools::replaced;

/// Shows what nobody can see: controls as signs, everything else that is not drawn spelled out; line ends and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    let shown = replaced(text, |character, shown| match character {
        '\r' => {}
        // U+2400 and following are the pictures of the control characters.
        '\0'..'\u{20}' => shown.extend(char::from_u32(0x2400 + u32::from(character))),
        '\u{7f}' => shown.push('\u{2421}'),
        hidden => shown.extend(hidden.escape_unicode()),
    });
    // Only those before a line end are left.
    if shown.contains('\r') { Cow::Owned(shown.replace('\r', "")) } else { shown }
}

/// Shows a piece of words that are still coming. What joins its first or its last character to that of another piece stays.
pub(crate) fn safe_piece(piece: &str) -> Cow<'_, str> {
    let joins = |character| matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    let inner = piece.strip_prefix(joins).unwrap_or(piece);
    let inner = inner.strip_suffix(joins).unwrap_or(inner);
    match inner.len() == piece.len() {
        true => safe(piece),
        false => {
            let start = if piece.starts_with(joins) { piece.chars().next() } else { None };
            let first = start.map_or(0, char::len_utf8);
            let (before, after) = (&piece[..first], &piece[first + inner.len()..]);
            Cow::Owned(format!("{before}{}{after}", safe(inner)))
        }
    }
}

/// Writes what nobody can see in JSON as escapes, which say the same; line ends and tabs stay.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    replaced(json, |character, escaped| {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

/// Takes what a person wrote into a file, or gave on stdin, for text. Editors may put a mark in front, which is no part of it.
pub(crate) fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("it is UTF-16; save it as UTF-8".to_owned());
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))?;
    if text.starts_with(MARK) {
        text.drain(..MARK.len_utf8());
    }
    Ok(text)
}

/// The mark that editors put in front of UTF-8, three bytes.
pub(crate) const MARK: char = '\u{feff}';

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
