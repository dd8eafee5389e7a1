//! How the records of a file hang together.
//!
//! Three links are told apart: which record continues which, which lines are one message of the model, and which
//! message a result answers. The file says the first; the others are found by ids, because a walk along the first
//! alone loses all but one of the calls that ran side by side.

use std::collections::{HashMap, HashSet};

use super::record::{Body, Chain, Parent, Record};
use crate::{Fault, FaultKind};

/// The records of a file, by position, and their links.
#[derive(Debug)]
pub(super) struct Links<'r, 'a> {
    /// The text of the file.
    pub(super) text: &'r str,
    pub(super) records: &'r [Record<'a>],
    pub(super) by_uuid: HashMap<&'r str, usize>,
    /// What each record continues.
    pub(super) parent: Vec<Option<usize>>,
    /// The lines of each message of the model, in order and without repetitions.
    pub(super) groups: Vec<Vec<usize>>,
    /// For each record the group that it belongs to.
    pub(super) group: Vec<Option<usize>>,
    /// For each group the records that answer its calls and hold nothing else, in order.
    pub(super) answers: Vec<Vec<usize>>,
}

impl<'r, 'a> Links<'r, 'a> {
    /// Finds the links. A parent that is not in the file is reported, and the line above taken in its place: it is
    /// where a line that could not be read has left a gap.
    pub(super) fn of(text: &'r str, records: &'r [Record<'a>], faults: &mut Vec<Fault>) -> Self {
        let uuid =
            |(index, record): (usize, &'r Record<'a>)| record.uuid.as_deref().map(|uuid| (uuid, index));
        let mut links = Links {
            text,
            records,
            by_uuid: records.iter().enumerate().filter_map(uuid).collect(),
            parent: Vec::with_capacity(records.len()),
            groups: Vec::new(),
            group: vec![None; records.len()],
            answers: Vec::new(),
        };
        links.find_parents(faults);
        let solid = links.solid();
        links.find_groups(&solid);
        links.find_answers(&solid);
        links
    }

    fn find_parents(&mut self, faults: &mut Vec<Fault>) {
        // Files made by hand often say that every line is the first.
        let unlinked = !self.records.iter().any(|record| matches!(record.parent, Parent::Id(_)));
        let mut above: HashMap<&Chain<'_>, usize> = HashMap::new();
        for (index, record) in self.records.iter().enumerate() {
            let boundary = matches!(record.body, Body::Boundary { .. });
            let last = above.insert(&record.chain, index).filter(|_| record.chain != Chain::Side(None));
            let parent = match &record.parent {
                Parent::Id(id) => match self.by_uuid.get(id.as_ref()) {
                    Some(parent) => Some(*parent).filter(|parent| *parent != index),
                    None => {
                        let kind = FaultKind::MissingParent { id: id.to_string() };
                        faults.push(Fault { line: record.line, kind });
                        last
                    }
                },
                Parent::Unsaid => last,
                Parent::Root => last.filter(|_| unlinked && !boundary),
            };
            self.parent.push(parent);
        }
    }

    /// Returns for each record the nearest one that it continues and that says something.
    fn solid(&self) -> Vec<Option<usize>> {
        let mut solid: Vec<Option<usize>> = Vec::with_capacity(self.records.len());
        for parent in &self.parent {
            let nearest =
                parent.and_then(|parent| match self.records.get(parent).map(|record| &record.body) {
                    Some(Body::Passage) => solid.get(parent).copied().flatten(),
                    _ => Some(parent),
                });
            solid.push(nearest);
        }
        solid
    }

    /// Joins lines of one message: the same message and the same request; where the request is not said, the line
    /// must continue one of the message. Some proxies give every message the same id.
    fn find_groups(&mut self, solid: &[Option<usize>]) {
        let mut latest: HashMap<(&Chain<'_>, &str), usize> = HashMap::new();
        let mut seen: HashSet<(usize, &[&str])> = HashSet::new();
        for (index, record) in self.records.iter().enumerate() {
            let Some(piece) =
                record.piece().filter(|piece| piece.role == trunkline_message_tree::Role::Assistant)
            else {
                continue;
            };
            let key = piece.id.as_deref().map(|id| (&record.chain, id));
            let open = key.and_then(|key| latest.get(&key)).copied().filter(|open| {
                let first = self.groups.get(*open).and_then(|lines| lines.first());
                let request = first
                    .and_then(|first| self.records.get(*first))
                    .and_then(|first| first.piece())
                    .and_then(|first| first.request.as_deref());
                match (request, piece.request.as_deref()) {
                    (Some(one), Some(other)) => one == other,
                    _ => {
                        solid
                            .get(index)
                            .copied()
                            .flatten()
                            .and_then(|above| self.group.get(above).copied().flatten())
                            == Some(*open)
                    }
                }
            });
            let group = open.unwrap_or(self.groups.len());
            if open.is_none() {
                self.groups.push(Vec::new());
                if let Some(key) = key {
                    latest.insert(key, group);
                }
            }
            // What was replayed after a compaction or a resume stands twice.
            if seen.insert((group, &piece.raws))
                && let Some(lines) = self.groups.get_mut(group)
            {
                lines.push(index);
            }
            if let Some(slot) = self.group.get_mut(index) {
                *slot = Some(group);
            }
        }
    }

    /// Gives every result to the message whose call it answers. Where an id was given twice, it is the nearest one
    /// above the result, or else the latest before it.
    fn find_answers(&mut self, solid: &[Option<usize>]) {
        // Far more than any real result is away from its call.
        const REACH: usize = 64;
        let mut callers: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut calls: HashSet<(usize, &str)> = HashSet::new();
        for (group, lines) in self.groups.iter().enumerate() {
            for record in lines.iter().filter_map(|line| self.records.get(*line)) {
                let ids = record
                    .piece()
                    .into_iter()
                    .flat_map(|piece| &piece.content)
                    .filter_map(|block| block.as_call());
                for call in ids {
                    callers.entry(&call.id).or_default().push(group);
                    calls.insert((group, &call.id));
                }
            }
        }
        let mut answers = vec![Vec::new(); self.groups.len()];
        for (index, record) in self.records.iter().enumerate() {
            let Some(piece) = record.piece().filter(|piece| piece.is_results()) else { continue };
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
                    let mut near = up.take(REACH).filter_map(|at| self.group.get(at).copied().flatten());
                    let begins =
                        |group: &usize| self.groups.get(*group).and_then(|lines| lines.first()).copied();
                    near.find(|group| calls.contains(&(*group, id.as_str()))).or_else(|| {
                        let before = several.partition_point(|group| begins(group) < Some(index));
                        several.get(before.saturating_sub(1)).copied()
                    })
                }
            };
            if let Some(answers) = caller.and_then(|caller| answers.get_mut(caller)) {
                answers.push(index);
            }
        }
        self.answers = answers;
    }

    /// Returns the records from a leaf up to where the next request would begin, leaf first.
    pub(super) fn up_from(&self, leaf: usize) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut up = Vec::new();
        let mut at = Some(leaf);
        while let Some(here) = at.filter(|here| seen.insert(*here)) {
            up.push(here);
            at = self.parent.get(here).copied().flatten();
        }
        up
    }
}
