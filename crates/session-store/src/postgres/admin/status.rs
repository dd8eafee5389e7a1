//! What a store is like, and what about its server its administrator should know.

use super::PostgresAdmin;
use super::owners::{StoreOwner, alive};
use super::teams::{LIMITS, quota};
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
use crate::postgres::link::Link;
use crate::postgres::schema::{self, Found, KNOWN, Schema};
use crate::postgres::shards::is_distributed;
use crate::postgres::tries::attempt;

/// What a store in PostgreSQL is like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStatus {
    /// Where the database is, without user and password.
    pub place: String,
    /// The schema that the store is in.
    pub schema: String,
    /// The version of the schema; nothing if the store is not made yet.
    pub version: Option<u32>,
    /// The version that this program makes.
    pub newest: u32,
    /// The programs that have it open to write.
    pub owners: Vec<StoreOwner>,
    /// What a migration that is under way calls itself.
    pub migrating: Option<String>,
    /// How many sessions there are, imports that are under way among them.
    pub sessions: u64,
    /// How many records all sessions have.
    pub records: u64,
    /// The tables with what they take on the disk, the largest first.
    pub tables: Vec<StoreTable>,
    /// How many bytes the tables may take; nothing if the store is no team's, or the team has no such limit.
    pub quota: Option<u64>,
    /// Whether the sessions are distributed over several servers.
    pub distributed: bool,
    /// Whether a pooler is between us and the server.
    pub pooled: bool,
    /// The version of the server.
    pub server: String,
    /// Settings of the server that decide what an acknowledgement means, by their names, as this role has them.
    pub settings: Vec<(String, String)>,
    /// What should be changed, in sentences.
    pub warnings: Vec<String>,
}

/// A table and what it takes on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreTable {
    /// Its name.
    pub name: String,
    /// How many rows it has, about; nothing before they were counted.
    pub rows: Option<u64>,
    /// What it takes with its indexes.
    pub bytes: u64,
}

impl StoreStatus {
    /// Returns what all tables take on the disk.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }

    /// Returns whether [`PostgresAdmin::migrate`] has something to do.
    pub fn is_current(&self) -> bool {
        self.version == Some(self.newest)
    }
}

/// What decides what an acknowledgement means.
const SETTINGS: [&str; 7] = [
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_level",
    "wal_writer_delay",
    "max_connections",
];

impl PostgresAdmin {
    /// Looks at the store and its server; changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Newer`], [`StoreError::NotAStore`] or [`StoreError::Corrupt`] if the schema is no store that this
    /// program knows; [`StoreError::Busy`], [`StoreError::Io`], [`StoreError::Database`].
    pub async fn status(&self) -> Result<StoreStatus, StoreError> {
        attempt!(reading self.links, |link| status(&mut link, self.schema()))
    }

    /// Returns what was found of the store.
    pub(super) async fn found(&self) -> Result<Found, StoreError> {
        attempt!(reading self.links, |link| schema::look(&mut link, self.schema()))
    }

    /// Returns the store, which must have been made.
    pub(super) async fn made(&self) -> Result<Schema, StoreError> {
        match self.found().await? {
            Found::Made(made) => Ok(made),
            Found::Empty | Found::Unfinished => Err(StoreError::NotAStore {
                place: format!("{} (schema {})", self.place(), self.schema()),
                reason: "it is not made yet: `trunkline store migrate` makes it, and so does the first use"
                    .to_owned(),
            }),
        }
    }
}

async fn status(link: &mut Link, schema: &str) -> Result<Result<StoreStatus, StoreError>, Fault> {
    let version = match schema::look(link, schema).await? {
        Ok(Found::Made(made)) => Some(made.version),
        Ok(Found::Empty | Found::Unfinished) => None,
        Err(error) => return Ok(Err(error)),
    };
    let mut status = StoreStatus {
        place: link.place().to_owned(),
        schema: schema.to_owned(),
        version,
        newest: KNOWN,
        owners: Vec::new(),
        migrating: None,
        sessions: 0,
        records: 0,
        tables: Vec::new(),
        quota: None,
        distributed: false,
        pooled: !link.is_direct(),
        server: String::new(),
        settings: Vec::new(),
        warnings: Vec::new(),
    };
    if version.is_some() {
        (status.owners, status.migrating) = alive(link).await?;
        let sql = "SELECT count(*) AS sessions, coalesce(sum(records), 0)::bigint AS records FROM @sessions";
        let row = link.row(sql, Bind::new()).await?;
        let count = |column| get::<i64>(&row, column).map_err(|reason| Fault::corrupt(link.place(), reason));
        (status.sessions, status.records) =
            (count("sessions")?.unsigned_abs(), count("records")?.unsigned_abs());
        status.tables = tables(link, schema).await?;
        if status.tables.iter().any(|table| table.name == LIMITS) {
            status.quota = quota(link).await?;
        }
        status.distributed = is_distributed(link, "sessions").await?;
    }
    let sql = "SELECT name, current_setting(name, true) AS setting FROM unnest($1::text[]) AS name
               UNION ALL SELECT 'server_version', current_setting('server_version')";
    for row in &link.rows(sql, Bind::new().with(SETTINGS.map(str::to_owned).to_vec())).await? {
        let corrupt = |reason| Fault::corrupt(link.place(), reason);
        let name: String = get(row, "name").map_err(corrupt)?;
        // One that an engine does not have says nothing.
        let Some(setting) = get::<Option<String>>(row, "setting").map_err(corrupt)? else { continue };
        match name.as_str() {
            "server_version" => status.server = setting,
            _ => status.settings.push((name, setting)),
        }
    }
    status.warnings = warnings(&status);
    Ok(Ok(status))
}

/// Returns our tables and what they take.
pub(super) async fn tables(link: &mut Link, schema: &str) -> Result<Vec<StoreTable>, Fault> {
    // Of a table that is distributed this server has none of the rows. A server that is away counts as nothing.
    let (bytes, spread) = match is_distributed(link, "sessions").await? {
        true => (
            "coalesce(CASE WHEN p.logicalrelid IS NULL THEN pg_total_relation_size(c.oid)
                 ELSE citus_total_relation_size(c.oid, fail_on_error => false) END, 0)",
            "LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid",
        ),
        false => ("pg_total_relation_size(c.oid)", ""),
    };
    let query = format!(
        "SELECT c.relname::text AS name, c.reltuples::float8 AS rows, {bytes} AS bytes
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace {spread}
         WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') ORDER BY 3 DESC, 1"
    );
    let rows = link.rows(&query, Bind::new().with(schema)).await?;
    let table = |row| -> Result<StoreTable, String> {
        let rows: f64 = get(row, "rows")?;
        Ok(StoreTable {
            name: get(row, "name")?,
            // -1 is said of what was never counted.
            rows: (rows >= 0.0).then_some(rows as u64),
            bytes: get::<i64>(row, "bytes")?.unsigned_abs(),
        })
    };
    rows.iter().map(table).collect::<Result<_, _>>().map_err(|reason| Fault::corrupt(link.place(), reason))
}

fn warnings(status: &StoreStatus) -> Vec<String> {
    let setting = |name: &str| {
        status.settings.iter().find(|(named, _)| named == name).map_or("", |(_, setting)| setting.as_str())
    };
    let mut warnings = Vec::new();
    match status.version {
        None => warnings.push(
            "the store is not made yet: the first use makes it if the role may, and so does `store migrate`".to_owned(),
        ),
        Some(version) if version < status.newest => warnings.push(format!(
            "the schema has version {version} of {}: run `trunkline store migrate` when older programs have ended",
            status.newest
        )),
        Some(_) => {}
    }
    if let Some(quota) = status.quota.filter(|quota| status.bytes() > quota - quota / 8) {
        warnings.push(format!(
            "{} of the quota of {quota} bytes are used: beyond it nothing can be added; delete sessions, and ask for `store vacuum` \
             or for more",
            status.bytes()
        ));
    }
    if let Some(name) = &status.migrating {
        warnings.push(format!("a migration is under way: {name}"));
    }
    if setting("fsync") == "off" {
        warnings.push("fsync is off: an acknowledgement says at most \"committed\", and a crash can damage the database".to_owned());
    }
    if setting("full_page_writes") == "off" {
        warnings.push(
            "full_page_writes is off: a power cut can damage pages, unless the disk writes 8 KiB whole"
                .to_owned(),
        );
    }
    let commit = setting("synchronous_commit");
    let has_standbys = !setting("synchronous_standby_names").is_empty();
    if has_standbys && matches!(commit, "off" | "local") {
        warnings.push(format!(
            "synchronous_commit is {commit} although synchronous standbys are named: a fail-over can lose what was acknowledged"
        ));
    }
    warnings
}
