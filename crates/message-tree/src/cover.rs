//! The nodes that stand for others, and which of them a move of the head has lifted.
//!
//! Whoever puts the head on a covered node wants to read what is there, and go on from what they read. So the cover stays
//! away when the trunk grows on, until that move is undone.

use std::collections::{BTreeMap, BTreeSet};

use crate::{MoveId, NodeId};

/// All covering nodes of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covers {
    // In order of arrival, so sorted.
    by: Vec<NodeId>,
    // For each the moves in force that lift it; most have none.
    lifted: Vec<BTreeSet<MoveId>>,
    // What each move lifts while it is in force.
    lifts: BTreeMap<MoveId, Vec<usize>>,
}

impl Covers {
    pub(crate) fn push(&mut self, by: NodeId) {
        self.by.push(by);
        self.lifted.push(BTreeSet::new());
    }

    pub(crate) fn ids(&self) -> &[NodeId] {
        &self.by
    }

    /// Notes that a move that was just made lifts every cover that is there and of which `covers` is true. Costs one step
    /// per cover.
    pub(crate) fn lift(&mut self, by: MoveId, covers: impl Fn(NodeId) -> bool) {
        let places: Vec<usize> = (0..self.by.len()).filter(|place| covers(self.by[*place])).collect();
        if !places.is_empty() {
            self.lifts.insert(by, places);
            self.set_holds(by, true);
        }
    }

    /// Notes whether a move, the one that was first made, is in force.
    pub(crate) fn set_holds(&mut self, first: MoveId, holds: bool) {
        for place in self.lifts.get(&first).into_iter().flatten() {
            if holds {
                self.lifted[*place].insert(first);
            } else {
                self.lifted[*place].remove(&first);
            }
        }
    }

    pub(crate) fn lifted_by(&self, cover: NodeId) -> Option<MoveId> {
        let place = self.by.binary_search(&cover).ok()?;
        self.lifted[place].first().copied()
    }
}
