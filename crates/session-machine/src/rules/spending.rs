//! How much may be spent on a task, over all its runs, and on summaries beside the conversation.

use crate::state::State;
use crate::state::task::GivenTask;
use crate::words::error::RuntimeError;
use crate::words::stop::Limit;

/// Checks that the task of the open run may be tried once more.
///
/// # Errors
///
/// [`RuntimeError::Refused`] if it was tried again as often as its bound says.
pub(crate) fn may_try_again(state: &State) -> Result<(), RuntimeError> {
    let Some(task) = task_of_run(state) else { return Ok(()) };
    match task.bounds.retries {
        Some(most) if task.retries >= most => {
            let reason = format!(
                "the task {:?} has used all of its retries ({most}); allow more, or abandon the run",
                task.title
            );
            Err(RuntimeError::Refused { reason })
        }
        _ => Ok(()),
    }
}

/// Returns the task that the open run works on.
pub(crate) fn task_of_run(state: &State) -> Option<&GivenTask> {
    let run = state.decision.run.as_ref()?.record.opening().task?;
    state.tasks.task().filter(|task| task.id == run)
}

/// Returns the bound of the open run's task that leaves nothing to ask a model with.
pub(crate) fn used_up(state: &State) -> Option<Limit> {
    let task = task_of_run(state)?;
    if task.bounds.turns.is_some_and(|most| task.turns >= most) {
        return Some(Limit::TaskTurns);
    }
    task.bounds.tokens.is_some_and(|most| task.tokens >= most).then_some(Limit::TaskTokens)
}

/// Says why a model is not asked for one more summary of a branch; `None` if it may be. `spent` is what the drive has cost in tokens.
///
/// As with answers, one that is asked for may go past the bound, and nothing is asked after it. A summary is no turn.
pub(crate) fn no_summary(state: &State, most: u64, spent: u64) -> Option<String> {
    if spent >= most {
        return Some(format!("it is not asked for, since the limit of {most} tokens is reached"));
    }
    let task = state.tasks.open_task()?;
    let most = task.bounds.tokens.filter(|most| task.tokens >= *most)?;
    Some(format!("it is not asked for, since the task has had its {most} tokens"))
}
