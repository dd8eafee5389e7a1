//! Decisions are bound to the repository: with a commit, in the step that moves the branch; without one, after they are
//! recorded.
//!
//! The store is the truth, and git cannot take part in its batches. So what closes a run is recorded first in a note, then
//! git moves the branch and keeps the decision in one step of its own, then the same bytes close the run. Whoever comes
//! after a kill asks git how far it came. A run of which git holds the decision is decided, whatever was said since.

use trunkline_decision_objects::Decision;
use trunkline_session_store::Record;

use crate::layers::decision::{self, BindingNote};
use crate::{BindingState, Bound, CloseAs, Event, Prepared, RuntimeError, Session, WorkspaceFault};

/// How many of the things that were about to be bound are looked for: more than one only if a person kept moving the branch.
const LOOKED_FOR: usize = 8;

/// What is known of the open run once git has answered.
pub(crate) enum Settled {
    /// It has its decision.
    Decided(Box<Decision>),
    /// It is not bound. If what was prepared last could not be, why: perhaps it can be prepared anew.
    Open(Option<String>),
    /// Its commit was on the branch, and somebody has taken it off; in these words.
    TakenBack(String),
}

impl Session {
    /// Binds what closes the open run and closes it.
    pub(crate) async fn bind_closing(
        &mut self,
        prepared: Prepared,
        decision: &Decision,
        closing: Vec<Record>,
    ) -> Result<Settled, RuntimeError> {
        let head = self.state.tree.head();
        let newest = self.state.decision.run.as_ref().and_then(|run| run.bindings.last());
        // What is the same but for its ids and its time is recorded already. Else each try would leave a note.
        if newest.is_none_or(|note| !note.is_of(head, &prepared, decision)) {
            let note = BindingNote::new(head, prepared, closing)?;
            self.commit(vec![note.record(self.settings().now())], None).await?;
        }
        self.settle_binding(true).await
    }

    /// Finds out what became of a binding that did not say how it ended, and closes the run if git holds its decision.
    ///
    /// What is half done is brought to its end. What was not begun is begun only if `again` says so, and nothing was said
    /// since. A commit that somebody has taken off its branch is never put back.
    pub(crate) async fn settle_binding(&mut self, again: bool) -> Result<Settled, RuntimeError> {
        let notes = self.state.decision.run.as_ref().map(|run| run.bindings.clone()).unwrap_or_default();
        if notes.is_empty() {
            self.unsure = false;
            return Ok(Settled::Open(None));
        }
        // Until git has answered nobody knows whether the run is decided.
        self.unsure = true;
        let Some(workspace) = self.settings().workspace.clone() else {
            return Err(self.cannot_tell("its folder was not given"));
        };
        let (mut other, mut overtaken, mut taken_back) = (None, None, None);
        for (place, note) in notes.iter().rev().take(LOOKED_FOR).enumerate() {
            let Some(run) = &self.state.decision.run else { break };
            let binding = note.binding(run).map_err(|fault| self.cannot_tell(&fault.to_string()))?;
            let newest = place == 0 && note.head == self.state.tree.head();
            let begin = again && newest;
            let state = match begin {
                true => BindingState::Neither,
                false => match workspace.bound(&binding).await {
                    Ok(state) => state,
                    Err(fault) => return Err(self.cannot_tell(&fault.message)),
                },
            };
            let reference = match state {
                BindingState::BoundElsewhere { reference } => reference,
                BindingState::OtherDecision { first } => {
                    other.get_or_insert(first);
                    continue;
                }
                // What was said since is about other files.
                BindingState::TakenBack { why } => {
                    taken_back = taken_back.or(newest.then_some(why));
                    continue;
                }
                BindingState::Elsewhere => continue,
                BindingState::Neither if !begin => continue,
                _ => match workspace.bind(&binding).await {
                    Ok(Bound::Done { reference }) => reference,
                    Ok(Bound::Overtaken { why }) => {
                        overtaken = overtaken.or(newest.then_some(why));
                        continue;
                    }
                    Ok(Bound::TakenBack { why }) => {
                        taken_back = taken_back.or(newest.then_some(why));
                        continue;
                    }
                    Ok(Bound::OtherDecision { first }) => {
                        other.get_or_insert(first);
                        continue;
                    }
                    // What git has done by then nobody knows.
                    Err(fault) => return Err(self.not_told(&fault.message)),
                },
            };
            let decision = note.decision()?;
            let mut records = note.closing();
            records.push(decision::bound(&decision, &reference, self.settings().now()));
            self.commit(records, None).await?;
            self.unsure = false;
            self.tell_staged(&decision).await;
            return Ok(Settled::Decided(Box::new(decision)));
        }
        self.unsure = false;
        match (other, taken_back) {
            (Some(first), _) if again => {
                Err(WorkspaceFault { message: bound_to(&self.run_name(), &first) }.into())
            }
            (_, Some(why)) => Ok(Settled::TakenBack(why)),
            _ => Ok(Settled::Open(overtaken)),
        }
    }

    /// Says that git has to be asked first and gives no answer, and what a person can do then.
    fn cannot_tell(&self, why: &str) -> RuntimeError {
        let run = self.run_name();
        let message = format!(
            "run {run} may be decided in git already, and git cannot be asked: {why}; open the session with the folder \
             of its repository, or abandon the run with words, and what git holds of it counts no more"
        );
        WorkspaceFault { message }.into()
    }

    /// Says that git was to bind the end of the open run and has not told whether it did, and what a person can do then.
    fn not_told(&self, why: &str) -> RuntimeError {
        let run = self.run_name();
        let message = format!(
            "run {run} may be decided in git already, and git did not say so: {why}; mend that and resume the session, \
             which asks it again, or abandon the run with words, and what git holds of it counts no more"
        );
        WorkspaceFault { message }.into()
    }

    /// Says that the end of the open run could not be bound, and what a person can do then.
    pub(crate) fn not_committed(&self, why: &str) -> RuntimeError {
        let run = self.run_name();
        let message = format!(
            "run {run} is still open, and it is not known to be bound: {why}; mend that and resume the session, or abandon \
             the run with words"
        );
        WorkspaceFault { message }.into()
    }

    fn run_name(&self) -> String {
        self.open_run().map(|run| run.to_string()).unwrap_or_default()
    }

    /// Binds what is recorded and not bound yet. What fails is told, once for each reason, and stays to be done.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub(crate) async fn bind_decided(&mut self) -> Result<(), RuntimeError> {
        let wanted = self.settings().binds && !self.unbindable;
        let Some(workspace) = self.settings().workspace.clone().filter(|_| wanted) else { return Ok(()) };
        for unbound in self.state.decision.to_bind.clone() {
            let run = unbound.run.to_string();
            let why = match workspace.bind(&unbound.binding).await {
                Ok(Bound::Done { reference }) => {
                    let at = self.settings().now();
                    self.commit(vec![decision::bound_later(&unbound, &reference, at)], None).await?;
                    self.not_bound.remove(&run);
                    continue;
                }
                Ok(Bound::OtherDecision { first }) => bound_to(&run, &first),
                Ok(Bound::Overtaken { why } | Bound::TakenBack { why }) => tried_again(&why),
                Err(fault) => tried_again(&fault.message),
            };
            self.unbindable = true;
            // The session is opened and driven in one act, and both try.
            if self.not_bound.insert(run.clone(), why.clone()).as_ref() != Some(&why) {
                self.tell(&Event::NotBound { run, why });
            }
        }
        Ok(())
    }

    /// Takes up what an earlier process has left to be bound. Git that cannot be asked now is asked before anything else is
    /// done, and a note that cannot be read is told to whoever wants to do something.
    pub(crate) async fn take_up_bindings(&mut self) -> Result<(), RuntimeError> {
        match self.settle_binding(false).await {
            Ok(_) => self.bind_decided().await,
            Err(RuntimeError::Workspace(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Finds out how an earlier try of this process ended, before anything else is done.
    pub(crate) async fn be_sure(&mut self) -> Result<(), RuntimeError> {
        match self.unsure {
            true => self.settle_binding(false).await.map(drop),
            false => Ok(()),
        }
    }

    /// Makes sure that a run can be ended in this way. Whoever abandons one need not wait for a git that gives no answer: its
    /// folder may be gone for good, and there is no other way out.
    pub(crate) async fn catch_up_to_close(&mut self, how: &CloseAs) -> Result<(), RuntimeError> {
        match self.catch_up().await {
            Err(RuntimeError::Workspace(_)) if self.unsure && matches!(how, CloseAs::Abandon { .. }) => {
                Ok(())
            }
            sure => sure,
        }
    }

    /// Likewise, for a letter that abandons the run: while git gives no answer no other is read.
    pub(crate) async fn catch_up_or_abandon(&mut self) -> Result<(), RuntimeError> {
        match self.catch_up().await {
            Err(fault @ RuntimeError::Workspace(_)) if self.unsure => {
                self.take_abandon_letters().await?;
                match self.state.decision.is_open() {
                    true => Err(fault),
                    false => self.catch_up().await,
                }
            }
            sure => sure,
        }
    }

    /// Lets the drive that begins try again what the one before it could not bind.
    pub(crate) fn try_bindings_again(&mut self) {
        self.unbindable = false;
    }

    pub(crate) fn mark_bindings(&self, records: &mut Vec<Record>) {
        self.state.decision.complete(records, self.settings().binds);
    }
}

fn bound_to(run: &str, first: &str) -> String {
    format!(
        "the repository holds another decision of run {run}, {first}, as where a session was copied and both went on; \
         `trunkline decisions --git` shows it; go on without binding"
    )
}

fn tried_again(why: &str) -> String {
    format!("{why}; the decision is recorded, and the next `trunkline resume --bind` tries again")
}
