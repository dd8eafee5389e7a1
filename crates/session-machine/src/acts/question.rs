//! What an act may have to know of the world, the answers to that, and why it has no plan before it knows.

use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_message_tree::TreeError;
use trunkline_resolve_queue::{Entry, Fingerprint, Preview, ProposalId, QueueError, RuleError};
use trunkline_revert::Effects;
use trunkline_session_store::Digest;
use uuid::Uuid;

use crate::words::bound::{Binding, BindingState, Bound, Prepared};
use crate::words::call::{CallPlace, Declared, Kept};
use crate::words::checkpoint::{Checkpoint, KeptFiles};
use crate::words::error::RuntimeError;
use crate::words::files::{
    Base, Comparison, Deciding, FileStates, Left, OwnChanges, Span, Touched, WorkspaceFault,
};
use crate::words::start::Start;

/// What an act has to know of the world.
#[derive(Debug, PartialEq)]
pub enum Question {
    /// What a proposal will write over.
    Keep(ProposalId),
    /// How everything is that a proposal is about.
    Observe(ProposalId),
    /// The bytes that have these names in the log.
    Preimages(Vec<(Fingerprint, Option<Digest>)>),
    /// Not how something is, but that a tool puts back what it left half done.
    PutBack(ProposalId, Pieces),
    /// What takes a proposal back that was applied so.
    Undo(Box<Entry<Value>>, Pieces),
    /// Whether these calls may run: do their arguments fit the schemas of their tools, and what has to be approved first?
    Calls(Vec<Wanted>),
    /// What calls of these tools, with these arguments, do to the world.
    Effects(Vec<(String, Map<String, Value>)>),
    /// So many new names.
    Ids(usize),
    /// How the files are where a run begins.
    Start,
    /// How the files are next to calls that may change some.
    Look,
    /// What is different from a base: of what was touched, and in these spans, or in any.
    OwnChanges(Base, Vec<Touched>, Option<Vec<Span>>),
    /// How files were at a base and are in a tree.
    States(Base, Option<String>, Vec<Touched>, Option<Vec<Span>>, Vec<String>),
    /// What taking back what a run has left would do, with what is kept of the files from before.
    Compare(Box<Left>, Vec<Pieces>),
    /// Not how something is, but that all files are kept as they are.
    KeepFiles(Checkpoint),
    /// The commit that has what was announced.
    FindCommit(Deciding),
    /// Likewise; it is made if there is none.
    Commit(Deciding),
    /// Likewise, without moving a branch to it.
    WriteCommit(Deciding),
    /// How far a binding has come.
    Bound(Box<Binding>),
    /// Not how something is, but that a decision is bound.
    Bind(Box<Binding>),
}

/// A call of which has to be known whether it may run.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Which.
    pub place: CallPlace,
    /// Its tool.
    pub tool: String,
    /// What the model has written.
    pub arguments: Map<String, Value>,
    /// Whether it counts what has to be approved before it runs.
    pub asks_gate: bool,
}

/// What was read of what is written over. It is compared by its address first: the same answer is the same.
#[derive(Clone, Debug)]
pub struct Pieces(pub Arc<[Kept]>);

impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// The answer to a question.
#[derive(Debug)]
pub enum Answer {
    /// `None` if the tool crashed, or the log has not all of it.
    Kept(Option<Arc<[Kept]>>),
    /// `None` if there is no such tool, or it crashed.
    Observed(Option<Vec<Fingerprint>>),
    /// It was put back, as far as that went: it is looked at again.
    PutBack,
    /// The payload and the preview of what takes it back; `None` if nothing does.
    Undo(Option<(Value, Preview)>),
    /// `Ok(None)` for a call that may run at once, or whose gate was not asked for; the words are what the model is told of one that may
    /// not.
    Calls(Vec<Declared>),
    /// One for each call.
    Effects(Vec<Effects>),
    /// As many as were asked for.
    Ids(Vec<Uuid>),
    /// How the files are.
    Start(Result<Start, WorkspaceFault>),
    /// How the files are, or why that cannot be told.
    Look(Result<Base, String>),
    /// What is different.
    OwnChanges(Result<OwnChanges, WorkspaceFault>),
    /// How they were and are.
    States(Result<Vec<FileStates>, WorkspaceFault>),
    /// What it would do.
    Compared(Result<Comparison, WorkspaceFault>),
    /// Where they are kept, or why they are not.
    KeptFiles(Result<KeptFiles, WorkspaceFault>),
    /// The commit, in hex; `None` if there is none.
    Commit(Result<Option<String>, WorkspaceFault>),
    /// The commit that no branch holds yet; `None` if there is nothing to commit.
    Prepared(Result<Option<Prepared>, WorkspaceFault>),
    /// How far it has come.
    Bound(Result<BindingState, WorkspaceFault>),
    /// What came of it.
    Bind(Result<Bound, WorkspaceFault>),
}

/// Why an act has no plan yet.
pub enum Pause {
    /// It has to know this; so many of its answers count.
    Needs(Box<Question>, usize),
    /// It cannot be done.
    Refused(RuntimeError),
}

impl From<RuntimeError> for Pause {
    fn from(fault: RuntimeError) -> Self {
        Pause::Refused(fault)
    }
}

impl From<TreeError> for Pause {
    fn from(fault: TreeError) -> Self {
        Pause::Refused(fault.into())
    }
}

impl From<WorkspaceFault> for Pause {
    fn from(fault: WorkspaceFault) -> Self {
        Pause::Refused(fault.into())
    }
}

impl From<QueueError> for Pause {
    fn from(fault: QueueError) -> Self {
        Pause::Refused(RuntimeError::Proposal(fault))
    }
}

impl From<RuleError> for Pause {
    fn from(fault: RuleError) -> Self {
        Pause::Refused(fault.into())
    }
}
