//! What the log holds of branches that were left, of steps back that are proposed, and of compactions.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use trunkline_message_tree::{Entry, HeadMove, Link, MessageTree, MoveId, Node, NodeId};
use trunkline_revert::{Note, NoteKind, Prunings, SummaryBy};
use trunkline_session_store::Note as StoredNote;

use crate::notes::record;
use crate::notes::revert::{
    BREAK, DRAINED, FAILED, Failed, MERGE, NOTE, PROPOSAL, PRUNED, SUMMARY_ASKED, SummaryAsked, TURN, UNREAD,
};
use crate::setup::revert::Setting;
use crate::state::steps::Steps;
use crate::words::error::RuntimeError;

/// What the log holds of this layer.
#[derive(Default)]
pub struct Part {
    /// What reverts have left for the model, oldest first.
    pub notes: Vec<Note>,
    /// Requests to revert, applied and refused, oldest first.
    pub drained: Vec<trunkline_revert::Record>,
    /// Requests to revert that could not be read, oldest first.
    pub unread: Vec<trunkline_revert::UnreadRequest>,
    /// Merges, oldest first.
    pub merges: Vec<trunkline_revert::MergeRecord>,
    /// The results that the model has left out of requests.
    pub prunings: Prunings,
    /// How often a summary was asked for, by the move that has none.
    pub asked: HashMap<MoveId, u32>,
    /// What a watch has seen, and the steps back that it has proposed.
    pub steps: Steps,
    /// Where the provider's cache was lost, oldest first.
    pub breaks: Vec<trunkline_revert::Break>,
    /// The latest compaction that came to nothing, if none was made since.
    pub(crate) failed: Option<Failed>,
    /// Where the head was when the latest compaction was made.
    pub(crate) covered_at: Option<NodeId>,
    /// At least the bytes that become tokens of what is shown, without what the model leaves out; unknown after a pruning, a compaction
    /// and a move that touches one, until it is asked for.
    pub(crate) bytes: OnceLock<u64>,
}

impl Part {
    pub(crate) fn record(&mut self, note: &StoredNote) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            NOTE => self.notes.push(record::read(note)?),
            DRAINED => {
                let record: trunkline_revert::Record = record::read(note)?;
                self.steps.reverted(&record);
                self.drained.push(record);
            }
            TURN | PROPOSAL => self.steps.record(note),
            MERGE => {
                let merge: trunkline_revert::MergeRecord = record::read(note)?;
                if merge.call.is_some() {
                    self.steps.merged_by_model();
                }
                self.merges.push(merge);
            }
            SUMMARY_ASKED => {
                let SummaryAsked { head_move } = record::read(note)?;
                *self.asked.entry(head_move).or_default() += 1;
            }
            // Like those, advice: what another version wrote must not make the whole session unreadable.
            UNREAD => self.unread.extend(record::read::<trunkline_revert::UnreadRequest>(note).ok()),
            BREAK => self.breaks.extend(record::read::<trunkline_revert::Break>(note).ok()),
            // What cannot be read leaves nothing out: then the model reads more than it wanted.
            PRUNED => {
                if let Ok(record) = record::read(note) {
                    self.prunings.record(&record);
                    self.bytes = OnceLock::new();
                }
            }
            FAILED => self.failed = record::read(note).ok().or(self.failed.take()),
            _ => {}
        }
        Ok(())
    }

    /// Takes in what the tree has done.
    pub(crate) fn entry(&mut self, entry: &Entry, tree: &MessageTree) {
        match entry {
            Entry::Node { link: Link::Cover { .. }, .. } => self.bytes = OnceLock::new(),
            Entry::Move(head_move) => {
                let bytes =
                    self.bytes.take().and_then(|bytes| bytes_after(tree, head_move, &self.prunings, bytes));
                self.bytes = bytes.map_or_else(OnceLock::new, OnceLock::from);
            }
            Entry::Node { id, message, .. } => {
                if let Some(bytes) = self.bytes.get_mut() {
                    *bytes = bytes.saturating_add(self.prunings.token_bytes(*id, message));
                }
            }
        }
        self.covered(entry, tree.head());
        self.steps.entry(entry);
    }

    /// Takes in a compaction that was made. Which came first is told by the log alone: a summary is filed, so its id is
    /// greater than that of the head at which it was made, and of those of other branches.
    fn covered(&mut self, entry: &Entry, head: NodeId) {
        if matches!(entry, Entry::Node { link: Link::Cover { .. }, .. }) {
            self.failed = None;
            self.covered_at = Some(head);
        }
    }

    /// Begins to watch by these rules, after the log was read.
    pub fn watch(&mut self, setting: &Setting) {
        if let Some(reverts) = setting {
            self.steps.watch(reverts.stall.clone());
        }
    }

    /// Returns whether a step back is proposed that was not answered.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.steps.open.open().next().is_some()
    }

    /// Returns the copies that the revert in this note has made of words of a person, with their originals.
    pub(crate) fn copies(&self, note: &StoredNote) -> Vec<(NodeId, NodeId)> {
        let last = self.drained.last().filter(|_| note.kind == DRAINED);
        let links = last.map(|record| record.rebased.as_slice()).unwrap_or_default();
        links.iter().map(|link| (link.original, link.copy)).collect()
    }

    /// Returns the notes of reverts of which nobody has said what they came to, oldest first.
    pub fn unsaid(&self) -> impl Iterator<Item = &Note> {
        let said: HashSet<MoveId> =
            self.notes.iter().filter(|note| note.by == SummaryBy::Model).map(|note| note.made_by).collect();
        self.notes.iter().filter(move |note| {
            let mute = note.summary.is_none() || note.by == SummaryBy::Mechanical;
            mute && note.kind != NoteKind::Undone && !said.contains(&note.made_by)
        })
    }
}

/// Returns the bytes that become tokens after a move that the tree has made, given those before it; `None` if a compaction could be shown otherwise, or
/// if words are missing. Costs what left the trunk and what came back.
fn bytes_after(tree: &MessageTree, head_move: &HeadMove, prunings: &Prunings, before: u64) -> Option<u64> {
    let fork = tree.fork_of(head_move.from).ok()?;
    let depth = tree.node(fork).ok()?.depth();
    let ends =
        |cover: &NodeId| tree.node(*cover).ok().and_then(Node::parent).and_then(|end| tree.node(end).ok());
    if !tree.covering().iter().all(|cover| ends(cover).is_some_and(|end| end.depth() < depth)) {
        return None;
    }
    let bytes = |tip| {
        let line = tree.ancestry(tip).ok()?.take_while(|(id, _)| *id != fork);
        line.map(|(id, node)| (!node.is_bare()).then(|| prunings.token_bytes(id, node.message())))
            .sum::<Option<u64>>()
    };
    before.checked_sub(bytes(head_move.from)?)?.checked_add(bytes(head_move.to)?)
}
