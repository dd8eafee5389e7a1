//! `trunkline sessions`: all of them, or those in which something was said.

use serde_json::{Value, json};
use trunkline_session_store::{Find, Found, Hit, SessionInfo, StoreError};

use crate::args::Listing;
use crate::desk::clock::now;
use crate::desk::place::{Place, Store};
use crate::desk::standing::{RUNNING, Standing, UNREADABLE};
use crate::shown::session::{self, OPEN, PLAN_WAITS, WAITS, short};
use crate::shown::time::ago;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out;
use crate::term::style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// A session as it is listed.
struct Listed {
    found: Found,
    state: String,
    /// The title of its task, if one is open.
    task: Option<String>,
}

/// Lists the sessions, the one updated last first.
pub(crate) async fn run(args: &Listing, place: &Place) -> Result<Exit, Fault> {
    // An empty store and none at all are the same to somebody who asks what there is.
    let store = if place.exists() { Some(place.open().await?) } else { None };
    let all = match &store {
        Some(store) => store.sessions().await?,
        None => Vec::new(),
    };
    let (listed, unread) = match &store {
        Some(store) => listed(args, store, &all).await?,
        None => (Vec::new(), false),
    };
    // What is shown is right, and there is more.
    let exit = if unread { Exit::Broken } else { Exit::Done };
    if args.json {
        let listed: Vec<Value> = listed.iter().map(as_json).collect();
        out::print_json(&json!({ "version": 1, "store": place.to_string(), "sessions": listed }))?;
        return Ok(exit);
    }
    if listed.is_empty() {
        tell(&nothing(args, &all, place));
    } else {
        out::print(&table(&listed, &all))?;
        for one in listed.iter().filter(|one| one.state == PLAN_WAITS) {
            let name = short(&one.found.info.id, &all);
            tell(&paint(
                DIM,
                &format!("  look at the plan  {}\n", place.command(&format!("resolve -s {name}"))),
            ));
        }
    }
    if unread {
        tell(&paint(DIM, &format!("  look at it  {}\n", place.command("doctor"))));
    }
    Ok(exit)
}

/// Returns the sessions that are meant, and whether one of them could not be read.
async fn listed(args: &Listing, store: &Store, all: &[SessionInfo]) -> Result<(Vec<Listed>, bool), Fault> {
    let mut find = Find::words(args.words.iter().cloned());
    find.tags = args.tag.iter().cloned().collect();
    find.titles = args.titles;
    find.archived = match (args.all, args.archived) {
        (true, _) => None,
        (false, archived) => Some(archived),
    };
    let standing = Standing::of(store.as_ref()).await?;
    let (mut listed, mut unread) = (Vec::new(), false);
    for info in all {
        let found = match find.look_into(store.as_ref(), info.clone()).await {
            Ok(Some(found)) => found,
            Ok(None) | Err(StoreError::UnknownSession { .. }) => continue,
            // What cannot be read does not hide the others.
            Err(error @ (StoreError::BadRecord { .. } | StoreError::Misfit { .. })) => {
                unread = true;
                tell(&format!(
                    "{} {}\n",
                    paint(YELLOW, "not searched to its end:"),
                    Fault::from(error).as_line()
                ));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match standing.state(store.as_ref(), info).await {
            Ok(state) => {
                unread |= state == UNREADABLE;
                let task = standing.open_task(store.as_ref(), info).await?;
                listed.push(Listed { found, state, task });
            }
            // Somebody has deleted it meanwhile.
            Err(_) if store.info(&info.id).await.is_err_and(|error| is_gone(&error)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok((listed, unread))
}

fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::UnknownSession { .. })
}

fn table(listed: &[Listed], all: &[SessionInfo]) -> String {
    let now = now();
    let names: Vec<&str> = listed.iter().map(|one| short(&one.found.info.id, all)).collect();
    let name_width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let state_width = listed.iter().map(|one| one.state.chars().count()).max().unwrap_or(0);
    let mut table = String::new();
    for (Listed { found, state, task }, name) in listed.iter().zip(names) {
        let info = &found.info;
        let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
        let nodes = count(usize::try_from(info.nodes).unwrap_or(usize::MAX), "node");
        let folder =
            info.workspace.as_deref().map(|folder| format!("  {}", one_line(folder, 60))).unwrap_or_default();
        let mut tags: String = info.tags.iter().map(|tag| format!("  #{}", one_line(tag, 30))).collect();
        if info.archived {
            tags.push_str("  archived");
        }
        if task.is_some() {
            tags.push_str("  task open");
        }
        let style = match state.as_str() {
            RUNNING => GREEN,
            WAITS | PLAN_WAITS | OPEN => YELLOW,
            UNREADABLE => RED,
            _ => PLAIN,
        };
        table.push_str(&format!(
            "{}  {:<12}  {:>10}  {:>8}  {}  {title}{}{}\n",
            paint(BOLD, &format!("{name:<name_width$}")),
            ago(info.updated_at, now),
            nodes,
            size(info.bytes),
            paint(style, &format!("{state:<state_width$}")),
            paint(CYAN, &tags),
            paint(DIM, &folder),
        ));
        if let Some(hit) = &found.hit {
            table.push_str(&shown_hit(hit));
        }
    }
    table
}

fn shown_hit(hit: &Hit) -> String {
    let part = |text: &str| crate::term::text::safe(text).into_owned();
    format!(
        "    {:<5} {}{}{}\n",
        hit.node.to_string(),
        paint(DIM, &part(&hit.before)),
        paint(YELLOW.bold(), &part(&hit.found)),
        paint(DIM, &part(&hit.after)),
    )
}

fn as_json(Listed { found, state, task }: &Listed) -> Value {
    let mut listed = session::as_json(&found.info);
    if let Some(fields) = listed.as_object_mut() {
        fields.insert("running".to_owned(), json!(state == RUNNING));
        fields.insert("state".to_owned(), json!(state));
        if let Some(task) = task {
            fields.insert("open_task".to_owned(), json!(task));
        }
        if let Some(hit) = &found.hit {
            let Hit { seq, node, before, found, after, .. } = hit;
            let hit = json!({ "seq": seq, "node": node, "before": before, "found": found, "after": after });
            fields.insert("hit".to_owned(), hit);
        }
    }
    listed
}

/// Says why the list is empty, and what would fill it.
fn nothing(args: &Listing, all: &[SessionInfo], place: &Place) -> String {
    if all.is_empty() {
        return format!("no sessions in {place} yet; `trunkline demo` or `trunkline run` makes one\n");
    }
    let archived = all.iter().filter(|info| info.archived).count();
    let more = match archived {
        0 => String::new(),
        _ if args.all || args.archived => String::new(),
        archived => format!("; --all looks at {archived} archived ones too"),
    };
    match args.words.is_empty() && args.tag.is_empty() {
        true => format!("all {} are {}archived{more}\n", all.len(), if args.archived { "not " } else { "" }),
        false => format!("none of {} is meant by that{more}\n", count(all.len(), "session")),
    }
}
