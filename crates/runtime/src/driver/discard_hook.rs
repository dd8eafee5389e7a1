//! Tells tools that what they have staged has ended without having been applied: that is recorded, they are called, and what came
//! of it is recorded.

use trunkline_resolve_queue::ProposalId;
use trunkline_session_machine::acts::discard_hook::{begin, finish};
use trunkline_session_machine::rules::hooks::due;
use trunkline_session_machine::{CallPlace, RuntimeError};

use crate::effects::discard_hook::call_hook;
use crate::writer::Writer;

/// Calls the discard hook of a proposal. What it says goes into a call's result or a message, if the model is told of it.
pub(crate) async fn tell_tool(
    writer: &mut Writer,
    id: ProposalId,
    call: Option<&CallPlace>,
) -> Result<(), RuntimeError> {
    let Some(end) = writer.perform(|view, _| begin(view, id, call)).await? else { return Ok(()) };
    let Some(entry) = writer.state.resolve.queue.get(id).cloned() else { return Ok(()) };
    let came = call_hook(writer, &entry, &end).await;
    writer.perform(|view, _| finish(view, &end, &came, call)).await
}

/// Calls every hook that can be called, where no drive does: each has an end, so this has one too.
pub(crate) async fn tell_tools(writer: &mut Writer) -> Result<(), RuntimeError> {
    while let Some(id) = due(&writer.state, &writer.settings().setup) {
        tell_tool(writer, id, None).await?;
    }
    Ok(())
}
