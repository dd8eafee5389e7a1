//! The records of a file, each once, and how they hang together.
//!
//! Every conversation of a file is a way through this tree, so that what many of them have in common is held once; the
//! messages of one are made when they are asked for.

use super::record::{Body, Record};

/// The records by their position, and their links. Ids were needed to find these and are forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) records: Vec<Record>,
    /// What each record continues; no way up meets a record twice.
    pub(super) parent: Vec<Option<usize>>,
    /// The lines of each message of the model, in order and without repetitions.
    pub(super) groups: Vec<Vec<usize>>,
    /// For each record the group that it belongs to.
    pub(super) group: Vec<Option<usize>>,
    /// For each group the records that answer its calls, in order.
    pub(super) answers: Vec<Vec<usize>>,
}

impl Tree {
    /// Returns the records from a leaf up to where the next request would begin, leaf first.
    pub(super) fn up_from(&self, leaf: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(leaf), |at| self.parent.get(*at).copied().flatten())
    }

    /// Returns the group that a record is a line of.
    pub(super) fn group_of(&self, at: usize) -> Option<usize> {
        self.group.get(at).copied().flatten()
    }

    /// Returns the lines of a message.
    pub(super) fn lines(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], Vec::as_slice)
    }

    /// Returns the records that answer the calls of a message.
    pub(super) fn answers(&self, group: usize) -> &[usize] {
        self.answers.get(group).map_or(&[], Vec::as_slice)
    }

    /// Tells whether a record is sent as a message or a part of one, and is no repetition of another.
    pub(super) fn is_message(&self, at: usize) -> bool {
        let sent = |record: &Record| record.piece().is_some_and(|piece| !piece.unsent);
        self.records.get(at).is_some_and(sent)
            && self.group_of(at).is_none_or(|group| self.lines(group).contains(&at))
    }

    /// Tells whether a summary took the place of what was before this record.
    pub(super) fn is_boundary(&self, at: usize) -> bool {
        matches!(self.records.get(at).map(|record| &record.body), Some(Body::Boundary { .. }))
    }

    /// Returns the records in an order in which each comes after the one that it continues: mostly that of the file.
    pub(super) fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.parent.len()).collect();
        if self.parent.iter().enumerate().any(|(at, parent)| parent.is_some_and(|parent| parent > at)) {
            let depths = self.depths();
            order.sort_by_key(|at| depths.get(*at).copied());
        }
        order
    }

    /// Counts for each record those above it.
    fn depths(&self) -> Vec<u32> {
        const UNKNOWN: u32 = u32::MAX;
        let mut depths = vec![UNKNOWN; self.parent.len()];
        let mut open = Vec::new();
        for at in 0..depths.len() {
            let known = |at: usize| depths.get(at).copied().filter(|depth| *depth != UNKNOWN);
            open.extend(self.up_from(at).take_while(|at| known(*at).is_none()));
            let above = open.last().and_then(|top| self.parent.get(*top).copied().flatten());
            let mut depth = above.and_then(known).map_or(0, |depth| depth.saturating_add(1));
            while let Some(at) = open.pop() {
                if let Some(slot) = depths.get_mut(at) {
                    *slot = depth;
                }
                depth = depth.saturating_add(1);
            }
        }
        depths
    }
}

/// Which records a walk has met. Walks that share it take each record once, however many of them pass there.
#[derive(Debug)]
pub(super) struct Met(Vec<bool>);

impl Met {
    pub(super) fn none_of(tree: &Tree) -> Self {
        Met(vec![false; tree.records.len()])
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or(false)
    }

    /// Marks a record; tells whether it is the first time.
    pub(super) fn is_new(&mut self, at: usize) -> bool {
        self.0.get_mut(at).is_some_and(|met| !std::mem::replace(met, true))
    }

    /// Walks up from a leaf to where it was before, and returns what is new there: the way, and what belongs to the
    /// messages on it.
    pub(super) fn walk(&mut self, tree: &Tree, leaf: usize) -> Vec<usize> {
        let mut new: Vec<usize> = tree.up_from(leaf).take_while(|at| !self.has(*at)).collect();
        let way = new.len();
        // First the way itself: what belongs to a message on it may be on it too, and further up.
        for at in &new {
            self.is_new(*at);
        }
        for index in 0..way {
            let Some(group) = new.get(index).and_then(|at| tree.group_of(*at)) else { continue };
            for at in tree.lines(group).iter().chain(tree.answers(group)) {
                if self.is_new(*at) {
                    new.push(*at);
                }
            }
        }
        new
    }
}
