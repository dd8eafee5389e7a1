//! Lets git answer for the end of a run, and binds what is recorded. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::bind).

use crate::Session;
use trunkline_session_machine::acts::bind::{self, Settled};
use trunkline_session_machine::{CloseAs, Event, RuntimeError};

impl Session {
    /// Finds out what became of a binding that did not say how it ended; see [`settle`](bind::settle).
    pub(crate) async fn settle_binding(&mut self, again: bool) -> Result<Settled, RuntimeError> {
        // Until git has answered it is not known whether the run is decided.
        self.unsure = self.state.decision.run.as_ref().is_some_and(|run| !run.bindings.is_empty());
        let settled = self.perform(|view, asked| bind::settle(view, asked, again)).await?;
        self.unsure = false;
        let settled = settled?;
        if let Settled::Decided(decision) = &settled {
            self.tell_staged(decision).await;
        }
        Ok(settled)
    }

    /// Binds what is recorded and not bound yet. What fails is told, once for each reason, and stays to be done.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub(crate) async fn bind_decided(&mut self) -> Result<(), RuntimeError> {
        if !self.settings().setup.files.binds || self.unbindable || self.settings().workspace.is_none() {
            return Ok(());
        }
        for unbound in self.state.decision.to_bind.clone() {
            let run = unbound.run.to_string();
            match self.perform(|view, asked| bind::bind_decided(view, asked, &unbound)).await? {
                None => drop(self.not_bound.remove(&run)),
                Some(why) => {
                    self.unbindable = true;
                    // The session is opened and driven in one act, and both try.
                    if self.not_bound.insert(run.clone(), why.clone()).as_ref() != Some(&why) {
                        self.tell(&Event::NotBound { run, why });
                    }
                }
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
}
