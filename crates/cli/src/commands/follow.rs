//! `trunkline follow`: what happens in a session while it happens, by whomever.
//!
//! Ends when the session is deleted or nobody reads any more; Ctrl-C ends it at once, since nothing is written here.

use std::sync::Arc;

use trunkline_message_tree::{
    Author, Content, Entry, HeadMove, Message, MoveKind, Naming, NodeId, Role, ToolResult,
};
use trunkline_runtime::Attempt;
use trunkline_runtime::decision_objects::Decision;
use trunkline_runtime::resolve_queue::Event;
use trunkline_runtime::revert;
use trunkline_session_store::{
    Activity, Follower, Kept, Note, Record, SessionInfo, StoreError, write_record,
};

use crate::args::Follow;
use crate::desk::place::{Place, Store};
use crate::desk::store;
use crate::shown::call::{label_of, shown_call};
use crate::shown::changes::{self, staged};
use crate::shown::moves::{pruned, reverted, unread};
use crate::shown::rule;
use crate::shown::verdict::verdict;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{first_lines, one_line, safe};

/// How much of a result is shown.
const RESULT_LINES: usize = 6;
/// How many records are asked for at once.
const PAGE: usize = 256;

/// Shows the last records of a session, and then each new one.
pub(crate) async fn run(args: &Follow, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let after = info.records.saturating_sub(args.records);
    let ended = match args.json {
        true => lines(&store, &info, after).await,
        false => words(&store, &info, after).await,
    };
    match ended {
        Err(Ended::Store(StoreError::UnknownSession { .. })) => {
            tell("the session was deleted\n");
            Ok(Exit::Done)
        }
        Err(Ended::Store(error)) => Err(error.into()),
        Err(Ended::Output(fault)) => Err(fault),
        Ok(never) => match never {},
    }
}

/// Why there is nothing more to follow.
enum Ended {
    Store(StoreError),
    Output(Fault),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Ended::Store(error)
    }
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Ended::Output(fault)
    }
}

async fn words(store: &Store, info: &SessionInfo, after: u64) -> Result<std::convert::Infallible, Ended> {
    let mut follower = Follower::new(Arc::clone(store), info.id.clone(), after);
    loop {
        let shown: String = follower.next().await?.iter().map(|(_, record)| shown(record)).collect();
        out::print(&shown)?;
    }
}

/// Writes records as they are kept, digests included.
async fn lines(store: &Store, info: &SessionInfo, mut after: u64) -> Result<std::convert::Infallible, Ended> {
    let mut seen = Activity::default();
    loop {
        let page: Vec<Kept> = store.read(&info.id, after, PAGE).await?;
        let Some(last) = page.last() else {
            seen = store.changed(&info.id, seen).await?;
            continue;
        };
        after = last.seq;
        let mut lines = Vec::new();
        for kept in &page {
            write_record(kept, &mut lines).map_err(Fault::stdout)?;
        }
        out::print_lines(&lines)?;
    }
}

fn shown(record: &Record) -> String {
    match record {
        Record::Entry(Entry::Node { id, message, link, .. }) => shown_message(*id, message, link.is_filed()),
        Record::Entry(Entry::Move(moved)) => shown_move(moved),
        Record::Note(note) => shown_note(note).map(|line| format!("{line}\n")).unwrap_or_default(),
        Record::Blob(blob) => {
            let about = format!(
                "· {} {}, {} bytes",
                one_line(&blob.layer, 20),
                one_line(&blob.kind, 40),
                blob.bytes.len()
            );
            format!("{}\n", paint(DIM, &about))
        }
    }
}

fn shown_message(id: NodeId, message: &Message, filed: bool) -> String {
    let beside = if filed { " (beside the trunk)" } else { "" };
    let node = paint(DIM, &format!("{id}{beside}"));
    let mut shown = String::new();
    match (message.role, message.author) {
        (Role::User, Author::Person) => {
            shown.push_str(&format!(
                "{} {} {node}\n",
                paint(CYAN.bold(), "›"),
                paint(BOLD, &one_line(&message.text(), 400))
            ));
        }
        (Role::Assistant, _) => {
            for block in &message.content {
                match block {
                    Content::Text { text } if !text.trim().is_empty() => {
                        shown.push_str(&format!("{} {node}\n", safe(text.trim())));
                    }
                    Content::ToolCall(call) => {
                        let call = shown_call(&call.name, &label_of(&call.name), &call.arguments);
                        shown.push_str(&format!("{} {call} {node}\n", paint(CYAN, "→")));
                    }
                    _ => {}
                }
            }
        }
        (Role::Tool, _) => message.results().for_each(|result| shown.push_str(&shown_result(result, &node))),
        (Role::System, _) => shown.push_str(&format!("{} {node}\n", paint(DIM, "· instructions"))),
        (Role::User, author) => {
            // What the harness says is meant for the model, also where it says "you".
            let whom = if author == Author::Harness { "to the model: " } else { "" };
            let said = format!("· {whom}{}", one_line(&message.text(), 160));
            shown.push_str(&format!("{} {node}\n", paint(DIM, &said)));
        }
    }
    shown
}

fn shown_result(result: &ToolResult, node: &str) -> String {
    let mark = if result.is_error { paint(RED, "✗") } else { paint(GREEN, "✓") };
    let text = result.text();
    let (lines, more) = first_lines(text.trim_end(), RESULT_LINES);
    let mut shown = String::new();
    for (place, line) in lines.iter().enumerate() {
        match place {
            0 => shown.push_str(&format!("{mark} {} {node}\n", paint(DIM, &safe(line)))),
            _ => shown.push_str(&format!("  {}\n", paint(DIM, &safe(line)))),
        }
    }
    if lines.is_empty() {
        shown.push_str(&format!("{mark} {} {node}\n", paint(DIM, "(nothing)")));
    }
    if more > 0 {
        shown.push_str(&paint(DIM, &format!("  … {more} more lines\n")));
    }
    shown
}

fn shown_move(moved: &HeadMove) -> String {
    let how = match moved.kind {
        MoveKind::ModelRevert => "the model went back",
        MoveKind::PersonRevert => "a person went back",
        MoveKind::Fork => "a person went elsewhere",
        MoveKind::Merge => {
            return format!("{}\n", paint(MAGENTA, &format!("⤺ branches are merged after {}", moved.to)));
        }
        MoveKind::Undo { .. } => "undone",
        MoveKind::Redo { .. } => "done again",
        _ => "moved",
    };
    format!("{}\n", paint(MAGENTA, &format!("⤺ {how}: from {} to {}", moved.from, moved.to)))
}

/// Tells the notes that say something to people; the others are the machinery of their layers.
fn shown_note(note: &Note) -> Option<String> {
    match (note.layer.as_str(), note.kind.as_str()) {
        ("decision", "decided") => Some(verdict(&Decision::parse(note.body.as_bytes()).ok()?)),
        ("resolve", "event") => {
            let event: Event<serde_json::Value> = serde_json::from_str(&note.body).ok()?;
            if let Some(proposal) = staged(&event) {
                let (mark, id) = (paint(YELLOW, "±"), paint(BOLD, &event.proposal.to_string()));
                return Some(format!("{mark} {id} {}", one_line(&proposal.label, 160)));
            }
            changes::told(&event)
        }
        ("resolve", "rule") => rule::event(&serde_json::from_str(&note.body).ok()?),
        ("revert", "unread") => Some(unread(&serde_json::from_str(&note.body).ok()?)),
        ("revert", "drained") => {
            let record: revert::Record = serde_json::from_str(&note.body).ok()?;
            // What was done is told with its move.
            (!record.applied).then(|| reverted(&record))
        }
        ("tree", "name") => {
            let Naming { name, kind, node, .. } = serde_json::from_str(&note.body).ok()?;
            let told = match node {
                Some(node) => format!("· {name} is a {kind} at {node} now"),
                None => format!("· nothing is called {name} any more"),
            };
            Some(paint(DIM, &told))
        }
        ("revert", "pruned") => Some(pruned(&serde_json::from_str(&note.body).ok()?)),
        ("runtime", "attempt") => {
            let attempt: Attempt = serde_json::from_str(&note.body).ok()?;
            let then = if attempt.until.is_some() { "another one follows" } else { "it is the last one" };
            let told =
                format!("↻ attempt {} failed ({}); {then}", attempt.attempt, one_line(&attempt.words, 200));
            Some(paint(YELLOW, &told))
        }
        ("runtime", "letter_refused") => Some(paint(YELLOW, "✉ a note had no effect")),
        _ => None,
    }
}
