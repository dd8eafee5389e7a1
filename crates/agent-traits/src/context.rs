//! What a running call may know and use.

use std::fmt;
use std::sync::Arc;

use trunkline_resolve_queue::Decision;
use trunkline_session_machine::{CallPlace, Proposal};
use trunkline_session_store::{SessionId, SessionStore};

use crate::cancel::Cancel;
use crate::pending::{PendingAction, PendingActionError, Pushed};

/// What a running call may know and use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// Given when the call must stop.
    pub cancel: Cancel,
    /// The place of the call.
    pub call: CallPlace,
    /// The session that the call belongs to; `None` where a tool is run by itself, as in its own tests.
    pub session: Option<SessionId>,
    /// What was decided on what is applied, or has ended, with what the decider handed over; `None` in a call, and where nobody has
    /// decided.
    pub decision: Option<Box<Decision>>,
    pushed: Pushed,
    home: Home,
}

impl ToolContext {
    /// Returns a context, as for a tool's own tests.
    pub fn new(cancel: Cancel, call: CallPlace) -> Self {
        ToolContext {
            cancel,
            call,
            session: None,
            decision: None,
            pushed: Pushed::default(),
            home: Home::default(),
        }
    }

    /// Stages an action with the result of the running call, as [`ToolOutput::proposals`](crate::ToolOutput) does.
    ///
    /// The model is told its id in the call's result. Nothing of it is done before it is approved; then the tool that it
    /// names is asked to [apply](crate::Executor::apply) it, or else the tool whose call this is. Of a call that crashes or is
    /// dropped nothing is staged.
    ///
    /// # Errors
    ///
    /// [`PendingActionError::Unavailable`] where staged actions are off; [`PendingActionError::CallOver`].
    pub fn push_pending_action(&self, action: PendingAction) -> Result<(), PendingActionError> {
        self.pushed.push(action)
    }

    /// Returns this context with room for what the call stages while it runs; clones made of it afterwards share it. For a loop
    /// that calls tools, and for a tool's own tests.
    #[must_use]
    pub fn collecting_actions(mut self) -> Self {
        self.pushed = Pushed::open();
        self
    }

    /// Ends the collection and returns what was staged while the call ran, in that order. From here on nothing more is taken.
    /// Nothing, where there was no room for it.
    pub fn take_actions(&self) -> Vec<Proposal> {
        self.pushed.close()
    }

    /// Returns the context in which a decision is carried out.
    #[must_use]
    pub fn after(mut self, decision: Option<&Decision>) -> Self {
        self.decision = decision.cloned().map(Box::new);
        self
    }

    /// Returns where the session of the call is kept; `None` where there is none.
    pub fn store(&self) -> Option<&Arc<dyn SessionStore>> {
        self.home.0.as_ref()
    }

    /// Returns the context of a call in a session, as for a tool's own tests.
    #[must_use]
    pub fn in_session(mut self, store: Arc<dyn SessionStore>, session: SessionId) -> Self {
        (self.home, self.session) = (Home(Some(store)), Some(session));
        self
    }
}

/// Where the session of a call is kept.
#[derive(Clone, Default)]
struct Home(Option<Arc<dyn SessionStore>>);

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a store" } else { "none" })
    }
}
