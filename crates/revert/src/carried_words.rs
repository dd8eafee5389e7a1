//! Makes words harmless that are carried from one branch to another.
//!
//! Each stands in a line of its own between marks of the harness, so it must look like none of them.

use crate::NoteKind;
use crate::mark::{disarm, is_invisible, plain};
use crate::one_line::one_line;

/// The longest sentence, in characters; the rest is cut and ends in `…`.
const MAX_SENTENCE_CHARS: usize = 500;

/// Takes the colon off words of a model that begin like a note.
pub(crate) fn unlabelled(text: String) -> String {
    let kinds = [NoteKind::Outcome, NoteKind::Checkpoint, NoteKind::Finding, NoteKind::Lesson];
    let is_label = |word: &str| kinds.iter().any(|kind| word.trim().eq_ignore_ascii_case(&kind.to_string()));
    match text.split_once(':') {
        Some((word, rest)) if is_label(word) => format!("{word} –{rest}"),
        _ => text,
    }
}

/// Returns the text on one bounded line that looks like neither marks, notes nor sources.
pub(crate) fn harmless(text: &str) -> String {
    let line = one_line(text, MAX_SENTENCE_CHARS);
    let line = disarm(&line);
    let mut text = String::with_capacity(line.len());
    let mut rest = &*line;
    while let Some(open) = rest.find(['(', '（']) {
        let (before, from) = rest.split_at(open);
        text.push_str(before);
        let bracket = from.chars().next().unwrap_or('(');
        let inside = &from[bracket.len_utf8()..];
        // In `f(n1)` it is code, which a model must be able to read.
        let glued = text.chars().next_back().is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
        let close =
            inside.find([')', '(', '）', '（']).filter(|close| inside[*close..].starts_with([')', '）']));
        match close.filter(|close| !glued && names_nodes(&inside[..*close])) {
            Some(close) => {
                text.push('{');
                text.push_str(&inside[..close]);
                text.push('}');
                rest = inside[close..].strip_prefix([')', '）']).unwrap_or_default();
            }
            None => {
                text.push(bracket);
                rest = inside;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns whether the text is a list of nodes, as in `n12, n15`, also in full-width signs.
fn names_nodes(text: &str) -> bool {
    text.split([',', '，', '、']).all(|name| {
        let mut signs =
            name.chars().filter(|c| !is_invisible(*c) && !c.is_whitespace()).map(plain).peekable();
        let is_node = signs.next().is_some_and(|c| c.eq_ignore_ascii_case(&'n')) && signs.peek().is_some();
        is_node && signs.all(|c| c.is_ascii_digit())
    })
}
