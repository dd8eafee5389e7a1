//! What a person says of what a session is for: they give a task, bound what may be spent on it, end it, and choose changes.
//!
//! No task is done by a model's word: an answer leaves it open, and a commit does too. It fails when a run of it is given up, as the
//! verdict says ([`Consequences`](trunkline_decision_objects::Consequences)); it is done when a person says so.

use trunkline_decision_objects::{
    EventId, Header, Intent, IntentContent, IntentId, NonBlank, PatchSetId, RunId, Task, TaskContent,
    TaskEvent, TaskEventContent, TaskId, TaskState,
};
use uuid::Uuid;

use crate::acts::asked::Asked;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::decision::unfit;
use crate::notes::task::{self, SelectionNote};
use crate::rules::opening::{self, person};
use crate::state::task::GivenTask;
use crate::words::error::RuntimeError;
use crate::words::task::{Bounds, EndTask, LONGEST, NewTask};

/// Gives the session a task: the runs that are opened from now on work on it. Where the session has no open intent, the task is one.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn give(view: &View<'_>, asked: &mut Asked<'_>, new: &NewTask) -> Result<Plan<TaskId>, Pause> {
    if let Some(open) = view.state.tasks.open_task() {
        let reason =
            format!("the session has a task already, {:?}; end it as done, or drop it, first", open.title);
        return Err(refused(reason));
    }
    new.check().map_err(refused)?;
    let [task_id, intent_id] = asked.new_ids::<2>()?;
    let mut records = Vec::new();
    let intent = match view.state.tasks.open_intent() {
        Some(open) => open,
        None => {
            // Without words of its own it is all that the task says, what it is called first.
            let whole = [new.title.trim(), new.description.trim()];
            let wanted = match new.intent.trim() {
                "" => whole.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"),
                words => words.to_owned(),
            };
            let intent = new_intent(view, intent_id, &wanted)?;
            records.push(task::intent(&intent, view.at));
            intent.id()
        }
    };
    let texts = |texts: &[String]| -> Result<Vec<NonBlank>, RuntimeError> {
        texts.iter().map(|text| NonBlank::new(text.trim()).map_err(unfit)).collect()
    };
    let content = TaskContent {
        description: NonBlank::new(new.description.trim()).ok(),
        constraints: texts(&new.constraints)?,
        acceptance_criteria: texts(&new.acceptance_criteria)?,
        requester: Some(person()?),
        intent: Some(intent),
        ..TaskContent::new(NonBlank::new(new.title.trim()).map_err(unfit)?)
    };
    let id = TaskId::new(task_id).map_err(unfit)?;
    let given = Task::new(header(view, id)?, content).map_err(unfit)?;
    records.push(task::task(&given, new.bounds, view.at));
    Ok(Plan::of(records).then(id))
}

/// Says how much may be spent on the session's task from now on, over all its runs. What is not named stays as it was.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn bound(view: &View<'_>, bounds: Bounds) -> Result<Plan, Pause> {
    if bounds.is_empty() {
        return Err(refused("name at least one limit: retries, turns or tokens".to_owned()));
    }
    let open = open_task(view)?;
    match open.bounds.with(bounds) == open.bounds {
        true => Ok(Plan::nothing()),
        false => Ok(Plan::of(vec![task::bounds(open.id, bounds, view.at)])),
    }
}

/// Ends the session's task, as a person.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn end(view: &View<'_>, asked: &mut Asked<'_>, end: &EndTask) -> Result<Plan<TaskEvent>, Pause> {
    let open = open_task(view)?;
    if view.state.decision.run.as_ref().is_some_and(|run| run.record.opening().task == Some(open.id)) {
        return Err(refused("a run of the task is open: let it end, or close it, first".to_owned()));
    }
    let (EndTask::Done { reason } | EndTask::Drop { reason }) = end;
    if reason.len() > LONGEST {
        return Err(refused("the reason is longer than 64 KiB".to_owned()));
    }
    let (state, reason) = match end {
        EndTask::Done { .. } if open.state == TaskState::Created => {
            let reason = "no run has worked on this task yet, so it cannot be marked done; drop it if it is no longer wanted";
            return Err(refused(reason.to_owned()));
        }
        EndTask::Done { reason } => (TaskState::Done, reason),
        EndTask::Drop { reason } if reason.trim().is_empty() => {
            return Err(refused("say why the task is not wanted any more".to_owned()));
        }
        EndTask::Drop { reason } => (TaskState::Cancelled, reason),
    };
    let [id] = asked.new_ids()?;
    let reason = NonBlank::new(reason.trim()).ok();
    // It is a person's word and no run's: the run that came last may have ended otherwise.
    let content = TaskEventContent { task: open.id, state, reason, run: None };
    let id = EventId::new(id).map_err(unfit)?;
    let event = TaskEvent::new(header(view, id)?, content).map_err(unfit)?;
    Ok(Plan::of(vec![task::ended(&event, view.at)]).then(event))
}

/// Records that a person chose these changes among those of a run. Nothing is applied by it, and a later choice takes its place.
///
/// Whether the run has these changes is seen where the whole log is at hand: see
/// [`candidates`](crate::reading::family::candidates).
///
/// # Errors
///
/// [`Pause`]: why it cannot be done.
pub fn select(view: &View<'_>, run: RunId, patch_set: PatchSetId, reason: &str) -> Result<Plan, Pause> {
    if reason.len() > LONGEST {
        return Err(refused("the reason is longer than 64 KiB".to_owned()));
    }
    let (named, reason) = (run.to_string(), reason.trim().to_owned());
    let note = SelectionNote { run: named, patch_set: patch_set.to_string(), reason };
    Ok(Plan::of(vec![task::selection(run, &note, view.at)]))
}

/// Returns the intent of a session that was for something else before, or for nothing that was recorded.
pub(crate) fn new_intent(view: &View<'_>, id: Uuid, prompt: &str) -> Result<Intent, RuntimeError> {
    let id = IntentId::new(id).map_err(unfit)?;
    let mut content = IntentContent::new(NonBlank::new(prompt.trim()).map_err(unfit)?);
    content.parents.extend(view.state.tasks.newest_intent());
    Intent::new(header(view, id)?, content).map_err(unfit)
}

fn open_task<'a>(view: &View<'a>) -> Result<&'a GivenTask, Pause> {
    view.state.tasks.open_task().ok_or_else(|| {
        let reason = match view.state.tasks.task() {
            Some(ended) => format!("the task {:?} has ended already: it is {}", ended.title, ended.state),
            None => "the session has no task".to_owned(),
        };
        refused(reason)
    })
}

fn header<Id>(view: &View<'_>, id: Id) -> Result<Header<Id>, RuntimeError> {
    Ok(Header { id, at: opening::time(view.at)?, by: person()? })
}

fn refused(reason: String) -> Pause {
    RuntimeError::Refused { reason }.into()
}
