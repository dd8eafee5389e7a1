//! The roles of a team, and what each may do.

use super::limits::{FIXED, TeamLimits, has_limits, hold, set, tables};
use super::{Level, Link};
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
use crate::postgres::rows::hash;

/// The roles of a team and who asks for them.
pub(super) struct Roles {
    /// The role of the team, and its schema.
    pub(super) team: String,
    /// The role that owns the tables.
    pub(super) owner: String,
    /// The name of the database, as it stands in a statement.
    pub(super) database: String,
    /// What marks the two roles as ours, as it stands in a statement.
    marks: (String, String),
    /// Whether they are there.
    made: (bool, bool),
    pub(super) is_superuser: bool,
    /// What this role lacks to make teams.
    lacks: Option<&'static str>,
    /// Whether it has the rights of the role that owns the tables.
    pub(super) owns: bool,
    /// Whether advisory locks can be had.
    locks: bool,
}

/// 63 bytes is the longest name that PostgreSQL keeps whole, and the owner has a longer one.
const LONGEST: usize = 57;

/// The roles of a team, by what stands beside them in the catalog; `$1` is the team. A role that was made by hand, or is a
/// team's of another database, is none of ours.
const LOOK: &str = "
SELECT r.rolsuper AS is_superuser, r.rolsuper OR r.rolcreaterole AS makes_roles,
    has_database_privilege(current_database(), 'CREATE') AS makes_schemas,
    has_function_privilege('pg_catalog.pg_advisory_xact_lock(bigint)', 'EXECUTE') AS locks,
    coalesce((SELECT pg_has_role(t.oid, 'MEMBER') FROM pg_roles t WHERE t.rolname = $1 || '_owner'), false) AS owns,
    quote_ident(current_database())::text AS database,
    quote_literal(m.team) AS team_mark, quote_literal(m.owner) AS owner_mark,
    (SELECT coalesce(shobj_description(t.oid, 'pg_authid'), '') = m.team FROM pg_roles t WHERE t.rolname = $1) AS team_is_ours,
    (SELECT coalesce(shobj_description(t.oid, 'pg_authid'), '') = m.owner FROM pg_roles t WHERE t.rolname = $1 || '_owner')
        AS owner_is_ours
FROM pg_roles r, (SELECT format('trunkline team %s in %s', $1, current_database()) AS team,
    format('trunkline owner of %s in %s', $1, current_database()) AS owner) AS m
WHERE r.rolname = current_user";

impl Roles {
    pub(super) async fn look(link: &mut Link, team: &str) -> Result<Result<Self, StoreError>, Fault> {
        let place = link.place().to_owned();
        let refused = |reason: String| Ok(Err(StoreError::Database { place: place.clone(), reason }));
        if team.len() > LONGEST {
            return refused(format!("{team:?} is too long for a team: it can have {LONGEST} letters"));
        }
        let found = link.transaction(Level::Committed, vec![(LOOK, Bind::new().with(team))]).await?;
        let Some(row) = found.first().and_then(|rows| rows.first()) else {
            return Err(Fault::corrupt(&place, "the role that asks is not in the catalog".to_owned()));
        };
        let read = || -> Result<_, String> {
            let ours =
                (get::<Option<bool>>(row, "team_is_ours")?, get::<Option<bool>>(row, "owner_is_ours")?);
            let lacks = match (get::<bool>(row, "makes_roles")?, get::<bool>(row, "makes_schemas")?) {
                (true, true) => None,
                (false, _) => Some("roles (CREATEROLE)"),
                (_, false) => Some("schemas (CREATE on the database)"),
            };
            let roles = Roles {
                team: team.to_owned(),
                owner: format!("{team}_owner"),
                database: get(row, "database")?,
                marks: (get(row, "team_mark")?, get(row, "owner_mark")?),
                made: (ours.0.is_some(), ours.1.is_some()),
                is_superuser: get(row, "is_superuser")?,
                lacks,
                owns: get(row, "owns")?,
                locks: get(row, "locks")?,
            };
            Ok((roles, ours))
        };
        let (roles, ours) = read().map_err(|reason| Fault::corrupt(&place, reason))?;
        if roles.database.contains('@') {
            return refused("a database whose name has an @ cannot have teams".to_owned());
        }
        for (is_ours, name) in [(ours.0, &roles.team), (ours.1, &roles.owner)] {
            if is_ours == Some(false) {
                return refused(format!(
                    "the role {name:?} is there and was not made for this team in this database: choose another name"
                ));
            }
        }
        Ok(Ok(roles))
    }

    /// Refuses a role that may not make teams.
    pub(super) fn must_make_teams(&self, place: &str) -> Result<(), StoreError> {
        match self.lacks {
            None => Ok(()),
            Some(what) => {
                let reason = format!("this role may not make {what}: connect as an administrator");
                Err(StoreError::Database { place: place.to_owned(), reason })
            }
        }
    }

    /// Whether the team has its roles.
    pub(super) fn is_made(&self) -> bool {
        self.made == (true, true)
    }

    pub(super) fn has_team(&self) -> bool {
        self.made.0
    }

    /// Whether nothing of the team is there.
    pub(super) fn is_unknown(&self) -> bool {
        self.made == (false, false)
    }

    /// The roles that are there.
    pub(super) fn there(&self) -> Vec<&str> {
        let roles = [(self.made.0, &self.team), (self.made.1, &self.owner)];
        roles.iter().filter(|(made, _)| *made).map(|(_, name)| name.as_str()).collect()
    }
}

/// Begins a transaction that no other of its kind in this database is beside: the catalog has no patience of its own.
pub(super) async fn begin(link: &mut Link, roles: &Roles) -> Result<(), Fault> {
    // Who waits for a table lets nobody else have it meanwhile, so that is not done for long.
    let wait = "SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true)";
    let mut first = vec![(wait, Bind::new().with("60s"))];
    if roles.locks {
        let bind = Bind::new().with(hash(&["trunkline teams"]));
        first.push(("SELECT 1 FROM (SELECT pg_advisory_xact_lock($1)) AS l", bind));
    }
    first.push((wait, Bind::new().with("5s")));
    link.begin(Level::Flushed, first).await.map(drop)
}

/// What would run with the rights of those who write: everything in a schema that can be a program and is none of ours.
const PROGRAMS: &str = "
SELECT format('the trigger %s of %s', t.tgname, c.relname) AS what FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = to_regnamespace($1) AND NOT t.tgisinternal AND c.relowner IS DISTINCT FROM to_regrole($2)
    AND NOT EXISTS (SELECT 1 FROM pg_proc f WHERE f.oid = t.tgfoid AND f.pronamespace = 'pg_catalog'::regnamespace)
UNION ALL
SELECT format('the function %s', p.proname) FROM pg_proc p
WHERE p.pronamespace = to_regnamespace($1) AND p.proowner IS DISTINCT FROM to_regrole($2)
UNION ALL
SELECT format('the rule or policy of %s', c.relname) FROM pg_class c
WHERE c.relnamespace = to_regnamespace($1) AND (c.relhasrules AND c.relkind IN ('r', 'p') OR c.relrowsecurity)
UNION ALL
SELECT format('the operator %s', o.oprname) FROM pg_operator o WHERE o.oprnamespace = to_regnamespace($1)
UNION ALL
SELECT format('an expression with the function %s', d.refobjid::regprocedure)
FROM pg_depend d JOIN pg_proc f ON f.oid = d.refobjid
LEFT JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
LEFT JOIN pg_constraint o ON d.classid = 'pg_constraint'::regclass AND o.oid = d.objid
JOIN pg_class c ON c.oid = coalesce(a.adrelid, o.conrelid, CASE d.classid WHEN 'pg_class'::regclass THEN d.objid END)
WHERE d.refclassid = 'pg_proc'::regclass AND c.relnamespace = to_regnamespace($1)
    AND f.pronamespace <> 'pg_catalog'::regnamespace
UNION ALL
SELECT format('the table %s, which is a part of %s', i.inhrelid::regclass, i.inhparent::regclass) FROM pg_inherits i
JOIN pg_class c ON c.oid IN (i.inhrelid, i.inhparent)
WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')
UNION ALL
SELECT format('the type of %s.%s', c.relname, a.attname) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
    AND t.typnamespace <> 'pg_catalog'::regnamespace
LIMIT 1";

/// Refuses a schema in which others have left programs.
pub(super) async fn refuse_programs(link: &mut Link, roles: &Roles) -> Result<Result<(), StoreError>, Fault> {
    if let Err(error) = roles.must_make_teams(link.place()) {
        return Ok(Err(error));
    }
    let quoted = |name: &str| format!("\"{name}\"");
    let bind = Bind::new().with(quoted(&roles.team)).with(quoted(&roles.owner));
    let found = link.transaction(Level::Committed, vec![(PROGRAMS, bind)]).await?;
    let Some(row) = found.first().and_then(|rows| rows.first()) else { return Ok(Ok(())) };
    let what: String = get(row, "what").map_err(|reason| Fault::corrupt(link.place(), reason))?;
    let reason = format!(
        "the schema {:?} has something that would run with the rights of a team: {what}: drop it, or choose another name",
        roles.team
    );
    Ok(Err(StoreError::Database { place: link.place().to_owned(), reason }))
}

/// Makes the roles and the schema, in one transaction.
pub(super) async fn make_roles(link: &mut Link, roles: &Roles, limits: &TeamLimits) -> Result<(), Fault> {
    let Roles { team, owner, database, marks, .. } = roles;
    begin(link, roles).await?;
    // Another administrator may have made them since they were looked for.
    let sql = "SELECT coalesce(bool_or(rolname = $1), false) AS team, coalesce(bool_or(rolname = $2), false) AS owner FROM pg_roles";
    let row = link.row(sql, Bind::new().with(team).with(owner)).await?;
    let read = || Ok((get::<bool>(&row, "team")?, get::<bool>(&row, "owner")?));
    let made = read().map_err(|reason: String| Fault::corrupt(link.place(), reason))?;
    if !made.1 {
        link.run(&format!("CREATE ROLE \"{owner}\" NOLOGIN; COMMENT ON ROLE \"{owner}\" IS {}", marks.1))
            .await?;
    }
    if !made.0 {
        link.run(&format!("CREATE ROLE \"{team}\" NOLOGIN; COMMENT ON ROLE \"{team}\" IS {}", marks.0))
            .await?;
    }
    if !roles.is_superuser {
        link.run(&format!("GRANT \"{owner}\", \"{team}\" TO CURRENT_USER")).await?;
    }
    let connections = i32::try_from(limits.connections).unwrap_or(i32::MAX);
    link.run(&format!("ALTER ROLE \"{team}\" LOGIN CONNECTION LIMIT {connections}")).await?;
    let timeout = limits.statement_timeout.as_millis().min(i32::MAX as u128);
    let mut settings = vec![
        ("search_path", format!("\"{team}\", pg_temp")),
        ("statement_timeout", format!("'{timeout}ms'")),
        ("idle_in_transaction_session_timeout", "'60s'".to_owned()),
        ("lock_timeout", "'5s'".to_owned()),
        // What is asked here is small: it is never faster by more processes or by compiling it.
        ("max_parallel_workers_per_gather", "0".to_owned()),
        ("jit", "off".to_owned()),
    ];
    if roles.is_superuser {
        settings
            .push(("temp_file_limit", format!("'{}kB'", (limits.temp_bytes / 1024).min(i32::MAX as u64))));
    }
    for (name, value) in settings {
        link.run(&format!("ALTER ROLE \"{team}\" IN DATABASE {database} SET {name} = {value}")).await?;
    }
    let there = link.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", Bind::new().with(team)).await?;
    match there.is_empty() {
        true => link.run(&format!("CREATE SCHEMA \"{team}\" AUTHORIZATION \"{owner}\"")).await?,
        false => link.run(&format!("ALTER SCHEMA \"{team}\" OWNER TO \"{owner}\"")).await?,
    }
    link.finish(Vec::new()).await.map(drop)
}

/// What is in the schema becomes the owner's. Sequences that belong to a column go with its table.
const TAKE: &str = "
DO $take$ DECLARE one record; BEGIN
    FOR one IN SELECT c.oid::regclass AS name, c.relkind = 'S' AS is_sequence FROM pg_class c
        WHERE c.relnamespace = to_regnamespace('\"TEAM\"') AND c.relkind IN ('r', 'p', 'S')
            AND c.relowner <> to_regrole('\"HOLDER\"')
            AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))
    LOOP
        EXECUTE format('ALTER %s %s OWNER TO \"HOLDER\"', CASE WHEN one.is_sequence THEN 'SEQUENCE' ELSE 'TABLE' END, one.name);
    END LOOP;
END $take$";

/// The tables in which no row is ever changed.
const APPENDED: [&str; 3] = ["records", "bodies", "parts"];

/// Gives the tables to the owner, and the team what it needs of them and no more, in one transaction. Without new limits
/// the team keeps those it has.
pub(super) async fn give(link: &mut Link, roles: &Roles, limits: Option<&TeamLimits>) -> Result<(), Fault> {
    let Roles { team, owner, .. } = roles;
    begin(link, roles).await?;
    link.run(&TAKE.replace("TEAM", team).replace("HOLDER", owner)).await?;
    link.run(&format!("SET LOCAL ROLE \"{owner}\"")).await?;
    match limits {
        Some(limits) => set(link, team, limits).await?,
        // Making it was cut off; who makes it the next time says what it may take.
        None if !has_limits(link).await? => return link.run("ROLLBACK").await,
        None => {}
    }
    hold(link, team).await?;
    link.run(&format!(
        "REVOKE ALL ON SCHEMA \"{team}\" FROM PUBLIC; GRANT USAGE ON SCHEMA \"{team}\" TO \"{team}\";
         REVOKE ALL ON ALL TABLES IN SCHEMA \"{team}\" FROM PUBLIC, \"{team}\";
         GRANT SELECT ON ALL TABLES IN SCHEMA \"{team}\" TO \"{team}\";
         REVOKE ALL ON ALL SEQUENCES IN SCHEMA \"{team}\" FROM PUBLIC, \"{team}\";
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA \"{team}\" TO \"{team}\";
         REVOKE ALL ON SEQUENCE @limits_near FROM \"{team}\""
    ))
    .await?;
    for table in tables(link, team).await? {
        if FIXED.contains(&table.as_str()) {
            continue;
        }
        // What is in the log is added and removed, and never changed.
        let update = if APPENDED.contains(&table.as_str()) { "" } else { ", UPDATE" };
        link.run(&format!("GRANT INSERT, DELETE{update} ON @{table} TO \"{team}\"")).await?;
    }
    link.run("RESET ROLE").await?;
    link.finish(Vec::new()).await.map(drop)
}
