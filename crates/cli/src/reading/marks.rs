//! What stands between the nodes of a session, looked up by node: to look through all of it at each node of a long session takes
//! longer than everything else.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{MessageTree, MoveKind, Node, NodeId, ReflogEntry};
use trunkline_runtime::decision_objects::{Decision, VerdictKind};
use trunkline_runtime::revert::Note;
use trunkline_runtime::session_machine::reading::unanswered::{Standing, gone_on};

use crate::reading::session::Reading;

/// The notes, verdicts and moves of a session.
#[derive(Default)]
pub(crate) struct Marks<'a> {
    anchored: HashMap<NodeId, Vec<(usize, &'a Note)>>,
    left: HashMap<NodeId, Vec<(usize, &'a Note)>>,
    gone: HashMap<NodeId, ReflogEntry<'a>>,
    verdicts: HashMap<NodeId, Vec<&'a Decision>>,
    gone_on: HashSet<NodeId>,
}

/// Returns the node at which a run has ended: a retry is recorded together with the prompt of the run that comes after it.
fn end_of(tree: &MessageTree, newest: NodeId, decision: &Decision) -> NodeId {
    let prompt = tree.node(newest).ok().filter(|_| decision.verdict().kind() == VerdictKind::Retry);
    prompt.and_then(Node::parent).unwrap_or(newest)
}

impl<'a> Marks<'a> {
    pub(crate) fn of(reading: &'a Reading) -> Self {
        let mut marks = Marks { gone_on: gone_on(reading.tree()), ..Marks::default() };
        for (place, note) in reading.notes().iter().enumerate() {
            marks.anchored.entry(note.anchor).or_default().push((place, note));
            if let Some(branch) = note.abandoned.first() {
                marks.left.entry(*branch).or_default().push((place, note));
            }
        }
        let forks = reading.tree().reflog().filter(|entry| entry.head_move.kind == MoveKind::Fork);
        marks.gone = forks.map(|entry| (entry.head_move.from, entry)).collect();
        for (after, decision) in reading.verdicts() {
            let after = end_of(reading.tree(), *after, decision);
            marks.verdicts.entry(after).or_default().push(decision);
        }
        marks
    }

    /// Returns the notes that stand after a node, each with its place among all notes.
    pub(crate) fn notes(&self, anchor: NodeId) -> Vec<(usize, &'a Note)> {
        self.anchored.get(&anchor).cloned().unwrap_or_default()
    }

    /// Returns the notes that moves away from the branch that begins with a node have left, likewise.
    pub(crate) fn notes_of(&self, branch: NodeId) -> Vec<(usize, &'a Note)> {
        self.left.get(&branch).cloned().unwrap_or_default()
    }

    /// Returns the latest move by which a person went elsewhere from a node.
    pub(crate) fn gone(&self, from: NodeId) -> Option<&ReflogEntry<'a>> {
        self.gone.get(&from)
    }

    /// Returns how far each call of a message has come, in their order; nothing of one after which the conversation went on, so
    /// that its results are there.
    pub(crate) fn standings(&self, reading: &'a Reading, node: NodeId) -> Vec<Standing<'a>> {
        if self.gone_on.contains(&node) { Vec::new() } else { reading.view().standings(node) }
    }

    /// Returns the verdicts that stand after a node.
    pub(crate) fn verdicts(&self, after: NodeId) -> Vec<&'a Decision> {
        self.verdicts.get(&after).cloned().unwrap_or_default()
    }
}
