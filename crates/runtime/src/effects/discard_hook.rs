//! Tells a tool that its proposal has ended, and waits for what it does then.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use trunkline_agent_traits::Cancel;
use trunkline_resolve_queue::{End, Entry};
use trunkline_session_machine::acts::discard_hook::Came;
use trunkline_session_machine::rules::staged;

use crate::writer::Writer;

/// How long a hook has before it is asked to stop.
pub(crate) const TIME: Duration = Duration::from_secs(30);

/// How long it may take to stop then, or to end once its drive is cancelled, of which it is not told.
const GRACE: Duration = Duration::from_secs(5);

/// Returns what came of a hook; `None` if the drive was cancelled and the hook did not end soon: it is dropped, as by a kill. It has a task of its own, so that
/// neither a panic nor a wait that never ends holds the drive up; a drive that is dropped takes it along.
pub(crate) async fn call_hook(
    writer: &Writer,
    entry: &Entry<Value>,
    end: &End,
    cancel: &Cancel,
) -> Option<Came> {
    let Some(tool) = writer.executor(entry.id) else { return Some(Err("its tool is not here".to_owned())) };
    let place = staged::place_of(&entry.proposal);
    let context = writer.context(Cancel::new().child_within(TIME), place).after(entry.decision.as_ref());
    let stop = context.cancel.clone();
    let (entry, end) = (entry.clone(), end.clone());
    let mut task = JoinSet::new();
    task.spawn(async move {
        match tool.as_executor().and_then(|executor| executor.as_discard_hook()) {
            Some(hook) => Ok(hook.discarded(&entry, &end, &context).await),
            None => Err("its tool has no discard hook any more".to_owned()),
        }
    });
    let past = async |signal: &Cancel| {
        signal.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        ended = task.join_next() => match ended {
            Some(Ok(came)) => Some(came),
            _ => Some(Err("it crashed".to_owned())),
        },
        () = past(&stop) => Some(Err(format!("it did not end within {} seconds", (TIME + GRACE).as_secs()))),
        () = past(cancel) => None,
    }
}
