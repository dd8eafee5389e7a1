//! Which branches a model has left itself.
//!
//! Only those it may bring something back from, or go back to: what a person, an undo or a policy took away is not its to
//! bring back. Who took a node off the trunk last is a function of the moves, so it cannot be forgotten or claimed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use trunkline_message_tree::{Author, MessageTree, MoveId, MoveKind, NodeId};

use crate::{Note, NoteKind, Record};

/// At how many branches one looks to name some that would work.
pub(crate) const MOST_TRIED: usize = 64;

/// Who took a node off the trunk.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftBy {
    /// A person went back, or elsewhere.
    Person,
    /// A move was taken back, or made again.
    Undo,
    /// A policy did, or another program.
    Harness,
    /// It was only filed, and never stood on a trunk.
    NeverOnTrunk,
}

impl fmt::Display for LeftBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftBy::Person => "the user",
            LeftBy::Undo => "an undo or a redo",
            LeftBy::Harness => "the harness",
            LeftBy::NeverOnTrunk => "no move",
        })
    }
}

/// Why a node names no branch that a model has left itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOwn {
    /// There is no such node.
    NotFound,
    /// It is on the trunk.
    OnTrunk,
    /// Somebody else left it.
    Left {
        /// Who.
        by: LeftBy,
    },
    /// The model left it, but the branch hangs on a node that somebody else left.
    Behind {
        /// That node.
        node: NodeId,
        /// Who left it.
        by: LeftBy,
    },
}

/// The branches that a model has left itself.
///
/// A branch is the model's if its own move took it off the trunk last, and so everything between the trunk and its end: to go
/// there brings nothing back that somebody else has left.
#[derive(Clone, Debug)]
pub struct OwnBranches<'a> {
    tree: &'a MessageTree,
    // By which move each node left the trunk last; what is on it again stands here, too.
    left_by: HashMap<NodeId, MoveId>,
    own: HashSet<MoveId>,
}

impl<'a> OwnBranches<'a> {
    /// Looks through the moves. `notes` are all notes of the session, `records` the requests to revert as far as they are known.
    ///
    /// Costs what the moves themselves have cost: one step per node that left or came back.
    pub fn of(tree: &'a MessageTree, notes: &[Note], records: &[Record]) -> Self {
        let mut left_by = HashMap::new();
        for (index, head_move) in (0..).zip(tree.moves()) {
            for node in between(tree, head_move.from, head_move.to) {
                left_by.insert(node, MoveId(index));
            }
        }
        let is_kind =
            |id: &MoveId| tree.moves().get(id.index()).is_some_and(|made| made.kind == MoveKind::ModelRevert);
        let by_model =
            notes.iter().filter(|note| note.author == Author::Model && note.kind != NoteKind::Undone);
        let mut own: HashSet<MoveId> = by_model.map(|note| note.made_by).filter(is_kind).collect();
        // Notes of early versions do not tell a policy from a model, records always did.
        for record in records.iter().filter(|record| record.author != Author::Model) {
            own.retain(|id| Some(*id) != record.move_id);
        }
        OwnBranches { tree, left_by, own }
    }

    /// Returns the end of the branch that holds a node.
    ///
    /// # Errors
    ///
    /// [`NotOwn`]: why there is none that the model left itself.
    pub fn tip_of(&self, node: NodeId) -> Result<NodeId, NotOwn> {
        if self.tree.node(node).is_err() {
            return Err(NotOwn::NotFound);
        }
        if self.tree.is_on_trunk(node) {
            return Err(NotOwn::OnTrunk);
        }
        let head_move = self.own_move(node).map_err(|by| NotOwn::Left { by })?;
        let tip = head_move.from;
        for id in off_trunk(self.tree, tip) {
            self.own_move(id).map_err(|by| NotOwn::Behind { node: id, by })?;
        }
        Ok(tip)
    }

    /// Returns the ends of the newest branches of the model, the newest first. Looks at the newest 64 of its moves.
    pub fn newest(&self) -> Vec<NodeId> {
        let mut own: Vec<MoveId> = self.own.iter().copied().collect();
        own.sort_unstable_by(|a, b| b.cmp(a));
        let mut tips: Vec<NodeId> = Vec::new();
        for id in own.into_iter().take(MOST_TRIED) {
            let Some(tip) = self.tree.moves().get(id.index()).map(|made| made.from) else { continue };
            // What was left again since, or is back, belongs to a later move or to none.
            let is_end = self.left_by.get(&tip) == Some(&id) && self.tip_of(tip) == Ok(tip);
            if is_end && !tips.contains(&tip) {
                tips.push(tip);
            }
        }
        tips
    }

    /// Returns the nodes of a branch that are not on the trunk, oldest first.
    pub(crate) fn span(&self, tip: NodeId) -> Vec<NodeId> {
        let mut span: Vec<NodeId> = off_trunk(self.tree, tip).collect();
        span.reverse();
        span
    }

    /// Returns the node of the trunk at which a branch parts from it.
    pub(crate) fn fork(&self, tip: NodeId) -> NodeId {
        self.tree.fork_of(tip).unwrap_or(NodeId::ROOT)
    }

    fn own_move(&self, node: NodeId) -> Result<&'a trunkline_message_tree::HeadMove, LeftBy> {
        let id = self.left_by.get(&node).ok_or(LeftBy::NeverOnTrunk)?;
        let head_move = self.tree.moves().get(id.index()).ok_or(LeftBy::NeverOnTrunk)?;
        match head_move.kind {
            MoveKind::ModelRevert if self.own.contains(id) => Ok(head_move),
            MoveKind::PersonRevert | MoveKind::Fork | MoveKind::Merge => Err(LeftBy::Person),
            MoveKind::Undo { .. } | MoveKind::Redo { .. } => Err(LeftBy::Undo),
            _ => Err(LeftBy::Harness),
        }
    }
}

/// Returns the nodes of the line to `from` that are not on the line to `to`.
fn between(tree: &MessageTree, mut from: NodeId, mut to: NodeId) -> Vec<NodeId> {
    let up = |id: NodeId| tree.node(id).ok().and_then(|node| Some((node.depth(), node.parent()?)));
    let mut left = Vec::new();
    while from != to {
        let (from_depth, to_depth) = (up(from).map_or(0, |node| node.0), up(to).map_or(0, |node| node.0));
        if from_depth >= to_depth {
            let Some((_, parent)) = up(from) else { break };
            left.push(from);
            from = parent;
        } else {
            let Some((_, parent)) = up(to) else { break };
            to = parent;
        }
    }
    left
}

/// Returns the nodes of a line that are not on the trunk, its end first.
pub(crate) fn off_trunk(tree: &MessageTree, tip: NodeId) -> impl Iterator<Item = NodeId> {
    let line = tree.ancestry(tip).into_iter().flatten().map(|(id, _)| id);
    line.take_while(|id| !tree.is_on_trunk(*id))
}
