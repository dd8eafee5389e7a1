//! One connection in use: statements, and transactions that go in one trip.
//!
//! Nothing is left on a connection: a pooler may give the next transaction another one. So each transaction brings its
//! settings along, statements have no names, and what belongs together is sent together.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Error, Row};

use super::bind::{Bind, get};
use super::branch::Branch;
use super::connect::{Connected, Connection};
use super::fault::{Fault, FaultKind};
use super::links::Links;
use super::process;
use super::shards::Spread;
use crate::StoreError;

/// What the commit of a transaction has to reach.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The disk, and the standbys that the server waits for.
    Flushed,
    /// The server's memory.
    Committed,
}

impl Level {
    /// How a transaction begins. A role or a database may be set up to acknowledge before the flush, and another client of
    /// the same pooler may have left a setting behind: neither weakens what is promised. So what we do not set ourselves
    /// is what the role has, and not what was left.
    fn begin(self) -> &'static str {
        match self {
            Level::Flushed => {
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout TO DEFAULT;
                 SET LOCAL synchronous_commit TO DEFAULT; SELECT set_config('search_path', 'pg_catalog', true),
                 set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '15s', true),
                 set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                     WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
            }
            Level::Committed => {
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout TO DEFAULT;
                 SELECT set_config('search_path', 'pg_catalog', true),
                 set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '15s', true),
                 set_config('synchronous_commit', 'off', true)"
            }
        }
    }
}

/// What commits, and says so.
const COMMIT: &str = "COMMIT";

/// A connection, whether it is used or rests.
pub(super) struct Open {
    client: Client,
    driver: Driver,
    warned: Warned,
    level: Option<Level>,
    pub(super) flushes: bool,
    /// Whether the server itself is at the other end, and no pooler.
    pub(super) is_direct: bool,
    /// Where it tells.
    pub(super) branch: Option<Branch>,
}

/// What the server warned of, since somebody last looked.
type Warned = Arc<Mutex<Option<String>>>;

/// What moves the bytes of a connection. Dropped, it cuts the connection off.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is asked of each new connection.
const ABOUT: &str = "SELECT coalesce(current_setting('fsync', true), 'on') AS fsync,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
    pg_backend_pid() AS process, current_setting('server_version_num')::bigint AS version";

/// The oldest server that has what we use: `gen_random_uuid` is built in since.
const OLDEST: i64 = 130_000;

impl Open {
    /// Takes a connection that was just made into use; what the server tells meanwhile goes to `told`.
    pub(super) fn new(
        connected: Connected,
        runtime: &tokio::runtime::Handle,
        told: Option<mpsc::UnboundedSender<String>>,
    ) -> Self {
        let Connected { client, connection, .. } = connected;
        let warned = Warned::default();
        let driver = Driver(runtime.spawn(drive(connection, Arc::clone(&warned), told)));
        Open { client, driver, warned, level: None, flushes: false, is_direct: false, branch: None }
    }

    /// Asks what kind of server it is; returns the encoding of the database.
    pub(super) async fn ask(&mut self, place: &str) -> Result<String, Fault> {
        let fault = |error: Error| Fault::of(place, &error);
        // Both in one trip; what has no timeline works all the same.
        let (found, branch) =
            tokio::join!(self.client.query_typed(ABOUT, &[]), self.client.query_typed(Branch::QUERY, &[]));
        let found = found.map_err(fault)?;
        self.branch = branch.ok().and_then(|rows| Branch::of(&rows));
        let row =
            found.first().ok_or_else(|| Fault::corrupt(place, "it does not say what it is".to_owned()))?;
        let version: i64 = row.try_get("version").map_err(fault)?;
        if version < OLDEST {
            let reason = format!("the server is version {}; 13 or newer is needed", version / 10_000);
            return Err(Fault::refused(place, reason));
        }
        if row.try_get("standby").map_err(fault)? {
            return Err(Fault::read_only(place));
        }
        let process: i32 = row.try_get("process").map_err(fault)?;
        self.is_direct = process::promised(&self.client).await == Some(process);
        let fsync: String = row.try_get("fsync").map_err(fault)?;
        self.flushes = fsync != "off";
        row.try_get("encoding").map_err(fault)
    }

    /// Says goodbye, and waits until that is said.
    pub(super) async fn close(self) {
        let Open { client, mut driver, .. } = self;
        drop(client);
        // It is gone whether it says so or not.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut driver.0).await;
    }
}

/// The routine of the server that warns for `RAISE WARNING` (`pl_exec.c`, PostgreSQL 15).
const RAISE: &str = "exec_stmt_raise";

/// Moves the bytes of a connection until it ends, and remembers what the server warns of.
async fn drive(mut wire: Connection, warned: Warned, told: Option<mpsc::UnboundedSender<String>>) {
    while let Some(Ok(message)) = std::future::poll_fn(|context| wire.poll_message(context)).await {
        match message {
            AsyncMessage::Notice(notice)
                if notice.parsed_severity() == Some(Severity::Warning)
                    && ["01000", "57P01"].contains(&notice.code().code())
                    // Triggers of others may warn as they like.
                    && notice.routine() != Some(RAISE) =>
            {
                let mut warned = warned.lock().unwrap_or_else(PoisonError::into_inner);
                warned.get_or_insert(notice.message().to_owned());
            }
            AsyncMessage::Notification(notification) => {
                if let Some(told) = &told {
                    // Whoever no longer hears has gone, and this connection goes soon.
                    let _ = told.send(notification.payload().to_owned());
                }
            }
            _ => {}
        }
    }
}

/// A connection in use.
pub(super) struct Link {
    pub(super) open: Open,
    pub(super) rested: Duration,
    pub(super) seat: Option<OwnedSemaphorePermit>,
    pub(super) home: Arc<Links>,
}

/// A statement and its arguments; `@` stands for our schema.
pub(super) type Statement<'a> = (&'a str, Bind);

impl Link {
    /// Whether a commit reaches the disk before it is acknowledged.
    pub(super) fn flushes(&self) -> bool {
        self.open.flushes && self.home.spread() != Spread::Shards { flush: false }
    }

    /// Whether the server itself is at the other end, and no pooler.
    pub(super) fn is_direct(&self) -> bool {
        self.open.is_direct
    }

    /// Asks whether transactions can be begun as all of them are.
    pub(super) async fn must_allow_transactions(&mut self) -> Result<(), Fault> {
        // A pooler that allows none says so and hangs up; its words are lost if more was sent meanwhile.
        self.begin(Level::Committed, Vec::new()).await?;
        self.run("ROLLBACK").await
    }

    /// Whether it is one of those that all of a store use in turn.
    pub(super) fn is_shared(&self) -> bool {
        self.seat.is_some()
    }

    /// Returns which process of the server answers now.
    pub(super) async fn process(&mut self) -> Result<i32, Fault> {
        let row = self.row("SELECT pg_backend_pid() AS process", Bind::new()).await?;
        get(&row, "process").map_err(|reason| Fault::corrupt(self.home.place(), reason))
    }

    pub(super) fn spread(&self) -> Spread {
        self.home.spread()
    }

    pub(super) fn place(&self) -> &str {
        self.home.place()
    }

    /// Runs a statement to its end and returns its rows. Outside a transaction it is one of its own, with the server's
    /// settings: right for what only reads.
    pub(super) async fn rows(&mut self, sql: &str, bind: Bind) -> Result<Vec<Row>, Fault> {
        let found = self.send(None, vec![(sql, bind)], false).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Runs a statement that gives one row.
    pub(super) async fn row(&mut self, sql: &str, bind: Bind) -> Result<Row, Fault> {
        let row = self.rows(sql, bind).await?.into_iter().next();
        row.ok_or_else(|| Fault::corrupt(self.home.place(), "a statement gave no row".to_owned()))
    }

    /// Runs a whole transaction in one trip, and returns the rows of each statement.
    pub(super) async fn transaction(
        &mut self,
        level: Level,
        statements: Vec<Statement<'_>>,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        self.send(Some(level), statements, true).await
    }

    /// Runs one statement as a transaction, in one trip.
    pub(super) async fn write(&mut self, level: Level, sql: &str, bind: Bind) -> Result<Vec<Row>, Fault> {
        let found = self.transaction(level, vec![(sql, bind)]).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Begins a transaction with its first statements, in one trip.
    pub(super) async fn begin(
        &mut self,
        level: Level,
        statements: Vec<Statement<'_>>,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        self.send(Some(level), statements, false).await
    }

    /// Ends a transaction with its last statements, in one trip.
    pub(super) async fn finish(&mut self, statements: Vec<Statement<'_>>) -> Result<Vec<Vec<Row>>, Fault> {
        self.send(None, statements, true).await
    }

    /// Ends a transaction: commits what succeeded and rolls back what did not.
    pub(super) async fn end<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, Fault> {
        match result {
            Ok(_) => drop(self.finish(Vec::new()).await?),
            Err(_) => self.run("ROLLBACK").await?,
        }
        Ok(result)
    }

    /// Runs statements without arguments, all in one go.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), Fault> {
        let sql = sql.replace('@', self.home.schema());
        self.answered(self.open.client.batch_execute(&sql)).await
    }

    async fn send(
        &mut self,
        begin: Option<Level>,
        statements: Vec<Statement<'_>>,
        commit: bool,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        if begin.is_some() {
            self.open.level = begin;
            *self.open.warned.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let outside = AtomicBool::new(false);
        let sent = pipeline(&self.open.client, self.home.schema(), begin, statements, commit, &outside);
        let found = self.answered(sent).await.map_err(|fault| match fault.kind {
            FaultKind::Refused | FaultKind::Unsupported if outside.load(Ordering::Relaxed) => {
                let reason = format!(
                    "no transaction was begun ({}), and what was sent with it may have been done without one",
                    fault.error
                );
                let error = StoreError::Io { place: self.place().to_owned(), reason };
                Fault { error, kind: FaultKind::Lost }
            }
            _ => fault,
        })?;
        if commit && self.open.level.take() == Some(Level::Flushed) {
            // Committed, but perhaps nowhere else: as if the answer had been lost.
            let warned = self.open.warned.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(warning) = warned {
                let reason =
                    format!("the server does not know whether the commit reached a standby: {warning}");
                let error = StoreError::Io { place: self.place().to_owned(), reason };
                return Err(Fault { error, kind: FaultKind::Lost });
            }
        }
        Ok(found)
    }

    /// Waits for an answer, unless another server takes over meanwhile: then this one has none that counts.
    async fn answered<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        let answer = tokio::time::timeout(self.home.statement_timeout(), answer);
        tokio::select! {
            biased;
            reason = self.home.overtaken(self.open.branch) => {
                let error = StoreError::Io { place: self.place().to_owned(), reason };
                Err(Fault { error, kind: FaultKind::Lost })
            }
            answer = answer => match answer {
                Ok(answer) => {
                    self.home.hear(self.open.branch);
                    answer.map_err(|error| Fault::of(self.home.place(), &error))
                }
                Err(_) => Err(self.silent()),
            },
        }
    }

    fn silent(&self) -> Fault {
        let reason = format!("no answer within {} s", self.home.statement_timeout().as_secs_f32());
        let error = StoreError::Io { place: self.place().to_owned(), reason };
        Fault { error, kind: FaultKind::Silent }
    }
}

/// Sends everything before it waits for the first answer. Once a statement is known to have failed, nothing more is sent; the error
/// is the first there is, which can be that of an earlier one whose answer was not looked at yet. `outside` is set where no
/// transaction was begun for what was sent.
async fn pipeline(
    client: &Client,
    schema: &str,
    begin: Option<Level>,
    statements: Vec<Statement<'_>>,
    commit: bool,
    outside: &AtomicBool,
) -> Result<Vec<Vec<Row>>, Error> {
    let mut begun = pin!(async {
        match begin {
            Some(level) => client.simple_query(level.begin()).await.map(drop),
            None => Ok(()),
        }
    });
    let first = begin_early(begun.as_mut()).await;
    let texts: Vec<(String, Bind)> =
        statements.into_iter().map(|(sql, bind)| (sql.replace('@', schema), bind)).collect();
    let mut under_way = Vec::with_capacity(texts.len());
    let mut has_failed = false;
    for (sql, bind) in &texts {
        let arguments: Vec<(&(dyn ToSql + Sync), Type)> =
            bind.values.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        let mut statement = Box::pin(async move { client.query_typed(sql, &arguments).await });
        let early = begin_early(statement.as_mut()).await;
        has_failed = matches!(early, Some(Err(_)));
        under_way.push((statement, early));
        if has_failed {
            break;
        }
    }
    let mut committed = pin!(async {
        match commit && !has_failed {
            true => client.simple_query(COMMIT).await.map(drop),
            false => Ok(()),
        }
    });
    let last = begin_early(committed.as_mut()).await;
    let is_begun = match first {
        Some(result) => result,
        None => begun.await,
    };
    if let Err(error) = is_begun {
        outside.store(!under_way.is_empty(), Ordering::Relaxed);
        return Err(error);
    }
    let mut found = Vec::with_capacity(under_way.len());
    for (statement, early) in under_way {
        found.push(match early {
            Some(result) => result?,
            None => statement.await?,
        });
    }
    match last {
        Some(result) => result?,
        None => committed.await?,
    }
    Ok(found)
}

/// Polls something once, which sends what it has to send; returns its result if it has one at once.
async fn begin_early<F: Future>(mut work: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        Poll::Ready(match work.as_mut().poll(context) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        })
    })
    .await
}
