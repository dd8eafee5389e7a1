//! What branches that were left have taught, and which steps back are out of date with them.

use trunkline_message_tree::{MessageTree, NodeId, Timestamp};
use trunkline_revert::{Note, ProposalId, SummaryBy};
use trunkline_session_store::Record;

use crate::notes;
use crate::state::revert::Part;

/// The name of a step back that is proposed.
pub(crate) type StepId = ProposalId;

/// Returns the records of steps back that are out of date because these nodes leave, but for the one that is taken.
pub(crate) fn overtaken(part: &Part, left: &[NodeId], taken: Option<StepId>, at: Timestamp) -> Vec<Record> {
    let events = part.steps.open.overtaken_by_move(left, taken);
    events.iter().map(|event| notes::revert::proposal(event, at)).collect()
}

/// Returns the last node and one line for each branch that was left after one of these prompts, or together with one, and is still left.
/// The first of them is that of the run, the others are its copies.
pub(crate) fn lessons(part: &Part, tree: &MessageTree, prompts: &[NodeId]) -> Vec<(Option<NodeId>, String)> {
    // No note of a move from before the prompt can be of such a branch; what was summed up later says so.
    let since = |note: &Note| {
        let made_by = tree.reflog().nth(note.made_by.index());
        prompts.first().zip(made_by).is_some_and(|(prompt, made_by)| made_by.newest >= *prompt)
    };
    let newest_first = part.notes.iter().rev().take_while(|note| note.by == SummaryBy::Model || since(note));
    let mut notes: Vec<&Note> = newest_first.filter(|note| since(note) && note.is_in_force(tree)).collect();
    notes.reverse();
    // Each branch by its first note, with the last one, which may be a summary that came later.
    let mut branches: Vec<(&Note, &Note)> = Vec::new();
    for note in notes {
        match branches.iter_mut().find(|(first, _)| first.made_by == note.made_by) {
            Some((_, last)) => *last = note,
            None => branches.push((note, note)),
        }
    }
    let ours = branches.into_iter().filter(|(first, _)| {
        // A run whose prompt was copied goes on after a target that is older than the prompt.
        prompts.first().is_some_and(|prompt| first.anchor >= *prompt)
            || prompts.iter().any(|prompt| first.abandoned.contains(prompt))
    });
    ours.map(|(first, last)| (first.abandoned.last().copied(), last.text())).collect()
}
