//! Where conversations end and begin.
//!
//! A conversation ends at a record that nothing continues, and of several it is the last in the file: so the clients
//! read (2.1.332, tried 2026-11), also where lines are not in order. Results of one message are one turn: what goes on
//! from one of them continues them all.

use super::links::solid;
use super::record::Record;
use super::tree::Tree;

/// What is known of each record's place, by position.
#[derive(Debug)]
pub(super) struct Ends {
    /// Whether it says something and nothing that says something goes on from its turn.
    open: Vec<bool>,
    says: Vec<bool>,
    /// The record that its way up ends at.
    tops: Vec<usize>,
    /// The first record that says something on the way to it.
    firsts: Vec<Option<usize>>,
    order: Vec<usize>,
}

impl Ends {
    pub(super) fn of(tree: &Tree) -> Self {
        let count = tree.records.len();
        let order = tree.in_order();
        let solid = solid(tree, &order);
        let mut turns: Vec<Option<usize>> = tree.group.clone();
        for (group, answers) in tree.answers.iter().enumerate() {
            for at in answers {
                if let Some(turn) = turns.get_mut(*at) {
                    *turn = Some(group);
                }
            }
        }
        let turn = |at: usize| turns.get(at).copied().flatten();
        let says = |at: usize| tree.records.get(at).and_then(Record::piece);
        let mut continued = vec![false; count];
        let mut turns_continued = vec![false; tree.groups.len()];
        let (mut tops, mut firsts): (Vec<usize>, _) = ((0..count).collect(), vec![None; count]);
        for at in order.iter().copied() {
            let above = solid.get(at).copied().flatten();
            if let Some(above) = above.filter(|_| says(at).is_some()) {
                if let Some(slot) = continued.get_mut(above) {
                    *slot = true;
                }
                let left = turn(above).filter(|of| turn(at) != Some(*of));
                if let Some(slot) = left.and_then(|turn| turns_continued.get_mut(turn)) {
                    *slot = true;
                }
            }
            let parent = tree.parent.get(at).copied().flatten();
            if let (Some(top), Some(slot)) = (parent.and_then(|at| tops.get(at).copied()), tops.get_mut(at)) {
                *slot = top;
            }
            let first = parent.and_then(|parent| firsts.get(parent).copied().flatten());
            if let Some(slot) = firsts.get_mut(at) {
                *slot = first.or_else(|| says(at).filter(|piece| !piece.unsent).map(|_| at));
            }
        }
        let is_open = |at: usize| {
            says(at).is_some()
                && match turn(at) {
                    Some(turn) => !turns_continued.get(turn).copied().unwrap_or(false),
                    None => !continued.get(at).copied().unwrap_or(false),
                }
        };
        Ends {
            open: (0..count).map(is_open).collect(),
            says: (0..count).map(|at| says(at).is_some()).collect(),
            tops,
            firsts,
            order,
        }
    }

    /// Returns the record that goes on among some: the last that nothing continues, or else the last that says something.
    pub(super) fn last(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let has = |list: &[bool], at: usize| list.get(at).copied().unwrap_or(false);
        among.filter(|at| has(&self.says, *at)).max_by_key(|at| (has(&self.open, *at), *at))
    }

    /// Returns where the way up from a record ends.
    pub(super) fn top(&self, at: usize) -> Option<usize> {
        self.tops.get(at).copied()
    }

    /// Returns the first record that says something on the way to one.
    pub(super) fn first_said(&self, at: usize) -> Option<usize> {
        self.firsts.get(at).copied().flatten()
    }

    /// Returns for each record the one at which what goes on from it ends, among those that are asked for.
    pub(super) fn under(&self, tree: &Tree, is: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        let is_open = |at: usize| self.open.get(at).copied().unwrap_or(false) && is(at);
        let mut under: Vec<Option<usize>> =
            (0..self.open.len()).map(|at| is_open(at).then_some(at)).collect();
        for at in self.order.iter().rev() {
            let best = under.get(*at).copied().flatten();
            let parent = tree.parent.get(*at).copied().flatten();
            if let Some(slot) = parent.and_then(|parent| under.get_mut(parent)) {
                *slot = best.max(*slot);
            }
        }
        under
    }
}
