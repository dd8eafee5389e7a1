//! The tables, and how an older schema becomes a current one.
//!
//! Every key begins with the session, so that a distributed database can keep a session in one place. What a schema
//! holds is looked at before anything is changed in it: another program's tables must not get ours among them.

use super::bind::Bind;
use super::fault::{Fault, RIGHTS};
use super::link::{Level, Link};
use super::rows::{self, hash};
use crate::{Header, StoreError};

/// What stands in our table of one row, so that it is known as ours.
const MARK: &str = "trunkline session store";

/// What brings a schema from each version to the next; the first makes version 1 in an empty schema.
///
/// Never edit one that was released: schemas of every past version must still open.
const MIGRATIONS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4];

// `records` is the spine: narrow rows, so that listing and walking never touch the bodies. Numbers are the same 64 bits
// as ours, names are compared byte by byte whatever the collation of the database, and `name` in `keys` is a digest,
// because an index takes no long text. Tokens come from one sequence, because a session that is made anew must not be open
// to leases of the one that was deleted.
const VERSION_1: &str = r#"
CREATE TABLE @sessions (
    session    uuid    PRIMARY KEY,
    complete   boolean NOT NULL,
    title      text    NOT NULL,
    tags       text[]  NOT NULL,
    archived   boolean NOT NULL,
    workspace  text,
    created_at bigint  NOT NULL,
    updated_at bigint  NOT NULL,
    head       bigint  NOT NULL,
    records    bigint  NOT NULL,
    nodes      bigint  NOT NULL,
    bytes      bigint  NOT NULL,
    digest     bytea   NOT NULL,
    letters    bigint  NOT NULL DEFAULT 0,
    consumed   bigint  NOT NULL DEFAULT 0,
    token      bigint  NOT NULL DEFAULT 0,
    owner      uuid,
    claim      bigint
) WITH (fillfactor = 60);
CREATE TABLE @records (
    session uuid     NOT NULL,
    seq     bigint   NOT NULL,
    kind    smallint NOT NULL,
    node    bigint,
    parent  bigint,
    at      bigint   NOT NULL,
    bytes   bigint   NOT NULL,
    digest  bytea    NOT NULL,
    layer   text COLLATE "C",
    name    text COLLATE "C",
    key     text COLLATE "C",
    state   text COLLATE "C",
    once    boolean,
    content bytea,
    PRIMARY KEY (session, seq)
);
CREATE INDEX records_nodes ON @records (session, node) WHERE kind <= 1;
CREATE INDEX records_branches ON @records (session, node) WHERE kind <= 1 AND parent <> node - 1;
CREATE INDEX records_blobs ON @records (session, content) WHERE kind = 4;
CREATE TABLE @bodies (
    session uuid   NOT NULL,
    seq     bigint NOT NULL,
    text    text   NOT NULL,
    cuts    bytea,
    PRIMARY KEY (session, seq)
);
CREATE TABLE @parts (
    session uuid  NOT NULL,
    digest  bytea NOT NULL,
    text    text  NOT NULL,
    PRIMARY KEY (session, digest)
);
CREATE TABLE @keys (
    session uuid   NOT NULL,
    name    bytea  NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    topic   bigint NOT NULL,
    state   bigint NOT NULL,
    PRIMARY KEY (session, name)
);
CREATE INDEX keys_topics ON @keys (topic, state);
CREATE TABLE @letters (
    session  uuid   NOT NULL,
    letter   bigint NOT NULL,
    at       bigint NOT NULL,
    kind     text   NOT NULL,
    body     text   NOT NULL,
    consumed bigint,
    PRIMARY KEY (session, letter)
);
CREATE INDEX letters_waiting ON @letters (session, letter) WHERE consumed IS NULL;
CREATE SEQUENCE @tokens;
CREATE TABLE @owners (
    owner       uuid        PRIMARY KEY,
    name        text        NOT NULL,
    alive_until timestamptz NOT NULL
);
"#;

// What a session's row says and no record does is sealed by a digest, which only those have that are complete.
const VERSION_2: &str = "ALTER TABLE @sessions ADD COLUMN seal bytea";

// A letter is sealed by a digest while it waits; what was consumed has an empty one. The index has what `rows::WAITING` asks
// for, in the same words, and takes the place of one that had only a part of it.
const VERSION_3: &str = "
ALTER TABLE @letters ADD COLUMN seal bytea;
CREATE INDEX letters_open ON @letters (session, letter) WHERE consumed IS NULL OR octet_length(seal) > 0;
DROP INDEX @letters_waiting;
";

// What was made of the beginning of a log, and can be made again.
const VERSION_4: &str = "
CREATE TABLE @snapshots (
    session uuid   PRIMARY KEY,
    seq     bigint NOT NULL,
    digest  bytea  NOT NULL,
    form    bigint NOT NULL,
    seal    bytea  NOT NULL,
    bytes   bytea  NOT NULL
);
";

const MARKED: &str = "
CREATE TABLE IF NOT EXISTS @store (mark text NOT NULL, version bigint NOT NULL);
DELETE FROM @store;
";

/// Makes the schema current, or says why it cannot be used.
pub(super) async fn prepare(link: &mut Link, schema: &str) -> Result<Result<(), StoreError>, Fault> {
    match version(link, schema).await? {
        Ok(version) if version == MIGRATIONS.len() => return Ok(Ok(())),
        Ok(_) => {}
        Err(error) => return Ok(Err(error)),
    }
    link.begin(Level::Flushed, Vec::new()).await?;
    // Whoever else opens the same schema waits here; the lock ends with the transaction.
    let bind = Bind::new().with(hash(&[MARK, schema]));
    // How long others may take is theirs to say: a large migration is slow.
    link.run("SET LOCAL lock_timeout = 0").await?;
    link.rows("SELECT pg_advisory_xact_lock($1)", bind).await?;
    let result = match version(link, schema).await? {
        Ok(found) => {
            migrate(link, schema, found).await?;
            Ok(())
        }
        Err(error) => Err(error),
    };
    link.end(result).await
}

async fn migrate(link: &mut Link, schema: &str, found: usize) -> Result<(), Fault> {
    let migrations = MIGRATIONS.get(found..).unwrap_or_default();
    if migrations.is_empty() {
        return Ok(());
    }
    if found == 0 {
        // Not asked of a role that may not make schemas and has one.
        let bind = Bind::new().with(schema);
        let there = link.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", bind).await?;
        if there.is_empty() {
            link.run(&format!("CREATE SCHEMA \"{schema}\"")).await?;
        }
    }
    for migration in migrations {
        link.run(migration).await?;
    }
    if (1..2).contains(&found) {
        seal(link).await?;
    }
    // Before version 3 nothing proved what waits, so it is taken as it stands.
    if (1..3).contains(&found) {
        link.run(&format!("UPDATE @letters l SET seal = {} WHERE consumed IS NULL", rows::LETTER_SEAL))
            .await?;
        // What was consumed does not wait again.
        link.run("UPDATE @letters SET seal = ''::bytea WHERE consumed IS NOT NULL").await?;
    }
    link.run(MARKED).await?;
    let bind = Bind::new().with(MARK).with(MIGRATIONS.len() as i64);
    link.rows("INSERT INTO @store (mark, version) VALUES ($1, $2)", bind).await.map(drop)
}

/// Seals what the rows of all sessions say: before version 2 nothing proved it, so it is taken as it stands.
async fn seal(link: &mut Link) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM @sessions s WHERE s.complete", rows::SESSION);
    for row in &link.rows(&sql, Bind::new()).await? {
        let info = rows::info(row).map_err(|reason| Fault::corrupt(link.place(), reason))?;
        let seal = Header::of(&info).seal();
        let bind = Bind::new().session(&info.id).with(seal.as_bytes().as_slice());
        link.rows("UPDATE @sessions SET seal = $2 WHERE session = $1::uuid", bind).await?;
    }
    Ok(())
}

/// Returns the version of the schema, at most the newest that is known; 0 for an empty one or none.
async fn version(link: &mut Link, schema: &str) -> Result<Result<usize, StoreError>, Fault> {
    let place = format!("{} (schema {schema})", link.place());
    let query = "SELECT count(*) AS tables, count(*) FILTER (WHERE c.relname = 'store') AS stores
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
    let bind = Bind::new().with(schema);
    let fault = |error: tokio_postgres::Error| Fault::of(&place, &error);
    let other = |reason: &str| StoreError::NotAStore { place: place.clone(), reason: reason.to_owned() };
    let rows = link.rows(query, bind).await?;
    let mut counts = (0_i64, 0_i64);
    for row in &rows {
        counts = (row.try_get("tables").map_err(fault)?, row.try_get("stores").map_err(fault)?);
    }
    match counts {
        (0, _) => return Ok(Ok(0)),
        (_, 0) => return Ok(Err(other("it holds tables of another program"))),
        _ => {}
    }
    // Another program's table of that name has other columns.
    let rows = match link.rows("SELECT mark, version FROM @store", Bind::new()).await {
        Ok(rows) => rows,
        Err(Fault { error: StoreError::Database { reason, .. }, .. }) if !reason.ends_with(RIGHTS) => {
            return Ok(Err(other(&reason)));
        }
        Err(fault) => return Err(fault),
    };
    let [row] = rows.as_slice() else {
        return Ok(Err(other("its table `store` does not have one row")));
    };
    let (mark, found) = (row.try_get::<_, String>("mark"), row.try_get::<_, i64>("version"));
    let (Ok(mark), Ok(found)) = (mark, found) else {
        return Ok(Err(other("its table `store` is of another program")));
    };
    Ok(match usize::try_from(found) {
        _ if mark != MARK => Err(other("its table `store` is of another program")),
        Ok(version @ 1..) if version <= MIGRATIONS.len() => Ok(version),
        Ok(1..) => Err(StoreError::Newer { place, found, known: MIGRATIONS.len() as i64 }),
        _ => Err(StoreError::Corrupt { place, reason: format!("it claims schema version {found}") }),
    })
}
