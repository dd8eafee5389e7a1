//! Lists as Bedrock Converse reads them: results and the user's words after them are one turn.

use trunkline_message_tree::{Content, Message, Role};
use trunkline_sanitize::{RequestFacts, Thinking};

use super::pairs::OpenCalls;
use super::{Verdict, check_origin, ensure, is_blank, is_object};

/// One turn on the wire.
struct Turn<'a> {
    by_model: bool,
    blocks: Vec<&'a Content>,
}

/// Says what is wrong with a list for one of Anthropic's models (`claude`) or another, if anything.
pub(crate) fn check(messages: &[Message], facts: &RequestFacts, claude: bool) -> Verdict {
    let lead = messages.iter().take_while(|message| message.role == Role::System).count();
    let turns = turns(&messages[lead..])?;
    // One that begins with the model's words is taken, as are blank blocks beside calls (recorded as accepted, 2026).
    let Some(last) = turns.last() else {
        return Err("a conversation needs a message".to_owned());
    };
    ensure(!last.by_model, || "this model does not support assistant message prefill".to_owned())?;
    ensure(turns.windows(2).all(|pair| pair[0].by_model != pair[1].by_model), || {
        "a conversation must alternate between user and assistant roles".to_owned()
    })?;
    let mut open = OpenCalls::default();
    for turn in &turns {
        check_turn(turn, facts, claude, &mut open)?;
    }
    open.close()?;
    if claude { check_thinking(&turns, facts) } else { Ok(()) }
}

fn turns(messages: &[Message]) -> Result<Vec<Turn<'_>>, String> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut after_results = false;
    for message in messages {
        ensure(message.role != Role::System, || "role system in the list".to_owned())?;
        ensure(!message.content.is_empty(), || "a message without content".to_owned())?;
        let by_model = message.role == Role::Assistant;
        match turns.last_mut() {
            Some(turn) if after_results && !by_model => turn.blocks.extend(&message.content),
            _ => turns.push(Turn { by_model, blocks: message.content.iter().collect() }),
        }
        after_results = message.role == Role::Tool;
    }
    Ok(turns)
}

fn check_turn<'a>(turn: &Turn<'a>, facts: &RequestFacts, claude: bool, open: &mut OpenCalls<'a>) -> Verdict {
    let results = turn.blocks.iter().filter(|block| block.as_result().is_some()).count();
    let leading = turn.blocks.iter().take_while(|block| block.as_result().is_some()).count();
    ensure(results == leading, || "results do not lead".to_owned())?;
    ensure(claude || results == 0 || results == turn.blocks.len(), || {
        "conversation blocks and tool result blocks cannot be provided in the same turn".to_owned()
    })?;
    for block in turn.blocks.iter().take(results).filter_map(|block| block.as_result()) {
        open.result(&block.call_id)?;
    }
    open.close()?;
    let calls = turn.blocks.iter().any(|block| block.as_call().is_some());
    for block in &turn.blocks {
        check_origin(block, "bedrock")?;
        let place = match block {
            Content::Text { text } => {
                ensure(calls || !is_blank(text), || {
                    "the text field in the ContentBlock object is blank".to_owned()
                })?;
                true
            }
            Content::ToolCall(call) => {
                let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
                let id = (1..=64).contains(&call.id.len()) && call.id.bytes().all(known);
                ensure(id, || format!("toolUseId {:?}", call.id))?;
                ensure(is_object(&call.arguments), || format!("input {:?}", call.arguments))?;
                open.call(&call.id, &call.name)?;
                turn.by_model
            }
            Content::ToolResult(result) => {
                ensure(!result.is_error || !result.content.is_empty(), || {
                    "toolResult cannot be empty when status value is error".to_owned()
                })?;
                !turn.by_model
            }
            Content::Thinking { signature, .. } => {
                ensure(!claude || signature.as_ref().is_some_and(|text| !text.is_empty()), || {
                    "unsigned".to_owned()
                })?;
                turn.by_model
            }
            Content::RedactedThinking { .. } | Content::ServerCall { .. } | Content::ServerResult { .. } => {
                turn.by_model
            }
            Content::Image(_) | Content::Document(_) => !turn.by_model,
            Content::Opaque { .. } => true,
        };
        ensure(place, || format!("in the wrong turn: {block:?}"))?;
        let of_tools = matches!(block, Content::ToolCall(_) | Content::ToolResult(_));
        ensure(!of_tools || facts.tools_offered != Some(false), || {
            "the toolConfig field must be defined when using toolUse and toolResult content blocks".to_owned()
        })?;
    }
    Ok(())
}

fn check_thinking(turns: &[Turn<'_>], facts: &RequestFacts) -> Verdict {
    if facts.thinking != Thinking::On {
        return Ok(());
    }
    ensure(!facts.choice_forced, || {
        "thinking may not be enabled when tool_choice forces tool use".to_owned()
    })?;
    let results_only =
        |turn: &&Turn<'_>| !turn.by_model && turn.blocks.iter().all(|block| block.as_result().is_some());
    let runs = turns.last().as_ref().is_some_and(results_only);
    let spoke = turns.iter().rposition(|turn| !turn.by_model && !results_only(&turn));
    let first = turns.get(spoke.map_or(0, |index| index + 1)).filter(|_| runs);
    let thinks = first.is_none_or(|turn| {
        matches!(turn.blocks.first(), Some(Content::Thinking { .. } | Content::RedactedThinking { .. }))
    });
    ensure(thinks, || "expected `thinking`, but found `tool_use`".to_owned())
}
