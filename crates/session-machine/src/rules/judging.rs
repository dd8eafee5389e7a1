//! Rules in a session: decisions that a person made ahead, kept as notes of this layer, and what they say of what waits.
//!
//! A rule is asked when something is staged and again at each step while that waits, so a rule that comes later decides
//! what it covers. What was decided stays decided: a rule that comes or goes after that changes nothing in it.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    ActorKind, CUSTOM_TOOL, Entry, FAILED_ATTEMPTS, Judgement, On, Rule, RuleId, RuleVerdict, Rules, Ruling,
    Scope, State as At, Wanted,
};

use crate::setup::resolve::Setting;
use crate::state::resolve::Part;
use crate::words::approval::Approval;
use crate::words::call::Proposal;
use crate::words::runnable::Asked;

/// How much of a rule's reason a model is told.
const REASON: usize = 200;

/// How something that waits goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Rules allow it, or the policy approves everything.
    Approve,
    /// Rules forbid it.
    Forbid,
    /// The model decides.
    Model,
    /// A person decides.
    Person,
    /// It failed so often that nobody is asked again.
    GiveUp,
}

/// Returns whether a rule hands a decision to the model.
pub fn asks_model(rule: &Rule) -> bool {
    rule.verdict == RuleVerdict::Ask && rule.deciders.contains(&ActorKind::Model)
}

/// Returns what a proposal writes.
pub(crate) fn written(proposal: &Proposal) -> Vec<&str> {
    let named = if proposal.after.is_empty() { &proposal.fingerprints } else { &proposal.after };
    named.iter().map(|print| print.subject.as_str()).collect()
}

/// Says what the rules make of an edit.
///
/// A tool may say that another one does it. Then rules for either hold, or the one could do by the name of the other
/// what it may not do by its own. A source that names nobody is covered by rules for the tool whose call it was.
pub(crate) fn judge_edit(rules: &Rules, proposal: &Proposal, paths: &[&str], at: Timestamp) -> Judgement {
    let of = |tool: &str| rules.judge(&Wanted::new(tool, proposal.effect, On::Paths(paths)), at.0);
    let named = of(&proposal.source_tool);
    let Some(staged_by) = &proposal.staged_by else { return named };
    let staged = of(staged_by);
    let nobody = proposal.source_tool == CUSTOM_TOOL;
    match (named.rules.is_empty(), staged.rules.is_empty()) {
        (true, false) if nobody => staged,
        (false, true) if nobody => named,
        _ => named.and(staged),
    }
}

/// Says what the rules make of a call that has to be decided on.
pub(crate) fn judge_call(rules: &Rules, asked: &Asked, at: Timestamp) -> Judgement {
    let on = asked.gate.command.as_deref().map_or(On::Other, On::Command);
    rules.judge(&Wanted::new(&asked.tool, asked.gate.effect, on), at.0)
}

/// Says what the rules make of something that is in the queue.
pub(crate) fn judge(part: &Part, rules: &Rules, entry: &Entry<Value>, at: Timestamp) -> Judgement {
    let proposal = &entry.proposal;
    if part.gated_call(entry.id).is_none() {
        return judge_edit(rules, proposal, &entry.part().collect::<Vec<_>>(), at);
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
            judge_edit(rules, &entry.proposal, &paths, at)
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

/// Says who decides on something that waits, or failed: the rules if any of them speaks, else the policy.
///
/// What the rules allow is tried once by their word. After a failure it is as if they had not spoken, and so it is with what
/// was staged for persons alone.
pub(crate) fn turn_of(setting: &Setting, part: &Part, entry: &Entry<Value>, at: Timestamp) -> Turn {
    let judgement = judge(part, &part.rules, entry, at);
    let failed = entry.state == At::Failed;
    let policy = entry.may_approve(ActorKind::Policy);
    match judgement.verdict {
        RuleVerdict::Deny => return Turn::Forbid,
        _ if failed && entry.begun >= FAILED_ATTEMPTS => return Turn::GiveUp,
        RuleVerdict::Allow if !failed && policy => return Turn::Approve,
        _ => {}
    }
    if may_model(setting, part, entry, at) {
        return Turn::Model;
    }
    match setting.approval {
        // A rule that asks holds under every policy.
        _ if judgement.verdict == RuleVerdict::Ask && !judgement.rules.is_empty() => Turn::Person,
        Approval::Always if failed => Turn::GiveUp,
        Approval::Always if policy => Turn::Approve,
        // Somebody was asked about a command under another policy.
        Approval::Model if policy && part.gated_call(entry.id).is_some() => Turn::Approve,
        Approval::Always | Approval::Model | Approval::Person => Turn::Person,
    }
}

/// Returns whether the model may approve: it was allowed to when that was staged, and is still.
///
/// Never a call: the model cannot be asked while its own call is open.
pub(crate) fn may_model(setting: &Setting, part: &Part, entry: &Entry<Value>, at: Timestamp) -> bool {
    let judgement = judge(part, &part.rules, entry, at);
    let now = match judgement.verdict {
        RuleVerdict::Deny => false,
        RuleVerdict::Ask if !judgement.rules.is_empty() => judgement.deciders.contains(&ActorKind::Model),
        RuleVerdict::Ask | RuleVerdict::Allow => setting.approval == Approval::Model,
    };
    now && setting.model_decides()
        && entry.may_approve(ActorKind::Model)
        && part.gated_call(entry.id).is_none()
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
