//! A store whose tables are distributed by Citus: which sessions live together.
//!
//! All statements are the same as on one server. What differs is who is written together: a statement that compares rows of
//! several tables is planned only where all of them are in one shard.

use super::bind::{Bind, get};
use super::fault::{Fault, FaultKind};
use super::link::Link;
use crate::SessionId;

/// Where the tables of a store are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// On the server that we are connected to.
    One,
    /// In shards on several.
    Shards {
        /// Whether no server of them is known to acknowledge commits before the flush.
        flush: bool,
    },
}

/// The shard of sessions that are all on one server.
pub(super) const ONE: i64 = 0;

/// Finds out where the tables are. Only Citus has these catalogs; any other server says that there are none.
pub(super) async fn spread(link: &mut Link) -> Result<Spread, Fault> {
    match is_distributed(link, "sessions").await? {
        true => Ok(Spread::Shards { flush: others_flush(link).await? }),
        false => Ok(Spread::One),
    }
}

/// Whether a table of ours is distributed by its sessions.
pub(super) async fn is_distributed(link: &mut Link, table: &str) -> Result<bool, Fault> {
    // Asked first, because naming a catalog that is not there is an error.
    let there = "SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL";
    match link.rows(there, Bind::new()).await {
        Ok(found) if !found.is_empty() => {}
        // An engine without `to_regclass` has no Citus either.
        Ok(_) | Err(Fault { kind: FaultKind::Refused | FaultKind::Unsupported, .. }) => return Ok(false),
        Err(fault) => return Err(fault),
    }
    let sql = format!(
        "SELECT 1 FROM pg_catalog.pg_dist_partition
         WHERE logicalrelid = to_regclass('@{table}') AND partmethod = 'h'"
    );
    link.rows(&sql, Bind::new()).await.map(|found| !found.is_empty())
}

/// Whether none of the other servers is known to acknowledge before the flush. Their settings are their own: what a
/// transaction sets is not sent along. One that cannot be asked now acknowledges nothing now.
async fn others_flush(link: &mut Link) -> Result<bool, Fault> {
    let sql = "SELECT result FROM pg_catalog.run_command_on_workers($$SELECT CASE
                   WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off' THEN 'early'
                   ELSE 'flushed' END$$) WHERE success";
    let found = match link.rows(sql, Bind::new()).await {
        // A role that may not ask: as with a server that does not say what it does.
        Err(Fault { kind: FaultKind::Refused | FaultKind::Unsupported, .. }) => return Ok(true),
        found => found?,
    };
    Ok(!found.iter().any(|row| get::<Option<&str>>(row, "result").is_ok_and(|said| said == Some("early"))))
}

/// Returns the shard that a session is in, or would be.
pub(super) async fn shard_of(link: &mut Link, session: &SessionId) -> Result<i64, Fault> {
    let sql = "SELECT pg_catalog.get_shard_id_for_distribution_column('@sessions', $1::uuid) AS shard";
    let row = match link.row(sql, Bind::new().session(session)).await {
        // Somebody has undone it since the store was opened.
        Err(Fault { kind: FaultKind::Refused | FaultKind::Unsupported, .. }) => return Ok(ONE),
        row => row?,
    };
    get(&row, "shard").map_err(|reason| Fault::corrupt(link.place(), reason))
}
