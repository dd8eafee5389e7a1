//! Which records of a long log have to be folded again for a session to go on as it would.
//!
//! Of what stands on the trunk, and of what is not settled, everything is read. Of branches that were left the nodes are
//! kept bare, and of runs that are decided and proposals that are settled there nothing is: what asks for them reads the
//! log whole.

use std::collections::{BTreeSet, HashSet};

use trunkline_message_tree::{Author, BareNode, Link, Node, NodeId};
use trunkline_session_store::Note;

use crate::notes::answer::{ATTEMPT, WRITTEN_UNDER};
use crate::notes::partial::{About, Applied, Decided, Holds, Named, Reminds};
use crate::notes::{choice, decision, journal, preimage, record, resolve, revert, service, task, tree};
use crate::reading::spine::{Spine, Step};
use crate::state::State;
use crate::words::work::Id;

/// What stood at one place of the log.
pub enum Seen {
    /// A node.
    Node(NodeId),
    /// A move of the head.
    Move,
    /// A note.
    Note(Box<Note>),
    /// Bytes.
    Blob,
}

/// How many turns of the latest, on whatever branch, a watch is told of. It would remember a thousand outcomes, each of which costs
/// an opening some microseconds.
const WATCHED_TURNS: usize = 256;

/// How many reverts of the latest it is told of.
const WATCHED_REVERTS: usize = 64;

/// Returns whether the trunk is so short that a fold without the rest is worth keeping.
pub fn saves(state: &State) -> bool {
    state.tree.trunk().ids().len() * 2 < state.tree.len()
}

/// Returns what leads to a state from which a session goes on as from this one; `None` while something is under way
/// that may need more.
pub fn trim(state: &State, seen: &[(u64, Seen)]) -> Option<Spine> {
    if state.decision.is_being_settled() || state.revert.awaits_answer() {
        return None;
    }
    let needs = Needs::of(state, seen);
    let steps = seen.iter().filter_map(|(seq, seen)| {
        let step = match seen {
            Seen::Node(id) => needs.node(*id)?,
            Seen::Move => Step::Read,
            Seen::Note(note) => needs.note(*seq, note).then_some(Step::Read)?,
            Seen::Blob => return None,
        };
        Some((*seq, step))
    });
    Some(Spine { steps: steps.collect(), tally: state.tally() })
}

struct Needs<'a> {
    state: &'a State,
    /// What came since then belongs to a run that is open.
    since: u64,
    newest: Option<NodeId>,
    /// The first message of each model, so that it is known who has answered.
    first_of_origin: HashSet<NodeId>,
    proposals: BTreeSet<Id>,
    /// The messages whose calls made them.
    proposed: HashSet<NodeId>,
    last: Last,
}

/// The number of the newest record of each kind of which only the newest counts.
#[derive(Default)]
struct Last {
    went_on: u64,
    told: u64,
    watched: u64,
    drained: u64,
    applied: u64,
    choices: u64,
    held: u64,
    policy: u64,
    mark: u64,
    decided: u64,
}

impl<'a> Needs<'a> {
    fn of(state: &'a State, seen: &[(u64, Seen)]) -> Self {
        let mut origins = HashSet::new();
        let firsts = state.tree.nodes().filter_map(|(id, node)| {
            let origin = node.message().origin.as_ref()?;
            origins.insert(origin).then_some(id)
        });
        let first_of_origin = firsts.collect();
        let (since, newest) =
            state.decision.open_since().map_or((u64::MAX, None), |(seq, node)| (seq, Some(node)));
        let mut last = Last::default();
        for (seq, seen) in seen {
            match seen {
                Seen::Move => last.went_on = *seq,
                Seen::Node(id) if state.tree.node(*id).is_ok_and(goes_on) => last.went_on = *seq,
                Seen::Note(note) => last.note(state, *seq, note),
                Seen::Node(_) | Seen::Blob => {}
            }
        }
        last.watched = from_the_last(WATCHED_TURNS, seen, revert::TURN);
        last.drained = from_the_last(WATCHED_REVERTS, seen, revert::DRAINED);
        let proposals = state.resolve.needed(&state.tree, since);
        let calls = proposals.iter().filter_map(|id| state.resolve.queue.get(*id)?.proposal.call.as_ref());
        let proposed = calls.filter_map(|call| call.node.parse().ok()).collect();
        Needs { state, since, newest, first_of_origin, proposals, proposed, last }
    }

    fn node(&self, id: NodeId) -> Option<Step> {
        let tree = &self.state.tree;
        let node = tree.node(id).ok()?;
        // What is bare already stays so.
        if self.is_whole(id, node) && !node.is_bare() {
            return Some(Step::Read);
        }
        let (role, author) = (node.message().role, node.message().author);
        let (at, link) = (node.at(), node.link().clone());
        Some(Step::Bare(BareNode { id, parent: node.parent()?, at, link, role, author }))
    }

    fn is_whole(&self, id: NodeId, node: &Node) -> bool {
        self.state.tree.is_on_trunk(id)
            || matches!(node.link(), Link::Cover { .. })
            || self.newest.is_some_and(|newest| id > newest)
            || self.first_of_origin.contains(&id)
            || self.proposed.contains(&id)
    }

    fn note(&self, seq: u64, note: &Note) -> bool {
        let last = &self.last;
        if seq >= self.since {
            return true;
        }
        match (note.layer.as_str(), note.kind.as_str()) {
            (journal::LAYER, journal::CALL_STARTED | journal::CALL_FINISHED) => self.is_of_what_is_read(note),
            (journal::LAYER, WRITTEN_UNDER) => self.is_of_what_is_read(note),
            (journal::LAYER, ATTEMPT) => seq > last.went_on,
            (journal::LAYER, service::SERVICE | service::WINDOW | service::ASKED) => true,
            (tree::TREE, tree::NAME) | (journal::LAYER, journal::TOOL_LABEL) => true,
            (revert::LAYER, revert::TURN) => seq >= last.watched || self.is_of_what_is_read(note),
            (revert::LAYER, revert::DRAINED) => seq >= last.drained || seq == last.applied,
            (revert::LAYER, revert::CACHE_MISS | revert::MERGE_REFUSED) => false,
            // The unknown ones of these layers, too.
            (revert::LAYER, _) => true,
            (resolve::LAYER, resolve::UNTOLD) => seq > last.told,
            (resolve::LAYER, resolve::TOLD) => seq == last.told,
            (resolve::LAYER, choice::CHOICES) => {
                [last.choices, last.held, last.policy].contains(&seq) || self.reminds(note)
            }
            (resolve::LAYER, choice::RESOLVING) => self.is_of_what_is_read(note),
            (
                resolve::LAYER,
                resolve::EVENT | preimage::KEPT | resolve::STANDING | resolve::GATED | resolve::DISCARD_HOOK,
            ) => record::read::<Named>(note).is_ok_and(|named| self.proposals.contains(&named.proposal)),
            (resolve::LAYER, _) => true,
            (decision::LAYER, decision::RUN) => seq == last.mark,
            (decision::LAYER, decision::DECIDED) => seq == last.decided,
            // What was spent stands in the tally.
            (decision::LAYER, task::INTENT | task::TASK | task::BOUNDS | task::ENDED) => true,
            // Of a run that is over.
            _ => false,
        }
    }

    /// Returns whether a note is about a node that is read. One that cannot be read itself is kept, so that it is told as before.
    fn is_of_what_is_read(&self, note: &Note) -> bool {
        let node = record::read::<About>(note).map(|about| match about {
            About { call: Some(call), .. } => Some(call.node),
            About { node, .. } => node,
        });
        let is_read = |id: NodeId| self.state.tree.node(id).is_ok_and(|node| self.is_whole(id, node));
        node.ok().flatten().is_none_or(is_read)
    }

    fn reminds(&self, note: &Note) -> bool {
        let Ok(Reminds { reminder }) = record::read::<Reminds>(note) else { return true };
        reminder.is_some_and(|at| self.state.tree.is_on_trunk(at.node))
    }
}

impl Last {
    fn note(&mut self, state: &State, seq: u64, note: &Note) {
        match (note.layer.as_str(), note.kind.as_str()) {
            (resolve::LAYER, resolve::TOLD) => self.told = seq,
            (resolve::LAYER, choice::CHOICES) => {
                self.choices = seq;
                let Holds { held, policy } = record::read(note).unwrap_or_default();
                if held.is_some() {
                    self.held = seq;
                }
                if policy.is_some() {
                    self.policy = seq;
                }
            }
            (revert::LAYER, revert::DRAINED)
                if record::read::<Applied>(note).is_ok_and(|one| one.applied) =>
            {
                self.applied = seq;
            }
            (decision::LAYER, decision::RUN) => self.mark = seq,
            (decision::LAYER, decision::DECIDED) => {
                let of = record::read::<Decided>(note).ok();
                let last = state.decision.last().map(|last| last.run().to_string());
                if of.is_some_and(|of| Some(of.run) == last) {
                    self.decided = seq;
                }
            }
            _ => {}
        }
    }
}

/// Returns with which record the last so many notes of reverts of a kind begin.
fn from_the_last(count: usize, seen: &[(u64, Seen)], kind: &str) -> u64 {
    let is_one =
        |seen: &Seen| matches!(seen, Seen::Note(note) if note.layer == revert::LAYER && note.kind == kind);
    let found = seen.iter().rev().filter(|(_, seen)| is_one(seen));
    found.take(count).last().map_or(0, |(seq, _)| *seq)
}

/// Whether the conversation went on with this node, so that attempts before it are over.
fn goes_on(node: &Node) -> bool {
    !node.is_filed() && node.message().author != Author::Harness
}
