//! Applies what was approved: an attempt is recorded, the tool works, and what came of it is recorded.

use trunkline_agent_traits::Cancel;
use trunkline_message_tree::ToolResult;
use trunkline_resolve_queue::ProposalId;
use trunkline_session_machine::acts::apply::{Begun, Ended, begin, end, end_tidied};
use trunkline_session_machine::rules::staged;
use trunkline_session_machine::{CallPlace, RuntimeError};

use crate::effects::apply::carry_out;
use crate::writer::Writer;

/// Applies an approved proposal, unless the files have changed. The outcome goes into a call's result or a message.
///
/// The signal of the present drive is the tool's too: it writes nothing then, or all of it.
pub(crate) async fn apply(
    writer: &mut Writer,
    id: ProposalId,
    call: Option<&CallPlace>,
) -> Result<(), RuntimeError> {
    let attempt = match writer.perform(|view, asked| begin(view, asked, id, call)).await? {
        Begun::Attempt(attempt) => attempt,
        Begun::Not => return Ok(()),
        Begun::Failed(fault) => return Err(fault),
    };
    let entry = writer.state.resolve.queue.get(id).cloned();
    let (Some(entry), Some(tool)) = (entry, writer.executor(id)) else { return Ok(()) };
    let place = call.cloned().unwrap_or_else(|| staged::place_of(&entry.proposal));
    let context = writer.context(Cancel::new(), place).after(entry.decision.as_ref());
    let (outcome, output) = carry_out(writer, &tool, &entry, attempt, &context).await?;
    let words = ToolResult { call_id: String::new(), content: output.content, is_error: false }.text();
    let ended = Ended { attempt, outcome, words };
    match writer.perform(|view, asked| end(view, asked, &ended, call)).await? {
        Some(kept) => writer.perform(|view, asked| end_tidied(view, asked, (&ended, &kept), call)).await,
        None => Ok(()),
    }
}
