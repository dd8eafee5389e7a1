//! What SQLite did to its files, and faults on order.
//!
//! The recorder decides and remembers; [`crate::shim`] only carries its word to SQLite and the calls to the real files.
//! One lock is held over each operation and its note, so the journal has the one order in which things happened, whatever
//! the number of connections. Nothing is ever really synced: the disk that counts is the simulated one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use libsqlite3_sys as sqlite;

use crate::disk::Files;
use crate::shim;

/// One file from its creation to its end; a name that is deleted and made again leads to another file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// Something that happened to the files, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a disk that skips a kind of event is wrong")]
pub enum Event {
    /// The name leads to a new file without bytes.
    Create {
        /// The file.
        file: FileId,
        /// Its name, without its folder.
        name: String,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileId,
        /// Where the bytes begin.
        offset: u64,
        /// The bytes that arrived; of a write that a fault cut short, the part that did.
        bytes: Arc<[u8]>,
    },
    /// The file was cut or made longer.
    Resize {
        /// The file.
        file: FileId,
        /// Its new length in bytes.
        length: u64,
    },
    /// Everything that was done to the file is on the disk.
    Sync {
        /// The file.
        file: FileId,
        /// Whether its folder was synced as well.
        folder: bool,
    },
    /// A sync failed and dropped some of what was done to the file since the last one, or all: that does not arrive any
    /// more, whatever later syncs say.
    FailedSync {
        /// The file.
        file: FileId,
    },
    /// The name leads nowhere.
    Delete {
        /// The name, without its folder.
        name: String,
        /// Whether the folder was synced afterwards.
        folder: bool,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_folder = |folder: &bool| if *folder { ", with its folder" } else { "" };
        match self {
            Event::Create { file, name } => write!(f, "create {file} as {name}"),
            Event::Write { file, offset, bytes } => write!(f, "write {file} {offset} + {}", bytes.len()),
            Event::Resize { file, length } => write!(f, "resize {file} to {length}"),
            Event::Sync { file, folder } => write!(f, "sync {file}{}", with_folder(folder)),
            Event::FailedSync { file } => write!(f, "fail to sync {file}"),
            Event::Delete { name, folder } => write!(f, "delete {name}{}", with_folder(folder)),
        }
    }
}

/// The operations that can fail on order and are counted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "the package is not published: all its readers are in it")]
pub enum Operation {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file's length is set.
    Resize,
    /// A file is synced.
    Sync,
    /// A file is made.
    Create,
    /// A name is taken away.
    Delete,
}

/// The time of change that a file has after a sync that failed, until somebody writes to it who is not SQLite.
const MARK: Duration = Duration::from_secs(1);

/// How an operation fails.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the package is not published: all its readers are in it")]
pub enum Failure {
    /// The device says that it cannot.
    Io,
    /// No room is left; the first half of a write still finds some.
    Full,
    /// A read ends early and the rest of its bytes are zero, as at the end of a file.
    Short,
    /// The process dies instead, as if it were killed.
    Dies,
    /// A sync fails, and what it should have written is dropped: it stays in the cache and no later sync writes it. So
    /// Linux does it on many file systems.
    Drops,
}

/// A failure and when it comes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What fails.
    pub operations: &'static [Operation],
    /// The first of them that fails, counted from 1 since the fault was ordered.
    pub nth: u64,
    /// Whether all that follow fail too, until the fault is lifted.
    pub lasts: bool,
    /// How it fails.
    pub failure: Failure,
}

/// A layer below SQLite that watches one folder.
///
/// Connections are led here by the name of its VFS. Files of other folders pass through without a trace, and so do locks
/// and the shared memory of the write-ahead log, which no loss of power leaves behind.
#[derive(Debug, Default)]
pub struct Recorder {
    vfs: String,
    state: Mutex<Journal>,
}

#[derive(Debug, Default)]
struct Journal {
    folder: PathBuf,
    names: BTreeMap<String, FileId>,
    next: u32,
    events: Vec<Event>,
    fault: Option<Fault>,
    count: u64,
    hits: u64,
    trouble: Option<String>,
    /// Write-ahead logs that a sync has failed to write, which is seen by their [`MARK`]: the store writes them again by
    /// other means.
    failed: BTreeSet<FileId>,
    /// Whether nobody will ask what happened.
    forgets: bool,
}

impl Recorder {
    /// Registers a new layer, which stays for the life of the process.
    ///
    /// # Errors
    ///
    /// What SQLite has to say against it.
    pub fn register() -> Result<Arc<Recorder>, String> {
        shim::register(|vfs| Recorder { vfs, state: Mutex::default() })
    }

    /// Returns the name that leads a connection here.
    pub fn vfs(&self) -> &str {
        &self.vfs
    }

    /// Forgets everything and watches a folder that holds these files, all of them safely on the disk.
    ///
    /// No connection may be open.
    ///
    /// # Errors
    ///
    /// The folder is not there.
    pub fn watch(&self, folder: &Path, files: &Files) -> std::io::Result<()> {
        let folder = folder.canonicalize()?;
        let mut state = self.state();
        *state = Journal { folder, ..Journal::default() };
        for name in files.keys() {
            state.adopt(name);
        }
        Ok(())
    }

    /// Watches no folder any more and gives the notes' room back, which would be taken as long as the process lives.
    pub fn forget(&self) {
        *self.state() = Journal::default();
    }

    /// Notes nothing from now on; faults still strike. For who only wants those.
    pub fn only_fail(&self) {
        self.state().forgets = true;
    }

    /// Returns how many events there are so far.
    pub fn position(&self) -> usize {
        self.state().events.len()
    }

    /// Returns what happened since [`Recorder::watch`].
    ///
    /// # Errors
    ///
    /// The real files failed or changed behind SQLite's back, so that the journal is not what happened.
    pub fn events(&self) -> Result<Vec<Event>, String> {
        let state = self.state();
        match &state.trouble {
            None => Ok(state.events.clone()),
            Some(trouble) => Err(trouble.clone()),
        }
    }

    /// Orders a fault, or lifts it; both counts begin again.
    pub fn order(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.fault = fault;
        state.hits = 0;
        state.count = 0;
    }

    /// Returns how many of the operations that the fault is about there were since it was ordered.
    pub fn count(&self) -> u64 {
        self.state().count
    }

    /// Returns how often the fault struck.
    pub fn hits(&self) -> u64 {
        self.state().hits
    }

    fn state(&self) -> MutexGuard<'_, Journal> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a file is opened. `open` opens the real one and tells its length.
    pub(crate) fn open(
        &self,
        path: &Path,
        open: impl FnOnce() -> Result<i64, i32>,
    ) -> Result<Option<FileId>, i32> {
        let mut state = self.state();
        let Some(name) = state.watched(path) else { return open().map(|_| None) };
        // Not asked of SQLite, for which an empty file does not exist.
        let existed = path.exists();
        if !existed && state.fails(Operation::Create).is_some() {
            return Err(sqlite::SQLITE_CANTOPEN);
        }
        let length = open()?;
        if let Some(file) = state.names.get(&name).copied()
            && existed
        {
            return Ok(Some(file));
        }
        // One that was made empty by other means is as little on the disk as one that SQLite made.
        if length != 0 {
            state.trouble.get_or_insert(format!("{name} has {length} bytes that nobody wrote"));
        }
        let file = state.adopt(&name);
        state.note(Event::Create { file, name });
        Ok(Some(file))
    }

    /// Notes that a name is deleted. `delete` deletes the real file.
    pub(crate) fn delete(&self, path: &Path, folder: bool, delete: impl FnOnce() -> i32) -> i32 {
        let mut state = self.state();
        let Some(name) = state.watched(path) else { return delete() };
        if state.fails(Operation::Delete).is_some() {
            return sqlite::SQLITE_IOERR_DELETE;
        }
        let code = delete();
        if code == sqlite::SQLITE_OK {
            state.names.remove(&name);
            state.note(Event::Delete { name, folder });
        }
        code
    }

    /// Lets a read happen, or not. `read` fills the first so many bytes from the real file, the others with zeros.
    pub(crate) fn read(&self, length: usize, read: impl FnOnce(usize) -> i32) -> i32 {
        let failure = self.state().fails(Operation::Read);
        match failure {
            None => read(length),
            Some(Failure::Short) => match read(length / 2) {
                sqlite::SQLITE_OK => sqlite::SQLITE_IOERR_SHORT_READ,
                code => code,
            },
            Some(_) => sqlite::SQLITE_IOERR_READ,
        }
    }

    /// Notes a write. `write` writes to the real file.
    pub(crate) fn write(
        &self,
        file: FileId,
        offset: u64,
        bytes: &[u8],
        write: impl FnOnce(&[u8]) -> i32,
    ) -> i32 {
        let mut state = self.state();
        state.note_written_again(file);
        let (arrives, code) = match state.fails(Operation::Write) {
            None => (bytes, sqlite::SQLITE_OK),
            Some(Failure::Full) => (bytes.split_at(bytes.len() / 2).0, sqlite::SQLITE_FULL),
            Some(_) => (&bytes[..0], sqlite::SQLITE_IOERR_WRITE),
        };
        if !arrives.is_empty() {
            let real = write(arrives);
            if !state.real(real, "write") {
                return real;
            }
            state.note(Event::Write { file, offset, bytes: arrives.into() });
            state.mark(file);
        }
        code
    }

    /// Notes that a file was cut. `resize` cuts the real file.
    pub(crate) fn resize(&self, file: FileId, length: u64, resize: impl FnOnce() -> i32) -> i32 {
        let mut state = self.state();
        state.note_written_again(file);
        if state.fails(Operation::Resize).is_some() {
            return sqlite::SQLITE_IOERR_TRUNCATE;
        }
        let real = resize();
        if state.real(real, "truncate") {
            state.note(Event::Resize { file, length });
            state.mark(file);
        }
        real
    }

    /// Notes a sync. The real file is not synced.
    pub(crate) fn sync(&self, file: FileId, folder: bool) -> i32 {
        let mut state = self.state();
        state.note_written_again(file);
        match state.fails(Operation::Sync) {
            None => {
                state.note(Event::Sync { file, folder });
                sqlite::SQLITE_OK
            }
            failure => {
                if failure == Some(Failure::Drops) {
                    state.note(Event::FailedSync { file });
                    if state.path(file).is_some_and(|path| path.to_string_lossy().ends_with("-wal")) {
                        state.failed.insert(file);
                        state.mark(file);
                    }
                }
                sqlite::SQLITE_IOERR_FSYNC
            }
        }
    }
}

impl Journal {
    /// The name of a file in the watched folder.
    fn watched(&self, path: &Path) -> Option<String> {
        let inside = path.parent() == Some(&self.folder);
        inside.then(|| path.file_name().map(|name| name.to_string_lossy().into_owned())).flatten()
    }

    fn note(&mut self, event: Event) {
        if !self.forgets {
            self.events.push(event);
        }
    }

    fn adopt(&mut self, name: &str) -> FileId {
        let file = FileId(self.next);
        self.next += 1;
        self.names.insert(name.to_owned(), file);
        file
    }

    /// The path of a file that has a name.
    fn path(&self, file: FileId) -> Option<PathBuf> {
        let (name, _) = self.names.iter().find(|(_, named)| **named == file)?;
        Some(self.folder.join(name))
    }

    /// Makes it seen if somebody else writes to a log that a sync has failed to write.
    fn mark(&mut self, file: FileId) {
        let Some(path) = self.path(file).filter(|_| self.failed.contains(&file)) else { return };
        let opened = std::fs::OpenOptions::new().write(true).open(&path);
        if let Err(error) = opened.and_then(|opened| opened.set_modified(SystemTime::UNIX_EPOCH + MARK)) {
            self.trouble.get_or_insert(format!("{} cannot be marked: {error}", path.display()));
        }
    }

    /// Notes that somebody who is not SQLite has written such a log again, as all of it: which bytes is not known.
    fn note_written_again(&mut self, file: FileId) {
        let Some(path) = self.path(file).filter(|_| self.failed.contains(&file)) else { return };
        let changed = std::fs::metadata(&path).and_then(|found| found.modified());
        match (changed, std::fs::read(&path)) {
            (Ok(changed), _) if changed == SystemTime::UNIX_EPOCH + MARK => {}
            (Ok(_), Ok(bytes)) => {
                self.note(Event::Write { file, offset: 0, bytes: bytes.into() });
                self.mark(file);
            }
            (Err(error), _) | (_, Err(error)) => {
                self.trouble.get_or_insert(format!("{} cannot be read: {error}", path.display()));
            }
        }
    }

    /// Counts an operation and tells whether and how it fails.
    fn fails(&mut self, operation: Operation) -> Option<Failure> {
        let fault = self.fault.filter(|fault| fault.operations.contains(&operation))?;
        self.count += 1;
        let strikes = self.count == fault.nth || (fault.lasts && self.count > fault.nth);
        self.hits += u64::from(strikes);
        if strikes && fault.failure == Failure::Dies {
            // Nothing comes after this; if it could not be done, the operation fails at least.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
        strikes.then_some(fault.failure)
    }

    /// Remembers that the real file failed: from here on the journal is not what happened.
    fn real(&mut self, code: i32, what: &str) -> bool {
        if code != sqlite::SQLITE_OK {
            self.trouble.get_or_insert(format!("the real file failed to {what}: SQLite's code {code}"));
        }
        code == sqlite::SQLITE_OK
    }
}
