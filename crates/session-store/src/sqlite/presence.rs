//! Who has a database open: a lock that every handle shares, so that one who needs the database alone can tell.
//!
//! It is a file of our own beside the database. The database's own files are never opened here while others may have
//! them open: on Unix, closing a file ends every lock that its process has on it, also those that SQLite relies on.

use std::cmp::Ordering;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteConnectOptions;

use super::PATIENCE;
use super::fault::io_error;
use super::leases::private_folder;
use crate::StoreError;

/// How long somebody who needs the database alone waits for handles that are being closed.
const CLOSING: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// The name of the collation that keeps the lock; nothing is compared by it.
const KEEPER: &str = "trunkline_presence";

/// The lock of one handle. It lasts as long as this does, and as any connection that keeps it.
#[derive(Debug)]
pub(super) struct Presence {
    /// Nothing where no lock can be made, as on a medium that can only be read.
    file: Option<File>,
    alone: bool,
}

impl Presence {
    /// Comes in: alone if nobody is there, and beside the others if somebody is.
    pub(super) async fn enter(database: &Path) -> Result<Self, StoreError> {
        let Some((file, path)) = lock_file(database)? else {
            return Ok(Presence { file: None, alone: false });
        };
        let start = Instant::now();
        loop {
            for (tried, alone) in [(file.try_lock(), true), (file.try_lock_shared(), false)] {
                match tried {
                    Ok(()) => return Ok(Presence { file: Some(file), alone }),
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => return Err(io_error(&path, &error)),
                }
            }
            // Somebody opens it, which is soon done, or mends it.
            if start.elapsed() > PATIENCE {
                return Err(StoreError::Busy { place: database.display().to_string() });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Comes in alone.
    pub(super) async fn alone(database: &Path) -> Result<Self, StoreError> {
        let Some((file, path)) = lock_file(database)? else {
            return Err(StoreError::ReadOnly { place: database.display().to_string() });
        };
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Presence { file: Some(file), alone: true }),
                Err(TryLockError::WouldBlock) if start.elapsed() < CLOSING => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::InUse { place: database.display().to_string() });
                }
                Err(TryLockError::Error(error)) => return Err(io_error(&path, &error)),
            }
        }
    }

    /// Returns options whose connections keep this until they have closed the files of the database.
    ///
    /// A connection may be closed long after it was dropped, by a thread of its own. Only SQLite knows when: what it was
    /// given for a collation it lets go after it has closed the files.
    pub(super) fn kept_by(self: &Arc<Self>, options: SqliteConnectOptions) -> SqliteConnectOptions {
        options.collation(KEEPER, self.keeper())
    }

    /// Lets an open connection keep this too.
    pub(super) async fn kept_by_open(
        self: &Arc<Self>,
        connection: &mut SqliteConnection,
    ) -> sqlx::Result<()> {
        connection.lock_handle().await?.create_collation(KEEPER, self.keeper())
    }

    fn keeper(self: &Arc<Self>) -> impl Fn(&str, &str) -> Ordering + Send + Sync + 'static {
        let kept = Arc::clone(self);
        move |one, other| {
            let _ = &kept;
            one.cmp(other)
        }
    }

    /// Remembers that the file is a database of sessions. Whoever was refused has left a lock file too.
    pub(super) fn mark_ours(&self) {
        if let Some(file) = &self.file
            && file.metadata().is_ok_and(|found| found.len() == 0)
        {
            // Where that fails, a damaged header is taken for another program's.
            let _ = (&*file).write_all(b"sessions\n");
        }
    }

    /// Returns whether nobody else has the database open.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns whether somebody else may have the database open.
    pub(super) fn is_shared(&self) -> bool {
        self.file.is_some() && !self.alone
    }

    /// Lets others in.
    pub(super) async fn share(&mut self) {
        let Some(file) = self.file.as_ref().filter(|_| self.alone) else { return };
        // Between the two locks somebody may come in alone, but does not stay so.
        while let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
            tokio::time::sleep(PAUSE).await;
        }
        self.alone = false;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // Closing alone is not enough at the moment when another thread forks: the child still has the file open.
            let _ = file.unlock();
        }
    }
}

/// Refuses what can be no database, before anything is made beside it; also where the files that SQLite makes beside it are
/// something else, which it would wait for, or fail over without saying why.
pub(super) fn check_file(database: &Path) -> Result<(), StoreError> {
    for beside in ["-journal", "-wal", "-shm"].map(|ending| super::aside::beside(database, ending)) {
        if std::fs::metadata(&beside).is_ok_and(|found| !found.is_file()) {
            let reason = "SQLite keeps a file of its own there, and it is none: move it away".to_owned();
            return Err(StoreError::Io { place: beside.display().to_string(), reason });
        }
    }
    let Ok(found) = std::fs::metadata(database) else { return Ok(()) };
    let kind = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a folder",
        _ => "it is a device, a pipe or a socket, and no file",
    };
    Err(StoreError::NotAStore { place: database.display().to_string(), reason: kind.to_owned() })
}

/// Returns the folder of a database's locks.
pub(super) fn folder(database: &Path) -> PathBuf {
    super::aside::beside(database, ".locks")
}

/// Returns whether the file was a database of sessions when somebody opened it, at any time.
pub(super) fn was_ours(database: &Path) -> bool {
    std::fs::metadata(folder(database).join("open")).is_ok_and(|found| found.is_file() && found.len() > 0)
}

fn lock_file(database: &Path) -> Result<Option<(File, PathBuf)>, StoreError> {
    let folder = folder(database);
    let path = folder.join("open");
    let made = private_folder(&folder).and_then(|()| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path).map_err(|error| io_error(&path, &error))
    });
    let Err(error) = made else { return Ok(made.ok().map(|file| (file, path))) };
    match File::open(&path) {
        Ok(file) => Ok(Some((file, path))),
        Err(found) if matches!(found.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            // No lock can be made where nothing can be written, and there none is needed.
            if can_write(database.parent().unwrap_or(database)) { Err(error) } else { Ok(None) }
        }
        Err(_) => Err(error),
    }
}

/// Returns whether a file or folder may be written, without opening it.
#[cfg(unix)]
pub(super) fn can_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns whether a file or folder may be written, without opening it.
#[cfg(not(unix))]
pub(super) fn can_write(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.permissions().readonly())
}
