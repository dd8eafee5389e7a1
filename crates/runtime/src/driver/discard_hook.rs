//! Tells tools that what they have staged has ended without having been applied: that is recorded, they are called, and what came
//! of it is recorded.

use std::collections::BTreeSet;

use tokio::time::Instant;
use trunkline_agent_traits::Cancel;
use trunkline_resolve_queue::ProposalId;
use trunkline_session_machine::acts::discard_hook::{begin, finish};
use trunkline_session_machine::rules::hooks;
use trunkline_session_machine::{CallPlace, RuntimeError};

use crate::effects::discard_hook::{TIME, call_hook};
use crate::writer::Writer;

/// Calls the discard hook of a proposal. What it says goes into a call's result or a message, if the model is told of it. Of one that
/// a cancel cuts off nothing is recorded: it is called again by the next drive.
pub(crate) async fn tell_tool(
    writer: &mut Writer,
    id: ProposalId,
    call: Option<&CallPlace>,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    let Some(end) = writer.perform(|view, _| begin(view, id, call)).await? else { return Ok(()) };
    let Some(entry) = writer.state.resolve.queue.get(id).cloned() else { return Ok(()) };
    match call_hook(writer, &entry, &end, cancel).await {
        Some(came) => writer.perform(|view, _| finish(view, &end, &came, call)).await,
        None => Ok(()),
    }
}

/// Returns the proposals whose tools have yet to be told that they have ended.
pub(crate) fn open_hooks(writer: &Writer) -> BTreeSet<ProposalId> {
    writer.state.resolve.hooks.open().collect()
}

/// Calls the hooks of what has ended since `before`, where no drive does. The caller of an order waits for that: so older ones are left
/// to the next drive, and so are those that have not begun once one of them has used up its time, or the latest drive is cancelled.
pub(crate) async fn tell_tools(
    writer: &mut Writer,
    before: &BTreeSet<ProposalId>,
) -> Result<(), RuntimeError> {
    let (cancel, begun) = (writer.signal(), Instant::now());
    for id in open_hooks(writer) {
        if cancel.is_cancelled() || begun.elapsed() >= TIME {
            break;
        }
        let can_be_told = hooks::is_due(&writer.state, &writer.settings().setup, id);
        if can_be_told && !before.contains(&id) {
            tell_tool(writer, id, None, &cancel).await?;
        }
    }
    Ok(())
}
