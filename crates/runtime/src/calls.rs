//! Running calls: noted as started before, finished as each ends, proposals staged in the same batch.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::task::{Id as TaskId, JoinSet};

use crate::acts::View;
use crate::acts::calls::{Returned, finish};
use crate::acts::stage::begin_gate;
use crate::journal::{self, CallStarted};
use crate::turn;
use crate::turn::Runnable;
use crate::{CallPlace, Cancel, Event, RuntimeError, Session, ToolOutput};

/// How long a call may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// A call that runs.
struct Running {
    place: CallPlace,
    tool: String,
    began: Instant,
    attempt: Option<trunkline_resolve_queue::Attempt>,
    /// What it stages while it runs.
    pushed: crate::pending::Pushed,
}

impl Session {
    /// Runs calls side by side and records each result when it comes.
    pub(crate) async fn run_calls(
        &mut self,
        calls: Vec<Runnable>,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        let at = self.settings().now();
        let mut records = Vec::new();
        if calls.iter().any(|call| turn::is_exclusive(&self.settings().setup, call)) {
            records.extend(self.look_before().await);
        }
        let mut running: Vec<(Running, Runnable)> = Vec::new();
        for call in calls {
            let started = CallStarted { call: call.place.clone(), tool: call.tool.clone() };
            records.push(journal::note(journal::LAYER, journal::CALL_STARTED, at, &started));
            let attempt = match call.approved {
                Some(id) => {
                    let (record, attempt) = begin_gate(&View { at, ..self.view() }, id)?;
                    records.push(record);
                    Some(attempt)
                }
                None => None,
            };
            let place = call.place.clone();
            let tool = call.tool.clone();
            running.push((
                Running {
                    place,
                    tool,
                    began: Instant::now(),
                    attempt,
                    pushed: crate::pending::Pushed::open(),
                },
                call,
            ));
        }
        self.commit(records, None).await?;

        let mut tasks: JoinSet<ToolOutput> = JoinSet::new();
        let mut by_task: HashMap<TaskId, Running> = HashMap::new();
        for (one, call) in running {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            let event = Event::CallStarted { call: one.place.clone(), tool: one.tool.clone(), arguments };
            self.tell(&event);
            let Some(tool) = self.settings().implementations.get(&one.tool).cloned() else { continue };
            let mut context = self.context(cancel.clone(), one.place.clone());
            context.pushed.clone_from(&one.pushed);
            let task = tasks.spawn(async move { tool.run(call.arguments, &context).await });
            by_task.insert(task.id(), one);
        }
        let ended = self.collect(tasks, by_task, cancel).await?;
        // Of what did not stop by itself nobody knows when it ends.
        if ended {
            self.look_after().await?;
        }
        Ok(())
    }

    /// Records the results as they come. Returns whether all calls have ended by themselves.
    async fn collect(
        &mut self,
        mut tasks: JoinSet<ToolOutput>,
        mut running: HashMap<TaskId, Running>,
        cancel: &Cancel,
    ) -> Result<bool, RuntimeError> {
        // Records are written between results, so the watch has to live apart from the session.
        let asked_to_end = self.asked_to_end();
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
                one.pushed.close();
            }
            if let Some(one) = running.remove(&task) {
                self.finish_call(one, output, true).await?;
            }
        }
        drop(watch);
        let left: Vec<Running> = running.into_values().collect();
        let ended = left.is_empty();
        for one in left {
            let text = "outcome unknown: this call was cancelled while it ran and did not stop by itself; \
                        look before you repeat it";
            self.finish_call(one, ToolOutput::error(text), false).await?;
        }
        Ok(ended)
    }

    /// Records what one call gave, and everything that came with it, in one batch.
    async fn finish_call(&mut self, one: Running, output: ToolOutput, ran: bool) -> Result<(), RuntimeError> {
        let Running { place, tool, attempt, pushed, began } = one;
        let pushed = pushed.close();
        let returned = Returned { output, pushed, ran, elapsed: began.elapsed() };
        let plan = finish(&self.view(), (&place, &tool, attempt), returned)?;
        self.write(plan, None).await
    }
}
