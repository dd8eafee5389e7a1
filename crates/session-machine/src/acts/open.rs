//! Words at the head, and the run that begins with them.

use trunkline_message_tree::{Author, Content, Message, NodeId, Role};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::acts::asked::Asked;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::record::entries;
use crate::notes::resolve;
use crate::rules::opening;
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
    let beginning = beginning(view, asked)?;
    let mut draft = view.state.tree.draft();
    let message = Message::new(Role::User, Author::Person, content.to_vec());
    let goal = message.text();
    let node = draft.append(message, view.at)?;
    let mut records = entries(draft);
    records.extend(opening(view, beginning, &goal, node)?);
    Ok(Plan::of(records))
}

/// Opens a run for what stands at the head, as after a person went back to a prompt.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin_run(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let beginning = beginning(view, asked)?;
    let tree = &view.state.tree;
    let goal = tree.trunk().messages().rev().find(|message| message.author == Author::Person);
    let goal = goal.map(Message::text).unwrap_or_default();
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
    let untold = &view.state.resolve.untold;
    if view.state.open_turn().is_some() || untold.is_empty() {
        return Ok(Plan::nothing());
    }
    let mut records = view.saying_with(&untold.join("\n"), view.state.resolve.unshown.clone())?;
    records.push(resolve::told(view.at));
    Ok(Plan::of(records))
}

/// Returns whether there is no place for words yet: they wait until calls have their results, and no run that puts files back is about
/// anything else.
pub fn must_wait(view: &View<'_>) -> bool {
    let restores = view.state.decision.run.as_ref().is_some_and(|run| run.restoring.is_some());
    restores || view.state.open_turn().is_some()
}

/// Returns how the files are and what the run is called, if one has to be opened.
fn beginning(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Option<(Start, Uuid)>, Pause> {
    if view.state.decision.is_open() {
        return Ok(None);
    }
    let (start, [id]) = (asked.start()?, asked.new_ids()?);
    Ok(Some((start, id)))
}

fn opening(
    view: &View<'_>,
    beginning: Option<(Start, Uuid)>,
    goal: &str,
    prompt: NodeId,
) -> Result<Vec<Record>, RuntimeError> {
    match beginning {
        Some((start, id)) => {
            let last = view.state.decision.last();
            Ok(opening::open(last, id, goal, prompt, start, view.at)?.into())
        }
        None => Ok(Vec::new()),
    }
}
