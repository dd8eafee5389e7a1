//! What leads around the limits of a team, in a database as it comes: it is closed, or said who can close it.

use super::Link;
use super::rights::{self, Roles};
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;
use crate::postgres::shards::is_distributed;

/// The ways around limits that PostgreSQL leaves open to everybody: large objects and messages in the log of changes count
/// to nobody, and advisory locks fill a table that all share.
const FUNCTIONS: &str = "p.pronamespace = 'pg_catalog'::regnamespace
    AND (p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message')
        OR p.proname ~ '^pg_(try_)?advisory_(xact_)?lock')
    AND has_function_privilege('public', p.oid, 'EXECUTE')";

/// What is open. `$1` is the team, `$2` its owner.
const OPEN: &str = "
SELECT has_database_privilege('public', d.oid, 'TEMP') OR has_database_privilege('public', d.oid, 'CREATE') AS makes,
    pg_has_role(d.datdba, 'USAGE') AS is_ours,
    coalesce(has_schema_privilege('public', to_regnamespace('public'), 'CREATE'), false) AS makes_public,
    EXISTS (SELECT 1 FROM pg_proc p WHERE FUNCTIONS) AS functions,
    (SELECT string_agg(quote_ident(o.datname), ', ' ORDER BY o.datname) FROM pg_database o
        WHERE o.oid <> d.oid AND o.datallowconn AND has_database_privilege($1, o.oid, 'CONNECT')
        AND has_database_privilege($1, o.oid, 'TEMP')) AS others,
    (SELECT string_agg(DISTINCT quote_ident(pg_get_userbyid(a.grantee)), ', ')
        FROM (SELECT relacl AS acl FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1))
            UNION ALL SELECT nspacl FROM pg_namespace WHERE nspname = $1) AS o, aclexplode(o.acl) AS a
        WHERE a.grantee <> 0 AND pg_get_userbyid(a.grantee) NOT IN ($1, $2)) AS strangers,
    current_setting('max_prepared_transactions') <> '0' AS prepares
FROM pg_database d WHERE d.datname = current_database()";

struct Open {
    makes: bool,
    is_ours: bool,
    makes_public: bool,
    functions: bool,
    others: Option<String>,
    strangers: Option<String>,
    prepares: bool,
}

/// Closes what leads around limits in this database, and returns what could not be closed.
pub(super) async fn close(link: &mut Link, roles: &Roles) -> Result<Vec<String>, Fault> {
    let Roles { team, database, is_superuser, .. } = roles;
    let mut warnings = Vec::new();
    rights::begin(link, roles).await?;
    let open = look(link, roles).await?;
    let close = format!("REVOKE TEMPORARY, CREATE ON DATABASE {database} FROM PUBLIC");
    match (open.makes, open.is_ours) {
        (false, _) => {}
        (true, true) => link.run(&close).await?,
        (true, false) => warnings
            .push(format!("temporary tables count to no quota: let the owner of the database run `{close}`")),
    }
    let close = "REVOKE CREATE ON SCHEMA public FROM PUBLIC";
    match (open.makes_public, *is_superuser) {
        (false, _) => {}
        (true, true) => link.run(close).await?,
        (true, false) => warnings
            .push(format!("every role may make tables in the schema public: let a superuser run `{close}`")),
    }
    match (open.functions, *is_superuser) {
        (false, _) => {}
        (true, true) => {
            link.run(&format!(
                "DO $close$ DECLARE one regprocedure; BEGIN
                     FOR one IN SELECT p.oid::regprocedure FROM pg_proc p WHERE {FUNCTIONS}
                     LOOP EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', one); END LOOP;
                 END $close$"
            ))
            .await?;
        }
        (true, false) => warnings.push(
            "large objects count to no quota and advisory locks are shared by all: let a superuser run \
             `trunkline store grant` once"
                .to_owned(),
        ),
    }
    if !is_superuser {
        warnings.push("temporary files have no limit: only a superuser can set one".to_owned());
    }
    if let Some(strangers) = open.strangers {
        warnings.push(format!(
            "the schema or its tables are open to others too: if they are not meant to, run `REVOKE ALL ON SCHEMA {team} FROM \
             {strangers}; REVOKE ALL ON ALL TABLES IN SCHEMA {team} FROM {strangers}`"
        ));
    }
    if let Some(others) = open.others {
        warnings.push(format!(
            "the role may also connect to {others} and make temporary tables there: allow it this database alone in pg_hba.conf, \
             or run `REVOKE CONNECT, TEMPORARY ON DATABASE … FROM PUBLIC`"
        ));
    }
    if open.prepares {
        warnings.push(
            "max_prepared_transactions is not 0: a transaction that is prepared and left holds up the vacuum of all teams"
                .to_owned(),
        );
    }
    if is_distributed(link, "sessions").await? {
        warnings.push(
            "the tables are distributed: a quota counts what is on this server only, so it is not held"
                .to_owned(),
        );
    }
    link.finish(Vec::new()).await?;
    Ok(warnings)
}

async fn look(link: &mut Link, roles: &Roles) -> Result<Open, Fault> {
    let sql = OPEN.replace("FUNCTIONS", FUNCTIONS);
    let row = link.row(&sql, Bind::new().with(&roles.team).with(&roles.owner)).await?;
    let is = |name: &str| get::<bool>(&row, name);
    let read = || {
        Ok(Open {
            makes: is("makes")?,
            is_ours: is("is_ours")?,
            makes_public: is("makes_public")?,
            functions: is("functions")?,
            others: get(&row, "others")?,
            strangers: get(&row, "strangers")?,
            prepares: is("prepares")?,
        })
    };
    read().map_err(|reason: String| Fault::corrupt(link.place(), reason))
}
