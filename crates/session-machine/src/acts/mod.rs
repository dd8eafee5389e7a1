//! What is done, as functions of what is known: an act returns what to record, or what it has to know first.
//!
//! An act gets the session as its log tells it, and the answers that it has had. Where one is missing it returns the question,
//! and is called again from its beginning when that is answered. So nothing is kept of an act that waits but its answers, and
//! an act reads as if it did not wait. An answer counts only while the log stands where it stood when the question was asked.
//! The time is another one in each call, so no question holds it: it would be asked without end.
//!
//! Nothing here waits, reads a clock, or runs code of others: whoever drives a session does.

pub mod apply;
pub mod bind;
pub mod calls;
pub mod chain;
pub mod changes;
pub mod close;
pub mod compact;
pub mod decide;
pub mod expire;
pub mod hold;
pub mod late;
pub mod look;
pub mod moves;
pub mod open;
pub mod recorded;
pub mod recover;
pub mod reply;
pub mod resolve;
pub mod roll_back;
pub mod service;
pub mod settle;
pub mod stage;
pub mod take_back;
pub mod turn;

use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_message_tree::{Draft, Message, NodeId, Part, Timestamp, ToolResult, TreeError};
use trunkline_resolve_queue::{
    Entry, Fingerprint, Lease, Preview, ProposalId, QueueError, ResolutionDetails, RuleError,
};
use trunkline_revert::Effects;
use trunkline_session_store::{Digest, Record};
use uuid::Uuid;

use crate::notes::journal::{CallFinished, call_finished};
use crate::notes::record::entries;
use crate::notes::resolve::untold;
use crate::request::live;
use crate::request::prefixes::binds_reasoning;
use crate::rules::executors;
use crate::setup::Setup;
use crate::state::State;
use crate::words::bound::{Binding, BindingState, Bound, Prepared};
use crate::words::call::{CallPlace, Declared, Kept, Proposal};
use crate::words::error::RuntimeError;
use crate::words::event::Event;
use crate::words::files::{
    Base, Comparison, Deciding, FileStates, Left, OwnChanges, Span, Touched, WorkspaceFault,
};
use crate::words::lease::LEASE_MS;
use crate::words::start::Start;

/// What an act looks at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The session.
    pub state: &'a State,
    /// What its agent is set up to do.
    pub setup: &'a Setup,
    /// The token of the session's writer.
    pub token: u64,
    /// When the act is called this time.
    pub at: Timestamp,
    /// When it was called first: of what a person decided then, that is the time.
    pub began: Timestamp,
}

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
    /// What their tools say of the discards of proposals, in this order.
    Discarded(Vec<Entry<Value>>),
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
    /// `None` for each that says nothing.
    Words(Vec<Option<String>>),
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

/// What an act has asked and was told, in order.
pub struct Asked<'a> {
    known: &'a [(Question, Answer)],
    next: usize,
}

impl<'a> Asked<'a> {
    /// Returns what was asked and answered so far, oldest first; nothing in the first call.
    pub fn of(known: &'a [(Question, Answer)]) -> Self {
        Asked { known, next: 0 }
    }

    fn ask(&mut self, question: Question) -> Result<&'a Answer, Pause> {
        match self.known.get(self.next) {
            Some((asked, answer)) if *asked == question => {
                self.next += 1;
                Ok(answer)
            }
            // The time that has passed may lead another way: what was asked on the first one counts no more.
            _ => Err(Pause::Needs(Box::new(question), self.next)),
        }
    }

    fn keep(&mut self, id: ProposalId) -> Result<Option<Arc<[Kept]>>, Pause> {
        self.kept(Question::Keep(id))
    }

    fn preimages(&mut self, named: Vec<(Fingerprint, Option<Digest>)>) -> Result<Option<Arc<[Kept]>>, Pause> {
        self.kept(Question::Preimages(named))
    }

    fn kept(&mut self, question: Question) -> Result<Option<Arc<[Kept]>>, Pause> {
        match self.ask(question)? {
            Answer::Kept(kept) => Ok(kept.clone()),
            _ => Err(mistaken()),
        }
    }

    fn observe(&mut self, id: ProposalId) -> Result<Option<&'a [Fingerprint]>, Pause> {
        match self.ask(Question::Observe(id))? {
            Answer::Observed(observed) => Ok(observed.as_deref()),
            _ => Err(mistaken()),
        }
    }

    /// Looks, and once more if the tool crashes at that: what it finds decides whether files stay half written.
    fn observe_twice(&mut self, id: ProposalId) -> Result<Option<&'a [Fingerprint]>, Pause> {
        match self.observe(id)? {
            None => self.observe(id),
            observed => Ok(observed),
        }
    }

    fn put_back(&mut self, id: ProposalId, kept: &Arc<[Kept]>) -> Result<(), Pause> {
        self.ask(Question::PutBack(id, Pieces(Arc::clone(kept)))).map(drop)
    }

    fn undo(
        &mut self,
        entry: &Entry<Value>,
        kept: Arc<[Kept]>,
    ) -> Result<Option<&'a (Value, Preview)>, Pause> {
        match self.ask(Question::Undo(Box::new(entry.clone()), Pieces(kept)))? {
            Answer::Undo(undo) => Ok(undo.as_ref()),
            _ => Err(mistaken()),
        }
    }

    fn discarded(&mut self, entries: Vec<Entry<Value>>) -> Result<&'a [Option<String>], Pause> {
        match self.ask(Question::Discarded(entries))? {
            Answer::Words(words) => Ok(words),
            _ => Err(mistaken()),
        }
    }

    /// Returns the calls that were asked about here, each with the answer; `None` if that was not asked.
    pub(crate) fn known_calls(
        &self,
    ) -> Option<impl Iterator<Item = (&'a CallPlace, &'a Declared)> + use<'a>> {
        match self.known.get(self.next) {
            Some((Question::Calls(calls), Answer::Calls(answers))) => {
                Some(calls.iter().map(|call| &call.place).zip(answers))
            }
            _ => None,
        }
    }

    pub(crate) fn calls(&mut self, calls: Vec<Wanted>) -> Result<(), Pause> {
        self.ask(Question::Calls(calls)).map(drop)
    }

    pub(crate) fn effects(
        &mut self,
        calls: Vec<(String, Map<String, Value>)>,
    ) -> Result<&'a [Effects], Pause> {
        if calls.is_empty() {
            return Ok(&[]);
        }
        match self.ask(Question::Effects(calls))? {
            Answer::Effects(effects) => Ok(effects),
            _ => Err(mistaken()),
        }
    }

    fn ids(&mut self, count: usize) -> Result<&'a [Uuid], Pause> {
        match self.ask(Question::Ids(count))? {
            Answer::Ids(ids) => Ok(ids),
            _ => Err(mistaken()),
        }
    }

    fn new_ids<const N: usize>(&mut self) -> Result<[Uuid; N], Pause> {
        let refused = |_| RuntimeError::Refused { reason: format!("{N} names were asked for and not given") };
        Ok(self.ids(N)?.try_into().map_err(refused)?)
    }

    fn start(&mut self) -> Result<Start, Pause> {
        match self.ask(Question::Start)? {
            Answer::Start(start) => Ok(start.clone()?),
            _ => Err(mistaken()),
        }
    }

    fn look(&mut self) -> Result<&'a Result<Base, String>, Pause> {
        match self.ask(Question::Look)? {
            Answer::Look(files) => Ok(files),
            _ => Err(mistaken()),
        }
    }

    fn own_changes(&mut self, question: Question) -> Result<Result<&'a OwnChanges, WorkspaceFault>, Pause> {
        match self.ask(question)? {
            Answer::OwnChanges(own) => Ok(own.as_ref().map_err(Clone::clone)),
            _ => Err(mistaken()),
        }
    }

    fn states(&mut self, question: Question) -> Result<Result<Vec<FileStates>, WorkspaceFault>, Pause> {
        match self.ask(question)? {
            Answer::States(states) => Ok(states.clone()),
            _ => Err(mistaken()),
        }
    }

    fn comparison(&mut self, left: Left, kept: Vec<Pieces>) -> Result<Comparison, Pause> {
        match self.ask(Question::Compare(Box::new(left), kept))? {
            Answer::Compared(comparison) => Ok(comparison.clone()?),
            _ => Err(mistaken()),
        }
    }

    fn commit(&mut self, question: Question) -> Result<Option<String>, Pause> {
        match self.ask(question)? {
            Answer::Commit(commit) => Ok(commit.clone()?),
            _ => Err(mistaken()),
        }
    }

    fn prepared(&mut self, deciding: &Deciding) -> Result<Option<Prepared>, Pause> {
        match self.ask(Question::WriteCommit(deciding.clone()))? {
            Answer::Prepared(prepared) => Ok(prepared.clone()?),
            _ => Err(mistaken()),
        }
    }

    fn bound(&mut self, binding: &Binding) -> Result<Result<BindingState, WorkspaceFault>, Pause> {
        match self.ask(Question::Bound(Box::new(binding.clone())))? {
            Answer::Bound(state) => Ok(state.clone()),
            _ => Err(mistaken()),
        }
    }

    fn bind(&mut self, binding: &Binding) -> Result<Result<Bound, WorkspaceFault>, Pause> {
        match self.ask(Question::Bind(Box::new(binding.clone())))? {
            Answer::Bind(bound) => Ok(bound.clone()),
            _ => Err(mistaken()),
        }
    }
}

fn mistaken() -> Pause {
    RuntimeError::Refused { reason: "a question was given the answer to another one".to_owned() }.into()
}

/// Calls an act until it has all answers, with a view that stays what it is; `answer` gives one at a time.
///
/// # Errors
///
/// [`RuntimeError`]: why the act cannot be done, or an answer not be had.
pub fn find_out<T>(
    view: &View<'_>,
    act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    mut answer: impl FnMut(&Question) -> Result<Answer, RuntimeError>,
) -> Result<T, RuntimeError> {
    let mut known = Vec::new();
    loop {
        match act(view, &mut Asked::of(&known)) {
            Ok(learned) => return Ok(learned),
            Err(Pause::Refused(fault)) => return Err(fault),
            Err(Pause::Needs(question, counting)) => {
                known.truncate(counting);
                let answer = answer(&question)?;
                known.push((*question, answer));
            }
        }
    }
}

/// What an act records, in one batch, what is told of it then, and what follows from it.
pub struct Plan<T = ()> {
    /// What is recorded, in this order, all or nothing.
    pub records: Vec<Record>,
    /// What is told once that is recorded.
    pub events: Vec<Event>,
    /// What follows.
    pub then: T,
}

impl Plan {
    /// Returns a plan of records of which nothing is told.
    pub fn of(records: Vec<Record>) -> Self {
        Plan { records, events: Vec::new(), then: () }
    }

    /// Nothing is recorded.
    pub(crate) fn nothing() -> Self {
        Plan::of(Vec::new())
    }

    pub(crate) fn then<T>(self, then: T) -> Plan<T> {
        Plan { records: self.records, events: self.events, then }
    }
}

impl<'a> View<'a> {
    /// Returns what an act looks at that is called first now, in a session that has one writer.
    pub fn new(state: &'a State, setup: &'a Setup, at: Timestamp) -> Self {
        View { state, setup, token: 1, at, began: at }
    }
}

impl View<'_> {
    /// Returns the records of words to the model. While its turn is open there is no place for them: they are told after it.
    pub(crate) fn telling(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        if self.state.open_turn().is_some() {
            return Ok(vec![untold(text, self.at)]);
        }
        self.saying(text)
    }

    /// Returns the trunk with notes and marks, as a model is sent it.
    pub fn rendered(&self) -> Vec<Message> {
        let (state, setup) = (self.state, self.setup);
        live::rendered(&setup.revert, binds_reasoning(state, setup), &state.tree, &state.revert)
    }

    pub(crate) fn saying(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        let mut draft = self.state.tree.draft();
        draft.append(Message::harness(text), self.at)?;
        Ok(entries(draft))
    }

    /// Closes the open turn on a draft, as a person goes elsewhere. Returns the result nodes.
    fn close_turn(&self, draft: &mut Draft<'_>, why: &str) -> Result<Vec<NodeId>, RuntimeError> {
        turn::close_turn((self.state, self.setup), draft, why, self.at)
    }

    /// Whether the time of a proposal is over and nobody has noted it.
    fn is_past(&self, id: ProposalId) -> bool {
        self.state.resolve.queue.due(self.at.0).any(|entry| entry.id == id)
    }

    fn has_executor(&self, proposal: &Proposal) -> bool {
        executors::executor_of(self.state, &self.setup.catalogue, proposal).is_some()
    }

    /// Returns what the session's writer is called in a lease.
    fn writer(&self) -> String {
        format!("writer {}", self.token)
    }

    fn lease(&self, from: Timestamp) -> Lease {
        Lease { holder: self.writer(), until: from.0.saturating_add(LEASE_MS) }
    }

    /// Returns the plan that records something together with what the model is told of it: in the result of a call, or in a
    /// message.
    fn report(
        &self,
        records: Vec<Record>,
        call: Option<&CallPlace>,
        text: String,
        is_error: bool,
    ) -> Result<Plan, Pause> {
        let mut plan = Plan::of(records);
        match call {
            Some(place) => {
                let meant = self.state.resolve.choices.meant(place).cloned();
                plan.finish(place, (vec![Part::text(text)], is_error), meant, self.at);
            }
            None => plan.records.extend(self.telling(&text)?),
        }
        Ok(plan)
    }
}

impl Plan {
    /// Adds the result of a call, and what the call meant.
    pub fn finish(
        &mut self,
        place: &CallPlace,
        (content, is_error): (Vec<Part>, bool),
        details: Option<ResolutionDetails>,
        at: Timestamp,
    ) {
        let (call, result) = (place.clone(), ToolResult { call_id: place.id.clone(), content, is_error });
        let told = details.as_ref().and_then(|details| serde_json::to_value(details).ok());
        let finished = CallFinished { call: call.clone(), result: result.clone(), ran: true, details: told };
        self.records.push(call_finished(&finished, at));
        self.events.push(Event::CallFinished { call: call.clone(), result, elapsed: None });
        self.events.extend(details.map(|details| Event::Resolved { call, details }));
    }
}
