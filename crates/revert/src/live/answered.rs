//! What the newest reply answered, kept to see where the next request does not continue it.
//!
//! The full computation replays the tree as it was and renders it twice. Here the list that was sent is a copy that costs
//! nothing, and of how it lay on the trunk only what has changed since is kept.

use trunkline_message_tree::{Covered, MessageList, MessageTree, NodeId};

use super::{LiveContext, covered_at};
use crate::cache::{Told, why};
use crate::{Break, Decay, Note};

/// The list as it was brought up to date last before the newest reply came.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    reply: NodeId,
    moves: usize,
    notes: usize,
    breaks: usize,
    // How many results the model had left out of it.
    prunings: usize,
    list: MessageList,
    // How many messages, from the first, have stood since.
    same: usize,
    covers: Vec<Covered>,
    // Before this depth everything lies as it lay then. From there on: the nodes as they were, and for each of them the place
    // behind its messages.
    from: usize,
    ids: Vec<NodeId>,
    ends: Vec<usize>,
}

impl Answered {
    /// Returns what a reply answered, if `live` was brought up to date last right before it came.
    pub(super) fn by(reply: NodeId, seen: usize, live: &LiveContext, tree: &MessageTree) -> Option<Self> {
        let is_next = reply.index() == seen;
        // Later moves are never made at older nodes.
        let moved = tree.reflog().nth(live.moves).is_some_and(|next| next.newest < reply);
        (is_next && !moved && !live.standing.names_unknown()).then(|| Answered {
            reply,
            moves: live.moves,
            notes: live.standing.len(),
            breaks: live.standing.breaks(),
            prunings: live.prunings.len().saturating_sub(live.asked.len()),
            list: live.list.clone(),
            same: live.list.len(),
            covers: live.covers.clone(),
            from: live.ids.len(),
            ids: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Keeps how things lay from this depth on, before that changes.
    pub(super) fn keep(&mut self, from: usize, ids: &[NodeId], starts: &[usize]) {
        if from < self.from {
            self.ids.splice(..0, ids[from..self.from].iter().copied());
            self.ends.splice(..0, starts[from + 1..=self.from].iter().copied());
            self.from = from;
        }
    }

    /// Takes in that only so many messages, from the first, are what they were.
    pub(super) fn stays(&mut self, kept: usize) {
        self.same = self.same.min(kept);
    }

    /// What [`cache_break`](crate::cache_break) returns; the outer `None` if that is not known from what is kept.
    #[expect(clippy::option_option, reason = "no break, and not known, are two answers")]
    pub(super) fn cache_break(
        &self,
        live: &LiveContext,
        tree: &MessageTree,
        notes: &[Note],
        breaks: &[Break],
    ) -> Option<Option<Break>> {
        let now_turn = live.turn();
        let then_turn = now_turn.saturating_sub(1);
        let told_then = breaks.len() - breaks.iter().rev().take_while(|lost| lost.turn > then_turn).count();
        // A note counts as one that was there if its move was.
        let was_there = |note: &Note| {
            note.made_by.index() < self.moves && (note.anchor < self.reply || note.turn <= then_turn)
        };
        if live.prunings.count_before(self.reply) != self.prunings {
            return None;
        }
        if notes.get(self.notes..)?.iter().any(was_there)
            || live.policy.decay != Decay::Exact && told_then != self.breaks
        {
            return None;
        }
        let pairs = self.list.iter().skip(self.same).zip(live.messages.iter().skip(self.same));
        let same = self.same + pairs.take_while(|(sent, next)| sent == next).count();
        if same == self.list.len() {
            return Some(None);
        }
        let starts = |depth: usize| live.starts[depth];
        let depth = depth_at(same, live.ids.len(), starts, &live.covers);
        if breaks[told_then..].iter().any(|lost| lost.turn == now_turn && lost.depth <= depth) {
            return Some(None);
        }
        let starts_then = |depth: usize| match depth.checked_sub(self.from + 1) {
            Some(behind) => self.ends[behind],
            None => live.starts[depth],
        };
        let depth_then = depth_at(same, self.from + self.ids.len(), starts_then, &self.covers);
        let begins = |covers: &[Covered], depth: usize| {
            covered_at(covers, depth).filter(|cover| cover.first == depth).map(|cover| cover.by)
        };
        let fork = (self.from + self.ids.partition_point(|id| tree.is_on_trunk(*id))).saturating_sub(1);
        let next = live.messages.get(same).and_then(|message| message.node);
        let sent = self.list.get(same).and_then(|message| message.node);
        let cause = why(&Told {
            left: tree.moves().len() > self.moves && fork < depth,
            was: begins(&self.covers, depth_then),
            is: begins(&live.covers, depth),
            reply: self.reply,
            // All else that a node says stays.
            pruned_otherwise: next.is_some() && next == sent,
        });
        Some(Some(Break { turn: now_turn, depth, cause }))
    }
}

/// Returns the depth of what is shown at a place, as [`Rendered`](crate::Rendered) counts it: a note has the depth behind the item
/// behind which it stands.
fn depth_at(place: usize, length: usize, starts: impl Fn(usize) -> usize, covers: &[Covered]) -> usize {
    let (mut low, mut high) = (0, length);
    // The last depth that begins at the place or before it.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if starts(middle) <= place { low = middle } else { high = middle - 1 }
    }
    if low == length || starts(low) == place {
        return low;
    }
    covered_at(covers, low).map_or(low, |cover| cover.last) + 1
}
