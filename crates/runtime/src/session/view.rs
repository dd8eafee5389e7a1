//! A session as its log tells it, for whoever only looks.
//!
//! The same fold as that of the writer, so what people are shown and what happens next cannot disagree. Needs no lease and
//! works while another process writes.

use trunkline_message_tree::{MessageTree, Names, NodeId};
use trunkline_session_store::{Log, SessionId, SessionInfo, SessionStore};

use crate::writer::outlining;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::reading::unanswered::standings;
use trunkline_session_machine::state::State;

/// A session as it was when its log was read.
pub struct View {
    session: SessionId,
    state: State,
    verdicts: Vec<(NodeId, trunkline_decision_objects::Decision)>,
    /// The number of each node's record, where some are bare.
    places: Vec<u64>,
}

impl View {
    fn new(mut state: State, session: SessionId, places: Vec<u64>) -> Self {
        View { session, verdicts: state.decision.take_verdicts(), state, places }
    }

    /// Folds a log. Notes of layers that are not known are passed over.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Tree`] and [`RuntimeError::BadNote`] if the log does not fit together.
    pub fn of(log: &Log) -> Result<Self, RuntimeError> {
        let state = State::replay(log)?;
        Ok(View::new(state, log.info.id.clone(), Vec::new()))
    }

    /// Reads what happened in a session, as it was when this was said of it, without what was said: all nodes of the tree but
    /// the root [are bare](trunkline_message_tree::Node::is_bare), and who wrote them is not known either. Everything else is
    /// as [`View::of`] tells it, but that there are no resolutions.
    ///
    /// Reads the log's spine, its moves, and notes: neither messages nor the results of calls. [`View::fill`] reads some.
    ///
    /// # Errors
    ///
    /// Those of [`View::of`]; [`RuntimeError::Store`].
    pub async fn outline(store: &dyn SessionStore, info: &SessionInfo) -> Result<Self, RuntimeError> {
        let (state, places) = outlining::state_of(store, info).await?;
        Ok(View::new(state, info.id.clone(), places))
    }

    /// Reads the messages of those of these nodes that are bare.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Tree`] if there is no such node; [`RuntimeError::Store`].
    pub async fn fill(&mut self, store: &dyn SessionStore, nodes: &[NodeId]) -> Result<(), RuntimeError> {
        outlining::fill(&mut self.state, store, (&self.session, &self.places), nodes).await
    }

    /// Returns everything that was said, wherever it stands.
    pub fn tree(&self) -> &MessageTree {
        &self.state.tree
    }

    /// Returns the names that nodes and branches were given.
    pub fn names(&self) -> &Names {
        &self.state.names
    }

    /// Returns what people are shown for a tool, as it was recorded when the tool ran, or as it follows from the name.
    pub fn tool_label(&self, name: &str) -> String {
        self.state.labels.get(name).cloned().unwrap_or_else(|| trunkline_message_tree::tool_label(name))
    }

    /// Returns who was asked last, if that is a server that was named by its address ([`AgentBuilder::asked_at`]).
    ///
    /// What came with an import is not told once a writer has opened the session; before that, ask the inbox.
    ///
    /// [`AgentBuilder::asked_at`]: crate::AgentBuilder::asked_at
    pub fn asked(&self) -> Option<&trunkline_session_machine::Asked> {
        self.state.wants.asked()
    }

    /// Returns the newest task that the session was given, with what was spent on it until now as far as messages were read.
    pub fn task(&self) -> Option<&trunkline_session_machine::state::task::GivenTask> {
        self.state.tasks.task()
    }

    /// Returns every merge, oldest first, also those that were undone.
    pub fn merges(&self) -> &[trunkline_revert::MergeRecord] {
        &self.state.revert.merges
    }

    /// Returns the notes that reverts have left, oldest first.
    pub fn notes(&self) -> &[trunkline_revert::Note] {
        &self.state.revert.notes
    }

    /// Returns the requests to revert, applied and refused, oldest first.
    pub fn reverts(&self) -> &[trunkline_revert::Record] {
        &self.state.revert.drained
    }

    /// Returns the steps back that are proposed and that nobody has answered, oldest first.
    pub fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &trunkline_revert::Proposal> {
        self.state.revert.steps.open.open()
    }

    /// Returns all that the log holds of going back: also requests that could not be read, results that the model leaves out, what
    /// was recorded of proposed steps back, and where the provider's cache was lost.
    pub fn going_back(&self) -> &trunkline_session_machine::state::revert::Part {
        &self.state.revert
    }

    /// Returns all that the log holds of what was staged: also plans, and how discard hooks stand.
    pub fn staged(&self) -> &trunkline_session_machine::state::resolve::Part {
        &self.state.resolve
    }

    /// Returns the staged actions and what became of them.
    pub fn proposals(&self) -> &trunkline_resolve_queue::Queue<serde_json::Value> {
        &self.state.resolve.queue
    }

    /// Returns the rules that were given in this session, also those that do not count any more.
    pub fn rules(&self) -> &trunkline_resolve_queue::Rules {
        &self.state.resolve.rules
    }

    /// Returns what the model decided with its tool, by the place of the call, oldest first; nothing where the session was
    /// read without what was said ([`View::outline`]).
    pub fn resolutions(
        &self,
    ) -> impl Iterator<Item = (&trunkline_session_machine::CallPlace, &trunkline_resolve_queue::ResolutionDetails)>
    {
        self.state.resolve.choices.resolved()
    }

    /// Returns how far each call of a message has come, in their order: for messages that no result follows yet
    /// ([`gone_on`](trunkline_session_machine::reading::unanswered::gone_on) tells which do). Of a session that was read without
    /// what was said ([`View::outline`]) it is known of the turn at the end of the log, once [`View::fill`] has read its message.
    pub fn standings(
        &self,
        node: NodeId,
    ) -> Vec<trunkline_session_machine::reading::unanswered::Standing<'_>> {
        standings(&self.state, node)
    }

    /// Returns whether a proposal is a call that waits to be run, and not an edit.
    pub fn is_call(&self, id: trunkline_resolve_queue::ProposalId) -> bool {
        self.state.resolve.gated_call(id).is_some()
    }

    /// Returns the verdicts, oldest first, each with the node that was the newest when it came.
    pub fn verdicts(&self) -> &[(NodeId, trunkline_decision_objects::Decision)] {
        &self.verdicts
    }

    /// Returns whether a run has begun that has no verdict yet.
    pub fn has_open_run(&self) -> bool {
        self.state.decision.is_open()
    }

    /// Returns the run that has no verdict yet, if there is one.
    pub fn open_run(&self) -> Option<trunkline_decision_objects::RunId> {
        self.state.decision.run.as_ref().map(|run| run.record.id())
    }

    /// Returns the decision that the open run takes back, if that is what it is for: it was cut off.
    pub fn open_rollback(&self) -> Option<trunkline_decision_objects::DecisionId> {
        self.state.decision.run.as_ref()?.restoring.as_ref().map(|restoring| restoring.of)
    }
}
