//! What people decide: on one proposal or on several, and ahead, by rules.
//!
//! A decision and the rules that are given with it are one batch. An answer that comes too late, or to the wrong question,
//! is an error that says what was decided first.

use serde_json::Value;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Entry, Event as QueueEvent, NextDecision, ProposalId, QueueError, Rule,
    RuleError, RuleId, Ruling, State, Verb, Verdict,
};
use trunkline_session_store::{InboxId, Record};

use crate::acts::asked::Asked;
use crate::acts::chain::{Chain, refused};
use crate::acts::close_request;
use crate::acts::plan::Plan;
use crate::acts::propose;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::discard_hook::{self, HookChange};
use crate::notes::journal;
use crate::notes::resolve::{self, note};
use crate::rules::staged::discard_words;
use crate::rules::{hooks, judging, plans};
use crate::setup::catalogue::can_be_handed;
use crate::state::resolve::Part;
use crate::words::error::RuntimeError;
use crate::words::said::Said;

/// What became of each of several decisions.
pub type Decided = Vec<(ProposalId, Result<(), RuntimeError>)>;

/// Gives a rule as a person.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn give_rule(view: &View<'_>, rule: &Rule) -> Result<Plan<RuleId>, Pause> {
    by_person(rule)?;
    let event = view.state.resolve.rules.add(rule.clone(), view.at.0)?;
    Ok(Plan::of(vec![resolve::rule(&event)]).then(event.rule))
}

/// Takes a rule back as a person.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn revoke_rule(view: &View<'_>, id: RuleId, reason: &str) -> Result<Plan, Pause> {
    let person = Actor::new(ActorKind::Person, "");
    let event = view.state.resolve.rules.revoke(id, person, reason, view.at.0)?;
    Ok(Plan::of(vec![resolve::rule(&event)]))
}

/// Brings the rules that the agent keeps outside of sessions into this one.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn adopt_rules(view: &View<'_>, kept: &[Rule]) -> Result<Plan, Pause> {
    let part = &view.state.resolve;
    let agent = Actor::new(ActorKind::Policy, "agent");
    let events = part.rules.adopt(&judging::wanted_here(part, kept), &agent, view.at.0)?;
    Ok(Plan::of(events.iter().map(resolve::rule).collect()))
}

/// Decides on a proposal as a person, perhaps by a letter.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn decide(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    id: ProposalId,
    (said, seen): (&Said, Option<u32>),
    letter: Option<InboxId>,
) -> Result<Plan, Pause> {
    let Plan { mut records, events, then: decided } = decide_each(view, asked, &[id], (said, seen))?;
    for (_, result) in decided {
        result?;
    }
    if let Some(letter) = letter.filter(|_| records.is_empty()) {
        records.push(journal::letter_taken(letter, journal::VERDICT, view.began));
    }
    Ok(Plan { records, events, then: () })
}

/// Decides on several proposals as a person. Returns what became of each.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn decide_each(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    ids: &[ProposalId],
    (said, seen): (&Said, Option<u32>),
) -> Result<Plan<Decided>, Pause> {
    // What was in time when they said it is decided, however long the tools take that hear of it.
    let at = view.began;
    let person = Actor::new(ActorKind::Person, said.name.clone());
    let mut ruling = Ruling::new(said.verdict, person.clone(), said.reason.clone());
    (ruling.only, ruling.extra, ruling.seen) = (said.only.clone(), said.extra.clone(), seen);
    if let Err(reason) = can_be_handed(said.extra.as_ref()) {
        return Err(RuntimeError::Refused { reason }.into());
    }
    let mut chain = Chain::of(view.state);
    let mut discarded: Vec<Entry<Value>> = Vec::new();
    let mut decided: Decided = Vec::new();
    let mut approvals = Vec::new();
    let queue = &view.state.resolve.queue;
    for (id, answer) in queue.decide_each(ids.iter().copied(), &ruling, at.0) {
        if let (Ok(Answer::New(event)), Some(entry)) = (&answer, queue.get(id)) {
            let part = &view.state.resolve;
            if said.verdict == Verdict::Approve
                && let Some(reason) = judging::forbidden(part, &chain.rules, entry, &said.only, at)
            {
                decided.push((id, Err(RuntimeError::Refused { reason })));
                continue;
            }
            if let Some(only) = other_text(part, id, said) {
                let reason =
                    format!("a changed text can only be given when approving {only}; {id} was not changed");
                decided.push((id, Err(RuntimeError::Refused { reason })));
                continue;
            }
            if part.is_word(id) && said.verdict == Verdict::Approve {
                let before = chain.mark();
                let approving = (entry, event.clone());
                let completed = match part.plans.is_plan(id) {
                    true => propose::approve(view, asked, &mut chain, approving, said),
                    false => close_request::approve(view, &mut chain, approving, said),
                };
                match completed {
                    Ok(approved) => {
                        approvals.push(approved);
                        decided.push((id, Ok(())));
                    }
                    // The others are decided all the same.
                    Err(Pause::Refused(fault)) => {
                        chain.back_to(before);
                        decided.push((id, Err(fault)));
                    }
                    Err(pause) => return Err(pause),
                }
                continue;
            }
            let judgement = judging::judge(part, &chain.rules, entry, at);
            chain.push(Ok(event.clone()))?;
            chain.use_asking(id, &judgement, at)?;
            if said.verdict == Verdict::Discard && view.state.resolve.gated_call(id).is_none() {
                discarded.extend(chain.queue.get(id).cloned());
            }
        }
        if let (Ok(Answer::Already(_)), Some(entry)) = (&answer, queue.get(id))
            && entry.state == State::Approved
            && plans::is_withheld(&view.state.resolve, entry)
        {
            // Nothing of it would be recorded, and it is put back before it is done.
            let reason = format!(
                "{id} was approved before a plan was asked for, and not by a person; go on with the session, then approve it again"
            );
            decided.push((id, Err(RuntimeError::Refused { reason })));
            continue;
        }
        if let (Ok(Answer::Already(_)), Some(entry)) = (&answer, queue.get(id))
            && view.state.resolve.is_word(id)
            && said.verdict == Verdict::Approve
        {
            let checked = match view.state.resolve.plans.is_plan(id) {
                true => propose::check_approved(view, entry, said.plan.as_ref()),
                false => close_request::check_approved(view, entry, said.words.as_deref()),
            };
            decided.push((id, checked));
            continue;
        }
        decided.push((id, answer.map(drop).map_err(refused)));
    }
    decided.sort_by_key(|(id, _)| *id);
    if decided.iter().any(|(_, result)| result.is_ok()) {
        for rule in &said.rules {
            by_person(rule)?;
            let mut rule = rule.clone();
            if rule.given_by.name.is_empty() {
                rule.given_by = person.clone();
            }
            // Said twice it is one rule.
            if !chain.rules.iter().any(|standing| standing.counts(at.0) && standing.rule == rule) {
                chain.push_rule(chain.rules.add(rule, at.0))?;
            }
        }
    }
    // Where a tool is told of the end, the model hears of it with what that tool says.
    let hooked = |entry: &&Entry<Value>| entry.proposal.hears_end;
    let is_here = |entry: &&Entry<Value>| hooks::hears_end(view.state, view.setup, &entry.proposal);
    let told: Vec<&Entry<Value>> =
        discarded.iter().filter(|entry| !hooked(entry) || !is_here(entry)).collect();
    if !told.is_empty() {
        let words =
            told.iter().map(|entry| format!("A person declined {}. {}", entry.id, discard_words(entry)));
        chain.records.extend(view.telling(&words.collect::<Vec<_>>().join("\n"))?);
        let ends = told.into_iter().filter(hooked).filter_map(|entry| entry.end.as_ref());
        chain.records.extend(ends.map(|end| discard_hook::note(end, HookChange::Told, at)));
    }
    let mut plan = Plan::of(chain.records).then(decided);
    for approved in approvals {
        approved.finish(view, &mut plan);
    }
    Ok(plan)
}

/// Returns what alone could be approved in another text that was said of something else.
fn other_text(part: &Part, id: ProposalId, said: &Said) -> Option<&'static str> {
    let approves = said.verdict == Verdict::Approve;
    if said.plan.is_some() && !(approves && part.plans.is_plan(id)) {
        return Some("a plan");
    }
    (said.words.is_some() && !(approves && part.close_requests.is_request(id)))
        .then_some("a request to end the run")
}

/// Approves what the rules, or a policy that approves everything, approve without asking, unless its time is over.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn approve_ahead(view: &View<'_>, id: ProposalId) -> Result<Plan, Pause> {
    match view.is_past(id) {
        true => super::expire::expire(view, &[id]),
        false => decide_ahead(view, id),
    }
}

/// Decides what the rules, or a policy that approves everything, decide without asking.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn decide_ahead(view: &View<'_>, id: ProposalId) -> Result<Plan, Pause> {
    let at = view.at;
    let part = &view.state.resolve;
    let Some(entry) = part.queue.get(id) else { return Ok(Plan::nothing()) };
    let judgement = judging::judge(part, &part.rules, entry, at);
    let next = judging::next_decision(&view.setup.resolve, part, entry, at);
    let mut chain = Chain::of(view.state);
    let mut approved = None;
    match next {
        // Nobody decides on it any more.
        _ if entry.is_past(at.0) => chain.push(chain.queue.expire(id, at.0))?,
        NextDecision::Approve if judgement.rules.is_empty() => {
            let always = Actor::new(ActorKind::Policy, "always");
            chain.decide(id, Ruling::new(Verdict::Approve, always, ""), at)?;
        }
        NextDecision::Approve | NextDecision::Forbid => {
            let why = chain.rule_on(id, &judgement, at)?;
            if next == NextDecision::Forbid && part.gated_call(id).is_none() {
                let text = format!("{id} ({}) was discarded: {why}.", entry.proposal.label);
                chain.records.extend(view.telling(&text)?);
            }
            if next == NextDecision::Approve && part.close_requests.is_request(id) {
                approved = Some(close_request::approve_ruled(view, &mut chain, entry)?);
            }
        }
        // The time of a rule may just have passed.
        _ => {}
    }
    let mut plan = Plan::of(chain.records);
    if let Some(approved) = approved {
        approved.finish(view, &mut plan);
    }
    Ok(plan)
}

/// Returns the records of an approval by the model, if it may still give it.
pub(crate) fn ruled(
    view: &View<'_>,
    id: ProposalId,
    event: QueueEvent<Value>,
) -> Result<Vec<Record>, RuntimeError> {
    let (part, at) = (&view.state.resolve, view.at);
    let Some(entry) = part.queue.get(id) else { return Ok(Vec::new()) };
    let judgement = judging::judge(part, &part.rules, entry, at);
    if !judging::may_model(&view.setup.resolve, part, entry, at) {
        let by = Actor::new(ActorKind::Model, "");
        let may = judgement.deciders.into_iter().filter(|kind| *kind != ActorKind::Model).collect();
        return Err(refused(QueueError::NotPermitted { id, by, verb: Verb::Approve, may }));
    }
    let mut chain = Chain::of(view.state);
    chain.push(Ok(event))?;
    chain.use_asking(id, &judgement, at)?;
    Ok(chain.records)
}

/// Notes that a person was asked and did not answer: once, however often they are asked again.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn close_question(view: &View<'_>, entry: &Entry<Value>) -> Result<Plan, Pause> {
    if entry.unanswered.is_some() {
        return Ok(Plan::nothing());
    }
    let person = Actor::new(ActorKind::Person, "");
    let closed = view.state.resolve.queue.cancel(entry.id, person, "closed without an answer", view.at.0);
    // What is neither proposed nor failed was only shown, and needs no answer.
    Ok(Plan::of(closed.iter().map(note).collect()))
}

fn by_person(rule: &Rule) -> Result<(), RuntimeError> {
    match rule.given_by.kind {
        ActorKind::Person => Ok(()),
        _ => Err(RuleError::NotPermitted { by: rule.given_by.clone() }.into()),
    }
}
