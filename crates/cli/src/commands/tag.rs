//! `trunkline tag`: under which words a session is found.
//!
//! None of it is part of the log, so it can be done while another process writes the session.

use std::collections::BTreeSet;

use trunkline_session_store::Amend;

use crate::args::Tag;
use crate::desk::place::Place;
use crate::desk::store;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::tell::tell;
use crate::term::text::one_line;

/// `trunkline tag`: prints the tags that the session has afterwards, one a line.
pub(crate) async fn run(args: &Tag, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let mut tags = info.tags;
    for tag in &args.tags {
        // It has to be typed again to be found.
        if tag.trim().is_empty() || tag.trim() != tag || tag.contains(char::is_control) {
            return Err(Fault::usage(format!("{:?} is no tag", one_line(tag, 60))));
        }
        if args.remove && !tags.remove(tag) {
            return Err(has_no_such_tag(tag, &tags));
        }
    }
    if !args.tags.is_empty() {
        // Only what was asked for is written: what others tag meanwhile stays.
        let change = if args.remove { Amend::remove_tags(&args.tags) } else { Amend::add_tags(&args.tags) };
        store.amend(&info.id, change).await?;
        tags = store.info(&info.id).await?.tags;
    }
    if tags.is_empty() {
        let name = store::short_name(store.as_ref(), &info.id).await;
        tell(&format!("session {name} has no tags\n"));
    }
    let lines: String = tags.iter().map(|tag| format!("{}\n", one_line(tag, usize::MAX))).collect();
    out::print(&lines)?;
    Ok(Exit::Done)
}

fn has_no_such_tag(tag: &str, tags: &BTreeSet<String>) -> Fault {
    let known: Vec<String> = tags.iter().map(|tag| one_line(tag, 40)).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Fault::usage(format!("it has no tag {:?}; it has {known}", one_line(tag, 60)))
}
