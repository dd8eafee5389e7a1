//! Lists as Gemini reads them: turns of parts.

use trunkline_message_tree::{Content, Message, Part, Role};

use super::pairs::OpenCalls;
use super::{Verdict, check_origin, ensure, is_object};

/// How generations differ.
#[derive(Copy, Clone)]
pub(crate) struct Taste {
    /// The first call of every step of the current turn must be signed.
    pub(crate) signed: bool,
    /// Results may hold pictures.
    pub(crate) pictures_in_results: bool,
}

/// Says what is wrong with a list, if anything.
pub(crate) fn check(messages: &[Message], taste: Taste) -> Verdict {
    let lead = messages.iter().take_while(|message| message.role == Role::System).count();
    let contents = &messages[lead..];
    let first = contents.first().ok_or("contents is not specified")?;
    ensure(first.role == Role::User, || "function call turn comes immediately after a user turn".to_owned())?;
    ensure(contents.last().is_none_or(|last| last.role != Role::Assistant), || {
        "ends with a model turn".to_owned()
    })?;
    let mut open = OpenCalls::default();
    let mut before = Role::User;
    for message in contents {
        ensure(message.role != Role::System, || "instructions inside of contents".to_owned())?;
        ensure(!message.content.is_empty(), || "contents.parts must not be empty".to_owned())?;
        if message.role != Role::Tool {
            let leads = message.content.iter().take_while(|block| block.as_result().is_some()).count();
            ensure(leads > 0 || open.is_empty(), || "number of function response parts".to_owned())?;
        }
        for block in &message.content {
            check_origin(block, "gemini")?;
            check_block(block, message.role, taste, &mut open)?;
        }
        if message.calls().next().is_some() {
            ensure(before != Role::Assistant, || {
                "function call turn comes immediately after a user turn or after a function response turn"
                    .to_owned()
            })?;
        }
        before = message.role;
    }
    open.close()?;
    if taste.signed { check_signatures(contents) } else { Ok(()) }
}

fn check_block<'a>(block: &'a Content, role: Role, taste: Taste, open: &mut OpenCalls<'a>) -> Verdict {
    let place = match block {
        Content::Text { .. } => role != Role::Tool,
        Content::ToolCall(call) => {
            ensure(is_object(&call.arguments), || format!("args {:?}", call.arguments))?;
            open.call(&call.id, &call.name)?;
            role == Role::Assistant
        }
        Content::ToolResult(result) => {
            let pictures = result.content.iter().any(|part| !matches!(part, Part::Text { .. }));
            ensure(taste.pictures_in_results || !pictures, || "a picture in a function response".to_owned())?;
            open.result_in_order(&result.call_id)?;
            role != Role::Assistant
        }
        Content::Image(_) | Content::Document(_) => role == Role::User,
        Content::Thinking { .. }
        | Content::RedactedThinking { .. }
        | Content::ServerCall { .. }
        | Content::ServerResult { .. } => role == Role::Assistant,
        Content::Opaque { .. } => role != Role::Tool,
    };
    ensure(place, || format!("in a {role:?} message: {block:?}"))
}

/// The current turn reaches back to the user's last ordinary words.
fn check_signatures(contents: &[Message]) -> Verdict {
    let ordinary = |message: &Message| message.role == Role::User && message.results().next().is_none();
    let begin = contents.iter().rposition(ordinary).unwrap_or_default();
    for message in &contents[begin..] {
        let first = message.calls().next();
        let signed =
            first.is_none_or(|call| call.signature.as_ref().is_some_and(|signature| !signature.is_empty()));
        ensure(signed, || "function call is missing a thought_signature in functionCall parts".to_owned())?;
    }
    Ok(())
}
