//! Proposals on their way through the world: compared with the files, applied, looked up after a crash.
//!
//! Every step is recorded before the next one happens. What the model is told of an outcome travels in the same batch
//! as the outcome, so it is told exactly once.

use serde_json::Value;
use trunkline_message_tree::{Part, Timestamp, ToolResult};
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Check, Event as QueueEvent, Fingerprint, Observation, Outcome, ProposalId,
    Queue, QueueError, State as At, Step, Supersession, Verdict,
};
use trunkline_session_store::{InboxId, Record};

use crate::layers::resolve::{self, Work, because, harness, note};
use crate::proposals::{Chain, refused};
use crate::{CallPlace, Cancel, Proposal, RuntimeError, Session, ToolContext, contained};

/// Said wherever a tool crashed, or is not there any more, when the files had to be compared.
const NOBODY_LOOKED: &str = "its tool could not look at the files";

impl Session {
    /// Moves a proposal on that no open turn is about.
    pub(crate) async fn work(&mut self, work: Work) -> Result<(), RuntimeError> {
        match work {
            Work::Apply(id) => self.apply(id, None).await,
            Work::Check(id) => self.check(id).await,
            Work::LookUp(id) => self.look_up(id).await,
            Work::Approve(id) => {
                let policy = Actor::new(ActorKind::Policy, "always");
                let at = self.settings().now();
                match self
                    .state
                    .resolve
                    .queue
                    .decide(id, Verdict::Approve, policy, "", at.0)
                    .map_err(refused)?
                {
                    Answer::New(event) => self.commit(vec![note(&event)], None).await,
                    Answer::Already(_) => Ok(()),
                }
            }
            Work::Drop(id, why) => {
                let mut chain = Chain::new(self);
                let at = self.settings().now();
                chain.push(discarded(&chain.queue, id, &why, at))?;
                let text = format!("{id} was dropped{}. Nothing is left to do for it.", because(&why));
                chain.records.extend(self.telling(&text)?);
                self.commit(chain.records, None).await
            }
            Work::Ask(_) => Ok(()),
        }
    }

    /// Applies an approved proposal, unless the files have changed. The outcome goes into a call's result or a message.
    pub(crate) async fn apply(
        &mut self,
        id: ProposalId,
        call: Option<&CallPlace>,
    ) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
        let proposal = entry.proposal.clone();
        let by_person = entry.decision.as_ref().is_some_and(|decision| decision.by.kind == ActorKind::Person);
        let Some(tool) = self.executor_of(&proposal) else {
            return Err(RuntimeError::NoExecutor { proposal: id.to_string(), tool: proposal.source_tool });
        };
        let at = self.settings().now();
        let observed = self.look(&proposal).await;
        let seen = observed.as_deref().unwrap_or_default();
        let attempt = match self.state.resolve.queue.begin(id, seen, at.0).map_err(refused)? {
            Step::Stale { event, differing } => {
                let mut chain = Chain::new(self);
                chain.push(Ok(event))?;
                let changed: Vec<&str> = differing.iter().map(|one| one.subject.as_str()).collect();
                let (why, cause) = match observed {
                    Some(_) => {
                        let changed = format!("{} changed after the preview", changed.join(", "));
                        ("the files changed after the preview", changed)
                    }
                    None => (NOBODY_LOOKED, NOBODY_LOOKED.to_owned()),
                };
                chain.push(discarded(&chain.queue, id, why, at))?;
                let text =
                    format!("{id} was not applied and is dropped: {cause}. Look again and propose anew.");
                return self.report(chain.records, call, text, true).await;
            }
            Step::Apply { attempt, event } => {
                self.commit(vec![note(&event)], None).await?;
                attempt
            }
        };
        // An apply that has begun is brought to its end: half of it would be worse than too much.
        let place = call.cloned().unwrap_or_else(|| resolve::place_of(&proposal));
        let context = ToolContext::new(Cancel::new(), place);
        let Some(entry) = self.state.resolve.queue.get(id).cloned() else { return Ok(()) };
        let (outcome, output) = contained::apply(tool.as_ref(), &entry, &context).await;
        let at = self.settings().now();
        let words = ToolResult { call_id: String::new(), content: output.content, is_error: false }.text();
        let (text, is_error) = match &outcome {
            Outcome::Applied if by_person => {
                (format!("A person approved {id}, and it was applied. {words}"), false)
            }
            Outcome::Applied => (format!("Applied {id}. {words}"), false),
            Outcome::Failed { reason } => (
                format!("{id} could not be applied: {reason}. It is kept: apply it again or discard it."),
                true,
            ),
            Outcome::Unknown { reason } => {
                (format!("It is not known whether {id} was applied: {reason}."), true)
            }
        };
        let event = self.state.resolve.queue.finish(attempt, outcome, at.0).map_err(refused)?;
        self.report(vec![note(&event)], call, text, is_error).await
    }

    /// Records an outcome together with what the model is told of it.
    async fn report(
        &mut self,
        mut records: Vec<Record>,
        call: Option<&CallPlace>,
        text: String,
        is_error: bool,
    ) -> Result<(), RuntimeError> {
        match call {
            Some(place) => {
                let result =
                    ToolResult { call_id: place.id.clone(), content: vec![Part::text(text)], is_error };
                self.finish_with(records, place, result).await
            }
            None => {
                records.extend(self.telling(&text)?);
                self.commit(records, None).await
            }
        }
    }

    /// Looks how everything that a proposal is about is now; `None` if there is no such tool, or it crashed.
    async fn look(&self, proposal: &Proposal) -> Option<Vec<Fingerprint>> {
        let tool = self.executor_of(proposal)?;
        contained::observe(tool.as_ref(), proposal).await
    }

    /// Looks whether a stale proposal fits the files again; if not, it is dropped.
    async fn check(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
        let proposal = entry.proposal.clone();
        let gated = self.state.resolve.gated_call(id).is_some();
        let observed = self.look(&proposal).await;
        let seen = observed.as_deref().unwrap_or_default();
        let at = self.settings().now();
        let mut chain = Chain::new(self);
        if !gated && let Ok(Check::Returns(event)) = chain.queue.check(id, seen, at.0) {
            return self.commit(vec![note(&event)], None).await;
        }
        let why = if observed.is_some() { "it no longer fits the files" } else { NOBODY_LOOKED };
        chain.push(discarded(&chain.queue, id, why, at))?;
        if !gated {
            let text = format!("{id} ({}) was dropped: {why}.", proposal.label);
            chain.records.extend(self.telling(&text)?);
        }
        self.commit(chain.records, None).await
    }

    /// Puts aside for good whatever waits or could come back: neither its preview nor its approval was made here.
    pub(crate) async fn take_distrust(&mut self, letter: InboxId) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let mut chain = Chain::new(self);
        let waiting: Vec<(ProposalId, At)> =
            chain.queue.unsettled().map(|entry| (entry.id, entry.state)).collect();
        let mut dropped = Vec::new();
        for (id, state) in waiting {
            if state == At::Unknown {
                // Looked up in the files it could only be offered again.
                chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
            }
            let cause = Supersession::BranchLeft { by: resolve::IMPORT.to_owned() };
            // What was in flight has been looked up in the files before, and comes here as something else.
            if let Ok(event) = chain.queue.supersede(id, cause, at.0) {
                chain.push(Ok(event))?;
                dropped.push(id.to_string());
            }
        }
        if !dropped.is_empty() {
            let text = format!(
                "This session was brought here from elsewhere. What waited there is dropped: {}. Propose it again if it is \
                 still wanted.",
                dropped.join(", ")
            );
            chain.records.extend(self.telling(&text)?);
        }
        chain.records.push(resolve::distrusted(letter, at));
        self.commit(chain.records, Some(letter)).await
    }

    /// Settles what a dead process left in the middle of an apply.
    pub(crate) async fn recover(&mut self) -> Result<(), RuntimeError> {
        let interrupted: Vec<ProposalId> =
            self.state.resolve.queue.interrupted().map(|entry| entry.id).collect();
        for id in interrupted {
            self.look_up(id).await?;
        }
        Ok(())
    }

    /// Finds out from the files what became of an attempt that did not say.
    async fn look_up(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
        let entry = entry.clone();
        let proposal = entry.proposal.clone();
        let gated = self.state.resolve.gated_call(id).is_some();
        let cut_off = entry.state == At::Applying;
        let observed = if gated { None } else { self.look(&proposal).await };
        let observation = observed.as_ref().map_or(Observation::Unclear, |observed| entry.observe(observed));
        let at = self.settings().now();
        let mut chain = Chain::new(self);
        chain.push(chain.queue.recover(id, observation, harness(), at.0))?;
        let is = |chain: &Chain, state| chain.queue.get(id).is_some_and(|entry| entry.state == state);
        if is(&chain, At::Unknown) {
            // Nobody can find out more: it must not be done again, and the model has to know.
            chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
        }
        if is(&chain, At::Applied) {
            let when = if cut_off { "before the program ended" } else { "after all" };
            let text = format!("{id} ({}) was applied {when}.", proposal.label);
            chain.records.extend(self.telling(&text)?);
        } else if is(&chain, At::Stale) {
            chain.push(discarded(&chain.queue, id, "its outcome is unknown", at))?;
            if !gated {
                let found = match observed {
                    Some(_) => "the files are neither as before nor as after",
                    None => NOBODY_LOOKED,
                };
                let text = format!(
                    "{id} ({}) was cut off while it was applied, and {found}. It is dropped; look at the files before \
                     you go on.",
                    proposal.label
                );
                chain.records.extend(self.telling(&text)?);
            }
        }
        self.commit(chain.records, None).await
    }
}
fn discarded(
    queue: &Queue<Value>,
    id: ProposalId,
    why: &str,
    at: Timestamp,
) -> Result<QueueEvent<Value>, QueueError> {
    match queue.decide(id, Verdict::Discard, harness(), why, at.0)? {
        Answer::New(event) => Ok(event),
        // Discarding is the end, and what is at its end is not asked to end again.
        Answer::Already(_) => Err(QueueError::NothingPending),
    }
}
