//! Text made fit to be shown: safe for a terminal, and no longer than it should be.
//!
//! What a person approves must be what they see. An escape sequence in a file name or a command can overwrite the
//! line above it, and a direction mark can reorder it; both are spelled out here instead of acted on.

/// Spells out control and direction characters, all but line ends and tabs.
pub(crate) fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\r' if rest.peek() == Some(&'\n') => shown.push(character),
            hidden if hidden.is_control() || turns_direction(hidden) => shown.extend(hidden.escape_unicode()),
            plain => shown.push(plain),
        }
    }
    shown
}

/// Spells out everything that could make two lines of one name.
pub(crate) fn name(text: &str) -> String {
    safe(text).replace('\n', "\\n").replace('\t', "\\t")
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

/// The Unicode bidirectional controls: marks, embeddings, overrides and isolates (UAX #9, revision 50).
fn turns_direction(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
