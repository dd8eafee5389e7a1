//! What a tool is.
//!
//! A tool never asks a person and never writes what was not approved: it says what it wants done ([`Tool::gate`],
//! [`ToolOutput::proposals`]) and is called again when that was decided, perhaps in another process.

use crate::world::cancel::Cancel;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use trunkline_message_tree::ToolSpec;
use trunkline_resolve_queue::{Entry, Fingerprint, Outcome, Preview};
use trunkline_revert::Effects;
use trunkline_session_machine::{Access, CallPlace, Gate, Kept, ToolOutput};
use trunkline_session_store::SessionId;
use trunkline_session_store::SessionStore;

use crate::world::pending::{PendingAction, PendingActionError, Pushed};

/// Something that a model may call.
///
/// Most tools are a function: the feature `typed` makes one of it, `TypedTool`. Others implement this, with the
/// attribute of `async-trait`:
///
/// ```
/// use serde_json::{Map, Value, json};
/// use trunkline_runtime::message_tree::ToolSpec;
/// use trunkline_runtime::{Tool, ToolContext, ToolOutput};
///
/// struct Greet;
///
/// #[async_trait::async_trait]
/// impl Tool for Greet {
///     fn spec(&self) -> ToolSpec {
///         let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
///         ToolSpec::new("greet", "Greets.", schema)
///     }
///
///     async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
///         // Not `arguments["name"]`: that panics where it is left out.
///         let name = arguments.get("name").and_then(Value::as_str).unwrap_or("you");
///         ToolOutput::text(format!("Hello, {name}."))
///     }
/// }
/// ```
///
/// A panic in a call, in its gate or in its proposal ends neither the drive nor the session: it counts as a call that failed,
/// as files that nobody looked at, or as an apply whose outcome is unknown.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns what the model is told. Must not change while an agent lives: it is part of the cached prompt.
    fn spec(&self) -> ToolSpec;

    /// Returns whether the tool reads its arguments itself and answers what does not fit, as a
    /// `TypedTool` does. Then its schema may demand what is only
    /// checked with the feature `json-schema`; of any other tool that is refused when the agent is built. It does not, unless told.
    fn reads_arguments(&self) -> bool {
        false
    }

    /// Returns what the tool does to the world. [`Access::Exclusive`] unless told: never run again by itself.
    fn access(&self) -> Access {
        Access::Exclusive
    }

    /// Returns what must be approved before a call may run; `None` if it may run at once.
    ///
    /// The arguments have been checked against the schema.
    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let _ = arguments;
        None
    }

    /// Returns what a call does to the world if it succeeds; that nobody knows, unless told.
    ///
    /// A note on a branch that was left says it, so that the model neither repeats nor contradicts what was done there.
    /// Asked afterwards and of old calls too: the arguments may be anything. A tool that proposes names what its
    /// proposals would write; those count once they are applied.
    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let _ = arguments;
        Effects::default()
    }

    /// Runs one call. The arguments have been checked against the schema.
    ///
    /// When `context.cancel` is given, the tool stops what it started and returns soon; a tool that does not is dropped.
    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput;

    /// Looks how the named subjects are now. Called right before [`Tool::apply`] and after a crash.
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let _ = subjects;
        Vec::new()
    }

    /// Reads what is there now, of what the approved part of a proposal will write: for an undo, and to put it back if
    /// a crash cuts the apply off in the middle. Called right before [`Tool::apply`]; nothing is kept unless told.
    ///
    /// What is returned is stored before the first byte is written. Each [`Entry::part`] once, or nothing at all.
    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let _ = entry;
        Vec::new()
    }

    /// Does exactly what the approved part of a proposal says; its fingerprints were compared a moment ago.
    ///
    /// `entry` is the proposal as it stands, in the attempt that this is: of one that is
    /// [`divisible`](trunkline_resolve_queue::Proposal::divisible) only [`Entry::part`] may be written, all of it or
    /// nothing. [`Entry::decision`] has the reason, which changes nothing in what is done, and whatever else the decider
    /// handed over; [`Entry::attempt`] prints as an idempotency key. When `context.cancel` is given before anything was
    /// written, nothing is written; after that, all is.
    ///
    /// Returns how it ended and what the model is told.
    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        let (_, _) = (entry, context);
        let reason = "this tool has nothing to apply".to_owned();
        (Outcome::Failed { reason: reason.clone() }, ToolOutput::error(reason))
    }

    /// Puts back what an apply had written when it was cut off in the middle, from what [`Tool::keep`] had read.
    ///
    /// Called after a crash, or an apply that reports anything but success, when some of what it writes is as before and the
    /// rest as after, and again if that is cut off as well; after a failure also if all of it is as after; and if somebody
    /// else has written to some of it since, also if nothing is as after: then to clear away what lies ready. What is
    /// neither as before nor as after is somebody else's and stays, and the rest is put back all the same.
    /// [`Outcome::Applied`] says that everything is back.
    async fn put_back(&self, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
        let (_, _) = (entry, kept);
        Outcome::Failed { reason: "this tool cannot put anything back".to_owned() }
    }

    /// Returns the payload and the preview of the proposal that takes back what an applied one did, from what
    /// [`Tool::keep`] had read before it. `None` if there is none.
    async fn undo(&self, entry: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        let (_, _) = (entry, kept);
        None
    }

    /// Told that a model or a person discards a proposal of this tool, with the decision in [`Entry::decision`]; after a
    /// crash perhaps a second time, because the words are recorded together with the decision. Nobody looks at the files
    /// around it: what it writes does not count as the run's. Returns what the model is told; `None` for
    /// `Discarded: <label>. Reason: <reason>`.
    async fn discarded(&self, entry: &Entry<Value>) -> Option<String> {
        let _ = entry;
        None
    }
}

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
    pub(crate) pushed: Pushed,
    pub(crate) home: Home,
}

impl ToolContext {
    /// Returns a context, as for a tool's own tests.
    pub fn new(cancel: Cancel, call: CallPlace) -> Self {
        ToolContext { cancel, call, session: None, pushed: Pushed::default(), home: Home::default() }
    }

    /// Stages an action with the result of the running call, as [`ToolOutput::proposals`](crate::ToolOutput) does.
    ///
    /// The model is told its id in the call's result. Nothing of it is done before it is approved; then the tool that it
    /// names is asked to [`apply`](crate::Tool) it, or else the tool whose call this is. Of a call that crashes or is
    /// dropped nothing is staged.
    ///
    /// # Errors
    ///
    /// [`PendingActionError::Unavailable`] where staged actions are off; [`PendingActionError::CallOver`].
    pub fn push_pending_action(&self, action: PendingAction) -> Result<(), PendingActionError> {
        self.pushed.push(action)
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
pub(crate) struct Home(Option<Arc<dyn SessionStore>>);

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a store" } else { "none" })
    }
}
