//! `trunkline revert`, `undo` and `redo`: a person moves the head.

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_runtime::RuntimeError;
use trunkline_runtime::letters::{MoveAct, Request};
use trunkline_runtime::resolve_queue::{Entry, State};
use trunkline_session_store::Claim;

use crate::args::{Revert, Sent};
use crate::fault::{Exit, Fault};
use crate::letters::{self, Entrance};
use crate::paint::{self, DIM, MAGENTA, paint, tell};
use crate::place::Place;
use crate::progress::span;
use crate::proposed;
use crate::reading::Reading;
use crate::setup::{self, Folder};
use crate::store;
use crate::text::{count, one_line};

/// `trunkline revert`.
pub(crate) async fn revert(args: &Revert, place: &Place) -> Result<Exit, Fault> {
    let Some(node) = &args.node else { return proposed::run(args, place).await };
    let to: NodeId = node.parse().map_err(|error| Fault::usage(format!("{error}")))?;
    let act = MoveAct::Revert { to, lesson: args.lesson.clone() };
    carry_out(args.session.as_deref(), act, args.wait, place).await
}

/// `trunkline undo`.
pub(crate) async fn undo(args: &Sent, place: &Place) -> Result<Exit, Fault> {
    carry_out(args.session.as_deref(), MoveAct::Undo, args.wait, place).await
}

/// `trunkline redo`.
pub(crate) async fn redo(args: &Sent, place: &Place) -> Result<Exit, Fault> {
    carry_out(args.session.as_deref(), MoveAct::Redo, args.wait, place).await
}

async fn carry_out(named: Option<&str>, act: MoveAct, wait: bool, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), named).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let request = Request::Move { act: act.clone(), expected_head: reading.tree().head() };
    if let Some(holder) = letters::writer(store.as_ref(), &info).await? {
        return letters::leave(store.as_ref(), &info, &holder, &request, wait).await;
    }
    let agent = setup::without_model(&Folder::for_moves(&reading)?)?.build()?;
    let mut session = match letters::enter(&agent, &store, &info, Claim::IfFree).await? {
        Entrance::Mine(session) => session,
        // It came in the meantime.
        Entrance::Theirs(holder) => {
            return letters::leave(store.as_ref(), &info, &holder, &request, wait).await;
        }
    };
    let before = session.tree().trunk().ids().to_vec();
    let moved = match &act {
        MoveAct::Revert { to, lesson } => session.revert(*to, lesson.as_deref()).await,
        MoveAct::Undo => session.undo().await,
        _ => session.redo().await,
    };
    if let Err(fault) = moved {
        let unknown = matches!(&act, MoveAct::Revert { to, .. } if session.tree().node(*to).is_err());
        return Err(match fault {
            RuntimeError::Refused { reason } if unknown => Fault::usage(reason),
            other => other.into(),
        });
    }
    let name = store::short_name(store.as_ref(), &info.id).await;
    paint::print(&format!("{}\n", paint(MAGENTA, &told(&before, session.tree()))))?;
    tell(&format!("files are not changed by this{}\n", staying(&reading, &before, session.tree())));
    let back = if matches!(act, MoveAct::Undo) { "redo" } else { "undo" };
    let next = [(back, "take it back"), ("tree", "see it"), ("resume", "go on from here")];
    for (command, what) in next {
        tell(&paint(DIM, &format!("  {what:<17}{}\n", place.command(&format!("{command} {name}")))));
    }
    Ok(Exit::Done)
}

/// Names the edits that were applied on what was left: they stay in the files.
fn staying(reading: &Reading, before: &[NodeId], tree: &MessageTree) -> String {
    let was_left = |id: NodeId| before.contains(&id) && !tree.is_on_trunk(id);
    let on_branch = |entry: &&Entry<Value>| {
        let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse().ok());
        entry.state == State::Applied && !reading.is_command(entry.id) && node.is_some_and(was_left)
    };
    let applied: Vec<String> = reading
        .proposals()
        .iter()
        .filter(on_branch)
        .map(|entry| format!("{} ({})", entry.id, one_line(&entry.proposal.label, 40)))
        .collect();
    match applied.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} stays applied"),
        several => format!("; {} stay applied", several.join(", ")),
    }
}

/// Tells what left the trunk and what came back.
pub(crate) fn told(before: &[NodeId], tree: &MessageTree) -> String {
    let after = tree.trunk().ids();
    let left: Vec<NodeId> = before.iter().copied().filter(|id| !tree.is_on_trunk(*id)).collect();
    let back: Vec<NodeId> = after.iter().copied().skip_while(|id| before.contains(id)).collect();
    let mut told = Vec::new();
    if !left.is_empty() {
        told.push(format!("left {} ({})", span(&left), count(left.len(), "node")));
    }
    if !back.is_empty() {
        told.push(format!("{} on the trunk again", span(&back)));
    }
    told.push(format!("head at {}", tree.head()));
    format!("⤺ {}", told.join(", "))
}
