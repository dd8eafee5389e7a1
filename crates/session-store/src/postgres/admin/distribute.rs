//! Distributing the tables of a store over the servers of Citus, by their sessions.
//!
//! All in one transaction: a store is distributed or it is not, whenever this is cut off.

use super::PostgresAdmin;
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::{Fault, FaultKind};
use crate::postgres::link::{Level, Link};
use crate::postgres::schema;

/// The tables that are distributed, in the order in which they are locked; all others follow where the first one is.
const TABLES: [&str; 7] = ["sessions", "records", "bodies", "parts", "keys", "letters", "snapshots"];

/// The tables that stay on the server that all stores connect to. A sign of life that had to reach every server would end
/// all leases as soon as one of them is away.
const LOCAL: [&str; 2] = ["owners", "store"];

/// How often others are waited for who use a table, each time as long as the lock timeout.
const TURNS: u8 = 3;

/// What [`PostgresAdmin::distribute`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Distributed {
    /// The tables that were distributed now; none if all of them were before.
    pub tables: Vec<String>,
    /// The tables that were copied to every server, and are on one again.
    pub gathered: Vec<String>,
    /// In how many shards each table is.
    pub shards: u64,
    /// On how many servers they are.
    pub servers: u64,
}

impl PostgresAdmin {
    /// Distributes the tables of the store by their sessions over the servers of a Citus, in as many shards as
    /// `citus.shard_count` says; what the tables hold goes along. `progress` is told of each table before its turn.
    ///
    /// Done again, it does what is left to do, so it also ends what was begun by hand. It is one transaction: cut off, nothing was
    /// done. The store may be open meanwhile. Who writes waits, and may be told [`StoreError::Busy`] while the tables are
    /// copied; stores that were opened before go on, and write together what is in one shard once they are opened again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if the database has no Citus, if the role does not own the tables, or if they are distributed
    /// in another way; [`StoreError::NotAStore`] if there is no store; [`StoreError::Older`] if it has to be migrated first;
    /// [`StoreError::Busy`] if others use a table for longer than is waited; [`StoreError::Io`], and then it is open whether it was
    /// done: distribute again.
    pub async fn distribute(&self, mut progress: impl FnMut(&str)) -> Result<Distributed, StoreError> {
        let made = self.made().await?;
        schema::must_be_usable(&made, self.place(), self.schema())?;
        let mut link = self.patient.take().await.map_err(|fault| fault.error)?;
        let done = distribute(&mut link, &mut progress).await.map_err(|fault| fault.error)?;
        link.keep();
        done
    }
}

/// Distributes what is not distributed yet. Ends a distribution that others have begun by hand, and refuses one that
/// cannot serve.
async fn distribute(
    link: &mut Link,
    progress: &mut impl FnMut(&str),
) -> Result<Result<Distributed, StoreError>, Fault> {
    if link
        .rows("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'", Bind::new())
        .await?
        .is_empty()
    {
        let reason = "the database has no Citus, which distributes tables: install it on each server, run `CREATE EXTENSION \
                      citus` in this database on each, and add the others here with `SELECT citus_add_node(host, port)`";
        return Ok(Err(refusal(link, reason.to_owned())));
    }
    let mut turn = 1;
    let done = loop {
        match in_a_transaction(link, progress).await {
            Ok(Ok(done)) => break done,
            Ok(Err(error)) => return Ok(Err(error)),
            Err(Fault { kind: FaultKind::Collision, .. }) if turn < TURNS => {
                turn += 1;
                link.run("ROLLBACK").await?;
            }
            Err(fault) => return Err(fault),
        }
    };
    // What was there before has been copied, and still lies below the distributed tables, where nobody sees it.
    for table in TABLES {
        let sql = format!("SELECT pg_catalog.truncate_local_data_after_distributing_table('@{table}')");
        link.write(Level::Committed, &sql, Bind::new()).await?;
    }
    Ok(Ok(done))
}

async fn in_a_transaction(
    link: &mut Link,
    progress: &mut impl FnMut(&str),
) -> Result<Result<Distributed, StoreError>, Fault> {
    link.begin(Level::Flushed, Vec::new()).await?;
    // One shard after the other, since tables are made and filled in one transaction; and it takes as long as the tables are
    // large.
    link.run("SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL statement_timeout = 0")
        .await?;
    let tables: Vec<String> = TABLES.iter().map(|table| format!("@{table}")).collect();
    // Whoever else writes, or distributes, is waited for, and waits.
    link.run(&format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", tables.join(", "))).await?;
    let found = match found(link).await? {
        Ok(found) => found,
        Err(error) => return link.end(Err(error)).await,
    };
    let mut done = Distributed::default();
    for table in TABLES {
        if found.distributed.iter().any(|there| there == table) {
            continue;
        }
        progress(table);
        let with = if table == "sessions" { "none" } else { "@sessions" };
        let sql = format!(
            "SELECT pg_catalog.create_distributed_table('@{table}', 'session', colocate_with => '{with}')"
        );
        link.rows(&sql, Bind::new()).await?;
        done.tables.push(table.to_owned());
    }
    for table in found.copied {
        progress(&table);
        link.rows(&format!("SELECT pg_catalog.undistribute_table('@{table}')"), Bind::new()).await?;
        done.gathered.push(table);
    }
    let sql = "SELECT count(DISTINCT s.shardid) AS shards, count(DISTINCT p.groupid) AS servers
               FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid)
               WHERE s.logicalrelid = to_regclass('@sessions')";
    let row = link.row(sql, Bind::new()).await?;
    let count = |column| get::<i64>(&row, column).map(i64::unsigned_abs);
    let read = || Ok((count("shards")?, count("servers")?));
    (done.shards, done.servers) = read().map_err(|reason: String| Fault::corrupt(link.place(), reason))?;
    link.end(Ok(done)).await
}

/// What was distributed before.
#[derive(Default)]
struct Found {
    distributed: Vec<String>,
    /// Tables that belong on one server and are copied to each.
    copied: Vec<String>,
}

async fn found(link: &mut Link) -> Result<Result<Found, StoreError>, Fault> {
    let names: Vec<String> = TABLES.iter().chain(&LOCAL).map(|table| (*table).to_owned()).collect();
    let sql = "SELECT t.name, p.partmethod::text AS method, p.colocationid::bigint AS place,
                   CASE WHEN p.partkey IS NOT NULL THEN pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END AS by
               FROM unnest($1::text[]) WITH ORDINALITY AS t (name, number)
               JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = to_regclass('@' || t.name) ORDER BY t.number";
    let mut found = Found::default();
    let mut place = None;
    for row in &link.rows(sql, Bind::new().with(names)).await? {
        let corrupt = |reason| Fault::corrupt(link.place(), reason);
        let name: String = get(row, "name").map_err(corrupt)?;
        let method: String = get(row, "method").map_err(corrupt)?;
        let by: Option<String> = get(row, "by").map_err(corrupt)?;
        let here: i64 = get(row, "place").map_err(corrupt)?;
        if LOCAL.contains(&name.as_str()) {
            found.copied.push(name);
            continue;
        }
        let wrong = match (method.as_str(), by.as_deref()) {
            ("h", Some("session")) if *place.get_or_insert(here) == here => {
                found.distributed.push(name);
                continue;
            }
            ("h", Some("session")) => "apart from the other tables".to_owned(),
            ("h", Some(by)) => format!("by {by}"),
            _ => "in another way than by a hash of its sessions".to_owned(),
        };
        let reason = format!(
            "the table {name} is distributed {wrong}: run `SELECT undistribute_table('{}{name}')`, then distribute the store \
             again",
            link.home.schema()
        );
        return Ok(Err(refusal(link, reason)));
    }
    if !found.distributed.is_empty() && !found.distributed.iter().any(|table| table == "sessions") {
        let reason = format!(
            "the table sessions is not distributed, but {} is: run `SELECT undistribute_table(…)` for it, then distribute the \
             store again",
            found.distributed.join(", ")
        );
        return Ok(Err(refusal(link, reason)));
    }
    Ok(Ok(found))
}

fn refusal(link: &Link, reason: String) -> StoreError {
    StoreError::Database { place: link.place().to_owned(), reason }
}
