//! What a person does with the head and with branches: go back or anywhere, merge, name.
//!
//! Each is one batch, so a kill leaves all of it or nothing: also of what leaves or comes back on the way, which is
//! proposals, the run whose prompt is left, the turn that is open.

use trunkline_message_tree::{
    Author, Draft, HeadMove, MessageTree, MoveKind, NameKind, Naming, NodeId, Timestamp,
};
use trunkline_revert::{Merge, MergeRecord};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::close::leave;
use crate::acts::leaving;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::turn::{close_turn, say_after_assistant};
use crate::acts::view::View;
use crate::notes::record::entries;
use crate::notes::{self, tree};
use crate::rules::branches::{self, StepId};
use crate::rules::{gates, staged};
use crate::words::error::RuntimeError;

/// Puts the head on any node. Returns where it was put.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn go(view: &View<'_>, asked: &mut Asked<'_>, to: NodeId) -> Result<Plan<NodeId>, Pause> {
    let tree = &view.state.tree;
    let to = tree.landing(to).map_err(|fault| refused(fault.to_string()))?;
    let from = tree.head();
    if from == to {
        return Err(refused(format!("the head is at {to} already")).into());
    }
    let fork = HeadMove { from, to, kind: MoveKind::Fork, at: view.at };
    Ok(go_elsewhere(view, asked, fork, "a move of a person")?.then(to))
}

/// Goes back to a node, with what the model is told of the branch that is left.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn go_back(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    to: NodeId,
    lesson: Option<&str>,
) -> Result<Plan, Pause> {
    let tree = &view.state.tree;
    let planned = leaving::plan_by_person(tree, to, lesson)?.in_window(view.setup.window());
    let mut draft = tree.draft();
    let results = close_turn(view, &mut draft, "not run: a person left this branch first")?;
    let leaving = planned.leaving(tree, &results, view.at).told((view, tree), asked, &draft)?;
    let notes = leaving.records(view.at);
    let moving = (leaving.head_move(), leaving.move_name());
    Ok(Plan::of(move_head(view, asked, draft, notes, moving, (&results, None))?))
}

/// Takes the latest move of the head back.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn undo(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let undo = view.state.tree.plan_undo(view.at);
    let undo = undo.ok_or_else(|| refused("there is no move of the head to take back".to_owned()))?;
    go_elsewhere(view, asked, undo, "an undo")
}

/// Makes a move again that was taken back.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn redo(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let redo = view.state.tree.plan_redo(view.at);
    let redo = redo.ok_or_else(|| refused("there is no move of the head to make again".to_owned()))?;
    go_elsewhere(view, asked, redo, "a redo")
}

/// Brings here what came of branches.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn merge(view: &View<'_>, tips: &[NodeId]) -> Result<Plan<MergeRecord>, Pause> {
    let state = view.state;
    let merge = trunkline_revert::merge(&state.tree, &state.revert.notes, tips)
        .map_err(|refusal| refused(refusal.to_string()))?;
    let mut draft = state.tree.draft();
    // Nothing leaves the trunk here, so what waited for a decision is put aside call by call.
    let calls = state
        .open_turn()
        .into_iter()
        .flat_map(|turn| turn.calls().map(|(place, _)| place).collect::<Vec<_>>());
    let open = calls.filter(|place| !state.is_finished(place));
    let waited: Vec<Record> =
        open.flat_map(|place| gates::drop_gate(&state.resolve, &place, view.at)).collect();
    close_turn(view, &mut draft, "not run: a person merged other branches here first")?;
    let record = merge_here(&mut draft, merge, view.at)?;
    let mut records = entries(draft);
    records.extend(waited);
    records.push(notes::revert::merged(&record, view.at));
    Ok(Plan::of(records).then(record))
}

/// Merges branches into the head of a draft.
pub(crate) fn merge_here(
    draft: &mut Draft<'_>,
    mut merge: Merge,
    at: Timestamp,
) -> Result<MergeRecord, RuntimeError> {
    merge.into = draft.head();
    let outcome = merge.outcome(at);
    draft.move_head(outcome.head_move)?;
    let node = draft.merge(outcome.with, outcome.message, at)?;
    Ok(merge.record(node))
}

/// Gives a node a name, or takes one away.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn name(view: &View<'_>, naming: &Naming) -> Result<Plan, Pause> {
    let known = view.state.names.get(naming.name.as_str());
    match naming.node {
        Some(node) => {
            let found = view.state.tree.node(node).map_err(|fault| refused(fault.to_string()))?;
            if naming.kind == NameKind::Branch && found.is_filed() {
                let reason =
                    format!("no branch goes through {node}, which was only filed; a bookmark can name it");
                return Err(refused(reason).into());
            }
        }
        None if known.is_none() => {
            return Err(refused(format!("nothing is called {:?}", naming.name.as_str())).into());
        }
        None => {}
    }
    Ok(Plan::of(vec![tree::named(naming, view.at)]))
}

fn go_elsewhere(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    head_move: HeadMove,
    name: &str,
) -> Result<Plan, Pause> {
    let mut draft = view.state.tree.draft();
    let results = close_turn(view, &mut draft, "not run: a person went to another branch first")?;
    let notes = leaving::undone(view, asked, &head_move, &draft)?.into_iter().collect();
    let head_move = HeadMove { from: draft.head(), ..head_move };
    let moving = (head_move, name.to_owned());
    Ok(Plan::of(move_head(view, asked, draft, notes, moving, (&results, None))?))
}

/// Returns the records of a person's move with everything that it carries: the end of an open turn, proposals that
/// leave or come back, the end of a run whose prompt is left. `accepted` is the proposed step that it takes.
pub(crate) fn move_head(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    mut draft: Draft<'_>,
    notes: Vec<Record>,
    (head_move, name): (HeadMove, String),
    (results, accepted): (&[NodeId], Option<StepId>),
) -> Result<Vec<Record>, Pause> {
    let (state, tree) = (view.state, &view.state.tree);
    let (left, back) = exchanged(tree, head_move.to, results)?;
    draft.move_head(head_move)?;
    let abandoned = match &state.decision.run {
        // Its files may be half put back, and somebody else may be at it.
        Some(run) if run.restoring.is_some() && run.is_left(&left, &back) => {
            let reason = "files are being put back here: resume the session so that it ends, or abandon the run, and then move";
            return Err(refused(reason.to_owned()).into());
        }
        Some(run) if run.is_left(&left, &back) => leave(view, asked, Author::Person)?,
        _ => Vec::new(),
    };
    if abandoned.is_empty() {
        say_after_assistant(state, &mut draft, view.at)?;
    }
    let mut records = entries(draft);
    records.extend(notes);
    records.extend(branches::overtaken(&state.revert, &left, accepted, view.at));
    records.extend(staged::supersede_left(&state.resolve.queue, &left, &name, view.at));
    records.extend(staged::restore_back(&state.resolve, &back, view.at));
    records.extend(abandoned);
    Ok(records)
}

/// Returns the nodes that leave the trunk when the head goes to a node, and those that come back.
fn exchanged(
    tree: &MessageTree,
    to: NodeId,
    results: &[NodeId],
) -> Result<(Vec<NodeId>, Vec<NodeId>), RuntimeError> {
    let shared = tree.node(tree.fork_of(to)?)?.depth();
    let mut left: Vec<NodeId> = tree.trunk().ids()[shared + 1..].to_vec();
    left.extend_from_slice(results);
    let line = tree.ancestry(to)?.map(|(id, _)| id);
    let mut back: Vec<NodeId> = line.take_while(|id| !tree.is_on_trunk(*id)).collect();
    back.reverse();
    Ok((left, back))
}

fn refused(reason: String) -> RuntimeError {
    RuntimeError::Refused { reason }
}

/// Checks that a move still means what its sender meant: where they saw the head is on the trunk, which may have grown since, as it
/// does while a model writes. What they wanted to take back (`takes_back`, as undo and redo do) has to be the latest move still.
///
/// # Errors
///
/// [`RuntimeError::Refused`] if it does not.
pub fn check_seen(view: &View<'_>, takes_back: bool, expected_head: NodeId) -> Result<(), RuntimeError> {
    let tree = &view.state.tree;
    let latest = tree.moves().len().checked_sub(1).and_then(|place| tree.reflog().nth(place));
    let is_latest =
        expected_head == tree.head() || latest.is_some_and(|latest| latest.newest < expected_head);
    if (is_latest || !takes_back) && tree.is_on_trunk(expected_head) {
        return Ok(());
    }
    let head = tree.head();
    let reason = format!("the head is {head} by another move, this was asked for at {expected_head}");
    Err(RuntimeError::Refused { reason })
}
