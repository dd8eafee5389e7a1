//! Which notes stand on the trunk, and which of them are shown, kept up to date.
//!
//! A note is looked at again only if a node that it names came, left or joined the trunk, if its move was taken back or
//! made again, or if it is among the newest of its kind.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

use trunkline_message_tree::{HeadMove, Message, MessageTree, MoveId, MoveKind, NodeId};

use crate::boundary::group_end;
use crate::render::{Clock, Decay, NoteState, RenderPolicy, STUB, state_at};
use crate::{Note, NoteKind};

/// What became of the trunk since notes were looked at.
pub(super) struct Changes<'a> {
    /// The depth up to which it is what it was.
    pub(super) from: usize,
    /// The nodes that were behind it, and those that are.
    pub(super) left: &'a [NodeId],
    pub(super) joined: &'a [NodeId],
    pub(super) moves: &'a [HeadMove],
}

/// The notes of a session, as they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    // For each note the depth behind which it stands, or last stood, and whether it is in force.
    depths: Vec<usize>,
    in_force: Vec<bool>,
    // All that are in force, by depth, and those of them that are shown.
    placed: BTreeSet<(usize, usize)>,
    shown: BTreeSet<(usize, usize)>,
    // Those of the kinds that decay.
    decaying: HashMap<NoteKind, Decaying>,
    // Where to look when something happens to what a note names. Sorted, because what happens happens to what is new, and
    // that lies together then.
    by_anchor: BTreeSet<(NodeId, usize)>,
    by_left: BTreeSet<(NodeId, usize)>,
    by_move: BTreeSet<(MoveId, usize)>,
    // Notes that name what does not exist yet.
    early: Vec<usize>,
    // Whether there was a note with an older turn than the one before it, as no session makes them.
    unordered: bool,
    // The latest turn in which any of them was made.
    newest: u32,
    now: u32,
    breaks: usize,
}

/// The notes of one kind that are in force, and those of them that are shown.
#[derive(Clone, Debug, Default)]
struct Decaying {
    in_force: BTreeSet<usize>,
    shown: BTreeSet<usize>,
}

impl Standing {
    /// Returns the number of notes.
    pub(super) fn len(&self) -> usize {
        self.depths.len()
    }

    /// Returns how many breaks of the cache were looked at.
    pub(super) fn breaks(&self) -> usize {
        self.breaks
    }

    /// Whether there is a note that names what does not exist yet.
    pub(super) fn names_unknown(&self) -> bool {
        !self.early.is_empty()
    }

    /// Takes in what changed and returns the depths at which notes may read otherwise now.
    pub(super) fn refresh(
        &mut self,
        tree: &MessageTree,
        notes: &[Note],
        policy: &RenderPolicy,
        clock: &Clock<'_>,
        changes: &Changes<'_>,
    ) -> BTreeSet<usize> {
        let mut concerned = self.concerned(tree, changes);
        concerned.extend(self.add(notes));
        let mut dirty = BTreeSet::new();
        let mut kinds = BTreeSet::new();
        for index in concerned {
            let note = &notes[index];
            if names_unknown(note, tree) {
                self.early.push(index);
            }
            let anchor = tree.node(note.anchor).ok().filter(|_| note.is_in_force(tree));
            let (was, is) = (self.in_force[index], anchor.is_some());
            let depth = anchor.map_or(self.depths[index], |anchor| group_end(tree, anchor.depth()));
            if (was, self.depths[index]) == (is, depth) {
                continue;
            }
            let was_shown = was && self.shown.remove(&(self.depths[index], index));
            if was {
                self.placed.remove(&(self.depths[index], index));
                dirty.insert(self.depths[index]);
            }
            if is {
                self.placed.insert((depth, index));
                dirty.insert(depth);
            }
            (self.in_force[index], self.depths[index]) = (is, depth);
            if policy.window(note.kind).is_some() {
                let kind = self.decaying.entry(note.kind).or_default();
                if is {
                    kind.in_force.insert(index)
                } else {
                    kind.in_force.remove(&index)
                };
                kinds.insert(note.kind.label());
                // Whether it is still shown is seen below, with all of its kind.
                if is && was_shown {
                    self.shown.insert((depth, index));
                }
            } else if is {
                self.shown.insert((depth, index));
            }
        }
        let time_came = match policy.decay {
            Decay::Exact => self.now != clock.now,
            // Notes and breaks of another tree may be ahead of this one's clock. Each counts once that comes to it.
            Decay::CacheMinding => {
                let lost = clock.breaks.last().map_or(0, |lost| lost.turn);
                self.breaks != clock.breaks.len() || self.newest.max(lost) > self.now
            }
        };
        (self.now, self.breaks) = (clock.now, clock.breaks.len());
        for (kind, decaying) in &mut self.decaying {
            let Some(window) = policy.window(*kind) else { continue };
            if !time_came && !kinds.contains(kind.label()) {
                continue;
            }
            let shown: BTreeSet<usize> = match policy.decay {
                Decay::Exact => exactly_shown(&decaying.in_force, notes, window, clock.now, self.unordered),
                Decay::CacheMinding => {
                    let state = |index: &usize| {
                        state_at(notes, &self.in_force, *index, policy, clock, self.depths[*index])
                    };
                    decaying
                        .in_force
                        .iter()
                        .copied()
                        .filter(|index| state(index) == NoteState::Shown)
                        .collect()
                }
            };
            for index in shown.symmetric_difference(&decaying.shown) {
                let place = (self.depths[*index], *index);
                dirty.insert(place.0);
                if shown.contains(index) {
                    self.shown.insert(place)
                } else {
                    self.shown.remove(&place)
                };
            }
            decaying.shown = shown;
        }
        dirty
    }

    /// Returns the depths and numbers of the notes that are shown though their time is over, in order.
    pub(super) fn delayed(&self, notes: &[Note], policy: &RenderPolicy) -> BTreeSet<(usize, usize)> {
        let mut delayed = BTreeSet::new();
        for (kind, decaying) in &self.decaying {
            let (Decay::CacheMinding, Some(window)) = (policy.decay, policy.window(*kind)) else { continue };
            let exactly = exactly_shown(&decaying.in_force, notes, window, self.now, self.unordered);
            let over = decaying.shown.difference(&exactly);
            delayed.extend(over.map(|index| (self.depths[*index], *index)));
        }
        delayed
    }

    /// Returns how many notes are shown from a depth on and before a note.
    pub(super) fn shown_before(&self, depth: usize, note: (usize, usize)) -> usize {
        self.shown.range((depth, 0)..note).count()
    }

    /// Returns the notes that what changed may concern.
    fn concerned(&mut self, tree: &MessageTree, changes: &Changes<'_>) -> BTreeSet<usize> {
        let mut concerned: BTreeSet<usize> = self.early.drain(..).collect();
        // What comes next can belong to the group behind which a note stands.
        let end = changes.from.saturating_sub(1);
        let grew = changes.from > 0 && group_end(tree, end) != end;
        let at_end = self.placed.range((if grew { end } else { changes.from }, 0)..);
        concerned.extend(at_end.map(|(_, index)| *index));
        // Without a move nothing that is known came on the trunk or left it.
        if changes.moves.is_empty() {
            return concerned;
        }
        // Of the notes whose anchor left, those that were in force stand behind `from`; the others stay out of force.
        concerned.extend(of_any(&self.by_anchor, changes.joined));
        concerned.extend(of_any(&self.by_left, changes.joined));
        concerned.extend(of_any(&self.by_left, changes.left));
        for head_move in changes.moves {
            let (MoveKind::Undo { of: taken_back } | MoveKind::Redo { of: taken_back }) = head_move.kind
            else {
                continue;
            };
            let taken_back = [Some(taken_back), tree.first_made(taken_back)].into_iter().flatten();
            concerned.extend(taken_back.flat_map(|id| of(&self.by_move, id)));
        }
        concerned
    }

    /// Takes in the notes that came and returns them.
    fn add(&mut self, notes: &[Note]) -> std::ops::Range<usize> {
        let new = self.depths.len()..notes.len();
        for index in new.clone() {
            let note = &notes[index];
            self.unordered |= index > 0 && notes[index - 1].turn > note.turn;
            self.newest = self.newest.max(note.turn);
            self.by_anchor.insert((note.anchor, index));
            self.by_left.extend(note.abandoned.first().map(|first| (*first, index)));
            self.by_move.insert((note.made_by, index));
        }
        self.depths.resize(notes.len(), 0);
        self.in_force.resize(notes.len(), false);
        new
    }

    /// Returns the notes that are shown behind an item of the trunk, or what takes their place.
    pub(super) fn after(
        &self,
        notes: &[Note],
        depths: RangeInclusive<usize>,
        covered: bool,
        between_assistants: impl FnOnce() -> bool,
    ) -> Vec<Message> {
        let places = (*depths.start(), 0)..=(*depths.end(), usize::MAX);
        let shown = self.shown.range(places.clone()).map(|(_, index)| &notes[*index]);
        let shown: Vec<Message> = shown.map(|note| Message::harness(note.rendered())).collect();
        let decayed = shown.is_empty() && !covered && self.placed.range(places).next().is_some();
        if decayed && between_assistants() { vec![Message::harness(STUB)] } else { shown }
    }
}

/// Returns the notes that are listed for some nodes of one line, root first.
fn of_any<'a>(listed: &'a BTreeSet<(NodeId, usize)>, line: &'a [NodeId]) -> impl Iterator<Item = usize> {
    // Ids grow along a line, and what nobody has named yet is the newest part of it.
    let newest = listed.last().map(|(newest, _)| *newest);
    line.iter()
        .take_while(move |id| newest.is_some_and(|newest| **id <= newest))
        .flat_map(|id| of(listed, *id))
}

/// Returns the notes that are listed for a node or a move.
fn of<K: Ord + Copy>(listed: &BTreeSet<(K, usize)>, key: K) -> impl Iterator<Item = usize> {
    listed.range((key, 0)..=(key, usize::MAX)).map(|(_, index)| *index)
}

/// Returns the notes of a kind that are shown if each goes exactly when its time has come.
fn exactly_shown(
    in_force: &BTreeSet<usize>,
    notes: &[Note],
    (turns, count): (u32, usize),
    now: u32,
    unordered: bool,
) -> BTreeSet<usize> {
    let mut shown = BTreeSet::new();
    let mut newer: HashSet<MoveId> = HashSet::new();
    for index in in_force.iter().rev() {
        let Note { turn, made_by, .. } = notes[*index];
        let others = newer.len() - usize::from(newer.contains(&made_by));
        if others < count || now.saturating_sub(turn) <= turns {
            shown.insert(*index);
        } else if !unordered {
            // All that are left are older.
            break;
        }
        if turn <= now {
            newer.insert(made_by);
        }
    }
    shown
}

/// Returns whether a note names a node or a move that did not come yet.
fn names_unknown(note: &Note, tree: &MessageTree) -> bool {
    let unknown = |id: &NodeId| id.index() >= tree.len();
    let left = note.abandoned.first().is_some_and(unknown);
    unknown(&note.anchor) || left || note.made_by.index() >= tree.moves().len()
}
