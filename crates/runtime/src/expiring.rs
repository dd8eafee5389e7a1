//! The time of proposals: what is past it is neither decided nor begun any more, and the model is told.

use std::time::Duration;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Change, Entry, Event as QueueEvent, ProposalId};

use crate::proposals::Chain;
use crate::{Proposal, RuntimeError, Session};

impl Session {
    /// Gives what is staged its time, unless its tool did.
    pub(crate) fn limit_time(&self, proposal: &mut Proposal, at: Timestamp) {
        if let (None, Some(time)) = (proposal.expires_at, self.settings().expire_after) {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            proposal.expires_at = Some(at.0.saturating_add(time));
        }
    }

    /// Does the same for what an event stages.
    pub(crate) fn limit_time_of(&self, event: &mut QueueEvent<Value>) {
        let at = Timestamp(event.at);
        if let Change::Staged(proposal) = &mut event.change {
            self.limit_time(proposal, at);
        }
    }

    /// Notes what is past its time. A call that waits for a decision is answered by its turn.
    pub(crate) async fn expire_due(&mut self) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let due: Vec<ProposalId> = self.state.resolve.queue.due(at.0).map(|entry| entry.id).collect();
        self.expire(&due, at).await
    }

    /// Notes that these are past their time.
    pub(crate) async fn expire(&mut self, due: &[ProposalId], at: Timestamp) -> Result<(), RuntimeError> {
        if due.is_empty() {
            return Ok(());
        }
        let mut chain = Chain::new(self);
        let mut named = Vec::new();
        for id in due {
            chain.push(chain.queue.expire(*id, at.0))?;
            if let (None, Some(entry)) = (self.state.resolve.gated_call(*id), chain.queue.get(*id)) {
                named.push(format!("{id} ({})", entry.proposal.label));
            }
        }
        if !named.is_empty() {
            let text = format!(
                "Expired, and not applied, because the time for it is over: {}. Propose it again if it is still wanted.",
                named.join(", ")
            );
            chain.records.extend(self.telling(&text)?);
        }
        self.commit(chain.records, None).await
    }

    /// Whether the time of a proposal is over and nobody has noted it.
    pub(crate) fn is_past(&self, id: ProposalId, at: Timestamp) -> bool {
        self.state.resolve.queue.due(at.0).any(|entry| entry.id == id)
    }

    /// Waits until a proposal is past its time; for ever if it has none.
    pub(crate) async fn until_past(&self, entry: &Entry<Value>) {
        let Some(end) = entry.proposal.expires_at else { return std::future::pending().await };
        while !entry.is_past(self.settings().now().0) {
            let left = Duration::from_millis(end.saturating_sub(self.settings().now().0));
            // A machine that slept has a clock that went on.
            tokio::time::sleep(left.clamp(Duration::from_millis(1), LOOK_AGAIN_AFTER)).await;
        }
    }
}

/// How often it is looked what time it is, while somebody is asked.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);
