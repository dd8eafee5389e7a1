//! Leaves old and long results out of a prompt.
//!
//! A rule of rendering and never an edit: the tree keeps every byte, and each call keeps a result that says what is
//! missing. The age at which results are left out moves in steps, because each step loses the
//! provider's cache from the first such result on.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Content, MediaSource, Message, MessageTree, NodeId, Part, ToolCall, ToolResult,
};

use crate::mark::PRUNED_LABEL;
use crate::observation::MAX_NAME_CHARS;
use crate::one_line::one_line;
use crate::render::is_reply;

/// What is said of a result that is left out. Nothing that asks for the call once more: it may be one that cannot be taken
/// back.
const LEFT_OUT: &str = "returned are left out here; the call itself was answered.";

/// What a tool is called whose name is not said.
const A_TOOL: &str = "a tool";

/// Which results are left out of a prompt. Turns are those of the session's turn clock, see [`turn`](crate::turn).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PrunePolicy {
    /// Results of this many turns, at least the newest, always stay. 20 unless told.
    pub after_turns: u32,
    /// The age is looked at whenever this many turns have passed. 10 unless told; 0 counts as 1.
    pub every_turns: u32,
    /// Results of more bytes are left out, pictures and documents counted as they are stored. 4,000 unless told.
    pub larger_than_bytes: usize,
}

impl Default for PrunePolicy {
    fn default() -> Self {
        PrunePolicy { after_turns: 20, every_turns: 10, larger_than_bytes: 4_000 }
    }
}

impl PrunePolicy {
    /// Returns the policy with these figures: turns that stay, turns between two steps, bytes.
    pub fn new(after_turns: u32, every_turns: u32, larger_than_bytes: usize) -> Self {
        PrunePolicy { after_turns, every_turns, larger_than_bytes }
    }

    /// Returns the nodes of the trunk whose results are left out at a turn of the session's clock. What a summary stands for is none.
    pub fn left_out_of(&self, tree: &MessageTree, now_turn: u32) -> Vec<NodeId> {
        let Some(cut) = self.cut(tree, now_turn) else { return Vec::new() };
        let old = tree.trunk().items().filter(|item| item.id() < cut);
        old.filter(|item| item.message().results().any(|result| self.leaves_out(result)))
            .map(|item| item.id())
            .collect()
    }

    /// Returns whether a result is left out once it is old.
    pub(crate) fn leaves_out(&self, result: &ToolResult) -> bool {
        !result.is_error && bytes(result) > self.larger_than_bytes
    }

    /// Returns the first node whose result stays whatever its size; `None` if all do. Only the clock decides.
    pub(crate) fn cut(&self, tree: &MessageTree, now_turn: u32) -> Option<NodeId> {
        let pruned_turns = self.pruned_turns(now_turn)?;
        let mut replies = tree.nodes().filter(|(_, node)| is_reply(node));
        replies.nth(pruned_turns).map(|(id, _)| id)
    }

    /// Returns the number of turns whose results are looked at, which is that of the reply that comes after them; `None` if
    /// there are none.
    pub(crate) fn pruned_turns(&self, now_turn: u32) -> Option<usize> {
        let old = now_turn.saturating_sub(self.after_turns.max(1));
        let pruned_turns = old - old % self.every_turns.max(1);
        (pruned_turns > 0).then_some(pruned_turns as usize)
    }

    /// Returns the message with each result that is too long left out, and what that was; `None` if none is.
    ///
    /// `calls` are those of the newest assistant message before it.
    pub(crate) fn pruned(&self, message: &Message, calls: &[&ToolCall]) -> Option<(Message, Vec<Pruned>)> {
        left_out(message, calls, |result| self.leaves_out(result))
    }
}

/// Returns the message with these of its results left out, and what that was; `None` if there are none.
///
/// `calls` are those of the newest assistant message before it.
pub(crate) fn left_out(
    message: &Message,
    calls: &[&ToolCall],
    which: impl Fn(&ToolResult) -> bool,
) -> Option<(Message, Vec<Pruned>)> {
    if !message.results().any(&which) {
        return None;
    }
    let mut copy = message.clone();
    let mut left_out = Vec::new();
    for block in &mut copy.content {
        let Content::ToolResult(result) = block else { continue };
        if !which(result) {
            continue;
        }
        let call = calls.iter().find(|call| call.id == result.call_id);
        let tool = call.map_or_else(|| A_TOOL.to_owned(), |call| one_line(&call.name, MAX_NAME_CHARS));
        let bytes = bytes(result);
        // A name that a model made up could say anything.
        let said = if is_plain_name(&tool) { &tool } else { A_TOOL };
        result.content = vec![Part::text(format!("{PRUNED_LABEL} {bytes} bytes that {said} {LEFT_OUT}"))];
        left_out.push(Pruned { node: message.node, call_id: result.call_id.clone(), tool, bytes });
    }
    Some((copy, left_out))
}

/// A result that was left out of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pruned {
    /// The message that holds it.
    pub node: Option<NodeId>,
    /// The call that it answers.
    pub call_id: String,
    /// The tool that gave it.
    pub tool: String,
    /// How many bytes were left out.
    pub bytes: usize,
}

/// Returns whether a result is what stands in place of one that was left out.
///
/// A tool can say the same, to the letter and with nothing else in it: then it has said no more than that it answered.
pub(crate) fn is_pruned(result: &ToolResult) -> bool {
    let [Part::Text { text }] = result.content.as_slice() else { return false };
    let said = text.strip_prefix(PRUNED_LABEL).and_then(|rest| rest.strip_suffix(LEFT_OUT));
    let said = said.and_then(|said| said.strip_prefix(' ')?.strip_suffix(' '));
    said.and_then(|said| said.split_once(" bytes that ")).is_some_and(|(bytes, tool)| {
        let counted = !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit());
        counted && (tool == A_TOOL || is_plain_name(tool))
    })
}

fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/".contains(&byte);
    (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(plain)
}

/// Returns the bytes of a result, pictures and documents as they are stored.
pub(crate) fn bytes(result: &ToolResult) -> usize {
    let part = |part: &Part| match part {
        Part::Text { text } => text.len(),
        Part::Opaque { json, .. } => json.len(),
        Part::Image(media) | Part::Document(media) => match &media.source {
            MediaSource::Base64(data) => data.len(),
            MediaSource::Url(_) => 0,
        },
    };
    result.content.iter().map(part).sum()
}
