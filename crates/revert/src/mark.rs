//! Shows a model the names of nodes, and keeps everybody else from showing it false ones.
//!
//! A mark is a block of its own in front of what a person, a tool or the harness said. It is never put into an
//! assistant message: some providers want reasoning first there, and a model copies what it seems to have written.

use std::borrow::Cow;

use trunkline_message_tree::{Author, Content, Message, NodeId, Part, Role};

/// What the words of a proposal begin with.
pub(crate) const PROPOSAL_LABEL: &str = "[revert-proposal]";

/// Puts a mark such as `[n12]` in front of every stored user message and tool result, and makes false marks harmless.
///
/// For a copy that goes into one request; what is stored stays as it is. In tool results and user messages whatever
/// looks like a mark or a note loses its square brackets: `[n3]` becomes `(n3)`, `[revert-…` becomes `(revert-…`.
/// `[n3]` counts only where it stands apart: in `row[n3]` it is an index, and a model that edits a file must see what
/// is there. Untouched are the notes that [`render`](crate::render) made, the label with which a stored proposal of the harness begins,
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
            Content::Text { text } => match text.strip_prefix(PROPOSAL_LABEL) {
                Some(rest) if by_harness => *text = format!("{PROPOSAL_LABEL}{}", disarm(rest)),
                _ => disarm_in_place(text),
            },
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

/// Returns the ASCII sign that a full-width one looks like, and every other character as it is.
pub(crate) fn plain(c: char) -> char {
    match c {
        // U+FF01 to U+FF5E are ASCII `!` to `~`, in order.
        '！'..='～' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        other => other,
    }
}

/// Returns the length of `revert-…` with which a note begins; `None` if that is not how it goes on. Any word after
/// `revert-` counts: a label that we add later must not change what older requests said.
fn label_length(inside: &str) -> Option<usize> {
    let word = "revert-";
    let head: String = inside.chars().take(word.len()).map(plain).collect();
    if !head.eq_ignore_ascii_case(word) {
        return None;
    }
    let begins = word.len();
    let label =
        inside.chars().enumerate().take_while(|(at, c)| *at < begins || plain(*c).is_ascii_alphabetic());
    Some(label.map(|(_, c)| c.len_utf8()).sum())
}

/// Returns the length of `n12` in `n12]…`; `None` if that is not how a mark goes on.
fn mark_length(inside: &str) -> Option<usize> {
    let digits = inside.strip_prefix(['n', 'N', 'ｎ', 'Ｎ'])?;
    let after = digits.trim_start_matches(|c| plain(c).is_ascii_digit());
    let closes = after.starts_with([']', '］']);
    (after.len() < digits.len() && closes).then_some(inside.len() - after.len())
}

/// Returns whether what follows is not glued to a word or a sign. Invisible characters do not glue.
fn stands_apart(before: &str) -> bool {
    !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || plain(c).is_ascii_punctuation())
}
