//! Whose a schema is, which version it has, and how an empty one is made.
//!
//! Every key begins with the session, so that a distributed database can keep a session in one place. What a schema
//! holds is looked at before anything is changed in it: another program's tables must not get ours among them. Opening
//! changes no schema that is there; only an administrator does, see `admin::migrate`.

mod steps;

use std::time::Duration;

use self::steps::MIGRATIONS;
pub(super) use self::steps::{GATE, Step};
use super::bind::{Bind, get};
use super::fault::{Fault, FaultKind, RIGHTS};
use super::link::{Level, Link};
use crate::StoreError;

/// What stands in our table of one row, so that it is known as ours.
pub(super) const MARK: &str = "trunkline session store";

/// The version that this program makes and knows.
pub(super) const KNOWN: u32 = 5;

/// The oldest version that can be worked with as it is.
const OLDEST: u32 = 4;

/// How often one tries to make a schema in steps that another process makes too, and how long one waits in between.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(200);

const _: () = assert!(MIGRATIONS.len() == KNOWN as usize);

/// A schema that can be worked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) version: u32,
    /// What only those know who can read the schema; from version 5 on.
    pub(super) secret: Option<String>,
}

/// What was found.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing, not even the schema perhaps.
    Empty,
    /// The making of it was cut off where it could not be one transaction.
    Unfinished,
    Made(Schema),
}

/// What marks the owners of this program: the third group of an id of version 8 (RFC 9562) says which schema it knows.
/// Programs that knew schema 4 and older took a random id, of version 4.
pub(super) fn mark_of_owner() -> String {
    format!("8{KNOWN:03x}")
}

/// Returns the schema that an owner knows, if its id says so.
pub(super) fn known_by(owner: &str) -> Option<u32> {
    let mark = owner.get(14..18)?.strip_prefix('8')?;
    u32::from_str_radix(mark, 16).ok()
}

/// Returns the schema if it can be worked with, and makes it where there is none.
pub(super) async fn prepare(link: &mut Link, schema: &str) -> Result<Result<Schema, StoreError>, Fault> {
    let found = match look(link, schema).await? {
        Ok(Found::Made(made)) => made,
        Ok(Found::Empty | Found::Unfinished) => match make(link, schema).await? {
            Ok(made) => made,
            Err(error) => return Ok(Err(error)),
        },
        Err(error) => return Ok(Err(error)),
    };
    Ok(must_be_usable(&found, link.place(), schema).map(|()| found))
}

/// Refuses a schema that has to be migrated before it can be worked with.
pub(super) fn must_be_usable(found: &Schema, place: &str, schema: &str) -> Result<(), StoreError> {
    if found.version >= OLDEST {
        return Ok(());
    }
    let place = format!("{place} (schema {schema})");
    Err(StoreError::Older { place, found: i64::from(found.version), needed: i64::from(OLDEST) })
}

/// Makes an empty schema. Any number of processes may do so at once: who comes second is refused by the catalog of the
/// database, and finds what the first has made.
pub(super) async fn make(link: &mut Link, schema: &str) -> Result<Result<Schema, StoreError>, Fault> {
    let mut alone = false;
    let mut tries = 0;
    loop {
        let made = match alone {
            false => make_at_once(link, schema).await,
            true => make_in_steps(link, schema).await,
        };
        let made = match made {
            Err(fault)
                if !alone
                    && matches!(
                        fault.kind,
                        FaultKind::Refused | FaultKind::Collision | FaultKind::Unsupported
                    ) =>
            {
                link.run("ROLLBACK").await?;
                Err(fault)
            }
            // Nothing can be asked here any more, and it need not be this connection that broke: a server behind it may be away.
            Err(fault) if matches!(fault.kind, FaultKind::Lost | FaultKind::Silent | FaultKind::ReadOnly) => {
                return Err(fault);
            }
            made => made,
        };
        let fault = match (look(link, schema).await?, made) {
            (Ok(Found::Made(made)), _) => return Ok(Ok(made)),
            (Err(error), _) => return Ok(Err(error)),
            (Ok(_), Ok(())) => {
                Fault::corrupt(link.place(), "the schema that was made is not there".to_owned())
            }
            (Ok(_), Err(fault)) => fault,
        };
        match fault.kind {
            _ if tries >= TRIES => return Err(fault),
            // There are engines that take one statement on tables in a transaction.
            FaultKind::Unsupported if !alone => alone = true,
            // Another process makes it in steps, and this one was second.
            FaultKind::Refused | FaultKind::Collision if alone || is_second(&fault) => {
                tokio::time::sleep(PAUSE).await;
            }
            _ => return Err(fault),
        }
        tries += 1;
    }
}

/// Whether the catalog of the database has what was to be made already; `pg_` begins the names of its own keys.
fn is_second(fault: &Fault) -> bool {
    let is_of_catalog = |reason: &str| reason.contains("\"pg_") || reason.ends_with("already exists");
    fault.kind == FaultKind::Collision
        || matches!(&fault.error, StoreError::Database { reason, .. } if is_of_catalog(reason))
}

async fn make_at_once(link: &mut Link, schema: &str) -> Result<(), Fault> {
    // Whoever is at it already is waited for; a large database is slow.
    link.begin(Level::Flushed, Vec::new()).await?;
    link.run("SET LOCAL lock_timeout = 0").await?;
    begin(link, schema).await?;
    for step in steps_to_make() {
        step.run(link, false).await?;
    }
    set_version(link).await?;
    link.finish(Vec::new()).await.map(drop)
}

async fn make_in_steps(link: &mut Link, schema: &str) -> Result<(), Fault> {
    begin(link, schema).await?;
    for step in steps_to_make() {
        step.run(link, true).await?;
    }
    set_version_alone(link).await
}

/// Makes the schema, and the table that says that the others will be ours.
async fn begin(link: &mut Link, schema: &str) -> Result<(), Fault> {
    // Not asked of a role that may not make schemas and has one.
    let there = link.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", Bind::new().with(schema)).await?;
    if there.is_empty() {
        link.run(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    // With its row in the same statement: a table of that name without one is of another program.
    let sql =
        format!("CREATE TABLE IF NOT EXISTS @store AS SELECT '{MARK}'::text AS mark, 0::bigint AS version");
    link.run(&sql).await
}

/// Says that the schema has the newest version.
pub(super) async fn set_version(link: &mut Link) -> Result<(), Fault> {
    link.rows(SET_VERSION, Bind::new().with(i64::from(KNOWN))).await.map(drop)
}

/// Says so by a transaction of its own, which flushes what was done before it.
pub(super) async fn set_version_alone(link: &mut Link) -> Result<(), Fault> {
    link.write(Level::Flushed, SET_VERSION, Bind::new().with(i64::from(KNOWN))).await.map(drop)
}

const SET_VERSION: &str = "UPDATE @store SET version = $1";

/// Returns the steps from a version to the newest. Older programs are kept out first.
pub(super) fn steps_from(version: u32) -> Vec<Step> {
    let migrations = MIGRATIONS.get(version as usize..).unwrap_or_default();
    let steps = migrations.iter().copied().flatten().copied();
    match migrations.is_empty() {
        true => Vec::new(),
        false => [Step::Shut, Step::Fence].into_iter().chain(steps).collect(),
    }
}

fn steps_to_make() -> Vec<Step> {
    MIGRATIONS.iter().copied().flatten().copied().collect()
}

/// Looks what a schema holds.
pub(super) async fn look(link: &mut Link, schema: &str) -> Result<Result<Found, StoreError>, Fault> {
    let place = named(link, schema);
    let query = "SELECT count(*) AS tables, count(*) FILTER (WHERE c.relname = 'store') AS stores
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
    let row = link.row(query, Bind::new().with(schema)).await?;
    let counts = || Ok((get::<i64>(&row, "tables")?, get::<i64>(&row, "stores")?));
    let other = |reason: &str| StoreError::NotAStore { place: place.clone(), reason: reason.to_owned() };
    match counts().map_err(|reason| Fault::corrupt(&place, reason))? {
        (0, _) => return Ok(Ok(Found::Empty)),
        (_, 0) => return Ok(Err(other("it holds tables of another program"))),
        _ => {}
    }
    // By its name, because a schema of version 4 has no such column. Another program's table has other ones.
    let query = "SELECT s.mark, s.version, to_jsonb(s) ->> 'channel' AS secret FROM @store s";
    let rows = link.rows(query, Bind::new()).await;
    let rows = match rows {
        Ok(rows) => rows,
        Err(Fault { error: StoreError::Database { reason, .. }, .. }) if !reason.ends_with(RIGHTS) => {
            return Ok(Err(other(&reason)));
        }
        Err(fault) => return Err(fault),
    };
    let [row] = rows.as_slice() else {
        return Ok(Err(other("its table `store` does not have one row")));
    };
    let (mark, found) = (get::<String>(row, "mark"), get::<i64>(row, "version"));
    let (Ok(mark), Ok(found)) = (mark, found) else {
        return Ok(Err(other("its table `store` is of another program")));
    };
    let secret = get(row, "secret").map_err(|reason| Fault::corrupt(&place, reason))?;
    Ok(match u32::try_from(found) {
        _ if mark != MARK => Err(other("its table `store` is of another program")),
        Ok(0) => Ok(Found::Unfinished),
        Ok(version @ 1..=KNOWN) => Ok(Found::Made(Schema { version, secret })),
        _ if found > 0 => Err(StoreError::Newer { place, found, known: i64::from(KNOWN) }),
        _ => Err(StoreError::Corrupt { place, reason: format!("it claims schema version {found}") }),
    })
}

/// Returns how a schema is called where people are told of it.
fn named(link: &Link, schema: &str) -> String {
    format!("{} (schema {schema})", link.place())
}
