//! What is decided on proposals: by a person who is asked, by one who was not, and by rules that are kept.

use trunkline_agent_traits::Cancel;
use trunkline_resolve_queue::{ProposalId, QueueError};
use trunkline_session_machine::acts::decide;
use trunkline_session_machine::acts::expire::expire_alone;
use trunkline_session_machine::{RuntimeError, Said, Stop};
use trunkline_session_store::InboxId;

use crate::driver::discard_hook::{open_hooks, tell_tools};
use crate::effects::ask_person::{Answered, ask_person};
use crate::writer::Writer;

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
    writer.perform_for(letter, |view, asked| decide::decide(view, asked, id, (said, seen), letter)).await
}

/// Decides on several proposals, or on all that wait. Returns what became of each.
pub(crate) async fn decide_all(
    writer: &mut Writer,
    ids: Option<&[ProposalId]>,
    said: &Said,
) -> Result<decide::Decided, RuntimeError> {
    let waits = writer.state.resolve.queue.iter().filter(|entry| entry.awaits_decision());
    let ids = ids.map_or_else(|| waits.map(|entry| entry.id).collect(), <[ProposalId]>::to_vec);
    load_proposals(writer, &ids).await?;
    let before = open_hooks(writer);
    let decided = writer.perform(|view, asked| decide::decide_each(view, asked, &ids, (said, None))).await?;
    // What was decided is recorded, whatever becomes of this; the next drive does what is left of it.
    let _ = tell_tools(writer, &before).await;
    Ok(decided)
}

/// Asks a person about the first of these, unless a letter comes after `seen`. Returns why the drive stops if nothing was
/// decided.
pub(crate) async fn ask(
    writer: &mut Writer,
    waiting: Vec<ProposalId>,
    seen: Option<InboxId>,
    cancel: &Cancel,
) -> Result<Option<Stop>, RuntimeError> {
    let entry = waiting.first().and_then(|id| writer.state.resolve.queue.get(*id)).cloned();
    let (Some(decider), Some(entry)) = (writer.settings().decider.clone(), entry) else {
        return Ok(Some(Stop::Waiting(waiting)));
    };
    let said = match ask_person(writer, decider.as_ref(), &entry, seen, cancel).await? {
        Answered::Said(said) => said,
        Answered::Overtaken => return Ok(None),
        Answered::Cancelled => return Ok(Some(Stop::Cancelled)),
        Answered::Later => {
            writer.perform(|view, _| decide::close_question(view, &entry)).await?;
            return Ok(Some(Stop::Waiting(waiting)));
        }
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
