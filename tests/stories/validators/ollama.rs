//! Lists as Ollama reads them: results find their calls by name and order.

use trunkline_message_tree::{Content, Message, Part, Role};

use super::pairs::OpenCalls;
use super::{Verdict, check_origin, ensure, is_object};

/// Says what is wrong with a list, if anything.
pub(crate) fn check(messages: &[Message]) -> Verdict {
    ensure(!messages.is_empty(), || "no messages".to_owned())?;
    let mut open = OpenCalls::default();
    for message in messages {
        if message.role != Role::Tool {
            open.close()?;
        }
        for block in &message.content {
            check_origin(block, "ollama")?;
            let place = match block {
                Content::Text { .. } => message.role != Role::Tool,
                Content::Thinking { .. } => message.role == Role::Assistant,
                Content::Image(_) => message.role == Role::User,
                Content::ToolCall(call) => {
                    ensure(is_object(&call.arguments), || format!("arguments {:?}", call.arguments))?;
                    open.call(&call.id, &call.name)?;
                    message.role == Role::Assistant
                }
                Content::ToolResult(result) => {
                    open.result_in_order(&result.call_id)?;
                    let words = result.content.iter().all(|part| matches!(part, Part::Text { .. }));
                    message.role == Role::Tool && words
                }
                // It has images and nothing else beside words.
                Content::Document(_) | Content::RedactedThinking { .. } => false,
                Content::ServerCall { .. } | Content::ServerResult { .. } => false,
                Content::Opaque { .. } => true,
            };
            ensure(place, || format!("in a {:?} message: {block:?}", message.role))?;
        }
    }
    open.close()
}
