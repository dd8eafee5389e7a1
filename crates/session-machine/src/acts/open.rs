//! Words at the head, and the run that begins with them.

use trunkline_message_tree::{Author, Content, Message, NodeId, Role};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::acts::asked::Asked;
use crate::acts::plan::Plan;
use crate::acts::propose::ask_for_plan;
use crate::acts::question::Pause;
use crate::acts::task::new_intent;
use crate::acts::turn;
use crate::acts::view::View;
use crate::notes;
use crate::notes::record::entries;
use crate::notes::task;
use crate::rules::opening::{self, Purpose};
use crate::rules::plans;
use crate::words::error::RuntimeError;
use crate::words::start::Start;

/// Adds a prompt at the head and opens a run for it, unless one is open.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn prompt(view: &View<'_>, asked: &mut Asked<'_>, text: &str) -> Result<Plan, Pause> {
    prompt_with(view, asked, &[Content::text(text)])
}

/// Like [`prompt`], with pictures and documents beside the words.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn prompt_with(view: &View<'_>, asked: &mut Asked<'_>, content: &[Content]) -> Result<Plan, Pause> {
    let message = Message::new(Role::User, Author::Person, content.to_vec());
    let goal = message.text();
    let beginning = beginning(view, asked, &goal)?;
    let mut draft = view.state.tree.draft();
    let node = draft.append(message, view.at)?;
    let mut records = entries(draft);
    records.extend(opening(view, beginning, &goal, node)?);
    // In a run that was opened under other terms.
    if plans::is_due(view.state, view.setup) {
        records.extend(ask_for_plan(view)?.records);
    }
    Ok(Plan::of(records))
}

/// Opens a run for what stands at the head, as after a person went back to a prompt.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin_run(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let tree = &view.state.tree;
    let goal = tree.trunk().messages().rev().find(|message| message.author == Author::Person);
    let goal = goal.map(Message::text).unwrap_or_default();
    let beginning = beginning(view, asked, &goal)?;
    Ok(Plan::of(opening(view, beginning, &goal, tree.head())?))
}

/// Appends words of the harness.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn say(view: &View<'_>, text: &str) -> Result<Plan, Pause> {
    Ok(Plan::of(view.saying(text)?))
}

/// Tells what had no place while the turn was open.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn tell_untold(view: &View<'_>) -> Result<Plan, Pause> {
    if view.state.open_turn().is_some() {
        return Ok(Plan::nothing());
    }
    let mut draft = view.state.tree.draft();
    let told = turn::tell_untold(view, &mut draft)?;
    let mut records = entries(draft);
    records.extend(told);
    Ok(Plan::of(records))
}

/// Returns whether there is no place for words yet: they wait until calls have their results, and no run that puts files back is about
/// anything else.
pub fn must_wait(view: &View<'_>) -> bool {
    let restores = view.state.decision.run.as_ref().is_some_and(|run| run.restoring.is_some());
    restores || view.state.open_turn().is_some()
}

/// How a run begins that has to be opened.
struct Beginning {
    start: Start,
    id: Uuid,
    /// The name of its intent, if that has to be recorded first.
    intent: Option<Uuid>,
}

/// Returns how the files are and what the run is called, if one has to be opened.
fn beginning(view: &View<'_>, asked: &mut Asked<'_>, goal: &str) -> Result<Option<Beginning>, Pause> {
    if view.state.decision.is_open() {
        return Ok(None);
    }
    let start = asked.start()?;
    let tasks = &view.state.tasks;
    // Pictures alone say nothing that an intent could.
    let is_new = tasks.open_task().is_none() && tasks.open_intent().is_none() && !goal.trim().is_empty();
    Ok(Some(match view.setup.keeps_intents && is_new {
        true => {
            let [id, intent] = asked.new_ids()?;
            Beginning { start, id, intent: Some(intent) }
        }
        false => {
            let [id] = asked.new_ids()?;
            Beginning { start, id, intent: None }
        }
    }))
}

fn opening(
    view: &View<'_>,
    beginning: Option<Beginning>,
    goal: &str,
    prompt: NodeId,
) -> Result<Vec<Record>, RuntimeError> {
    let Some(Beginning { start, id, intent }) = beginning else { return Ok(Vec::new()) };
    let tasks = &view.state.tasks;
    let mut records = Vec::new();
    let mut purpose = match tasks.open_task() {
        Some(task) => Purpose { intent: task.intent, task: Some(task.id) },
        None => Purpose { intent: tasks.open_intent(), task: None },
    };
    if let Some(intent) = intent {
        let intent = new_intent(view, intent, goal)?;
        purpose.intent = Some(intent.id());
        records.push(task::intent(&intent, view.at));
    }
    // Another piece of work goes on from nothing.
    let last = view.state.decision.last().filter(|last| {
        let theirs = tasks.task_of(last.run());
        theirs.is_none() || purpose.task.is_none() || theirs == purpose.task
    });
    records.extend(opening::open_for(purpose, last, id, goal, prompt, start, view.at)?);
    // In one batch with the words: a process that dies behind them leaves no run that goes on without a plan.
    records.extend(view.setup.plans.then(|| notes::plan::asked(&id.to_string(), view.at)));
    Ok(records)
}
