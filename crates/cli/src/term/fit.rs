//! Lines made to fit a screen whose width is known.
//!
//! Counted are the columns that a terminal gives a character, by the tables of the crate `unicode-width`: two for the scripts of
//! East Asia and for emoji, none for marks that stand on the one before and for escape sequences. Names, ids and paths stay whole, since people copy them, and so does
//! what stands in backticks: often a command.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How deep the rest of a broken line stands below its beginning.
const INDENT: usize = 2;

/// What is broken into lines.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    /// Words, and what stands in backticks.
    Prose,
    /// What a shell reads, with its quotes.
    Command,
}

impl Kind {
    /// What ends a line that goes on.
    fn end(self) -> &'static str {
        match self {
            Kind::Prose => "",
            Kind::Command => " \\",
        }
    }
}

/// Breaks every line that is wider than `width` at its blanks. Only a single word may be wider; one of a script that has
/// no blanks is broken where the line is full.
pub(crate) fn fitted(text: &str, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| columns(line) <= width) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => broken(line, width, Kind::Prose) + "\n",
        None => broken(line, width, Kind::Prose),
    });
    Cow::Owned(lines.collect())
}

/// Breaks the line of a command so that a shell that it is pasted into still takes it for one.
pub(crate) fn fitted_command(line: &str, width: usize) -> String {
    broken(line, width, Kind::Command)
}

fn broken(line: &str, width: usize, kind: Kind) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let blanks = line.chars().take_while(|character| *character == ' ').count();
    let indent = (blanks + INDENT).min(width / 4);
    let end = kind.end();
    let mut lines = String::new();
    let mut taken = 0;
    let mut is_empty = true;
    for word in words(line, kind) {
        let (gap, word) = word.split_at(word.len() - word.trim_start_matches([' ', '\t']).len());
        let (gap_width, word_width) = (columns(gap), columns(word));
        // The end of a line that goes on has to have its place too; the last word leaves some of it free.
        if is_empty || taken + gap_width + word_width + end.len() <= width {
            lines.push_str(gap);
            taken += gap_width;
        } else if word_width > 0 {
            // A word that fits on a line of its own gets one.
            let indent = indent.min(width.saturating_sub(word_width + end.len()));
            lines.push_str(&format!("{end}\n{:indent$}", ""));
            taken = indent;
        }
        let is_full = word_width > width.saturating_sub(taken);
        // Within a word of a command the end of a line would be one more character of it.
        if is_full && kind == Kind::Prose && pieces(word).any(|piece| columns(piece) == 2) {
            for character in pieces(word) {
                let piece = columns(character);
                if taken + piece > width {
                    lines.push_str(&format!("\n{:indent$}", ""));
                    taken = indent;
                }
                lines.push_str(character);
                taken += piece;
            }
        } else {
            lines.push_str(word);
            taken += word_width;
        }
        is_empty &= word_width == 0;
    }
    lines
}

/// The words of a line, each with the blanks before it.
fn words(line: &str, kind: Kind) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut in_word, mut quote, mut escaped) = (0, false, None, false);
    for (at, character) in line.char_indices() {
        let blank = matches!(character, ' ' | '\t') && quote.is_none() && !escaped;
        if blank && in_word {
            words.push(&line[start..at]);
            start = at;
        }
        in_word = !blank;
        let quotes = match kind {
            Kind::Command => matches!(character, '\'' | '"') && !escaped,
            // One that is never closed holds nothing together.
            Kind::Prose => character == '`' && (quote.is_some() || line[at + 1..].contains('`')),
        };
        escaped = kind == Kind::Command && character == '\\' && quote != Some('\'') && !escaped;
        if quotes {
            quote = match quote {
                None => Some(character),
                Some(open) if open == character => None,
                open => open,
            };
        }
    }
    words.push(&line[start..]);
    words
}

/// The characters of a word as somebody sees them, a family of emoji as one, and escape sequences whole.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let length = match escape(rest) {
            0 => rest.graphemes(true).next()?.len(),
            length => length,
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

/// How many columns a line takes.
pub(crate) fn columns(line: &str) -> usize {
    let width = |piece: &str| match piece.as_bytes() {
        [b'\x1b', ..] => 0,
        // As far as a tab can go.
        [b'\t'] => 8,
        _ => piece.width(),
    };
    pieces(line).map(width).sum()
}

/// How long the escape sequence is that a text begins with: only colours are ever written.
fn escape(text: &str) -> usize {
    match text.strip_prefix("\x1b[").and_then(|rest| rest.find(|end: char| end.is_ascii_alphabetic())) {
        Some(end) => end + 3,
        None => 0,
    }
}
