//! What is done, as functions of what is known: an act returns what to record, or what it has to know first.
//!
//! An act gets the session as its log tells it, and the answers that it has had. Where one is missing it returns the question,
//! and is called again from its beginning when that is answered. So nothing is kept of an act that waits but its answers, and
//! an act reads as if it did not wait. An answer counts only while the log stands where it stood when the question was asked.
//! The time is another one in each call, so no question holds it: it would be asked without end.
//!
//! Nothing here waits, reads a clock, or asks a tool for more than its access and the effects of a call: [`perform`](crate::Session::perform)
//! does.

pub(crate) mod apply;
pub(crate) mod bind;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod close;
pub(crate) mod decide;
pub(crate) mod expire;
pub(crate) mod hold;
pub(crate) mod late;
pub(crate) mod moves;
pub(crate) mod open;
pub(crate) mod recover;
pub(crate) mod reply;
pub(crate) mod resolve;
pub(crate) mod roll_back;
pub(crate) mod service;
pub(crate) mod settle;
pub(crate) mod stage;
pub(crate) mod take_back;
pub(crate) mod turn;

use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_message_tree::{Draft, Message, NodeId, Part, Timestamp, ToolResult, TreeError};
use trunkline_resolve_queue::{
    Entry, Fingerprint, Lease, Preview, ProposalId, QueueError, ResolutionDetails, RuleError,
};
use trunkline_revert::Effects;
use trunkline_session_store::{Digest, Record};
use uuid::Uuid;

use crate::journal::{self, CallFinished, entries};
use crate::layers::decision::Start;
use crate::layers::resolve::held;
use crate::layers::revert;
use crate::prefixes::binds_reasoning;
use crate::setup::Setup;
use crate::state::State;
use crate::tenure::LEASE_MS;
use crate::{
    Base, Binding, BindingState, Bound, CallPlace, Comparison, Deciding, Event, FileStates, Gate, Kept, Left,
    OwnChanges, Prepared, Proposal, RuntimeError, Span, Touched, WorkspaceFault, pending,
};

/// What an act looks at.
pub(crate) struct View<'a> {
    pub(crate) state: &'a State,
    pub(crate) setup: &'a Setup,
    /// The token of the session's writer.
    pub(crate) token: u64,
    /// When the act is called this time.
    pub(crate) at: Timestamp,
    /// When it was called first: of what a person decided then, that is the time.
    pub(crate) began: Timestamp,
}

/// What an act has to know of the world.
#[derive(Debug, PartialEq)]
pub(crate) enum Question {
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
    /// What has to be approved before each of these calls may run.
    Gates(Vec<(CallPlace, String, Map<String, Value>)>),
    /// What calls of these tools, with these arguments, do to the world.
    Effects(Vec<(String, Map<String, Value>)>),
    /// So many new names.
    Ids(usize),
    /// How the files are where a run begins.
    Start,
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

/// What was read of what is written over. It is compared by its address first: the same answer is the same.
#[derive(Clone, Debug)]
pub(crate) struct Pieces(pub(crate) Arc<[Kept]>);

impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum Answer {
    /// `None` if the tool crashed, or the log has not all of it.
    Kept(Option<Arc<[Kept]>>),
    /// `None` if there is no such tool, or it crashed.
    Observed(Option<Vec<Fingerprint>>),
    PutBack,
    Undo(Option<(Value, Preview)>),
    /// `None` for each that says nothing.
    Words(Vec<Option<String>>),
    /// `Ok(None)` for a call that may run at once; the words are for the model.
    Gates(Vec<Declared>),
    Effects(Vec<Effects>),
    Ids(Vec<Uuid>),
    Start(Result<Start, WorkspaceFault>),
    OwnChanges(Result<OwnChanges, WorkspaceFault>),
    States(Result<Vec<FileStates>, WorkspaceFault>),
    Compared(Result<Comparison, WorkspaceFault>),
    Commit(Result<Option<String>, WorkspaceFault>),
    Prepared(Result<Option<Prepared>, WorkspaceFault>),
    Bound(Result<BindingState, WorkspaceFault>),
    Bind(Result<Bound, WorkspaceFault>),
}

/// What has to be approved before a call may run, or what its model is told because that cannot be known.
pub(crate) type Declared = Result<Option<Gate>, String>;

/// Why an act has no plan yet.
pub(crate) enum Pause {
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
pub(crate) struct Asked<'a> {
    known: &'a [(Question, Answer)],
    next: usize,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(known: &'a [(Question, Answer)]) -> Self {
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

    /// Returns the calls whose gates were asked for here, each with the answer; `None` if that was not asked.
    pub(crate) fn known_gates(
        &self,
    ) -> Option<impl Iterator<Item = (&'a CallPlace, &'a Declared)> + use<'a>> {
        match self.known.get(self.next) {
            Some((Question::Gates(calls), Answer::Gates(gates))) => {
                Some(calls.iter().map(|(place, ..)| place).zip(gates))
            }
            _ => None,
        }
    }

    pub(crate) fn gates(&mut self, calls: Vec<(CallPlace, String, Map<String, Value>)>) -> Result<(), Pause> {
        self.ask(Question::Gates(calls)).map(drop)
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

/// What an act records, in one batch, what is told of it then, and what follows from it.
pub(crate) struct Plan<T = ()> {
    pub(crate) records: Vec<Record>,
    pub(crate) events: Vec<Event>,
    pub(crate) then: T,
}

impl Plan {
    pub(crate) fn of(records: Vec<Record>) -> Self {
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

impl View<'_> {
    /// Returns the records of words to the model. While its turn is open there is no place for them: they are told after it.
    pub(crate) fn telling(&self, text: &str) -> Result<Vec<Record>, RuntimeError> {
        if self.state.open_turn().is_some() {
            return Ok(vec![held::untold(text, self.at)]);
        }
        self.saying(text)
    }

    /// Returns the trunk with notes and marks, as a model is sent it.
    pub(crate) fn rendered(&self) -> Vec<Message> {
        let (state, setup) = (self.state, self.setup);
        revert::rendered(&setup.revert, binds_reasoning(state, setup), &state.tree, &state.revert)
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
        pending::executor_of(self.state, &self.setup.catalogue, proposal).is_some()
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
    pub(crate) fn finish(
        &mut self,
        place: &CallPlace,
        (content, is_error): (Vec<Part>, bool),
        details: Option<ResolutionDetails>,
        at: Timestamp,
    ) {
        let (call, result) = (place.clone(), ToolResult { call_id: place.id.clone(), content, is_error });
        let told = details.as_ref().and_then(|details| serde_json::to_value(details).ok());
        let finished = CallFinished { call: call.clone(), result: result.clone(), ran: true, details: told };
        self.records.push(journal::note(journal::LAYER, journal::CALL_FINISHED, at, &finished));
        self.events.push(Event::CallFinished { call: call.clone(), result, elapsed: None });
        self.events.extend(details.map(|details| Event::Resolved { call, details }));
    }
}
