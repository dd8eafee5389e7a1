//! Which teams a database has, and how much of their limits they use.

use std::time::Duration;

use tokio_postgres::Row;

use super::limits::{TeamLimits, retention};
use super::{Level, Link, PostgresAdmin};
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
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
}

/// The teams of this database with the settings of their roles; `$1` is one of them, or nothing.
const TEAMS: &str = "
SELECT r.rolname::text AS name, quote_ident(r.rolname)::text AS schema, r.rolconnlimit::bigint AS connections,
    (SELECT count(*) FROM pg_stat_activity a WHERE a.usename = r.rolname) AS connected,
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(quote_ident(r.rolname)) AND c.relkind IN ('r', 'p')) AS used,
    to_regclass(quote_ident(r.rolname) || '.limits') IS NOT NULL
        AND to_regclass(quote_ident(r.rolname) || '.sessions') IS NOT NULL AS is_whole,
    s.setconfig AS settings
FROM pg_roles r LEFT JOIN pg_db_role_setting s ON s.setrole = r.oid
    AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE shobj_description(r.oid, 'pg_authid') = format('trunkline team %s in %s', r.rolname, current_database())
    AND ($1::text IS NULL OR r.rolname = $1)
ORDER BY 1";

impl PostgresAdmin {
    /// Returns the teams of this database by their names. Only administrators can ask.
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
    let corrupt = |link: &Link, reason| Fault::corrupt(link.place(), reason);
    let read =
        found.iter().map(|row| Ok((of(row)?, get::<String>(row, "schema")?))).collect::<Result<_, String>>();
    let mut teams: Vec<(Team, String)> = read.map_err(|reason| corrupt(link, reason))?;
    // Many teams in one statement, and not so many that the server has no room for its locks.
    for some in teams.chunks_mut(50) {
        let whole = some.iter().enumerate().filter(|(_, (team, _))| !team.unfinished);
        let each = whole.map(|(number, (_, schema))| {
            format!("SELECT {number}::bigint AS number, (SELECT count(*) FROM {schema}.sessions) AS made, l.* FROM {schema}.limits l")
        });
        let sql = each.collect::<Vec<_>>().join(" UNION ALL ");
        let rows = match sql.is_empty() {
            true => Vec::new(),
            false => link.write(Level::Committed, &sql, Bind::new()).await?,
        };
        for row in &rows {
            let number = |name: &str| Ok::<_, String>(get::<Option<i64>>(row, name)?.map(i64::unsigned_abs));
            let mut read = || -> Result<(), String> {
                let place = number("number")?.and_then(|place| usize::try_from(place).ok());
                let Some((team, _)) = place.and_then(|place| some.get_mut(place)) else { return Ok(()) };
                team.sessions = number("made")?.unwrap_or_default();
                team.limits.bytes = number("bytes")?;
                team.limits.sessions = number("sessions")?;
                team.limits.retention = retention(row)?;
                Ok(())
            };
            read().map_err(|reason| corrupt(link, reason))?;
        }
    }
    let teams = teams.into_iter().map(|(team, _)| team).collect();
    Ok(Ok(teams))
}

fn of(row: &Row) -> Result<Team, String> {
    let connections: i64 = get(row, "connections")?;
    let settings: Vec<String> = get::<Option<Vec<String>>>(row, "settings")?.unwrap_or_default();
    let setting = |name: &str| {
        let of = |one: &String| {
            one.split_once('=').filter(|(named, _)| *named == name).map(|(_, value)| value.to_owned())
        };
        let value = settings.iter().find_map(of)?;
        value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse::<u64>().ok()
    };
    let mut limits = TeamLimits::new();
    limits.connections = u32::try_from(connections).unwrap_or(u32::MAX);
    limits.temp_bytes =
        setting("temp_file_limit").map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024));
    limits.statement_timeout = Duration::from_millis(setting("statement_timeout").unwrap_or_default());
    Ok(Team {
        name: get(row, "name")?,
        limits,
        bytes: get::<i64>(row, "used")?.unsigned_abs(),
        sessions: 0,
        connected: u32::try_from(get::<i64>(row, "connected")?).unwrap_or_default(),
        unfinished: !get::<bool>(row, "is_whole")?,
    })
}
