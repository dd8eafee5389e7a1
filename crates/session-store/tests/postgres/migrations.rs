//! Bringing a schema to a newer version while programs of the last one may still be running.

use std::pin::Pin;
use std::time::Duration;

use trunkline_session_store::{
    Claim, Migrate, Migration, MigrationProgress, PostgresAdmin, PostgresStore, SessionStore, StoreError,
};

use trunkline_session_store::kit::{self, OldPlace, Place, Subject};

use super::made::{append_notes, batch, bodies, new_session, note, session};
use super::schema::{SEED_1, SEED_4};
use super::{Postgres, Schema, TTL, client, few, run, server};

/// What a program that knows schema 4 does when it registers and claims a session: its id is random.
const OLD: &str = "11111111-1111-4111-9111-111111111111";

impl Schema {
    /// Lets a program that knows schema 4 show a sign of life.
    fn old_lives(&self, for_milliseconds: i64) -> String {
        format!(
            "INSERT INTO {}.owners (owner, name, alive_until)
             VALUES ('{OLD}', 'an old one', clock_timestamp() + {for_milliseconds} * interval '1 millisecond')
             ON CONFLICT (owner) DO UPDATE SET alive_until = excluded.alive_until",
            self.name
        )
    }

    fn old_claims(&self, number: u32) -> String {
        format!(
            "UPDATE {}.sessions SET token = token + 1, owner = '{OLD}', claim = 1 WHERE session = '{}'",
            self.name,
            session(number)
        )
    }

    async fn version(&self) -> i64 {
        let rows = self.rows("SELECT version AS n FROM @store").await;
        rows.first().expect("there is a row").get("n")
    }

    async fn try_to_migrate(&self, how: Migrate) -> Result<Migration, StoreError> {
        self.admin().await.migrate(&how, |_| ()).await
    }
}

/// Runs a statement that is refused, and returns what the server says.
async fn refused(url: &str, sql: &str) -> String {
    let error = client(url).await.batch_execute(sql).await.expect_err("it is refused");
    error.as_db_error().expect("the server refuses it").message().to_owned()
}

/// Schemas that are left at version 4.
struct Fourth(Postgres);

impl Subject for Fourth {
    fn name(&self) -> String {
        "postgres, schema 4".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        let schema = Schema::new(&self.0.url);
        let is_kept = |line: &&str| !line.starts_with("INSERT ") || line.starts_with("INSERT INTO @store ");
        let empty: Vec<&str> = SEED_4.lines().filter(is_kept).collect();
        self.0.runtime.block_on(schema.plant(&empty.join("\n")));
        Ok(Box::new(schema))
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.0.block_on(what);
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn lease_outlives(&self) -> Duration {
        TTL
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        Ok(Vec::new())
    }
}

/// Half way through an upgrade the new program works with the old schema for as long as it takes.
#[test]
fn postgres_keeps_every_promise_on_a_schema_that_is_left_at_version_4() {
    let Some(url) = server() else { return };
    let subject = Fourth(Postgres::by("postgres, schema 4", url.clone(), url));
    let report = kit::run(&subject, &few());
    assert!(report.is_ok(), "{report}");
}

#[tokio::test]
async fn opening_changes_no_schema_that_is_there() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    let store = schema.open().await;
    store.create(new_session(7)).await.unwrap();
    let lease = store.lease(&session(7)).await.unwrap();
    append_notes(&store, &lease, 1, 3).await.unwrap();
    drop(lease);
    store.close().await;
    assert_eq!(schema.version().await, 4);
    let columns = schema.rows("SELECT * FROM @store").await;
    assert_eq!(columns.first().unwrap().len(), 2);
}

#[tokio::test]
async fn a_schema_that_is_too_old_names_the_command() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_1).await;
    let error = PostgresStore::open(schema.options()).await.unwrap_err();
    let said = error.to_string();
    let end = format!(
        "(schema {}) has schema version 1, and this program needs 4 or newer: run `trunkline store migrate`",
        schema.name
    );
    assert!(said.ends_with(&end), "{said}");
    assert_eq!(schema.version().await, 1);
    schema.migrate().await;
    drop(schema.open().await);
}

#[tokio::test]
async fn a_migration_names_the_older_programs_that_write() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    // One that knows the newest schema is not waited for, and goes on through it all.
    let store = schema.open().await;
    store.create(new_session(7)).await.unwrap();
    let lease = store.lease(&session(7)).await.unwrap();
    run(&url, &schema.old_lives(60_000)).await;
    run(&url, &schema.old_claims(1)).await;
    for how in [Migrate::new(), Migrate::new().wait(Duration::from_millis(700)), Migrate::new().dry_run(true)]
    {
        let migration = schema.try_to_migrate(how).await.unwrap();
        let named: Vec<_> = migration
            .waits_for
            .iter()
            .map(|owner| (owner.name.as_str(), owner.knows, owner.sessions))
            .collect();
        assert_eq!(named, [("an old one", None, 1)]);
        assert!(!migration.done && migration.from == Some(4) && migration.to == 5, "{migration:?}");
        assert_eq!(schema.version().await, 4);
    }
    // It ends while it is waited for.
    run(&url, &schema.old_lives(1_500)).await;
    let (mut waited, mut steps) = (0, Vec::new());
    let admin = schema.admin().await;
    let how = Migrate::new().wait(Duration::from_secs(20));
    let migration = admin.migrate(&how, |progress| match progress {
        MigrationProgress::Waiting { .. } => waited += 1,
        MigrationProgress::Step { number, of, what } => steps.push(format!("{number} of {of}: {what}")),
        _ => {}
    });
    let migration = migration.await.unwrap();
    assert!(migration.done && waited > 0, "{migration:?}");
    assert_eq!(steps.first().map(String::as_str), Some("1 of 5: let no older program register as a writer"));
    assert_eq!(steps.len(), 5, "{steps:?}");
    assert_eq!(schema.version().await, 5);
    append_notes(&store, &lease, 1, 3).await.unwrap();
    assert_eq!(bodies(&store, 7).await, ["1", "2", "3"]);
    // Once more there is nothing to do.
    let migration = schema.try_to_migrate(Migrate::new()).await.unwrap();
    assert!(migration.done && migration.steps.is_empty(), "{migration:?}");
}

/// A program that read only has no owner, and one that was asleep is not alive: nobody waits for either.
#[tokio::test]
async fn an_older_program_that_nobody_waited_for_writes_nothing_after_the_migration() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    run(&url, &schema.old_lives(-1)).await;
    run(&url, &schema.old_claims(1)).await;
    schema.migrate().await;
    let gate = "violates check constraint \"restart_with_a_newer_trunkline\"";
    for sql in [schema.old_lives(60_000), schema.old_claims(1), schema.old_claims(2)] {
        let said = refused(&url, &sql).await;
        assert!(said.contains(gate), "{said}");
    }
    // Its lease is over, so an append that compares token and owner finds no row.
    let store = schema.open().await;
    assert_eq!(store.holder(&session(1)).await.unwrap(), None);
    drop(store.claim(&session(1), Claim::IfFree).await.unwrap());
}

/// The look finds nobody, and then an older program registers before the tables are changed.
#[tokio::test]
async fn an_older_program_that_comes_between_the_look_and_the_migration_is_waited_for() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    let old = client(&url).await;
    let begun = format!("BEGIN; {}", schema.old_lives(60_000));
    old.batch_execute(&begun).await.unwrap();
    let registering = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        old.batch_execute("COMMIT").await.unwrap();
    };
    let (migration, ()) = tokio::join!(schema.try_to_migrate(Migrate::new()), registering);
    let migration = migration.unwrap();
    assert!(!migration.done && migration.waits_for.len() == 1, "{migration:?}");
    assert_eq!(schema.version().await, 4);
}

#[tokio::test]
async fn a_backup_that_reads_the_tables_is_waited_for() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    let backup = client(&url).await;
    let begun = format!("BEGIN; SELECT count(*) FROM {}.owners", schema.name);
    backup.batch_execute(&begun).await.unwrap();
    let error = schema.try_to_migrate(Migrate::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    let ends = async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        backup.batch_execute("ROLLBACK").await.unwrap();
    };
    let mut blocked = 0;
    let admin = schema.admin().await;
    let how = Migrate::new().wait(Duration::from_secs(20));
    let migration =
        admin.migrate(&how, |progress| blocked += u32::from(progress == MigrationProgress::Blocked));
    let (migration, ()) = tokio::join!(migration, ends);
    assert!(migration.unwrap().done && blocked > 0, "{blocked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_migrations_do_not_run_at_once() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    run(&url, &schema.old_lives(2_000)).await;
    let how = Migrate::new().wait(Duration::from_secs(20));
    let (admin, other) = (schema.admin().await, schema.admin().await);
    let first = tokio::spawn(async move { admin.migrate(&how, |_| ()).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let status = other.status().await.unwrap();
    assert!(status.migrating.is_some_and(|name| name.starts_with("migration ")));
    assert_eq!(status.owners.len(), 1, "{:?}", status.owners);
    let error = other.migrate(&Migrate::new(), |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("another migration is under way"), "{error}");
    assert!(first.await.unwrap().unwrap().done);
    assert_eq!(other.status().await.unwrap().migrating, None);
}

/// A database of its own with an event trigger, which sees every statement that changes tables.
struct Rigged {
    server: String,
    schema: Schema,
}

impl Rigged {
    /// Makes one in which the `cut`th such statement ends the connection, and in which a transaction can have only one of
    /// them if `single`.
    async fn new(server: &str, cut: u32, single: bool) -> Self {
        let name = Schema::new(server).name.clone();
        run(server, &format!("CREATE DATABASE {name}")).await;
        let (before, after) = server.split_once('?').unwrap_or((server, ""));
        let (host, _) = before.rsplit_once('/').expect("a database");
        let url = format!("{host}/{name}?{after}");
        run(
            &url,
            &format!(
                "CREATE SEQUENCE public.statements;
                 CREATE FUNCTION public.seen() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                     IF {single} AND current_setting('rigged.at', true) = txid_current()::text THEN
                         RAISE 'one statement on tables in a transaction' USING ERRCODE = '0A000';
                     END IF;
                     PERFORM set_config('rigged.at', txid_current()::text, false);
                     IF nextval('public.statements') = {cut} THEN
                         PERFORM pg_terminate_backend(pg_backend_pid());
                     END IF;
                 END $$;"
            ),
        )
        .await;
        let schema = Schema::new(&url);
        Rigged { server: server.to_owned(), schema }
    }

    async fn arm(&self) {
        let sql = "CREATE EVENT TRIGGER rigged ON ddl_command_start EXECUTE FUNCTION public.seen()";
        run(&self.schema.url, sql).await;
    }

    async fn end(self) {
        let (before, _) = self.schema.url.split_once('?').expect("it has a ?");
        let (_, name) = before.rsplit_once('/').expect("a database");
        run(&self.server, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
        std::mem::forget(self.schema);
    }
}

/// Whatever statement a migration is cut off at, newer programs work as before, older ones cannot write in between the
/// steps, and the next migration ends it.
#[tokio::test]
async fn a_migration_that_was_cut_off_is_ended_by_the_next() {
    let Some(url) = server() else { return };
    for single in [false, true] {
        let mut cuts = 0;
        for cut in 1..40 {
            let rigged = Rigged::new(&url, cut, single).await;
            let schema = &rigged.schema;
            schema.plant(SEED_4).await;
            rigged.arm().await;
            let cut_off = schema.try_to_migrate(Migrate::new()).await;
            let version = schema.version().await;
            match &cut_off {
                Ok(migration) => assert!(migration.done && version == 5, "{migration:?}"),
                Err(error) => {
                    cuts += 1;
                    assert!(matches!(error, StoreError::Io { .. }), "{error}");
                    assert_eq!(version, 4);
                    // As if a minute had passed.
                    schema.run("UPDATE @owners SET alive_until = clock_timestamp() - interval '1 s'").await;
                }
            }
            let store = schema.open().await;
            let lease = store.lease(&session(1)).await.unwrap();
            let head = store.info(&session(1)).await.unwrap();
            let mut next = batch(head.records, vec![note("\"more\"")]);
            next.expected_head = head.head;
            store.append(&lease, next).await.unwrap();
            drop(lease);
            store.close().await;
            schema.migrate().await;
            assert_eq!(schema.version().await, 5);
            let secret = schema.rows("SELECT channel AS n FROM @store").await;
            let secret: String = secret.first().unwrap().get("n");
            assert_eq!(secret.len(), 64);
            rigged.end().await;
            if cut_off.is_ok() {
                break;
            }
        }
        assert!(cuts > 3, "{cuts}");
    }
}

/// On an engine that takes one statement on tables in a transaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_made_where_each_statement_is_a_transaction_and_by_any_number_at_once() {
    let Some(url) = server() else { return };
    for cut in [0, 1, 2, 9, 17, 24] {
        let rigged = Rigged::new(&url, cut, true).await;
        let schema = &rigged.schema;
        rigged.arm().await;
        let opening: Vec<_> = (0..4).map(|_| tokio::spawn(PostgresStore::open(schema.options()))).collect();
        let mut opened = 0;
        for (number, store) in (0..).zip(opening) {
            match store.await.unwrap() {
                Ok(store) => {
                    store.create(new_session(number)).await.unwrap();
                    opened += 1;
                }
                Err(error) => assert!(matches!(error, StoreError::Io { .. }), "{cut}: {error}"),
            }
        }
        assert!(opened >= 3, "{cut}: {opened}");
        let store = schema.open().await;
        assert_eq!(store.sessions().await.unwrap().len(), opened);
        store.close().await;
        rigged.end().await;
    }
}

#[tokio::test]
async fn an_empty_schema_can_be_made_by_an_administrator() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let dry = schema.try_to_migrate(Migrate::new().dry_run(true)).await.unwrap();
    assert!(!dry.done && dry.from.is_none() && dry.steps == ["make the store"], "{dry:?}");
    assert_eq!(schema.admin().await.status().await.unwrap().version, None);
    schema.migrate().await;
    assert_eq!(schema.version().await, 5);
    drop(schema.open().await);
}

#[tokio::test]
async fn a_role_that_does_not_own_the_tables_cannot_migrate_them() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(SEED_4).await;
    let role = schema.user().await;
    let theirs = schema.with(&format!("options[role]={role}"));
    let admin = PostgresAdmin::connect(theirs).await.unwrap();
    let error = admin.migrate(&Migrate::new(), |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("must be owner of table"), "{error}");
    assert_eq!(schema.version().await, 4);
    assert!(schema.rows("SELECT 1 FROM @owners").await.is_empty(), "the turn was given back");
    admin.close().await;
    run(&url, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}
