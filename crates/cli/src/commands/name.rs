//! `trunkline name`: what people call branches and nodes, and what is meant where a node is asked for.

use serde_json::json;
use trunkline_message_tree::{NameKind, Naming};
use trunkline_runtime::RuntimeError;
use trunkline_runtime::orders::Order;

use crate::args::moves::Name;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::Place;
use crate::desk::setup;
use crate::desk::store;
use crate::reading::names::target;
use crate::reading::session::Reading;
use crate::shown::links::name_mark;
use crate::shown::tree_json::names_json;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, GREEN, paint};
use crate::term::tell::tell;
use crate::term::text::count;

/// `trunkline name`.
pub(crate) async fn run(args: &Name, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let Some(name) = &args.name else { return list(args, &reading) };
    let name = trunkline_message_tree::Name::parse(name).map_err(|fault| Fault::usage(fault.to_string()))?;
    let known = reading.names().get(name.as_str());
    let node = match &args.node {
        _ if args.delete => None,
        Some(node) => Some(target(node, &reading)?),
        None => Some(reading.tree().head()),
    };
    if let Some(node) = node {
        reading.tree().node(node).map_err(|fault| Fault::usage(fault.to_string()))?;
    }
    let kind = if args.bookmark { NameKind::Bookmark } else { NameKind::Branch };
    let naming = Naming { name: name.clone(), kind, node };
    let request = Order::Name { naming };
    let agent = async { setup::for_moves(&reading) };
    let mut session = match letters::enter_free(&store, &info, agent).await? {
        Entrance::Mine(session) => session,
        Entrance::Theirs(holder) => {
            return letters::leave(place, store.as_ref(), &info, &holder, &request, args.wait).await;
        }
    };
    session.order(request).await.map_err(|fault| match fault {
        RuntimeError::Refused { reason } => Fault::new(reason),
        other => other.into(),
    })?;
    let was = known.map(|(kind, node)| format!("it was a {kind} at {node}"));
    let short = store::short_name(store.as_ref(), &info.id).await;
    match node {
        Some(node) => {
            let was = was.map(|was| paint(DIM, &format!("; {was}"))).unwrap_or_default();
            out::print(&format!("{} is a {kind} at {node} now{was}\n", paint(BOLD, name.as_str())))?;
            let there = node == reading.tree().head();
            let (what, next) = match there {
                true => ("see it", format!("tree {short}")),
                false => ("go there", format!("go {name} -s {short}")),
            };
            tell(&paint(DIM, &format!("  {what:<17}{}\n", place.command(&next))));
        }
        None => {
            let was = was.unwrap_or_default();
            out::print(&format!("nothing is called {name} any more; {was}\n"))?;
        }
    }
    Ok(Exit::Done)
}

fn list(args: &Name, reading: &Reading) -> Result<Exit, Fault> {
    let tree = reading.tree();
    if args.json {
        out::print_json(&json!({ "version": 1, "names": names_json(reading) }))?;
        return Ok(Exit::Done);
    }
    if reading.names().is_empty() {
        tell("no branch and no node has a name; `trunkline name NAME [NODE]` gives one\n");
        return Ok(Exit::Done);
    }
    let width = reading.names().all(tree).map(|(name, ..)| name.as_str().len()).max().unwrap_or(0);
    let mut listed = String::new();
    for (name, kind, node) in reading.names().all(tree) {
        let head = if node == tree.head() { paint(GREEN.bold(), "  ← head") } else { String::new() };
        let after = tree.fork_of(node).ok().and_then(|fork| {
            let depth = |id| tree.node(id).map(|node| node.depth()).unwrap_or(0);
            let off = depth(node) - depth(fork);
            (off > 0).then(|| format!("  beside the trunk, {} after {fork}", count(off, "node")))
        });
        listed.push_str(&format!(
            "{} {}  {} {}{head}{}\n",
            name_mark(kind),
            paint(BOLD, &format!("{:<width$}", name.as_str())),
            paint(DIM, &format!("{kind:<8}")),
            node,
            paint(DIM, &after.unwrap_or_default()),
        ));
    }
    out::print(&listed)?;
    Ok(Exit::Done)
}
