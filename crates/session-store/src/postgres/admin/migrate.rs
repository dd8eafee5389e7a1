//! Brings a store to the newest version while programs of the last one may still be running.
//!
//! What keeps an older program from writing is not that it was looked for: after the look it could come. It is a
//! constraint on the table of owners, which the database refuses while one is registered, and which refuses them from then
//! on; and one on the sessions, for a program that was asleep and holds a lease that nobody took.

use std::time::Duration;

use tokio::time::Instant;

use super::PostgresAdmin;
use super::owners::{MIGRATION, StoreOwner, alive};
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::{Fault, FaultKind};
use crate::postgres::link::{Level, Link};
use crate::postgres::schema::{self, Found, GATE, KNOWN, Step};

/// How often it is looked whether older programs have ended.
const LOOK: Duration = Duration::from_millis(500);

/// How long a migration is believed to be under way after its last sign of life.
const TTL: Duration = Duration::from_secs(60);

/// How a store is migrated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrate {
    wait: Duration,
    dry_run: bool,
}

impl Migrate {
    /// Returns what [`PostgresAdmin::migrate`] does if nothing else is said: it does not wait for older programs.
    pub fn new() -> Self {
        Migrate::default()
    }

    /// Waits so long for older programs to end.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Only says what would be done.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// What a migration did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The version that was found; nothing where no store was.
    pub from: Option<u32>,
    /// The newest version.
    pub to: u32,
    /// What is to be done, in words and in order; nothing if the store is current.
    pub steps: Vec<&'static str>,
    /// Older programs that have the store open to write. While there are any, nothing is done.
    pub waits_for: Vec<StoreOwner>,
    /// Whether the store has the newest version now.
    pub done: bool,
}

/// What a migration is at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationProgress<'a> {
    /// It waits for older programs.
    Waiting {
        /// Them.
        owners: &'a [StoreOwner],
        /// For how long it will go on waiting.
        left: Duration,
    },
    /// It waits for others who use a table, such as a backup.
    Blocked,
    /// A step begins.
    Step {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// What is done.
        what: &'static str,
    },
}

impl PostgresAdmin {
    /// Brings the store to the newest version; makes it where there is none.
    ///
    /// Programs that know the newest version already may go on. Older ones that write must have ended: if they have not
    /// within the time that `how` allows, nothing was done and [`Migration::waits_for`] names them. From then on an older
    /// program is refused when it opens the store, and one that has it open cannot write in a session any more.
    ///
    /// All of it is one transaction, or on an engine that refuses that, one for each step. Then a migration that was cut
    /// off leaves a schema that says its old version: newer programs can use it as before, older ones can only read, and the next
    /// migration goes on. Two migrations do not run at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`], [`StoreError::NotAStore`] or [`StoreError::Corrupt`] if there is no store that this program
    /// knows; [`StoreError::Busy`] if others use a table for longer than `how` allows; [`StoreError::Database`] if another
    /// migration is under way or the role may not; [`StoreError::Io`], and then it is open whether it was done: migrate again.
    pub async fn migrate(
        &self,
        how: &Migrate,
        mut progress: impl FnMut(MigrationProgress<'_>),
    ) -> Result<Migration, StoreError> {
        let found = self.found().await?;
        let from = match &found {
            Found::Made(made) => Some(made.version),
            Found::Empty | Found::Unfinished => None,
        };
        let steps = match from {
            Some(version) => schema::steps_from(version),
            None => Vec::new(),
        };
        let words = match from {
            Some(_) => steps.iter().map(|step| step.words()).collect(),
            None => vec!["make the store"],
        };
        let mut migration = Migration { from, to: KNOWN, steps: words, waits_for: Vec::new(), done: false };
        if from == Some(KNOWN) {
            migration.done = true;
            if !how.dry_run {
                self.settle_team().await?;
            }
            return Ok(migration);
        }
        let mut link = self.patient.take().await.map_err(|fault| fault.error)?;
        let result = match from {
            None if how.dry_run => Ok(Ok(())),
            None => {
                schema::make(&mut link, self.schema()).await.map(|made| made.map(|_| migration.done = true))
            }
            Some(_) => self.bring(&mut link, &steps, how, &mut migration, &mut progress).await.map(Ok),
        };
        match result {
            Ok(result) => {
                link.keep();
                result?;
                if migration.done {
                    self.settle_team().await?;
                }
                Ok(migration)
            }
            Err(fault) => Err(fault.error),
        }
    }

    /// Brings an older schema to the newest version, once no program writes it that does not know that.
    async fn bring(
        &self,
        link: &mut Link,
        steps: &[Step],
        how: &Migrate,
        migration: &mut Migration,
        progress: &mut impl FnMut(MigrationProgress<'_>),
    ) -> Result<(), Fault> {
        if how.dry_run {
            migration.waits_for = older(link).await?;
            return Ok(());
        }
        let turn = Turn::take(link, &self.options.name).await?;
        let done = wait_and_bring(link, &turn, steps, how.wait, progress).await;
        // On a connection that broke it cannot be said; then it expires.
        let given_back = turn.give_back(link).await;
        migration.waits_for = done?;
        migration.done = migration.waits_for.is_empty();
        given_back
    }
}

/// Returns the older programs that did not end in time; none if it was done.
async fn wait_and_bring(
    link: &mut Link,
    turn: &Turn,
    steps: &[Step],
    wait: Duration,
    progress: &mut impl FnMut(MigrationProgress<'_>),
) -> Result<Vec<StoreOwner>, Fault> {
    let end = Instant::now() + wait;
    let mut alone = false;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        turn.renew(link).await?;
        let owners = older(link).await?;
        if !owners.is_empty() {
            if left.is_zero() {
                return Ok(owners);
            }
            progress(MigrationProgress::Waiting { owners: &owners, left });
            tokio::time::sleep(LOOK.min(left)).await;
            continue;
        }
        let fault = match take_steps(link, turn, steps, alone, progress).await {
            Ok(()) => return Ok(Vec::new()),
            Err(fault) => fault,
        };
        let is_in_order =
            matches!(fault.kind, FaultKind::Refused | FaultKind::Collision | FaultKind::Unsupported);
        if is_in_order && !alone {
            link.run("ROLLBACK").await?;
        }
        match &fault {
            Fault { kind: FaultKind::Unsupported, .. } if !alone => alone = true,
            // One of them came after the look, and will be named by the next.
            Fault { error: StoreError::Database { reason, .. }, .. } if reason.contains(GATE) => {
                // It may have gone as it came.
                if left.is_zero() && older(link).await?.is_empty() {
                    return Err(fault);
                }
            }
            Fault { kind: FaultKind::Collision, .. } if !left.is_zero() => {
                progress(MigrationProgress::Blocked);
                tokio::time::sleep(LOOK.min(left)).await;
            }
            _ => return Err(fault),
        }
    }
}

async fn take_steps(
    link: &mut Link,
    turn: &Turn,
    steps: &[Step],
    alone: bool,
    progress: &mut impl FnMut(MigrationProgress<'_>),
) -> Result<(), Fault> {
    if !alone {
        link.begin(Level::Flushed, Vec::new()).await?;
        // Who waits for a table lets nobody else have it meanwhile: better not for long, and again. A large table takes its
        // time, whatever the role is allowed; and statements on all shards do not mix with tables that are changed unless
        // they go one after the other.
        link.run(
            "SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = 0;
             SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
        )
        .await?;
    }
    for (number, step) in (1..).zip(steps) {
        // In a transaction it holds the row, so nobody else can take the turn until the end of it.
        turn.renew(link).await?;
        progress(MigrationProgress::Step { number, of: steps.len(), what: step.words() });
        step.run(link, alone).await?;
    }
    if alone {
        return schema::set_version_alone(link).await;
    }
    schema::set_version(link).await?;
    link.finish(Vec::new()).await.map(drop)
}

/// Returns the older programs that are alive.
async fn older(link: &mut Link) -> Result<Vec<StoreOwner>, Fault> {
    let (owners, _) = alive(link).await?;
    Ok(owners.into_iter().filter(|owner| owner.knows.is_none_or(|known| known < KNOWN)).collect())
}

/// The right to migrate, which one has at a time: a row among the owners, so that it outlives a transaction and needs nothing
/// of a connection.
struct Turn {
    name: String,
}

impl Turn {
    async fn take(link: &mut Link, who: &str) -> Result<Self, Fault> {
        // So that two of one name are told apart.
        let row = link.row("SELECT left(gen_random_uuid()::text, 8) AS token", Bind::new()).await?;
        let token: String = get(&row, "token").map_err(|reason| Fault::corrupt(link.place(), reason))?;
        let turn = Turn { name: format!("migration {token} by {who}") };
        let query = "INSERT INTO @owners AS o (owner, name, alive_until)
                     VALUES ($1::uuid, $2, clock_timestamp() + $3 * interval '1 millisecond')
                     ON CONFLICT (owner) DO UPDATE SET name = excluded.name, alive_until = excluded.alive_until
                     WHERE o.alive_until < clock_timestamp() RETURNING 1";
        let bind = Bind::new().with(MIGRATION).with(&turn.name).with(TTL.as_millis() as f64);
        match link.write(Level::Committed, query, bind).await?.is_empty() {
            true => Err(taken(link)),
            false => Ok(turn),
        }
    }

    /// Shows that the migration goes on.
    async fn renew(&self, link: &mut Link) -> Result<(), Fault> {
        let query = "UPDATE @owners SET alive_until = clock_timestamp() + $3 * interval '1 millisecond'
                     WHERE owner = $1::uuid AND name = $2 RETURNING 1";
        let bind = Bind::new().with(MIGRATION).with(&self.name).with(TTL.as_millis() as f64);
        match link.rows(query, bind).await?.is_empty() {
            true => Err(taken(link)),
            false => Ok(()),
        }
    }

    async fn give_back(&self, link: &mut Link) -> Result<(), Fault> {
        let query = "DELETE FROM @owners WHERE owner = $1::uuid AND name = $2";
        link.rows(query, Bind::new().with(MIGRATION).with(&self.name)).await.map(drop)
    }
}

/// Returns the fault of a process that may not migrate now.
fn taken(link: &Link) -> Fault {
    let reason = format!(
        "another migration is under way, or was cut off less than {} s ago: look with `trunkline store status`",
        TTL.as_secs()
    );
    Fault::refused(link.place(), reason)
}
