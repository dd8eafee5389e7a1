//! The connections: a few, however many sessions there are.
//!
//! A connection goes back only when its work has ended well or was refused in order. Whoever is interrupted takes it
//! along, so none is ever found inside somebody else's transaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection, Row};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::fault::{Fault, FaultKind};
use super::rows::Bind;
use crate::StoreError;

/// A connection that nobody used for so long is closed.
const IDLE: Duration = Duration::from_secs(30);

/// A connection that rested for longer is asked for a sign of life where a lost answer would leave something open.
const DOUBT: Duration = Duration::from_millis(500);

/// What each connection begins with. A role or a database may be set up to acknowledge before the flush; we are not.
const BEGIN: &str = "SELECT
    set_config('default_transaction_isolation', 'read committed', false), set_config('lock_timeout', '5s', false),
    set_config('idle_in_transaction_session_timeout', '15s', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
    coalesce(current_setting('fsync', true), 'on') AS fsync, current_setting('server_encoding') AS encoding";

/// All connections of a store. Has no `Debug`: sqlx's options would show the password.
pub(super) struct Links {
    options: PgConnectOptions,
    place: String,
    /// What stands before the name of a table.
    schema: String,
    patience: Duration,
    statement_timeout: Duration,
    seats: Arc<Semaphore>,
    idle: Mutex<Idle>,
    runtime: Handle,
}

#[derive(Default)]
struct Idle {
    rested: Vec<(Instant, Open)>,
    // Whether somebody closes what rests too long.
    watched: bool,
    closed: bool,
}

struct Open {
    connection: PgConnection,
    flushes: bool,
}

/// A connection in use.
pub(super) struct Link {
    open: Open,
    rested: Duration,
    _seat: Option<OwnedSemaphorePermit>,
    home: Arc<Links>,
}

impl Links {
    pub(super) fn new(
        connect: PgConnectOptions,
        place: String,
        options: &super::PostgresOptions,
        runtime: Handle,
    ) -> Self {
        Links {
            options: connect,
            place,
            schema: format!("\"{}\".", options.schema),
            patience: options.patience,
            statement_timeout: options.statement_timeout,
            seats: Arc::new(Semaphore::new(options.connections)),
            idle: Mutex::default(),
            runtime,
        }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Waits for a connection.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Link, Fault> {
        let deadline = Instant::now() + self.patience;
        let seat = tokio::time::timeout_at(deadline, Arc::clone(&self.seats).acquire_owned()).await;
        let Ok(Ok(seat)) = seat else { return Err(self.unreachable()) };
        let rested = self.idle().rested.pop();
        if let Some((since, open)) = rested {
            return Ok(self.link(open, since.elapsed(), Some(seat)));
        }
        let (open, _) = self.connect(deadline, true).await?;
        Ok(self.link(open, Duration::ZERO, Some(seat)))
    }

    /// Makes a connection beyond the number, for what must neither wait behind others nor trust what they left.
    pub(super) async fn make(self: &Arc<Self>, within: Duration) -> Result<Link, Fault> {
        let (open, _) = self.connect(Instant::now() + within, true).await?;
        Ok(self.link(open, Duration::ZERO, None))
    }

    /// Takes a connection that is alive, for what cannot be sent twice.
    pub(super) async fn take_alive(self: &Arc<Self>) -> Result<Link, Fault> {
        loop {
            let mut link = self.take().await?;
            if link.rested < DOUBT || link.rows("SELECT 1", Bind::new()).await.is_ok() {
                return Ok(link);
            }
        }
    }

    /// Makes a connection without trying for long: whoever opens a store wants to know what is wrong.
    pub(super) async fn first(self: &Arc<Self>) -> Result<(Link, String), Fault> {
        let (open, encoding) = self.connect(Instant::now() + self.patience, false).await?;
        Ok((self.link(open, Duration::ZERO, None), encoding))
    }

    /// Drops what rests: what broke one connection has broken those too.
    pub(super) fn distrust(&self) {
        self.idle().rested.clear();
    }

    /// Closes what rests, and from now on everything that comes back.
    pub(super) async fn close(&self) {
        let rested = {
            let mut idle = self.idle();
            idle.closed = true;
            std::mem::take(&mut idle.rested)
        };
        for (_, open) in rested {
            // It is gone whether it says so or not.
            let _ = open.connection.close().await;
        }
    }

    fn link(self: &Arc<Self>, open: Open, rested: Duration, seat: Option<OwnedSemaphorePermit>) -> Link {
        Link { open, rested, _seat: seat, home: Arc::clone(self) }
    }

    /// Connects, and tries again while the server is away if `patient`, else only while it says that it will come.
    async fn connect(&self, deadline: Instant, patient: bool) -> Result<(Open, String), Fault> {
        let mut pause = Duration::from_millis(10);
        loop {
            let fault = match tokio::time::timeout_at(deadline, self.connect_once()).await {
                Ok(Ok(open)) => return Ok(open),
                Ok(Err(fault)) => fault,
                Err(_) => return Err(self.unreachable()),
            };
            let comes = fault.kind == FaultKind::Unreachable || patient && fault.kind == FaultKind::Lost;
            if !comes {
                return Err(fault);
            }
            if Instant::now() + pause >= deadline {
                return Err(self.unreachable());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(250));
        }
    }

    async fn connect_once(&self) -> Result<(Open, String), Fault> {
        let fault = |error| Fault::of(&self.place, &error);
        let mut connection = PgConnection::connect_with(&self.options).await.map_err(fault)?;
        let said = sqlx::query(BEGIN).fetch_one(&mut connection).await.map_err(fault)?;
        let fsync: String = said.try_get("fsync").map_err(fault)?;
        let encoding: String = said.try_get("encoding").map_err(fault)?;
        Ok((Open { connection, flushes: fsync != "off" }, encoding))
    }

    fn unreachable(&self) -> Fault {
        Fault { error: StoreError::Busy { place: self.place.clone() }, kind: FaultKind::Unreachable }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections after they have rested for long, until none is left.
    async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(IDLE).await;
            let old = {
                let mut idle = self.idle();
                let (old, rested) = std::mem::take(&mut idle.rested)
                    .into_iter()
                    .partition::<Vec<_>, _>(|(since, _)| since.elapsed() >= IDLE);
                idle.rested = rested;
                idle.watched = !idle.rested.is_empty();
                old
            };
            let watched = self.idle().watched;
            for (_, open) in old {
                let _ = open.connection.close().await;
            }
            if !watched {
                return;
            }
        }
    }
}

impl Link {
    /// Gives the connection back for others. Without it the connection is closed.
    pub(super) fn keep(self) {
        let Link { open, home, _seat, .. } = self;
        let watch = {
            let mut idle = home.idle();
            if idle.closed {
                return;
            }
            idle.rested.push((Instant::now(), open));
            !std::mem::replace(&mut idle.watched, true)
        };
        if watch {
            let watching = Arc::clone(&home).watch();
            home.runtime.spawn(watching);
        }
    }

    /// Whether a commit reaches the disk before it is acknowledged.
    pub(super) fn flushes(&self) -> bool {
        self.open.flushes
    }

    pub(super) fn place(&self) -> &str {
        &self.home.place
    }

    /// Runs a statement to its end and returns its rows; `@` stands for our schema.
    pub(super) async fn rows(&mut self, sql: &str, bind: Bind) -> Result<Vec<PgRow>, Fault> {
        let arguments = bind.arguments(&self.home.place)?;
        let sql = sql.replace('@', &self.home.schema);
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
        let rows = query.fetch_all(&mut self.open.connection);
        match tokio::time::timeout(self.home.statement_timeout, rows).await {
            Ok(rows) => rows.map_err(|error| Fault::of(&self.home.place, &error)),
            Err(_) => Err(silent(&self.home)),
        }
    }

    /// Runs a statement that gives one row.
    pub(super) async fn row(&mut self, sql: &str, bind: Bind) -> Result<PgRow, Fault> {
        let row = self.rows(sql, bind).await?.into_iter().next();
        row.ok_or_else(|| Fault::corrupt(&self.home.place, "a statement gave no row".to_owned()))
    }

    /// Runs statements without arguments, all in one go.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), Fault> {
        let sql = sql.replace('@', &self.home.schema);
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.open.connection);
        match tokio::time::timeout(self.home.statement_timeout, done).await {
            Ok(done) => done.map(drop).map_err(|error| Fault::of(&self.home.place, &error)),
            Err(_) => Err(silent(&self.home)),
        }
    }

    /// Ends a transaction: commits what succeeded and rolls back what did not.
    pub(super) async fn end<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, Fault> {
        self.run(if result.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(result)
    }
}

fn silent(home: &Links) -> Fault {
    let reason = format!("no answer within {} s", home.statement_timeout.as_secs_f32());
    Fault { error: StoreError::Io { place: home.place.clone(), reason }, kind: FaultKind::Silent }
}

/// How often something was tried, and what is known of that.
#[derive(Debug, Default)]
pub(super) struct Tries {
    lost: u8,
    collisions: u8,
    /// It changes nothing, so it does not matter whether a try that got no answer was done.
    reads: bool,
    /// Why a try that may have been done got no answer.
    open: Option<StoreError>,
}

impl Tries {
    /// Returns the tries of what changes nothing.
    pub(super) fn reading() -> Self {
        Tries { reads: true, ..Tries::default() }
    }

    /// Returns the tries of what is not sent again if it may have been done.
    pub(super) fn once() -> Self {
        Tries { lost: u8::MAX, ..Tries::default() }
    }

    /// Returns the tries of what may have been done before, if that try got an error instead of an answer.
    pub(super) fn going_on(open: Option<StoreError>) -> Self {
        Tries { open, ..Tries::default() }
    }

    /// Whether an earlier try may have been done.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Agrees to try again after a fault, or returns the error to end with.
    pub(super) fn after(&mut self, fault: Fault, links: &Links) -> Result<(), StoreError> {
        let Fault { error, kind } = fault;
        match kind {
            FaultKind::Lost => {
                links.distrust();
                if self.lost >= 4 {
                    return Err(self.end(error));
                }
                self.lost += 1;
                if !self.reads {
                    self.open.get_or_insert(error);
                }
            }
            FaultKind::Collision if self.collisions < 5 => self.collisions += 1,
            _ => return Err(self.end(error)),
        }
        Ok(())
    }

    /// Returns the error to end with. One that promises that nothing was changed is not told of what may have been done.
    pub(super) fn end(&mut self, error: StoreError) -> StoreError {
        match (self.open.take(), error) {
            (Some(StoreError::Io { place, reason }), StoreError::Busy { .. }) => {
                let reason =
                    format!("{reason}; since then the server could not be asked whether it was done");
                StoreError::Io { place, reason }
            }
            (Some(StoreError::Io { place, reason }), StoreError::Full { .. }) => {
                StoreError::Io { place, reason: format!("{reason}; then there was no room left") }
            }
            (Some(StoreError::Io { place, reason }), StoreError::Database { reason: then, .. }) => {
                StoreError::Io { place, reason: format!("{reason}; then: {then}") }
            }
            (_, error) => error,
        }
    }
}

/// Tries something that may be done twice, each time on a connection of its own. `$work` is
/// `Result<Result<T, StoreError>, Fault>`: refusals of ours leave the connection in order, faults do not. `$again` tells
/// it whether an earlier try may have been done; `reading` says that it changes nothing.
macro_rules! attempt {
    (reading $links:expr, |$link:ident| $work:expr) => {
        attempt!($links, $crate::postgres::links::Tries::reading(), |$link, _again| $work)
    };
    ($links:expr, |$link:ident| $work:expr) => {
        attempt!($links, $crate::postgres::links::Tries::default(), |$link, _again| $work)
    };
    ($links:expr, |$link:ident, $again:ident| $work:expr) => {
        attempt!($links, $crate::postgres::links::Tries::default(), |$link, $again| $work)
    };
    ($links:expr, $tries:expr, |$link:ident, $again:ident| $work:expr) => {{
        let mut tries = $tries;
        loop {
            let mut $link = match $links.take().await {
                Ok(link) => link,
                Err(fault) => break Err(tries.end(fault.error)),
            };
            let $again = tries.is_open();
            match $work.await {
                Ok(result) => {
                    $link.keep();
                    break result;
                }
                Err(fault) => match tries.after(fault, &$links) {
                    Ok(()) => {}
                    Err(error) => break Err(error),
                },
            }
        }
    }};
}
pub(super) use attempt;
