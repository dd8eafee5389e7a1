//! The trunk with the notes that are in force, as a model is sent it.
//!
//! A note stands directly after its anchor, which was the head when the note was made. So a new note changes nothing
//! before it, and the provider's prompt cache keeps every byte up to there; only a decay breaks it.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, MessageTree, Role};

use crate::boundary::group_end;
use crate::{Note, NoteKind};

/// What stands in place of notes that decayed between two assistant messages, so that roles still alternate.
const STUB: &str = "[revert-note] An older note stood here.";

/// How long notes that decay are shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RenderPolicy {
    /// A note is shown for this many turns after the one in which it was made. 5 unless told.
    pub lesson_window_turns: u32,
    /// The newest notes of a kind are shown whatever their age, this many of each. 3 unless told.
    pub lesson_window_count: usize,
}

impl Default for RenderPolicy {
    fn default() -> Self {
        RenderPolicy { lesson_window_turns: 5, lesson_window_count: 3 }
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

/// Returns the session's turn clock: how many messages models have written in this tree, on any branch.
///
/// It never goes back: not with a revert, not with a new prompt, not with a restart. Costs one step per node; whoever
/// appends messages can count along.
pub fn turn(tree: &MessageTree) -> u32 {
    tree.nodes().filter(|(_, node)| node.message().role == Role::Assistant).count() as u32
}

/// Returns for each note whether it is shown at this turn. Give the notes in the order in which they were made.
///
/// A note that decays is shown within the last turns, or while it is among the newest of its kind that are in force.
pub fn note_states(
    tree: &MessageTree,
    notes: &[Note],
    policy: &RenderPolicy,
    now_turn: u32,
) -> Vec<NoteState> {
    let mut newer: Vec<(NoteKind, usize)> = Vec::new();
    let mut states: Vec<NoteState> = notes
        .iter()
        .rev()
        .map(|note| {
            if !note.is_in_force(tree) {
                return NoteState::NotInForce;
            }
            let rank = match newer.iter_mut().find(|(kind, _)| *kind == note.kind) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    newer.push((note.kind, 0));
                    0
                }
            };
            let recent = now_turn.saturating_sub(note.turn) <= policy.lesson_window_turns;
            if note.kind.is_pinned() || recent || rank < policy.lesson_window_count {
                NoteState::Shown
            } else {
                NoteState::Decayed
            }
        })
        .collect();
    states.reverse();
    states
}

/// Returns the trunk as a model is sent it: its messages and, each as a message of the harness, the notes shown now.
///
/// Notes of one anchor follow in the order in which they were made. Between two assistant messages a fixed stub takes
/// the place of notes that have all decayed. The raw trunk is [`MessageTree::trunk`]; nothing of it changes.
pub fn render(tree: &MessageTree, notes: &[Note], policy: &RenderPolicy, now_turn: u32) -> Vec<Message> {
    let states = note_states(tree, notes, policy, now_turn);
    let mut placed: Vec<(usize, &Note, NoteState)> = Vec::new();
    for (note, state) in notes.iter().zip(states) {
        if let (true, Ok(anchor)) = (state != NoteState::NotInForce, tree.node(note.anchor)) {
            // An undo may restore a head whose calls are answered only later; the answers come first.
            placed.push((group_end(tree, anchor.depth()), note, state));
        }
    }
    // Stable: notes of one place stay in the order in which they were made.
    placed.sort_by_key(|(place, ..)| *place);

    let mut rendered = Vec::with_capacity(tree.trunk().ids().len() + placed.len());
    let mut placed = placed.into_iter().peekable();
    let mut messages = tree.trunk().messages().enumerate().peekable();
    while let Some((depth, message)) = messages.next() {
        rendered.push(message.clone());
        let (mut shown, mut decayed) = (false, false);
        while let Some((_, note, state)) = placed.next_if(|(place, ..)| *place == depth) {
            if state == NoteState::Shown {
                shown = true;
                rendered.push(Message::harness(note.rendered()));
            } else {
                decayed = true;
            }
        }
        let between_assistants = message.role == Role::Assistant
            && messages.peek().is_some_and(|(_, next)| next.role == Role::Assistant);
        if decayed && !shown && between_assistants {
            rendered.push(Message::harness(STUB));
        }
    }
    rendered
}
