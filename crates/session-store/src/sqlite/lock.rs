//! One writer per session, by a file that the operating system unlocks when its holder dies.
//!
//! Lock files are never removed: between the removal of one and the making of the next, two processes could each hold a
//! file of the same name. They are some bytes each.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::io_error;
use crate::{SessionId, StoreError};

/// The folder of a database's lock files.
#[derive(Debug)]
pub(super) struct Locks {
    folder: PathBuf,
}

/// What a [`WriterLock`](crate::WriterLock) holds: dropping it frees the session.
pub(super) struct Held {
    locks: Arc<Locks>,
    file: File,
}

impl Held {
    /// Returns whether these locks gave it.
    pub(super) fn is_of(&self, locks: &Arc<Locks>) -> bool {
        Arc::ptr_eq(&self.locks, locks)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing alone is not enough at the moment when another thread forks: the child still has the file open.
        let _ = self.file.unlock();
    }
}

impl Locks {
    /// Returns the locks of a database, whose path must not lead through a link.
    pub(super) fn of(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".locks");
        Locks { folder: folder.into() }
    }

    fn file(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{session}.lock"))
    }

    /// Takes the lock, or says who has it.
    pub(super) async fn take(self: &Arc<Self>, session: &SessionId) -> Result<Held, StoreError> {
        private_folder(&self.folder)?;
        let path = self.file(session);
        let fault = |error: &std::io::Error| io_error(&path, error);
        let mut options = private_file();
        let mut file =
            options.read(true).create(true).truncate(false).open(&path).map_err(|error| fault(&error))?;
        let mut tries = 0..3;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Whoever only asks whether the lock is held has it for a moment; see `is_held`.
                Err(TryLockError::WouldBlock) if tries.next().is_some() => {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked { session: session.clone(), holder: holder(&mut file) });
                }
                Err(TryLockError::Error(error)) => return Err(fault(&error)),
            }
        }
        // Only a hint for people; the lock does not depend on it, so a full disk must not take it away.
        let _ = file.set_len(0).and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
        Ok(Held { locks: Arc::clone(self), file })
    }

    /// Returns whether anybody holds the lock.
    pub(super) fn is_held(&self, session: &SessionId) -> Result<bool, StoreError> {
        let path = self.file(session);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(io_error(&path, &error)),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = file.unlock();
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(io_error(&path, &error)),
        }
    }
}

fn holder(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    let process: u32 = text.trim().parse().ok()?;
    Some(format!("process {process}"))
}

/// Makes a folder that only its owner can enter, with all above it that are missing.
pub(super) fn private_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| io_error(folder, &error))
}

/// Returns options to write a file that, if it is made, only its owner can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the file of a database before the database does, so that it is never readable for others, and returns its path
/// without links, so that all who mean it agree on its locks.
pub(super) fn private_database(path: &Path) -> Result<PathBuf, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder(folder)?;
    }
    match private_file().create_new(true).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io_error(path, &error)),
    }
    fs::canonicalize(path).map_err(|error| io_error(path, &error))
}
