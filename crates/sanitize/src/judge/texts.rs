//! What providers say when they refuse, as users quoted it; read 2026-11.
//!
//! A text is a symptom, not a contract: providers change them, and proxies add their own words around them.

use crate::ViolationKind;

/// Returns the text of the provider behind a wire of that name, where it is known.
pub(super) fn of(wire: &str, kind: &ViolationKind) -> Option<&'static str> {
    match wire {
        "anthropic" => anthropic(kind),
        "openai-chat" => openai_chat(kind),
        _ => None,
    }
}

fn anthropic(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } | ViolationKind::ResultNotFirst { .. } => {
            "messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message."
        }
        ViolationKind::Orphan { .. } => {
            "messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block \
             must have a corresponding `tool_use` block in the previous message."
        }
        ViolationKind::SecondResult { .. } => {
            "each tool_use must have a single result. Found multiple `tool_result` blocks with id: …"
        }
        ViolationKind::IdTaken { .. } => "messages.N.content.M: `tool_use` ids must be unique",
        ViolationKind::IdRefused { .. } => {
            "messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        }
        ViolationKind::ArgumentsNotObject { .. } => {
            "messages.N.content.M.tool_use.input: Input should be a valid dictionary"
        }
        ViolationKind::Misplaced { block: crate::BlockKind::Call } => {
            "`tool_use` blocks can only be in `assistant` messages"
        }
        ViolationKind::SameRole => {
            "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"
        }
        ViolationKind::HeadNotUser => "messages: first message must use the \"user\" role",
        ViolationKind::TailAssistant => {
            "This model does not support assistant message prefill. The conversation must end with a user message."
        }
        ViolationKind::FinalWhiteSpace => {
            "messages: final assistant content cannot end with trailing whitespace"
        }
        ViolationKind::Blank => "messages: text content blocks must be non-empty",
        ViolationKind::Empty => {
            "messages.N: all messages must have non-empty content except for the optional final assistant message"
        }
        ViolationKind::ForeignThinking => "Invalid `signature` in `thinking` block",
        ViolationKind::LoopWithoutThinking => {
            "messages.N.content.M.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        }
        ViolationKind::FinalThinking => {
            "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
        }
        ViolationKind::ForcedWhileThinking => "Thinking may not be enabled when tool_choice forces tool use.",
        ViolationKind::ForeignBlock { block: crate::BlockKind::ServerResult } => {
            "unexpected `tool_use_id` found in `…` blocks: …. Each `…` block must have a corresponding \
             `server_tool_use` block before it."
        }
        _ => return None,
    })
}

fn openai_chat(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } => {
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: …"
        }
        ViolationKind::Orphan { .. } => {
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        }
        ViolationKind::IdRefused { .. } => {
            "'messages[N].tool_calls[M].id': string too long. Expected a string with maximum length 40"
        }
        ViolationKind::ArgumentsNotObject { .. } => {
            "tool_calls.M.function.arguments: arguments must be a valid JSON object string"
        }
        ViolationKind::Misplaced { block: crate::BlockKind::Image } => {
            "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an \
             image URL."
        }
        _ => return None,
    })
}
