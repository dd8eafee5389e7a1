//! Which proposals wait for the model.
//!
//! Found in the queue of proposals each time, never registered: so nothing can wait for a proposal that is gone.

use crate::{ActorKind, Attempt, Entry, Queue, Reminder, resolve_tool};

/// A proposal whose applies failed so often is left to people.
pub const FAILED_ATTEMPTS: u32 = 3;

/// How many proposals a reminder names.
const NAMED: usize = 20;

/// Proposals that wait for a decision which the model may make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gate {
    /// The tool with which it decides.
    pub tool: String,
    /// What waits, oldest first, each with its last attempt.
    pub waiting: Vec<Attempt>,
}

impl<P> Queue<P> {
    /// Proposals that wait for the model, if there are any.
    ///
    /// Not those that only others may decide on, nor those past their time, nor those that failed
    /// [`FAILED_ATTEMPTS`] times.
    pub fn gate(&self, at: u64) -> Option<Gate> {
        let waits = |entry: &&Entry<P>| {
            entry.awaits_decision()
                && entry.may_approve(ActorKind::Model)
                && !entry.is_past(at)
                && entry.begun < FAILED_ATTEMPTS
        };
        let waiting: Vec<Attempt> = self.unsettled().filter(waits).map(Entry::attempt).collect();
        (!waiting.is_empty()).then(|| Gate { tool: resolve_tool::NAME.to_owned(), waiting })
    }
}

/// What the model is told of `about`.
pub(crate) fn reminder(tool: &str, about: &[Attempt]) -> Reminder {
    let mut named: Vec<String> = about
        .iter()
        .take(NAMED)
        .map(|attempt| match attempt.number {
            0 => attempt.proposal.to_string(),
            _ => format!("{} (its apply failed)", attempt.proposal),
        })
        .collect();
    if let Some(more) = about.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("{more} more"));
    }
    let text = format!(
        "Not done yet, and waiting for you: {}. Call `{tool}` with action apply or discard, a reason, and the id.",
        named.join(", ")
    );
    Reminder { about: about.to_vec(), text }
}
