//! The one writer of a session: its store and its lease, and what is known of it. The only place where something is written.

pub(crate) mod answers;
pub(crate) mod events;
pub(crate) mod inbox;
pub(crate) mod opening;
pub(crate) mod outlining;
pub(crate) mod renewal;
pub(crate) mod settings;
pub(crate) mod shelf;
pub(crate) mod summaries;
pub(crate) mod waiting;

use std::sync::Arc;
use std::time::Instant;
use trunkline_agent_traits::{Cancel, Tool, ToolContext};

use trunkline_message_tree::{Node, NodeId};
use trunkline_resolve_queue::ProposalId;
use trunkline_session_machine::acts::asked::Asked;
use trunkline_session_machine::acts::plan::Plan;
use trunkline_session_machine::acts::question::Pause;
use trunkline_session_machine::acts::recorded;
use trunkline_session_machine::acts::recover::Before;
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::next::Facts;
use trunkline_session_machine::notes::decision;
use trunkline_session_machine::reading::across;
use trunkline_session_machine::state::State;
use trunkline_session_machine::{APPLY_LEASE, CallPlace, Event, RuntimeError};
use trunkline_session_store::{
    Activity, Batch, Claim, InboxId, Lease, Record, SessionId, SessionStore, StoreError,
};

use self::answers::Sources;
use self::events::Readers;
use self::settings::{Observer, Settings};
use self::shelf::{Kept, Place};
use self::summaries::Summaries;

/// The writer of a session.
pub(crate) struct Writer {
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) lease: Lease,
    /// Told after the agent's own.
    pub(crate) observer: Option<Observer>,
    pub(crate) readers: Readers,
    pub(crate) state: State,
    /// What is kept from one request to the next, in a drive, and after one that was dropped.
    pub(crate) kept: Kept,
    /// Where that is after a drive that has ended.
    pub(crate) place: Option<Place>,
    /// Whether the last write failed, or was dropped, in a way that leaves open what the store has kept.
    pub(crate) behind: bool,
    /// The newest letter that was there when this became the writer, or when its latest drive ended.
    pub(crate) old: Option<InboxId>,
    /// How far what happens in the session was seen when its inbox was read last, if nothing was in it.
    pub(crate) seen: Option<Activity>,
    /// What of its drives is not in the log.
    pub(crate) facts: Facts,
    /// What is being asked about branches that were left.
    pub(crate) summaries: Summaries,
    /// The signal of the latest drive.
    pub(crate) cancel: Option<Cancel>,
    /// How a rollback that was cut off has ended when the session was opened, until somebody asks.
    pub(crate) finished: Option<Box<trunkline_decision_objects::Decision>>,
    /// Why runs are not bound, as it was told.
    pub(crate) not_bound: std::collections::BTreeMap<String, String>,
    /// Since when this is the writer.
    since: Instant,
    /// Who has taken the session over; nothing is begun or written any more.
    taken_by: Option<String>,
}

impl Writer {
    /// Does an act. Returns what follows from it.
    pub(crate) async fn perform<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        self.perform_for(None, act).await
    }

    /// Does an act that a letter asks for, which is consumed with what the act records.
    pub(crate) async fn perform_for<T>(
        &mut self,
        letter: Option<InboxId>,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        let plan = self.find_out(act).await?;
        self.write(plan, letter).await
    }

    /// Does what of an act writes nothing. While it waits the log does not grow, so that all answers count.
    pub(crate) async fn find_out<T>(
        &self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    ) -> Result<T, RuntimeError> {
        let mut known = Vec::new();
        let mut view = self.view();
        let began = view.at;
        loop {
            match act(&view, &mut Asked::of(&known)) {
                Ok(learned) => return Ok(learned),
                Err(Pause::Refused(fault)) => return Err(fault),
                Err(Pause::Needs(question, counting)) => {
                    known.truncate(counting);
                    // Most acts ask nothing: what waits for an answer is large, and kept apart.
                    let answer = Box::pin(answers::answer_to(&self.sources(), &question)).await?;
                    known.push((*question, answer));
                    view = View { began, ..self.view() };
                }
            }
        }
    }

    /// Records what was planned, and then tells of it.
    pub(crate) async fn write<T>(
        &mut self,
        plan: Plan<T>,
        letter: Option<InboxId>,
    ) -> Result<T, RuntimeError> {
        self.commit(plan.records, letter).await?;
        for event in &plan.events {
            if let (Event::LookFailed { .. }, Some(run)) = (event, &mut self.state.decision.run) {
                run.looks.tell_fault();
            }
            self.tell(event);
        }
        Ok(plan.then)
    }

    /// Returns what an act looks at now.
    pub(crate) fn view(&self) -> View<'_> {
        let settings = self.settings();
        let at = settings.now();
        View { state: &self.state, setup: &settings.setup, token: self.lease.token(), at, began: at }
    }

    /// Returns the tool that applies a proposal.
    pub(crate) fn executor(&self, id: ProposalId) -> Option<Arc<dyn Tool>> {
        answers::executor_of(&self.settings, &self.state, id)
    }

    fn sources(&self) -> Sources<'_> {
        let (store, session) = (self.store.as_ref(), self.lease.session());
        Sources { settings: &self.settings, state: &self.state, store, session }
    }

    /// Keeps a snapshot if so much has left the trunk since the last one that the next opening would read it in vain.
    pub(crate) async fn keep_snapshot(&mut self) {
        let after = self.settings.snapshot_after;
        opening::keep_snapshot(after, self.store.as_ref(), &self.lease, &mut self.state).await;
    }

    /// Returns the session's name.
    pub(crate) fn id(&self) -> &SessionId {
        self.lease.session()
    }

    /// Reads everything that was ever recorded, if it is not in memory. Costs in proportion to the log.
    ///
    /// What needs it does so by itself: a person's moves, merges, rollbacks, undoing an edit, a verdict on a proposal that is not in
    /// memory, a late result, a summary that was lost, and the first request after a move back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] if the log cannot be read.
    pub(crate) async fn load_whole(&mut self) -> Result<(), RuntimeError> {
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

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Tells the observers and readers of the agent and of this session.
    pub(crate) fn tell(&self, event: &Event) {
        for observer in self.settings().observer.iter().chain(&self.observer) {
            observer(self.lease.session(), event);
        }
        self.settings.readers.tell(self.lease.session(), event);
        self.readers.tell(self.lease.session(), event);
    }

    /// Returns what a tool may know of a call in this session.
    pub(crate) fn context(&self, cancel: Cancel, call: CallPlace) -> ToolContext {
        ToolContext::new(cancel, call).in_session(Arc::clone(&self.store), self.lease.session().clone())
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
            StoreError::Fenced { holder, .. } => self.lost(inbox::by(holder)),
            StoreError::KeyTaken { key: run, seq, kind, .. } if kind == decision::DECIDED => {
                let query = across::verdict_of(self.id(), &run);
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

    fn tell_of(&self, record: &Record) {
        let no_reader = self.settings.readers.is_empty() && self.readers.is_empty();
        if self.settings.observer.is_none() && self.observer.is_none() && no_reader {
            // To make some events a note is parsed.
            return;
        }
        if let Some(event) = recorded::event_of(record) {
            self.tell(&event);
        }
    }

    /// Returns what is known of whoever wrote the session before. Nobody has renewed a lease since this one writes.
    pub(crate) fn before(&self) -> Before {
        Before { lapsed: self.since.elapsed() >= APPLY_LEASE, ..self.facts.before }
    }

    /// Returns the signal of the latest drive.
    pub(crate) fn signal(&mut self) -> Cancel {
        self.cancel.get_or_insert_default().clone()
    }

    /// Finds out whether this is still the writer, before anything is begun, and lets memory follow the log after a
    /// write of which nobody knows whether it was kept.
    pub(crate) async fn follow(&mut self) -> Result<(), RuntimeError> {
        self.check_held()?;
        let holder = self.store.holder(self.lease.session()).await?;
        if let Some(holder) = holder.filter(|holder| holder.token != self.lease.token()) {
            return Err(self.lost(inbox::by(holder.name)));
        }
        if self.behind {
            for (_, record) in self.store.load_after(self.lease.session(), self.state.seq).await? {
                self.state.record(&record)?;
            }
            self.behind = false;
        }
        Ok(())
    }
}

/// Becomes the writer of a session. What an earlier one has left half done is not looked at yet.
pub(crate) async fn open(
    settings: Arc<Settings>,
    store: Arc<dyn SessionStore>,
    id: &SessionId,
    claim: Claim,
) -> Result<Writer, RuntimeError> {
    // Before there is a new writer to be seen: whoever sees it and asks it to cancel means what it is about to do.
    let old = inbox::newest(&store.inbox(id).await?);
    // Before the log is read: whoever was the writer can add nothing to it now.
    let lease = store.claim(id, claim).await?;
    let mut state = opening::state_of(store.as_ref(), &lease, settings.snapshot_after).await?;
    state.revert.watch(&settings.setup.revert);
    state.decision.log_ends();
    let mut facts = Facts::default();
    facts.before.gone = claim == Claim::IfFree && store.free_means_gone();
    Ok(Writer {
        settings,
        store,
        lease,
        observer: None,
        readers: Readers::default(),
        summaries: Summaries::new(&state.revert),
        state,
        kept: Kept::default(),
        place: None,
        behind: false,
        old,
        seen: None,
        cancel: None,
        facts,
        finished: None,
        not_bound: std::collections::BTreeMap::new(),
        since: Instant::now(),
        taken_by: None,
    })
}
