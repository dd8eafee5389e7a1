//! How people name sessions, and what they are told of them.

use trunkline_session_store::{SessionId, SessionInfo, SessionStore};

use crate::desk::clock::now;
use crate::shown::session::short;
use crate::shown::time::ago;
use crate::term::fault::Fault;
use crate::term::text::{count, one_line};

/// The name of the session that was updated last.
const LAST: &str = "last";
/// How many sessions are named where one was looked for.
const CANDIDATES: usize = 5;

/// Finds the session that is meant: by its whole id, the beginning of one, or the one updated last that is not archived.
pub(crate) async fn find(store: &dyn SessionStore, named: Option<&str>) -> Result<SessionInfo, Fault> {
    find_in(&store.sessions().await?, named.unwrap_or(LAST))
}

/// Finds all sessions that are meant, each once.
pub(crate) async fn find_all(store: &dyn SessionStore, named: &[String]) -> Result<Vec<SessionInfo>, Fault> {
    let sessions = store.sessions().await?;
    let mut found: Vec<SessionInfo> = Vec::new();
    for named in named {
        let info = find_in(&sessions, named)?;
        if !found.iter().any(|other| other.id == info.id) {
            found.push(info);
        }
    }
    Ok(found)
}

fn find_in(sessions: &[SessionInfo], named: &str) -> Result<SessionInfo, Fault> {
    let wanted = named.trim();
    if wanted == LAST {
        let last = sessions.iter().find(|info| !info.archived).cloned();
        return last.ok_or_else(|| match sessions.is_empty() {
            true => Fault::usage("there are no sessions yet")
                .hint("`trunkline demo` or `trunkline run` makes one"),
            false => Fault::usage("all sessions are archived; name one")
                .hint("`trunkline sessions --all` lists them"),
        });
    }
    let lower = wanted.to_ascii_lowercase();
    let fits = |info: &&SessionInfo| !lower.is_empty() && info.id.as_str().starts_with(&lower);
    let found: Vec<&SessionInfo> = sessions.iter().filter(fits).collect();
    let shown = one_line(wanted, 60);
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Fault::usage(match sessions.is_empty() {
            true => format!("there is no session {shown:?}; the store is empty"),
            false => {
                format!(
                    "there is no session {shown:?}; there are {}",
                    candidates(&sessions.iter().collect::<Vec<_>>(), sessions)
                )
            }
        })),
        several => {
            let fault =
                Fault::usage(format!("{shown:?} is the beginning of {}", count(several.len(), "session")));
            let fault =
                several.iter().take(CANDIDATES).fold(fault, |fault, info| fault.line(told(info, sessions)));
            let more = several.len().saturating_sub(CANDIDATES);
            Err(if more > 0 { fault.line(format!("… and {more} more")) } else { fault })
        }
    }
}

/// Returns the shortest name of one session in its store.
pub(crate) async fn short_name(store: &dyn SessionStore, id: &SessionId) -> String {
    let all = store.sessions().await.unwrap_or_default();
    short(id, &all).to_owned()
}

fn candidates(of: &[&SessionInfo], all: &[SessionInfo]) -> String {
    let named = of.iter().take(CANDIDATES).map(|info| match info.title.is_empty() {
        true => short(&info.id, all).to_owned(),
        false => format!("{} ({})", short(&info.id, all), one_line(&info.title, 40)),
    });
    let more =
        if of.len() > CANDIDATES { format!(", and {} more", of.len() - CANDIDATES) } else { String::new() };
    named.collect::<Vec<_>>().join(", ") + &more
}

/// Tells which session this is to somebody who has to choose: its title alone may be that of all of them.
pub(crate) fn told(info: &SessionInfo, all: &[SessionInfo]) -> String {
    let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
    let folder = info.workspace.as_deref().map(|folder| format!("  {}", one_line(folder, 60)));
    let at = ago(info.updated_at, now());
    format!("{}  {at:<12}  {title}{}", short(&info.id, all), folder.unwrap_or_default())
}
