//! The line of writes that wait, and the one task that serves it with the one connection that writes.
//!
//! Appends that stand next to each other are committed as one group, so that they share the sync of the disk. Every
//! write is carried out by the task, so whoever waits for it may go away without cutting it in half. After a fault the
//! connection is thrown away: SQLite may have rolled back by itself, and a connection that believes otherwise would refuse
//! every later write.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::answer::{self, Ask};
use super::append::{self, Append};
use super::aside;
use super::doubt::{self, Doubt};
use super::ended::Ended;
use super::fault::store_error;
use super::opening::Open;
use super::presence::Presence;
use super::torn::{self, Torn};
use crate::bell::Bell;
use crate::{Durability, StoreError};

/// How many appends may stand in line: also how many buffered batches a killed process loses at most.
pub(super) const ROOM: usize = 256;
/// How many appends are committed together.
const GROUP: usize = 256;

/// What is borrowed by a future that works in a transaction.
pub(super) type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

type Errand = Box<dyn for<'a> FnOnce(&'a mut Seat) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> + Send>;

enum Job {
    Append(Box<Append>),
    Errand(Errand),
    Close(oneshot::Sender<()>),
}

/// Where writes are handed in.
#[derive(Debug)]
pub(super) struct Line {
    path: PathBuf,
    jobs: mpsc::UnboundedSender<Job>,
    room: Arc<Semaphore>,
    buffered: Arc<AtomicUsize>,
}

/// Counts a batch that was acknowledged before it was written, until it is.
#[derive(Debug)]
pub(super) struct Buffered(Arc<AtomicUsize>);

impl Drop for Buffered {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The connection that writes.
pub(super) struct Seat {
    pub(super) path: PathBuf,
    /// Which file it is; another one can come to bear its name.
    file: Option<FileId>,
    /// Which file its write-ahead log is, once that was made by the open connection.
    log: Option<FileId>,
    /// What was found when the file was not there any more: where it is can only be seen as long as it is open.
    torn: Option<Torn>,
    /// The same of its log. Others of this process still read the one that has no name, so nothing more is written.
    log_gone: Option<Torn>,
    read_only: bool,
    options: SqliteConnectOptions,
    // `None` before the first write, after a fault, and after closing.
    connection: Option<SqliteConnection>,
    /// What the connection's commits survive.
    level: Durability,
    /// Whether something has failed since all that was written was on the disk for sure.
    doubt: Option<Doubt>,
    pub(super) bell: Arc<Bell>,
    ended: Arc<Ended>,
    /// Others see that the database is open as long as it may be written here.
    _presence: Arc<Presence>,
}

impl Line {
    /// Starts the task with an open connection that flushes; it makes others like it.
    pub(super) fn start(open: Open, bell: Arc<Bell>, ended: Arc<Ended>) -> Self {
        let Open { path, file, options, first, presence, opened, doubt, .. } = open;
        let (sender, jobs) = mpsc::unbounded_channel();
        let seat = Seat {
            path: path.clone(),
            file,
            log: None,
            torn: None,
            log_gone: None,
            read_only: opened.read_only.is_some(),
            options,
            connection: Some(first),
            level: Durability::Flushed,
            doubt,
            bell,
            ended,
            _presence: presence,
        };
        tokio::spawn(serve(seat, jobs));
        let room = Arc::new(Semaphore::new(ROOM));
        Line { path, jobs: sender, room, buffered: Arc::default() }
    }

    /// Waits for room in the line.
    pub(super) async fn room(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        Arc::clone(&self.room).acquire_owned().await.map_err(|_| self.closed())
    }

    /// Hands an append in.
    pub(super) fn append(&self, append: Append) -> Result<(), StoreError> {
        self.jobs.send(Job::Append(Box::new(append))).map_err(|_| self.closed())
    }

    /// Counts a batch that is acknowledged now and written later.
    pub(super) fn buffer(&self) -> Buffered {
        self.buffered.fetch_add(1, Ordering::AcqRel);
        Buffered(Arc::clone(&self.buffered))
    }

    /// Makes whoever reads from now on wait for all that stands in line already.
    pub(super) fn mark(&self) {
        let buffered = self.buffer();
        let errand: Errand = Box::new(move |_| {
            Box::pin(async move {
                drop(buffered);
            })
        });
        let _ = self.jobs.send(Job::Errand(errand));
    }

    /// Waits until everything that was acknowledged before this call is written, or known to be lost.
    pub(super) async fn settle(&self) -> Result<(), StoreError> {
        if self.buffered.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        self.errand(|_| Box::pin(async { Ok(()) })).await
    }

    /// Runs a write in a transaction of its own and waits for it.
    pub(super) async fn write<T, F>(&self, level: Durability, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut SqliteConnection, &'a Path) -> Work<'a, T> + Send + 'static,
    {
        self.write_and(level, work, |written| written).await
    }

    /// The same, and does something with what was written, after it was committed and before anything else is written
    /// here. What stands for a row is made so: made before, it would undo what was never done.
    pub(super) async fn write_and<T, U, F>(
        &self,
        level: Durability,
        work: F,
        then: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<U, StoreError>
    where
        T: Send + 'static,
        U: Send + 'static,
        F: for<'a> FnOnce(&'a mut SqliteConnection, &'a Path) -> Work<'a, T> + Send + 'static,
    {
        self.errand(move |seat| {
            Box::pin(async move {
                let path = seat.path.clone();
                let connection = seat.begin(level).await?;
                let result = work(connection, &path).await;
                seat.end(result).await.map(then)
            })
        })
        .await
    }

    /// Makes sure that what has [ended](Ended) is looked at soon.
    pub(super) fn nudge(&self) {
        let _ = self.jobs.send(Job::Errand(Box::new(|_| Box::pin(async {}))));
    }

    /// Changes how large the database may become, with a new connection.
    pub(super) async fn set_size_limit(&self, bytes: Option<u64>) {
        // 4096 is the page size of databases that this crate makes; 4294967294 the most that SQLite allows.
        let pages = bytes.map_or(4_294_967_294, |bytes| (bytes / 4096).clamp(1, 4_294_967_294));
        let changed = self.errand(move |seat| {
            Box::pin(async move {
                seat.options = seat.options.clone().pragma("max_page_count", pages.to_string());
                seat.discard().await;
                Ok(())
            })
        });
        // A line that is closed writes nothing anyway.
        let _ = changed.await;
    }

    /// Closes the connection after everything that stands in line.
    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.jobs.send(Job::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }

    /// Returns the error of a line that nobody serves any more: the store was closed, or its runtime has ended.
    pub(super) fn closed(&self) -> StoreError {
        let reason = "the store was closed, or the runtime that opened it has ended".to_owned();
        StoreError::Database { place: self.path.display().to_string(), reason }
    }

    async fn errand<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Seat) -> Work<'a, T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let errand: Errand = Box::new(move |seat| {
            Box::pin(async move {
                // Whoever asked may have gone.
                let _ = reply.send(work(seat).await);
            })
        });
        self.jobs.send(Job::Errand(errand)).map_err(|_| self.closed())?;
        answer.await.map_err(|_| self.closed())?
    }
}

impl Seat {
    /// Returns the connection, with commits that survive what `level` says.
    ///
    /// Not for a file that nobody can open again: what is written there is acknowledged and lost.
    pub(super) async fn connection(
        &mut self,
        level: Durability,
    ) -> Result<&mut SqliteConnection, StoreError> {
        if self.read_only {
            return Err(StoreError::ReadOnly { place: self.path.display().to_string() });
        }
        if let Some(gone) = &self.log_gone {
            return Err(gone.error(&self.path));
        }
        if let Some(file) = self.file.filter(|file| FileId::of(&self.path) != Some(*file)) {
            let torn = match self.torn.take() {
                Some(torn) => torn,
                None => torn::moved(&self.path, file, self.connection.as_mut()).await,
            };
            return Err(self.torn.insert(torn).error(&self.path));
        }
        let log = FileId::of(&aside::beside(&self.path, "-wal"));
        match (&mut self.connection, self.log) {
            (Some(open), Some(before)) if log != Some(before) => {
                let torn = torn::log_removed(&self.path, open).await;
                self.discard().await;
                return Err(self.log_gone.insert(torn).error(&self.path));
            }
            // Whoever opens it next goes on in the one that is there, or makes one.
            _ => self.log = log,
        }
        let fault = |error| store_error(&self.path, error);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.level = Durability::Flushed;
                let mut connection = SqliteConnection::connect_with(&self.options).await.map_err(fault)?;
                if self.log.is_none() {
                    // A first look at the database makes the log; what is wrong with it, the work itself will tell.
                    let _ = sqlx::query("PRAGMA schema_version").value::<i64>(&mut connection).await;
                    self.log = FileId::of(&aside::beside(&self.path, "-wal"));
                }
                connection
            }
        };
        if let Some(found) = &self.doubt {
            if let Err(error) = doubt::settle(&mut connection, &self.path, found).await {
                self.connection = Some(connection);
                self.discard().await;
                return Err(error);
            }
            self.doubt = None;
        }
        // SQLite does not buffer; what is only buffered needs no more than a commit.
        let level = level.max(Durability::Committed);
        if level != self.level {
            let pragma = match level {
                Durability::Flushed => "PRAGMA synchronous = FULL",
                _ => "PRAGMA synchronous = NORMAL",
            };
            sqlx::query(pragma).execute(&mut connection).await.map_err(fault)?;
            self.level = level;
        }
        Ok(self.connection.insert(connection))
    }

    /// Begins a transaction that may write.
    pub(super) async fn begin(&mut self, level: Durability) -> Result<&mut SqliteConnection, StoreError> {
        let path = self.path.clone();
        let connection = self.connection(level).await?;
        match sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await {
            Ok(_) => {}
            Err(error) => {
                let fault = store_error(&path, error);
                self.failed(&fault).await;
                return Err(fault);
            }
        }
        self.connection.as_mut().ok_or_else(|| StoreError::Database {
            place: path.display().to_string(),
            reason: "the connection is gone".to_owned(),
        })
    }

    /// Commits what succeeded and rolls back what did not.
    pub(super) async fn end<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            doubt::after(error, &mut self.doubt);
        }
        let Some(connection) = &mut self.connection else { return result };
        let done = match &result {
            Ok(_) => sqlx::query("COMMIT").execute(&mut *connection).await,
            // The driver's thread may be what has failed, and then it answers nothing any more.
            Err(_) => answer::in_time(sqlx::query("ROLLBACK").execute(&mut *connection)).await,
        };
        match done {
            Ok(_) => {
                match &result {
                    Ok(_) => self.bell.ring(),
                    Err(error) if doubt::is_there(error) && self.level == Durability::Flushed => {
                        if let Err(error) = doubt::flush(connection, &self.path).await {
                            self.failed(&error).await;
                            return Err(error);
                        }
                    }
                    Err(_) => {}
                }
                result
            }
            Err(error) => {
                let fault = store_error(&self.path, error);
                self.failed(&fault).await;
                // A failed rollback says nothing new: the transaction is gone, with its connection if not before.
                Err(result.err().unwrap_or(fault))
            }
        }
    }

    /// Makes sure of what was written before, if that is in doubt.
    pub(super) async fn settle(&mut self, level: Durability) -> Result<(), StoreError> {
        if self.doubt.is_some() { self.connection(level).await.map(drop) } else { Ok(()) }
    }

    /// Throws the connection away after a fault.
    pub(super) async fn failed(&mut self, error: &StoreError) {
        doubt::after(error, &mut self.doubt);
        self.discard().await;
    }

    /// Writes down what has ended. Nobody is there to be told where that fails; it is tried again.
    async fn write_ended(&mut self) {
        let (ended, path) = (Arc::clone(&self.ended), self.path.clone());
        while let Some(ending) = ended.next() {
            let result = match self.begin(Durability::Committed).await {
                Ok(connection) => {
                    let result = ending.write(connection, &path).await;
                    self.end(result).await
                }
                Err(error) => Err(error),
            };
            ended.tried(ending, &result);
        }
    }

    /// Returns whether the files that are open still bear their names: others that do are not ours to write.
    fn is_at_its_place(&self) -> bool {
        let is_there =
            |file: Option<FileId>, path: &Path| file.is_none_or(|file| FileId::of(path) == Some(file));
        let was_told = self.torn.is_some() || self.log_gone.is_some();
        let log = aside::beside(&self.path, "-wal");
        !was_told && is_there(self.file, &self.path) && is_there(self.log, &log)
    }

    /// Throws the connection away.
    pub(super) async fn discard(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            if self.doubt.is_some() {
                // It may still be in what has failed; and where this fails, the next one tries it again.
                let _ = answer::in_time(sqlx::query("ROLLBACK").execute(&mut connection)).await;
                if self.is_at_its_place() {
                    let _ = doubt::renew(&mut connection, &self.path).await;
                }
            }
            // It is gone whether it says so or not.
            let _ = answer::close(connection).await;
        }
    }
}

async fn serve(mut seat: Seat, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let mut put_back = None;
    let mut before = 0;
    loop {
        let job = match put_back.take() {
            Some(job) => Some(job),
            None => match seat.ended.wait() {
                Some(wait) => match tokio::time::timeout(wait, jobs.recv()).await {
                    Ok(job) => job,
                    Err(_) => Some(Job::Errand(Box::new(|_| Box::pin(async {})))),
                },
                None => jobs.recv().await,
            },
        };
        match job {
            Some(Job::Append(first)) => {
                // Those who were just answered are about to come again. They are let to, as long as some do: a group that
                // is twice as large costs little more.
                let mut found = 0;
                while jobs.len() + 1 < before && jobs.len() > found {
                    found = jobs.len();
                    tokio::task::yield_now().await;
                }
                let mut group = vec![*first];
                while group.len() < GROUP {
                    match jobs.try_recv() {
                        Ok(Job::Append(append)) => group.push(*append),
                        Ok(other) => {
                            put_back = Some(other);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                before = group.len();
                append::group(&mut seat, group).await;
            }
            Some(Job::Errand(errand)) => errand(&mut seat).await,
            Some(Job::Close(done)) => {
                seat.discard().await;
                // Whoever opens the database next finds nobody there.
                drop(seat);
                let _ = done.send(());
                return;
            }
            None => {
                seat.discard().await;
                return;
            }
        }
        seat.write_ended().await;
    }
}

/// What tells one file from another of the same name; nothing where the platform does not say.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(FileId { device: found.dev(), number: found.ino() })
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Path) -> Option<Self> {
        None
    }
}
