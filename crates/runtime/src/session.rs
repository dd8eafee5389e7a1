//! One session and its writer: what people may ask of it, and the one place where something is written.

use crate::summaries::Summaries;
use std::fmt;
use std::sync::Arc;

use trunkline_message_tree::{Message, MessageTree, Node, NodeId, Role};
use trunkline_session_store::{
    Activity, Batch, Claim, InboxId, Lease, Record, SessionId, SessionStore, StoreError,
};

use crate::agent::{Agent, Observer, Settings};
use crate::shelf::{Kept, Place};
use crate::{Cancel, ToolContext, letters};
use trunkline_session_machine::acts::open;
use trunkline_session_machine::acts::recorded;
use trunkline_session_machine::layers::decision;
use trunkline_session_machine::state::State;
use trunkline_session_machine::{CallPlace, Event, RuntimeError};

/// A session that is open for writing. Nobody else can write it before this is dropped, or they take it over: then
/// this one can write nothing more, and says so with [`RuntimeError::TakenOver`].
///
/// Stop a drive with its [`Cancel`], which keeps what was streamed. A future that is dropped instead loses nothing that
/// was recorded, and the session goes on from there; what was being written may need a second call, after
/// [`RuntimeError::Store`].
pub struct Session {
    pub(crate) agent: Agent,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) lease: Lease,
    /// Told after the agent's own.
    observer: Option<Observer>,
    pub(crate) state: State,
    /// What is kept from one request to the next, in a drive, and after one that was dropped.
    pub(crate) kept: Kept,
    /// Where that is after a drive that has ended.
    pub(crate) place: Option<Place>,
    /// Whether the last write failed, or was dropped, in a way that leaves open what the store has kept.
    behind: bool,
    /// The newest letter that was there when this became the writer, or when its latest drive ended.
    pub(crate) old: Option<InboxId>,
    /// How far what happens in the session was seen when its inbox was read last, if nothing was in it.
    pub(crate) seen: Option<Activity>,
    /// What was learned of the service since it last answered.
    pub(crate) on_trial: Vec<trunkline_providers::Trait>,
    /// How often results were cut shorter since then.
    pub(crate) cuts: u8,
    /// What is being asked about branches that were left.
    pub(crate) summaries: Summaries,
    /// The signal of the latest drive.
    pub(crate) cancel: Option<Cancel>,
    /// The verdict that a letter gave to the run of the present drive.
    pub(crate) closed: Option<Box<trunkline_decision_objects::Decision>>,
    /// How a rollback that was cut off has ended when the session was opened, until somebody asks.
    pub(crate) finished: Option<Box<trunkline_decision_objects::Decision>>,
    /// Whether git may hold the decision of the open run already.
    pub(crate) unsure: bool,
    /// Whether something could not be bound in the present drive: it is told once and tried again in the next.
    pub(crate) unbindable: bool,
    /// Why runs are not bound, as it was told.
    pub(crate) not_bound: std::collections::BTreeMap<String, String>,
    /// Since when this is the writer, and how it came to be.
    pub(crate) tenure: crate::tenure::Tenure,
    /// Who has taken the session over; nothing is begun or written any more.
    taken_by: Option<String>,
}

/// Why a drive ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// The run has its verdict.
    Decided(Box<trunkline_decision_objects::Decision>),
    /// Nothing goes on before somebody decides on these.
    Waiting(Vec<trunkline_resolve_queue::ProposalId>),
    /// It was cancelled. What was streamed is kept, and the run stays open.
    Cancelled,
    /// A limit was reached. The run stays open.
    Limit(Limit),
    /// There was nothing to do.
    Idle,
}

/// One line for people: `decided commit: 2d71…`, `waiting for p1, p2`.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Decided(decision) => write!(f, "decided {}", decision.verdict()),
            Stop::Waiting(waiting) => {
                let names: Vec<String> = waiting.iter().map(ToString::to_string).collect();
                write!(f, "waiting for {}", names.join(", "))
            }
            Stop::Cancelled => f.write_str("cancelled"),
            Stop::Limit(limit) => write!(f, "at the limit of {}", limit.word()),
            Stop::Idle => f.write_str("nothing to do"),
        }
    }
}

impl Limit {
    fn word(self) -> &'static str {
        match self {
            Limit::Turns => "turns",
            Limit::Tokens => "tokens",
            Limit::Time => "time",
            Limit::Output => "output",
        }
    }
}

/// Which limit was reached.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The model was asked as often as allowed.
    Turns,
    /// As many tokens were used as allowed.
    Tokens,
    /// The time is up.
    Time,
    /// The model's replies kept running into their output limit.
    Output,
}

impl Session {
    pub(crate) async fn open(
        agent: Agent,
        store: Arc<dyn SessionStore>,
        id: &SessionId,
        claim: Claim,
    ) -> Result<Self, RuntimeError> {
        // Before there is a new writer to be seen: whoever sees it and asks it to cancel means what it is about to do.
        let old = letters::newest(&store.inbox(id).await?);
        // Before the log is read: whoever was the writer can add nothing to it now.
        let lease = store.claim(id, claim).await?;
        let mut state =
            crate::opening::state_of(store.as_ref(), &lease, agent.settings.snapshot_after).await?;
        state.revert.watch(&agent.settings.setup.revert);
        state.decision.log_ends();
        let tenure = crate::tenure::Tenure::new(claim, store.as_ref());
        let mut session = Session {
            agent,
            store,
            lease,
            observer: None,
            summaries: Summaries::new(&state.revert),
            state,
            kept: Kept::default(),
            place: None,
            on_trial: Vec::new(),
            cuts: 0,
            behind: false,
            old,
            seen: None,
            cancel: None,
            closed: None,
            finished: None,
            unsure: false,
            unbindable: false,
            not_bound: std::collections::BTreeMap::new(),
            tenure,
            taken_by: None,
        };
        session.recover().await?;
        session.distrust_import().await?;
        session.adopt_rules().await?;
        session.take_up_bindings().await?;
        session.try_rest_of_rollback().await;
        Ok(session)
    }

    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        self.lease.session()
    }

    /// Tells an observer what happens in this session from now on, in order, after the one that the agent was built with. It
    /// runs on the driver's own time: be quick.
    ///
    /// In place of any observer that was given here before. What happened while the session was opened only the agent's own
    /// is told.
    pub fn on_event(&mut self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.observer = Some(Arc::new(move |_, event| observer(event)));
    }

    /// Returns everything that was said, wherever it stands; where the session [is not whole](Session::is_whole), without the
    /// messages of branches that were left.
    pub fn tree(&self) -> &MessageTree {
        &self.state.tree
    }

    /// Returns the trunk as the model would be sent it, before it is made legal for a wire.
    pub fn rendered(&self) -> Vec<Message> {
        self.view().rendered()
    }

    /// Returns whether everything that was ever recorded is in memory.
    ///
    /// A long session is taken up without what it does not go on with: on branches that were left the nodes of
    /// [`tree`](Session::tree) [are bare](trunkline_message_tree::Node::is_bare), and what is settled there is not among
    /// decisions, proposals and resolutions. [`load_whole`](Session::load_whole) reads it.
    pub fn is_whole(&self) -> bool {
        self.state.whole
    }

    /// Reads everything that was ever recorded, if it is not in memory. Costs in proportion to the log.
    ///
    /// What needs it does so by itself: a person's moves, merges, rollbacks, undoing an edit, a verdict on a proposal that is not in
    /// memory, a late result, a summary that was lost, and the first request after a move back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] if the log cannot be read.
    pub async fn load_whole(&mut self) -> Result<(), RuntimeError> {
        // The caller wants what the last snapshot has left out, so the next one is made of the log.
        self.state.reached_beside = true;
        if self.state.whole {
            return Ok(());
        }
        let log = self.store.load(self.lease.session()).await?;
        let mut state = State::replay(&log)?;
        state.revert.watch(&self.settings().setup.revert);
        (state.beside, state.reached_beside) = (self.state.beside, true);
        self.state = state;
        // What it has read up to here it has read from the smaller tree.
        (self.kept.rendering, self.place) = (None, None);
        Ok(())
    }

    /// Reads everything if the message of a node is left out.
    pub(crate) async fn load_words_of(&mut self, node: NodeId) -> Result<(), RuntimeError> {
        match self.state.tree.node(node).is_ok_and(Node::is_bare) {
            true => self.load_whole().await,
            false => Ok(()),
        }
    }

    /// Reads everything if the newest reply is on a branch that was left: the provider's cache has that branch, and what is
    /// lost of it is told.
    pub(crate) async fn load_last_reply(&mut self) -> Result<(), RuntimeError> {
        if self.state.whole {
            return Ok(());
        }
        let nodes = self.state.tree.nodes().rev();
        let mut replies =
            nodes.filter(|(_, node)| node.message().role == Role::Assistant && !node.is_filed());
        let newest = replies.next().map(|(id, _)| id);
        drop(replies);
        match newest {
            Some(reply) => self.load_words_of(reply).await,
            None => Ok(()),
        }
    }

    /// Returns the model's last words on the trunk; empty if it has said nothing.
    pub fn answer(&self) -> String {
        self.state.answer()
    }

    /// Returns the staged actions and what became of them; where the session [is not whole](Session::is_whole), without those
    /// that were settled on branches that were left.
    pub fn proposals(&self) -> &trunkline_resolve_queue::Queue<serde_json::Value> {
        &self.state.resolve.queue
    }

    /// Returns the rules that were given in this session, also those that do not count any more.
    pub fn rules(&self) -> &trunkline_resolve_queue::Rules {
        &self.state.resolve.rules
    }

    /// Returns what the model decided with its tool, by the place of the call, oldest first; where the session
    /// [is not whole](Session::is_whole), on the trunk.
    pub fn resolutions(
        &self,
    ) -> impl Iterator<Item = (&CallPlace, &trunkline_resolve_queue::ResolutionDetails)> {
        self.state.resolve.choices.resolved()
    }

    /// Returns the notes that reverts have left, oldest first.
    pub fn notes(&self) -> &[trunkline_revert::Note] {
        &self.state.revert.notes
    }

    /// Returns the verdicts of this session's runs; where the session [is not whole](Session::is_whole), only the latest and
    /// those that came since.
    pub fn decisions(&self) -> &trunkline_decision_objects::Decisions {
        &self.state.decision.decisions
    }

    /// Returns whether a run has begun that has no verdict yet.
    pub fn has_open_run(&self) -> bool {
        self.state.decision.is_open()
    }

    /// Gives the model a prompt and drives the session until it stops.
    ///
    /// While calls wait for a decision, or files are being put back, the prompt waits too, in the session's inbox.
    ///
    /// # Errors
    ///
    /// Any [`RuntimeError`]; what was recorded is kept, and [`resume`](Session::resume) goes on from there.
    pub async fn prompt(&mut self, text: &str, cancel: &Cancel) -> Result<Stop, RuntimeError> {
        let nothing_waits = self.ready(cancel, false).await?;
        // What closes the run that was open until now was said first: these words are no part of it.
        if !nothing_waits {
            self.take_close_letters().await?;
        }
        if !self.has_place_for_prompt() {
            let body = serde_json::json!({ "text": text }).to_string();
            let at = self.settings().now();
            self.store.post(self.lease.session(), letters::PROMPT, &body, at).await?;
            return self.drive(cancel, false).await;
        }
        self.add_prompt(text, None).await?;
        // Words may open a run, and then its folder was looked at meanwhile.
        let nothing_waits = nothing_waits && self.settings().workspace.is_none();
        self.drive(cancel, nothing_waits).await
    }

    /// Drives the session on from where it is until it stops.
    ///
    /// # Errors
    ///
    /// Any [`RuntimeError`]; what was recorded is kept.
    pub async fn resume(&mut self, cancel: &Cancel) -> Result<Stop, RuntimeError> {
        self.drive(cancel, false).await
    }

    /// Takes in the letters that others have left, as far as they can take effect now, without asking the model.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] and whatever a letter's effect can fail with.
    pub async fn read_letters(&mut self) -> Result<(), RuntimeError> {
        self.catch_up_or_abandon().await?;
        self.look_late().await?;
        self.try_rest_of_rollback().await;
        self.take_letters(&Cancel::new()).await.map(drop)
    }

    /// Moves the head back, as a person: prompts may be left behind, and a lesson taken along.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] with targets that would work; [`RuntimeError::Store`].
    pub async fn revert(&mut self, to: NodeId, lesson: Option<&str>) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.revert_for(to, lesson, None).await
    }

    /// Takes back the latest move of the head.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is none; [`RuntimeError::Store`].
    pub async fn undo(&mut self) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.undo_for(None).await
    }

    /// Makes the latest move again that was taken back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is none; [`RuntimeError::Store`].
    pub async fn redo(&mut self) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.redo_for(None).await
    }

    /// Returns whether words of a person can be added at the head. Not before the calls there have their results, and no run
    /// that puts files back is about anything else.
    pub(crate) fn has_place_for_prompt(&self) -> bool {
        if self.state.decision.run.as_ref().is_some_and(|run| run.restoring.is_some()) {
            return false;
        }
        self.state.open_turn().is_none()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.agent.settings
    }

    /// Tells the observers of the agent and of this session.
    pub(crate) fn tell(&self, event: &Event) {
        for observer in self.settings().observer.iter().chain(&self.observer) {
            observer(self.lease.session(), event);
        }
    }

    /// Returns what a tool may know of a call in this session.
    pub(crate) fn context(&self, cancel: Cancel, call: CallPlace) -> ToolContext {
        ToolContext { session: Some(self.lease.session().clone()), ..ToolContext::new(cancel, call) }
    }

    /// Writes records in one batch and then lets memory follow. Nothing else writes.
    pub(crate) async fn commit(
        &mut self,
        mut records: Vec<Record>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        if records.is_empty() && letter.is_none() {
            return Ok(());
        }
        self.check_held()?;
        recorded::complete(&self.state, &self.settings().setup, &mut records)?;
        let batch = Batch::new(self.state.position(), records.clone()).consuming(letter);
        // Until the answer is here nobody knows what was kept, and whoever waits for it may be dropped before that.
        self.behind = true;
        if let Err(fault) = self.store.append(&self.lease, batch).await {
            return Err(self.not_written(fault).await);
        }
        for record in &records {
            self.state.record(record)?;
        }
        self.behind = false;
        for record in &records {
            self.tell_of(record);
        }
        Ok(())
    }

    /// Says what a write that failed means.
    async fn not_written(&mut self, fault: StoreError) -> RuntimeError {
        match fault {
            StoreError::Fenced { holder, .. } => self.lost(letters::by(holder)),
            StoreError::KeyTaken { key: run, seq, kind, .. } if kind == decision::DECIDED => {
                let query = decision::verdict_of(self.id(), &run);
                match self.store.notes(&query).await {
                    Ok(found) => {
                        let verdict = found.into_iter().next().map(|first| first.key.state);
                        RuntimeError::AlreadyDecided { run, seq, verdict: verdict.unwrap_or_default() }
                    }
                    Err(fault) => fault.into(),
                }
            }
            other => other.into(),
        }
    }

    /// Notes that somebody has taken the session over, for good.
    pub(crate) fn lost(&mut self, by: String) -> RuntimeError {
        self.taken_by = Some(by.clone());
        RuntimeError::TakenOver { session: self.id().clone(), by }
    }

    fn check_held(&self) -> Result<(), RuntimeError> {
        match &self.taken_by {
            Some(by) => Err(RuntimeError::TakenOver { session: self.id().clone(), by: by.clone() }),
            None => Ok(()),
        }
    }

    /// Finds out whether this is still the writer, before anything is begun, and lets memory follow the log after a
    /// write of which nobody knows whether it was kept.
    pub(crate) async fn catch_up(&mut self) -> Result<(), RuntimeError> {
        self.check_held()?;
        let holder = self.store.holder(self.lease.session()).await?;
        if let Some(holder) = holder.filter(|holder| holder.token != self.lease.token()) {
            return Err(self.lost(letters::by(holder.name)));
        }
        if self.behind {
            for (_, record) in self.store.load_after(self.lease.session(), self.state.seq).await? {
                self.state.record(&record)?;
            }
            self.behind = false;
        }
        self.be_sure().await
    }

    fn tell_of(&self, record: &Record) {
        if self.settings().observer.is_none() && self.observer.is_none() {
            // To make some events a note is parsed.
            return;
        }
        if let Some(event) = recorded::event_of(record) {
            self.tell(&event);
        }
    }

    /// Adds a prompt at the head and opens a run for it, unless one is open, in one batch.
    pub(crate) async fn add_prompt(
        &mut self,
        text: &str,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.perform_for(letter, |view, asked| open::prompt(view, asked, text)).await
    }
}
