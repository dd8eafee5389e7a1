//! What a team's own role needs: the rights that it was granted, and no more.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use trunkline_session_store::kit::{self, Handle, OldPlace, Place, Subject};
use trunkline_session_store::{
    Migrate, PostgresAdmin, PostgresOptions, PostgresStore, SessionStore, StoreError,
};

use super::super::made::{append_notes, new_session, session};
use super::super::{TTL, few, runtime, server};
use super::{Database, Known, roomy, tried};

/// Each place of the kit is a team, which stores open with its own role.
struct Teams {
    runtime: tokio::runtime::Runtime,
    database: Database,
    made: AtomicU32,
}

struct OfTeam(Known);

impl Subject for Teams {
    fn name(&self) -> String {
        "postgres, as a team".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        self.made.fetch_add(1, Ordering::Relaxed);
        let mut limits = roomy();
        limits.bytes = Some(1 << 40);
        limits.connections = 40;
        Ok(Box::new(OfTeam(self.runtime.block_on(self.database.grant(&limits)))))
    }

    fn block_on(&self, what: std::pin::Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.runtime.block_on(what);
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

#[async_trait::async_trait]
impl Place for OfTeam {
    async fn open(&self) -> Result<Handle, StoreError> {
        let options = PostgresOptions::new(&self.0.url).schema(&self.0.name).lease_ttl(TTL);
        let store = PostgresStore::open(options).await?;
        Ok(Handle::new(store.clone()).closed_by(store.close()))
    }
}

#[test]
fn the_role_of_a_team_keeps_every_promise() {
    let Some(url) = server() else { return };
    let runtime = runtime();
    let database = runtime.block_on(Database::new(&url));
    let teams = Teams { runtime, database, made: AtomicU32::new(0) };
    let report = kit::run(&teams, &few());
    assert!(report.is_ok(), "{report}");
    assert!(teams.made.load(Ordering::Relaxed) > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_opens_its_store_and_makes_and_migrates_none() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&roomy()).await;
    let admin = database.admin(&team.name).await;
    let theirs = |schema: &str| PostgresOptions::new(&team.url).schema(schema).connections(1);
    let error = PostgresStore::open(theirs("elsewhere")).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("permission denied for database"), "{error}");
    // What is not the newest is used as it is, and migrated by the owner alone.
    let older = format!("UPDATE {0}.store SET version = 4, channel = NULL", team.name);
    tried(&database.url, &older).await.unwrap();
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    store.close().await;
    let member = PostgresAdmin::connect(theirs(&team.name)).await.unwrap();
    assert_eq!(member.status().await.unwrap().version, Some(4));
    let error = member.migrate(&Migrate::new(), |_| ()).await.unwrap_err().to_string();
    assert!(error.contains("must be owner of table") && error.contains("Roles and rights"), "{error}");
    let error = member.grant(&roomy()).await.unwrap_err().to_string();
    assert!(error.contains("may not make roles"), "{error}");
    assert!(
        member.revoke().await.is_err() && member.set_password("x").await.is_ok(),
        "its own password it may set"
    );
    // A table that a migration makes is the team's as well.
    tried(&database.url, &format!("DROP TABLE {}.snapshots", team.name)).await.unwrap();
    tried(&database.url, &format!("CREATE TABLE {}.snapshots (session uuid PRIMARY KEY, seq bigint, digest bytea, form bigint, seal bytea, bytes bytea)", team.name)).await.unwrap();
    let migration = admin.migrate(&Migrate::new(), |_| ()).await.unwrap();
    assert_eq!((migration.from, migration.done), (Some(4), true));
    let team = database.known(&admin, "its-own").await;
    let store = team.open().await;
    assert_eq!(store.snapshot(&session(1)).await.unwrap(), None);
    store.create(new_session(2)).await.unwrap();
    store.close().await;
    let owners =
        format!("SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = '{}'", team.name);
    assert_eq!(tried(&database.url, &owners).await.unwrap(), [format!("{}_owner", team.name)]);
    let again = PostgresAdmin::connect(PostgresOptions::new(&team.url).schema(&team.name)).await.unwrap();
    assert!(
        again.migrate(&Migrate::new(), |_| ()).await.unwrap().done,
        "whoever has nothing to do may say so"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_works_with_fewer_connections_than_it_would_take() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut limits = roomy();
    limits.connections = 2;
    let team = database.grant(&limits).await;
    let store = team.open_wide().await;
    let mut writing = Vec::new();
    let end = std::time::Instant::now() + 3 * TTL;
    for number in 1..=20 {
        let store = store.clone();
        writing.push(tokio::spawn(async move {
            store.create(new_session(number)).await?;
            let lease = store.lease(&session(number)).await?;
            let mut seq = 1;
            while std::time::Instant::now() < end {
                append_notes(&store, &lease, seq, 1).await?;
                store.info(&session(number)).await?;
                seq += 1;
            }
            Ok::<_, StoreError>(lease)
        }));
    }
    for one in writing {
        let lease = one.await.unwrap().unwrap();
        drop(lease);
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_hears_in_which_session_something_happens() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (team, other) = (database.grant(&roomy()).await, database.grant(&roomy()).await);
    let secret = tried(&database.url, &format!("SELECT channel FROM {}.store", team.name)).await.unwrap();
    // Who knows the name of the team, its tables and its sessions cannot name the channel.
    let heard = {
        let (client, mut connection) =
            tokio_postgres::connect(&other.url, tokio_postgres::NoTls).await.unwrap();
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let tokio_postgres::AsyncMessage::Notification(notification) = message {
                    let _ = told.send(format!("{} {}", notification.channel(), notification.payload()));
                }
            }
        });
        let names =
            [format!("trunkline.{}", team.name), team.name.clone(), format!("trunkline.{}", secret[0])];
        for name in names {
            client.batch_execute(&format!("LISTEN \"{}\"", &name[..name.len().min(63)])).await.unwrap();
        }
        let store = team.open().await;
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        append_notes(&store, &lease, 1, 3).await.unwrap();
        drop(lease);
        store.close().await;
        client.batch_execute("SELECT 1").await.unwrap();
        heard.try_recv().ok()
    };
    assert_eq!(heard, None);
}
