//! `trunkline sessions`.

use serde_json::{Value, json};
use trunkline_session_store::SessionStore;

use crate::args::Listing;
use crate::fault::{Exit, Fault};
use crate::paint::{self, BOLD, DIM, GREEN, paint, tell};
use crate::store::{Place, ago, now, short};
use crate::text::{count, one_line};

/// Lists the sessions, the one updated last first.
pub(crate) async fn run(args: &Listing, place: &Place) -> Result<Exit, Fault> {
    // An empty store and none at all are the same to somebody who asks what there is.
    let store = if place.exists() { Some(place.open().await?) } else { None };
    let sessions = match &store {
        Some(store) => store.sessions().await?,
        None => Vec::new(),
    };
    let mut running = Vec::with_capacity(sessions.len());
    for info in &sessions {
        running.push(match &store {
            Some(store) => store.is_locked(&info.id).await?,
            None => false,
        });
    }
    if args.json {
        let listed: Vec<Value> = sessions
            .iter()
            .zip(&running)
            .map(|(info, running)| {
                let mut listed = json!(info);
                if let Some(fields) = listed.as_object_mut() {
                    fields.insert("running".to_owned(), json!(running));
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
    let mut list = String::new();
    for ((info, name), running) in sessions.iter().zip(names).zip(running) {
        let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
        let nodes = count(usize::try_from(info.nodes).unwrap_or(usize::MAX), "node");
        let folder =
            info.workspace.as_deref().map(|folder| format!("  {}", one_line(folder, 60))).unwrap_or_default();
        let state = if running { paint(GREEN, "  running") } else { String::new() };
        list.push_str(&format!(
            "{}  {:<12}  {:>10}  {title}{}{state}\n",
            paint(BOLD, &format!("{name:<name_width$}")),
            ago(info.updated_at, now),
            nodes,
            paint(DIM, &folder),
        ));
    }
    paint::print(&list)?;
    Ok(Exit::Done)
}
