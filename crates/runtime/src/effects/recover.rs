//! What an attempt left behind that never reported its end: when that is looked up, and by whom.

use crate::effects::roll_back::distrust_rollback;
use crate::orders::DISTRUST;
use crate::writer::Writer;
use crate::writer::waiting::wait_a_while;
use serde_json::Value;
use trunkline_resolve_queue::{Entry, ProposalId};
use trunkline_session_store::InboxId;

use trunkline_session_machine::acts::recover::{Holder, Sight, holder_of, settle, settle_tidied};
use trunkline_session_machine::notes::resolve;
use trunkline_session_machine::{Event, RuntimeError, acts};

/// Settles what a dead process left in the middle of an apply. What one that may be alive is doing is left to it: the
/// next drive waits.
pub(crate) async fn recover(writer: &mut Writer) -> Result<(), RuntimeError> {
    let interrupted: Vec<Entry<Value>> = writer.state.resolve.queue.interrupted().cloned().collect();
    if interrupted.is_empty() {
        return Ok(());
    }
    let inbox = writer.store.inbox(writer.lease.session()).await?;
    // Neither the approval nor the bytes of an import were seen by anybody here, and whoever applied it there writes
    // nothing here.
    let trusted = !inbox.iter().any(|letter| letter.kind == DISTRUST);
    for entry in interrupted {
        let holder = if trusted { holder(writer, &entry) } else { Holder::Gone };
        let sight = match holder {
            Holder::Gone => Sight { fenced: true, at: writer.settings().now(), trusted },
            Holder::Lapsed(at) => Sight { fenced: false, at, trusted },
            Holder::Alive(_) => {
                // Whoever comes next finds nobody who writes the session, and must know that somebody writes the files.
                if !writer.state.resolve.is_standing(entry.attempt()) {
                    let standing = resolve::standing(entry.attempt(), writer.settings().now());
                    writer.commit(vec![standing], None).await?;
                }
                continue;
            }
        };
        settle_attempt(writer, entry.id, sight).await?;
    }
    Ok(())
}

/// Does what no step of a turn is about: lets expire what is past its time, and finds out what became of an attempt.
pub(crate) async fn tend_proposals(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.perform(|view, _| acts::expire::expire_due(view)).await?;
    if !writer.state.resolve.untold.is_empty() {
        writer.perform(|view, _| acts::open::tell_untold(view)).await?;
    }
    let interrupted = writer.state.resolve.queue.interrupted().map(|entry| entry.id);
    let edits: Vec<ProposalId> =
        interrupted.filter(|id| writer.state.resolve.gated_call(*id).is_none()).collect();
    for id in edits {
        look_up(writer, id).await?;
    }
    Ok(())
}

/// Finds out from the files what became of an attempt that did not say. Waits for one that may be under way, unless the
/// drive is cancelled; then nothing has changed.
pub(crate) async fn look_up(writer: &mut Writer, id: ProposalId) -> Result<(), RuntimeError> {
    let mut told = false;
    loop {
        let Some(entry) = writer.state.resolve.queue.get(id) else { return Ok(()) };
        let sight = match holder(writer, entry) {
            Holder::Gone => Sight { fenced: true, at: writer.settings().now(), trusted: true },
            Holder::Lapsed(at) => Sight { fenced: false, at, trusted: true },
            Holder::Alive(lease) => {
                if !told {
                    writer.tell(&Event::AwaitingApply { attempt: entry.attempt(), lease });
                    told = true;
                }
                if wait_a_while(writer).await? {
                    continue;
                }
                return Ok(());
            }
        };
        return settle_attempt(writer, id, sight).await;
    }
}

fn holder(writer: &Writer, entry: &Entry<Value>) -> Holder {
    holder_of(&writer.view(), entry, (writer.tenure.is_alone(), writer.tenure.is_settled()))
}

async fn settle_attempt(writer: &mut Writer, id: ProposalId, sight: Sight) -> Result<(), RuntimeError> {
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
