//! Where sessions are kept, and how people name them.
//!
//! Commands that only read never make a database: a mistyped path is an error and not an empty store.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use etcetera::{BaseStrategy, choose_base_strategy};
use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::{SessionId, SessionInfo, SessionStore, SqliteStore};

use crate::args::Everywhere;
use crate::fault::Fault;
use crate::text::{count, one_line};

/// Fewer characters of an id are never shown: the milliseconds of version 7 (RFC 9562, 5.7) and the dash in them, so that
/// a name that was printed stays good when other sessions begin.
const SHORTEST_ID: usize = 13;
/// How many sessions are named where one was looked for.
const CANDIDATES: usize = 5;
/// What the binary is called once it is installed.
const NAME: &str = "trunkline";

/// A store of whatever kind.
pub(crate) type Store = Arc<dyn SessionStore>;

/// Where the store is, and whether every command has to be told so.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    named: bool,
    opened: Mutex<Option<SqliteStore>>,
}

impl Place {
    /// Finds the place from what was typed, the environment, or the platform's data folder.
    pub(crate) fn find(typed: &Everywhere) -> Result<Self, Fault> {
        if let Some(path) = &typed.store {
            return Ok(Place::new(path.clone(), true));
        }
        if let Some(path) = std::env::var_os("TRUNKLINE_STORE").filter(|path| !path.is_empty()) {
            return Ok(Place::new(path.into(), false));
        }
        let strategy = choose_base_strategy().map_err(|error| {
            Fault::usage(format!("cannot tell where your data folder is: {error}"))
                .hint("name a database with --store or TRUNKLINE_STORE")
        })?;
        Ok(Place::new(strategy.data_dir().join("trunkline").join("sessions.db"), false))
    }

    fn new(path: PathBuf, named: bool) -> Self {
        Place { path, named, opened: Mutex::new(None) }
    }

    /// Opens the store and makes it if it is not there.
    pub(crate) async fn open(&self) -> Result<Store, Fault> {
        let store = SqliteStore::open(&self.path).await?;
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(store.clone());
        Ok(Arc::new(store))
    }

    /// Closes the store, so that the database is whole without the files beside it. Not doing so loses nothing.
    pub(crate) async fn close(self) {
        let opened = self.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = opened {
            store.close().await;
        }
    }

    /// Opens the store if it is there.
    pub(crate) async fn open_existing(&self) -> Result<Store, Fault> {
        if !self.exists() {
            let path = self.path.display();
            return Err(Fault::usage(format!("there is no session store at {path}"))
                .hint("`trunkline demo` or `trunkline run` makes one; --store names another"));
        }
        self.open().await
    }

    pub(crate) fn exists(&self) -> bool {
        // A dangling link or a folder without permission is not "nothing": opening it says what is wrong.
        !matches!(self.path.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns a command that people can type next.
    pub(crate) fn command(&self, rest: &str) -> String {
        let program = program();
        match self.named {
            true => format!("{program} --store {} {rest}", quoted(&self.path.display().to_string())),
            false => format!("{program} {rest}"),
        }
    }
}

/// Finds the session that is meant: by its whole id, the beginning of one, or the one updated last.
pub(crate) async fn find(store: &dyn SessionStore, named: Option<&str>) -> Result<SessionInfo, Fault> {
    let sessions = store.sessions().await?;
    let wanted = named.unwrap_or("last").trim();
    if wanted == "last" {
        return sessions.into_iter().next().ok_or_else(|| {
            Fault::usage("there are no sessions yet").hint("`trunkline demo` or `trunkline run` makes one")
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
                    candidates(&sessions.iter().collect::<Vec<_>>(), &sessions)
                )
            }
        })),
        several => {
            let fault =
                Fault::usage(format!("{shown:?} is the beginning of {}", count(several.len(), "session")));
            let fault =
                several.iter().take(CANDIDATES).fold(fault, |fault, info| fault.line(told(info, &sessions)));
            let more = several.len().saturating_sub(CANDIDATES);
            Err(if more > 0 { fault.line(format!("… and {more} more")) } else { fault })
        }
    }
}

/// Returns the shortest beginning of an id that no other session has.
pub(crate) fn short<'a>(id: &'a SessionId, all: &[SessionInfo]) -> &'a str {
    let id = id.as_str();
    let same = |other: &SessionInfo| {
        let shared = id.bytes().zip(other.id.as_str().bytes()).take_while(|(one, two)| one == two).count();
        if shared == id.len() { 0 } else { shared + 1 }
    };
    let length = all.iter().map(same).max().unwrap_or(0).clamp(SHORTEST_ID, id.len());
    // Not in the middle of nowhere: a beginning that ends in a dash looks cut off.
    let beginning = id.get(..length).unwrap_or(id);
    if beginning.ends_with('-') { id.get(..length + 1).unwrap_or(id) } else { beginning }
}

/// Returns the shortest name of one session in its store.
pub(crate) async fn short_name(store: &dyn SessionStore, id: &SessionId) -> String {
    let all = store.sessions().await.unwrap_or_default();
    short(id, &all).to_owned()
}

/// Returns what a list shows of a session, for programs.
pub(crate) fn as_json(info: &SessionInfo) -> Value {
    json!({
        "id": info.id,
        "title": info.title,
        "tags": info.tags,
        "archived": info.archived,
        "workspace": info.workspace,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "head": info.head,
        "records": info.records,
        "nodes": info.nodes,
        "bytes": info.bytes,
        "digest": info.digest,
    })
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
fn told(info: &SessionInfo, all: &[SessionInfo]) -> String {
    let title = if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, 60) };
    let folder = info.workspace.as_deref().map(|folder| format!("  {}", one_line(folder, 60)));
    let at = ago(info.updated_at, now());
    format!("{}  {at:<12}  {title}{}", short(&info.id, all), folder.unwrap_or_default())
}

/// Returns how this program is called in the shell that started it: by its name if that is found, else as it was started.
pub(crate) fn program() -> String {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| is_executable(&folder.join(NAME))));
    let started = std::env::args_os().next().filter(|started| !found && !started.is_empty());
    started.map_or_else(|| NAME.to_owned(), |started| quoted(&started.to_string_lossy()))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns a word as a shell reads it.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Tells how long ago something was.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(at.0) / 1000;
    match seconds {
        0..10 => "just now".to_owned(),
        10..100 => format!("{seconds} s ago"),
        100..6_000 => format!("{} min ago", seconds / 60),
        6_000..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
