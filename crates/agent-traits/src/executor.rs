//! Who does what was approved.

use async_trait::async_trait;
use serde_json::Value;
use trunkline_resolve_queue::{Entry, Fingerprint, Outcome, Preview};
use trunkline_session_machine::{Kept, ToolOutput};

use crate::context::ToolContext;
use crate::discard_hook::DiscardHook;

/// Does what was approved, of what a tool has staged.
///
/// [`Tool::as_executor`](crate::Tool::as_executor) names it. It is asked in the process that applies, which may be another one than
/// that of the call: whatever it needs is in the proposal.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Does exactly what the approved part of a proposal says; its fingerprints were compared a moment ago.
    ///
    /// `entry` is the proposal as it stands, in the attempt that this is: of one that is
    /// [`divisible`](trunkline_resolve_queue::Proposal::divisible) only [`Entry::part`] may be written, all of it or
    /// nothing. [`Entry::decision`] has the reason, which changes nothing in what is done, and as `extra` whatever else the decider
    /// handed over: never what a model gave, if a person approved it. [`Entry::attempt`] prints as an idempotency key. When `context.cancel` is given before anything was
    /// written, nothing is written; after that, all is.
    ///
    /// Returns how it ended and what the model is told.
    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput);

    /// Looks how the named subjects are now. Called right before [`Executor::apply`], and after a crash by
    /// [`Executor::observe_cut_off`].
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let _ = subjects;
        Vec::new()
    }

    /// Looks how the named subjects are now that an attempt was cut off, or has ended without success: [`Entry::attempt`] names it.
    /// It does what [`Executor::observe`] does, unless it is implemented.
    ///
    /// The process that began the attempt may only be paused, and go on later. An answer that nothing was done is final:
    /// an executor that hands its work to a service under a key uses the key up first, so that the service refuses what comes late.
    async fn observe_cut_off(&self, entry: &Entry<Value>, subjects: &[String]) -> Vec<Fingerprint> {
        let _ = entry;
        self.observe(subjects).await
    }

    /// Reads what is there now, of what the approved part of a proposal will write: for an undo, and to put it back if
    /// a crash cuts the apply off in the middle. Called right before [`Executor::apply`]; nothing is kept unless told.
    ///
    /// What is returned is stored before the first byte is written. Each [`Entry::part`] once, or nothing at all.
    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let _ = entry;
        Vec::new()
    }

    /// Puts back what an apply had written when it was cut off in the middle, from what [`Executor::keep`] had read.
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
    /// [`Executor::keep`] had read before it. `None` if there is none.
    async fn undo(&self, entry: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        let (_, _) = (entry, kept);
        None
    }

    /// Returns who cleans up behind what is never applied. Nobody unless told.
    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        None
    }
}
