//! Words at the head, and the run that begins with them.

use trunkline_message_tree::{Author, Message, NodeId};
use trunkline_session_store::Record;

use super::{Asked, Pause, Plan, View};
use crate::RuntimeError;
use crate::journal::entries;
use crate::layers::decision;
use crate::layers::resolve::held;

/// Adds a prompt at the head and opens a run for it, unless one is open.
pub(crate) fn prompt(view: &View<'_>, asked: &mut Asked<'_>, text: &str) -> Result<Plan, Pause> {
    let mut draft = view.state.tree.draft();
    let node = draft.append(Message::user(text), view.at).map_err(RuntimeError::from)?;
    let mut records = entries(draft);
    records.extend(opening(view, asked, text, node)?);
    Ok(Plan::of(records))
}

/// Opens a run for what stands at the head, as after a person went back to a prompt.
pub(crate) fn begin_run(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let tree = &view.state.tree;
    let goal = tree.trunk().messages().rev().find(|message| message.author == Author::Person);
    let goal = goal.map(Message::text).unwrap_or_default();
    Ok(Plan::of(opening(view, asked, &goal, tree.head())?))
}

/// Appends words of the harness.
pub(crate) fn say(view: &View<'_>, text: &str) -> Result<Plan, Pause> {
    Ok(Plan::of(view.saying(text)?))
}

/// Tells what had no place while the turn was open.
pub(crate) fn tell_untold(view: &View<'_>) -> Result<Plan, Pause> {
    let untold = &view.state.resolve.untold;
    if view.state.open_turn().is_some() || untold.is_empty() {
        return Ok(Plan::of(Vec::new()));
    }
    let mut records = view.saying(&untold.join("\n"))?;
    records.push(held::told(view.at));
    Ok(Plan::of(records))
}

fn opening(view: &View<'_>, asked: &mut Asked<'_>, goal: &str, prompt: NodeId) -> Result<Vec<Record>, Pause> {
    if view.state.decision.is_open() {
        return Ok(Vec::new());
    }
    let (start, [id]) = (asked.start()?, asked.new_ids()?);
    Ok(decision::open(view.state.decision.last(), id, goal, prompt, start, view.at)?.into())
}
