//! Decisions are bound to the repository: with a commit, in the step that moves the branch; without one, after they are
//! recorded.
//!
//! The store is the truth, and git cannot take part in its batches. So what closes a run is recorded first in a note, then
//! git moves the branch and keeps the decision in one step of its own, then the same bytes close the run. Whoever comes
//! after a kill asks git how far it came. A run of which git holds the decision is decided, whatever was said since.

use trunkline_decision_objects::Decision;
use trunkline_session_store::Record;

use crate::layers::decision::{self, BindingNote};
use crate::{BindingState, Bound, Event, Prepared, RuntimeError, Session, WorkspaceFault};

/// How many of the things that were about to be bound are looked for: more than one only if a person kept moving the branch.
const LOOKED_FOR: usize = 8;

impl Session {
    /// Binds what closes the open run and closes it; `None` if the branch was moved meanwhile, so that all has to be
    /// prepared anew.
    pub(crate) async fn bind_closing(
        &mut self,
        prepared: Prepared,
        closing: Vec<Record>,
    ) -> Result<Option<Decision>, RuntimeError> {
        let note = BindingNote::new(self.state.tree.head(), prepared, closing)?;
        self.commit(vec![note.record(self.settings().now())], None).await?;
        self.settle_binding(true).await
    }

    /// Finds out what became of a binding that did not say how it ended, and closes the run if git holds its decision.
    ///
    /// What is half done is brought to its end. What was not begun is begun only if `again` says so, and nothing was said
    /// since.
    pub(crate) async fn settle_binding(&mut self, again: bool) -> Result<Option<Decision>, RuntimeError> {
        let notes = self.state.decision.run.as_ref().map(|run| run.bindings.clone()).unwrap_or_default();
        if notes.is_empty() {
            self.unsure = false;
            return Ok(None);
        }
        // Until git has answered nobody knows whether the run is decided.
        self.unsure = true;
        let Some(workspace) = self.settings().workspace.clone() else {
            let message = "the decision of the open run may stand in git already, and its folder was not given: \
                           open the session with it";
            return Err(WorkspaceFault { message: message.to_owned() }.into());
        };
        let mut other = None;
        for (place, note) in notes.iter().rev().take(LOOKED_FOR).enumerate() {
            let Some(run) = &self.state.decision.run else { break };
            let binding = note.binding(run)?;
            let begin = again && place == 0 && note.head == self.state.tree.head();
            let state = match begin {
                true => BindingState::Neither,
                false => workspace.bound(&binding).await?,
            };
            let reference = match state {
                BindingState::BoundElsewhere { reference } => reference,
                BindingState::OtherDecision { first } => {
                    other.get_or_insert(first);
                    continue;
                }
                BindingState::Elsewhere => continue,
                BindingState::Neither if !begin => continue,
                _ => match workspace.bind(&binding).await? {
                    Bound::Done { reference } => reference,
                    Bound::Overtaken { .. } => continue,
                    Bound::OtherDecision { first } => {
                        other.get_or_insert(first);
                        continue;
                    }
                },
            };
            let decision = note.decision()?;
            let mut records = note.closing();
            records.push(decision::bound(&decision, &reference, self.settings().now()));
            self.commit(records, None).await?;
            self.unsure = false;
            return Ok(Some(decision));
        }
        self.unsure = false;
        match other {
            Some(first) if again => Err(WorkspaceFault { message: bound_to(&first) }.into()),
            _ => Ok(None),
        }
    }

    /// Binds what is recorded and not bound yet. What fails is told and stays to be done.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub(crate) async fn bind_decided(&mut self) -> Result<(), RuntimeError> {
        let wanted = self.settings().binds && !self.unbindable;
        let Some(workspace) = self.settings().workspace.clone().filter(|_| wanted) else { return Ok(()) };
        for unbound in self.state.decision.to_bind.clone() {
            let why = match workspace.bind(&unbound.binding).await {
                Ok(Bound::Done { reference }) => {
                    let at = self.settings().now();
                    self.commit(vec![decision::bound_later(&unbound, &reference, at)], None).await?;
                    continue;
                }
                Ok(Bound::OtherDecision { first }) => bound_to(&first),
                Ok(Bound::Overtaken { why }) => why,
                Err(fault) => fault.message,
            };
            self.unbindable = true;
            self.settings().tell(&Event::NotBound { run: unbound.run.to_string(), why });
        }
        Ok(())
    }

    /// Takes up what an earlier process has left to be bound. Git that cannot be asked now is asked before anything else
    /// is done.
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

    /// Lets the drive that begins try again what the one before it could not bind.
    pub(crate) fn try_bindings_again(&mut self) {
        self.unbindable = false;
    }

    pub(crate) fn mark_bindings(&self, records: &mut Vec<Record>) {
        self.state.decision.complete(records, self.settings().binds);
    }
}

fn bound_to(first: &str) -> String {
    format!(
        "the repository holds another decision of this run, {first}, as where a session was copied and both went on; \
         go on without binding"
    )
}
