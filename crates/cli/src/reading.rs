//! A session as its log tells it, read without taking its lock.
//!
//! Works while another process writes the session, and on the logs of builds that have more layers than this one: notes
//! that are not known are passed over, they stay where they are.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId, ToolCall};
use trunkline_runtime::decision_objects::{Decision, RunId, RunRecord};
use trunkline_runtime::resolve_queue::{Change, Entry, Event, ProposalId, Queue};
use trunkline_runtime::revert;
use trunkline_session_store::{Log, Note, Record, SessionInfo, SessionStore};

use crate::fault::Fault;

/// A session, read.
pub(crate) struct Reading {
    pub(crate) info: SessionInfo,
    pub(crate) tree: MessageTree,
    /// What stands where branches were left, oldest first.
    pub(crate) notes: Vec<revert::Note>,
    pub(crate) proposals: Queue<Value>,
    /// The verdicts, oldest first, each with the node that was the newest when it came.
    pub(crate) verdicts: Vec<(NodeId, Decision)>,
    open_run: Option<RunId>,
    commands: BTreeSet<ProposalId>,
}

impl Reading {
    pub(crate) async fn load(store: &dyn SessionStore, info: &SessionInfo) -> Result<Self, Fault> {
        let log = store.load(&info.id).await?;
        Reading::of(&log)
    }

    /// Folds a log.
    pub(crate) fn of(log: &Log) -> Result<Self, Fault> {
        let mut entries = log.entries().cloned();
        let tree = MessageTree::replay(entries.by_ref())
            .map_err(|error| Fault::new(format!("session {} does not fit together: {error}", log.info.id)))?;
        let mut reading = Reading {
            info: log.info.clone(),
            tree,
            notes: Vec::new(),
            proposals: Queue::new(),
            verdicts: Vec::new(),
            open_run: None,
            commands: BTreeSet::new(),
        };
        let mut newest = NodeId::ROOT;
        for (seq, record) in &log.records {
            match record {
                Record::Entry(trunkline_message_tree::Entry::Node { id, .. }) => newest = *id,
                Record::Entry(_) => {}
                Record::Note(note) => reading.take(note, newest).map_err(|reason| {
                    Fault::new(format!("record {seq} of session {} cannot be read: {reason}", log.info.id))
                })?,
            }
        }
        Ok(reading)
    }

    fn take(&mut self, note: &Note, newest: NodeId) -> Result<(), String> {
        match (note.layer.as_str(), note.kind.as_str()) {
            ("revert", "note") => self.notes.push(parsed(&note.body)?),
            ("resolve", "event") => {
                let event: Event<Value> = parsed(&note.body)?;
                self.proposals.record(event).map_err(|error| error.to_string())?;
            }
            ("resolve", "gated") => {
                let gated: Value = parsed(&note.body)?;
                let named = gated.get("proposal").and_then(Value::as_str);
                self.commands.extend(named.and_then(|id| id.parse::<ProposalId>().ok()));
            }
            ("decision", "opened") => {
                let opened: Value = parsed(&note.body)?;
                let run = opened.get("run").and_then(Value::as_str).unwrap_or_default();
                let run = RunRecord::parse(run.as_bytes()).map_err(|error| error.to_string())?;
                self.open_run = Some(run.id());
            }
            ("decision", "decided") => {
                let decision = Decision::parse(note.body.as_bytes()).map_err(|error| error.to_string())?;
                self.open_run = self.open_run.filter(|run| *run != decision.run());
                self.verdicts.push((newest, decision));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether a run has begun that has no verdict yet.
    pub(crate) fn has_open_run(&self) -> bool {
        self.open_run.is_some()
    }

    /// Returns whether a proposal is a command that waits to be run, and not an edit.
    pub(crate) fn is_command(&self, id: ProposalId) -> bool {
        self.commands.contains(&id)
    }

    /// Returns the proposals that wait for a person, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Entry<Value>> {
        self.proposals.unsettled()
    }

    /// Returns the call that a result node answers: the one with its id in the message that the results follow.
    pub(crate) fn call_of(&self, result: NodeId, call_id: &str) -> Option<&ToolCall> {
        let mut next = self.tree.node(result).ok()?.parent();
        while let Some(node) = next.and_then(|id| self.tree.node(id).ok()) {
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

fn parsed<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

/// Returns the label of a proposal as an event stages it.
pub(crate) fn staged(event: &Event<Value>) -> Option<&trunkline_runtime::Proposal> {
    match &event.change {
        Change::Staged(proposal) => Some(proposal),
        _ => None,
    }
}
