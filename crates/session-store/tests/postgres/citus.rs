//! The kit on a store whose tables are distributed by Citus.
//!
//! `TRUNKLINE_TEST_POSTGRES_CITUS` is the URL of a coordinator, as a superuser, with one worker or more.

use std::pin::Pin;
use std::process::Command;
use std::time::Duration;

use tokio::sync::OnceCell;
use trunkline_session_store::kit::{self, Handle, OldPlace, Place, Subject};
use trunkline_session_store::{
    Claim, Distributed as Done, PostgresAdmin, PostgresStore, SessionStore, StoreError,
};

use super::made::{append_notes, bodies, new_session, session};
use super::schema::{old_place, old_schemas};
use super::{Schema, TTL, options, runtime, skipped};

const URL: &str = "TRUNKLINE_TEST_POSTGRES_CITUS";

fn server() -> Option<String> {
    let url = std::env::var(URL).ok().filter(|url| !url.is_empty() && url != "none");
    if url.is_none() {
        skipped(URL);
    }
    url
}

struct Citus {
    runtime: tokio::runtime::Runtime,
    url: String,
}

impl Subject for Citus {
    fn name(&self) -> String {
        "postgres, distributed by Citus".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Ok(Box::new(Distributed::new(Schema::new(&self.url))))
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.runtime.block_on(what);
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn lease_outlives(&self) -> Duration {
        TTL
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        let places = old_schemas(&self.runtime, &self.url, &self.url);
        let place = |(version, schema)| old_place(version, Distributed::new(schema));
        Ok(places.into_iter().map(place).collect())
    }
}

/// A schema that is distributed before it is used.
struct Distributed {
    schema: Schema,
    done: OnceCell<()>,
}

impl Distributed {
    fn new(schema: Schema) -> Self {
        Distributed { schema, done: OnceCell::new() }
    }
}

#[async_trait::async_trait]
impl Place for Distributed {
    async fn open(&self) -> Result<Handle, StoreError> {
        let options = self.schema.options().lease_ttl(TTL);
        let distribute = || async {
            // An empty one is made first, an old one is distributed as it is.
            PostgresStore::open(options.clone()).await?.close().await;
            let admin = PostgresAdmin::connect(options.clone()).await?;
            admin.distribute(|_| ()).await?;
            admin.close().await;
            Ok::<(), StoreError>(())
        };
        self.done.get_or_try_init(distribute).await?;
        let store = PostgresStore::open(options).await?;
        Ok(Handle::new(store.clone()).closed_by(store.close()))
    }

    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        self.schema.writer(seed, dies_after)
    }
}

#[test]
fn citus_keeps_every_promise() {
    let Some(url) = server() else { return };
    let subject = Citus { runtime: runtime(), url };
    let report = kit::run(&subject, &options());
    println!("{report}");
    assert!(report.is_ok(), "{report}");
}

const TABLES: [&str; 7] = ["sessions", "records", "bodies", "parts", "keys", "letters", "snapshots"];

async fn distribute(schema: &Schema) -> Result<Done, StoreError> {
    schema.admin().await.distribute(|_| ()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_distributed_once_and_a_half_of_it_is_ended() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.open().await.close().await;
    schema.run("SELECT create_distributed_table('@sessions', 'session', colocate_with => 'none')").await;
    schema.run("SELECT create_reference_table('@owners')").await;
    let done = distribute(&schema).await.unwrap();
    assert_eq!(done.tables, TABLES.get(1..).unwrap());
    assert_eq!(done.gathered, ["owners"]);
    assert!(done.shards > 1 && done.servers > 0, "{done:?}");
    let again = distribute(&schema).await.unwrap();
    assert!(again.tables.is_empty() && again.gathered.is_empty(), "{again:?}");
    assert_eq!((again.shards, again.servers), (done.shards, done.servers));
    assert!(schema.admin().await.status().await.unwrap().distributed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_distributed_in_another_way_is_refused_and_not_touched() {
    let Some(url) = server() else { return };
    for wrong in [
        "SELECT create_reference_table('@sessions')",
        "SELECT create_distributed_table('@records', 'session', colocate_with => 'none')",
        "SELECT create_distributed_table('@sessions', 'session', colocate_with => 'none', shard_count => 3);
         SELECT create_distributed_table('@keys', 'session', colocate_with => 'none', shard_count => 5)",
    ] {
        let schema = Schema::new(&url);
        schema.open().await.close().await;
        schema.run(wrong).await;
        let error = distribute(&schema).await.unwrap_err().to_string();
        assert!(error.contains("undistribute_table"), "{wrong}: {error}");
        let sql = format!(
            "SELECT logicalrelid::text FROM pg_dist_partition WHERE logicalrelid::text LIKE '{}.%'",
            schema.name
        );
        assert_eq!(schema.rows(&sql).await.len(), wrong.matches("SELECT").count(), "{wrong}");
    }
}

/// Who has the store open goes on, and what it was told is kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_distributed_while_it_is_written() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    let mut writing = Vec::new();
    for number in 1..=8 {
        store.create(new_session(number)).await.unwrap();
        let store = store.clone();
        writing.push(tokio::spawn(async move {
            let lease = store.claim(&session(number), Claim::IfFree).await?;
            append_notes(&store, &lease, 1, 60).await
        }));
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(distribute(&schema).await.unwrap().tables, TABLES);
    for one in writing {
        assert_eq!(one.await.unwrap().unwrap().seq, 61);
    }
    for number in 1..=8 {
        assert_eq!(
            bodies(&schema.open().await, number).await,
            (1..=60).map(|seq| seq.to_string()).collect::<Vec<_>>()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_distributed_can_be_migrated() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.plant(super::schema::SEED_4).await;
    distribute(&schema).await.unwrap();
    let before = schema.open().await.sessions().await.unwrap();
    schema.migrate().await;
    assert_eq!(schema.open().await.sessions().await.unwrap(), before);
    assert!(!before.is_empty());
}
