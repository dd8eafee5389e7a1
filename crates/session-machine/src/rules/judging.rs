//! Rules in a session: decisions that a person made ahead, kept as notes of this layer, and what they say of what waits.
//!
//! A rule is asked when something is staged and again at each step while that waits, so a rule that comes later decides
//! what it covers. What was decided stays decided: a rule that comes or goes after that changes nothing in it.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    ActorKind, Entry, Judgement, NextDecision, On, Rule, RuleId, RuleVerdict, Rules, Ruling, Scope, Wanted,
};

use crate::rules::guarded;
use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::runnable::Asked;

/// How much of a rule's reason a model is told.
const REASON: usize = 200;

/// Returns whether a rule hands a decision to the model.
pub fn asks_model(rule: &Rule) -> bool {
    rule.verdict == RuleVerdict::Ask && rule.deciders.contains(&ActorKind::Model)
}

/// Says what the rules make of a call that has to be decided on.
pub(crate) fn judge_call(rules: &Rules, asked: &Asked, at: Timestamp) -> Judgement {
    let on = asked.gate.command.as_deref().map_or(On::Other, On::Command);
    rules.judge(&Wanted::new(&asked.tool, asked.gate.effect, on), at.0)
}

/// Says what the rules make of something that is in the queue.
pub(crate) fn judge(part: &Part, rules: &Rules, entry: &Entry<Value>, at: Timestamp) -> Judgement {
    let proposal = &entry.proposal;
    if part.plans.is_plan(entry.id) {
        // Rules are about what is done, and a plan does nothing: a person decides on it whatever they say.
        return Rules::new().judge(&Wanted::new(&proposal.source_tool, proposal.effect, On::Other), at.0);
    }
    if part.close_requests.is_request(entry.id) {
        // A rule for everything was not given with this in mind.
        let wanted = Wanted::new(&proposal.source_tool, proposal.effect, On::Other);
        return rules.judge_by_name(&wanted, at.0);
    }
    if part.gated_call(entry.id).is_none() {
        return rules.judge_proposal(proposal, &entry.part().collect::<Vec<_>>(), at.0);
    }
    // Logs of earlier versions have no command here: then only a rule for the tool can speak.
    let command = proposal.payload.get("command").and_then(Value::as_str);
    let on = command.map_or(On::Other, On::Command);
    rules.judge(&Wanted::new(&proposal.source_tool, proposal.effect, on), at.0)
}

/// Says why nobody may approve something, or this part of it, as long as a rule forbids it.
pub(crate) fn forbidden(
    part: &Part,
    rules: &Rules,
    entry: &Entry<Value>,
    only: &BTreeSet<String>,
    at: Timestamp,
) -> Option<String> {
    let judgement = match part.gated_call(entry.id) {
        None if !only.is_empty() => {
            let paths: Vec<&str> = entry.part().filter(|path| only.contains(*path)).collect();
            rules.judge_proposal(&entry.proposal, &paths, at.0)
        }
        _ => judge(part, rules, entry, at),
    };
    if judgement.verdict != RuleVerdict::Deny {
        return None;
    }
    let why = ruling(rules, &judgement)?.reason;
    let it = if judgement.rules.len() == 1 { "that rule" } else { "those rules" };
    Some(format!("{} cannot be approved: it is {why}; take {it} back first, or discard it", entry.id))
}

/// Returns the decision that the rules have made ahead. Its reason names them, and why they were given.
pub(crate) fn ruling(rules: &Rules, judgement: &Judgement) -> Option<Ruling> {
    let mut ruling = judgement.ruling()?;
    let given = judgement.rules.iter().filter_map(|id| rules.get(*id));
    let reasons: Vec<String> = given.map(|entry| shown(&entry.rule.reason)).collect();
    let reasons: Vec<&str> = reasons.iter().map(String::as_str).filter(|reason| !reason.is_empty()).collect();
    if judgement.verdict == RuleVerdict::Deny && !reasons.is_empty() {
        ruling.reason = format!("{} ({})", ruling.reason, reasons.join("; "));
    }
    Some(ruling)
}

/// Puts a reason on one line, without what could disturb a terminal.
fn shown(reason: &str) -> String {
    let one_line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line: String = one_line.chars().filter(|c| !c.is_control()).collect();
    let shown: String = one_line.chars().take(REASON).collect();
    if shown.len() < one_line.len() { format!("{shown}…") } else { shown }
}

/// Says who decides on something that waits, or failed, by the rules and the policy of now.
pub(crate) fn next_decision(
    setting: &Setting,
    part: &Part,
    entry: &Entry<Value>,
    at: Timestamp,
) -> NextDecision {
    let judgement = judge(part, &part.rules, entry, at);
    let next = match part.close_requests.is_request(entry.id) {
        true => on_close_request(judgement.verdict),
        false => entry.next_decision(&judgement, setting.authority(part.gated_call(entry.id).is_some())),
    };
    let next = if guarded::is_guarded(part, entry) { guarded::by_person(next) } else { next };
    match next {
        // What was staged before a plan was asked for is done by a person's word alone until one is approved.
        NextDecision::Approve | NextDecision::Model if part.plans.is_on() => NextDecision::Person,
        next => next,
    }
}

/// Neither the policy of the agent nor the model decides on the end of a run: a person does, or rules that name the tool.
fn on_close_request(verdict: RuleVerdict) -> NextDecision {
    match verdict {
        RuleVerdict::Deny => NextDecision::Forbid,
        RuleVerdict::Allow => NextDecision::Approve,
        RuleVerdict::Ask => NextDecision::Person,
    }
}

/// Returns whether the model may approve, by the rules and the policy of now.
pub(crate) fn may_model(setting: &Setting, part: &Part, entry: &Entry<Value>, at: Timestamp) -> bool {
    let judgement = judge(part, &part.rules, entry, at);
    !guarded::is_guarded(part, entry)
        && !part.plans.is_on()
        && entry.may_ask_model(&judgement, setting.authority(part.gated_call(entry.id).is_some()))
}

/// Returns what an agent keeps outside of sessions, without what a person has taken back in this one.
///
/// Given again here, or changed there, it counts again. What came along with an import takes nothing back.
pub(crate) fn wanted_here(part: &Part, kept: &[Rule]) -> Vec<Rule> {
    let taken_back = |rule: &Rule| {
        let mut here =
            part.rules.iter().filter(|one| part.foreign_rule.is_none_or(|foreign| one.id > foreign));
        let latest = here.rfind(|standing| standing.rule == *rule);
        let revoked = latest.and_then(|standing| standing.revoked.as_ref());
        revoked.is_some_and(|(by, _)| by.kind == ActorKind::Person)
    };
    kept.iter().filter(|rule| !taken_back(rule)).cloned().collect()
}

/// Returns the rules that somebody could still go by, whatever the clock says.
pub(crate) fn standing(rules: &Rules) -> Vec<RuleId> {
    let over = |id: &RuleId| {
        rules
            .get(*id)
            .is_none_or(|one| one.revoked.is_some() || (one.rule.scope == Scope::Once && one.used > 0))
    };
    rules.iter().map(|standing| standing.id).filter(|id| !over(id)).collect()
}
