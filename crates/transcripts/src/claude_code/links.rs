//! How the records of a file hang together.
//!
//! Three links are told apart: which record continues which, which lines are one message of the model, and which
//! message a result answers. The file says the first; the others are found by ids, because a walk along the first
//! alone loses all but one of the calls that ran side by side.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use trunkline_message_tree::Role;

use super::met::{Places, Said, note};
use super::record::{Body, Chain, Parent, Piece, Record, Segment, Ties};
use super::tree::Tree;
use crate::fault::{Fault, FaultKind};

/// The records of each id.
pub(super) type Ids<'a> = HashMap<Cow<'a, str>, Places>;

/// The records of a file and their ties, on the way to a tree.
pub(super) struct Links<'r, 'a> {
    ties: &'r [Ties<'a>],
    /// The records of each id, in the order of the file.
    ids: &'r Ids<'a>,
    tree: Tree,
}

/// Finds the links. A parent that is not in the file is reported, and the line above taken in its place: it is where a
/// line that could not be read has left a gap.
pub(super) fn tree<'a>(
    records: Vec<Record>,
    ties: &[Ties<'a>],
    ids: &Ids<'a>,
    faults: &mut Vec<Fault>,
) -> Tree {
    let group = vec![None; records.len()];
    let mut links = Links { ties, ids, tree: Tree { records, group, ..Tree::default() } };
    links.find_parents(faults);
    links.find_boundaries();
    let order = links.tree.in_order();
    let solid = solid(&links.tree, &order);
    links.find_groups(&order, &solid);
    links.find_answers(&order, &solid);
    links.tree
}

/// Returns for each record the nearest one that it continues and that says something.
pub(super) fn solid(tree: &Tree, order: &[usize]) -> Vec<Option<usize>> {
    let mut solid: Vec<Option<usize>> = vec![None; tree.records.len()];
    for at in order {
        let parent = tree.parent.get(*at).copied().flatten();
        let nearest = parent.and_then(|parent| match tree.records.get(parent).map(|record| &record.body) {
            Some(Body::Passage) => solid.get(parent).copied().flatten(),
            _ => Some(parent),
        });
        if let Some(slot) = solid.get_mut(*at) {
            *slot = nearest;
        }
    }
    solid
}

impl<'r, 'a> Links<'r, 'a> {
    fn piece(&self, at: usize) -> Option<&Piece> {
        self.tree.records.get(at).and_then(Record::piece)
    }

    /// Returns the record that an id means where it stands: the nearest above, or else the first below.
    fn named(&self, id: &str, from: usize) -> Option<usize> {
        let all = self.ids.get(id)?.as_slice();
        let above = all.partition_point(|at| *at < from);
        let nearest = above.checked_sub(1).and_then(|last| all.get(last));
        nearest.or_else(|| all.get(above..)?.iter().find(|at| **at != from)).copied()
    }

    fn find_parents(&mut self, faults: &mut Vec<Fault>) {
        // Files made by hand often say that every line is the first.
        let unlinked = !self.ties.iter().any(|tie| matches!(tie.parent, Parent::Id(_)));
        let mut above: HashMap<&Chain<'_>, usize> = HashMap::new();
        let mut bridged = HashSet::new();
        let mut parents = Vec::with_capacity(self.ties.len());
        for (index, tie) in self.ties.iter().enumerate() {
            let last = above.insert(&tie.chain, index).filter(|_| tie.chain != Chain::Side(None));
            parents.push(match &tie.parent {
                Parent::Id(id) => match self.named(id, index) {
                    Some(parent) => Some(parent),
                    None if tie.uuid.as_ref() == Some(id) => None,
                    None => {
                        let kind = FaultKind::MissingParent { id: id.to_string() };
                        faults.push(Fault { line: tie.line, kind });
                        bridged.insert(index);
                        last
                    }
                },
                Parent::Unsaid => last,
                Parent::Root => last.filter(|_| unlinked && !self.tree.is_boundary(index)),
            });
        }
        cut_circles(&mut parents, &bridged);
        self.tree.parent = parents;
    }

    fn find_boundaries(&mut self) {
        for (index, tie) in self.ties.iter().enumerate() {
            if !self.tree.is_boundary(index) {
                continue;
            }
            let named = |id: &str| self.named(id, index);
            let covers = tie.covers.as_deref().and_then(named);
            let kept = tie.kept.as_ref().and_then(|kept| {
                let (head, tail) = (named(&kept.head)?, named(&kept.tail)?);
                // Without its anchor the segment follows the mark itself.
                Some(Segment { head, tail, anchor: named(&kept.anchor).unwrap_or(index) })
            });
            if let Some(record) = self.tree.records.get_mut(index) {
                record.body = Body::Boundary { covers, kept };
            }
        }
    }

    /// Joins lines of one message: the same message and the same request; where the request is not said, the line
    /// must continue one of the message. Some proxies give every message the same id.
    fn find_groups(&mut self, order: &[usize], solid: &[Option<usize>]) {
        let mut latest: HashMap<(&Chain<'_>, &str), usize> = HashMap::new();
        let mut said = Said::nothing();
        let mut firsts: Vec<&Ties<'_>> = Vec::new();
        for index in order.iter().copied() {
            let Some(tie) = self.ties.get(index) else { continue };
            if self.piece(index).is_none_or(|piece| piece.role != Role::Assistant) {
                continue;
            }
            let key = tie.message.as_deref().map(|id| (&tie.chain, id));
            let open = key.and_then(|key| latest.get(&key)).copied().filter(|open| {
                let request = firsts.get(*open).and_then(|first| first.request.as_deref());
                match (request, tie.request.as_deref()) {
                    (Some(one), Some(other)) => one == other,
                    _ => {
                        let above = solid.get(index).copied().flatten();
                        above.and_then(|above| self.tree.group_of(above)) == Some(*open)
                    }
                }
            });
            let group = open.unwrap_or(self.tree.groups.len());
            if open.is_none() {
                self.tree.groups.push(Vec::new());
                firsts.push(tie);
                if let Some(key) = key {
                    latest.insert(key, group);
                }
            }
            // What was replayed after a compaction or a resume stands twice.
            if said.is_new(group, &tie.raws) {
                let updated = self.updated(group, index);
                if let Some(lines) = self.tree.groups.get_mut(group) {
                    match updated.and_then(|place| lines.get_mut(place)) {
                        Some(line) => *line = index,
                        None => lines.push(index),
                    }
                }
            }
            if let Some(slot) = self.tree.group.get_mut(index) {
                *slot = Some(group);
            }
        }
    }

    /// Returns the place of the line of a group that was written once more with other words: the last counts.
    fn updated(&self, group: usize, index: usize) -> Option<usize> {
        let tie = self.ties.get(index)?;
        let uuid = tie.uuid.as_deref().filter(|uuid| matches!(self.ids.get(*uuid), Some(Places::Several(_))));
        let is_earlier = |line: &&Ties<'_>| line.uuid.as_deref() == uuid && line.parent == tie.parent;
        uuid?;
        self.tree.lines(group).iter().position(|line| self.ties.get(*line).as_ref().is_some_and(is_earlier))
    }

    /// Gives every result to the message whose call it answers. Where an id was given twice, it is the nearest one
    /// above the result, or else the latest before it.
    fn find_answers(&mut self, order: &[usize], solid: &[Option<usize>]) {
        // Far more than any real result is away from its call.
        const REACH: usize = 64;
        let mut callers: HashMap<&str, Places> = HashMap::new();
        for (group, lines) in self.tree.groups.iter().enumerate() {
            for piece in lines.iter().filter_map(|line| self.piece(*line)) {
                for call in piece.content.iter().filter_map(|block| block.as_call()) {
                    note(&mut callers, call.id.as_str(), group);
                }
            }
        }
        let mut answers = vec![Vec::new(); self.tree.groups.len()];
        for index in order.iter().copied() {
            let Some(piece) = self.piece(index).filter(|piece| piece.is_answer()) else { continue };
            let Some(id) =
                piece.content.iter().find_map(|block| block.as_result()).map(|result| &result.call_id)
            else {
                continue;
            };
            let Some(candidates) = callers.get(id.as_str()) else { continue };
            let caller = match candidates.as_slice() {
                [only] => Some(*only),
                several => {
                    let up = std::iter::successors(solid.get(index).copied().flatten(), |at| {
                        solid.get(*at).copied().flatten()
                    });
                    let mut near = up.take(REACH).filter_map(|at| self.tree.group_of(at));
                    let begins = |group: &usize| self.tree.lines(*group).first().copied();
                    near.find(|group| several.binary_search(group).is_ok()).or_else(|| {
                        let before = several.partition_point(|group| begins(group) < Some(index));
                        several.get(before.saturating_sub(1)).copied()
                    })
                }
            };
            if let Some(answers) = caller.and_then(|caller| answers.get_mut(caller)) {
                answers.push(index);
            }
        }
        self.tree.answers = answers;
    }
}

/// Cuts every circle once: where a gap was bridged, or else at its first record.
fn cut_circles(parents: &mut [Option<usize>], bridged: &HashSet<usize>) {
    #[derive(Copy, Clone, PartialEq, Eq)]
    enum Seen {
        Not,
        Now,
        Before,
    }
    // Only a parent below its record can close one.
    if parents.iter().enumerate().all(|(at, parent)| parent.is_none_or(|parent| parent < at)) {
        return;
    }
    let mut seen = vec![Seen::Not; parents.len()];
    let mut way = Vec::new();
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(here) = at {
            match seen.get(here).copied() {
                Some(Seen::Not) => {
                    way.push(here);
                    if let Some(mark) = seen.get_mut(here) {
                        *mark = Seen::Now;
                    }
                    at = parents.get(here).copied().flatten();
                }
                Some(Seen::Now) => {
                    let begins = way.iter().position(|on_way| *on_way == here).unwrap_or(0);
                    let circle = way.get(begins..).unwrap_or_default();
                    let gap = circle.iter().find(|at| bridged.contains(at)).or_else(|| circle.iter().min());
                    if let Some(parent) = gap.and_then(|cut| parents.get_mut(*cut)) {
                        *parent = None;
                    }
                    break;
                }
                _ => break,
            }
        }
        for at in way.drain(..) {
            if let Some(mark) = seen.get_mut(at) {
                *mark = Seen::Before;
            }
        }
    }
}
