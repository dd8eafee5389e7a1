//! What one team can do to another with its password and `psql`: nothing.

use trunkline_session_store::SessionStore;

use super::super::made::{batch, new_session, node, session};
use super::super::server;
use super::{Database, Known, roomy, tried};

/// How many teams are made: with `TRUNKLINE_TEST_TEAMS=200` as many as a large house has, which takes two minutes.
fn how_many() -> usize {
    std::env::var("TRUNKLINE_TEST_TEAMS").ok().and_then(|many| many.parse().ok()).unwrap_or(16)
}

/// What a role may do in the schemas of others, to what is in the whole database and to what is its own. `@` stands for
/// its own schema, `#` for that of the other.
const ATTACKS: &[&str] = &[
    "SELECT text FROM #bodies",
    "SELECT channel FROM #store",
    "SELECT * FROM #limits",
    "INSERT INTO #letters (session, letter, at, kind, body) VALUES (gen_random_uuid(), 1, 1, 'x', 'x')",
    "UPDATE #sessions SET title = 'x'",
    "DELETE FROM #sessions",
    "TRUNCATE #bodies",
    "BEGIN; LOCK TABLE #sessions",
    "DROP TABLE #bodies",
    "DROP SCHEMA OTHER CASCADE",
    "ALTER TABLE #bodies ADD COLUMN x int",
    "CREATE TABLE #x (a int)",
    "COPY #bodies TO STDOUT",
    "SELECT nextval('#tokens')",
    "SELECT last_value FROM #tokens",
    "GRANT SELECT ON #bodies TO OWN",
    "REVOKE USAGE ON SCHEMA OTHER FROM OTHER",
    "SET ROLE OTHER",
    "SET ROLE OTHER_owner",
    "SET ROLE OWN_owner",
    "SET SESSION AUTHORIZATION OTHER",
    "ALTER ROLE OTHER PASSWORD 'x'",
    "ALTER ROLE OTHER SET search_path = pg_catalog",
    "COMMENT ON ROLE OTHER IS 'x'",
    "DROP ROLE OTHER",
    "SELECT #limits_hold()",
    "ANALYZE (VERBOSE) #bodies; SELECT * FROM #bodies",
    // Everywhere.
    "CREATE SCHEMA x",
    "CREATE TABLE public.x (a int)",
    "CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE sql AS 'SELECT 1'",
    "CREATE TEMP TABLE x (a int)",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT pg_advisory_lock(number) FROM generate_series(1, 100000) AS number",
    "SELECT pg_try_advisory_xact_lock_shared(1, 2)",
    "SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000))",
    "CREATE ROLE x",
    "CREATE DATABASE x",
    "CREATE EXTENSION dblink",
    "CREATE PUBLICATION x FOR ALL TABLES",
    "CREATE EVENT TRIGGER x ON ddl_command_end EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_reload_conf()",
    "SELECT passwd FROM pg_shadow",
    "SELECT stavalues1 FROM pg_statistic",
    "ALTER SYSTEM SET work_mem = '1GB'",
    "SET session_replication_role = replica",
    "SET temp_file_limit = -1",
    "SET log_statement = 'all'",
    "ALTER ROLE OWN CONNECTION LIMIT -1",
    "ALTER ROLE OWN SUPERUSER",
    "ALTER ROLE OWN SET temp_file_limit = -1",
    // Its own tables, whose limits hold against itself.
    "CREATE TABLE @x (a int)",
    "CREATE FUNCTION @f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OPERATOR @= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_catalog.texteq)",
    "TRUNCATE @sessions",
    "ALTER TABLE @bodies DISABLE TRIGGER ALL",
    "DROP TRIGGER limits_hold_statements ON @bodies",
    "DROP TABLE @bodies",
    "UPDATE @limits SET bytes = NULL",
    "DELETE FROM @limits",
    "UPDATE @store SET version = 99",
    "UPDATE @bodies SET text = 'x'",
    "SELECT @limits_hold()",
    "SELECT setval('@tokens', 1)",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_team_can_do_nothing_to_another() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut teams = Vec::new();
    for _ in 0..how_many() {
        teams.push(database.grant(&roomy()).await);
    }
    for team in [teams.first(), teams.last()] {
        write_something(team.unwrap()).await;
    }
    let others = teams.iter().cycle().skip(1);
    for (one, (team, other)) in teams.iter().zip(others).enumerate() {
        // What the catalog says of everything there is, for each of them.
        let mut found = team.tries(REACHED).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, reached(&team.name), "{}", team.name);
        // And by trying, for some.
        if one % 10 == 0 {
            for attack in ATTACKS {
                let sql = attack
                    .replace('#', &format!("{}.", other.name))
                    .replace("OTHER", &other.name)
                    .replace("OWN", &team.name);
                let said = team.tries(&sql).await;
                assert!(said.is_err(), "{sql} went through: {said:?}");
                let said = said.unwrap_err();
                assert!(
                    ["denied", "must be", "must have"].iter().any(|word| said.contains(word)),
                    "{sql}: {said}"
                );
            }
        }
    }
    // After all that everything is as it was.
    for team in [teams.first(), teams.last()] {
        let store = team.unwrap().open().await;
        assert_eq!(store.read(&session(1), 0, 10).await.unwrap().len(), 2);
        store.close().await;
    }
}

async fn write_something(team: &Known) {
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store.append(&lease, batch(1, vec![node(1, "a word that is nobody else's")])).await.unwrap();
    drop(lease);
    store.close().await;
}

/// Everything outside the catalog that the role may use in some way.
const REACHED: &str = "
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND has_schema_privilege(n.oid, 'USAGE')
    AND CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'USAGE, SELECT, UPDATE')
        WHEN 'i' THEN false
        ELSE has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') END
UNION ALL
SELECT n.nspname || '.' || p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND has_function_privilege(p.oid, 'EXECUTE') AND has_schema_privilege(n.oid, 'USAGE')
UNION ALL
SELECT 'schema ' || nspname FROM pg_namespace
WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'public') AND has_schema_privilege(oid, 'USAGE, CREATE')
    OR has_schema_privilege(oid, 'CREATE')
UNION ALL
SELECT 'role ' || rolname FROM pg_roles WHERE pg_has_role(oid, 'MEMBER') AND rolname <> current_user";

fn reached(team: &str) -> Vec<String> {
    let tables = [
        "bodies",
        "keys",
        "letters",
        "limits",
        "owners",
        "parts",
        "records",
        "sessions",
        "snapshots",
        "store",
        "tokens",
    ];
    let mut reached = vec![format!("schema {team}")];
    reached.extend(tables.iter().map(|table| format!("{team}.{table}")));
    reached
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_sees_no_word_of_another() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (team, other) = (database.grant(&roomy()).await, database.grant(&roomy()).await);
    write_something(&other).await;
    tried(&database.url, &format!("ANALYZE {}.bodies", other.name)).await.unwrap();
    let secret = tokio::spawn({
        let other = other.clone();
        async move { other.tries("SELECT 'nobody else reads this', pg_sleep(2)").await }
    });
    let mut seen = 0;
    for _ in 0..40 {
        let sql = "SELECT query || coalesce(client_addr::text, '') || coalesce(state, '') FROM pg_stat_activity WHERE usename = 'OTHER'";
        for line in team.tries(&sql.replace("OTHER", &other.name)).await.unwrap() {
            assert_ne!(line, "", "it is not shown at all");
            assert_eq!(line, "<insufficient privilege>");
            seen += 1;
        }
        if seen > 0 {
            break;
        }
    }
    assert!(seen > 0, "its connection was never there");
    for sql in [
        "SELECT * FROM pg_stats WHERE schemaname = 'OTHER'",
        "SELECT last_value::text FROM pg_sequences WHERE schemaname = 'OTHER' AND last_value IS NOT NULL",
        "SELECT pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND relnamespace = to_regnamespace('OTHER')",
        "SELECT * FROM information_schema.columns WHERE table_schema = 'OTHER'",
    ] {
        let told = team.tries(&sql.replace("OTHER", &other.name)).await.unwrap();
        assert_eq!(told, Vec::<String>::new(), "{sql}");
    }
    secret.await.unwrap().unwrap();
}

/// What is known to leak, so that it is said where it is and not more is promised: names, sizes and how busy others are.
#[tokio::test]
async fn names_and_sizes_of_others_are_seen() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (team, other) = (database.grant(&roomy()).await, database.grant(&roomy()).await);
    for sql in [
        "SELECT nspname FROM pg_namespace WHERE nspname = 'OTHER'",
        "SELECT rolname FROM pg_roles WHERE rolname = 'OTHER'",
        "SELECT pg_total_relation_size(c.oid) FROM pg_class c WHERE relnamespace = to_regnamespace('OTHER') AND relname = 'bodies'",
        "SELECT n_tup_ins FROM pg_stat_all_tables WHERE schemaname = 'OTHER' AND relname = 'bodies'",
    ] {
        let told = team.tries(&sql.replace("OTHER", &other.name)).await.unwrap();
        assert_eq!(told.len(), 1, "{sql}: it no longer leaks, so the page on teams can say so");
    }
}
