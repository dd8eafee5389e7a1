//! What providers say when they refuse, as users quoted it; read 2026-11.
//!
//! A text is a symptom, not a contract: providers change them, and proxies add their own words around them.

use crate::{ViolationKind, WireRules};

/// Returns the text of the provider behind a wire, where it is known.
pub(super) fn of(rules: &WireRules, kind: &ViolationKind) -> Option<&'static str> {
    let own = match &*rules.name {
        "deepseek" => deepseek(kind),
        "mistral" | "mistral-strict" => mistral(kind),
        "strict-template" => strict_template(kind),
        "groq" | "cerebras" if matches!(kind, ViolationKind::FieldRefused { .. }) => {
            Some("property '…' is unsupported")
        }
        _ => None,
    };
    own.or_else(|| match &*rules.wire {
        "anthropic" => anthropic(kind),
        "openai-chat" => openai_chat(kind),
        "openai-responses" => openai_responses(kind),
        "gemini" => gemini(kind),
        "bedrock" => bedrock(kind),
        _ => None,
    })
}

fn deepseek(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } => "(insufficient tool messages following tool_calls message)",
        ViolationKind::Orphan { .. } => {
            "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
        }
        ViolationKind::MediaRefused => {
            "Failed to deserialize the JSON body into the target type: messages[N]: unknown variant `image_url`, expected \
             `text`"
        }
        ViolationKind::ForcedWhileThinking => "Thinking mode does not support this tool_choice",
        ViolationKind::ReasoningMissing => {
            "The `reasoning_content` in the thinking mode must be passed back to the API."
        }
        _ => return None,
    })
}

fn mistral(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } | ViolationKind::SecondResult { .. } => {
            "Not the same number of function calls and responses"
        }
        ViolationKind::Orphan { .. } => "Unexpected role 'tool' after role 'user'",
        ViolationKind::WordsAfterResults => "Unexpected role 'user' after role 'tool'",
        ViolationKind::FieldRefused { .. } => "messages.N.….…: Extra inputs are not permitted",
        ViolationKind::IdRefused { .. } => {
            "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9."
        }
        ViolationKind::NameRefused { .. } => {
            "Function name was … but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64."
        }
        ViolationKind::TailAssistant => {
            "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant"
        }
        _ => return strict_template(kind),
    })
}

fn strict_template(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::SameRole
        | ViolationKind::SecondSystem
        | ViolationKind::SystemNotLeading
        | ViolationKind::HeadNotUser
        | ViolationKind::WordsAfterResults => {
            "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
        }
        _ => return None,
    })
}

fn anthropic(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::NameRefused { .. } => {
            "messages.N.content.M.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
        }
        ViolationKind::Unanswered { .. }
        | ViolationKind::ResultNotFirst { .. }
        | ViolationKind::WordsAfterCall { .. } => {
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
        ViolationKind::FieldRefused { .. } => "messages.N.…: Extra inputs are not permitted",
        ViolationKind::Blank => "messages: text content blocks must be non-empty",
        ViolationKind::Empty => {
            "messages.N: all messages must have non-empty content except for the optional final assistant message"
        }
        ViolationKind::ForeignThinking { why: crate::ThinkingLoss::PrefixChanged } => {
            "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
        }
        ViolationKind::ForeignThinking { .. } => "Invalid `signature` in `thinking` block",
        ViolationKind::ReasoningWithoutFollower => {
            "messages.N: The final block in an assistant message cannot be `thinking`."
        }
        ViolationKind::LoopWithoutThinking => {
            "messages.N.content.M.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        }
        ViolationKind::FinalThinking => {
            "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
        }
        ViolationKind::ForcedWhileThinking => "Thinking may not be enabled when tool_choice forces tool use.",
        ViolationKind::ForeignBlock { block: crate::BlockKind::ServerCall } => {
            "messages.N: `…` tool use with id `…` was found without a corresponding `…_tool_result` block"
        }
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
        ViolationKind::NameRefused { .. } => {
            "Invalid 'messages[N].tool_calls[M].function.name': string does not match pattern. Expected a string that \
             matches the pattern '^[a-zA-Z0-9_-]+$'."
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

fn openai_responses(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } => "No tool output found for function call ….",
        ViolationKind::Orphan { .. } => "No tool call found for function call output with call_id ….",
        ViolationKind::NameRefused { .. } => {
            "Invalid 'input[N].name': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        }
        ViolationKind::ReasoningWithoutFollower => {
            "Item 'rs_…' of type 'reasoning' was provided without its required following item."
        }
        ViolationKind::ForeignBlock { .. } => {
            "Item '…' of type '…' was provided without its required 'reasoning' item: 'rs_…'"
        }
        _ => return None,
    })
}

fn gemini(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } | ViolationKind::SecondResult { .. } => {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the \
             function call turn."
        }
        ViolationKind::Orphan { .. } | ViolationKind::ResultNotFirst { .. } => {
            "Please ensure that function response turn comes immediately after a function call turn."
        }
        ViolationKind::SameRole | ViolationKind::HeadNotUser => {
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
        }
        ViolationKind::Misplaced { block: crate::BlockKind::Result } => {
            "Please ensure that function call turn contains at least one function_call part which can not be mixed with \
             function_response parts."
        }
        ViolationKind::NameRefused { .. } => {
            "Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores \
             (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
        }
        ViolationKind::Empty => "GenerateContentRequest.contents[N].parts: contents.parts must not be empty",
        ViolationKind::NoMessages => "contents is not specified",
        ViolationKind::SignatureMissing { .. } => {
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
             correctly"
        }
        _ => return None,
    })
}

fn bedrock(kind: &ViolationKind) -> Option<&'static str> {
    Some(match kind {
        ViolationKind::Unanswered { .. } | ViolationKind::ResultNotFirst { .. } => {
            "Expected toolResult blocks at messages.N.content for the following Ids: …"
        }
        ViolationKind::Orphan { .. } | ViolationKind::SecondResult { .. } => {
            "The number of toolResult blocks at messages.N.content exceeds the number of toolUse blocks of previous turn."
        }
        ViolationKind::NameRefused { .. } => {
            "Value '…' at 'messages.N.member.content.M.member.toolUse.name' failed to satisfy constraint: Member must satisfy \
             regular expression pattern: [a-zA-Z0-9_-]+"
        }
        ViolationKind::WordsAfterResults => {
            "messages.N.content: Conversation blocks and tool result blocks cannot be provided in the same turn."
        }
        ViolationKind::SameRole | ViolationKind::HeadNotUser => {
            "A conversation must alternate between user and assistant roles. Make sure …"
        }
        ViolationKind::EmptyErrorResult { .. } => {
            "The content field at messages.N.content.M.toolResult cannot be empty when status value is error."
        }
        ViolationKind::NoToolsOffered => {
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        }
        ViolationKind::Blank => "The text field in the ContentBlock object at messages.N.content.M is blank.",
        ViolationKind::LoopWithoutThinking => {
            "messages.N.content.M.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
        }
        ViolationKind::ForcedWhileThinking => "Thinking may not be enabled when tool_choice forces tool use.",
        _ => return None,
    })
}
