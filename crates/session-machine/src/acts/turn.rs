//! The end of a turn: the results of its calls, and what stands before the next one.

use trunkline_message_tree::{
    Author, Content, Draft, Message, NodeId, Part, Role, Timestamp, ToolCall, ToolResult,
};
use trunkline_session_store::Record;

use crate::acts::view::{View, said};
use crate::notes::resolve;
use crate::rules::calls;
use crate::state::{CallStatus, State};
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;

/// Said by the harness where words of the model would follow each other.
pub(crate) const GO_ON_FROM_HERE: &str = "Go on from here.";

/// What the harness answers to a call that no tool has answered.
#[derive(Clone)]
pub(crate) struct CallAnswer {
    pub(crate) index: u32,
    pub(crate) content: Vec<Part>,
    pub(crate) is_error: bool,
}

impl CallAnswer {
    pub(crate) fn said(index: u32, text: String) -> Self {
        CallAnswer { index, content: vec![Part::text(text)], is_error: false }
    }

    pub(crate) fn refused(index: u32, text: String) -> Self {
        CallAnswer { is_error: true, ..CallAnswer::said(index, text) }
    }
}

/// Appends a result node for each call of the open turn: what was recorded, else the answer that is given here.
pub(crate) fn append_results(
    state: &State,
    draft: &mut Draft<'_>,
    answers: &[CallAnswer],
    at: Timestamp,
) -> Result<Vec<NodeId>, RuntimeError> {
    let Some(turn) = state.open_turn() else { return Ok(Vec::new()) };
    let mut results = Vec::new();
    for (place, call) in turn.calls() {
        let (result, ran) = match state.call(&place) {
            Some(CallStatus::Finished { result, ran, .. }) => (result.clone(), *ran),
            _ => {
                let answer = answers.iter().find(|answer| answer.index == place.index);
                let (content, is_error) = match answer {
                    Some(answer) => (answer.content.clone(), answer.is_error),
                    None => (vec![Part::text("not run")], true),
                };
                (ToolResult { call_id: call.id.clone(), content, is_error }, false)
            }
        };
        let author = if ran { Author::Tool } else { Author::Harness };
        let message = Message::new(Role::Tool, author, vec![Content::ToolResult(result)]);
        results.push(draft.append(message, at)?);
    }
    Ok(results)
}

/// Closes the open turn on a draft, because a person goes elsewhere: what has not run does not run, and of what had begun
/// in a process that is gone nobody knows the outcome.
///
/// Returns the result nodes, so that one batch can hold them and the move. The move puts aside what waited.
pub(crate) fn close_turn(
    view: &View<'_>,
    draft: &mut Draft<'_>,
    why: &str,
) -> Result<Vec<NodeId>, RuntimeError> {
    let (state, setup) = (view.state, view.setup);
    let Some(turn) = state.open_turn() else { return Ok(Vec::new()) };
    let open = turn.calls().filter(|(place, _)| !state.is_finished(place));
    let answer = |(place, call): (CallPlace, &ToolCall)| {
        let begun = calls::may_have_worked(state, setup, &place, call);
        let text = if begun { calls::OUTCOME_UNKNOWN } else { why };
        CallAnswer::refused(place.index, text.to_owned())
    };
    let answers: Vec<_> = open.map(answer).collect();
    append_results(state, draft, &answers, view.at)
}

/// Tells on a draft what had no place while the turn was open, and returns the record that it was told.
pub(crate) fn tell_untold(view: &View<'_>, draft: &mut Draft<'_>) -> Result<Option<Record>, RuntimeError> {
    let part = &view.state.resolve;
    if part.untold.is_empty() {
        return Ok(None);
    }
    draft.append(said(&part.untold.join("\n"), part.unshown.clone()), view.at)?;
    Ok(Some(resolve::told(view.at)))
}

/// A trunk that ends in words of the model and goes on gets words of the harness first: no wire asks a model to
/// answer itself, and a run whose last message is an answer is over.
pub(crate) fn say_after_assistant(
    state: &State,
    draft: &mut Draft<'_>,
    at: Timestamp,
) -> Result<(), RuntimeError> {
    // What the draft itself has added is never words of the model.
    let Ok(head) = state.tree.node(draft.head()) else { return Ok(()) };
    let head = head.message();
    if head.role == Role::Assistant && head.calls().next().is_none() && state.decision.is_open() {
        draft.append(Message::harness(GO_ON_FROM_HERE), at)?;
    }
    Ok(())
}
