//! What happened to a proposal, told in a line.

use serde_json::Value;
use trunkline_runtime::resolve_queue::{Change, Event, Observation, Outcome, Verdict};

use crate::term::style::{DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::one_line;

/// How many files of a partial approval are named.
const NAMED: usize = 4;
/// The reason of a question that was closed by somebody who gave none.
const NO_ANSWER: &str = "closed without an answer";

/// Tells a change; nothing of one that is told by what follows it.
pub(crate) fn told(event: &Event<Value>) -> Option<String> {
    let id = event.proposal;
    Some(match &event.change {
        Change::Decided { verdict, by, reason, only, .. } => {
            let word = match verdict {
                Verdict::Approve => "approved",
                Verdict::Discard => "discarded",
            };
            let mut part: Vec<String> = only.iter().take(NAMED).map(|one| one_line(one, 60)).collect();
            if only.len() > NAMED {
                part.push("…".to_owned());
            }
            let part = if part.is_empty() { String::new() } else { format!(", only {}", part.join(", ")) };
            let by = one_line(&by.to_string(), 60);
            paint(DIM, &format!("· {id} {word} by the {by}{part}{}", why(reason)))
        }
        Change::Cancelled { by, reason } => {
            let by = one_line(&by.to_string(), 60);
            // It says no more than that.
            let why = if reason == NO_ANSWER { String::new() } else { why(reason) };
            paint(DIM, &format!("· {id} left for later by the {by}{why}"))
        }
        Change::Expired => paint(YELLOW, &format!("! {id} expired: nobody decided in time")),
        Change::Finished { outcome: Outcome::Applied, .. } => format!("{} {id} done", paint(GREEN, "✓")),
        Change::Finished { outcome: Outcome::Failed { reason } | Outcome::Unknown { reason }, .. } => {
            paint(RED, &format!("✗ {id}: {}", one_line(reason, 200)))
        }
        Change::TakenOver { leased, .. } => {
            let holder = one_line(&leased.holder, 60);
            paint(YELLOW, &format!("! {id} was cut off; {holder} looks after it"))
        }
        Change::Recovered { observation, .. } => match observation {
            Observation::Before => paint(YELLOW, &format!("! {id} looked up: it was not done")),
            Observation::After => format!("{} {id} looked up: it was done", paint(GREEN, "✓")),
            Observation::Unclear => {
                paint(YELLOW, &format!("! {id} looked up: nobody can tell whether it was done"))
            }
        },
        Change::WentStale { .. } => paint(YELLOW, &format!("! {id} no longer fits the files")),
        Change::Rechecked => paint(DIM, &format!("· {id} fits the files again")),
        Change::Superseded { .. } => paint(DIM, &format!("· {id} put aside")),
        Change::Restored => paint(DIM, &format!("· {id} is back")),
        // Its end follows; more time for it is of interest to nobody else.
        Change::Began { .. } | Change::Renewed { .. } => return None,
        // Told with its label by whoever shows it.
        _ => return None,
    })
}

fn why(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 160)) }
}

/// Returns the label of a proposal as an event stages it.
pub(crate) fn staged(event: &Event<Value>) -> Option<&trunkline_runtime::Proposal> {
    match &event.change {
        Change::Staged(proposal) => Some(proposal),
        _ => None,
    }
}
