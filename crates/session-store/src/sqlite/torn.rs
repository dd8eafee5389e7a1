//! A database and its write-ahead log that are no longer in one place.
//!
//! Somebody has moved, removed or replaced one of them while it was open. What was acknowledged last stands in the log alone,
//! so whoever is told of it has to learn what is now where, and how both come together again.

use std::fs;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::answer::{self, Ask};
use super::aside::{beside, sync_folder};
use super::fault::io_error;
use super::line::FileId;
use super::{opening, presence, wal};
use crate::StoreError;

/// Where an open file is now.
#[derive(Debug, PartialEq, Eq)]
enum Now {
    At(PathBuf),
    Removed,
    Unknown,
}

/// What was found when a database was not at its place any more.
#[derive(Clone, Debug)]
pub(super) struct Torn {
    what: String,
    database: Option<String>,
    log: Option<String>,
}

impl Torn {
    /// Returns the error that says so.
    pub(super) fn error(&self, path: &Path) -> StoreError {
        let Torn { what, database, log } = self.clone();
        StoreError::Torn { place: path.display().to_string(), what, database, log }
    }
}

/// Looks what has become of a database that is open and is not at its place any more.
pub(super) async fn moved(path: &Path, file: FileId, open: Option<&mut SqliteConnection>) -> Torn {
    let replaced = FileId::of(path).is_some();
    let log = beside(path, "-wal");
    let has_log = opening::has_log(path);
    let (mut what, database) = match now(file) {
        Now::At(to) => (format!("the database was moved to {} while it was open", to.display()), Some(to)),
        Now::Removed => ("the database was removed while it was open".to_owned(), None),
        Now::Unknown => ("the database was moved or removed while it was open".to_owned(), None),
    };
    if replaced {
        what.push_str(", and another file has taken its place");
    }
    let with_it = database.as_deref().is_some_and(opening::has_log);
    if with_it && !has_log {
        what.push_str("; its write-ahead log is with it");
    } else if has_log {
        let only = match (open, &database) {
            (Some(open), Some(database)) => only_in_log(open, database).await,
            _ => None,
        };
        let only = only.map(|records| format!(" with {records} records that are nowhere else"));
        what.push_str(&format!(
            "; its write-ahead log{} is still {}",
            only.unwrap_or_default(),
            log.display()
        ));
    }
    let log = has_log.then(|| log.display().to_string());
    let database = database.map(|database| database.display().to_string());
    Torn { what, database, log }
}

/// Moves the whole log into the database, if the log is not where it was any more, and returns what is to be said of that.
pub(super) async fn log_removed(path: &Path, open: &mut SqliteConnection) -> Torn {
    let moved = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").value::<i64>(open).await;
    let what = match moved {
        Ok(0) => {
            "its write-ahead log was moved or removed while it was open; what it held was written into the database"
        }
        _ => {
            "its write-ahead log was moved or removed while it was open, with what was acknowledged since it was last written \
             into the database"
        }
    };
    let database = Some(path.display().to_string());
    Torn { what: what.to_owned(), database, log: None }
}

/// Refuses to make a database where only the log of one is.
pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    // What a mending has set aside it also puts back.
    let is_there =
        [path.to_owned(), beside(path, ".mending")].iter().any(|file| fs::symlink_metadata(file).is_ok());
    let log = beside(path, "-wal");
    let Some(scan) = wal::scan(&log).ok().flatten().filter(|scan| !is_there && scan.committed() > 0) else {
        return Ok(());
    };
    let what = format!(
        "there is no database, but its write-ahead log {} with {} frames: the database was moved or removed while it was open",
        log.display(),
        scan.committed()
    );
    let log = Some(log.display().to_string());
    Err(StoreError::Torn { place: path.display().to_string(), what, database: None, log })
}

/// Brings the log and the locks that were left at `place` to the database that was moved from there. Nobody has either open.
pub(super) fn join(place: &Path, database: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let refuse = |what: String| {
        let (database, log) = (Some(database.display().to_string()), None);
        Err(StoreError::Torn { place: place.display().to_string(), what, database, log })
    };
    let log = beside(place, "-wal");
    if fs::symlink_metadata(place).is_ok_and(|found| found.len() > 0) {
        return refuse(format!("another database is there now, and {} may be its log", log.display()));
    }
    if !opening::has_log(place) {
        return refuse(format!(
            "there is no write-ahead log {} to be brought to its database",
            log.display()
        ));
    }
    if opening::has_log(database) {
        let own = beside(database, "-wal");
        return refuse(format!("the database has another write-ahead log already, {}", own.display()));
    }
    let mut moved = Vec::new();
    let put = |from: PathBuf, to: PathBuf| fs::rename(&from, &to).or_else(|_| copy(&from, &to)).map(|()| to);
    // What was promised first: a log without it is judged by less.
    let (locks, of_database) = (presence::folder(place), presence::folder(database));
    if let Ok(entries) = fs::read_dir(&locks) {
        super::leases::private_folder(&of_database)?;
        for entry in entries.flatten().filter(|entry| entry.file_name() != "open") {
            let to = of_database.join(entry.file_name());
            // Where that fails, what is missing is not told, and nothing else.
            let _ = put(entry.path(), to);
        }
        let _ = fs::copy(locks.join("open"), of_database.join("open"));
    }
    let to = put(log.clone(), beside(database, "-wal")).map_err(|error| io_error(&log, &error))?;
    sync_folder(&to).map_err(|error| io_error(&to, &error))?;
    moved.push(to);
    // An index that belongs to nothing, and what somebody made who looked for the database.
    let _ = fs::remove_file(beside(place, "-shm"));
    if fs::symlink_metadata(place).is_ok_and(|found| found.is_file() && found.len() == 0) {
        let _ = fs::remove_file(place);
    }
    Ok(moved)
}

/// Moves a file to another medium.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()?;
    fs::remove_file(from)
}

/// Returns how many records an open database has and its file alone has not.
async fn only_in_log(open: &mut SqliteConnection, database: &Path) -> Option<i64> {
    const COUNT: &str = "SELECT count(*) FROM records";
    let all: i64 = sqlx::query(COUNT).value(open).await.ok()?;
    let options = SqliteConnectOptions::new().filename(database).read_only(true).immutable(true);
    let mut alone = SqliteConnection::connect_with(&options.disable_statement_logging()).await.ok()?;
    // A file that has nothing yet but what is in its log has no tables.
    let found: i64 = sqlx::query(COUNT).value(&mut alone).await.unwrap_or_default();
    let _ = answer::close(alone).await;
    Some(all.saturating_sub(found))
}

/// Looks among the open files of this process, which the system names by where they are now.
#[cfg(target_os = "linux")]
fn now(file: FileId) -> Now {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Now::Unknown };
    let mut links = entries.flatten().map(|entry| entry.path()).filter(|link| FileId::of(link) == Some(file));
    match links.next().and_then(|link| fs::read_link(link).ok()) {
        // A file of that name may be meant: then it is the one.
        Some(to) if FileId::of(&to) == Some(file) => Now::At(to),
        Some(_) => Now::Removed,
        None => Now::Unknown,
    }
}

#[cfg(not(target_os = "linux"))]
fn now(_: FileId) -> Now {
    Now::Unknown
}
