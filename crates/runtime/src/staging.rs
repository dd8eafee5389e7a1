//! How something gets into the queue: what a tool proposes, and a call that needs a decision before it may run.

use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Attempt, Offer, Outcome, ProposalId, Step};
use trunkline_session_store::Record;

use crate::layers::resolve::{self, Approval, Asked, note, prepared};
use crate::proposals::{Chain, refused};
use crate::{CallPlace, Proposal, RuntimeError, Session};

impl Session {
    /// Stages what a call proposed. Returns the records, and what the model is told of each.
    pub(crate) fn stage(
        &self,
        proposals: Vec<Proposal>,
        place: &CallPlace,
        at: Timestamp,
    ) -> Result<(Vec<Record>, impl Iterator<Item = String> + use<>), RuntimeError> {
        let approval = self.settings().setup.resolve;
        let mut chain = Chain::new(self);
        let mut told = Vec::new();
        for proposal in proposals {
            let mut proposal = prepared(&approval, proposal, place);
            self.limit_time(&mut proposal, at);
            let (id, events) = match chain.queue.offer(proposal, at.0).map_err(refused)? {
                Offer::Staged { id, events } => (id, events),
                Offer::NothingToDo { label } => {
                    told.push(format!("Nothing staged: {label} would change nothing."));
                    continue;
                }
            };
            events.into_iter().try_for_each(|event| chain.push(Ok(event)))?;
            let replaced = chain.queue.get(id).map(|entry| entry.proposal.supersedes.clone());
            let replaced = replaced.unwrap_or_default();
            let instead: Vec<String> = replaced.iter().map(ToString::to_string).collect();
            let instead = if instead.is_empty() {
                String::new()
            } else {
                format!(", in place of {}", instead.join(", "))
            };
            told.push(match approval {
                Approval::Model => format!(
                    "Staged as {id}{instead}. Nothing is written yet: call `resolve` with action apply or discard and id \"{id}\"."
                ),
                _ => format!("Staged as {id}{instead}. Nothing is written before it is approved; you will be told."),
            });
        }
        Ok((chain.records, told.into_iter()))
    }

    /// Stages a call that needs a decision.
    pub(crate) async fn stage_gate(&mut self, place: &CallPlace, asked: &Asked) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let (mut event, tie) = resolve::stage_gate(&self.state.resolve, asked, place, at).map_err(refused)?;
        self.limit_time_of(&mut event);
        self.commit(vec![note(&event), tie], None).await
    }

    /// Begins a call that was approved. Its proposal has no fingerprints: what a command needs, nobody can list.
    pub(crate) fn begin_gate(
        &self,
        id: ProposalId,
        at: Timestamp,
    ) -> Result<(Record, Attempt), RuntimeError> {
        match self.state.resolve.queue.begin(id, &[], at.0).map_err(refused)? {
            Step::Apply { attempt, event } => Ok((note(&event), attempt)),
            Step::Stale { .. } => Err(RuntimeError::Refused { reason: format!("{id} cannot be begun") }),
        }
    }

    /// Ends the attempt of an approved call: it ran, whatever its exit code said, or nobody knows.
    pub(crate) fn finish_gate(
        &self,
        attempt: Attempt,
        ran: bool,
        at: Timestamp,
    ) -> Result<Record, RuntimeError> {
        if ran {
            let event = self.state.resolve.queue.finish(attempt, Outcome::Applied, at.0).map_err(refused)?;
            return Ok(note(&event));
        }
        // Not a failure that could be tried again: its call is answered, and nobody knows what it did.
        let reason = "it was cancelled while it ran and did not stop by itself".to_owned();
        let event =
            self.state.resolve.queue.finish(attempt, Outcome::Unknown { reason }, at.0).map_err(refused)?;
        Ok(note(&event))
    }
}
