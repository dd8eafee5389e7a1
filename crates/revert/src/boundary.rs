//! Where a trunk may end.
//!
//! Calls and their results belong together by position, never by id: providers repeat ids within a session. A trunk
//! that ended inside such a group would show the model calls that it has seen answered as unanswered.

use trunkline_message_tree::{Author, Content, Message, MessageTree, Node, Role};

/// Returns the message that stands `depth` steps from the root on the trunk.
pub(crate) fn message_at(tree: &MessageTree, depth: usize) -> Option<&Message> {
    let id = tree.trunk().ids().get(depth)?;
    tree.node(*id).ok().map(Node::message)
}

/// Returns whether the trunk may end here, or would cut a group of calls and results in two.
pub(crate) fn is_boundary(tree: &MessageTree, depth: usize) -> bool {
    let in_group = message_at(tree, depth)
        .is_some_and(|message| message.calls().next().is_some() || message.brings_results());
    !(in_group && message_at(tree, depth + 1).is_some_and(Message::brings_results))
}

/// Returns the depth at which the group ends that holds the node at `depth`; `depth` itself outside of groups.
pub(crate) fn group_end(tree: &MessageTree, mut depth: usize) -> usize {
    while !is_boundary(tree, depth) {
        depth += 1;
    }
    depth
}

/// Returns whether these are the words of a person: not the harness, and not results in the shape of a user message.
pub(crate) fn is_prompt(message: &Message) -> bool {
    let only_results = !message.content.is_empty()
        && message.content.iter().all(|block| matches!(block, Content::ToolResult(_)));
    message.role == Role::User && message.author == Author::Person && !only_results
}
