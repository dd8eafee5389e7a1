//! What the log holds of what a session is for: its intent, its task, and what that has cost so far.
//!
//! A session has one open task at most. What is counted here is held against what may be spent on it, over all its runs.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{
    Intent, IntentId, Opening, Predecessor, RunId, Task, TaskEvent, TaskId, TaskState, Verdict,
};
use trunkline_message_tree::{Author, Entry, Role, Usage};
use trunkline_session_store::Note;

use crate::notes::record::read;
use crate::notes::task::{BOUNDS, BoundsNote, ENDED, INTENT, SPENT, SpentNote, TASK, TaskNote};
use crate::state::rare::Unchanged;
use crate::words::bill::tokens_of;
use crate::words::task::Bounds;

/// What the log holds of this.
#[derive(Default)]
pub struct Part {
    /// The newest intent.
    intent: Option<IntentId>,
    /// The newest task.
    task: Option<GivenTask>,
    /// The runs that worked on one, each with its task.
    runs: HashMap<RunId, TaskId>,
}

/// What came of the newest task until some place of the log, as a snapshot keeps it: the runs that it was counted in are not read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    task: String,
    state: String,
    retries: u32,
    turns: u32,
    tokens: u64,
    is_run: bool,
    /// The run of the latest verdict, if it worked on a task, and that task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<(String, String)>,
}

/// A task, and what came of it until now.
#[derive(Clone, Debug)]
pub struct GivenTask {
    /// Its name.
    pub id: TaskId,
    /// What it is called.
    pub title: String,
    /// What it is for.
    pub intent: Option<IntentId>,
    /// How it stands.
    pub state: TaskState,
    /// How much may be spent on it.
    pub bounds: Bounds,
    /// How many of its runs tried again what another one did.
    pub retries: u32,
    /// How many answers of the model its runs had.
    pub turns: u32,
    /// How many tokens providers counted in them and for summaries beside them, prompt and output together. A summary is no answer.
    pub tokens: u64,
    /// Whether a run of it is open.
    is_run: bool,
}

impl Unchanged for Part {
    fn unchanged() -> &'static Self {
        static PART: LazyLock<Part> = LazyLock::new(Part::default);
        &PART
    }
}

impl GivenTask {
    /// Returns whether nothing more can become of it.
    pub fn has_ended(&self) -> bool {
        self.state.is_terminal()
    }

    fn spent(&mut self, usage: &Usage) {
        self.tokens = self.tokens.saturating_add(tokens_of(*usage));
    }
}

impl Part {
    /// Returns the newest task.
    pub fn task(&self) -> Option<&GivenTask> {
        self.task.as_ref()
    }

    /// Returns the task that is to be worked on.
    pub fn open_task(&self) -> Option<&GivenTask> {
        self.task.as_ref().filter(|task| !task.has_ended())
    }

    /// Returns the task whose run is open.
    pub(crate) fn worked_on(&self) -> Option<TaskId> {
        self.task.as_ref().filter(|task| task.is_run).map(|task| task.id)
    }

    /// Returns the newest intent, whether or not it has ended.
    pub(crate) fn newest_intent(&self) -> Option<IntentId> {
        self.intent
    }

    /// Returns what the session is for; `None` if nothing was said, or that came to its end with its last task.
    pub fn open_intent(&self) -> Option<IntentId> {
        let ended = self.task.as_ref().is_some_and(|task| task.has_ended() && task.intent == self.intent);
        self.intent.filter(|_| !ended)
    }

    /// Returns the task that a run worked on.
    pub(crate) fn task_of(&self, run: RunId) -> Option<TaskId> {
        self.runs.get(&run).copied()
    }

    /// Returns what came of the newest task until now; `None` if there is none. `last` is the run of the latest verdict.
    pub(crate) fn tally(&self, last: Option<RunId>) -> Option<Tally> {
        let GivenTask { id, state, retries, turns, tokens, is_run, .. } = self.task.as_ref()?;
        let worked_on = last.and_then(|run| Some((run.to_string(), self.task_of(run)?.to_string())));
        let (task, state, last) = (id.to_string(), state.to_string(), worked_on);
        let (retries, turns, tokens, is_run) = (*retries, *turns, *tokens, *is_run);
        Some(Tally { task, state, retries, turns, tokens, is_run, last })
    }

    /// Takes in what came of the newest task until here, in the place of what was counted; `None` if it is about another one.
    pub(crate) fn take_up(&mut self, tally: &Tally) -> Option<()> {
        let task = self.task.as_mut().filter(|task| task.id.to_string() == tally.task)?;
        (task.state, task.retries, task.turns) = (tally.state.parse().ok()?, tally.retries, tally.turns);
        (task.tokens, task.is_run) = (tally.tokens, tally.is_run);
        if let Some((run, worked_on)) = &tally.last {
            self.runs.insert(run.parse().ok()?, worked_on.parse().ok()?);
        }
        Some(())
    }

    /// Takes in a note that is kept in this part. One that cannot be read, as of a later version, is passed over: what a session is for
    /// does not keep anybody from going on with it.
    pub(crate) fn record(&mut self, note: &Note) {
        match note.kind.as_str() {
            INTENT => {
                if let Ok(intent) = Intent::parse(note.body.as_bytes()) {
                    self.intent = Some(intent.id());
                }
            }
            TASK => {
                let Ok(TaskNote { task, bounds }) = read(note) else { return };
                let Ok(task) = Task::parse(task.as_bytes()) else { return };
                let content = task.content();
                self.task = Some(GivenTask {
                    id: task.id(),
                    title: content.title.as_str().to_owned(),
                    intent: content.intent,
                    state: TaskState::Created,
                    bounds,
                    retries: 0,
                    turns: 0,
                    tokens: 0,
                    is_run: false,
                });
            }
            BOUNDS => {
                let Ok(BoundsNote { task, bounds }) = read::<BoundsNote>(note) else { return };
                if let Some(known) = self.task.as_mut().filter(|known| known.id.to_string() == task) {
                    known.bounds = known.bounds.with(bounds);
                }
            }
            SPENT => {
                let Ok(SpentNote { task, usage, .. }) = read::<SpentNote>(note) else { return };
                if let Some(known) = self.task.as_mut().filter(|known| known.id.to_string() == task) {
                    known.spent(&usage);
                }
            }
            ENDED => {
                let Ok(event) = TaskEvent::parse(note.body.as_bytes()) else { return };
                let content = event.content();
                if let Some(task) = self.open_named(content.task) {
                    task.state = content.state;
                }
            }
            _ => {}
        }
    }

    fn open_named(&mut self, id: TaskId) -> Option<&mut GivenTask> {
        self.task.as_mut().filter(|task| task.id == id && !task.has_ended())
    }

    /// Takes in that a run was opened.
    pub(crate) fn opened(&mut self, opening: &Opening) {
        if let Some(task) = &mut self.task {
            task.is_run = false;
        }
        let Some(id) = opening.task else { return };
        self.runs.insert(opening.id, id);
        if let Some(task) = self.open_named(id) {
            (task.state, task.is_run) = (TaskState::Running, true);
            task.retries = task
                .retries
                .saturating_add(u32::from(matches!(opening.predecessor, Some(Predecessor::RetryOf(_)))));
        }
    }

    /// Takes in that a run has its verdict: one that is given up fails its task.
    pub(crate) fn decided(&mut self, run: RunId, verdict: &Verdict) {
        let Some(id) = self.task_of(run) else { return };
        if let Some(task) = self.open_named(id) {
            task.is_run = false;
            if matches!(verdict, Verdict::Abandon { .. }) {
                task.state = TaskState::Failed;
            }
        }
    }

    /// Takes in what the open run of the task was told and answered.
    pub(crate) fn entry(&mut self, entry: &Entry) {
        let (Some(task), Entry::Node { message, .. }) =
            (self.task.as_mut().filter(|task| task.is_run), entry)
        else {
            return;
        };
        let answers = message.role == Role::Assistant && message.author == Author::Model;
        task.turns = task.turns.saturating_add(u32::from(answers));
        if let Some(usage) = &message.usage {
            task.spent(usage);
        }
    }
}
