//! A person moves the head: what `revert`, `go`, `merge`, `undo` and `redo` have in common.

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId, Role};
use trunkline_runtime::orders::{MoveAct, Order};
use trunkline_runtime::resolve_queue::{Entry, State};
use trunkline_runtime::{RuntimeError, Session};

use crate::desk::letters::{self, Entrance};
use crate::desk::place::Place;
use crate::desk::setup;
use crate::desk::store;
use crate::reading::names::target;
use crate::reading::session::Reading;
use crate::shown::moves::{carried, told};
use crate::shown::nodes::listed;
use crate::term::fault::{Exit, Fault};
use crate::term::style::{DIM, MAGENTA, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;
use crate::term::{out, screen};

/// How many files are named that a run has left changed.
const FILES_NAMED: usize = 5;

/// A move as it was typed; nodes may be named.
pub(crate) enum Wanted<'a> {
    Revert { to: &'a str, lesson: Option<&'a str> },
    Go { to: &'a str },
    Merge { tips: &'a [String] },
    Undo,
    Redo,
}

impl Wanted<'_> {
    /// Returns it with the nodes that the names lead to now.
    fn act(&self, reading: &Reading) -> Result<MoveAct, Fault> {
        Ok(match self {
            Wanted::Revert { to, lesson } => {
                MoveAct::Revert { to: target(to, reading)?, lesson: lesson.map(str::to_owned) }
            }
            Wanted::Go { to } => MoveAct::Go { to: target(to, reading)? },
            Wanted::Merge { tips } => MoveAct::Merge { tips: targets(tips, reading)? },
            Wanted::Undo => MoveAct::Undo,
            Wanted::Redo => MoveAct::Redo,
        })
    }
}

/// Makes the move, or leaves it to the one that writes the session.
pub(crate) async fn carry_out(
    named: Option<&str>,
    wanted: Wanted<'_>,
    wait: bool,
    place: &Place,
) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), named).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let act = wanted.act(&reading)?;
    let expected_head = reading.tree().head();
    let request = Order::Move { act: act.clone(), expected_head };
    let agent = async { setup::for_moves(&reading) };
    let mut session = match letters::enter_free(&store, &info, agent).await? {
        Entrance::Mine(session) => session,
        Entrance::Theirs(holder) => {
            return letters::leave(place, store.as_ref(), &info, &holder, &request, wait).await;
        }
    };
    if session.tree().head() != expected_head {
        let now = session.tree().head();
        let fault = Fault::new(format!("the head was at {expected_head} a moment ago and is at {now} now"));
        return Err(fault.hint("nothing was moved; look again, `trunkline tree` draws it"));
    }
    let before = session.tree().trunk().ids().to_vec();
    let newest = session.tree().newest();
    let said = match moved(&mut session, &act).await {
        Ok(said) => said,
        Err(fault) => return Err(refused(fault, &act, &session, &reading)),
    };
    let name = store::short_name(store.as_ref(), &info.id).await;
    out::print(&match &act {
        MoveAct::Merge { .. } => said,
        _ => format!("{}\n{said}", paint(MAGENTA, &told(&before, newest, session.tree()))),
    })?;
    let aside = put_aside(&reading, &session);
    tell(&format!("files are not changed by this{}{aside}\n", staying(&reading, &before, session.tree())));
    tell_given_up(&reading, &session, place, &name);
    let back = if matches!(act, MoveAct::Undo) { "redo" } else { "undo" };
    let next = [(back, "take it back"), ("tree", "see it"), ("resume", "go on from here")];
    for (command, what) in next {
        let words = if command == "resume" && is_answered(&session) { " -p \"…\"" } else { "" };
        tell(&paint(DIM, &format!("  {what:<17}{}{words}\n", place.command(&format!("{command} {name}")))));
    }
    Ok(Exit::Done)
}

/// Makes the move, and returns what there is to say of it beside where the head is.
async fn moved(session: &mut Session, act: &MoveAct) -> Result<String, RuntimeError> {
    match act {
        MoveAct::Revert { to, lesson } => session.revert(*to, lesson.as_deref()).await?,
        MoveAct::Go { to } => {
            let landed = session.go(*to).await?;
            if landed != *to {
                let told = format!("  {to} belongs to a group of calls that ends at {landed}\n");
                return Ok(paint(DIM, &told));
            }
        }
        MoveAct::Merge { tips } => {
            let record = session.merge(tips).await?;
            let heading = format!("merged {}, head at {}", listed(&record.with), record.node);
            return Ok(carried(&heading, &record.sentences, record.left_out, screen::width()));
        }
        MoveAct::Undo => session.undo().await?,
        _ => session.redo().await?,
    }
    Ok(String::new())
}

/// Returns whether the model has nothing to do where the head is: it goes on when somebody says more.
fn is_answered(session: &Session) -> bool {
    let last = session.tree().trunk().messages().next_back();
    let answers = last.is_some_and(|last| last.role == Role::Assistant && last.calls().next().is_none());
    answers && session.open_run().is_none()
}

/// Says why a move was not made: a node that is not there was typed wrongly.
fn refused(fault: RuntimeError, act: &MoveAct, session: &Session, reading: &Reading) -> Fault {
    let RuntimeError::Refused { reason } = fault else { return fault.into() };
    let tree = session.tree();
    let nodes = match act {
        MoveAct::Revert { to, .. } | MoveAct::Go { to } => std::slice::from_ref(to),
        MoveAct::Merge { tips } => tips.as_slice(),
        _ => &[],
    };
    let fault = unknown_node(nodes, tree, reason);
    match act {
        MoveAct::Revert { to, .. } if tree.node(*to).is_ok() && !tree.is_on_trunk(*to) => {
            let name = reading.info.id.as_str();
            fault.hint(format!("`trunkline go {to} -s {name}` puts the head there"))
        }
        _ => fault,
    }
}

/// Says why a move was not made, and whether one of its nodes was typed wrongly.
pub(crate) fn unknown_node(nodes: &[NodeId], tree: &MessageTree, reason: String) -> Fault {
    match nodes.iter().any(|node| tree.node(*node).is_err()) {
        true => Fault::usage(reason),
        false => Fault::new(reason),
    }
}

/// Returns the nodes that were named.
pub(crate) fn targets(named: &[String], reading: &Reading) -> Result<Vec<NodeId>, Fault> {
    named.iter().map(|named| target(named, reading)).collect()
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

/// Says which files a run has changed that was given up by a move, and how they are taken back.
pub(crate) fn tell_given_up(reading: &Reading, session: &Session, place: &Place, name: &str) {
    let ended = reading.open_run().and_then(|run| session.decisions().of_run(run));
    let Some(ended) = ended.filter(|ended| ended.has_changes()) else { return };
    let files = &ended.cites().files;
    let mut named: Vec<String> =
        files.iter().take(FILES_NAMED).map(|file| one_line(file.path.as_str(), 60)).collect();
    if files.len() > FILES_NAMED {
        named.push(format!("and {} more", files.len() - FILES_NAMED));
    }
    let named = if named.is_empty() { "the files".to_owned() } else { named.join(", ") };
    tell(&format!("the run was given up, and {named} stay as it has left them\n"));
    let back = format!("decide rollback {} -s {name}", ended.id());
    tell(&paint(DIM, &format!("  {:<17}{}\n", "restore them", place.command(&back))));
}

/// Says what waited for a decision, or for being carried out, and was put aside by the move.
fn put_aside(reading: &Reading, session: &Session) -> String {
    let now = |entry: &&Entry<Value>| session.proposals().get(entry.id).map(|entry| entry.state);
    let aside: Vec<String> = reading
        .proposals()
        .iter()
        .filter(|entry| entry.state != State::Superseded && now(entry) == Some(State::Superseded))
        .map(|entry| format!("{} ({})", entry.id, one_line(&entry.proposal.label, 40)))
        .collect();
    match aside.as_slice() {
        [] => String::new(),
        all => format!("; {} put aside, `undo` brings back what it can", all.join(", ")),
    }
}
