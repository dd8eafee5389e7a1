//! Lets a tool apply what was approved, under a lease.

use std::pin::pin;
use std::sync::Arc;

use serde_json::Value;
use trunkline_agent_traits::{Cancel, Tool, ToolContext};
use trunkline_resolve_queue::{Attempt, Entry, Outcome};
use trunkline_session_machine::acts::apply;
use trunkline_session_machine::{RuntimeError, ToolOutput};

use crate::world::contained;
use crate::world::spans::Span;
use crate::writer::Writer;
use crate::writer::renewal::{RENEWAL_TIME, TICK};
use crate::writer::waiting::asked_to_end;

/// Lets the tool work, and keeps the lease alive meanwhile. When the drive is cancelled, or the session is taken over, the
/// tool is told so; it is waited for in any case, because half of it would be worse than too much.
pub(crate) async fn carry_out(
    writer: &mut Writer,
    tool: &Arc<dyn Tool>,
    entry: &Entry<Value>,
    attempt: Attempt,
    context: &ToolContext,
) -> Result<(Outcome, ToolOutput), RuntimeError> {
    let cancel = writer.signal();
    // A drive that is dropped takes the future of the tool along, but not the threads that it works with.
    let mut forsaken = Forsaken(Some(context.cancel.clone()));
    let mut watched = pin!(asked_to_end(writer));
    let span = Span::apply(writer.id(), &entry.proposal.source_tool, attempt);
    let mut applied = pin!(span.around(contained::apply(tool.as_ref(), entry, context)));
    let (mut watching, mut behind, mut lost) = (true, false, None);
    let done = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !context.cancel.is_cancelled() => context.cancel.cancel(),
            asked = &mut watched, if watching => {
                watching = false;
                match asked {
                    Ok(()) => cancel.cancel(),
                    Err(by) => lost = Some(writer.lost(by)),
                }
            }
            done = &mut applied => break done,
            () = tokio::time::sleep(TICK) => {
                let renewed = tokio::time::timeout(RENEWAL_TIME, renew(writer, attempt)).await;
                behind |= !matches!(renewed, Ok(Ok(())));
                if let Ok(Err(fault @ RuntimeError::TakenOver { .. })) = renewed {
                    lost = Some(fault);
                }
            }
        }
        if lost.is_some() {
            context.cancel.cancel();
        }
    };
    forsaken.0 = None;
    span.applied(&done.0);
    match lost {
        // Whoever has the session now finds out what became of it.
        Some(fault) => Err(fault),
        None if behind => writer.follow().await.map(|()| done),
        None => Ok(done),
    }
}

/// Gives the attempt at hand more time, once a third of what it had is over.
async fn renew(writer: &mut Writer, attempt: Attempt) -> Result<(), RuntimeError> {
    if apply::renew(&writer.view(), attempt).is_none() {
        return Ok(());
    }
    // After a write that failed nobody knows what was kept, and the next one has to know.
    writer.follow().await?;
    let renewed = apply::renew(&writer.view(), attempt);
    writer.commit(renewed.into_iter().collect(), None).await
}

/// Cancels when it is dropped before its time.
struct Forsaken(Option<Cancel>);

impl Drop for Forsaken {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}
