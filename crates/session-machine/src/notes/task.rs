//! What is recorded of what a session is for: intents, tasks, how much may be spent on one and what was beside the conversation, how
//! a person ended it, and which changes a person chose.
//!
//! All else that is told of an intent or a task follows from other records: see [`family_of`](crate::reading::family::family_of).

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Intent, RunId, Task, TaskEvent, TaskId};
use trunkline_message_tree::{Timestamp, Usage};
use trunkline_session_store::{Note, Record};

use crate::notes::decision::LAYER;
use crate::notes::record::json;
use crate::words::task::Bounds;

/// The body is the intent in its canonical text.
pub(crate) const INTENT: &str = "intent";
pub(crate) const TASK: &str = "task";
/// How much may be spent on a task from here on.
pub(crate) const BOUNDS: &str = "task_bounds";
/// What was spent on a task beside the conversation.
pub(crate) const SPENT: &str = "task_spent";
/// How a person ended a task; the body is the event in its canonical text.
pub(crate) const ENDED: &str = "task_ended";
/// Which changes of a run a person chose.
pub(crate) const SELECTION: &str = "selection";

/// A task, and what may be spent on it.
#[derive(Serialize, Deserialize)]
pub(crate) struct TaskNote {
    /// The task's own canonical text.
    pub(crate) task: String,
    #[serde(default, skip_serializing_if = "Bounds::is_empty")]
    pub(crate) bounds: Bounds,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct BoundsNote {
    pub(crate) task: String,
    #[serde(flatten)]
    pub(crate) bounds: Bounds,
}

/// What providers have counted for something that is in no message of the conversation.
#[derive(Serialize, Deserialize)]
pub(crate) struct SpentNote {
    pub(crate) task: String,
    pub(crate) on: Beside,
    pub(crate) usage: Usage,
}

/// What a model writes for a session beside its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Beside {
    /// A summary of a branch that was left.
    Summary,
    /// A summary that was to stand for a span of the trunk, and does not.
    Compaction,
}

/// Which changes a person chose; of several for a run the newest counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelectionNote {
    pub(crate) run: String,
    pub(crate) patch_set: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
}

/// Returns whether a look at a session tells what notes of a kind say; the others are for the writer.
pub fn is_told(kind: &str) -> bool {
    [INTENT, TASK, BOUNDS, ENDED].contains(&kind)
}

/// Returns the record of what is wanted.
pub(crate) fn intent(intent: &Intent, at: Timestamp) -> Record {
    Record::Note(Note::new(LAYER, INTENT, at, intent.print()).once(intent.id().to_string(), ""))
}

/// Returns the record of a piece of work.
pub(crate) fn task(task: &Task, bounds: Bounds, at: Timestamp) -> Record {
    let body = TaskNote { task: task.print(), bounds };
    Record::Note(Note::new(LAYER, TASK, at, json(&body)).once(task.id().to_string(), ""))
}

/// Returns the record of how much may be spent on a task from now on.
pub(crate) fn bounds(task: TaskId, bounds: Bounds, at: Timestamp) -> Record {
    let body = BoundsNote { task: task.to_string(), bounds };
    Record::Note(Note::new(LAYER, BOUNDS, at, json(&body)).about(task.to_string(), ""))
}

/// Returns the record of what was spent on a task beside the conversation.
pub(crate) fn spent(task: TaskId, on: Beside, usage: Usage, at: Timestamp) -> Record {
    let body = SpentNote { task: task.to_string(), on, usage };
    Record::Note(Note::new(LAYER, SPENT, at, json(&body)).about(task.to_string(), ""))
}

/// Returns the record that a person ended a task, which a store refuses if one has already.
pub(crate) fn ended(event: &TaskEvent, at: Timestamp) -> Record {
    let (task, state) = (event.content().task.to_string(), event.content().state.as_str());
    Record::Note(Note::new(LAYER, ENDED, at, event.print()).once(task, state))
}

/// Returns the record that a person chose these changes of a run.
pub(crate) fn selection(run: RunId, selection: &SelectionNote, at: Timestamp) -> Record {
    Record::Note(Note::new(LAYER, SELECTION, at, json(selection)).about(run.to_string(), "selected"))
}
