//! Lets tools apply what was approved, and moves on what no turn is about. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::apply).

use crate::effects::bind::catch_up;
use crate::effects::recover::look_up;
use crate::world::contained;
use crate::world::spans::Span;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;
use std::pin::pin;
use std::sync::Arc;
use trunkline_agent_traits::{Cancel, Tool, ToolContext};

use serde_json::Value;
use trunkline_message_tree::ToolResult;
use trunkline_resolve_queue::{Attempt, Entry, Outcome, ProposalId};

use crate::writer::tenure::{RENEWAL_TIME, TICK};
use trunkline_session_machine::acts::apply::{self, Begun, Ended, begin, check, end, end_tidied, give_up};
use trunkline_session_machine::acts::decide::{approve_ahead, decide_ahead};
use trunkline_session_machine::rules::staged;
use trunkline_session_machine::words::work::Work;
use trunkline_session_machine::{CallPlace, RuntimeError, ToolOutput};

/// Moves a proposal on that no open turn is about.
pub(crate) async fn work(writer: &mut Writer, work: Work) -> Result<(), RuntimeError> {
    match work {
        Work::Approve(id) => writer.perform(|view, _| approve_ahead(view, id)).await,
        Work::Forbid(id) => writer.perform(|view, _| decide_ahead(view, id)).await,
        Work::Apply(id) => apply(writer, id, None).await,
        Work::Check(id) => writer.perform(|view, asked| check(view, asked, id)).await,
        Work::LookUp(id) => look_up(writer, id).await,
        Work::Drop(id, why) => writer.perform(|view, _| give_up(view, id, &why)).await,
        Work::Ask(_) => Ok(()),
    }
}

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
    let context = writer.context(Cancel::new(), place);
    let (outcome, output) = carry_out(writer, &tool, &entry, attempt, &context).await?;
    let words = ToolResult { call_id: String::new(), content: output.content, is_error: false }.text();
    let ended = Ended { attempt, outcome, words };
    match writer.perform(|view, asked| end(view, asked, &ended, call)).await? {
        Some(kept) => writer.perform(|view, asked| end_tidied(view, asked, (&ended, &kept), call)).await,
        None => Ok(()),
    }
}

/// Lets the tool work, and keeps the lease alive meanwhile. When the drive is cancelled, or the session is taken over, the
/// tool is told so; it is waited for in any case, because half of it would be worse than too much.
async fn carry_out(
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
        None if behind => catch_up(writer).await.map(|()| done),
        None => Ok(done),
    }
}

/// Gives the attempt at hand more time, once a third of what it had is over.
async fn renew(writer: &mut Writer, attempt: Attempt) -> Result<(), RuntimeError> {
    if apply::renew(&writer.view(), attempt).is_none() {
        return Ok(());
    }
    // After a write that failed nobody knows what was kept, and the next one has to know.
    catch_up(writer).await?;
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
