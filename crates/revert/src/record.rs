//! What a turn's reverts leave behind: a head move, a note, and for every request a record.
//!
//! A refused request has a record too, with the target as it was named: somebody who reads the log later wants to know
//! what the model tried.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Author, Content, HeadMove, Message, MessageTree, MoveId, NodeId, Timestamp};

use crate::boundary::is_prompt;
use crate::{
    CallPlace, Category, Ledger, Mover, Note, Plan, Price, Rates, Refusal, Request, SummaryBy, Uncovered,
};

/// What became of one request, for the log and for observers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Why the branch was to be left.
    pub category: Category,
    /// The node that was named.
    pub target: NodeId,
    /// The node on which the head is now; `None` if the request was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<NodeId>,
    /// The nodes that left the trunk, oldest first; empty if the request was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<NodeId>,
    /// The line that was taken along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the head moved.
    pub applied: bool,
    /// The refusal as the model read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who asked.
    pub author: Author,
    /// The call that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallPlace>,
    /// The head move that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_id: Option<MoveId>,
    /// The words of a person that were copied after the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebased: Vec<Rebased>,
    /// What it costs and saves in prompt tokens, and what the next request should read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What is shown again that a compaction stood for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<Uncovered>,
    /// The nodes that came back to the trunk, oldest first; empty unless the model went back to a branch that it had left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<NodeId>,
}

/// Words of a person that left the trunk and follow on the new branch.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebased {
    /// The message that left.
    pub original: NodeId,
    /// Its copy.
    pub copy: NodeId,
}

/// Words of a person that are to follow on the new branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptCopy {
    /// The message that leaves.
    pub original: NodeId,
    /// It without the results of tools that stand in it: those belong to calls of the branch that is left.
    pub message: Message,
}

impl PromptCopy {
    /// Returns what of a node follows; `None` if nothing of it is a person's own.
    pub(crate) fn of(tree: &MessageTree, original: NodeId) -> Option<PromptCopy> {
        let mut message =
            tree.node(original).ok().map(|node| node.message()).filter(|it| is_prompt(it))?.clone();
        message.content.retain(|block| !matches!(block, Content::ToolResult(_)));
        message.node = None;
        Some(PromptCopy { original, message })
    }
}

impl Record {
    /// Returns the record of a request that was refused.
    pub fn refused(request: &Request, refusal: &Refusal, mover: Mover) -> Self {
        Record::not_applied(request, refusal.to_string(), mover)
    }

    pub(crate) fn not_applied(request: &Request, reason: String, mover: Mover) -> Self {
        Record {
            category: request.category,
            target: request.target,
            landed: None,
            abandoned: Vec::new(),
            summary: request.summary.clone(),
            applied: false,
            reason: Some(reason),
            author: mover.author,
            call: request.call.clone(),
            move_id: None,
            rebased: Vec::new(),
            price: None,
            uncovered: None,
            back: Vec::new(),
        }
    }
}

/// What to write, in one batch, when a plan is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The move, for [`Draft::move_head`](trunkline_message_tree::Draft::move_head) after the results were appended.
    pub head_move: HeadMove,
    /// The note that stands at the target from now on.
    pub note: Note,
    /// The record of the request.
    pub record: Record,
    /// The words of a person to append after the move, in order; see [`Outcome::with_copies`].
    pub copies: Vec<PromptCopy>,
    /// The last node that stays where it is: where the move goes, or, of a return to a branch, where that branch parts.
    pub stays: NodeId,
}

impl Outcome {
    /// Returns it with the names that the copies have got, in order, so that the record links them to the originals.
    ///
    /// A copy is appended after the move with [`Draft::append`](trunkline_message_tree::Draft::append).
    #[must_use]
    pub fn with_copies(mut self, copies: &[NodeId]) -> Self {
        let links = self.copies.iter().zip(copies);
        self.record.rebased =
            links.map(|(from, copy)| Rebased { original: from.original, copy: *copy }).collect();
        self
    }
}

impl Outcome {
    /// Returns it with what was already done on the branch that is left, see [`Note::with_ledger`].
    ///
    /// The ledger is that of everything that leaves, with the results that were appended after the plan.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Ledger) -> Self {
        self.note = self.note.with_ledger(ledger);
        self
    }

    /// Returns it with its price. Give the tree without `appended`, the messages that came after the plan and leave too;
    /// add the ledger before, for it is a part of the note.
    #[must_use]
    pub fn with_price<'a>(
        mut self,
        tree: &MessageTree,
        appended: impl IntoIterator<Item = &'a Message>,
        rates: &Rates,
    ) -> Self {
        let copies = self.copies.iter().map(|copy| &copy.message);
        // What comes back may be cached still, and nobody knows for how long: it counts as read anew.
        let back = self.record.back.iter().filter_map(|id| tree.node(*id).ok()).map(|node| node.message());
        let note = self.note.rendered();
        self.record.price = Some(Price::at(tree, self.stays, (&note, back.chain(copies)), appended, rates));
        self
    }
}

impl Plan {
    /// Returns what to write when the plan is carried out.
    ///
    /// `appended` are the nodes that came after the head since the plan was made, in order: the results of the turn,
    /// and nothing else, for they leave unasked; a prompt that arrives meanwhile belongs after the move. `turn` is the
    /// session's turn clock, see [`turn`](crate::turn). A plan for a head that has moved since is refused by the draft,
    /// because the move starts elsewhere.
    pub fn outcome(self, appended: &[NodeId], at: Timestamp, turn: u32) -> Outcome {
        let kind = self.move_kind();
        let from = appended.last().copied().unwrap_or(self.head);
        let mut abandoned = self.leaving;
        abandoned.extend_from_slice(appended);
        let Request { category, target, summary, call } = self.request;
        let note = Note {
            kind: category.note_kind(),
            summary: summary.clone(),
            by: SummaryBy::Mover,
            author: self.author,
            anchor: self.target,
            made_by: self.move_id,
            abandoned: abandoned.clone(),
            tools: self.tools,
            turn,
            ledger: None,
            back: self.back.first().copied(),
        };
        let record = Record {
            category,
            target,
            landed: Some(self.target),
            abandoned,
            summary,
            applied: true,
            reason: None,
            author: self.author,
            call,
            move_id: Some(self.move_id),
            rebased: Vec::new(),
            price: None,
            uncovered: self.uncovered,
            back: self.back,
        };
        let head_move = HeadMove { from, to: self.target, kind, at };
        Outcome { copies: self.copies, head_move, note, record, stays: self.stays }
    }
}
