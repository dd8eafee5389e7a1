//! What the log holds of plans: whether one is asked for, and which were approved.
//!
//! An approval holds where its call stands on the trunk and nowhere else, so whoever leaves that branch needs another one; the
//! demand for a plan holds on every branch, also on those that were there before it.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_session_store::Note;

use crate::notes::plan::{APPROVED, ApprovedNote, MODE, ModeNote, PlanRecord};
use crate::notes::record;
use crate::words::error::RuntimeError;
use crate::words::work::Id;

/// What the log holds of plans.
#[derive(Default)]
pub struct Part {
    /// The run for which a plan was asked for last.
    asked: Option<String>,
    /// Where the calls of the plans stand that were approved since then.
    approved: Vec<NodeId>,
    /// The proposals that are plans.
    proposed: BTreeSet<Id>,
    /// What a person has made of those that were approved otherwise than proposed.
    edited: BTreeMap<Id, PlanRecord>,
    /// Whether nothing but reading is done: a plan is asked for, and none that was approved stands on the trunk.
    is_on: bool,
}

impl Part {
    /// Takes in a note, and says whether it was one of these.
    pub(crate) fn record(&mut self, note: &Note) -> Result<bool, RuntimeError> {
        match note.kind.as_str() {
            MODE => {
                let ModeNote { run } = record::read(note)?;
                self.asked = Some(run);
                self.approved.clear();
            }
            APPROVED => {
                let ApprovedNote { proposal, call, edited, .. } = record::read(note)?;
                self.approved.push(call.node);
                self.edited.extend(edited.map(|edited| (proposal, edited)));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn proposed(&mut self, id: Id) {
        self.proposed.insert(id);
    }

    /// Nothing that was approved elsewhere holds here.
    pub(crate) fn distrust(&mut self) {
        self.approved.clear();
    }

    /// Looks where the head is now.
    pub(crate) fn refresh(&mut self, tree: &MessageTree) {
        self.is_on = self.asked.is_some() && !self.approved.iter().any(|call| tree.is_on_trunk(*call));
    }

    /// Returns whether nothing but reading is done before a person approves a plan.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns whether a plan was ever asked for: from then on the model has the tool that proposes one.
    pub fn was_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns whether a plan was asked for in this run.
    pub(crate) fn was_asked_in(&self, run: &str) -> bool {
        self.asked.as_deref() == Some(run)
    }

    /// Returns whether a proposal is a plan.
    pub fn is_plan(&self, id: Id) -> bool {
        self.proposed.contains(&id)
    }

    /// Returns what a person has made of a plan before they approved it.
    pub fn edited(&self, id: Id) -> Option<&PlanRecord> {
        self.edited.get(&id)
    }
}
