//! A session as its log tells it, read without taking its lock.
//!
//! Works while another process writes the session, and on the logs of builds that have more layers than this one: notes
//! that are not known are passed over, they stay where they are.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::{MessageTree, Names, Node, NodeId, ToolCall};
use trunkline_runtime::decision_objects::{Decision, RunId};
use trunkline_runtime::resolve_queue::{Entry, ProposalId, Queue, Rules};
use trunkline_runtime::{Asked, GivenTask, View, revert};
use trunkline_session_store::{Log, SessionInfo, SessionStore};

use crate::term::fault::Fault;

/// A session, read.
pub(crate) struct Reading {
    pub(crate) info: SessionInfo,
    view: View,
}

impl Reading {
    pub(crate) async fn load(store: &dyn SessionStore, info: &SessionInfo) -> Result<Self, Fault> {
        let log = store.load(&info.id).await?;
        Reading::of(&log)
    }

    /// Reads what happened in a session without what was said; [`Reading::fill`] reads that of what is shown.
    pub(crate) async fn outline(store: &dyn SessionStore, info: &SessionInfo) -> Result<Self, Fault> {
        Ok(Reading { info: info.clone(), view: View::outline(store, info).await? })
    }

    /// Reads what these nodes say.
    pub(crate) async fn fill(&mut self, store: &dyn SessionStore, nodes: &[NodeId]) -> Result<(), Fault> {
        Ok(self.view.fill(store, nodes).await?)
    }

    /// Reads what these nodes say, and of results the calls that they answer.
    pub(crate) async fn fill_with_calls(
        &mut self,
        store: &dyn SessionStore,
        nodes: &[NodeId],
    ) -> Result<(), Fault> {
        self.fill(store, nodes).await?;
        // Results stand behind their call in a row, so it takes a few steps; of a long row twice as many are read each time.
        let mut steps = 1;
        loop {
            let above: Vec<NodeId> = nodes.iter().flat_map(|id| self.unread_above(*id, steps)).collect();
            if above.is_empty() {
                return Ok(());
            }
            self.fill(store, &above).await?;
            steps *= 2;
        }
    }

    /// Returns the first nodes that were not read on the way from a result to its call, at most so many.
    fn unread_above(&self, result: NodeId, steps: usize) -> Vec<NodeId> {
        let is_result = |node: &Node| node.message().results().next().is_some();
        let Ok(line) = self.tree().ancestry(result) else { return Vec::new() };
        let unread = line.skip_while(|(_, node)| is_result(node)).take_while(|(_, node)| node.is_bare());
        unread.take(steps).map(|(id, _)| id).collect()
    }

    /// Folds a log.
    pub(crate) fn of(log: &Log) -> Result<Self, Fault> {
        Ok(Reading { info: log.info.clone(), view: View::of(log)? })
    }

    /// What the log tells beside that.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn tree(&self) -> &MessageTree {
        self.view.tree()
    }

    /// The newest task that the session was given.
    pub(crate) fn task(&self) -> Option<&GivenTask> {
        self.view.task()
    }

    /// What people call nodes and branches.
    pub(crate) fn names(&self) -> &Names {
        self.view.names()
    }

    /// The server that was asked last, if that was named by its address.
    pub(crate) fn asked(&self) -> Option<&Asked> {
        self.view.asked()
    }

    /// What was carried into the trunk from other branches, oldest first.
    pub(crate) fn merges(&self) -> &[revert::MergeRecord] {
        self.view.merges()
    }

    /// What stands where branches were left, oldest first.
    pub(crate) fn notes(&self) -> &[revert::Note] {
        self.view.notes()
    }

    /// What people are shown for a tool that ran here, if its log says so.
    pub(crate) fn tool_label(&self, name: &str) -> String {
        self.view.tool_label(name)
    }

    /// The requests to revert, applied and refused, oldest first.
    pub(crate) fn reverts(&self) -> &[revert::Record] {
        self.view.reverts()
    }

    /// The steps back that are proposed and that nobody has answered, oldest first.
    pub(crate) fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &revert::Proposal> {
        self.view.proposed_reverts()
    }

    pub(crate) fn proposals(&self) -> &Queue<Value> {
        self.view.proposals()
    }

    /// The rules that were given in it, also those that do not count any more.
    pub(crate) fn rules(&self) -> &Rules {
        self.view.rules()
    }

    /// The verdicts, oldest first, each with the node that was the newest when it came.
    pub(crate) fn verdicts(&self) -> &[(NodeId, Decision)] {
        self.view.verdicts()
    }

    /// Returns the run that has no verdict yet, if there is one.
    pub(crate) fn open_run(&self) -> Option<RunId> {
        self.view.open_run()
    }

    /// Returns whether the open run is a rollback: nobody does its rest but who opens the session next.
    pub(crate) fn has_open_rollback(&self) -> bool {
        self.view.open_rollback().is_some()
    }

    /// Returns whether a proposal is a command that waits to be run, and not an edit.
    pub(crate) fn is_command(&self, id: ProposalId) -> bool {
        self.view.is_call(id)
    }

    /// Returns what no tool has cleaned up behind: what waits, and what ended and its tool was not told of, as they are shown.
    pub(crate) fn not_cleaned_up(&self) -> BTreeSet<ProposalId> {
        let waits = self.waiting().filter(|entry| entry.proposal.hears_end).map(|entry| entry.id);
        waits.chain(self.view.staged().hooks.open()).collect()
    }

    /// Returns the proposals that wait for a person, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Entry<Value>> {
        self.proposals().unsettled()
    }

    /// Returns the call that a result node answers: the one with its id in the message that the results follow.
    pub(crate) fn call_of(&self, result: NodeId, call_id: &str) -> Option<&ToolCall> {
        let mut next = self.tree().node(result).ok()?.parent();
        while let Some(node) = next.and_then(|id| self.tree().node(id).ok()) {
            if let Some(call) = node.message().calls().find(|call| call.id == call_id) {
                return Some(call);
            }
            // Only other results may stand between the two.
            node.message().results().next()?;
            next = node.parent();
        }
        None
    }
}
