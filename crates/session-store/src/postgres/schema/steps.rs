//! What brings a schema from each version to the next, as steps that may be done again.
//!
//! A step that was cut off, or done by two at once, does no harm when it is done once more: there are engines that take
//! only one statement on tables in a transaction, and then a migration can end between any two of them.

use crate::Header;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
use crate::postgres::link::Link;
use crate::postgres::rows;

/// The constraint that keeps programs out that are older than the schema. They print its name, so it says what to do.
pub(in crate::postgres) const GATE: &str = "restart_with_a_newer_trunkline";

/// Something to be done to a schema, with what it is in words.
#[derive(Copy, Clone, Debug)]
pub(in crate::postgres) enum Step {
    /// Statements, each of which leaves things as they are where it was done before.
    Sql(&'static str, &'static str),
    /// No owner of an older version is registered, and from now on none can be.
    Shut,
    /// No lease of an older version is left, and nothing can be written under one.
    Fence,
    SealSessions,
    SealLetters,
    Key,
    Channel,
}

/// The steps to each version, the first of which begins with an empty schema.
///
/// Never change what one that was released leaves behind: schemas of every past version must still get there.
pub(super) const MIGRATIONS: &[&[Step]] = &[
    &[Step::Sql("make the tables", VERSION_1)],
    &[Step::Sql("give sessions a seal", VERSION_2), Step::SealSessions],
    &[
        Step::Sql("give letters a seal", "ALTER TABLE @letters ADD COLUMN IF NOT EXISTS seal bytea;"),
        Step::SealLetters,
        Step::Sql("index the letters that wait", VERSION_3),
    ],
    &[Step::Sql("make the table of snapshots", VERSION_4)],
    &[Step::Key, Step::Sql("give the store a channel", VERSION_5), Step::Channel],
];

// `records` is the spine: narrow rows, so that listing and walking never touch the bodies. Numbers are the same 64 bits
// as ours, names are compared byte by byte whatever the collation of the database, and `name` in `keys` is a digest,
// because an index takes no long text. Tokens come from one sequence, because a session that is made anew must not be open
// to leases of the one that was deleted.
const VERSION_1: &str = r#"
CREATE TABLE IF NOT EXISTS @sessions (
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
CREATE TABLE IF NOT EXISTS @records (
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
CREATE INDEX IF NOT EXISTS records_nodes ON @records (session, node) WHERE kind <= 1;
CREATE INDEX IF NOT EXISTS records_branches ON @records (session, node) WHERE kind <= 1 AND parent <> node - 1;
CREATE INDEX IF NOT EXISTS records_blobs ON @records (session, content) WHERE kind = 4;
CREATE TABLE IF NOT EXISTS @bodies (
    session uuid   NOT NULL,
    seq     bigint NOT NULL,
    text    text   NOT NULL,
    cuts    bytea,
    PRIMARY KEY (session, seq)
);
CREATE TABLE IF NOT EXISTS @parts (
    session uuid  NOT NULL,
    digest  bytea NOT NULL,
    text    text  NOT NULL,
    PRIMARY KEY (session, digest)
);
CREATE TABLE IF NOT EXISTS @keys (
    session uuid   NOT NULL,
    name    bytea  NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    topic   bigint NOT NULL,
    state   bigint NOT NULL,
    PRIMARY KEY (session, name)
);
CREATE INDEX IF NOT EXISTS keys_topics ON @keys (topic, state);
CREATE TABLE IF NOT EXISTS @letters (
    session  uuid   NOT NULL,
    letter   bigint NOT NULL,
    at       bigint NOT NULL,
    kind     text   NOT NULL,
    body     text   NOT NULL,
    consumed bigint,
    PRIMARY KEY (session, letter)
);
CREATE SEQUENCE IF NOT EXISTS @tokens;
CREATE TABLE IF NOT EXISTS @owners (
    owner       uuid        PRIMARY KEY,
    name        text        NOT NULL,
    alive_until timestamptz NOT NULL
);
"#;

// What a session's row says and no record does is sealed by a digest, which only those have that are complete.
const VERSION_2: &str = "ALTER TABLE @sessions ADD COLUMN IF NOT EXISTS seal bytea;";

// A letter is sealed by a digest while it waits; what was consumed has an empty one. The index has what `rows::WAITING` asks
// for, in the same words, and takes the place of one that had only a part of it.
const VERSION_3: &str = "
CREATE INDEX IF NOT EXISTS letters_open ON @letters (session, letter) WHERE consumed IS NULL OR octet_length(seal) > 0;
DROP INDEX IF EXISTS @letters_waiting;
";

// What was made of the beginning of a log, and can be made again.
const VERSION_4: &str = "
CREATE TABLE IF NOT EXISTS @snapshots (
    session uuid   PRIMARY KEY,
    seq     bigint NOT NULL,
    digest  bytea  NOT NULL,
    form    bigint NOT NULL,
    seal    bytea  NOT NULL,
    bytes   bytea  NOT NULL
);
";

// Any role may listen on any channel of its database, so the name of ours must not be known.
const VERSION_5: &str = "
ALTER TABLE @store ALTER COLUMN version SET NOT NULL;
ALTER TABLE @store ADD COLUMN IF NOT EXISTS channel text;
";

impl Step {
    /// Returns what it does, in words.
    pub(in crate::postgres) fn words(self) -> &'static str {
        match self {
            Step::Sql(words, _) => words,
            Step::Shut => "let no older program register as a writer",
            Step::Fence => "end the leases of older programs",
            Step::SealSessions => "seal the sessions",
            Step::SealLetters => "seal the letters",
            Step::Key => "give the row of the store a key",
            Step::Channel => "choose the name of the channel",
        }
    }

    /// Does it within a transaction that was begun, or each of its statements by itself.
    pub(in crate::postgres) async fn run(self, link: &mut Link, alone: bool) -> Result<(), Fault> {
        match self {
            Step::Sql(_, sql) if alone => {
                // No text in them has a semicolon.
                for statement in sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
                    link.run(statement).await?;
                }
                Ok(())
            }
            Step::Sql(_, sql) => link.run(sql).await,
            Step::Shut => {
                let over = format!(
                    "DELETE FROM @owners WHERE {} AND alive_until < clock_timestamp()",
                    older("owner")
                );
                link.rows(&over, Bind::new()).await?;
                // One that lives or that has come since makes this fail.
                gate(link, "owners", &format!("NOT {}", older("owner")), alone).await
            }
            Step::Fence => {
                let sql = format!("UPDATE @sessions SET owner = NULL, claim = NULL WHERE {}", older("owner"));
                link.rows(&sql, Bind::new()).await?;
                gate(link, "sessions", &format!("owner IS NULL OR NOT {}", older("owner")), alone).await
            }
            Step::SealSessions => seal_sessions(link).await,
            Step::SealLetters => {
                // Before version 3 nothing proved what waits, so it is taken as it stands.
                let sql = format!(
                    "UPDATE @letters l SET seal = {} WHERE consumed IS NULL AND seal IS NULL",
                    rows::LETTER_SEAL
                );
                link.rows(&sql, Bind::new()).await?;
                // What was consumed does not wait again.
                let sql = "UPDATE @letters SET seal = ''::bytea WHERE consumed IS NOT NULL AND seal IS NULL";
                link.rows(sql, Bind::new()).await.map(drop)
            }
            // Where a database is replicated by its rows, none can be changed in a table without a key.
            Step::Key => {
                let sql =
                    "SELECT 1 FROM pg_constraint c WHERE c.conrelid = '@store'::regclass AND c.contype = 'p'";
                match link.rows(sql, Bind::new()).await?.is_empty() {
                    true => link.run("ALTER TABLE @store ADD PRIMARY KEY (mark)").await,
                    false => Ok(()),
                }
            }
            Step::Channel => {
                let sql =
                    "SELECT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '') AS secret";
                let secret: String = read(link, sql, "secret").await?;
                let sql = "UPDATE @store SET channel = $1 WHERE channel IS NULL";
                link.rows(sql, Bind::new().with(secret)).await.map(drop)
            }
        }
    }
}

/// Reads the one value that a statement gives.
async fn read(link: &mut Link, sql: &str, column: &str) -> Result<String, Fault> {
    let row = link.row(sql, Bind::new()).await?;
    get(&row, column).map_err(|reason| Fault::corrupt(link.place(), reason))
}

/// Whether a column with an owner names one that does not know the newest version.
fn older(column: &str) -> String {
    format!("(substring({column}::text FROM 15 FOR 4) COLLATE \"C\" < '{}')", super::mark_of_owner())
}

/// At no moment there is no gate: by itself it is one statement. A distributed table takes only one change in each, and then a
/// transaction has two.
async fn gate(link: &mut Link, table: &str, holds: &str, alone: bool) -> Result<(), Fault> {
    let drop = format!("DROP CONSTRAINT IF EXISTS {GATE}");
    let add = format!("ADD CONSTRAINT {GATE} CHECK ({holds})");
    if alone {
        return link.run(&format!("ALTER TABLE @{table} {drop}, {add}")).await;
    }
    link.run(&format!("ALTER TABLE @{table} {drop}")).await?;
    link.run(&format!("ALTER TABLE @{table} {add}")).await
}

/// Seals what the rows of all sessions say: before version 2 nothing proved it, so it is taken as it stands.
async fn seal_sessions(link: &mut Link) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM @sessions s WHERE s.complete AND s.seal IS NULL", rows::SESSION);
    for row in &link.rows(&sql, Bind::new()).await? {
        let info = rows::info(row).map_err(|reason| Fault::corrupt(link.place(), reason))?;
        let seal = Header::of(&info).seal();
        let bind = Bind::new().session(&info.id).with(seal.as_bytes().as_slice());
        link.rows("UPDATE @sessions SET seal = $2 WHERE session = $1::uuid", bind).await?;
    }
    Ok(())
}
