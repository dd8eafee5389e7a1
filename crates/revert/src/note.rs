//! What stays in the conversation where a branch was left.
//!
//! A note is a record beside the tree, never part of a stored message. Its words are fixed when it is made, so that the
//! provider's cache keeps them; whether it is shown is decided for every request, see [`render`](crate::render).

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Author, HeadMove, MessageTree, MoveId, MoveKind, NodeId};

use crate::Ledger;
use crate::ledger::mechanical;
use crate::mark::disarm;
use crate::one_line::one_line;
use crate::plan::{next_move, tool_names};
use crate::refusal::LISTED;

/// The most of a ledger that a note prints, in characters: it is sent with every request for as long as the note is.
const LEDGER_CHARS: usize = 600;
/// The longest summary that nobody wrote on purpose, in characters.
const MECHANICAL_CHARS: usize = 240;
/// The longest summary that comes later, in characters.
const LATE_CHARS: usize = 600;

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

/// Whose words a summary is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SummaryBy {
    /// Whoever asked to go.
    #[default]
    Mover,
    /// Nobody: it was put together from what calls and results show, because the mover gave none. It quotes tools.
    Mechanical,
    /// A model that was asked afterwards what the branch came to. It has read what tools said there.
    Model,
}

impl SummaryBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
    fn is_mover(&self) -> bool {
        *self == SummaryBy::Mover
    }
}

/// What stays where a branch was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// What the branch came to; `None` if there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whose words the summary is.
    #[serde(default, skip_serializing_if = "SummaryBy::is_mover")]
    pub by: SummaryBy,
    /// Who moved the head. Notes of earlier versions do not tell, and read as those of a model.
    #[serde(default = "model", skip_serializing_if = "is_model")]
    pub author: Author,
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
    /// What was already done on the branch. Notes of earlier versions have none, and read as they always did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
    /// The first node of the branch that the model went back to with this move; `None` if it left a branch for an earlier node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<NodeId>,
}

impl Note {
    /// Returns the note that an undo leaves at the head that it restores, or a person who goes back to a branch that was
    /// left; `None` for any other move.
    ///
    /// Give the move before it is recorded, as [`MessageTree::plan_undo`] returned it. A redo needs no note: the one
    /// that the revert left is in force again.
    pub fn undone(tree: &MessageTree, undo: &HeadMove, turn: u32) -> Option<Note> {
        let (mut shared, mut first_back) = (undo.to, None);
        while !tree.is_on_trunk(shared) {
            first_back = Some(shared);
            shared = tree.node(shared).ok()?.parent()?;
        }
        let said = match undo.kind {
            MoveKind::Undo { of } => undone_words(tree, of, first_back)?,
            // What stands there may end in a result that says that it was left.
            MoveKind::Fork if first_back.is_some() => BACK.to_owned(),
            _ => return None,
        };
        let first_left = tree.node(shared).ok()?.depth() + 1;
        let abandoned = tree.trunk().ids().get(first_left..).unwrap_or_default();
        Some(Note {
            kind: NoteKind::Undone,
            summary: Some(said),
            by: SummaryBy::Mover,
            author: Author::Person,
            anchor: undo.to,
            made_by: next_move(tree),
            tools: tool_names(tree, abandoned),
            abandoned: abandoned.to_vec(),
            turn,
            ledger: None,
            back: None,
        })
    }

    /// Returns what is told of a branch after the note that stands where it was left: a summary that took its time.
    ///
    /// `anchor` is the head now: nothing before it changes, so the provider's cache keeps it. It is in force while the
    /// move of the first note is, the anchor is on the trunk and nothing that was left is back. The text is folded to one
    /// line of at most 600 characters.
    pub fn late(of: &Note, text: &str, anchor: NodeId, turn: u32) -> Note {
        Note {
            kind: of.kind,
            summary: Some(one_line(text, LATE_CHARS)),
            by: SummaryBy::Model,
            author: of.author,
            anchor,
            made_by: of.made_by,
            abandoned: of.abandoned.clone(),
            tools: of.tools.clone(),
            turn,
            ledger: None,
            back: None,
        }
    }

    /// Adds what was already done on the branch that is left; if the mover said nothing, a summary is made of it.
    ///
    /// The words are fixed by this: the summary is stored, and the ledger always prints the same.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Ledger) -> Note {
        if self.summary.is_none() && self.kind != NoteKind::Undone {
            let text = mechanical(&ledger.without_lines(), MECHANICAL_CHARS);
            if !text.is_empty() {
                self.summary = Some(text);
                self.by = SummaryBy::Mechanical;
            }
        }
        self.ledger = Some(ledger);
        self
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
    /// Its anchor is on the trunk, nothing that its move took off is, and the move was not taken back. Costs the same
    /// however many moves there were.
    pub fn is_in_force(&self, tree: &MessageTree) -> bool {
        // What was left is one line, oldest first: if its first node is off the trunk, all are.
        let is_back = self.abandoned.first().is_some_and(|first| tree.is_on_trunk(*first));
        tree.is_in_force(self.made_by) && tree.is_on_trunk(self.anchor) && !is_back
    }

    /// Returns the note as the model reads it: a line, the ledger if there is one, and a line that points forward. Never
    /// changes.
    pub(crate) fn rendered(&self) -> String {
        if self.by == SummaryBy::Model {
            return format!("[{}] {}", self.kind.label(), harmless(&self.late_line()));
        }
        let (said, left) = (self.text(), self.left());
        // Whoever wrote the summary: what nobody said is not put into the mover's mouth.
        let own = self.by == SummaryBy::Mover && said != left;
        let mut line = match self.mover() {
            _ if self.back.is_some() => self.came_back(&said, &left),
            Some(mover) if own => format!("{mover} went back here: {said}"),
            Some(mover) if said != left => format!("{mover} went back here; what was left: {said}"),
            Some(mover) => format!("{mover} went back here"),
            None => said,
        };
        if !self.abandoned.is_empty() && line != left {
            line = format!("{line} — {left}");
        }
        let done = self.ledger.as_ref().map(|ledger| ledger.text(LEDGER_CHARS)).unwrap_or_default();
        let done = if done.is_empty() { done } else { format!("{done}\n") };
        // Truthful and short: no tool is undone by leaving the branch that called it.
        let effects = match &self.ledger {
            Some(ledger) if ledger.may_last() => "Nothing in this list was undone. ",
            Some(_) => "",
            None if self.tools.is_empty() => "",
            None => "What tools changed there, files included, was not undone. ",
        };
        let forward = if self.back.is_some() { NoteKind::Undone.forward() } else { self.kind.forward() };
        format!("[{}] {}\n{done}{effects}{forward}", self.kind.label(), harmless(&line))
    }

    /// Returns who went back, where that is not the one who reads it: a model would take another's step for its own.
    fn mover(&self) -> Option<&'static str> {
        match self.author {
            _ if self.kind == NoteKind::Undone => None,
            Author::Person => Some("the user"),
            Author::Harness => Some("the harness"),
            _ => None,
        }
    }

    /// Says that a branch stands again, which may end in a result that says that it was left.
    fn came_back(&self, said: &str, left: &str) -> String {
        let first = self.back.unwrap_or(self.anchor);
        let said = if said == left { String::new() } else { format!("; what was left for it: {said}") };
        format!("you came back to this branch: the messages from {first} on stand again{said}")
    }

    /// Returns a summary that came later with what it is about: what stands between is not part of it.
    fn late_line(&self) -> String {
        let count = self.abandoned.len();
        let messages = if count == 1 { "message" } else { "messages" };
        format!("a later summary of what was left ({count} {messages}): {}", self.text())
    }

    /// Returns how much was left, with the names of the first tools.
    fn left(&self) -> String {
        let count = self.abandoned.len();
        let messages = if count == 1 { "message" } else { "messages" };
        // A summary that was made mechanically begins with the tools.
        if self.tools.is_empty() || self.by == SummaryBy::Mechanical {
            return format!("left {count} {messages}");
        }
        let shown = &self.tools[..self.tools.len().min(LISTED)];
        let more = if shown.len() < self.tools.len() { ", …" } else { "" };
        format!("left {count} {messages} ({}{more})", shown.join(", "))
    }
}

/// Folds text to one line that holds neither mark nor note.
fn harmless(text: &str) -> String {
    disarm(&one_line(text, usize::MAX)).into_owned()
}

/// What a model reads where a person went back to.
const BACK: &str = "the user put the conversation back here: the messages above stand";

/// Says what was undone, and where what is back begins; a person did it.
fn undone_words(tree: &MessageTree, of: MoveId, first_back: Option<NodeId>) -> Option<String> {
    let made = tree.moves().get(tree.first_made(of)?.index())?;
    let words = match (made.kind, first_back) {
        (MoveKind::Merge, _) => {
            "the merge made here was undone by the user: what it brought is gone".to_owned()
        }
        (MoveKind::Fork | MoveKind::Import, _) => {
            "an earlier move to another place was undone by the user: the messages above stand again"
                .to_owned()
        }
        (_, Some(first)) => {
            format!(
                "the step back to {} was undone by the user: the messages from {first} on stand again",
                made.to
            )
        }
        (_, None) => {
            format!("the step back to {} was undone by the user: the messages above stand again", made.to)
        }
    };
    Some(words)
}

const fn model() -> Author {
    Author::Model
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
fn is_model(author: &Author) -> bool {
    *author == Author::Model
}
