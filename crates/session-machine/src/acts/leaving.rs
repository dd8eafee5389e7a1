//! Leaving a branch: what a move of the head carries, whoever makes it.

use trunkline_message_tree::{Draft, HeadMove, Message, MessageTree, NodeId, Timestamp};
use trunkline_revert::{Mover, Note, Outcome, Plan, Rates, SummaryBy};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::ledger;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes;
use crate::words::error::RuntimeError;

/// The move that a turn ends in, ready to be recorded after its result nodes.
pub(crate) struct Leaving {
    pub(crate) outcome: Outcome,
    /// Whether somebody is to be asked what the branch came to.
    pub(crate) asks: bool,
}

impl Leaving {
    /// Adds what was already done on the branch and what leaving it costs. The draft holds what else leaves with it.
    pub(crate) fn told(
        mut self,
        (view, tree): (&View<'_>, &MessageTree),
        asked: &mut Asked<'_>,
        draft: &Draft<'_>,
    ) -> Result<Self, Pause> {
        let (left, back) = (&self.outcome.record.abandoned, &self.outcome.record.back);
        let ledger = ledger::of((view, tree), asked, draft, self.outcome.stays, (left, back))?;
        let drafted = ledger::drafted(draft);
        let appended: Vec<&Message> = left.iter().filter_map(|id| drafted.get(id).copied()).collect();
        let reverts = view.setup.revert.as_deref();
        let rates = reverts.and_then(|reverts| reverts.rates.clone()).unwrap_or_else(Rates::uncached);
        self.outcome = self.outcome.with_ledger(ledger).with_price(tree, appended, &rates);
        let note = &self.outcome.note;
        let unsaid = note.summary.is_none() || note.by == SummaryBy::Mechanical;
        self.asks = unsaid && reverts.is_some() && view.setup.summarizes;
        Ok(self)
    }

    /// Makes the move, and copies words of a person after it.
    pub(crate) fn move_head(
        &mut self,
        _: &MessageTree,
        draft: &mut Draft<'_>,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        draft.move_head(self.head_move())?;
        let mut copies = Vec::new();
        for copy in &self.outcome.copies {
            copies.push(draft.append(copy.message.clone(), at)?);
        }
        self.outcome = self.outcome.clone().with_copies(&copies);
        Ok(())
    }

    pub(crate) fn head_move(&self) -> HeadMove {
        self.outcome.head_move.clone()
    }

    /// Returns the name of the move, for whoever wants to know which one put something aside.
    pub(crate) fn move_name(&self) -> String {
        self.outcome.note.made_by.to_string()
    }

    /// Returns the nodes that leave the trunk.
    pub(crate) fn left(&self) -> &[NodeId] {
        &self.outcome.record.abandoned
    }

    /// Returns the nodes that come back to it.
    pub(crate) fn back(&self) -> &[NodeId] {
        &self.outcome.record.back
    }

    /// Returns the copies that the move has made of words of a person, after their originals.
    pub(crate) fn copies(&self) -> Vec<(NodeId, NodeId)> {
        self.outcome.record.rebased.iter().map(|link| (link.original, link.copy)).collect()
    }

    pub(crate) fn records(&self, at: Timestamp) -> Vec<Record> {
        let mut records = vec![
            notes::revert::told(&self.outcome.note, at),
            notes::revert::drained(&self.outcome.record, at),
        ];
        if self.asks {
            records.push(notes::revert::summary_asked(self.outcome.note.made_by, at));
        }
        records
    }
}

/// Plans a person's own revert, which may cross prompts.
pub(crate) fn plan_by_person(
    tree: &MessageTree,
    to: NodeId,
    lesson: Option<&str>,
) -> Result<Planned, RuntimeError> {
    plan_request(tree, &trunkline_revert::Request::new(trunkline_revert::Category::Failure, to, lesson))
}

/// Plans what a person has agreed to.
pub(crate) fn plan_request(
    tree: &MessageTree,
    request: &trunkline_revert::Request,
) -> Result<Planned, RuntimeError> {
    trunkline_revert::plan(tree, request, Mover::PERSON)
        .map(|plan| Planned { plan })
        .map_err(|refusal| RuntimeError::Refused { reason: refusal.to_string() })
}

/// A person's revert, before the nodes are known that still come before it.
pub(crate) struct Planned {
    plan: Plan,
}

impl Planned {
    /// Says how many tokens a prompt may have.
    pub(crate) fn in_window(self, window: Option<u64>) -> Self {
        match window {
            Some(window) => Planned { plan: self.plan.in_window(window) },
            None => self,
        }
    }

    pub(crate) fn leaving(self, tree: &MessageTree, results: &[NodeId], at: Timestamp) -> Leaving {
        Leaving { outcome: self.plan.outcome(results, at, trunkline_revert::turn(tree)), asks: false }
    }
}

/// Returns the note that an undo leaves at the head that it restores. The draft holds what else leaves with the move.
pub(crate) fn undone(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    undo: &HeadMove,
    draft: &Draft<'_>,
) -> Result<Option<Record>, Pause> {
    let tree = &view.state.tree;
    let note = Note::undone(tree, undo, trunkline_revert::turn(tree));
    let (Some(mut note), Ok(shared)) = (note, tree.fork_of(undo.to)) else { return Ok(None) };
    let mut appended: Vec<NodeId> = ledger::drafted(draft).into_keys().collect();
    appended.sort_unstable();
    note.abandoned.extend(appended);
    let ledger = ledger::of((view, tree), asked, draft, shared, (&note.abandoned, &[]))?;
    Ok(Some(notes::revert::told(&note.with_ledger(ledger), view.at)))
}
