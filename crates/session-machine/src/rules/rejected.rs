//! What a person did not want: proposals that were discarded, and what an apply left out.

use trunkline_resolve_queue::{ActorKind, State as At};

use crate::rules::staged::because;
use crate::state::resolve::Part;

/// Returns what a person has rejected of what was proposed, with why, as far as it was settled after `since`.
pub(crate) fn rejected(part: &Part, since: u64) -> Vec<(String, String)> {
    let ours = |at: Option<&u64>| at.is_some_and(|at| *at > since);
    let told = part.queue.iter().filter_map(|entry| {
        let decision = entry.decision.as_ref().filter(|decision| decision.by.kind == ActorKind::Person)?;
        let (named, reason) = (format!("{} ({})", entry.id, entry.proposal.label), decision.reason.trim());
        match entry.state {
            At::Discarded if ours(part.discarded.get(&entry.id)) => {
                let why = if reason.is_empty() { "a person discarded it" } else { reason };
                Some((named, why.to_owned()))
            }
            At::Applied if ours(part.applied.get(&entry.id)) && !entry.left_out.is_empty() => {
                let parts: Vec<&str> = entry.left_out.iter().map(String::as_str).collect();
                let why = format!("a person left it out of what was applied{}", because(reason));
                Some((format!("{} of {named}", parts.join(", ")), why))
            }
            _ => None,
        }
    });
    told.collect()
}
