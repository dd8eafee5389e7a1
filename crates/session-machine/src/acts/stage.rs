//! How something gets into the queue: what a tool proposes, and a call that needs a decision before it may run.
//!
//! Rules are asked here first. What they decide is decided in the batch that stages it, so no crash leaves the one
//! without the other.

use trunkline_resolve_queue::{ActorKind, Attempt, Offer, Outcome, ProposalId, RuleVerdict, Step};
use trunkline_session_store::Record;

use crate::acts::chain::{Chain, refused};
use crate::acts::expire::{limit_time, limit_time_of};
use crate::acts::named::on_one_line;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::resolve::note;
use crate::rules::staged::prepared;
use crate::rules::{gates, hooks, judging, plans};
use crate::words::call::{CallPlace, Proposal};
use crate::words::error::RuntimeError;
use crate::words::runnable::Asked;

/// Stages what a call proposed. Returns the records, and what the model is told of each, also of what makes no sense
/// and is not staged.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn stage(
    view: &View<'_>,
    proposals: Vec<Proposal>,
    place: &CallPlace,
) -> Result<(Vec<Record>, impl Iterator<Item = String> + use<>), RuntimeError> {
    let mut chain = Chain::of(view.state);
    let mut told = Vec::new();
    let staged_by = staging_tool(view, place);
    for mut proposal in proposals {
        proposal.staged_by = staged_by.clone().filter(|tool| *tool != proposal.source_tool);
        let label = on_one_line(&proposal.label);
        // A tool that says that it only reads may stage something all the same.
        if view.state.resolve.plans.is_on() {
            told.push(format!("Not staged: {label}: {}.", plans::not_staged()));
            continue;
        }
        let before = chain.mark();
        match stage_one(view, &mut chain, proposal, place) {
            Ok(words) => told.push(words),
            // One that makes no sense is no reason to lose the others, and the call has to have its result.
            Err(RuntimeError::Proposal(fault)) => {
                chain.back_to(before);
                told.push(format!("Not staged: {label}: {}.", on_one_line(&fault.to_string())));
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok((chain.records, told.into_iter()))
}

/// Returns the tool whose call this is; `None` for the call that decides on others.
fn staging_tool(view: &View<'_>, place: &CallPlace) -> Option<String> {
    let node = view.state.tree.node(place.node).ok()?;
    let name = &node.message().calls().nth(usize::try_from(place.index).ok()?)?.name;
    (!view.setup.is_resolve_call(name)).then(|| name.clone())
}

fn stage_one(
    view: &View<'_>,
    chain: &mut Chain,
    proposal: Proposal,
    place: &CallPlace,
) -> Result<String, RuntimeError> {
    let at = view.at;
    let written: Vec<&str> = proposal.written().collect();
    let judgement = chain.rules.judge_proposal(&proposal, &written, at.0);
    let mut proposal = prepared(&view.setup.resolve, proposal, &judgement, place);
    limit_time(&mut proposal, at, view.setup.expire_after);
    proposal.hears_end = hooks::hears_end(view.state, view.setup, &proposal);
    let label = proposal.label.clone();
    if judgement.verdict == RuleVerdict::Deny && !proposal.changes_nothing() {
        // What may not be done takes the place of nothing that waits.
        let event = chain.queue.stage(proposal, at.0).map_err(refused)?;
        let id = event.proposal;
        chain.push(Ok(event))?;
        let why = chain.rule_on(id, &judgement, at)?;
        return Ok(format!("{id} ({label}) was discarded: {why}. Nothing is written."));
    }
    let (id, events) = match chain.queue.offer(proposal, at.0).map_err(refused)? {
        Offer::Staged { id, events } => (id, events),
        Offer::NothingToDo { label } => {
            return Ok(format!("Nothing staged: {label} would change nothing."));
        }
    };
    events.into_iter().try_for_each(|event| chain.push(Ok(event)))?;
    let staged = chain.queue.get(id);
    let replaced = staged.map(|entry| entry.proposal.supersedes.clone()).unwrap_or_default();
    let instead: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    let instead =
        if instead.is_empty() { String::new() } else { format!(", in place of {}", instead.join(", ")) };
    let by_model = staged.is_some_and(|entry| entry.may_approve(ActorKind::Model));
    let by_policy = staged.is_some_and(|entry| entry.may_approve(ActorKind::Policy));
    if judgement.verdict == RuleVerdict::Allow && by_policy {
        let why = chain.rule_on(id, &judgement, at)?;
        return Ok(format!(
            "Staged as {id}{instead} and approved: {why}. Nothing more is needed; you will be told when it is written."
        ));
    }
    Ok(match by_model {
        true => format!(
            "Staged as {id}{instead}. Nothing is written yet: call `resolve` with action apply or discard and id \"{id}\"."
        ),
        false => {
            let by = if by_policy { "it is approved" } else { "a person approves it" };
            format!("Staged as {id}{instead}. Nothing is written before {by}; you will be told.")
        }
    })
}

/// Stages a call that needs a decision, and decides on it if the rules do.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn stage_gate(view: &View<'_>, place: &CallPlace, asked: &Asked) -> Result<Plan, Pause> {
    let at = view.at;
    let (mut event, tie) = gates::stage_gate(&view.state.resolve, asked, place, at)?;
    limit_time_of(&mut event, view.setup.expire_after);
    let mut chain = Chain::of(view.state);
    let judgement = judging::judge_call(&chain.rules, asked, at);
    let id = event.proposal;
    chain.push(Ok(event))?;
    chain.records.push(tie);
    chain.rule_on(id, &judgement, at)?;
    Ok(Plan::of(chain.records))
}

/// Begins a call that was approved. Its proposal has no fingerprints: what a command needs, nobody can list.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub(crate) fn begin_gate(view: &View<'_>, id: ProposalId) -> Result<(Record, Attempt), RuntimeError> {
    match view.state.resolve.queue.begin(id, &[], view.at.0).map_err(refused)? {
        Step::Apply { attempt, event } => Ok((note(&event), attempt)),
        Step::Stale { .. } => Err(RuntimeError::Refused { reason: format!("{id} cannot be begun") }),
    }
}

/// Ends the attempt of an approved call: it ran, whatever its exit code said, or nobody knows.
pub(crate) fn finish_gate(view: &View<'_>, attempt: Attempt, ran: bool) -> Result<Record, RuntimeError> {
    // Not a failure that could be tried again: its call is answered, and it is not known what it did.
    let reason = "it was cancelled while it ran and did not stop by itself".to_owned();
    let outcome = if ran { Outcome::Applied } else { Outcome::Unknown { reason } };
    Ok(note(&view.state.resolve.queue.finish(attempt, outcome, view.at.0).map_err(refused)?))
}
