//! Proposals on their way through the world: compared with the files, and applied.
//!
//! Every step is recorded before the next one happens: what will be written over is kept and the attempt is announced in one
//! batch before the first byte. What the model is told of an outcome travels in the same batch as the outcome, so it is told
//! exactly once.

use std::sync::Arc;

use serde_json::Value;
use trunkline_resolve_queue::{
    ActorKind, Aftermath, Attempt, Check, Difference, Entry, Event as QueueEvent, Outcome, ProposalId,
    QueueError, Start, Step, Supersession,
};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::chain::{Chain, discarded};
use crate::acts::named::{named, on_one_line};
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::recover::{LEFT_MEANWHILE, NOBODY_LOOKED, disturbed, half_done, put_back, take_over};
use crate::acts::view::View;
use crate::notes::plan::ASKED_FOR;
use crate::notes::resolve::note;
use crate::notes::{preimage, record};
use crate::rules::plans;
use crate::rules::staged::{because, is_left};
use crate::words::call::{CallPlace, Kept};
use crate::words::error::RuntimeError;
use crate::words::lease::LEASE_MS;

/// How much of what an apply writes over is kept, in bytes. Of more nothing is kept, so that apply can neither be taken back
/// nor be put back after a crash; a log holds every byte for ever.
const MOST_KEPT: usize = 64 * 1024 * 1024;

/// What became of an apply that was to begin.
pub enum Begun {
    /// It has: the tool writes now.
    Attempt(Attempt),
    /// It has not, and that is recorded.
    Not,
    /// Likewise, and who drives has to know why.
    Failed(RuntimeError),
}

/// How a tool has ended an attempt.
pub struct Ended {
    /// Which attempt it was.
    pub attempt: Attempt,
    /// What its tool says.
    pub outcome: Outcome,
    /// What it said to that.
    pub words: String,
}

/// Begins to apply an approved proposal, unless the files have changed. What comes of that goes into a call's result, or a
/// message.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    id: ProposalId,
    call: Option<&CallPlace>,
) -> Result<Plan<Begun>, Pause> {
    let queue = &view.state.resolve.queue;
    let Some(entry) = queue.get(id) else { return Ok(Plan::nothing().then(Begun::Not)) };
    if is_left(&view.state.tree, &entry.proposal) {
        return Ok(drop_left(view, id, call)?.then(Begun::Not));
    }
    if !view.has_executor(&entry.proposal) {
        return without_tool(view, entry, call);
    }
    if plans::is_withheld(&view.state.resolve, entry) {
        return Ok(withhold(view, id, call)?.then(Begun::Not));
    }
    let mut again = true;
    // What will be written over is read first, and everything compared as late as possible.
    loop {
        let Some(kept) = asked.keep(id)? else {
            let reason = "its tool crashed when it read what it would write over";
            return Ok(unbegun(view, entry, reason, call)?.then(Begun::Not));
        };
        let kept = if size(&kept) > MOST_KEPT { Arc::from([]) } else { kept };
        let observed = asked.observe(id)?;
        let prints = kept.iter().map(|kept| kept.fingerprint.clone()).collect();
        let start = start(view).keeping(prints);
        match queue.begin_with(id, observed.unwrap_or_default(), start, view.at.0) {
            Ok(Step::Apply { attempt, event }) => {
                let mut records = preimage::records(attempt, kept.to_vec(), view.at);
                records.push(note(&event));
                return Ok(Plan::of(records).then(Begun::Attempt(attempt)));
            }
            Ok(Step::Stale { event, differing }) => {
                let plan = drop_stale(view, event, &differing, observed.is_some(), call)?;
                return Ok(plan.then(Begun::Not));
            }
            Err(QueueError::Expired { .. }) => {
                let event = queue.expire(id, view.at.0)?;
                let text = format!("{id} was not applied: its time is over. Propose it anew.");
                return Ok(view.report(vec![note(&event)], call, text, true)?.then(Begun::Not));
            }
            // Somebody wrote between the two looks; or the tool never tells the same of the same.
            Err(QueueError::WrongPreimage { .. }) if again => again = false,
            Err(QueueError::WrongPreimage { subject, .. }) => {
                let reason = format!("{} changed while it was read", on_one_line(&subject));
                return Ok(unbegun(view, entry, &reason, call)?.then(Begun::Not));
            }
            Err(fault) => return Err(fault.into()),
        }
    }
}

/// Records how an attempt has ended. Where its traces have to go first it is taken over, and what was there before it returned:
/// [`end_tidied`] goes on.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn end(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    ended: &Ended,
    call: Option<&CallPlace>,
) -> Result<Plan<Option<Arc<[Kept]>>>, Pause> {
    let id = ended.attempt.proposal;
    let entry = view.state.resolve.queue.get(id);
    if ended.outcome != Outcome::Applied
        && let Some(entry) = entry.filter(|entry| !entry.preimages.is_empty())
        && let Some(observed) = asked.observe_twice(id)?
        // What is said to have failed is not done, also if all of it was written.
        && let failed = matches!(ended.outcome, Outcome::Failed { .. })
        && let Some(kept) = half_done(view, asked, entry, observed, failed)?
    {
        return Ok(take_over(view, id, true, view.at)?.then(Some(kept)));
    }
    Ok(finish(view, ended.attempt, ended.outcome.clone(), &ended.words, call)?.then(None))
}

/// Puts back what an attempt left half done, and records how it has ended.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn end_tidied(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    (ended, kept): (&Ended, &Arc<[Kept]>),
    call: Option<&CallPlace>,
) -> Result<Plan, Pause> {
    let id = ended.attempt.proposal;
    let Some(entry) = view.state.resolve.queue.get(id) else { return Ok(Plan::nothing()) };
    let observed = put_back(asked, entry, kept)?;
    let outcome = match &ended.outcome {
        Outcome::Applied => Outcome::Applied,
        Outcome::Failed { reason } | Outcome::Unknown { reason } => {
            let failed = matches!(ended.outcome, Outcome::Failed { .. });
            tidied(observed.map(|observed| entry.aftermath(observed)).as_ref(), reason, failed)
        }
    };
    finish(view, entry.attempt(), outcome, &ended.words, call)
}

fn tidied(left: Option<&Aftermath>, reason: &str, failed: bool) -> Outcome {
    match (left.map(Aftermath::is_as_before), left.and_then(disturbed)) {
        (Some(true), _) => Outcome::Failed { reason: format!("{reason}; what it had written was put back") },
        (_, Some(disturbed)) => {
            let reason = format!("{reason}; {disturbed}");
            // Nothing of it is left. Approved again it is compared first, and not applied to what changed.
            match failed && left.is_some_and(|left| left.after.is_empty()) {
                true => Outcome::Failed { reason },
                false => Outcome::Unknown { reason },
            }
        }
        _ => Outcome::Unknown { reason: format!("{reason}; some of it was written, and not put back") },
    }
}

fn finish(
    view: &View<'_>,
    attempt: Attempt,
    outcome: Outcome,
    words: &str,
    call: Option<&CallPlace>,
) -> Result<Plan, Pause> {
    let (id, queue) = (attempt.proposal, &view.state.resolve.queue);
    let is_error = outcome != Outcome::Applied;
    let text = match (&outcome, queue.get(id)) {
        (Outcome::Applied, Some(entry)) => applied(entry, words),
        (Outcome::Applied, None) => words.to_owned(),
        (Outcome::Failed { reason }, _) => not_applied(id, reason),
        (Outcome::Unknown { reason }, _) => format!("It is not known whether {id} was applied: {reason}."),
    };
    let event = queue.finish(attempt, outcome, view.at.0)?;
    view.report(vec![note(&event)], call, text, is_error)
}

/// Returns the record that gives an attempt more time, once a third of what it had is over.
pub fn renew(view: &View<'_>, attempt: Attempt) -> Option<Record> {
    let queue = &view.state.resolve.queue;
    let lease = queue.get(attempt.proposal).and_then(|entry| entry.lease.as_ref());
    if lease.is_none_or(|lease| lease.until.saturating_sub(view.at.0) > LEASE_MS / 3 * 2) {
        return None;
    }
    // A clock that went back: what was promised is longer already.
    queue.renew(attempt, view.lease(view.at).until, view.at.0).ok().map(|event| note(&event))
}

/// Looks whether a stale proposal fits the files again; if not, it is dropped.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn check(view: &View<'_>, asked: &mut Asked<'_>, id: ProposalId) -> Result<Plan, Pause> {
    let Some(entry) = view.state.resolve.queue.get(id) else { return Ok(Plan::nothing()) };
    let gated = view.state.resolve.gated_call(id).is_some();
    let observed = asked.observe(id)?;
    if view.is_past(id) {
        return super::expire::expire(view, &[id]);
    }
    let mut chain = Chain::of(view.state);
    let seen = observed.unwrap_or_default();
    if !gated && let Ok(Check::Returns(event)) = chain.queue.check(id, seen, view.at.0) {
        return Ok(Plan::of(vec![note(&event)]));
    }
    let why = if observed.is_some() { "it no longer fits the files" } else { NOBODY_LOOKED };
    chain.push(discarded(&chain.queue, id, why, view.at))?;
    if !gated {
        let text = format!("{id} ({}) was dropped: {why}.", entry.proposal.label);
        chain.records.extend(view.telling(&text)?);
    }
    Ok(Plan::of(chain.records))
}

/// Drops what failed so often that nobody is asked about it again.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn give_up(view: &View<'_>, id: ProposalId) -> Result<Plan, Pause> {
    if view.is_past(id) {
        return super::expire::expire(view, &[id]);
    }
    let why = "it could not be applied";
    let mut chain = Chain::of(view.state);
    chain.push(discarded(&chain.queue, id, why, view.at))?;
    let text = format!("{id} was dropped{}. Nothing is left to do for it.", because(why));
    chain.records.extend(view.telling(&text)?);
    Ok(Plan::of(chain.records))
}

fn start(view: &View<'_>) -> Start {
    let lease = view.lease(view.at);
    Start::leased(lease.holder, lease.until)
}

/// Fails a proposal of which nothing was begun. It counts as a try, so that there is an end to them.
fn unbegun(
    view: &View<'_>,
    entry: &Entry<Value>,
    reason: &str,
    call: Option<&CallPlace>,
) -> Result<Plan, Pause> {
    let id = entry.id;
    let mut chain = Chain::of(view.state);
    // Both in one batch: whoever finds the first alone would look what became of it.
    let begun = chain.queue.begin_with(id, &entry.compared(), start(view), view.at.0)?;
    let Step::Apply { attempt, event } = begun else {
        return Err(RuntimeError::Refused { reason: format!("{id} cannot be begun") }.into());
    };
    chain.push(Ok(event))?;
    chain.push(chain.queue.finish(attempt, Outcome::Failed { reason: reason.to_owned() }, view.at.0))?;
    view.report(chain.records, call, not_applied(id, reason), true)
}

/// Fails what nobody here can apply, and says so once: an approval that every drive tripped over would be the end of the
/// session. It waits for a decision again, with whoever has the tool or discards it.
fn without_tool(
    view: &View<'_>,
    entry: &Entry<Value>,
    call: Option<&CallPlace>,
) -> Result<Plan<Begun>, Pause> {
    let (id, source) = (entry.id, &entry.proposal.source_tool);
    if view.is_past(id) {
        return Ok(super::expire::expire(view, &[id])?.then(Begun::Not));
    }
    let reason = format!("its tool {:?} is not here", on_one_line(source));
    let plan = unbegun(view, entry, &reason, call)?;
    Ok(plan.then(match call {
        Some(_) => Begun::Not,
        None => Begun::Failed(RuntimeError::NoExecutor { proposal: id.to_string(), tool: source.clone() }),
    }))
}

/// Puts aside what was approved on a branch that was left: whoever approved it meant it there.
fn drop_left(view: &View<'_>, id: ProposalId, call: Option<&CallPlace>) -> Result<Plan, Pause> {
    let cause = Supersession::BranchLeft { by: LEFT_MEANWHILE.to_owned() };
    let records = vec![note(&view.state.resolve.queue.supersede(id, cause, view.at.0)?)];
    match call {
        Some(_) => {
            let text = format!("{id} was not applied: its branch was left. Look again and propose anew.");
            view.report(records, call, text, true)
        }
        None => Ok(Plan::of(records)),
    }
}

/// Voids an approval that no person gave: a plan was asked for since. It comes back as what was not looked at, is compared with the
/// files, and waits for a person.
fn withhold(view: &View<'_>, id: ProposalId, call: Option<&CallPlace>) -> Result<Plan, Pause> {
    let mut chain = Chain::of(view.state);
    let cause = Supersession::BranchLeft { by: ASKED_FOR.to_owned() };
    // Both in one batch: nobody finds it put aside.
    chain.push(chain.queue.supersede(id, cause, view.at.0))?;
    chain.push(chain.queue.restore(id, view.at.0))?;
    view.report(chain.records, call, plans::withheld(id), true)
}

/// Puts aside for good what the world has moved away from.
fn drop_stale(
    view: &View<'_>,
    event: QueueEvent<Value>,
    differing: &[Difference],
    looked: bool,
    call: Option<&CallPlace>,
) -> Result<Plan, Pause> {
    let id = event.proposal;
    let mut chain = Chain::of(view.state);
    chain.push(Ok(event))?;
    let (why, cause) = if looked {
        let changed: Vec<String> = differing.iter().map(|one| on_one_line(&one.subject)).collect();
        ("the files changed after the preview", format!("{} changed after the preview", changed.join(", ")))
    } else {
        (NOBODY_LOOKED, NOBODY_LOOKED.to_owned())
    };
    if view.is_past(id) {
        chain.push(chain.queue.expire(id, view.at.0))?;
    } else {
        chain.push(discarded(&chain.queue, id, why, view.at))?;
    }
    let text = format!("{id} was not applied and is dropped: {cause}. Look again and propose anew.");
    view.report(chain.records, call, text, true)
}

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
    // What was given after the preview is part of what was approved, and of what the model has to know of it.
    let extra = entry.decision.as_ref().and_then(|decision| decision.extra.as_ref()).filter(|_| by_person);
    let with = extra.map(|extra| format!(" with {}", record::json(extra))).unwrap_or_default();
    let told = match by_person {
        true => format!("A person approved {id}{with}, and it was applied.{takes_back} {words}"),
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

fn not_applied(id: ProposalId, reason: &str) -> String {
    format!("{id} could not be applied: {reason}. It is kept: apply it again or discard it.")
}
