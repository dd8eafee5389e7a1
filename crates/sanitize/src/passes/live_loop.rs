//! Reads where a tool loop that is still running begins, and whether it has kept its reasoning.

use std::borrow::Borrow;

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::blocks::is_thinking;
use crate::{Thinking, WireRules};

/// Returns the message from which on the running loop goes; the end of the list if none runs.
///
/// A loop runs if calls or their results come last. It begins behind the last words of the user's side.
pub(crate) fn start<M: Borrow<Message>>(messages: &[M]) -> usize {
    let last = messages.iter().map(Borrow::borrow).rfind(|message| message.role != Role::System);
    let runs = last.is_some_and(|last| match last.role {
        Role::Assistant => last.calls().next().is_some(),
        _ => !has_words(last),
    });
    match runs {
        true => messages.iter().rposition(|message| has_words(message.borrow())).map_or(0, |last| last + 1),
        false => messages.len(),
    }
}

/// Whether a message of the user's side is more than results.
fn has_words(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().any(|block| block.as_result().is_none())
}

/// Returns whether the loop at the end of a legal list would be refused while thinking is on.
///
/// The loop is what follows the last words of the user; it runs unless it was paused.
pub(crate) fn has_lost_thinking<M: Borrow<Message>>(
    messages: &[M],
    rules: &WireRules,
    thinking: Thinking,
) -> bool {
    if !rules.thinking_leads_tool_loop || thinking != Thinking::On {
        return false;
    }
    let is_result = |block: &Content| block.as_result().is_some();
    let mut first = None;
    for message in messages.iter().rev().map(Borrow::borrow) {
        match message.role {
            Role::Assistant => first = Some(message),
            // Instructions in between end no loop.
            Role::Tool | Role::System => {}
            Role::User if message.content.iter().all(is_result) => {}
            Role::User => break,
        }
    }
    // A last assistant message is a loop that goes on as well, unless its provider paused it.
    let paused = |last: &Message| last.role == Role::Assistant && last.stop == Some(StopReason::Pause);
    let runs = !messages.last().is_some_and(|last| paused(last.borrow()));
    runs && first.is_some_and(|first| !first.content.first().is_some_and(is_thinking))
}
