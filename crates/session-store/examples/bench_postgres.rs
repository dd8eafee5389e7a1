//! Measures what a durable append costs on a PostgreSQL server, against the least that this machine's disk asks for the same
//! bytes: only where both are the same disk does the ratio mean much.
//!
//! `TRUNKLINE_TEST_POSTGRES=postgres://… cargo run --release --no-default-features --features postgres --example bench_postgres`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, Link, Message, MessageTree, NodeId, Timestamp};
use trunkline_session_store::{
    Activity, Batch, Durability, Lease, NewSession, Position, PostgresOptions, PostgresStore, Record,
    SessionId, SessionStore,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: u32 = 400;
const SESSIONS: u32 = 64;

#[tokio::main]
async fn main() -> Outcome<()> {
    let url = std::env::var("TRUNKLINE_TEST_POSTGRES")?;
    let schema = format!("bench_{}", std::process::id());
    let store = PostgresStore::open(PostgresOptions::new(&url).schema(&schema)).await?;
    let folder = tempfile::tempdir_in(std::env::current_dir()?)?;
    let mut raw = File::create(folder.path().join("raw"))?;

    let mut one = Writing::new(&store, 1).await?;
    let (mut raw_times, mut times, mut soft_times) = (Vec::new(), Vec::new(), Vec::new());
    let bytes = serde_json::to_string(&message())?;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        raw.write_all(bytes.as_bytes())?;
        raw.sync_data()?;
        raw_times.push(start.elapsed());
        times.push(one.append(&store, Durability::Flushed).await?);
        soft_times.push(one.append(&store, Durability::Committed).await?);
    }
    let (raw, flushed, committed) = (median(raw_times), median(times), median(soft_times));
    println!("# {} bytes: raw {raw:?}, flushed {flushed:?}, committed {committed:?}", bytes.len());
    println!("flushed append / raw append + fdatasync  {:.2}", ratio(flushed, raw));

    let mut writers = Vec::new();
    for number in 2..SESSIONS + 2 {
        writers.push((store.clone(), Writing::new(&store, number).await?));
    }
    let start = Instant::now();
    let mut tasks = Vec::new();
    for (store, mut writing) in writers {
        tasks.push(tokio::spawn(async move {
            for _ in 0..100 {
                if writing.append(&store, Durability::Flushed).await.is_err() {
                    return false;
                }
            }
            true
        }));
    }
    for task in tasks {
        if !task.await? {
            return Err("a writer failed".into());
        }
    }
    let rate = f64::from(SESSIONS * 100) / start.elapsed().as_secs_f64();
    println!("# {SESSIONS} sessions at once: {rate:.0} appends a second");
    println!("rate of {SESSIONS} sessions / raw single writer  {:.2}", rate * raw.as_secs_f64());

    let start = Instant::now();
    let tokens = 20_000;
    for _ in 0..tokens {
        one.append(&store, Durability::Buffered).await?;
    }
    let said = start.elapsed();
    store.changed(&one.id, Activity::default()).await?;
    println!("# {tokens} buffered appends: said in {said:?}, written after {:?}", start.elapsed());

    let start = Instant::now();
    let log = store.load(&one.id).await?;
    println!("# load of {} records: {:?}", log.records.len(), start.elapsed());
    let start = Instant::now();
    let resumed = store.resume(&one.id, 50).await?;
    println!("# resume with {} records: {:?}", resumed.last.len(), start.elapsed());
    println!("# the schema {schema} is left to look at");
    store.close().await;
    Ok(())
}

/// One session and where it is.
struct Writing {
    id: SessionId,
    lease: Lease,
    at: Position,
}

impl Writing {
    async fn new(store: &PostgresStore, number: u32) -> Outcome<Self> {
        let id = SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}"))?;
        let tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
        let root = tree.entries().next().ok_or("a tree has its root")?;
        let (title, workspace) = (String::new(), None);
        store.create(NewSession { id: id.clone(), title, workspace, at: Timestamp(0), root }).await?;
        let lease = store.lease(&id).await?;
        Ok(Writing { id, lease, at: Position { seq: 1, head: NodeId::ROOT } })
    }

    async fn append(&mut self, store: &PostgresStore, level: Durability) -> Outcome<Duration> {
        let mut message = message();
        let id = NodeId::new(self.at.seq as u32);
        message.node = Some(id);
        let entry =
            Entry::Node { id, parent: Some(self.at.head), at: Timestamp(0), link: Link::Next, message };
        let batch = Batch::new(self.at, vec![Record::Entry(entry)]).with(level);
        let start = Instant::now();
        let receipt = store.append(&self.lease, batch).await?;
        let took = start.elapsed();
        self.at = Position { seq: receipt.seq, head: id };
        Ok(took)
    }
}

fn message() -> Message {
    Message::user("all work and no play ".repeat(44))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
