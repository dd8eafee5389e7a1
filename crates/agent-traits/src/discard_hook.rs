//! Who cleans up behind what was staged and never applied.

use async_trait::async_trait;
use serde_json::Value;
use trunkline_resolve_queue::{End, Entry};
use trunkline_session_machine::ToolOutput;

use crate::context::ToolContext;

/// Cleans up behind what a tool has staged, once that has ended without having been applied: temporary files, locks, notifications.
///
/// [`Executor::as_discard_hook`](crate::Executor::as_discard_hook) names it. Only what was staged while its tool had one is told
/// of; a call that waits for its approval has staged nothing.
#[async_trait]
pub trait DiscardHook: Send + Sync {
    /// Told that a proposal of this tool has ended: [`End::cause`] says why, and [`End::approved`] whether it had been approved.
    ///
    /// The end is recorded by then. The hook is called in a process that has the tool, perhaps another one than that of the call
    /// and much later; at least once for each end, again if the process dies before what came of it is recorded, and in the worst
    /// case in two processes at the same time. The end prints as a key that is the same each time, inside of the session.
    /// [`Entry::decision`] has who decided and why, if somebody did, and what they handed over.
    ///
    /// After [`EndCause::BranchLeft`](trunkline_resolve_queue::EndCause::BranchLeft) the proposal can come back and be approved
    /// after all. What an apply needs and the hook has taken away must then show in [`Executor::observe`](crate::Executor::observe).
    ///
    /// What a person or a model discards answers with what is returned, in place of `Discarded: <label>. Reason: <reason>`; of any
    /// other end it is only kept. An output that is an error says that something is left behind. What it proposes does not count,
    /// and nobody looks at the files around it: what it writes does not count as the run's.
    ///
    /// It has thirty seconds until `context.cancel` is given, and is dropped five seconds after that. Whatever becomes of it is
    /// recorded and shown, and holds nothing up; what has failed is not called again. If the drive is cancelled it is dropped five
    /// seconds later without being told, and the next drive calls it again.
    async fn discarded(&self, entry: &Entry<Value>, end: &End, context: &ToolContext) -> Option<ToolOutput>;
}
