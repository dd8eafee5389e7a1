//! What stays in the conversation where a branch was left.
//!
//! A note is a record beside the tree, never part of a stored message. Its words are fixed when it is made, so that the
//! provider's cache keeps them; whether it is shown is decided for every request, see [`render`](crate::render).

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{HeadMove, MessageTree, MoveId, MoveKind, NodeId};

use crate::mark::disarm;
use crate::one_line::one_line;
use crate::plan::{next_move, tool_names};
use crate::refusal::LISTED;

/// What a note is about, and with that whether it decays.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoteKind {
    /// From a failure. Decays.
    Lesson,
    /// From a tangent. Decays.
    Finding,
    /// From a completion. Pinned: stays as long as it is in force.
    Outcome,
    /// From a step summary. Pinned: stays as long as it is in force.
    Checkpoint,
    /// A revert was undone, and the branch that it left is back. Decays.
    Undone,
}

impl NoteKind {
    /// Returns whether the note stays as long as it is in force.
    pub const fn is_pinned(self) -> bool {
        matches!(self, NoteKind::Outcome | NoteKind::Checkpoint)
    }

    /// Returns the word in brackets with which the note begins, such as `revert-lesson`.
    pub const fn label(self) -> &'static str {
        match self {
            NoteKind::Lesson => "revert-lesson",
            NoteKind::Finding => "revert-finding",
            NoteKind::Outcome => "revert-outcome",
            NoteKind::Checkpoint => "revert-checkpoint",
            NoteKind::Undone => "revert-undone",
        }
    }

    /// Returns the line that points forward.
    ///
    /// It says that the step back is over and names no tool: an order to go back that stays in the prompt is followed
    /// again, and an absolute "never" is taken for more than was meant.
    const fn forward(self) -> &'static str {
        match self {
            NoteKind::Lesson => "This step back is complete; go on from here by another way.",
            NoteKind::Finding => "This step back is complete; go on from here with the task itself.",
            NoteKind::Outcome => {
                "That work is done and need not be repeated; go on from here with what comes next."
            }
            NoteKind::Checkpoint => {
                "That step is done and need not be repeated; go on from here with the next step."
            }
            NoteKind::Undone => "Go on from here.",
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label().trim_start_matches("revert-"))
    }
}

/// What stays where a branch was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// What the mover wrote; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The node after which it stands: the head at the moment when it was made.
    pub anchor: NodeId,
    /// The head move that it belongs to.
    pub made_by: MoveId,
    /// The nodes that the move took off the trunk, oldest first.
    pub abandoned: Vec<NodeId>,
    /// The names of the tools that were called there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The session's turn clock when it was made.
    pub turn: u32,
}

impl Note {
    /// Returns the note that an undo leaves at the head that it restores, or a person who goes back to a branch that was
    /// left; `None` for any other move.
    ///
    /// Give the move before it is recorded, as [`MessageTree::plan_undo`] returned it. A redo needs no note: the one
    /// that the revert left is in force again.
    pub fn undone(tree: &MessageTree, undo: &HeadMove, turn: u32) -> Option<Note> {
        let said = match undo.kind {
            MoveKind::Undo { of } => undone_words(tree, of),
            // What stands there may end in a result that says that it was left.
            MoveKind::Fork if !tree.is_on_trunk(undo.to) => Some(BACK),
            _ => return None,
        };
        let mut shared = undo.to;
        while !tree.is_on_trunk(shared) {
            shared = tree.node(shared).ok()?.parent()?;
        }
        let first_left = tree.node(shared).ok()?.depth() + 1;
        let abandoned = tree.trunk().ids().get(first_left..).unwrap_or_default();
        Some(Note {
            kind: NoteKind::Undone,
            summary: said.map(str::to_owned),
            anchor: undo.to,
            made_by: next_move(tree),
            tools: tool_names(tree, abandoned),
            abandoned: abandoned.to_vec(),
            turn,
        })
    }

    /// Returns the one line that says most: the summary, or what was left if there is none.
    pub fn text(&self) -> String {
        match (&self.summary, self.kind) {
            (Some(summary), _) => summary.clone(),
            (None, NoteKind::Undone) => {
                "an earlier step back was undone: the messages above stand again".to_owned()
            }
            (None, _) => self.left(),
        }
    }

    /// Returns whether the note says something true of the trunk as it is.
    ///
    /// Its anchor is on the trunk, nothing that its move took off is, and the move was not taken back.
    pub fn is_in_force(&self, tree: &MessageTree) -> bool {
        let stands = match tree.moves().get(self.made_by.index()).map(|made| made.kind) {
            None => false,
            // An undo is taken back by a redo, which can happen to it once.
            Some(MoveKind::Undo { .. }) => {
                let redo = MoveKind::Redo { of: self.made_by };
                !tree.moves().iter().any(|later| later.kind == redo)
            }
            Some(_) => tree.is_in_force(self.made_by),
        };
        stands && tree.is_on_trunk(self.anchor) && !self.abandoned.iter().any(|node| tree.is_on_trunk(*node))
    }

    /// Returns the note as the model reads it, on two lines. Never changes.
    pub(crate) fn rendered(&self) -> String {
        let mut line = self.text();
        let left = self.left();
        if !self.abandoned.is_empty() && line != left {
            line = format!("{line} — {left}");
        }
        // Truthful and short: no tool is undone by leaving the branch that called it.
        let effects = if self.tools.is_empty() {
            ""
        } else {
            "What tools changed there, files included, was not undone. "
        };
        format!(
            "[{}] {}\n{effects}{}",
            self.kind.label(),
            disarm(&one_line(&line, usize::MAX)),
            self.kind.forward()
        )
    }

    /// Returns how much was left, with the names of the first tools.
    fn left(&self) -> String {
        let count = self.abandoned.len();
        let messages = if count == 1 { "message" } else { "messages" };
        if self.tools.is_empty() {
            return format!("left {count} {messages}");
        }
        let shown = &self.tools[..self.tools.len().min(LISTED)];
        let more = if shown.len() < self.tools.len() { ", …" } else { "" };
        format!("left {count} {messages} ({}{more})", shown.join(", "))
    }
}

/// What a model reads where a person went back to.
const BACK: &str = "a person put the conversation back here: the messages above stand";

/// Says what was undone if that is no step back.
fn undone_words(tree: &MessageTree, mut of: MoveId) -> Option<&'static str> {
    while let Some(MoveKind::Redo { of: undo } | MoveKind::Undo { of: undo }) =
        tree.moves().get(of.index()).map(|made| made.kind)
    {
        of = undo;
    }
    match tree.moves().get(of.index())?.kind {
        MoveKind::Merge => Some("the merge that was made here was undone: what it brought is gone"),
        MoveKind::Fork | MoveKind::Import => {
            Some("an earlier move to another place was undone: the messages above stand again")
        }
        _ => None,
    }
}
