//! `trunkline sessions`.

use serde_json::{Value, json};
use trunkline_session_store::{SessionInfo, SessionStore};

use crate::args::Listing;
use crate::fault::{Exit, Fault};
use crate::paint::{self, BOLD, DIM, GREEN, PLAIN, RED, YELLOW, paint, tell};
use crate::reading::{OPEN, Reading, WAITS};
use crate::store::{self, Place, ago, now, short};
use crate::text::{count, one_line};

const RUNNING: &str = "running";
const UNREADABLE: &str = "unreadable";

/// Lists the sessions, the one updated last first.
pub(crate) async fn run(args: &Listing, place: &Place) -> Result<Exit, Fault> {
    // An empty store and none at all are the same to somebody who asks what there is.
    let store = if place.exists() { Some(place.open().await?) } else { None };
    let sessions = match &store {
        Some(store) => store.sessions().await?,
        None => Vec::new(),
    };
    let mut states = Vec::with_capacity(sessions.len());
    for info in &sessions {
        if let Some(store) = &store {
            states.push(state(store.as_ref(), info).await?);
        }
    }
    if args.json {
        let listed: Vec<Value> = sessions
            .iter()
            .zip(&states)
            .map(|(info, state)| {
                let mut listed = store::as_json(info);
                if let Some(fields) = listed.as_object_mut() {
                    fields.insert("running".to_owned(), json!(state == RUNNING));
                    fields.insert("state".to_owned(), json!(state));
                }
                listed
            })
            .collect();
        paint::print_json(&json!({ "version": 1, "store": place.path, "sessions": listed }))?;
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        tell(&format!(
            "no sessions in {} yet; `trunkline demo` or `trunkline run` makes one\n",
            place.path.display()
        ));
        return Ok(Exit::Done);
    }
    let now = now();
    let names: Vec<&str> = sessions.iter().map(|info| short(&info.id, &sessions)).collect();
    let name_width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let state_width = states.iter().map(String::len).max().unwrap_or(0);
    let mut list = String::new();
    for ((info, name), state) in sessions.iter().zip(names).zip(&states) {
        let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
        let nodes = count(usize::try_from(info.nodes).unwrap_or(usize::MAX), "node");
        let folder =
            info.workspace.as_deref().map(|folder| format!("  {}", one_line(folder, 60))).unwrap_or_default();
        let style = match state.as_str() {
            RUNNING => GREEN,
            WAITS | OPEN => YELLOW,
            UNREADABLE => RED,
            _ => PLAIN,
        };
        list.push_str(&format!(
            "{}  {:<12}  {:>10}  {}  {title}{}\n",
            paint(BOLD, &format!("{name:<name_width$}")),
            ago(info.updated_at, now),
            nodes,
            paint(style, &format!("{state:<state_width$}")),
            paint(DIM, &folder),
        ));
    }
    paint::print(&list)?;
    Ok(Exit::Done)
}

/// Says in a word or two where a session stands. One that cannot be read does not hide the others.
async fn state(store: &dyn SessionStore, info: &SessionInfo) -> Result<String, Fault> {
    if store.holder(&info.id).await?.is_some() {
        return Ok(RUNNING.to_owned());
    }
    let reading = Reading::load(store, info).await;
    Ok(reading.map_or_else(|_| UNREADABLE.to_owned(), |reading| reading.state()))
}
