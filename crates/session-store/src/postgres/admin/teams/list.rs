//! Which teams a database has, and how much of their limits they use.

use std::time::Duration;

use tokio_postgres::Row;

use super::limits::{TeamLimits, retention};
use super::{Level, Link, PostgresAdmin};
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::{Fault, FaultKind};
use crate::postgres::tries::attempt;

/// A team and what it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Team {
    /// Its name, which is also that of its schema and its role.
    pub name: String,
    /// What it may take.
    pub limits: TeamLimits,
    /// How many bytes its tables and indexes have on the disk.
    pub bytes: u64,
    /// How many sessions it has.
    pub sessions: u64,
    /// How many connections it has open.
    pub connected: u32,
    /// Whether making or removing it was cut off: then only its name and its connections are known.
    pub unfinished: bool,
    /// Whether others hold its tables, as [`PostgresAdmin::shrink`] does: then its size, its sessions, its quotas and its rule are
    /// not known.
    pub locked: bool,
}

/// The teams of this database with the settings of their roles; `$1` is one of them, or nothing.
const TEAMS: &str = "
SELECT r.rolname::text AS name, quote_ident(r.rolname)::text AS schema, r.rolconnlimit::bigint AS connections,
    (SELECT count(*) FROM pg_stat_activity a WHERE a.usename = r.rolname) AS connected,
    to_regclass(quote_ident(r.rolname) || '.limits') IS NOT NULL
        AND to_regclass(quote_ident(r.rolname) || '.sessions') IS NOT NULL AS is_whole,
    s.setconfig AS settings
FROM pg_roles r LEFT JOIN pg_db_role_setting s ON s.setrole = r.oid
    AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE shobj_description(r.oid, 'pg_authid') = format('trunkline team %s in %s', r.rolname, current_database())
    AND ($1::text IS NULL OR r.rolname = $1)
ORDER BY 1";

impl PostgresAdmin {
    /// Returns the teams of this database by their names. Only administrators can ask. A team whose tables are held by others
    /// does not keep the rest from being told, see [`Team::locked`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if this role may not read the schemas of teams; those of connections.
    pub async fn teams(&self) -> Result<Vec<Team>, StoreError> {
        attempt!(reading self.links, |link| list(&mut link, None))
    }

    /// Returns the team whose schema this is; nothing if it is no team's.
    ///
    /// # Errors
    ///
    /// Those of [`teams`](Self::teams).
    pub async fn team(&self) -> Result<Option<Team>, StoreError> {
        let found = attempt!(reading self.links, |link| list(&mut link, Some(self.schema())))?;
        Ok(found.into_iter().next())
    }
}

async fn list(link: &mut Link, team: Option<&str>) -> Result<Result<Vec<Team>, StoreError>, Fault> {
    // In transactions, since our search path is set there.
    let found = link.transaction(Level::Committed, vec![(TEAMS, Bind::new().with(team))]).await?;
    let found = found.into_iter().next().unwrap_or_default();
    let read =
        found.iter().map(|row| Ok((of(row)?, get::<String>(row, "schema")?))).collect::<Result<_, String>>();
    let mut teams: Vec<(Team, String)> = read.map_err(|reason| Fault::corrupt(link.place(), reason))?;
    // Many teams in one statement, and not so many that the server has no room for its locks.
    for some in teams.chunks_mut(50) {
        match look(link, some, "5s").await {
            Err(Fault { kind: FaultKind::Collision, .. }) => {
                // The tables of one of them are locked, perhaps by the team itself and for as long as it likes.
                for one in some.chunks_mut(1) {
                    match look(link, one, "200ms").await {
                        Err(Fault { kind: FaultKind::Collision, .. }) => {
                            one.iter_mut().for_each(|(team, _)| team.locked = true);
                        }
                        looked => looked?,
                    }
                }
            }
            looked => looked?,
        }
    }
    let teams = teams.into_iter().map(|(team, _)| team).collect();
    Ok(Ok(teams))
}

/// Fills in what the tables of some teams say.
async fn look(link: &mut Link, some: &mut [(Team, String)], wait: &str) -> Result<(), Fault> {
    let whole = some.iter().enumerate().filter(|(_, (team, _))| !team.unfinished);
    let each = whole.map(|(number, (_, schema))| {
        format!(
            "SELECT {number}::bigint AS number, (SELECT count(*) FROM {schema}.sessions) AS made,
                 (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                  WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p')) AS used, l.*
             FROM {schema}.limits l"
        )
    });
    let sql = each.collect::<Vec<_>>().join(" UNION ALL ");
    if sql.is_empty() {
        return Ok(());
    }
    let patience = ("SELECT set_config('lock_timeout', $1, true)", Bind::new().with(wait));
    let found = link.transaction(Level::Committed, vec![patience, (&sql, Bind::new())]).await;
    let found = match found {
        Ok(found) => found,
        Err(fault) => {
            if fault.kind == FaultKind::Collision {
                link.run("ROLLBACK").await?;
            }
            return Err(fault);
        }
    };
    for row in found.iter().skip(1).flatten() {
        let number = |name: &str| Ok::<_, String>(get::<Option<i64>>(row, name)?.map(i64::unsigned_abs));
        let mut read = || -> Result<(), String> {
            let place = number("number")?.and_then(|place| usize::try_from(place).ok());
            let Some((team, _)) = place.and_then(|place| some.get_mut(place)) else { return Ok(()) };
            team.sessions = number("made")?.unwrap_or_default();
            team.bytes = number("used")?.unwrap_or_default();
            team.limits.bytes = number("bytes")?;
            team.limits.sessions = number("sessions")?;
            team.limits.retention = retention(row)?;
            Ok(())
        };
        read().map_err(|reason| Fault::corrupt(link.place(), reason))?;
    }
    Ok(())
}

/// Returns a number of the server's settings, which has a unit behind it or not: milliseconds, or kilobytes.
fn amount(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let each = match unit.trim() {
        "" | "ms" | "kB" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "MB" => 1024,
        "GB" => 1024 * 1024,
        "TB" => 1024 * 1024 * 1024,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(each)
}

fn of(row: &Row) -> Result<Team, String> {
    let connections: i64 = get(row, "connections")?;
    let settings: Vec<String> = get::<Option<Vec<String>>>(row, "settings")?.unwrap_or_default();
    let setting = |name: &str| {
        let of = |one: &String| {
            one.split_once('=').filter(|(named, _)| *named == name).map(|(_, value)| value.to_owned())
        };
        amount(&settings.iter().find_map(of)?)
    };
    // What is not set, because a superuser has to or the team has reset it, is what it should be.
    let mut limits = TeamLimits::new();
    limits.connections = u32::try_from(connections).unwrap_or(u32::MAX);
    if let Some(kilobytes) = setting("temp_file_limit") {
        limits.temp_bytes = kilobytes.saturating_mul(1024);
    }
    if let Some(milliseconds) = setting("statement_timeout") {
        limits.statement_timeout = Duration::from_millis(milliseconds);
    }
    Ok(Team {
        name: get(row, "name")?,
        limits,
        bytes: 0,
        sessions: 0,
        connected: u32::try_from(get::<i64>(row, "connected")?).unwrap_or_default(),
        unfinished: !get::<bool>(row, "is_whole")?,
        locked: false,
    })
}
