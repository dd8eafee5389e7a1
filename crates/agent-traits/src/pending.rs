//! Actions that a custom tool stages while one of its calls runs.
//!
//! They travel with the call's result and are staged with it. Who applies one is found again from what is stored: the tool
//! that it names, or else the one whose call staged it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use trunkline_resolve_queue::{CUSTOM_TOOL, Effect, Fingerprint, Preview};

use trunkline_session_machine::Proposal;

/// What a custom tool wants done, given to [`ToolContext::push_pending_action`](crate::ToolContext::push_pending_action).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingAction {
    /// One line for people: what would be done.
    pub label: String,
    /// The tool that is asked to apply it. If it is not there, or not named, the tool whose call staged it is.
    pub source_tool: Option<String>,
    /// The effect as data.
    pub payload: Value,
    /// Whatever the tool wants to find again beside the resolution.
    pub details: Option<Value>,
    /// What the decider is shown.
    pub preview: Preview,
    /// How everything it was computed from looked.
    pub fingerprints: Vec<Fingerprint>,
    /// How everything it writes will look afterwards.
    pub after: Vec<Fingerprint>,
    /// What it would take to undo it; that nothing can, unless told.
    pub effect: Effect,
}

/// Why an action could not be staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PendingActionError {
    /// The context is that of a tool's own test.
    // Tools know this sentence from its other homes, so it is kept as it is.
    #[error("Pending action store unavailable for custom tools in this runtime.")]
    Unavailable,
    /// The call has its result, and nothing can travel with it any more.
    #[error("the call is over; an action is staged while it runs")]
    CallOver,
}

/// What the running call has staged until now; `None` once it is over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pushed(Option<Arc<Mutex<Option<Vec<PendingAction>>>>>);

impl Pushed {
    pub(crate) fn open() -> Self {
        Pushed(Some(Arc::new(Mutex::new(Some(Vec::new())))))
    }

    /// Ends the collection and returns what came.
    pub(crate) fn close(&self) -> Vec<Proposal> {
        let Some(store) = &self.0 else { return Vec::new() };
        let pushed = store.lock().unwrap_or_else(PoisonError::into_inner).take();
        pushed.unwrap_or_default().into_iter().map(Proposal::from).collect()
    }

    pub(crate) fn push(&self, action: PendingAction) -> Result<(), PendingActionError> {
        let store = self.0.as_ref().ok_or(PendingActionError::Unavailable)?;
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        store.as_mut().ok_or(PendingActionError::CallOver)?.push(action);
        Ok(())
    }
}

impl PendingAction {
    /// An action with the cautious defaults: nothing undoes it, and nothing is known of what it was computed from.
    pub fn new(label: impl Into<String>, payload: Value) -> Self {
        PendingAction {
            label: label.into(),
            source_tool: None,
            payload,
            details: None,
            preview: Preview::default(),
            fingerprints: Vec::new(),
            after: Vec::new(),
            effect: Effect::Irreversible,
        }
    }
}

impl From<PendingAction> for Proposal {
    fn from(action: PendingAction) -> Self {
        let source_tool = action.source_tool.unwrap_or_else(|| CUSTOM_TOOL.to_owned());
        let mut proposal = Proposal::new(action.label, source_tool, action.payload);
        proposal.preview = action.preview;
        proposal.fingerprints = action.fingerprints;
        proposal.after = action.after;
        proposal.effect = action.effect;
        proposal.details = action.details;
        proposal
    }
}
