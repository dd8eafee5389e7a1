//! Proposals on their way through the world: compared with the files, and applied.
//!
//! Every step is recorded before the next one happens: what will be written over is kept and the attempt is announced in one
//! batch before the first byte. What the model is told of an outcome travels in the same batch as the outcome, so it is told
//! exactly once.

use std::pin::pin;
use std::sync::Arc;

use serde_json::Value;
use trunkline_message_tree::{Part, Timestamp, ToolResult};
use trunkline_resolve_queue::{
    ActorKind, Answer, Attempt, Check, Difference, Entry, Event as QueueEvent, Fingerprint, Outcome,
    ProposalId, Queue, QueueError, Start, Step, Supersession, Verdict, discard_text,
};
use trunkline_session_store::Record;

use crate::layers::resolve::kept::{self, MOST_KEPT};
use crate::layers::resolve::{self, Work, because, harness, note};
use crate::proposals::{Chain, refused};
use crate::recovering::LEFT_MEANWHILE;
use crate::tenure::{LEASE_MS, RENEWAL_TIME, TICK};
use crate::{
    CallPlace, Cancel, Kept, Proposal, RuntimeError, Session, Tool, ToolContext, ToolOutput, contained,
};

/// Said wherever a tool crashed, or is not there any more, when the files had to be compared.
pub(crate) const NOBODY_LOOKED: &str = "its tool could not look at the files";

/// What came of looking at the world before an apply.
enum Prepared {
    /// The attempt can begin: what to record before its first byte.
    Begin(Attempt, Vec<Record>),
    /// The world has changed.
    Stale(QueueEvent<Value>, Vec<Difference>, bool),
    /// Its time is over.
    Expired,
    /// What it would write over could not be read.
    Unread(String),
}

impl Session {
    /// Moves a proposal on that no open turn is about.
    pub(crate) async fn work(&mut self, work: Work) -> Result<(), RuntimeError> {
        // One time for all of it: what is in time now can be decided, however long that takes.
        let at = self.settings().now();
        match work {
            Work::Approve(id) | Work::Drop(id, _) if self.is_past(id, at) => self.expire(&[id], at).await,
            Work::Apply(id) => self.apply(id, None).await,
            Work::Check(id) => self.check(id).await,
            Work::LookUp(id) => self.look_up(id).await,
            Work::Approve(id) | Work::Forbid(id) => self.decide_ahead(id).await,
            Work::Drop(id, why) => {
                let mut chain = Chain::new(self);
                chain.push(discarded(&chain.queue, id, &why, at))?;
                let text = format!("{id} was dropped{}. Nothing is left to do for it.", because(&why));
                chain.records.extend(self.telling(&text)?);
                self.commit(chain.records, None).await
            }
            Work::Ask(_) => Ok(()),
        }
    }

    /// Applies an approved proposal, unless the files have changed. The outcome goes into a call's result or a message.
    ///
    /// The signal of the present drive is the tool's too: it writes nothing then, or all of it.
    pub(crate) async fn apply(
        &mut self,
        id: ProposalId,
        call: Option<&CallPlace>,
    ) -> Result<(), RuntimeError> {
        let Some(entry) = self.state.resolve.queue.get(id).cloned() else { return Ok(()) };
        if resolve::is_left(&self.state.tree, &entry.proposal) {
            return self.drop_left(id, call).await;
        }
        let Some(tool) = self.executor_of(&entry.proposal) else {
            return self.fail_without_tool(&entry, call).await;
        };
        let attempt = match self.prepare(&entry, tool.as_ref()).await? {
            Prepared::Begin(attempt, records) => {
                self.commit(records, None).await?;
                attempt
            }
            Prepared::Stale(event, differing, looked) => {
                return self.drop_stale(event, &differing, looked, call).await;
            }
            Prepared::Expired => {
                let at = self.settings().now();
                let event = self.state.resolve.queue.expire(id, at.0).map_err(refused)?;
                let text = format!("{id} was not applied: its time is over. Propose it anew.");
                return self.report(vec![note(&event)], call, text, true).await;
            }
            Prepared::Unread(reason) => return self.fail_unbegun(&entry, &reason, call).await,
        };
        let Some(entry) = self.state.resolve.queue.get(id).cloned() else { return Ok(()) };
        let place = call.cloned().unwrap_or_else(|| resolve::place_of(&entry.proposal));
        let context = self.context(Cancel::new(), place);
        let (outcome, output) = self.carry_out(&tool, &entry, attempt, &context).await?;
        let (attempt, outcome) = match outcome {
            Outcome::Applied => (attempt, outcome),
            _ => self.clear_up(&entry, tool.as_ref(), outcome).await?,
        };
        let words = ToolResult { call_id: String::new(), content: output.content, is_error: false }.text();
        let is_error = outcome != Outcome::Applied;
        let text = match &outcome {
            Outcome::Applied => applied(&entry, &words),
            Outcome::Failed { reason } => not_applied(id, reason),
            Outcome::Unknown { reason } => format!("It is not known whether {id} was applied: {reason}."),
        };
        let at = self.settings().now();
        let event = self.state.resolve.queue.finish(attempt, outcome, at.0).map_err(refused)?;
        self.report(vec![note(&event)], call, text, is_error).await
    }

    /// Fails a proposal of which nothing was begun. It counts as a try, so that there is an end to them.
    async fn fail_unbegun(
        &mut self,
        entry: &Entry<Value>,
        reason: &str,
        call: Option<&CallPlace>,
    ) -> Result<(), RuntimeError> {
        let (id, at) = (entry.id, self.settings().now());
        let mut chain = Chain::new(self);
        let start = Start::leased(self.writer(), at.0.saturating_add(LEASE_MS));
        let seen = entry.compared();
        // Both in one batch: whoever finds the first alone would look what became of it.
        let Step::Apply { attempt, event } =
            chain.queue.begin_with(id, &seen, start, at.0).map_err(refused)?
        else {
            return Err(RuntimeError::Refused { reason: format!("{id} cannot be begun") });
        };
        chain.push(Ok(event))?;
        chain.push(chain.queue.finish(attempt, Outcome::Failed { reason: reason.to_owned() }, at.0))?;
        self.report(chain.records, call, not_applied(id, reason), true).await
    }

    /// Fails what nobody here can apply, and says so once: an approval that every drive tripped over would be the end of
    /// the session. It waits for a decision again, with whoever has the tool or discards it.
    async fn fail_without_tool(
        &mut self,
        entry: &Entry<Value>,
        call: Option<&CallPlace>,
    ) -> Result<(), RuntimeError> {
        let (id, source) = (entry.id, &entry.proposal.source_tool);
        let at = self.settings().now();
        if self.is_past(id, at) {
            return self.expire(&[id], at).await;
        }
        let reason = format!("its tool {:?} is not here", on_one_line(source));
        self.fail_unbegun(entry, &reason, call).await?;
        match call {
            Some(_) => Ok(()),
            None => Err(RuntimeError::NoExecutor { proposal: id.to_string(), tool: source.clone() }),
        }
    }

    /// Puts aside what was approved on a branch that was left: whoever approved it meant it there.
    async fn drop_left(&mut self, id: ProposalId, call: Option<&CallPlace>) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let cause = Supersession::BranchLeft { by: LEFT_MEANWHILE.to_owned() };
        let event = self.state.resolve.queue.supersede(id, cause, at.0).map_err(refused)?;
        match call {
            Some(_) => {
                let text = format!("{id} was not applied: its branch was left. Look again and propose anew.");
                self.report(vec![note(&event)], call, text, true).await
            }
            None => self.commit(vec![note(&event)], None).await,
        }
    }

    /// Reads what an apply will write over and then, as late as possible, compares everything.
    async fn prepare(&self, entry: &Entry<Value>, tool: &dyn Tool) -> Result<Prepared, RuntimeError> {
        let mut again = true;
        loop {
            let Some(kept) = contained::keep(tool, entry).await else {
                let reason = "its tool crashed when it read what it would write over";
                return Ok(Prepared::Unread(reason.to_owned()));
            };
            let kept = if size(&kept) > MOST_KEPT { Vec::new() } else { kept };
            let observed = contained::observe(tool, &entry.proposal).await;
            let seen = observed.as_deref().unwrap_or_default();
            let at = self.settings().now();
            let prints = kept.iter().map(|kept| kept.fingerprint.clone()).collect();
            let start = Start::leased(self.writer(), at.0.saturating_add(LEASE_MS)).keeping(prints);
            match self.state.resolve.queue.begin_with(entry.id, seen, start, at.0) {
                Ok(Step::Apply { attempt, event }) => {
                    let mut records = kept::records(attempt, kept, at);
                    records.push(note(&event));
                    return Ok(Prepared::Begin(attempt, records));
                }
                Ok(Step::Stale { event, differing }) => {
                    return Ok(Prepared::Stale(event, differing, observed.is_some()));
                }
                Err(QueueError::Expired { .. }) => return Ok(Prepared::Expired),
                // Somebody wrote between the two looks; or the tool never tells the same of the same.
                Err(QueueError::WrongPreimage { .. }) if again => again = false,
                Err(QueueError::WrongPreimage { subject, .. }) => {
                    let subject = on_one_line(&subject);
                    return Ok(Prepared::Unread(format!("{subject} changed while it was read")));
                }
                Err(fault) => return Err(refused(fault)),
            }
        }
    }

    /// Puts aside for good what the world has moved away from.
    async fn drop_stale(
        &mut self,
        event: QueueEvent<Value>,
        differing: &[Difference],
        looked: bool,
        call: Option<&CallPlace>,
    ) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let id = event.proposal;
        let mut chain = Chain::new(self);
        chain.push(Ok(event))?;
        let (why, cause) = if looked {
            let changed: Vec<String> = differing.iter().map(|one| on_one_line(&one.subject)).collect();
            (
                "the files changed after the preview",
                format!("{} changed after the preview", changed.join(", ")),
            )
        } else {
            (NOBODY_LOOKED, NOBODY_LOOKED.to_owned())
        };
        if self.is_past(id, at) {
            chain.push(chain.queue.expire(id, at.0))?;
        } else {
            chain.push(discarded(&chain.queue, id, why, at))?;
        }
        let text = format!("{id} was not applied and is dropped: {cause}. Look again and propose anew.");
        self.report(chain.records, call, text, true).await
    }

    /// Lets the tool work, and keeps the lease alive meanwhile. When the drive is cancelled, or the session is taken over, the
    /// tool is told so; it is waited for in any case, because half of it would be worse than too much.
    async fn carry_out(
        &mut self,
        tool: &Arc<dyn Tool>,
        entry: &Entry<Value>,
        attempt: Attempt,
        context: &ToolContext,
    ) -> Result<(Outcome, ToolOutput), RuntimeError> {
        let cancel = self.signal();
        // A drive that is dropped takes the future of the tool along, but not the threads that it works with.
        let mut forsaken = Forsaken(Some(context.cancel.clone()));
        let mut watched = pin!(self.asked_to_end());
        let mut applied = pin!(contained::apply(tool.as_ref(), entry, context));
        let (mut watching, mut behind, mut lost) = (true, false, None);
        let done = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !context.cancel.is_cancelled() => context.cancel.cancel(),
                asked = &mut watched, if watching => {
                    watching = false;
                    match asked {
                        Ok(()) => cancel.cancel(),
                        Err(by) => lost = Some(self.lost(by)),
                    }
                }
                done = &mut applied => break done,
                () = tokio::time::sleep(TICK) => {
                    let renewed = tokio::time::timeout(RENEWAL_TIME, self.renew(attempt)).await;
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
        match lost {
            // Whoever has the session now finds out what became of it.
            Some(fault) => Err(fault),
            None if behind => self.catch_up().await.map(|()| done),
            None => Ok(done),
        }
    }

    /// Gives the attempt at hand more time, once a third of what it had is over.
    async fn renew(&mut self, attempt: Attempt) -> Result<(), RuntimeError> {
        let lease = self.state.resolve.queue.get(attempt.proposal).and_then(|entry| entry.lease.clone());
        let at = self.settings().now();
        if lease.is_none_or(|lease| lease.until.saturating_sub(at.0) > LEASE_MS / 3 * 2) {
            return Ok(());
        }
        // After a write that failed nobody knows what was kept, and the next one has to know.
        self.catch_up().await?;
        let until = at.0.saturating_add(LEASE_MS);
        match self.state.resolve.queue.renew(attempt, until, at.0) {
            Ok(event) => self.commit(vec![note(&event)], None).await,
            // A clock that went back: what was promised is longer already.
            Err(_) => Ok(()),
        }
    }

    /// What the session's writer is called in a lease.
    pub(crate) fn writer(&self) -> String {
        format!("writer {}", self.lease.token())
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
    pub(crate) async fn look(&self, proposal: &Proposal) -> Option<Vec<Fingerprint>> {
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
        if self.is_past(id, at) {
            return self.expire(&[id], at).await;
        }
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

    /// Returns what the model is told of a discard: its tool's own words, if it has any. `queue` holds the decision.
    ///
    /// The words travel with the decision, so the tool hears of it right before it is recorded; after a crash in between
    /// it hears of it again.
    pub(crate) async fn discard_words(&self, queue: &Queue<Value>, id: ProposalId) -> String {
        let Some(entry) = queue.get(id) else { return String::new() };
        let proposal = &entry.proposal;
        let reason = entry.decision.as_ref().map(|decision| decision.reason.as_str()).unwrap_or_default();
        let words = match self.executor_of(proposal) {
            Some(tool) => contained::discarded(tool.as_ref(), entry).await,
            None => None,
        };
        words.unwrap_or_else(|| discard_text(&proposal.label, reason))
    }
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

/// How many subjects of a part are named, and how much of each, in characters.
const NAMES: usize = 20;
const NAME: usize = 200;

fn size(kept: &[Kept]) -> usize {
    kept.iter().filter_map(|kept| kept.bytes.as_ref()).map(Vec::len).sum()
}

fn applied(entry: &Entry<Value>, words: &str) -> String {
    let id = entry.id;
    let by_person = entry.decision.as_ref().is_some_and(|decision| decision.by.kind == ActorKind::Person);
    let takes_back = match entry.proposal.undo_of {
        Some(undone) => format!(" What {undone} had done is taken back by it."),
        None => String::new(),
    };
    let told = match by_person {
        true => format!("A person approved {id}, and it was applied.{takes_back} {words}"),
        false => format!("Applied {id}.{takes_back} {words}"),
    };
    if entry.left_out.is_empty() {
        return told;
    }
    // The label, and so the words of the tool, speak of the whole.
    let left = named(entry.left_out.iter().map(String::as_str));
    format!(
        "{told} But only a part of it: written is {}; left out, and not written, is {left}.",
        named(entry.part())
    )
}

/// Names some subjects, in one line.
pub(crate) fn named<'a>(subjects: impl Iterator<Item = &'a str>) -> String {
    let plain = |subject: &str| subject.chars().filter(|c| !c.is_control()).take(NAME).collect::<String>();
    let mut names: Vec<String> = subjects.take(NAMES + 1).map(plain).collect();
    if names.len() > NAMES {
        names.truncate(NAMES);
        names.push("and more".to_owned());
    }
    names.join(", ")
}

fn not_applied(id: ProposalId, reason: &str) -> String {
    format!("{id} could not be applied: {reason}. It is kept: apply it again or discard it.")
}

/// Returns a name that a model or a tool chose, for a line of words of the harness.
pub(crate) fn on_one_line(name: &str) -> String {
    const MOST: usize = 200;
    let line: String = name.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().nth(MOST).is_some() { format!("{line}…") } else { line }
}

pub(crate) fn discarded(
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
