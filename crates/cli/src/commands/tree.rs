//! `trunkline tree`: the picture of a session, or the tree for programs.

use trunkline_message_tree::NodeId;

use crate::args::Tree;
use crate::desk::place::Place;
use crate::desk::store;
use crate::reading::session::Reading;
use crate::shown::plan;
use crate::shown::tree::{drawn_nodes, picture};
use crate::shown::tree_json::as_json;
use crate::term::fault::{Exit, Fault};
use crate::term::tell::tell;
use crate::term::{out, screen};

/// `trunkline tree`.
pub(crate) async fn run(args: &Tree, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let mut reading = Reading::outline(store.as_ref(), &info).await?;
    if args.json {
        let all: Vec<NodeId> = reading.tree().nodes().map(|(id, _)| id).collect();
        reading.fill(store.as_ref(), &all).await?;
        out::print_json(&as_json(&reading))?;
    } else {
        let shown = drawn_nodes(&reading, screen::width(), args.all);
        reading.fill_with_calls(store.as_ref(), &shown).await?;
        out::print(&picture(&reading, screen::width(), args.all))?;
        if let Some(entry) = plan::waiting(reading.proposals()) {
            let name = store::short_name(store.as_ref(), &info.id).await;
            let commands =
                plan::commands(entry.id, &name).map(|(what, command)| (what, place.command(&command)));
            tell(&plan::next(commands));
        }
    }
    Ok(Exit::Done)
}
