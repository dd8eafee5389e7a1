//! Leases that die with their process, at the price of one open file for a whole store.
//!
//! The row of a session says who owns it and with which token. The owner is a store handle, and it is alive as long as
//! the operating system keeps its file locked, which ends with its process however that ends. A claim by somebody else
//! raises the token, and every write names the token it was made under, so whoever has lost the lease writes nothing more.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::SqliteConnection;

use super::answer::Ask;
use super::append::What;
use super::aside::sync_folder;
use super::ended::{Ended, Ending};
use super::fault::{io_error, store_error};
use super::line::Line;
use super::rows::{self, get, read, stored};
use super::{presence, promises, torn};
use crate::{Batch, Claim, Holder, SessionId, StoreError, Tally};

/// How often a name is chosen anew because somebody tidied the file away in the moment of its making.
const TRIES: usize = 8;

/// A store handle as an owner of sessions.
#[derive(Debug)]
pub(super) struct Owner {
    folder: PathBuf,
    /// Made with the first lease.
    name: Mutex<Option<Named>>,
    /// The sessions that are held through this handle, with the tokens of their newest leases.
    held: Mutex<HashMap<i64, u64>>,
    places: Mutex<Places>,
    /// What the one who writes has still to write down.
    pub(super) ended: Arc<Ended>,
}

/// The places for promises in the owner's file.
#[derive(Debug, Default)]
struct Places {
    free: Vec<u64>,
    next: u64,
}

#[derive(Debug)]
struct Named {
    name: String,
    path: PathBuf,
    file: File,
}

impl Drop for Named {
    fn drop(&mut self) {
        // First gone and then unlocked: whoever finds no file knows that the owner is dead.
        let _ = fs::remove_file(&self.path);
        // Closing alone is not enough at the moment when another thread forks: the child still has the file open.
        let _ = self.file.unlock();
    }
}

/// What a [`Lease`](crate::Lease) holds: dropping it frees the session.
pub(super) struct Held {
    pub(super) key: i64,
    pub(super) token: u64,
    session: SessionId,
    owner: Arc<Owner>,
    line: Weak<Line>,
    state: Mutex<State>,
    /// Where the owner's file says what was promised.
    place: u64,
}

#[derive(Debug)]
struct State {
    tip: Tip,
    /// The first record that was acknowledged while it was only in line, and could not be written.
    lost: Option<(u64, String)>,
}

/// Where the session will be once everything that stands in line is written.
#[derive(Debug)]
pub(super) enum Tip {
    Known(Tally),
    /// A write has failed. So many batches stand in line that will find out.
    Unknown {
        in_line: usize,
    },
}

impl Owner {
    /// Returns the owner of a store whose database's path leads through no link.
    pub(super) fn of(database: &Path) -> Self {
        let folder = presence::folder(database);
        Owner {
            folder,
            name: Mutex::default(),
            held: Mutex::default(),
            places: Mutex::default(),
            ended: Arc::default(),
        }
    }

    /// Returns its name if it has one already.
    pub(super) fn given(&self) -> Option<String> {
        open(&self.name).as_ref().map(|named| named.name.clone())
    }

    /// Returns its name, which nobody else ever has.
    fn name(&self) -> Result<String, StoreError> {
        let mut named = open(&self.name);
        if named.is_none() {
            *named = Some(self.make()?);
        }
        Ok(named.as_ref().map(|named| named.name.clone()).unwrap_or_default())
    }

    fn make(&self) -> Result<Named, StoreError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        private_folder(&self.folder)?;
        self.tidy();
        let mut tries = 0..TRIES;
        loop {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{:x}-{count:x}", std::process::id(), since.as_nanos());
            let path = self.path(&name);
            let fault = |error: &std::io::Error| io_error(&path, error);
            let file = private_file().create_new(true).open(&path).map_err(|error| fault(&error))?;
            match file.try_lock() {
                // Somebody who tidies may have had it before us, and removed it.
                Ok(()) if path.exists() => return Ok(Named { name, path, file }),
                Ok(()) | Err(TryLockError::WouldBlock) if tries.next().is_some() => {}
                Ok(()) | Err(TryLockError::WouldBlock) => {
                    let reason = "the lock file is taken away again and again".to_owned();
                    return Err(StoreError::Io { place: path.display().to_string(), reason });
                }
                Err(TryLockError::Error(error)) => return Err(fault(&error)),
            }
        }
    }

    /// Removes the files of owners that are dead. Where that fails they only stay.
    fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|ending| ending == "lock")
                && path.is_file()
                && let Ok(file) = File::open(&path)
                && file.try_lock().is_ok()
            {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }

    /// Returns whether an owner is alive that may be this one.
    fn is_alive(&self, name: &str) -> Result<bool, StoreError> {
        // The database is data: a name that is none of ours is no path to be opened.
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(false);
        }
        let path = self.path(name);
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

    /// Returns whether the owner that a row names holds it: another one that is alive, or this one.
    pub(super) fn holds(&self, owner: Option<&str>, key: i64) -> Result<bool, StoreError> {
        let Some(owner) = owner else { return Ok(false) };
        let ours = open(&self.name).as_ref().is_some_and(|named| named.name == owner);
        if ours { Ok(open(&self.held).contains_key(&key)) } else { self.is_alive(owner) }
    }

    /// Marks a session as being taken in by this handle, so that nobody takes it for a rest of a dead one.
    pub(super) fn begin(&self, key: i64) {
        open(&self.held).insert(key, 0);
    }

    /// Ends that.
    pub(super) fn end(&self, key: i64) {
        open(&self.held).remove(&key);
    }

    pub(super) fn own_name(&self) -> Result<String, StoreError> {
        self.name()
    }

    fn place(&self) -> u64 {
        let mut places = open(&self.places);
        places.free.pop().unwrap_or_else(|| {
            places.next += 1;
            places.next - 1
        })
    }
}

/// A lease that a row speaks of, once that is committed.
pub(super) struct Claimed {
    key: i64,
    token: u64,
    tally: Tally,
}

/// Takes the lease of a session, in a transaction.
pub(super) async fn claim(
    connection: &mut SqliteConnection,
    path: &Path,
    owner: &Owner,
    session: &SessionId,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    let fault = |error| store_error(path, error);
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    let query = sqlx::query(sqlx::AssertSqlSafe(format!("{} WHERE id = ?", rows::session(true))));
    let row = query.bind(session.as_str()).maybe_row(&mut *connection).await.map_err(fault)?;
    let info = row.as_ref().map(rows::sealed).transpose().map_err(corrupt)?.flatten();
    let (Some(row), Some(info)) = (row, info) else {
        return Err(StoreError::UnknownSession { session: session.clone() });
    };
    let key: i64 = get(&row, "session").map_err(corrupt)?;
    let holder: Option<String> = get(&row, "owner").map_err(corrupt)?;
    if claim == Claim::IfFree && owner.holds(holder.as_deref(), key)? {
        let holder = holder.as_deref().and_then(name_of);
        return Err(StoreError::Locked { session: session.clone(), holder });
    }
    let tally = Tally::of(&info);
    let token = read(get(&row, "token").map_err(corrupt)?).checked_add(1);
    let token = token.ok_or_else(|| corrupt(format!("session {session}: no token is left")))?;
    let query = sqlx::query("UPDATE sessions SET token = ?, owner = ? WHERE session = ?");
    let query = query.bind(stored(token)).bind(owner.name()?).bind(key);
    query.execute(connection).await.map_err(fault)?;
    Ok(Claimed { key, token, tally })
}

/// Returns who holds the session of a row and is alive.
pub(super) fn holder(
    row: &sqlx::sqlite::SqliteRow,
    owner: &Owner,
    path: &Path,
) -> Result<Option<Holder>, StoreError> {
    let corrupt = |reason| StoreError::Corrupt { place: path.display().to_string(), reason };
    let name: Option<String> = get(row, "owner").map_err(corrupt)?;
    let key: i64 = get(row, "session").map_err(corrupt)?;
    let token = read(get(row, "token").map_err(corrupt)?);
    let held = owner.holds(name.as_deref(), key)?;
    Ok(held.then(|| Holder::new(name.as_deref().and_then(name_of), token)))
}

/// Returns what people call an owner.
pub(super) fn name_of(owner: &str) -> Option<String> {
    let process: u32 = owner.split('-').next()?.parse().ok()?;
    Some(format!("process {process}"))
}

impl Claimed {
    /// Holds it. Only after its commit: what was rolled back would free what somebody else has.
    pub(super) fn held(self, owner: Arc<Owner>, line: Weak<Line>, session: SessionId) -> Held {
        let Claimed { key, token, tally } = self;
        open(&owner.held).insert(key, token);
        let state = Mutex::new(State { tip: Tip::Known(tally), lost: None });
        let place = owner.place();
        Held { key, token, session, owner, line, state, place }
    }
}

impl Held {
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns whether this owner gave it.
    pub(super) fn is_of(&self, owner: &Arc<Owner>) -> bool {
        Arc::ptr_eq(&self.owner, owner)
    }

    /// Returns whether this handle gave no newer lease of the session since.
    pub(super) fn is_newest(&self) -> bool {
        open(&self.owner.held).get(&self.key) == Some(&self.token)
    }

    /// Makes a batch ready to be written and hands it in, before any other of the same session.
    pub(super) fn hand_in<T>(
        &self,
        batch: Batch,
        hand_in: impl FnOnce(What) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = open(&self.state);
        if let Some((seq, reason)) = state.lost.take() {
            return Err(StoreError::BufferLost { session: self.session.clone(), seq, reason });
        }
        hand_in(state.tip.prepare(&self.session, batch))
    }

    /// Writes down that people were told that everything up to here is on the disk.
    pub(super) fn promise(&self, tally: &Tally) {
        if let Some(named) = open(&self.owner.name).as_ref() {
            promises::write(&named.file, self.place, self.key, &self.session, tally);
        }
    }

    /// Notes that a write has succeeded.
    pub(super) fn written(&self, from_batch: bool, after: Tally) {
        let mut state = open(&self.state);
        if let (Tip::Unknown { in_line }, true) = (&mut state.tip, from_batch) {
            *in_line = in_line.saturating_sub(1);
            if *in_line == 0 {
                state.tip = Tip::Known(after);
            }
        }
    }

    /// Notes that a write has failed; `lost` is the first record of it if it had been acknowledged.
    pub(super) fn failed(&self, from_batch: bool, lost: Option<u64>, error: &StoreError) {
        let mut state = open(&self.state);
        let in_line = match state.tip {
            Tip::Unknown { in_line } => in_line.saturating_sub(usize::from(from_batch)),
            Tip::Known(_) => 0,
        };
        state.tip = Tip::Unknown { in_line };
        if let Some(seq) = lost {
            // The first is the one that counts: all after it hang on it.
            state.lost.get_or_insert_with(|| (seq, error.to_string()));
        }
    }

    /// Returns the error that stands behind a failure: that of buffered records before it, if there is one.
    pub(super) fn cause(&self, error: StoreError) -> StoreError {
        match open(&self.state).lost.take() {
            Some((seq, reason)) => StoreError::BufferLost { session: self.session.clone(), seq, reason },
            None => error,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        {
            let mut held = open(&self.owner.held);
            if held.get(&self.key) == Some(&self.token) {
                held.remove(&self.key);
            }
        }
        open(&self.owner.places).free.push(self.place);
        if let (Some(line), Some(owner)) = (self.line.upgrade(), self.owner.given()) {
            self.owner.ended.add(Ending::Lease { key: self.key, token: self.token, owner });
            line.nudge();
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("session", &self.session)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

// Nothing here panics while holding a mutex, so a poisoned value is still whole.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the file of a database before the database does, so that it is never readable for others, and returns its path
/// without links, so that all who mean it agree on its locks; and whether it was made.
pub(super) fn private_database(path: &Path) -> Result<(PathBuf, bool), StoreError> {
    presence::check_file(path)?;
    torn::check(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        private_folder(folder)?;
    }
    let made = match private_file().create_new(true).open(path) {
        // The name of a new file survives the loss of power only after its folder was synced.
        Ok(_) => {
            sync_folder(path).map_err(|error| io_error(path, &error))?;
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(io_error(path, &error)),
    };
    let path = fs::canonicalize(path).map_err(|error| io_error(path, &error))?;
    Ok((path, made))
}
