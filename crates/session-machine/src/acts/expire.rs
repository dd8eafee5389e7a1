//! The time of proposals: what is past it is neither decided nor begun any more, and the model is told.

use std::time::Duration;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Change, Event as QueueEvent, ProposalId};

use crate::acts::chain::Chain;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::resolve::note;
use crate::words::call::Proposal;

/// Notes that these are past their time. A call that waits for a decision is answered by its turn.
pub(crate) fn expire(view: &View<'_>, due: &[ProposalId]) -> Result<Plan, Pause> {
    if due.is_empty() {
        // It is asked in each step, and a chain copies the queue.
        return Ok(Plan::nothing());
    }
    let mut chain = Chain::of(view.state);
    let mut named = Vec::new();
    for id in due {
        chain.push(chain.queue.expire(*id, view.at.0))?;
        if let (None, Some(entry)) = (view.state.resolve.gated_call(*id), chain.queue.get(*id)) {
            named.push(format!("{id} ({})", entry.proposal.label));
        }
    }
    if !named.is_empty() {
        let text = format!(
            "Expired, and not applied, because the time for it is over: {}. Propose it again if it is still wanted.",
            named.join(", ")
        );
        chain.records.extend(view.telling(&text)?);
    }
    Ok(Plan::of(chain.records))
}

/// Notes all that is past its time.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn expire_due(view: &View<'_>) -> Result<Plan, Pause> {
    let due: Vec<ProposalId> = view.state.resolve.queue.due(view.at.0).map(|entry| entry.id).collect();
    expire(view, &due)
}

/// Notes that a proposal is past its time, without a word to the model.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn expire_alone(view: &View<'_>, id: ProposalId) -> Result<Plan, Pause> {
    Ok(Plan::of(vec![note(&view.state.resolve.queue.expire(id, view.at.0)?)]))
}

/// Gives what is staged its time, unless its tool did.
pub(crate) fn limit_time(proposal: &mut Proposal, from: Timestamp, time: Option<Duration>) {
    if let (None, Some(time)) = (proposal.expires_at, time) {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        proposal.expires_at = Some(from.0.saturating_add(time));
    }
}

/// Does the same for what an event stages.
pub(crate) fn limit_time_of(event: &mut QueueEvent<Value>, time: Option<Duration>) {
    let at = Timestamp(event.at);
    if let Change::Staged(proposal) = &mut event.change {
        limit_time(proposal, at, time);
    }
}
