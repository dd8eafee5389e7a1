//! When two records say the same message, and what each of them knows alone.

use trunkline_message_tree::{Content, Message};

use super::said::Said;
use super::words;

/// Tells whether two messages say the same, apart from reasoning, signatures and white space: the client writes an
/// answer first as words and later as the parts that it came in.
pub(super) fn same_words(one: &Message, other: &Message) -> bool {
    fn texts(message: &Message) -> impl Iterator<Item = &str> {
        message.content.iter().filter_map(|block| match block {
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        })
    }
    fn others(message: &Message) -> impl Iterator<Item = &Content> {
        message
            .content
            .iter()
            .filter(|block| matches!(block, Content::Image(_) | Content::Document(_) | Content::ToolCall(_)))
    }
    let is_seen =
        |sign: &char| !sign.is_whitespace() && !matches!(sign, '\u{200b}'..='\u{200f}' | '\u{feff}');
    let signs = |message| texts(message).flat_map(str::chars).filter(is_seen);
    let length = |message| texts(message).map(str::len).sum::<usize>();
    let (shorter, longer) = (length(one).min(length(other)), length(one).max(length(other)));
    let same = |(one, other): (&Content, &Content)| match (one, other) {
        (Content::ToolCall(one), Content::ToolCall(other)) => {
            one.id == other.id && one.name == other.name && one.arguments == other.arguments
        }
        _ => one == other,
    };
    // So a short text is never compared with one of megabytes, however often it is written.
    one.role == other.role
        && longer <= shorter.saturating_mul(2).saturating_add(256)
        && others(one).count() == others(other).count()
        && others(one).zip(others(other)).all(same)
        && signs(one).eq(signs(other))
}

/// Keeps of two records of one message what each knows alone.
pub(super) fn take_over(before: &mut Said, mut after: Said) {
    let is_signed = |said: &Said| {
        said.message.content.iter().any(|block| match block {
            Content::Thinking { signature, .. } => signature.is_some(),
            Content::ToolCall(call) => call.signature.is_some(),
            Content::Opaque { .. } => true,
            _ => false,
        })
    };
    let context = words::is_context(&after.message);
    if !context && (is_signed(before) || !is_signed(&after)) {
        return;
    }
    let (usage, origin) = (before.message.usage, before.message.origin.take());
    if after.message.usage.is_none() && usage.is_some() || after.message.origin.is_none() && origin.is_some()
    {
        after.message.usage = after.message.usage.or(usage);
        after.message.origin = after.message.origin.or(origin);
        after.source.exact = false;
    }
    *before = after;
}
