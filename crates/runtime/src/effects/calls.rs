//! Running calls: noted as started before, finished as each ends, proposals staged in the same batch.

use crate::world::contained;
use crate::world::spans::Span;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use trunkline_agent_traits::{Cancel, Effects, ToolContext};

use tokio::task::{Id as TaskId, JoinSet};

use trunkline_session_machine::acts::calls::{Returned, begin, finish};
use trunkline_session_machine::words::runnable::Runnable;
use trunkline_session_machine::{CallPlace, RuntimeError, ToolOutput};

/// How long a call may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// A call that runs.
struct Running {
    place: CallPlace,
    tool: String,
    began: Instant,
    attempt: Option<trunkline_resolve_queue::Attempt>,
    /// Collects what it stages while it runs.
    context: ToolContext,
    effects: Effects,
}

/// Runs calls side by side and records each result when it comes. Returns whether all have ended by themselves: of what did not
/// nobody knows when it ends.
pub(crate) async fn run_calls(
    writer: &mut Writer,
    calls: Vec<Runnable>,
    cancel: &Cancel,
) -> Result<bool, RuntimeError> {
    let attempts = writer.perform(|view, asked| begin(view, asked, &calls)).await?;
    let mut tasks: JoinSet<ToolOutput> = JoinSet::new();
    let mut by_task: HashMap<TaskId, Running> = HashMap::new();
    for (call, attempt) in calls.into_iter().zip(attempts) {
        let Some(tool) = writer.settings().implementations.get(&call.tool).map(|one| one.tool.clone()) else {
            continue;
        };
        let context = writer.context(cancel.clone(), call.place.clone()).collecting_actions();
        let one = Running {
            place: call.place,
            tool: call.tool,
            began: Instant::now(),
            attempt,
            context: context.clone(),
            effects: contained::effects(tool.as_ref(), &call.arguments),
        };
        let span = Span::call(writer.id(), &one.tool, &one.place);
        let task = tasks.spawn(async move {
            let output = span.around(tool.run(call.arguments, &context)).await;
            span.returned(&output);
            output
        });
        by_task.insert(task.id(), one);
    }
    collect(writer, tasks, by_task, cancel).await
}

/// Records the results as they come. Returns whether all calls have ended by themselves.
async fn collect(
    writer: &mut Writer,
    mut tasks: JoinSet<ToolOutput>,
    mut running: HashMap<TaskId, Running>,
    cancel: &Cancel,
) -> Result<bool, RuntimeError> {
    // Records are written between results, so the watch has to live apart from the session.
    let asked_to_end = asked_to_end(writer);
    // A set of one: dropping it stops the watch, however this function ends.
    let mut watch = JoinSet::new();
    let watched = cancel.clone();
    watch.spawn(async move {
        tokio::select! {
            () = watched.cancelled() => {}
            // The next write finds out if it is because somebody took the session over.
            _ = asked_to_end => watched.cancel(),
        }
        tokio::time::sleep(GRACE).await;
    });
    while !tasks.is_empty() {
        let joined = tokio::select! {
            joined = tasks.join_next_with_id() => joined,
            _ = watch.join_next() => {
                tasks.abort_all();
                break;
            }
        };
        let (task, output, returned) = match joined {
            None => break,
            Some(Ok((task, output))) => (task, output, true),
            // A tool that panics is a tool that failed; the session goes on.
            Some(Err(fault)) => {
                let text = "the tool crashed; what it had done by then is unknown";
                (fault.id(), ToolOutput::error(text), false)
            }
        };
        if let Some(one) = running.get(&task).filter(|_| !returned) {
            // Nobody knows whether it meant what it had pushed.
            one.context.take_actions();
        }
        if let Some(one) = running.remove(&task) {
            finish_call(writer, one, output, true).await?;
        }
    }
    drop(watch);
    let left: Vec<Running> = running.into_values().collect();
    let ended = left.is_empty();
    for one in left {
        let text = "outcome unknown: this call was cancelled while it ran and did not stop by itself; \
                    look before you repeat it";
        finish_call(writer, one, ToolOutput::error(text), false).await?;
    }
    Ok(ended)
}

/// Records what one call gave, and everything that came with it, in one batch.
async fn finish_call(
    writer: &mut Writer,
    one: Running,
    output: ToolOutput,
    ran: bool,
) -> Result<(), RuntimeError> {
    let Running { place, tool, attempt, context, began, effects } = one;
    let pushed = context.take_actions();
    let returned = Returned { output, pushed, ran, elapsed: began.elapsed(), effects };
    let plan = finish(&writer.view(), (&place, &tool, attempt), returned)?;
    writer.write(plan, None).await
}
