//! A rule, and what happens to it, told in a line.

use trunkline_message_tree::Timestamp;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, Rule, RuleChange, RuleEntry, RuleEvent, RuleTarget, RuleVerdict, Scope,
};

use crate::shown::time::{ago, expiry};
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::one_line;

/// Why a rule is taken back that the agent does not keep any more.
const NOT_KEPT: &str = "no longer kept";

/// Tells what happened to a rule; nothing of a use, which the decision tells.
pub(crate) fn event(event: &RuleEvent) -> Option<String> {
    let id = event.rule;
    Some(match &event.change {
        RuleChange::Added(rule) => {
            let by = one_line(&rule.given_by.to_string(), 60);
            paint(DIM, &format!("· rule {id} by the {by}: {}", told(rule)))
        }
        RuleChange::Revoked { by, reason } => paint(DIM, &format!("· rule {id} {}", revoked(by, reason))),
        _ => return None,
    })
}

/// Returns a rule and what became of it on one line.
pub(crate) fn line(entry: &RuleEntry, now: Timestamp) -> String {
    let rule = &entry.rule;
    let (verdict, style) = match rule.verdict {
        RuleVerdict::Allow => ("allow", GREEN),
        RuleVerdict::Ask => ("ask", YELLOW),
        RuleVerdict::Deny => ("deny", RED),
    };
    let mut line = format!(
        "{}  {}  {}  {}",
        paint(BOLD, &format!("{:<3}", entry.id.to_string())),
        paint(style, &format!("{verdict:<5}")),
        about(rule),
        scope(rule.scope),
    );
    let by = one_line(&rule.given_by.to_string(), 60);
    let mut rest = format!("  by the {by} {}", ago(Timestamp(entry.added_at), now));
    if entry.used > 0 {
        rest.push_str(&format!(", used {}", times(entry.used)));
    }
    if let Some(end) = rule.expires_at {
        rest.push_str(&format!(", {}", expiry(Timestamp(end), now)));
    }
    if !rule.reason.is_empty() {
        rest.push_str(&format!(": {}", one_line(&rule.reason, 100)));
    }
    line.push_str(&paint(DIM, &rest));
    if let Some((by, reason)) = &entry.revoked {
        line.push_str(&paint(YELLOW, &format!("  {}", revoked(by, reason))));
    }
    line + "\n"
}

/// Returns what a rule says, in one line.
pub(crate) fn told(rule: &Rule) -> String {
    let verdict = match rule.verdict {
        RuleVerdict::Allow => "allow",
        RuleVerdict::Ask => "ask",
        RuleVerdict::Deny => "never",
    };
    format!("{verdict} {}, {}", about(rule), scope(rule.scope))
}

/// Returns what a rule is about.
pub(crate) fn about(rule: &Rule) -> String {
    let tool = rule.tool.as_deref().map(|tool| one_line(tool, 40));
    let mut about = match (&rule.target, tool) {
        (Some(RuleTarget::Path(pattern)), tool) => {
            let what = tool.map_or_else(|| "what is written to".to_owned(), |tool| format!("{tool} on"));
            format!("{what} {}", one_line(&pattern.to_string(), 120))
        }
        (Some(RuleTarget::Command(pattern)), tool) => {
            let what = tool.unwrap_or_else(|| "the command".to_owned());
            format!("{what}: {}", one_line(&pattern.to_string(), 120))
        }
        (Some(_), tool) => format!("{} on something else", tool.unwrap_or_else(|| "any tool".to_owned())),
        (None, Some(tool)) => format!("{tool}, whatever it does"),
        (None, None) => "whatever any tool does".to_owned(),
    };
    if !rule.effects.is_empty() {
        let effects: Vec<String> = rule.effects.iter().map(ToString::to_string).collect();
        about.push_str(&format!(" ({})", effects.join(" or ")));
    }
    if rule.verdict == RuleVerdict::Ask && !rule.deciders.is_empty() {
        let deciders: Vec<String> = rule.deciders.iter().map(ToString::to_string).collect();
        about.push_str(&format!("; {} or a person decides", deciders.join(" or ")));
    }
    about
}

/// Returns for how long a rule counts.
pub(crate) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Once => "once",
        Scope::Session => "in this session",
        Scope::Always => "always",
    }
}

/// Says who took a rule back, or that the file of the run does not have it any more.
fn revoked(by: &Actor, reason: &str) -> String {
    if by.kind == ActorKind::Policy && reason == NOT_KEPT {
        return "no longer in the policy file".to_owned();
    }
    let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 160)) };
    format!("taken back by the {}{why}", one_line(&by.to_string(), 60))
}

fn times(used: u32) -> String {
    if used == 1 { "once".to_owned() } else { format!("{used} times") }
}
