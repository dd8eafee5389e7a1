//! Text made fit to be shown: safe for a terminal, and no longer than it should be.
//!
//! What a person approves must be what they see. An escape sequence in a file name or a command can overwrite the
//! line above it, and a direction mark can reorder it; both are spelled out here instead of acted on.

use crate::hidden;

/// Spells out what nobody can see, all but line ends and tabs.
pub(crate) fn safe(text: &str) -> String {
    hidden::spelled(text).into_owned()
}

/// Spells out everything that could make two lines of one name.
pub(crate) fn name(text: &str) -> String {
    safe(text).replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t")
}

/// Makes one safe line of at most `limit` characters.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let joined: Vec<&str> = text.split_whitespace().collect();
    let mut shown = safe(&joined.join(" "));
    if let Some((cut, _)) = shown.char_indices().nth(limit) {
        shown.truncate(cut);
        shown.push('…');
    }
    shown
}

/// Cuts after `limit` characters, with a mark that says how much is missing.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (kept, rest) = text.split_at(at);
            format!("{kept}… [{} more characters]", rest.chars().count())
        }
    }
}

/// Cuts whole lines so that at most about `limit` bytes stay, with a mark that says how much is missing.
pub(crate) fn cut_lines(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut kept = 0;
    for line in text.split_inclusive('\n') {
        if kept + line.len() > limit {
            break;
        }
        kept += line.len();
    }
    let (kept, rest) = text.split_at(kept);
    format!("{kept}[{} more lines]\n", rest.lines().count())
}

/// Prints a count with its word: `1 byte`, `3 bytes`.
pub(crate) fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// Counts the bytes that are no UTF-8.
pub(crate) fn not_utf8(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}
