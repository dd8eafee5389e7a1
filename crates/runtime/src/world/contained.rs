//! The calls into a tool that the driver makes on its own task, so that no panic of a tool ends a drive.
//!
//! A panic here would come again on every resume, because what is recorded asks for the same call. A run has a task of its
//! own, which contains it; the others stay on this one, so that they end with the drive when that is dropped.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use trunkline_agent_traits::{Standing, Tool, ToolContext};

use serde_json::{Map, Value};
use trunkline_resolve_queue::{Entry, Fingerprint, Outcome, Preview, State};

use trunkline_session_machine::Access;
use trunkline_session_machine::{Gate, Kept, ToolOutput};

/// Returns what a tool does to the world; one that panics when asked is taken for one that may do anything.
pub(crate) fn access(tool: &dyn Tool) -> Access {
    caught(|| tool.access()).unwrap_or(Access::Exclusive)
}

/// Returns whether a tool is to be told when what it has staged ends; one that panics when asked is not.
pub(crate) fn has_discard_hook(tool: &dyn Tool) -> bool {
    caught(|| tool.as_executor().and_then(|executor| executor.as_discard_hook()).is_some()).unwrap_or(false)
}

/// Returns what people are shown for a tool; of one that panics when asked, what follows from its name.
pub(crate) fn label(tool: &dyn Tool, name: &str) -> String {
    caught(|| tool.label()).unwrap_or_else(|| trunkline_message_tree::tool_label(name))
}

/// Returns what a tool says that a call does; of one that panics when asked nobody knows.
pub(crate) fn effects(tool: &dyn Tool, arguments: &Map<String, Value>) -> trunkline_revert::Effects {
    caught(|| tool.effects(arguments)).unwrap_or_default()
}

/// Returns what must be approved before a call may run, or what the model is told if the tool panics.
pub(crate) fn gate(tool: &dyn Tool, arguments: &Map<String, Value>) -> Result<Option<Gate>, String> {
    caught(|| tool.gate(arguments))
        .ok_or_else(|| "not run: the tool crashed when it was asked what has to be approved".to_owned())
}

/// Looks how everything that a proposal is about is now; `None` if the tool panics, and so nobody has looked.
pub(crate) async fn observe(tool: &dyn Tool, entry: &Entry<Value>) -> Option<Vec<Fingerprint>> {
    let all = entry.proposal.fingerprints.iter().chain(&entry.proposal.after);
    let mut subjects: Vec<String> = all.map(|fingerprint| fingerprint.subject.clone()).collect();
    subjects.sort();
    subjects.dedup();
    caught_in(async {
        match tool.as_executor() {
            Some(executor) if matches!(entry.state, State::Applying | State::Unknown) => {
                executor.observe_cut_off(entry, &subjects).await
            }
            Some(executor) => executor.observe(&subjects).await,
            None => Vec::new(),
        }
    })
    .await
}

/// Reads what an apply will write over; `None` if the tool panics, and so nobody has looked.
pub(crate) async fn keep(tool: &dyn Tool, entry: &Entry<Value>) -> Option<Vec<Kept>> {
    caught_in(async {
        match tool.as_executor() {
            Some(executor) => executor.keep(entry).await,
            None => Vec::new(),
        }
    })
    .await
}

/// Applies a proposal; of a tool that panics in the middle nobody knows what it had done.
pub(crate) async fn apply(
    tool: &dyn Tool,
    entry: &Entry<Value>,
    context: &ToolContext,
) -> (Outcome, ToolOutput) {
    let applied = caught_in(async {
        match tool.as_executor() {
            Some(executor) => executor.apply(entry, context).await,
            None => {
                let reason = "this tool has nothing to apply".to_owned();
                (Outcome::Failed { reason: reason.clone() }, ToolOutput::error(reason))
            }
        }
    });
    applied.await.unwrap_or_else(|| {
        let reason = "the tool crashed while it applied it".to_owned();
        (Outcome::Unknown { reason }, ToolOutput::default())
    })
}

/// Puts back what an apply left half done; of a tool that panics in the middle nobody knows how far it came.
pub(crate) async fn put_back(tool: &dyn Tool, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
    let put_back = caught_in(async {
        match tool.as_executor() {
            Some(executor) => executor.put_back(entry, kept).await,
            None => Outcome::Failed { reason: "this tool cannot put anything back".to_owned() },
        }
    });
    put_back.await.unwrap_or_else(|| {
        let reason = "the tool crashed while it put the files back".to_owned();
        Outcome::Unknown { reason }
    })
}

/// Returns what takes back an applied proposal; nothing does if the tool panics.
pub(crate) async fn undo(tool: &dyn Tool, entry: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
    caught_in(async { tool.as_executor()?.undo(entry, kept).await }).await.flatten()
}

/// Hands a resolution to a standing handler; of one that panics in the middle nobody knows what it had done.
pub(crate) async fn standing(
    standing: &dyn Standing,
    resolution: &trunkline_resolve_queue::resolve_tool::Resolution,
    context: &ToolContext,
) -> ToolOutput {
    caught_in(async { standing.resolve(resolution, context).await })
        .await
        .unwrap_or_else(|| ToolOutput::error("the approval crashed; what it had done by then is unknown"))
}

/// Returns what `call` gives; `None` if it panics. The panic hook has told people of it by then.
fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    // What the tool left half changed is the tool's own, as it is when a task of its own panics.
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// Waits for `call`; `None` if it panics at any point.
async fn caught_in<T>(call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    poll_fn(|context| match caught(|| call.as_mut().poll(context)) {
        Some(poll) => poll.map(Some),
        None => Poll::Ready(None),
    })
    .await
}
