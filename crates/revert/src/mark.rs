//! Shows a model the names of nodes, and keeps everybody else from showing it false ones.
//!
//! A mark is a block of its own in front of what a person, a tool or the harness said. It is never put into an
//! assistant message: some providers want reasoning first there, and a model copies what it seems to have written.

use std::borrow::Cow;

use trunkline_message_tree::{Author, Content, Message, NodeId, Part, Role};

use crate::prune::is_pruned;

/// What the words of a proposal begin with.
pub(crate) const PROPOSAL_LABEL: &str = "[revert-proposal]";

/// What the line of a covering node begins with.
pub(crate) const COMPACTION_LABEL: &str = "[compaction]";

/// What stands in place of a result that was left out begins with.
pub(crate) const PRUNED_LABEL: &str = "[pruned]";

/// Labels of one word that only the harness writes.
const HARNESS_LABELS: [&str; 2] = [COMPACTION_LABEL, PRUNED_LABEL];

/// Puts a mark such as `[n12]` in front of every stored user message and tool result, and makes false marks harmless.
///
/// For a copy that goes into one request; what is stored stays as it is. In tool results and user messages whatever
/// looks like a mark or a note loses its square brackets: `[n3]` becomes `(n3)`, `[revert-…` becomes `(revert-…`.
/// `[n3]` counts only where it stands apart: in `row[n3]` it is an index, and a model that edits a file must see what
/// is there; `[compaction]` and `[pruned]` are treated alike. Signs that nobody sees and spaces inside of the brackets do not
/// make it anything else. Untouched are the notes that [`render`](crate::render) made, the label with which a stored proposal of the harness begins,
/// assistant and system messages, and with them
/// what a provider's own tools returned.
pub fn mark(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        let ours = message.author == Author::Harness && message.node.is_none();
        if matches!(message.role, Role::User | Role::Tool) && !ours {
            disarm_message(message);
            if let Some(node) = message.node {
                mark_message(message, node);
            }
        }
    }
    messages
}

fn mark_message(message: &mut Message, node: NodeId) {
    let mark = format!("[{node}]");
    let first_result = message.content.iter_mut().find_map(|block| match block {
        Content::ToolResult(result) => Some(result),
        _ => None,
    });
    // Results must come first in their message, so the mark goes inside.
    if let Some(first) = first_result {
        first.content.insert(0, Part::text(mark));
    } else if !message.content.is_empty() {
        // An empty message stays empty: whether it is sent at all is not decided here.
        message.content.insert(0, Content::text(mark));
    }
}

/// Makes whatever looks like a mark or a note in a message harmless.
pub(crate) fn disarm_message(message: &mut Message) {
    // Who wrote a message is never read from its text, so only the harness can begin one with this.
    let by_harness = message.author == Author::Harness;
    for block in &mut message.content {
        match block {
            Content::Text { text } => {
                let own = [PROPOSAL_LABEL, COMPACTION_LABEL].into_iter().find(|own| text.starts_with(own));
                match own.filter(|_| by_harness) {
                    Some(own) => *text = format!("{own}{}", disarm(&text[own.len()..])),
                    None => disarm_in_place(text),
                }
            }
            Content::ToolResult(result) if is_pruned(result) => {}
            Content::ToolResult(result) => {
                for part in &mut result.content {
                    if let Part::Text { text } = part {
                        disarm_in_place(text);
                    }
                }
            }
            _ => {}
        }
    }
}

fn disarm_in_place(text: &mut String) {
    if let Cow::Owned(harmless) = disarm(text) {
        *text = harmless;
    }
}

/// Replaces the square brackets of what looks like a mark or a note by round ones; the length stays the same.
///
/// Full-width signs count as well: a model reads `［ｎ３］` as it reads `[n3]`.
pub(crate) fn disarm(text: &str) -> Cow<'_, str> {
    let mut brackets = Vec::new();
    // Where the last false mark ended: another one directly after it is just as false.
    let mut disarmed_to = 0;
    for (open, bracket) in text.match_indices(['[', '［']) {
        let (before, inside) = (&text[..open], &text[open + bracket.len()..]);
        let length = match label_length(inside) {
            Some(length) => length,
            None if disarmed_to == open || stands_apart(before) => match mark_length(inside) {
                Some(length) => length,
                None => continue,
            },
            None => continue,
        };
        brackets.push(open);
        let close = open + bracket.len() + length;
        if let Some(bracket) = text[close..].chars().next().filter(|c| plain(*c) == ']') {
            brackets.push(close);
            disarmed_to = close + bracket.len_utf8();
        }
    }
    if brackets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut brackets = brackets.into_iter().peekable();
    let swapped = text.char_indices().map(|(at, c)| match (brackets.next_if_eq(&at), c) {
        (None, _) => c,
        (Some(_), '[') => '(',
        (Some(_), '［') => '（',
        (Some(_), '］') => '）',
        (Some(_), _) => ')',
    });
    Cow::Owned(swapped.collect())
}

/// Returns the ASCII sign that a full-width one or a dash looks like, and every other character as it is.
pub(crate) fn plain(c: char) -> char {
    match c {
        // U+FF01 to U+FF5E are ASCII `!` to `~`, in order.
        '！'..='～' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        other => other,
    }
}

/// Returns whether the character shows nothing and takes no room, so that a model may read over it.
pub(crate) fn is_invisible(c: char) -> bool {
    is_bidi_control(c)
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{3164}'
                | '\u{feff}'
        )
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether the character changes the direction in which the text around it is shown.
pub(crate) fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the characters that count, each with its place and as what it looks like. Over a line break nobody reads on.
fn seen(text: &str) -> impl Iterator<Item = (usize, char)> {
    let skipped =
        |c: char| is_invisible(c) || ((c.is_whitespace() || c.is_control()) && !matches!(c, '\n' | '\r'));
    text.char_indices().filter(move |(_, c)| !skipped(*c)).map(|(at, c)| (at, plain(c)))
}

/// Returns the length of `revert-…` with which a note begins; `None` if that is not how it goes on. Any word after
/// `revert-` counts: a label that we add later must not change what older requests said.
fn label_length(inside: &str) -> Option<usize> {
    let mut seen = seen(inside);
    let begins =
        "revert-".chars().all(|sign| seen.next().is_some_and(|(_, c)| c.eq_ignore_ascii_case(&sign)));
    if !begins {
        return None;
    }
    let end = seen.find(|(_, c)| !c.is_ascii_alphabetic());
    Some(end.map_or(inside.len(), |(at, _)| at))
}

/// Returns the length of what stands before the closing bracket in `n12]…`, or in the whole of a label that only the harness
/// writes; `None` if that is not how it goes on.
fn mark_length(inside: &str) -> Option<usize> {
    let mut signs = seen(inside);
    let (mut digits, mut close) = (0, None);
    if signs.next().is_some_and(|(_, c)| c.eq_ignore_ascii_case(&'n')) {
        close = signs.find(|(_, c)| {
            digits += usize::from(c.is_ascii_digit());
            !c.is_ascii_digit()
        });
    }
    if digits > 0 {
        return close.filter(|(_, c)| *c == ']').map(|(at, _)| at);
    }
    HARNESS_LABELS.iter().find_map(|label| {
        let mut signs = seen(inside);
        let word = label.chars().skip(1);
        let mut last = 0;
        let all = word.into_iter().all(|sign| {
            signs.next().is_some_and(|(at, c)| {
                last = at;
                c.eq_ignore_ascii_case(&sign)
            })
        });
        all.then_some(last)
    })
}

/// Returns whether what follows is not glued to a word or a sign. Invisible characters do not glue.
fn stands_apart(before: &str) -> bool {
    !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || plain(c).is_ascii_punctuation())
}
