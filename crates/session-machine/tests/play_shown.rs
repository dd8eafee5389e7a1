//! What a play shows of how the session stands.

use std::fmt::Write;

use serde_json::{Value, json};
use trunkline_message_tree::notation;
use trunkline_resolve_queue::{Entry, RuleEntry};
use trunkline_revert::ProposalEvent;
use trunkline_session_machine::state::State;
use trunkline_session_machine::{Attempt, PlanRecord, Touched};
use trunkline_session_store::Record;

use crate::families;
use crate::play::Play;

impl Play {
    /// Tells something of how it stands, whether or not all else is told.
    pub(crate) fn show(&mut self, what: &str) {
        let lines = match what {
            "sent" => {
                let sent = self.sent.as_ref().map(|sent| notation::print(&sent.messages.to_vec()));
                sent.unwrap_or_default().lines().map(str::to_owned).collect()
            }
            "tools" => {
                let sent = self.sent.iter().flat_map(|sent| &sent.tools);
                vec![sent.map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")]
            }
            "notes" => {
                let rendered = self.view().rendered();
                let notes = rendered.iter().filter(|message| message.node.is_none());
                notes.flat_map(|note| note.text().lines().map(str::to_owned).collect::<Vec<_>>()).collect()
            }
            "touched" => {
                let line = |touch: &Touched| {
                    let before = if touch.before.is_some() { "was there" } else { "was not there" };
                    format!("{} {before}", touch.path)
                };
                self.touched.iter().map(line).collect()
            }
            "results" => {
                let messages = self.state.tree.trunk().messages();
                let results = messages.flat_map(|message| message.results().map(|one| one.text()));
                results.map(|text| text.replace('\n', " / ")).collect()
            }
            "files" => self.files.iter().map(|(path, text)| format!("{path} = {text}")).collect(),
            "plans" => self.plans(),
            "steps" => steps_of(&self.state),
            "rules" => rules_of(&self.state),
            "decisions" => decisions_of(&self.state),
            "verdict" => verdict_of(&self.state),
            "attempts" => attempts_of(&self.log),
            "family" => families::told(&self.log),
            "candidates" => families::candidates_told(&self.log),
            "task" => {
                let task = self.state.tasks.task();
                task.map(|task| format!("{} {}, retries {}", task.title, task.state.as_str(), task.retries))
                    .into_iter()
                    .collect()
            }
            "commit" => self.message.lines().map(str::to_owned).collect(),
            other => panic!("nothing is known of {other}"),
        };
        let _ = writeln!(self.told, "show {what}");
        for line in lines {
            let _ = writeln!(self.told, "{}", format!("    {line}").trim_end());
        }
    }
}

impl Play {
    /// Whether the session is held to a plan, and what was approved of each.
    fn plans(&self) -> Vec<String> {
        let plans = &self.state.resolve.plans;
        let mut lines = vec![if plans.is_on() { "on" } else { "off" }.to_owned()];
        for entry in self.state.resolve.queue.iter().filter(|entry| plans.is_plan(entry.id)) {
            let proposed = PlanRecord::of_proposal(&entry.proposal).unwrap();
            lines.push(format!("{} {} {}", entry.id, entry.state, on_a_line(&proposed)));
            lines.extend(plans.edited(entry.id).map(|edited| format!("    edited {}", on_a_line(edited))));
        }
        lines
    }
}

/// A plan, with the ends of its names.
fn on_a_line(plan: &PlanRecord) -> String {
    let end = |id: &uuid::Uuid| id.as_u128() & 0xffff;
    let steps = plan.steps.iter().map(|step| {
        let done = step.done_when.iter().map(|done| format!(" until {done}"));
        format!("{}: {}{}", end(&step.id), step.text.replace('\n', " / "), done.collect::<String>())
    });
    let revises = plan.revises.iter().map(|id| format!(" instead of {}", end(id)));
    let revises: String = revises.collect();
    format!("{}{revises}: {} [{}]", end(&plan.id), plan.title, steps.collect::<Vec<_>>().join("; "))
}

/// What was recorded of steps back, one a line.
fn steps_of(state: &State) -> Vec<String> {
    let line = |event: &ProposalEvent| match event {
        ProposalEvent::Made(proposal) => proposal.text_for_person(),
        ProposalEvent::Answered { id, answer, by } => {
            let answer = serde_json::to_value(answer).unwrap();
            let why = answer["reason"].as_str().map(|why| format!(": {why}"));
            format!("{id} {} by {by:?}{}", answer["became"].as_str().unwrap(), why.unwrap_or_default())
        }
        other => format!("{other:?}"),
    };
    state.revert.steps.told.iter().map(line).collect()
}

/// The rules, one a line.
fn rules_of(state: &State) -> Vec<String> {
    let line =
        |one: &RuleEntry| format!("{} {:?} used {}", one.id, one.rule.verdict, one.used).to_lowercase();
    state.resolve.rules.iter().map(line).collect()
}

/// Who decided on each proposal, and why, one a line.
fn decisions_of(state: &State) -> Vec<String> {
    let entries = state.resolve.queue.iter();
    let line = |entry: &Entry<Value>| {
        let state = format!("{:?}", entry.state).to_lowercase();
        match &entry.decision {
            Some(decision) => {
                let extra = decision.extra.as_ref().map(|extra| format!(" with {}", json!(extra)));
                let by = format!("{}{}", decision.by, extra.unwrap_or_default());
                format!("{} {state}, decided by {by}: {}", entry.id, decision.reason)
            }
            None => format!("{} {state}", entry.id),
        }
    };
    entries.map(line).collect()
}

/// The latest verdict, and what it says of itself.
fn verdict_of(state: &State) -> Vec<String> {
    let Some(decision) = state.decision.decisions.iter().last() else { return Vec::new() };
    let mut lines = vec![decision.verdict().to_string(), format!("by {}", decision.decided_by().id.as_str())];
    lines.extend(decision.rationale().map(|rationale| format!("because {rationale}")));
    lines.extend(decision.approved_by().map(|by| format!("approved by {}", by.kind.as_str())));
    lines.push(format!("evidence {}", decision.evidence().len()));
    lines
}

/// Attempts that came to nothing, one a line.
fn attempts_of(log: &[Record]) -> Vec<String> {
    let attempts = log.iter().filter_map(|record| match record {
        Record::Note(note) if note.kind == "attempt" => serde_json::from_str::<Attempt>(&note.body).ok(),
        _ => None,
    });
    let line = |one: Attempt| {
        let kept = one.node.map_or("nothing".to_owned(), |node| node.to_string());
        let then = if one.until.is_some() { "asked again" } else { "given up" };
        let cause = format!("{:?}", one.cause).to_lowercase();
        format!("{} at {}, {cause}: {}; kept {kept}, {then}", one.attempt, one.head, one.words)
    };
    attempts.map(line).collect()
}
