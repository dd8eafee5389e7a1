//! A session as its log tells it, for whoever only looks.
//!
//! The same fold as that of the writer, so what people are shown and what happens next cannot disagree. Needs no lease and
//! works while another process writes.

use trunkline_message_tree::{MessageTree, Names};
use trunkline_session_store::Log;

use crate::RuntimeError;
use crate::state::State;

/// A session as it was when its log was read.
pub struct View {
    state: State,
    #[cfg(feature = "decision-objects")]
    verdicts: Vec<(trunkline_message_tree::NodeId, trunkline_decision_objects::Decision)>,
}

impl View {
    /// Folds a log. Notes of layers that this build does not have are passed over.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Tree`] and [`RuntimeError::BadNote`] if the log does not fit together.
    pub fn of(log: &Log) -> Result<Self, RuntimeError> {
        let state = State::replay(log)?;
        #[cfg(feature = "decision-objects")]
        let mut state = state;
        Ok(View {
            #[cfg(feature = "decision-objects")]
            verdicts: state.decision.take_verdicts(),
            state,
        })
    }

    /// Returns everything that was said, wherever it stands.
    pub fn tree(&self) -> &MessageTree {
        &self.state.tree
    }

    /// Returns the names that nodes and branches were given.
    pub fn names(&self) -> &Names {
        &self.state.names
    }

    /// Returns who was asked last, if that is a server that was named by its address ([`AgentBuilder::asked_at`]).
    ///
    /// What came with an import is not told once a writer has opened the session; before that, ask the inbox.
    ///
    /// [`AgentBuilder::asked_at`]: crate::AgentBuilder::asked_at
    pub fn asked(&self) -> Option<&crate::Asked> {
        self.state.wants.asked()
    }

    /// Returns every merge, oldest first, also those that were undone.
    #[cfg(feature = "revert")]
    pub fn merges(&self) -> &[trunkline_revert::MergeRecord] {
        &self.state.revert.merges
    }

    /// Returns the notes that reverts have left, oldest first.
    #[cfg(feature = "revert")]
    pub fn notes(&self) -> &[trunkline_revert::Note] {
        &self.state.revert.notes
    }

    /// Returns the requests to revert, applied and refused, oldest first.
    #[cfg(feature = "revert")]
    pub fn reverts(&self) -> &[trunkline_revert::Record] {
        &self.state.revert.drained
    }

    /// Returns the steps back that are proposed and that nobody has answered, oldest first.
    #[cfg(feature = "revert")]
    pub fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &trunkline_revert::Proposal> {
        self.state.revert.steps.open.open()
    }

    /// Returns everything that was recorded of proposals of steps back, oldest first.
    #[cfg(feature = "revert")]
    pub fn step_backs(&self) -> &[trunkline_revert::ProposalEvent] {
        &self.state.revert.steps.told
    }

    /// Returns when and where the provider's cache was lost, and why, oldest first.
    #[cfg(feature = "revert")]
    pub fn cache_breaks(&self) -> &[trunkline_revert::Break] {
        &self.state.revert.breaks
    }

    /// Returns the staged actions and what became of them.
    #[cfg(feature = "resolve-queue")]
    pub fn proposals(&self) -> &trunkline_resolve_queue::Queue<serde_json::Value> {
        &self.state.resolve.queue
    }

    /// Returns the rules that were given in this session, also those that do not count any more.
    #[cfg(feature = "resolve-queue")]
    pub fn rules(&self) -> &trunkline_resolve_queue::Rules {
        &self.state.resolve.rules
    }

    /// Returns what the model decided with its tool, by the place of the call, oldest first.
    #[cfg(feature = "resolve-queue")]
    pub fn resolutions(
        &self,
    ) -> impl Iterator<Item = (&crate::CallPlace, &trunkline_resolve_queue::ResolutionDetails)> {
        self.state.resolve.choices.resolved()
    }

    /// Returns whether a proposal is a call that waits to be run, and not an edit.
    #[cfg(feature = "resolve-queue")]
    pub fn is_call(&self, id: trunkline_resolve_queue::ProposalId) -> bool {
        self.state.resolve.gated_call(id).is_some()
    }

    /// Returns the verdicts, oldest first, each with the node that was the newest when it came.
    #[cfg(feature = "decision-objects")]
    pub fn verdicts(&self) -> &[(trunkline_message_tree::NodeId, trunkline_decision_objects::Decision)] {
        &self.verdicts
    }

    /// Returns whether a run has begun that has no verdict yet.
    #[cfg(feature = "decision-objects")]
    pub fn has_open_run(&self) -> bool {
        self.state.decision.is_open()
    }

    /// Returns the run that has no verdict yet, if there is one.
    #[cfg(feature = "decision-objects")]
    pub fn open_run(&self) -> Option<trunkline_decision_objects::RunId> {
        self.state.decision.run.as_ref().map(|run| run.record.id())
    }

    /// Returns the decision that the open run takes back, if that is what it is for: it was cut off.
    #[cfg(feature = "decision-objects")]
    pub fn open_rollback(&self) -> Option<trunkline_decision_objects::DecisionId> {
        self.state.decision.run.as_ref()?.restoring.as_ref().map(|restoring| restoring.of)
    }
}
