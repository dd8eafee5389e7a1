//! Everything that is known of a session, folded from its log.
//!
//! There is no second truth: a resume folds the same records that the first process folded one by one, so what happens
//! next is the same function of the same state.

pub mod choices;
pub mod close_requests;
pub mod decision;
pub mod hooks;
pub mod looks;
pub mod plans;
pub(crate) mod prefixes;
pub(crate) mod preimages;
pub mod rare;
pub mod resolve;
pub mod revert;
pub mod steps;
pub mod task;
pub mod tries;
pub mod wants;
pub(crate) mod written;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use trunkline_decision_objects::Decision;
use trunkline_message_tree::{
    BareNode, Entry, Message, MessageTree, Names, NodeId, Role, StopReason, ToolCall, ToolResult, TreeError,
};
use trunkline_revert::{Digest, Effects};
use trunkline_session_store::{Log, Note, Position, Record};

use crate::notes::answer::{self, ATTEMPT};
use crate::notes::decision::{DECIDED, OPENED};
use crate::notes::journal::{self, CallFinished, CallStarted, ToolLabel};
use crate::notes::task::{BOUNDS, ENDED, INTENT, SPENT, TASK};
use crate::notes::{self, record, service, tree};
use crate::state::rare::{Rare, Unchanged};
use crate::state::tries::Tries;
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;

/// A session's state.
pub struct State {
    /// Whether everything was folded; otherwise what was left out has to be read before it is asked for.
    pub whole: bool,
    /// How many nodes stood beside the trunk when a snapshot was kept last.
    pub beside: usize,
    /// Whether something was asked for since then that a snapshot may have left out.
    pub reached_beside: bool,
    /// Everything that was said.
    pub tree: MessageTree,
    /// The number of the last record that was folded.
    pub seq: u64,
    calls: HashMap<(NodeId, u32), CallStatus>,
    /// Attempts to ask the model since the conversation last went on.
    pub tries: Tries,
    /// The names of nodes and branches.
    pub names: Names,
    /// What people are shown for tools, where that does not follow from their names.
    pub labels: BTreeMap<String, String>,
    /// What is known of branches that were left.
    pub revert: revert::Part,
    /// What is known of staged actions.
    pub resolve: Rare<resolve::Part>,
    /// What is known of runs and their verdicts.
    pub decision: decision::Part,
    /// What the session is for.
    pub tasks: Rare<task::Part>,
    /// What is known of services.
    pub wants: Rare<wants::Part>,
    pub(crate) prefixes: prefixes::Part,
}

impl Unchanged for resolve::Part {
    fn unchanged() -> &'static Self {
        static PART: LazyLock<resolve::Part> = LazyLock::new(resolve::Part::default);
        &PART
    }
}

impl Unchanged for wants::Part {
    fn unchanged() -> &'static Self {
        static PART: LazyLock<wants::Part> = LazyLock::new(wants::Part::default);
        &PART
    }
}

/// What is recorded of a call.
#[derive(Clone, Debug)]
pub(crate) enum CallStatus {
    /// It was about to run.
    Started,
    /// It has its result; `ran` tells whether a tool gave it.
    Finished { result: ToolResult, ran: bool, effects: Option<Box<Effects>> },
}

/// The assistant message at the head, while its calls have no result nodes yet.
pub struct OpenTurn<'a> {
    pub(crate) node: NodeId,
    pub(crate) message: &'a Message,
}

impl<'a> OpenTurn<'a> {
    /// Returns the calls with their places, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (CallPlace, &'a ToolCall)> {
        let node = self.node;
        self.message
            .calls()
            .zip(0..)
            .map(move |(call, index)| (CallPlace { node, index, id: call.id.clone() }, call))
    }

    /// Returns whether the message was cut off, so that none of its calls may run.
    pub(crate) fn was_cut(&self) -> bool {
        matches!(self.message.stop, Some(StopReason::Cancelled | StopReason::Cut))
    }
}

impl State {
    /// Folds a whole log.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] if that does not fit.
    pub fn replay(log: &Log) -> Result<Self, RuntimeError> {
        let mut records = log.records.iter().map(|(_, record)| record);
        let mut state = State::begin(records.next())?;
        for record in records {
            state.record(record)?;
        }
        Ok(state)
    }

    /// Begins with the first record of a log.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] if that does not fit.
    pub fn begin(first: Option<&Record>) -> Result<Self, RuntimeError> {
        let Some(Record::Entry(Entry::Node { id: NodeId::ROOT, at, message, .. })) = first else {
            return Err(TreeError::NoRoot.into());
        };
        Ok(State {
            whole: true,
            beside: 0,
            reached_beside: false,
            tree: MessageTree::new(message.clone(), *at),
            seq: 1,
            calls: HashMap::new(),
            tries: Tries::default(),
            names: Names::default(),
            labels: BTreeMap::new(),
            revert: revert::Part::default(),
            resolve: Rare::default(),
            decision: decision::Part::default(),
            tasks: Rare::default(),
            wants: Rare::default(),
            prefixes: prefixes::Part::default(),
        })
    }

    /// Folds a node without its message, as of a branch that was left.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] if that does not fit.
    pub fn record_bare(&mut self, bare: BareNode) -> Result<(), RuntimeError> {
        let entry = Entry::Node {
            id: bare.id,
            parent: Some(bare.parent),
            at: bare.at,
            link: bare.link.clone(),
            message: Message::new(bare.role, bare.author, Vec::new()),
        };
        self.tree.record_bare(bare)?;
        self.took_in(&entry);
        Ok(())
    }

    fn took_in(&mut self, entry: &Entry) {
        self.revert.entry(entry, &self.tree);
        self.tries.entry(entry);
        if let Some(tasks) = self.tasks.changed() {
            tasks.entry(entry);
        }
        if let Some(part) = self.resolve.changed() {
            part.plans.refresh(&self.tree);
        }
    }

    /// Folds one record that the store has accepted.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] if that does not fit.
    pub fn record(&mut self, record: &Record) -> Result<(), RuntimeError> {
        match record {
            Record::Entry(entry) => {
                self.tree.record(entry.clone())?;
                self.took_in(entry);
            }
            Record::Note(note) => self.record_note(note)?,
            // No layer that we know keeps any; others' stay in the log, untouched.
            Record::Blob(_) => {}
        }
        self.seq += 1;
        Ok(())
    }

    /// Returns the model's last words on the trunk; empty if it has said nothing.
    pub fn answer(&self) -> String {
        let mut replies =
            self.tree.trunk().messages().rev().filter(|message| message.role == Role::Assistant);
        replies.next().map(Message::text).unwrap_or_default()
    }

    /// Returns what state the files are in, as far as looks and applies of the open run tell; `None` where that is not known.
    pub(crate) fn files(&self) -> Option<Digest> {
        self.decision.run.as_ref()?.looks.files(self.resolve.writes.now())
    }

    /// Returns how far the log has come.
    pub fn position(&self) -> Position {
        Position { seq: self.seq, head: self.tree.head() }
    }

    fn record_note(&mut self, note: &Note) -> Result<(), RuntimeError> {
        match (note.layer.as_str(), note.kind.as_str()) {
            (journal::LAYER, journal::CALL_STARTED) => {
                let started: CallStarted = record::read(note)?;
                self.decision.started(&started.tool);
                self.calls.insert((started.call.node, started.call.index), CallStatus::Started);
            }
            (journal::LAYER, journal::CALL_FINISHED) => {
                let finished: CallFinished = record::read(note)?;
                let place = (finished.call.node, finished.call.index);
                if finished.details.is_some() {
                    self.resolve.finished(&finished);
                }
                let CallFinished { result, ran, effects, .. } = finished;
                self.calls.insert(place, CallStatus::Finished { result, ran, effects });
            }
            // It is only shown: one that cannot be read is passed over.
            (journal::LAYER, journal::TOOL_LABEL) => {
                if let Ok(ToolLabel { tool, label }) = record::read(note) {
                    self.labels.insert(tool, label);
                }
            }
            (journal::LAYER, ATTEMPT) => self.tries.record(note),
            (journal::LAYER, service::SERVICE) => self.wants.record(note)?,
            (journal::LAYER, service::WINDOW) => self.wants.record_window(note)?,
            (journal::LAYER, service::ASKED) => self.wants.record_asked(note)?,
            (journal::LAYER, answer::WRITTEN_UNDER) => self.prefixes.record(note),
            (tree::TREE, tree::NAME) => self.names.record(record::read(note)?),
            (notes::revert::LAYER, _) => {
                self.revert.record(note)?;
                self.decision.follow(&self.revert.copies(note));
            }
            (notes::resolve::LAYER, _) => {
                self.resolve.record(note, self.seq, self.tree.newest())?;
                self.resolve.plans.refresh(&self.tree);
                if note.kind == notes::resolve::DISTRUSTED {
                    self.decision.distrust();
                    self.wants.distrust();
                    self.prefixes.distrust();
                }
            }
            (notes::decision::LAYER, INTENT | TASK | BOUNDS | SPENT | ENDED) => self.tasks.record(note),
            (notes::decision::LAYER, kind) => {
                self.decision.record(note, self.seq, self.tree.newest(), self.resolve.writes.now())?;
                self.follow_task(kind);
            }
            // Notes of layers that we do not know stay in the log, untouched.
            _ => {}
        }
        Ok(())
    }

    /// Takes in what a run that was opened or decided just now means for its task.
    fn follow_task(&mut self, kind: &str) {
        let Some(tasks) = self.tasks.changed() else { return };
        match (kind, &self.decision.run, self.decision.verdicts.last()) {
            (OPENED, Some(run), _) => tasks.opened(run.record.opening()),
            (DECIDED, _, Some((_, decision))) => tasks.decided(decision.run(), decision.verdict()),
            _ => {}
        }
    }

    /// Returns what a snapshot keeps of the session's task; `None` if it has none.
    pub(crate) fn tally(&self) -> Option<task::Tally> {
        self.tasks.tally(self.decision.last().map(Decision::run))
    }

    /// Takes in what a snapshot keeps of the session's task, after all that it names was folded.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if that is not about the task that the log has.
    pub fn take_up(&mut self, tally: Option<&task::Tally>) -> Result<(), RuntimeError> {
        let fits = match tally {
            Some(tally) => self.tasks.changed().and_then(|tasks| tasks.take_up(tally)).is_some(),
            None => self.tasks.task().is_none(),
        };
        fits.then_some(())
            .ok_or_else(|| RuntimeError::Refused { reason: "it counts for another task".to_owned() })
    }

    /// Returns the turn whose calls have no result nodes yet, if the head is one.
    pub fn open_turn(&self) -> Option<OpenTurn<'_>> {
        let message = self.head_message();
        let has_calls = message.role == Role::Assistant && message.calls().next().is_some();
        has_calls.then(|| OpenTurn { node: self.tree.head(), message })
    }

    /// Returns the message at the head.
    pub fn head_message(&self) -> &Message {
        self.tree.trunk().messages().next_back().expect("the trunk always has the root")
    }

    pub(crate) fn call(&self, place: &CallPlace) -> Option<&CallStatus> {
        self.calls.get(&(place.node, place.index))
    }

    pub(crate) fn is_finished(&self, place: &CallPlace) -> bool {
        matches!(self.call(place), Some(CallStatus::Finished { .. }))
    }
}
