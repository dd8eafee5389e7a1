//! What people are asked, and what they say. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::decide).

use crate::writer::Writer;
use crate::writer::inbox::arrived;
use serde_json::Value;
use std::time::Duration;
use trunkline_agent_traits::Cancel;
use trunkline_resolve_queue::{Entry, ProposalId, QueueError};
use trunkline_session_machine::acts::asked::Asked;
use trunkline_session_machine::acts::decide;
use trunkline_session_machine::acts::expire::expire_alone;
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::{RuntimeError, Said, Stop};
use trunkline_session_store::InboxId;

/// Brings the rules that the agent keeps outside of sessions into this one. An agent that was given none leaves those
/// of another as they are: that nobody spoke of rules is no reason to loosen any.
pub(crate) async fn adopt_rules(writer: &mut Writer) -> Result<(), RuntimeError> {
    let Some(kept) = writer.settings().rules.clone() else { return Ok(()) };
    writer.perform(|view, _| decide::adopt_rules(view, &kept)).await
}

/// Reads everything if one of these is not in memory: it may have been settled long ago.
pub(crate) async fn load_proposals(writer: &mut Writer, ids: &[ProposalId]) -> Result<(), RuntimeError> {
    match ids.iter().all(|id| writer.state.resolve.queue.get(*id).is_some()) {
        true => Ok(()),
        false => writer.load_whole().await,
    }
}

pub(crate) async fn take_verdict(
    writer: &mut Writer,
    id: ProposalId,
    said: &Said,
    seen: Option<u32>,
    letter: Option<InboxId>,
) -> Result<(), RuntimeError> {
    load_proposals(writer, &[id]).await?;
    let act = |view: &View<'_>, asked: &mut Asked<'_>| decide::decide(view, asked, id, (said, seen), letter);
    writer.perform_for(letter, act).await
}

/// Asks a person about the first of these, unless a letter comes after `seen`. Returns why the drive stops if nothing was
/// decided.
pub(crate) async fn ask_person(
    writer: &mut Writer,
    waiting: Vec<ProposalId>,
    seen: Option<InboxId>,
    cancel: &Cancel,
) -> Result<Option<Stop>, RuntimeError> {
    let entry = waiting.first().and_then(|id| writer.state.resolve.queue.get(*id)).cloned();
    let (Some(decider), Some(entry)) = (writer.settings().decider.clone(), entry) else {
        return Ok(Some(Stop::Waiting(waiting)));
    };
    let decided = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Some(Stop::Cancelled)),
        // Somebody else may decide in another terminal meanwhile; the loop reads the letter.
        arrived = arrived(writer.store.as_ref(), writer.lease.session(), writer.lease.token(), seen) => {
            return arrived.map(|()| None).map_err(|by| writer.lost(by));
        }
        // What nobody may decide any more nobody is asked.
        () = until_past(writer, &entry) => return Ok(None),
        decided = decider.decide(&entry) => decided,
    };
    let Some(said) = decided else {
        writer.perform(|view, _| decide::close_question(view, &entry)).await?;
        return Ok(Some(Stop::Waiting(waiting)));
    };
    match take_verdict(writer, entry.id, &said, Some(entry.put_aside), None).await {
        Ok(()) => Ok(None),
        // They thought too long. It is not theirs to decide any more, and the drive goes on without it.
        Err(RuntimeError::Proposal(QueueError::Expired { id, .. })) => {
            writer.perform(|view, _| expire_alone(view, id)).await.map(|()| None)
        }
        Err(fault) => Err(fault),
    }
}

/// Waits until a proposal is past its time; for ever if it has none.
async fn until_past(writer: &Writer, entry: &Entry<Value>) {
    let Some(end) = entry.proposal.expires_at else { return std::future::pending().await };
    while !entry.is_past(writer.settings().now().0) {
        let left = Duration::from_millis(end.saturating_sub(writer.settings().now().0));
        // A machine that slept has a clock that went on.
        tokio::time::sleep(left.clamp(Duration::from_millis(1), LOOK_AGAIN_AFTER)).await;
    }
}

/// How often it is looked what time it is, while somebody is asked.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);
