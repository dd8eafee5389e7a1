//! Which programs have a store open to write, and which schema they know.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
use crate::postgres::link::Link;
use crate::postgres::schema::known_by;

/// The id under which a migration stands among the owners; no program that writes has it, and none is newer.
pub(super) const MIGRATION: &str = "00000000-0000-8fff-bfff-ffffffffffff";

/// A program that has the store open to write. One that only reads is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOwner {
    /// What it calls itself, see [`PostgresOptions::name`](crate::PostgresOptions::name).
    pub name: String,
    /// The newest schema that it knows; nothing if it is older than version 5.
    pub knows: Option<u32>,
    /// How many sessions it writes.
    pub sessions: u64,
    /// For how long its leases last if it gives no further sign of life, by the server's clock.
    pub expires_in: Duration,
}

/// Returns the owners that are alive, by their names, and what the migration that is under way calls itself.
pub(super) async fn alive(link: &mut Link) -> Result<(Vec<StoreOwner>, Option<String>), Fault> {
    let held = "SELECT owner::text AS owner, count(*) AS sessions FROM @sessions WHERE owner IS NOT NULL GROUP BY owner";
    let held = link.rows(held, Bind::new()).await?;
    let query = "SELECT owner::text AS owner, name,
                     (extract(epoch FROM alive_until - clock_timestamp()) * 1000)::bigint AS left
                 FROM @owners WHERE alive_until > clock_timestamp() ORDER BY name, owner";
    let rows = link.rows(query, Bind::new()).await?;
    let read = || -> Result<_, String> {
        let mut sessions = BTreeMap::new();
        for row in &held {
            sessions.insert(get::<String>(row, "owner")?, get::<i64>(row, "sessions")?);
        }
        let (mut owners, mut migration) = (Vec::new(), None);
        for row in &rows {
            let (id, name) = (get::<String>(row, "owner")?, get::<String>(row, "name")?);
            if id == MIGRATION {
                migration = Some(name);
                continue;
            }
            owners.push(StoreOwner {
                name,
                knows: known_by(&id),
                sessions: sessions.get(&id).map_or(0, |sessions| sessions.unsigned_abs()),
                expires_in: Duration::from_millis(
                    u64::try_from(get::<i64>(row, "left")?).unwrap_or_default(),
                ),
            });
        }
        Ok((owners, migration))
    };
    read().map_err(|reason| Fault::corrupt(link.place(), reason))
}
