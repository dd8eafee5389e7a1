//! `trunkline reflog`: every move of the head, and how it is taken back.

use serde_json::{Value, json};
use trunkline_message_tree::{HeadMove, MessageTree, MoveId, MoveKind};
use trunkline_runtime::revert;

use crate::args::moves::Reflog;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::store;
use crate::reading::session::Reading;
use crate::shown::moves::declined;
use crate::shown::nodes::listed;
use crate::shown::time::ago;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, MAGENTA, paint};
use crate::term::tell::tell;

/// Lists the moves, newest first.
pub(crate) async fn run(args: &Reflog, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let tree = reading.tree();
    if args.json {
        out::print_json(&json!({
            "version": 1,
            "head": tree.head(),
            "moves": as_json(tree),
            "refused_reverts": refused(&reading),
            "unread_reverts": reading.view().going_back().unread,
        }))?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<[String; 5]> = tree
        .reflog()
        .map(|entry| {
            let made = entry.head_move;
            [
                entry.id.to_string(),
                word_of(&reading, entry.id, made.kind),
                ends(&reading, entry.id, made),
                ago(made.at, now()),
                standing(tree, entry.id, entry.in_force),
            ]
        })
        .collect();
    rows.reverse();
    let declined = declined_lines(&reading);
    if rows.is_empty() {
        tell("the head was never moved\n");
        out::print(&declined)?;
        return Ok(Exit::Done);
    }
    out::print(&format!("{}{declined}", table(&rows)))?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    let next = [("undo", latest(tree.plan_undo(now()))), ("redo", latest(tree.plan_redo(now())))];
    for (command, of) in next {
        let Some(of) = of else { continue };
        let of = original(tree, of);
        let what = if command == "undo" { format!("take back {of}") } else { format!("make {of} again") };
        tell(&paint(DIM, &format!("  {what:<17}{}\n", place.command(&format!("{command} {name}")))));
    }
    Ok(Exit::Done)
}

/// Lists the requests to go back that moved nothing, newest first, each with the message that asked.
fn declined_lines(reading: &Reading) -> String {
    let mut lines = String::new();
    for (id, of_calls) in declined(reading).into_iter().rev() {
        for line in of_calls.into_values().rev() {
            lines.push_str(&format!("{}  {line}\n", paint(BOLD, &id.to_string())));
        }
    }
    lines
}

fn refused(reading: &Reading) -> Vec<&revert::Record> {
    reading.reverts().iter().filter(|record| !record.applied).collect()
}

fn latest(planned: Option<HeadMove>) -> Option<MoveId> {
    match planned?.kind {
        MoveKind::Undo { of } | MoveKind::Redo { of } => Some(of),
        _ => None,
    }
}

fn table(rows: &[[String; 5]]) -> String {
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [wide(0), wide(1), wide(2), wide(3)];
    let mut table = String::new();
    for [id, kind, ends, when, stands] in rows {
        let [id_width, kind_width, ends_width, when_width] = widths;
        let void = stands.starts_with("taken");
        let style = if void { DIM } else { MAGENTA };
        table.push_str(&format!(
            "{}  {}  {ends:<ends_width$}  {}  {}\n",
            paint(if void { DIM } else { BOLD }, &format!("{id:<id_width$}")),
            paint(style, &format!("{kind:<kind_width$}")),
            paint(DIM, &format!("{when:<when_width$}")),
            paint(DIM, stands),
        ));
    }
    table
}

/// Follows undos and redos to the move that was first made.
fn original(tree: &MessageTree, mut id: MoveId) -> MoveId {
    while let Some(MoveKind::Undo { of } | MoveKind::Redo { of }) =
        tree.moves().get(id.index()).map(|made| made.kind)
    {
        id = of;
    }
    id
}

/// Says where a move led; a merge brings other branches to where the head is.
fn ends(reading: &Reading, id: MoveId, made: &HeadMove) -> String {
    match reading.merges().iter().find(|merge| merge.move_id == id && made.kind == MoveKind::Merge) {
        Some(merge) => format!("{} → {}", listed(&merge.with), merge.node),
        None => format!("{} → {}", made.from, made.to),
    }
}

/// Says what kind of move it is; of those of the model also what the kind alone does not tell.
fn word_of(reading: &Reading, id: MoveId, kind: MoveKind) -> String {
    let returned = || reading.notes().iter().any(|note| note.made_by == id && note.back.is_some());
    let merged = || reading.merges().iter().any(|merge| merge.move_id == id && merge.call.is_some());
    match kind {
        MoveKind::ModelRevert if returned() => "model return".to_owned(),
        MoveKind::Merge if merged() => "model merge".to_owned(),
        kind => word(reading.tree(), kind),
    }
}

/// Says what kind of move it is.
fn word(tree: &MessageTree, kind: MoveKind) -> String {
    match kind {
        MoveKind::ModelRevert => "model revert".to_owned(),
        MoveKind::PersonRevert => "revert".to_owned(),
        MoveKind::Fork => "go".to_owned(),
        MoveKind::Import => "import".to_owned(),
        MoveKind::Merge => "merge".to_owned(),
        MoveKind::Undo { of } => format!("undo of {}", original(tree, of)),
        MoveKind::Redo { of } => format!("redo of {}", original(tree, of)),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Says whether a move still holds, and which one took it back.
fn standing(tree: &MessageTree, id: MoveId, in_force: bool) -> String {
    let taken_back = tree.reflog().filter(
        |later| matches!(later.head_move.kind, MoveKind::Undo { of } | MoveKind::Redo { of } if of == id),
    );
    match (taken_back.last(), in_force) {
        (None, _) => "in force".to_owned(),
        (Some(by), false) => format!("taken back by {}", by.id),
        // An undo that a redo took back, or a move that was made again.
        (Some(by), true) => match tree.moves().get(id.index()).map(|made| made.kind) {
            Some(MoveKind::Undo { .. } | MoveKind::Redo { .. }) => format!("taken back by {}", by.id),
            _ => "in force, made again".to_owned(),
        },
    }
}

fn as_json(tree: &MessageTree) -> Vec<Value> {
    let mut moves: Vec<Value> = tree
        .reflog()
        .map(|entry| {
            let made = entry.head_move;
            json!({
                "id": entry.id.to_string(),
                "kind": made.kind,
                "from": made.from,
                "to": made.to,
                "at": made.at,
                "in_force": standing(tree, entry.id, entry.in_force).starts_with("in force"),
                "newest": entry.newest,
            })
        })
        .collect();
    moves.reverse();
    moves
}
