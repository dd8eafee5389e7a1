//! Sessions in one SQLite database.
//!
//! One connection writes and a few read, whatever the number of sessions. A batch is acknowledged after the write-ahead
//! log was synced, so it survives the loss of power; whoever asks for less gets it sooner.

mod answer;
mod append;
mod aside;
pub mod doctor;
mod doubt;
mod ended;
mod fault;
mod leases;
mod letters;
mod line;
mod migrate;
mod opened;
mod opening;
mod presence;
mod promises;
mod readers;
mod reading;
mod restore;
mod rows;
mod schema;
mod shape;
mod snapshots;
mod store;
mod torn;
mod wal;
mod watch;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow, SqliteSynchronous};

use self::answer::Ask;
use self::fault::store_error;
use self::leases::Owner;
use self::line::Line;
pub use self::opened::Opened;
use self::presence::Presence;
use self::readers::Readers;
use self::watch::Watch;
use crate::bell::Bell;
use crate::{SessionId, SessionInfo, StoreError};

/// How long we wait for other processes before we say that the database is busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sessions in one SQLite database, shared between processes.
///
/// Needs a tokio runtime with time, the one that opened it. Beside the database lie its write-ahead log (`-wal`, `-shm`) and the
/// folder of its locks (`.locks`); all of them belong together. Clones are the same handle.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    path: PathBuf,
    line: Arc<Line>,
    readers: Readers,
    /// For what is cut out of the bodies that a reader is at: it waits for these with its own connection in its hand.
    part_readers: Readers,
    /// Whether the rows of sessions have seals, and whether letters have; those of an older database on a medium that cannot be
    /// written have none.
    is_sealed: bool,
    are_letters_sealed: bool,
    /// Whether it has a table of snapshots; neither has one of an older version there.
    has_snapshots: bool,
    owner: Arc<Owner>,
    bell: Arc<Bell>,
    watch: Watch,
    opened: Arc<Opened>,
    _presence: Arc<Presence>,
}

/// How a database is opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SqliteOptions {
    vfs: Option<Cow<'static, str>>,
    checkpoint_pages: Option<u32>,
}

impl SqliteOptions {
    /// Returns the options that [`SqliteStore::open`] takes.
    pub fn new() -> Self {
        SqliteOptions::default()
    }

    /// Goes to the disk through another of SQLite's virtual file systems, which must be registered. For tests that lose
    /// power.
    #[must_use]
    pub fn vfs(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.vfs = Some(name.into());
        self
    }

    /// Moves the write-ahead log into the database when it has so many pages of 4 KiB; 1000 if nothing is said.
    #[must_use]
    pub fn checkpoint_pages(mut self, pages: u32) -> Self {
        self.checkpoint_pages = Some(pages);
        self
    }
}

impl SqliteStore {
    /// Opens a database and makes it if it does not exist, with the folders that it is in, readable for its owner only.
    ///
    /// An older database is brought to the current schema. What a cut-off write has left in the write-ahead log is set
    /// aside; [`opened`](SqliteStore::opened) tells of it, and of acknowledged records that are missing. If they may stand
    /// in a part of the log that cannot be read, the database is not opened. Nothing else is repaired: what is damaged is
    /// reported when it is read, and [`doctor`] mends it.
    ///
    /// Where nothing can be written the database can still be read, if it was closed before it came there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] if a newer version wrote it; [`StoreError::NotAStore`] if it is something else, and then it
    /// was not touched; [`StoreError::BadRecord`] if an older one has a record that cannot be read, and then it stays as
    /// it is; [`StoreError::Torn`] where only a write-ahead log is; [`StoreError::Corrupt`], [`StoreError::Io`], [`StoreError::Full`], [`StoreError::Busy`],
    /// [`StoreError::Database`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::new()).await
    }

    /// Opens a database as [`open`](SqliteStore::open) does, with options.
    ///
    /// # Errors
    ///
    /// Those of [`open`](SqliteStore::open).
    pub async fn open_with(path: impl AsRef<Path>, wanted: SqliteOptions) -> Result<Self, StoreError> {
        let mut options = SqliteConnectOptions::new()
            .synchronous(SqliteSynchronous::Full)
            .statement_cache_capacity(200)
            .busy_timeout(PATIENCE)
            .disable_statement_logging();
        if let Some(vfs) = wanted.vfs {
            options = options.vfs(vfs);
        }
        if let Some(pages) = wanted.checkpoint_pages {
            options = options.pragma("wal_autocheckpoint", pages.to_string());
        }
        let mut open = opening::open(path.as_ref(), options).await?;
        let (path, opened, presence) =
            (open.path.clone(), Arc::clone(&open.opened), Arc::clone(&open.presence));
        open.options = presence.kept_by(open.options);
        presence.kept_by_open(&mut open.first).await.map_err(|error| store_error(&path, error))?;
        let reading = open.options.clone().pragma("query_only", "ON");
        let readers = Readers::new(reading.clone(), open.version);
        // Parts are large, so few of them are read ahead.
        let part_readers = Readers::new(reading.clone().row_buffer_size(2), open.version);
        let is_sealed = open.version >= schema::SEALED;
        let are_letters_sealed = open.version >= schema::LETTERS_SEALED;
        let has_snapshots = open.version == schema::VERSION;
        let bell = Arc::new(Bell::default());
        let owner = Arc::new(Owner::of(&path));
        let line = Arc::new(Line::start(open, Arc::clone(&bell), Arc::clone(&owner.ended)));
        let watch = Watch::new(reading, Arc::clone(&bell));
        Ok(SqliteStore {
            path,
            line,
            readers,
            part_readers,
            is_sealed,
            are_letters_sealed,
            has_snapshots,
            owner,
            bell,
            watch,
            opened,
            _presence: presence,
        })
    }

    /// Returns where the database is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what opening found and did.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Returns the version that the database had before it was opened, if that was an older one.
    pub fn migrated_from(&self) -> Option<usize> {
        self.opened.migrated_from
    }

    /// Refuses to let the database grow beyond so many bytes from now on, or lets it grow again.
    ///
    /// A write that finds no room fails with [`StoreError::Full`], as on a full disk. The limit holds for this handle.
    pub async fn set_size_limit(&self, bytes: Option<u64>) {
        self.line.set_size_limit(bytes).await;
    }

    /// Waits for everything that was handed in and closes the database. Leases that are still held end.
    ///
    /// Dropping the store is safe too; this also moves the write-ahead log into the database if nobody else has it open.
    pub async fn close(self) {
        self.readers.close().await;
        self.part_readers.close().await;
        self.watch.close().await;
        if let Some(owner) = self.owner.given() {
            let free = self.line.write(crate::Durability::Committed, move |connection, path| {
                Box::pin(async move {
                    let query = sqlx::query("UPDATE sessions SET owner = NULL WHERE owner = ?").bind(owner);
                    query.execute(connection).await.map(drop).map_err(|error| store_error(path, error))
                })
            });
            // Where that fails they end with the last of them, or with the process.
            let _ = free.await;
        }
        self.line.close().await;
    }

    /// Reads the row of a session, after what was acknowledged before. It is what was written.
    async fn row(&self, session: &SessionId) -> Result<SqliteRow, StoreError> {
        self.row_by(session, rows::session(self.is_sealed)).await
    }

    /// Reads it by another query, which reads the seals too.
    async fn row_by(&self, session: &SessionId, query: &str) -> Result<SqliteRow, StoreError> {
        Ok(self.listed(session, query).await?.0)
    }

    /// Reads the row of a session and returns its number with what a list shows.
    async fn found(&self, session: &SessionId) -> Result<(i64, SessionInfo), StoreError> {
        let (row, info) = self.listed(session, rows::session(self.is_sealed)).await?;
        let key = rows::get(&row, "session").map_err(|reason| self.corrupt(reason))?;
        Ok((key, info))
    }

    async fn listed(&self, session: &SessionId, query: &str) -> Result<(SqliteRow, SessionInfo), StoreError> {
        self.line.settle().await?;
        let query = format!("{query} WHERE id = ?");
        let row = sqlx::query(sqlx::AssertSqlSafe(query)).bind(session.as_str());
        let row = row.maybe_row(self.readers.pool()).await.map_err(|error| self.fault(error))?;
        let unknown = || StoreError::UnknownSession { session: session.clone() };
        let Some(row) = row else {
            return Err(if self.is_hidden(session).await? {
                self.corrupt(format!(
                    "session {session} is there, and the index of sessions does not lead to it"
                ))
            } else {
                unknown()
            });
        };
        let info = rows::sealed(&row).map_err(|reason| self.corrupt(reason))?;
        info.map(|info| (row, info)).ok_or_else(unknown)
    }

    /// Returns whether a session stands in the list of them although its index does not know it, in one moment.
    async fn is_hidden(&self, session: &SessionId) -> Result<bool, StoreError> {
        let query =
            "SELECT NOT EXISTS (SELECT 1 FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id = ?1)
                     AND EXISTS (SELECT 1 FROM sessions NOT INDEXED WHERE id = ?1 AND whole)";
        let query = sqlx::query(query).bind(session.as_str());
        query.value(self.readers.pool()).await.map_err(|error| self.fault(error))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn fault(&self, error: sqlx::Error) -> StoreError {
        if let sqlx::Error::WorkerCrashed = error {
            for readers in [&self.readers, &self.part_readers] {
                readers.give_up("the driver's thread died over what it read");
            }
        }
        let damage = self.readers.damage().or_else(|| self.part_readers.damage());
        match (error, damage) {
            (sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed, Some(reason)) => self.corrupt(reason),
            (error, _) => store_error(&self.path, error),
        }
    }

    fn corrupt(&self, reason: String) -> StoreError {
        StoreError::Corrupt { place: self.place(), reason }
    }
}
