//! Reads whether a tool loop that is still running has kept its reasoning.

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::blocks::is_thinking;
use crate::{Thinking, WireRules};

/// Returns whether the loop at the end of a legal list would be refused while thinking is on.
///
/// The loop is what follows the last words of the user; it runs unless it was paused.
pub(crate) fn has_lost_thinking(messages: &[Message], rules: &WireRules, thinking: Thinking) -> bool {
    if !rules.thinking_leads_tool_loop || thinking != Thinking::On {
        return false;
    }
    let is_result = |block: &Content| block.as_result().is_some();
    let mut first = None;
    for message in messages.iter().rev() {
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
    let runs = !messages.last().is_some_and(paused);
    runs && first.is_some_and(|first| !first.content.first().is_some_and(is_thinking))
}
