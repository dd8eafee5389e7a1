//! Proposals on their way through the world: staged, decided, compared with the files, applied, looked up after a crash.
//!
//! Every step is recorded before the next one happens. What the model is told of an outcome travels in the same batch
//! as the outcome, so it is told exactly once.

use async_trait::async_trait;
use serde_json::Value;
use trunkline_message_tree::{Message, Part, Timestamp, ToolResult};
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Attempt, Check, Entry, Event as QueueEvent, Fingerprint, Observation, Outcome,
    ProposalId, Queue, QueueError, State as At, Step, Supersession, Verdict, discard_text, observe,
    resolve_tool,
};
use trunkline_session_store::{InboxId, Letter, Record};

use crate::calls::finished;
use crate::layers::resolve::{self, Approval, Asked, Work, because, harness, note, prepared};
use crate::session::entries;
use crate::{
    CallPlace, Cancel, Proposal, RuntimeError, Session, Stop, ToolContext, contained, journal, letters,
};

/// Said wherever a tool crashed, or is not there any more, when the files had to be compared.
const NOBODY_LOOKED: &str = "its tool could not look at the files";

/// Returns the letter that voids everything that waits or was approved, as
/// [`Request::Distrust`](crate::letters::Request::Distrust) posts it: an import carries it in with the session, so that
/// nobody can open that before.
pub fn distrust(at: Timestamp) -> Letter {
    Letter { id: InboxId(1), at, kind: letters::DISTRUST.to_owned(), body: "{}".to_owned() }
}

/// Asks a person.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Returns what the person wants, with a reason that may be empty; `None` to decide later.
    ///
    /// Dropped when somebody else decides first, or the turn is cancelled.
    async fn decide(&self, proposal: &Entry<Value>) -> Option<(Verdict, String)>;
}

/// Events that follow each other, made before any of them is recorded.
struct Chain {
    queue: Queue<Value>,
    records: Vec<Record>,
}

impl Chain {
    fn new(session: &Session) -> Self {
        Chain { queue: session.state.resolve.queue.clone(), records: Vec::new() }
    }

    fn push(&mut self, event: Result<QueueEvent<Value>, QueueError>) -> Result<(), RuntimeError> {
        let event = event.map_err(refused)?;
        self.records.push(note(&event));
        self.queue.record(event).map_err(refused)?;
        Ok(())
    }
}

fn refused(fault: QueueError) -> RuntimeError {
    RuntimeError::Refused { reason: fault.to_string() }
}

impl Session {
    /// Decides on a proposal as a person. What it leads to happens in the next drive.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such proposal, or it was decided otherwise, or it cannot be decided now;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn decide(
        &mut self,
        id: ProposalId,
        verdict: Verdict,
        reason: &str,
    ) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.take_verdict(id, verdict, reason, None).await
    }

    pub(crate) async fn take_verdict(
        &mut self,
        id: ProposalId,
        verdict: Verdict,
        reason: &str,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        let gated = self.state.resolve.gated_call(id).is_some();
        if verdict == Verdict::Discard && !gated && self.state.open_turn().is_some() {
            // The model is told of a declined edit by a message, and there is no place for one yet.
            return match letter {
                Some(_) => Ok(()),
                None => Err(RuntimeError::Refused {
                    reason: format!("{id} can be discarded when the turn is over"),
                }),
            };
        }
        let at = self.settings().now();
        let person = Actor::new(ActorKind::Person, "");
        let answer = self.state.resolve.queue.decide(id, verdict, person, reason, at.0).map_err(refused)?;
        let mut records = Vec::new();
        if let Answer::New(event) = answer {
            records.push(note(&event));
            if verdict == Verdict::Discard && !gated {
                let label = self.label(id);
                let text = format!("A person declined {id}. {}", discard_text(&label, reason));
                records.extend(self.telling(&text)?);
            }
        } else if let Some(letter) = letter {
            records.push(journal::letter_taken(letter, letters::VERDICT, at));
        }
        self.commit(records, letter).await
    }

    fn label(&self, id: ProposalId) -> String {
        self.state.resolve.queue.get(id).map(|entry| entry.proposal.label.clone()).unwrap_or_default()
    }

    /// Returns the records of a harness message, if there is a place for one.
    fn telling(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        if self.state.open_turn().is_some() {
            return Ok(Vec::new());
        }
        let mut draft = self.state.tree.draft();
        draft.append(Message::harness(text), self.settings().now())?;
        Ok(entries(draft))
    }

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
            let replaced = chain.queue.overlapping(&proposal);
            proposal.supersedes.clone_from(&replaced);
            let event = chain.queue.stage(proposal, at.0).map_err(refused)?;
            let id = event.proposal;
            chain.push(Ok(event))?;
            for older in &replaced {
                let event = chain.queue.supersede(*older, Supersession::Replaced { by: id }, at.0);
                chain.push(event)?;
            }
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
        let (event, tie) = resolve::stage_gate(&self.state.resolve, asked, place, at).map_err(refused)?;
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

    /// Carries out a model's own decision.
    pub(crate) async fn resolve_call(
        &mut self,
        place: &CallPlace,
        arguments: &str,
    ) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let queue = &self.state.resolve.queue;
        let asked = match resolve_tool::parse_arguments(arguments) {
            Ok(asked) => asked,
            Err(fault) => return self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
        };
        let id = match asked.id.map_or_else(|| queue.default_target(), Ok) {
            Ok(id) => id,
            Err(fault) => return self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
        };
        let verdict = Verdict::from(asked.action);
        let model = Actor::new(ActorKind::Model, "");
        match queue.decide(id, verdict, model, asked.reason.clone(), at.0) {
            Err(fault) => return self.answer_calls(vec![(place.clone(), fault.to_string())]).await,
            Ok(Answer::Already(_)) => {}
            Ok(Answer::New(event)) if verdict == Verdict::Approve => {
                self.commit(vec![note(&event)], None).await?
            }
            Ok(Answer::New(event)) => {
                let text = discard_text(&self.label(id), &asked.reason);
                let result = ToolResult {
                    call_id: place.id.clone(),
                    content: vec![Part::text(text)],
                    is_error: false,
                };
                return self.finish_with(vec![note(&event)], place, result).await;
            }
        }
        match self.state.resolve.queue.get(id).map(|entry| entry.state) {
            Some(At::Approved) => self.apply(id, Some(place)).await,
            Some(state) => {
                // Decided the same way before: a repeated call, or one that a kill cut off after the apply.
                let text = format!("{id} is {state}: {}", self.label(id));
                let is_error = !matches!(state, At::Applied | At::Discarded);
                let result =
                    ToolResult { call_id: place.id.clone(), content: vec![Part::text(text)], is_error };
                self.finish_with(Vec::new(), place, result).await
            }
            None => self.answer_calls(vec![(place.clone(), format!("there is no {id}"))]).await,
        }
    }

    async fn finish_with(
        &mut self,
        mut records: Vec<Record>,
        place: &CallPlace,
        result: ToolResult,
    ) -> Result<(), RuntimeError> {
        records.push(finished(place, &result, true, self.settings().now()));
        self.commit(records, None).await?;
        let event = crate::Event::CallFinished { call: place.clone(), result, elapsed: None };
        self.settings().tell(&event);
        Ok(())
    }

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
    async fn apply(&mut self, id: ProposalId, call: Option<&CallPlace>) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id) else { return Ok(()) };
        let proposal = entry.proposal.clone();
        let by_person = entry.decision.as_ref().is_some_and(|decision| decision.by.kind == ActorKind::Person);
        let Some(tool) = self.settings().setup.catalogue.tool(&proposal.source_tool).cloned() else {
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
        let (outcome, output) = contained::apply(tool.as_ref(), &proposal, &context).await;
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
        let tool = self.settings().setup.catalogue.tool(&proposal.source_tool)?;
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

    /// Asks a person about the first of these, unless a letter comes after `seen`. Returns why the drive stops if nothing was
    /// decided.
    pub(crate) async fn ask_person(
        &mut self,
        waiting: Vec<ProposalId>,
        seen: Option<InboxId>,
        cancel: &Cancel,
    ) -> Result<Option<Stop>, RuntimeError> {
        let entry = waiting.first().and_then(|id| self.state.resolve.queue.get(*id)).cloned();
        let (Some(decider), Some(entry)) = (self.settings().decider.clone(), entry) else {
            return Ok(Some(Stop::Waiting(waiting)));
        };
        let decided = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Some(Stop::Cancelled)),
            // Somebody else may decide in another terminal meanwhile; the loop reads the letter.
            arrived = letters::arrived(self.store.as_ref(), self.lease.session(), self.lease.token(), seen) => {
                return arrived.map(|()| None).map_err(|by| self.lost(by));
            }
            decided = decider.decide(&entry) => decided,
        };
        let Some((verdict, reason)) = decided else { return Ok(Some(Stop::Waiting(waiting))) };
        match self.take_verdict(entry.id, verdict, &reason, None).await {
            Ok(()) => Ok(None),
            // It was decided elsewhere in the same moment; what stands is read again.
            Err(RuntimeError::Refused { .. }) if self.is_decided(entry.id) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn is_decided(&self, id: ProposalId) -> bool {
        self.state.resolve.queue.get(id).is_some_and(|entry| entry.decision.is_some())
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
        let proposal = entry.proposal.clone();
        let gated = self.state.resolve.gated_call(id).is_some();
        let cut_off = entry.state == At::Applying;
        let observed = if gated { None } else { self.look(&proposal).await };
        let observation =
            observed.as_ref().map_or(Observation::Unclear, |observed| observe(&proposal, observed));
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
