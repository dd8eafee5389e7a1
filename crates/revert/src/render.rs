//! The trunk with the notes that are in force, as a model is sent it.
//!
//! A note stands directly after its anchor, which was the head when the note was made. So a new note changes nothing
//! before it, and the provider's prompt cache keeps every byte up to there; only a decay breaks it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, MessageTree, MoveId, Node, Role, ToolCall, TrunkItem};

use crate::boundary::group_end;
use crate::mark::disarm_message;
use crate::prune::left_out;
use crate::{Break, Note, NoteKind, PrunePolicy, Pruned, Prunings};

/// What stands in place of notes that decayed between two assistant messages, so that roles still alternate.
pub(crate) const STUB: &str = "[revert-note] An older note stood here.";

/// How long notes that decay are shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RenderPolicy {
    /// A lesson is shown for this many turns after the one in which it was made. 5 unless told.
    pub lesson_window_turns: u32,
    /// The newest lessons are shown whatever their age, this many. 3 unless told.
    pub lesson_window_count: usize,
    /// The same for findings. 5 unless told.
    pub finding_window_turns: u32,
    /// The same for findings. 3 unless told.
    pub finding_window_count: usize,
    /// When a note that has had its time goes. Exactly then unless told.
    pub decay: Decay,
    /// Which results of tools are left out. None unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune: Option<PrunePolicy>,
}

impl Default for RenderPolicy {
    fn default() -> Self {
        RenderPolicy {
            lesson_window_turns: 5,
            lesson_window_count: 3,
            finding_window_turns: 5,
            finding_window_count: 3,
            decay: Decay::Exact,
            prune: None,
        }
    }
}

impl RenderPolicy {
    /// Returns for how many turns, and how many of the newest notes of a kind are shown; `None` for those that stay.
    pub(crate) fn window(&self, kind: NoteKind) -> Option<(u32, usize)> {
        match kind {
            NoteKind::Finding => Some((self.finding_window_turns, self.finding_window_count)),
            _ if kind.is_pinned() => None,
            _ => Some((self.lesson_window_turns, self.lesson_window_count)),
        }
    }
}

/// When a note that has had its time goes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Decay {
    /// At once. The provider's cache of everything behind it is lost then.
    #[default]
    Exact,
    /// Together with the next thing that loses the cache behind it anyway: until then the model reads an older note than it
    /// has to, and nothing is paid for its going.
    CacheMinding,
}

/// When a list is rendered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clock<'a> {
    /// The session's turn clock, see [`turn`].
    pub now: u32,
    /// When and where the provider's cache was lost so far, oldest first; only [`Decay::CacheMinding`] looks at it.
    pub breaks: &'a [Break],
    /// The results that the model asked to leave out; `None` if there are none.
    pub prunings: Option<&'a Prunings>,
}

impl<'a> Clock<'a> {
    /// Returns a clock for a cache that was never lost, or that nobody minds.
    pub fn new(now: u32) -> Self {
        Clock { now, breaks: &[], prunings: None }
    }

    /// Adds when the cache was lost.
    #[must_use]
    pub fn with_breaks(self, breaks: &'a [Break]) -> Self {
        Clock { breaks, ..self }
    }

    /// Adds what the model asked to leave out.
    #[must_use]
    pub fn with_prunings(self, prunings: &'a Prunings) -> Self {
        Clock { prunings: Some(prunings), ..self }
    }
}

/// Whether a note is shown, and if not, why.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoteState {
    /// The model reads it.
    Shown,
    /// It is in force, but too old.
    Decayed,
    /// It is not in force: the branch is back, the anchor was left, or the move was taken back.
    NotInForce,
}

/// Returns the session's turn clock: how many messages models have written in this tree, on any branch. What was only filed,
/// as an answer that was cut and asked for again, is none.
///
/// It never goes back: not with a revert, not with a new prompt, not with a restart. Costs one step.
pub fn turn(tree: &MessageTree) -> u32 {
    tree.replies()
}

/// Whether a node is one that the turn clock counts.
pub(crate) fn is_reply(node: &Node) -> bool {
    node.message().role == Role::Assistant && !node.is_filed()
}

/// Returns for each note whether it is shown at this turn. Give the notes in the order in which they were made.
///
/// A note that decays is shown within the last turns, or while it is among the newest of its kind that are in force.
/// Exact, whatever the policy says of the cache; [`render_at`] minds that too.
pub fn note_states(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    now_turn: u32,
) -> Vec<NoteState> {
    let in_force: Vec<bool> = notes.iter().map(|note| note.is_in_force(tree)).collect();
    (0..notes.len()).map(|index| state(notes, |note| in_force[note], index, policy, now_turn)).collect()
}

/// Returns whether a note is shown at a turn, counting only what had been made by then, and of that what `stands`.
fn state(
    notes: &[Note],
    stands: impl Fn(usize) -> bool,
    index: usize,
    policy: &RenderPolicy,
    turn: u32,
) -> NoteState {
    let note = &notes[index];
    if !stands(index) {
        return NoteState::NotInForce;
    }
    let Some((turns, count)) = policy.window(note.kind) else { return NoteState::Shown };
    if turn.saturating_sub(note.turn) <= turns {
        return NoteState::Shown;
    }
    // What a branch came to is one thing, also if a second note says it later.
    let mut newer: HashSet<MoveId> = HashSet::new();
    for (place, later) in notes.iter().enumerate().skip(index + 1) {
        if newer.len() >= count {
            break;
        }
        if later.kind == note.kind && later.turn <= turn && later.made_by != note.made_by && stands(place) {
            newer.insert(later.made_by);
        }
    }
    if newer.len() < count { NoteState::Shown } else { NoteState::Decayed }
}

/// Returns whether a note that stands behind this depth is shown while its going would cost more than its staying.
pub(crate) fn state_at(
    notes: &[Note],
    in_force: &[bool],
    index: usize,
    policy: &RenderPolicy,
    clock: &Clock<'_>,
    depth: usize,
) -> NoteState {
    // What was lost before the note was made, or only behind it, is no occasion to let it go.
    let occasion = |lost: &&Break| lost.turn >= notes[index].turn && lost.depth <= depth + 1;
    let exact = state(notes, |note| in_force[note], index, policy, clock.now);
    match clock.breaks.iter().rev().find(occasion) {
        // Which newer notes stood then is not known any more. All that were made count: what has gone must not come back
        // for a newer one that is left since.
        Some(lost) if exact == NoteState::Decayed => state(notes, |_| true, index, policy, lost.turn),
        _ if exact == NoteState::NotInForce => exact,
        _ => NoteState::Shown,
    }
}

/// The trunk as a model is sent it, and what the policy had to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// The messages, with the notes and with covering nodes in place of what they stand for.
    pub messages: Vec<Message>,
    /// The notes that have had their time and are shown all the same, because their going would cost more: for each its
    /// place in the list that was given, and how many messages behind it stay in the cache for that.
    pub delayed: Vec<(usize, usize)>,
    /// The results that were left out, in order.
    pub pruned: Vec<Pruned>,
    /// For each message the depth of what it shows on the trunk: a break of the cache there begins with that depth.
    pub(crate) depths: Vec<usize>,
}

/// Returns the trunk as a model is sent it: its messages and, each as a message of the harness, the notes shown now.
///
/// [`render_at`] with a cache that was never lost.
pub fn render(tree: &MessageTree, notes: &[Note], policy: &RenderPolicy, now_turn: u32) -> Vec<Message> {
    render_at(tree, notes, policy, &Clock::new(now_turn)).messages
}

/// Returns the trunk as a model is sent it, with what was delayed for the cache.
///
/// Notes of one anchor follow in the order in which they were made. Between two assistant messages a fixed stub takes
/// the place of notes that have all decayed. A node that covers a span stands in its place with the notes of the span
/// that are shown now directly after it: no summary can know what was learned on branches that were left. Results that the policy prunes,
/// or that the model asked to leave out, are shown as one line that says so. The raw trunk is [`MessageTree::trunk`]; nothing of it changes.
pub fn render_at(tree: &MessageTree, notes: &[Note], policy: &RenderPolicy, clock: &Clock<'_>) -> Rendered {
    let mut placed = placed(tree, notes, policy, clock).into_iter().peekable();
    let pruned_before = policy.prune.and_then(|prune| Some((prune, prune.cut(tree, clock.now)?)));
    let length = tree.trunk().ids().len();
    let mut messages: Vec<Message> = Vec::with_capacity(length + placed.len());
    let mut depths = Vec::with_capacity(length + placed.len());
    let mut delays: Vec<(usize, usize)> = Vec::new();
    let mut all_left_out: Vec<Pruned> = Vec::new();
    let mut calls: Vec<&ToolCall> = Vec::new();
    let mut items = tree.trunk().items().peekable();
    let mut depth = 0;
    while let Some(item) = items.next() {
        let message = item.message();
        if message.role == Role::Assistant {
            calls = message.calls().collect();
        }
        let (first, last, covered) = match item {
            TrunkItem::Node(..) => (depth, depth, false),
            TrunkItem::Cover { span: (first, last), .. } => (first, last, true),
        };
        depths.push(first);
        let by_rule = pruned_before.filter(|(_, cut)| item.id() < *cut);
        let asked = clock.prunings.is_some_and(|prunings| prunings.contains(item.id()));
        match by_rule.map(|(prune, _)| prune.pruned(message, &calls)).filter(|_| !asked) {
            None if asked && !covered => match left_out(message, &calls, |_| true) {
                Some((shorter, pruned)) => {
                    all_left_out.extend(pruned);
                    messages.push(shorter);
                }
                None => messages.push(message.clone()),
            },
            _ if covered => messages.push(shown_cover(message)),
            Some(Some((shorter, pruned))) => {
                all_left_out.extend(pruned);
                messages.push(shorter);
            }
            _ => messages.push(message.clone()),
        }
        depth = last + 1;
        let (mut shown, mut decayed) = (false, false);
        while let Some(placed) = placed.next_if(|placed| placed.depth <= last) {
            let note = &notes[placed.note];
            // No stub stands there for those that decayed.
            if covered && placed.state != NoteState::Shown {
                continue;
            }
            if placed.state == NoteState::Shown {
                shown = true;
                if placed.delayed {
                    delays.push((placed.note, messages.len()));
                }
                depths.push(depth);
                messages.push(Message::harness(note.rendered()));
            } else {
                decayed = true;
            }
        }
        let between_assistants = message.role == Role::Assistant
            && items.peek().is_some_and(|next| next.message().role == Role::Assistant);
        if decayed && !shown && between_assistants {
            depths.push(depth);
            messages.push(Message::harness(STUB));
        }
    }
    let delayed = delays.into_iter().map(|(note, at)| (note, messages.len() - at - 1)).collect();
    Rendered { messages, delayed, pruned: all_left_out, depths }
}

/// Returns a covering node as it is sent: without its name, which is on no trunk and so no place to go back to.
pub(crate) fn shown_cover(message: &Message) -> Message {
    let mut shown = message.clone();
    shown.node = None;
    // The harness made it harmless; what an import brought along was made by somebody else.
    disarm_message(&mut shown);
    shown
}

#[derive(PartialEq, Eq)]
pub(crate) struct Placed {
    depth: usize,
    note: usize,
    state: NoteState,
    delayed: bool,
}

/// Returns the notes that are in force, in the order in which they stand on the trunk.
pub(crate) fn placed(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    clock: &Clock<'_>,
) -> Vec<Placed> {
    let in_force: Vec<bool> = notes.iter().map(|note| note.is_in_force(tree)).collect();
    let mut placed: Vec<Placed> = Vec::new();
    for (index, note) in notes.iter().enumerate() {
        let exact = state(notes, |note| in_force[note], index, policy, clock.now);
        let (NoteState::Shown | NoteState::Decayed, Ok(anchor)) = (exact, tree.node(note.anchor)) else {
            continue;
        };
        // An undo may restore a head whose calls are answered only later; the answers come first.
        let depth = group_end(tree, anchor.depth());
        let state = match policy.decay {
            Decay::Exact => exact,
            Decay::CacheMinding => state_at(notes, &in_force, index, policy, clock, depth),
        };
        placed.push(Placed { depth, note: index, delayed: state != exact, state });
    }
    // Stable: notes of one place stay in the order in which they were made.
    placed.sort_by_key(|placed| placed.depth);
    placed
}
