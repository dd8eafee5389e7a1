//! `trunkline decisions`: how runs ended, what each verdict rests on, and whether its records keep the rules.
//!
//! Reads only. Goes by the records themselves and not by the fold of a session, so that one that cannot be read hides
//! none of the others.

mod bound;
mod check;
mod exported;
mod found;
mod lines;
mod listing;
pub(crate) mod objects;
mod shown;
mod status;
mod undone;

use trunkline_message_tree::NodeId;
use trunkline_runtime::projected_objects;

use self::found::{Book, Known, Meant};
use crate::args::decisions::Decisions;
use crate::desk::place::Place;
use crate::reading::names::target;
use crate::reading::session::Reading;
use crate::term::fault::{Exit, Fault};
use crate::term::out;

/// Lists, shows or checks.
pub(crate) async fn run(args: &Decisions, place: &Place) -> Result<Exit, Fault> {
    if let Some(Some(file)) = &args.check {
        if args.named.is_some() || args.session.is_some() {
            return Err(Fault::usage("a file is checked by itself; leave out the session")
                .hint(format!("`{}` checks a session", place.command("decisions --check -s ID"))));
        }
        return check::file(file, args);
    }
    if let Some(Some(file)) = &args.status {
        if args.named.is_some() || args.session.is_some() {
            return Err(Fault::usage("a file stands by itself; leave out the session")
                .hint(format!("`{}` tells of a session", place.command("decisions --status -s ID"))));
        }
        return status::file(file, args);
    }
    if args.git {
        return bound::list(args, place).await;
    }
    if let Some(revision) = &args.commit {
        return bound::find(args, revision, place).await;
    }
    let store = place.open_existing().await?;
    let known = Known::of(store.as_ref()).await?;
    if args.all && args.export.is_some() {
        return exported::all(args, store.as_ref(), &known).await;
    }
    if args.all {
        return listing::all(args, store.as_ref(), &known, place).await;
    }
    let (book, run) = match found::meant(store.as_ref(), &known, args, place).await? {
        Meant::Session(book) => (book, None),
        Meant::Run(book, run) => (book, Some(run)),
    };
    if args.family {
        let objects = projected_objects(&book.log);
        let lines: String = objects.iter().map(|(_, object)| format!("{}\n", object.print())).collect();
        out::print_lines(lines.as_bytes())?;
        return Ok(Exit::Done);
    }
    if args.check.is_some() {
        return match run {
            None => check::session(&book, args, place),
            Some(_) => {
                let check = place.command(&format!("decisions --check -s {}", book.name));
                Err(Fault::usage("a session is checked as a whole").hint(format!("`{check}` does it")))
            }
        };
    }
    if args.export.is_some() {
        return exported::one(args, &book, run);
    }
    if args.status.is_some() {
        return match run {
            None => status::session(args, &book),
            Some(_) => {
                let status = place.command(&format!("decisions --status -s {}", book.name));
                Err(Fault::usage("how things stand is said of a session").hint(format!("`{status}` does it")))
            }
        };
    }
    match run {
        Some(_) if args.node.is_some() => {
            let list = place.command(&format!("decisions -s {} --node NODE", book.name));
            Err(Fault::usage("--node lists decisions; leave out the one that is named")
                .hint(format!("`{list}`")))
        }
        Some(run) => shown::run(args, &book, run, place),
        None if args.diff || args.full => Err(Fault::usage(match args.full {
            true => "--full shows one decision, or goes with --check; name one",
            false => "one decision is shown with its diff; name it",
        })
        .hint(format!("`{}` lists them", place.command(&format!("decisions -s {}", book.name))))),
        None => {
            let node = match &args.node {
                Some(named) => Some(node_of(&book, named)?),
                None => None,
            };
            // What was made elsewhere has no run here to be listed.
            match node.is_none() && book.decided.runs.is_empty() && !objects::taken_in(&book).is_empty() {
                true => status::session(args, &book),
                false => listing::one(args, &book, node, place),
            }
        }
    }
}

/// Returns the node that somebody means. Only a name needs the session to be whole.
fn node_of(book: &Book, named: &str) -> Result<NodeId, Fault> {
    let node = match named.parse::<NodeId>() {
        Ok(node) => node,
        Err(_) => target(named, &Reading::of(&book.log)?)?,
    };
    match &book.tree {
        Some(tree) => tree.node(node).map(|_| node).map_err(|fault| Fault::usage(fault.to_string())),
        None => Ok(node),
    }
}
