//! What a team may take, and how that is held against those who have the team's password.
//!
//! Sizes are those of files, so nothing counts and no row is one that all appends wait for. Looking at the files costs as much
//! as a small append: it is done for one statement in 32, and for each once the files are nearly as large as they may be.
//! What adds or changes many or large rows in one statement is looked at on the way.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::Row;

use super::Link;
use crate::Retention;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;

/// What a team may take. Nothing stands for no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TeamLimits {
    /// How many bytes its tables and indexes may have on the disk. Beyond it what appends, creates or posts fails with
    /// [`StoreError::Full`](crate::StoreError::Full); reading and deleting go on.
    pub bytes: Option<u64>,
    /// How many sessions it may have, archived ones among them.
    pub sessions: Option<u64>,
    /// How many connections it may have open at once: 2 unless set. Beyond it the server refuses more.
    pub connections: u32,
    /// How many bytes of temporary files one of its connections may have: 256 MiB unless set. Only a superuser can set it.
    pub temp_bytes: u64,
    /// How long one of its statements may take: 60 seconds unless set. Who has the password can change it.
    pub statement_timeout: Duration,
    /// Which of its sessions have had their time: a rule that is kept here and carried out by who asks for it, with
    /// [`Retention::plan`] on the team's store. `keep_notes` is not kept.
    pub retention: Retention,
}

/// What one program works with, and half as many as a server of four cores has; see `docs/postgres.md`.
const CONNECTIONS: u32 = 2;

impl Default for TeamLimits {
    fn default() -> Self {
        TeamLimits {
            bytes: None,
            sessions: None,
            connections: CONNECTIONS,
            temp_bytes: 256 * 1024 * 1024,
            statement_timeout: Duration::from_secs(60),
            retention: Retention::default(),
        }
    }
}

impl TeamLimits {
    /// Returns the limits that a team has if nothing else is said: its connections, and no quota.
    pub fn new() -> Self {
        TeamLimits::default()
    }
}

/// The table of one row that says what a team may take. A team may read it.
pub(in super::super) const LIMITS: &str = "limits";

/// The tables that only their owner writes.
pub(super) const FIXED: [&str; 2] = [LIMITS, "store"];

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS @limits (
    bytes         bigint,
    sessions      bigint,
    updates       bigint,
    older_than    bigint,
    keep_bytes    bigint,
    only_archived boolean NOT NULL,
    keep_tags     text[]  NOT NULL
);
CREATE SEQUENCE IF NOT EXISTS @limits_near MAXVALUE 2";

// Whether seven eighths are used is said by a sequence, 2 for yes: it stays said when the statement that has found it is refused, or
// is rolled back by who sent it. What was written and taken back is in the files all the same, until the next vacuum.
//
// A team sees these words as they stand here; `fault::QUOTA` knows them by their beginning. 53100 is "disk full".
//
// Updates, and signs of life, have an eighth and 16 MiB more, above what was there when the quota was set: leases and letters that
// are consumed must go on in a store that is full, or it could not be emptied. That `updates` says.
const HOLD: &str = r#"
CREATE OR REPLACE FUNCTION @limits_hold() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $hold$
DECLARE
    may    record;
    used   bigint;
    room   bigint;
    made   bigint;
    near   boolean;
BEGIN
    SELECT l.bytes, l.updates, l.sessions INTO may FROM @limits l;
    IF TG_WHEN = 'AFTER' AND may.sessions IS NOT NULL THEN
        -- One after the other, or two would each not see what the other makes; changed and not only locked, so that one with an
        -- older snapshot is told that it cannot go on.
        UPDATE @limits SET sessions = may.sessions;
        SELECT count(*) INTO made FROM @sessions;
        IF made > may.sessions THEN
            RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = format(
                'the quota of %s sessions is used up: delete some, or ask for more', may.sessions);
        END IF;
    END IF;
    IF TG_WHEN = 'BEFORE' AND may.bytes IS NOT NULL THEN
        SELECT n.last_value = 2 INTO near FROM @limits_near n;
        -- What the updates of a small table leave behind is less than what they may take more.
        IF TG_LEVEL = 'ROW' OR near AND (TG_OP = 'INSERT' OR pg_table_size(TG_RELID) > 4194304)
            OR get_byte(uuid_send(gen_random_uuid()), 15) < 8
        THEN
            SELECT sum(pg_total_relation_size(c.oid)) INTO used FROM pg_class c
            WHERE c.relname = ANY (ARRAY[TABLES]) AND c.relnamespace = to_regnamespace('"TEAM"');
            IF near <> (used > may.bytes - may.bytes / 8) THEN
                PERFORM setval('@limits_near', CASE WHEN near THEN 1 ELSE 2 END);
            END IF;
            IF TG_LEVEL = 'ROW' THEN
                used := used + pg_column_size(NEW);
            END IF;
            room := may.bytes;
            IF TG_OP = 'UPDATE' OR TG_TABLE_NAME = 'owners' THEN
                room := may.updates;
            END IF;
            IF used > room THEN
                RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = format(
                    'the quota of %s is used up, since the tables have %s: delete sessions, and ask for `trunkline store vacuum` or for more',
                    pg_size_pretty(may.bytes), pg_size_pretty(used));
            END IF;
        END IF;
    END IF;
    IF TG_LEVEL = 'ROW' THEN
        RETURN NEW;
    END IF;
    RETURN NULL;
END
$hold$"#;

/// Says what the team may take.
pub(super) async fn set(link: &mut Link, team: &str, limits: &TeamLimits) -> Result<(), Fault> {
    if !has_limits(link).await? {
        link.run(TABLE).await?;
    }
    // As if nearly all were used, until the first look.
    link.run("DELETE FROM @limits; SELECT setval('@limits_near', 2)").await?;
    let number = |limit: Option<u64>| limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let tags: Vec<String> = limits.retention.keep_tags.iter().map(|tag| tag.replace('\0', "")).collect();
    let bind = Bind::new()
        .with(number(limits.bytes))
        .with(number(limits.sessions))
        .with(number(limits.retention.older_than))
        .with(number(limits.retention.bytes))
        .with(limits.retention.only_archived)
        .with(tags);
    let sql = "INSERT INTO @limits (bytes, updates, sessions, older_than, keep_bytes, only_archived, keep_tags)
               VALUES ($1, greatest($1, (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                   WHERE c.relnamespace = to_regnamespace($7) AND c.relkind IN ('r', 'p'))) + $1 / 8 + 16777216,
                   $2, $3, $4, $5, $6)";
    link.rows(sql, bind.with(format!("\"{team}\""))).await.map(drop)
}

/// Whether it was said what the team may take.
pub(super) async fn has_limits(link: &mut Link) -> Result<bool, Fault> {
    let found = link.rows("SELECT 1 WHERE to_regclass('@limits') IS NOT NULL", Bind::new()).await?;
    Ok(!found.is_empty())
}

/// Returns how many bytes the tables may take, if that is said.
pub(in super::super) async fn quota(link: &mut Link) -> Result<Option<u64>, Fault> {
    let found = link.rows("SELECT max(bytes) AS bytes FROM @limits", Bind::new()).await?;
    let bytes = found.first().map(|row| get::<Option<i64>>(row, "bytes")).transpose();
    let bytes = bytes.map_err(|reason| Fault::corrupt(link.place(), reason))?;
    Ok(bytes.flatten().map(i64::unsigned_abs))
}

/// Sees to it that the team takes no more. Everything that is made belongs to the owner of the tables. What is there already is
/// left as it is, since to make a trigger is to wait for everybody who uses the table.
pub(super) async fn hold(link: &mut Link, team: &str) -> Result<(), Fault> {
    let tables = tables(link, team).await?;
    let named: Vec<String> = tables.iter().map(|table| format!("'{table}'")).collect();
    link.run(&HOLD.replace("TABLES", &named.join(", ")).replace("TEAM", team)).await?;
    link.run("REVOKE ALL ON FUNCTION @limits_hold() FROM PUBLIC").await?;
    let sql = "SELECT c.relname::text AS name, t.tgname::text AS trigger FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
               JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1";
    let rows = link.rows(sql, Bind::new().with(team)).await?;
    let made: Result<BTreeSet<(String, String)>, String> =
        rows.iter().map(|row| Ok((get(row, "trigger")?, get(row, "name")?))).collect();
    let made = made.map_err(|reason| Fault::corrupt(link.place(), reason))?;
    let is_new = |trigger: &str, table: &str| !made.contains(&(trigger.to_owned(), table.to_owned()));
    for table in tables.iter().filter(|table| !FIXED.contains(&table.as_str())) {
        if is_new(ROWS, table) {
            link.run(&format!(
                "CREATE TRIGGER {ROWS} BEFORE INSERT OR UPDATE ON @{table} FOR EACH ROW
                 WHEN (pg_column_size(NEW.*) > 65536 OR get_byte(uuid_send(gen_random_uuid()), 15) < 4)
                 EXECUTE FUNCTION @limits_hold()"
            ))
            .await?;
        }
        if is_new(STATEMENTS, table) {
            // Before it: what a statement has written and is then refused is in the files all the same.
            link.run(&format!(
                "CREATE TRIGGER {STATEMENTS} BEFORE INSERT OR UPDATE ON @{table} FOR EACH STATEMENT
                 EXECUTE FUNCTION @limits_hold()"
            ))
            .await?;
        }
        if table == "sessions" && is_new(COUNT, table) {
            link.run(&format!(
                "CREATE TRIGGER {COUNT} AFTER INSERT ON @{table} FOR EACH STATEMENT EXECUTE FUNCTION @limits_hold()"
            ))
            .await?;
        }
    }
    Ok(())
}

/// The triggers: what looks at single rows, what looks at statements, and what counts sessions. One that does something else
/// gets another name.
const ROWS: &str = "limits_hold_rows";
const COUNT: &str = "limits_hold_count";
const STATEMENTS: &str = "limits_hold_statements";

/// Returns what the team may take, of a row with the columns of the table.
pub(super) fn retention(row: &Row) -> Result<Retention, String> {
    let number = |name: &str| Ok::<_, String>(get::<Option<i64>>(row, name)?.map(i64::unsigned_abs));
    Ok(Retention {
        older_than: number("older_than")?,
        bytes: number("keep_bytes")?,
        only_archived: get(row, "only_archived")?,
        keep_tags: get::<Vec<String>>(row, "keep_tags")?.into_iter().collect::<BTreeSet<_>>(),
        ..Retention::default()
    })
}

/// Returns the names of the tables in the schema of a team; each can stand in a statement as it is.
pub(in super::super) async fn tables(link: &mut Link, team: &str) -> Result<Vec<String>, Fault> {
    let sql = "SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname ~ '^[a-z_]+$' ORDER BY 1";
    let found = link.rows(sql, Bind::new().with(team)).await?;
    let names = found.iter().map(|row| get(row, "name")).collect::<Result<_, String>>();
    names.map_err(|reason| Fault::corrupt(link.place(), reason))
}
