//! Lines made to fit a screen whose width is known.
//!
//! Counted are the columns that a terminal gives a character: two for the scripts of East Asia and for emoji, none for
//! marks that stand on the one before and for escape sequences. Names, ids and paths stay whole, since people copy them, and so does
//! what stands in backticks: often a command.

use std::borrow::Cow;

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
        if is_full && kind == Kind::Prose && word.chars().any(|character| column(character) == 2) {
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

/// The characters of a word, escape sequences whole.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match escape(rest) {
            0 => first.len_utf8(),
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
        _ => piece.chars().map(column).sum(),
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

/// How many columns a character takes (UAX #11 and the emoji of Unicode 16, read 2026-11). Where in doubt, more.
fn column(character: char) -> usize {
    match character {
        '\u{0300}'..='\u{036f}'
        | '\u{0483}'..='\u{0489}'
        | '\u{0591}'..='\u{05bd}'
        | '\u{064b}'..='\u{065f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{231a}'..='\u{231b}'
        | '\u{23e9}'..='\u{23f3}'
        | '\u{25fd}'..='\u{25fe}'
        | '\u{2614}'..='\u{2615}'
        | '\u{2648}'..='\u{2653}'
        | '\u{26a1}'..='\u{26fd}'
        | '\u{2705}'..='\u{270b}'
        | '\u{274c}'..='\u{2757}'
        | '\u{2795}'..='\u{2797}'
        | '\u{27b0}'..='\u{27bf}'
        | '\u{2b1b}'..='\u{2b1c}'
        | '\u{2b50}'..='\u{2b55}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{16fe0}'..='\u{1b2ff}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}
