//! What an attempt left behind that never reported its end: when that is looked up, and by whom.

use crate::driver::roll_back::distrust_rollback;
use crate::orders::DISTRUST;
use crate::writer::Writer;
use crate::writer::waiting::wait_a_while;
use serde_json::Value;
use trunkline_resolve_queue::{Attempt, Entry, Lease, ProposalId};
use trunkline_session_store::InboxId;

use trunkline_session_machine::acts::recover::{Opened, Sight, at_opening, settle, settle_tidied};
use trunkline_session_machine::{Event, RuntimeError, acts};

/// Settles what a dead process left in the middle of an apply. What one that may be alive is doing is left to it: the
/// next drive waits.
pub(crate) async fn recover(writer: &mut Writer) -> Result<(), RuntimeError> {
    let interrupted: Vec<Entry<Value>> = writer.state.resolve.queue.interrupted().cloned().collect();
    if interrupted.is_empty() {
        return Ok(());
    }
    let inbox = writer.store.inbox(writer.lease.session()).await?;
    let trusted = !inbox.iter().any(|letter| letter.kind == DISTRUST);
    for entry in interrupted {
        match at_opening(&writer.view(), &entry, writer.before(), trusted) {
            Opened::Settle(sight) => settle_attempt(writer, entry.id, sight).await?,
            Opened::Leave(plan) => writer.write(plan, None).await?,
        }
    }
    Ok(())
}

/// Waits a little for another writer that may still be applying a proposal, which is told once in a drive: `told` is the attempt that
/// it was told of last.
pub(crate) async fn await_apply(
    writer: &mut Writer,
    (attempt, lease): (Attempt, Lease),
    told: &mut Option<Attempt>,
) -> Result<(), RuntimeError> {
    if *told != Some(attempt) {
        writer.tell(&Event::AwaitingApply { attempt, lease });
        *told = Some(attempt);
    }
    wait_a_while(writer).await.map(drop)
}

/// Finds out from the files what became of an attempt that did not say, and records it.
pub(crate) async fn settle_attempt(
    writer: &mut Writer,
    id: ProposalId,
    sight: Sight,
) -> Result<(), RuntimeError> {
    match writer.perform(|view, asked| settle(view, asked, id, sight)).await? {
        Some(kept) => writer.perform(|view, asked| settle_tidied(view, asked, (id, &kept), sight)).await,
        None => Ok(()),
    }
}

/// Puts aside for good whatever waits or could come back: neither its preview nor its approval was made here.
pub(crate) async fn take_distrust(writer: &mut Writer, letter: Option<InboxId>) -> Result<(), RuntimeError> {
    distrust_rollback(writer).await?;
    // Letters are counted from 1.
    let name = letter.unwrap_or(InboxId(0));
    writer.perform_for(letter, |view, asked| acts::recover::distrust(view, asked, name)).await
}
