//! What a session is for: its task with what was spent on it, and the intent behind that.

use trunkline_runtime::decision_objects::Intent;
use trunkline_runtime::{GivenTask, View, across};
use trunkline_session_store::SessionStore;

use crate::reading::session::Reading;
use crate::term::fault::Fault;

/// The newest task of a session.
pub(crate) struct Purpose {
    /// What it is for, in the words in which that was said.
    pub(crate) intent: Option<String>,
    /// The task, with what was spent on it.
    pub(crate) task: GivenTask,
}

impl Purpose {
    /// Reads what a session was given to do; `None` if it has no task, or goes on for something else since that has ended. What was spent
    /// stands in all messages, so the whole log is read where there is a task.
    pub(crate) async fn of(store: &dyn SessionStore, reading: &Reading) -> Result<Option<Self>, Fault> {
        if reading.task().is_none() {
            return Ok(None);
        }
        let Some(task) = View::of(&store.load(&reading.info.id).await?)?.task().cloned() else {
            return Ok(None);
        };
        let mut intents = store.notes(&across::intents().in_session(reading.info.id.clone())).await?;
        intents.sort_by_key(|found| found.seq);
        let newest = intents.iter().rev().find_map(|found| Intent::parse(found.body.as_bytes()).ok());
        if newest.as_ref().map(Intent::id) != task.intent {
            return Ok(None);
        }
        Ok(Some(Purpose { intent: newest.map(|intent| intent.content().prompt.as_str().to_owned()), task }))
    }
}
