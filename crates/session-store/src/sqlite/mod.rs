//! Sessions in one SQLite database.
//!
//! One connection writes and a few read, whatever the number of sessions. A batch is acknowledged after the write-ahead
//! log was synced, so it survives the loss of power.

mod fault;
mod lock;
mod rows;
mod schema;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteRow, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};
use trunkline_message_tree::Timestamp;

use self::fault::store_error;
use self::lock::{Held, Locks};
use self::writing::Writer;
use crate::tally::check_body;
use crate::{
    Batch, InboxId, Letter, Log, NewSession, Receipt, Record, SessionId, SessionInfo, SessionStore,
    StoreError, WriterLock,
};

/// How long we wait for other processes before we say that the database is busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sessions in one SQLite database, shared between processes.
///
/// Needs a tokio runtime. Beside the database lie its write-ahead log (`-wal`, `-shm`) and the folder of its locks
/// (`.locks`); all of them belong together.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Which file it is; another one can come to bear its name.
    file: Option<FileId>,
    writer: Arc<Writer>,
    readers: SqlitePool,
    locks: Arc<Locks>,
}

impl SqliteStore {
    /// Opens a database and makes it if it does not exist, readable for its owner only.
    ///
    /// An older database is brought to the current schema. Nothing is repaired: what is damaged is reported when it is
    /// read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`] if a newer version wrote it; [`StoreError::NotAStore`] if it is something else, and then it
    /// was not touched; [`StoreError::Corrupt`], [`StoreError::Io`], [`StoreError::Full`], [`StoreError::Busy`],
    /// [`StoreError::Database`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = lock::private_database(path.as_ref())?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .foreign_keys(true)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(PATIENCE)
            .disable_statement_logging();
        let first = open_prepared(&path, &options).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(3)
            // A connection is a thread: whoever does not read has none.
            .min_connections(0)
            .idle_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().pragma("query_only", "ON"));
        let locks = Arc::new(Locks::of(&path));
        let writer = Arc::new(Writer::new(path.clone(), options, first));
        let file = FileId::of(&path);
        Ok(SqliteStore { path, file, writer, readers, locks })
    }

    /// Returns where the database is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to let the database grow beyond so many bytes from now on, or lets it grow again.
    ///
    /// A write that finds no room fails with [`StoreError::Full`], as on a full disk. The limit holds for this handle.
    pub async fn set_size_limit(&self, bytes: Option<u64>) {
        self.writer.set_size_limit(bytes).await;
    }

    /// Waits for the write that is under way and closes the database.
    ///
    /// Dropping the store is safe too; this also moves the write-ahead log into the database if nobody else has it open.
    pub async fn close(self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Refuses to write into a file that nobody can open again: it would be acknowledged and lost.
    fn still_there(&self) -> Result<(), StoreError> {
        if FileId::of(&self.path) == self.file {
            return Ok(());
        }
        let reason = "it was removed or replaced while it was open; nothing more is written to it".to_owned();
        Err(StoreError::Io { path: self.path.clone(), reason })
    }

    async fn read_info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        let row = sqlx::query("SELECT * FROM sessions WHERE id = ?")
            .bind(session.as_str())
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.fault(error))?;
        let row = row.ok_or_else(|| StoreError::UnknownSession { session: session.clone() })?;
        rows::info(&row).map_err(|reason| self.corrupt(reason))
    }

    /// Reads the records `after < seq <= until`. A log only grows, so what it was at one moment is a prefix of what it
    /// is, and no transaction is needed to read both ends of it.
    async fn read_records(
        &self,
        session: &SessionId,
        after: u64,
        until: u64,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        let query = "SELECT seq, kind, node, parent, at, layer, name, json
                     FROM records LEFT JOIN bodies USING (body)
                     WHERE session = (SELECT session FROM sessions WHERE id = ?) AND seq > ? AND seq <= ?
                     ORDER BY seq";
        let found: Vec<SqliteRow> = sqlx::query(query)
            .bind(session.as_str())
            .bind(rows::stored(after))
            .bind(rows::stored(until))
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.fault(error))?;
        let numbered = ((after + 1)..).zip(&found);
        let records: Result<Vec<_>, _> =
            numbered.map(|(seq, row)| Ok((seq, rows::record(row, session, seq)?))).collect();
        let records = records?;
        // A gap was noticed by the record after it; what is missing at the end has none.
        let seq = after + records.len() as u64 + 1;
        if seq <= until {
            let reason = "it is missing".to_owned();
            return Err(StoreError::BadRecord { session: session.clone(), seq, reason });
        }
        Ok(records)
    }

    fn fault(&self, error: sqlx::Error) -> StoreError {
        store_error(&self.path, error)
    }

    fn corrupt(&self, reason: String) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), reason }
    }
}

/// Opens the first connection and brings the database to the current schema.
async fn open_prepared(path: &Path, options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let start = Instant::now();
    loop {
        let connected =
            SqliteConnection::connect_with(options).await.map_err(|error| store_error(path, error));
        let prepared = match connected {
            Ok(mut connection) => schema::prepare(&mut connection, path).await.map(|()| connection),
            Err(error) => Err(error),
        };
        match prepared {
            // While somebody else switches a new database to write-ahead logging, SQLite refuses at once and does not
            // wait as it does everywhere else.
            Err(StoreError::Busy { .. }) if start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            prepared => return prepared,
        }
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        self.writer.restore(new.into_log()?).await
    }

    async fn restore(&self, log: Log) -> Result<(), StoreError> {
        log.check()?;
        self.writer.restore(log).await
    }

    async fn lock(&self, session: &SessionId) -> Result<WriterLock, StoreError> {
        // Also keeps lock files away that no session belongs to.
        self.read_info(session).await?;
        let held = self.locks.take(session).await?;
        Ok(WriterLock::new(session.clone(), held))
    }

    async fn is_locked(&self, session: &SessionId) -> Result<bool, StoreError> {
        self.read_info(session).await?;
        self.locks.is_held(session)
    }

    async fn append(&self, lock: &WriterLock, batch: Batch) -> Result<Receipt, StoreError> {
        let guard = lock.guard::<Held>().filter(|held| held.is_of(&self.locks));
        let guard = guard.ok_or_else(|| StoreError::ForeignLock { session: lock.session().clone() })?;
        self.still_there()?;
        self.writer.append(lock.session().clone(), guard, batch).await
    }

    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        let info = self.read_info(session).await?;
        let records = self.read_records(session, 0, info.records).await?;
        Ok(Log { info, records })
    }

    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError> {
        let info = self.read_info(session).await?;
        self.read_records(session, seq.min(info.records), info.records).await
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.read_info(session).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let found = sqlx::query("SELECT * FROM sessions").fetch_all(&self.readers).await;
        let found = found.map_err(|error| self.fault(error))?;
        let list: Result<Vec<SessionInfo>, String> = found.iter().map(rows::info).collect();
        let mut list = list.map_err(|reason| self.corrupt(reason))?;
        list.sort_by(SessionInfo::newest_first);
        Ok(list)
    }

    async fn set_title(&self, session: &SessionId, title: &str) -> Result<(), StoreError> {
        self.writer.set_title(session.clone(), title.to_owned()).await
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        check_body(body).map_err(|reason| StoreError::body(session, kind, reason))?;
        self.writer.post(session.clone(), kind.to_owned(), body.to_owned(), at).await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.read_info(session).await?;
        let query = "SELECT letter, at, kind, body FROM letters
                     WHERE session = (SELECT session FROM sessions WHERE id = ?) AND consumed IS NULL
                     ORDER BY letter";
        let found = sqlx::query(query).bind(session.as_str()).fetch_all(&self.readers).await;
        let letter = |row: &SqliteRow| -> Result<Letter, String> {
            Ok(Letter {
                id: InboxId(rows::read(rows::get(row, "letter")?)),
                at: Timestamp(rows::read(rows::get(row, "at")?)),
                kind: rows::get(row, "kind")?,
                body: rows::get(row, "body")?,
            })
        };
        let list: Result<Vec<Letter>, String> =
            found.map_err(|error| self.fault(error))?.iter().map(letter).collect();
        list.map_err(|reason| self.corrupt(format!("inbox of session {session}: {reason}")))
    }
}

/// What tells one file from another of the same name; nothing where the platform does not say.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(FileId { device: found.dev(), number: found.ino() })
    }

    #[cfg(not(unix))]
    fn of(_: &Path) -> Option<Self> {
        None
    }
}
