//! Results that come after their call was answered, or from elsewhere.

use trunkline_message_tree::{
    Author, CallOutcome, Content, Message, MessageTree, Part, Role, ToolCall, ToolResult,
};

use crate::acts::calls::finished;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::record::entries;
use crate::rules::gates;
use crate::state::State;
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;
use crate::words::event::Event;
use crate::words::late::Late;

/// Returns whether there is a place for this result now.
pub fn takes_late(state: &State, call: &CallPlace) -> bool {
    state.open_turn().is_none() || is_awaited(state, call) || !state.tree.takes_results_of(call.node)
}

/// Returns whether the call is one of the open turn, whole, and without its result.
fn is_awaited(state: &State, call: &CallPlace) -> bool {
    state.open_turn().is_some_and(|turn| {
        let ready = || matches!(turn.message.outcome_of(call.index as usize), Some(CallOutcome::Ready(_)));
        turn.node == call.node && !turn.was_cut() && !state.is_finished(call) && ready()
    })
}

/// Records a late result: at its call if that waits for it, quoted where the head is if it was answered, else filed under it.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn take(view: &View<'_>, call: &CallPlace, result: &ToolResult) -> Result<Plan<Late>, Pause> {
    let tree = &view.state.tree;
    let asked = call_at(tree, call)?;
    let call = CallPlace { id: asked.id.clone(), ..call.clone() };
    let result = ToolResult { call_id: asked.id.clone(), ..result.clone() };
    if is_awaited(view.state, &call) {
        let mut plan = Plan::of(vec![finished(&call, &result, true, view.at)]);
        plan.records.extend(gates::drop_gate(&view.state.resolve, &call, view.at));
        plan.events.push(Event::CallFinished { call, result, elapsed: None });
        return Ok(plan.then(Late::Recorded));
    }
    let mut draft = tree.draft();
    let late = if tree.takes_results_of(call.node) {
        let quoted = draft.append(quotation(&call, asked, result), view.at);
        Late::Quoted { node: quoted? }
    } else {
        let message = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
        Late::Filed { node: draft.file(call.node, message, view.at)? }
    };
    Ok(Plan::of(entries(draft)).then(late))
}

/// Returns the call that stands at a place.
///
/// # Errors
///
/// [`RuntimeError::Refused`] if none stands there; [`RuntimeError::Tree`].
pub fn call_at<'a>(tree: &'a MessageTree, call: &CallPlace) -> Result<&'a ToolCall, RuntimeError> {
    let message = tree.node(call.node).ok().map(|node| node.message());
    let asked = message.and_then(|message| message.calls().nth(call.index as usize));
    asked.ok_or_else(|| RuntimeError::Refused {
        reason: format!("{} holds no call with the number {}", call.node, call.index),
    })
}

/// Returns a late result as words of the harness. Its place beside its call is taken, and no wire would accept a second one.
fn quotation(call: &CallPlace, asked: &ToolCall, result: ToolResult) -> Message {
    // A model chose the name.
    let name: String = asked.name.chars().take(64).collect();
    let failed = if result.is_error { ", a failure" } else { "" };
    let number = call.index + 1;
    let mut content = vec![Content::text(format!(
        "A result came late, of your call {name:?} (call {number} of {}){failed}. The tool said:",
        call.node
    ))];
    content.extend(result.content.into_iter().map(|part| match part {
        Part::Text { text } => {
            // So that none of it reads as words of the harness.
            Content::text(quote_lines(&text))
        }
        Part::Image(media) => Content::Image(media),
        Part::Document(media) => Content::Document(media),
        Part::Opaque { .. } => Content::text("> (a part that cannot be quoted)"),
    }));
    Message::new(Role::User, Author::Harness, content)
}

/// Puts `> ` before every line of a text. Whatever a reader may take for the end of a line is one, and what else moves a
/// cursor is a space.
fn quote_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut quoted = String::from("> ");
    for c in text.chars() {
        match c {
            '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => quoted.push_str("\n> "),
            c if c.is_control() && c != '\t' => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted
}
