//! Measures what a durable append costs, against the least that the disk asks for the same bytes.
//!
//! Both sides take turns in one run, because only their ratio means anything. `cargo xtask bench session-store`.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, Message, MessageTree, NodeId, Timestamp};
use trunkline_session_store::{
    Batch, Log, Record, SessionId, SessionInfo, SessionStore, SqliteStore, WriterLock,
};

const ROUNDS: u32 = 400;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Beside the program: the system's temporary folder may be memory.
    let program = std::env::current_exe()?;
    let folder = tempfile::tempdir_in(program.parent().ok_or("the program lies in a folder")?)?;
    let store = SqliteStore::open(folder.path().join("sessions.db")).await?;
    let mut raw = File::create(folder.path().join("raw"))?;
    let mut small = session(&store, 1, 100).await?;
    let mut large = session(&store, 2, 100_000).await?;
    let line = vec![b'x'; small.record_bytes()?];

    let (mut raw_times, mut small_times, mut large_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        raw.write_all(&line)?;
        raw.sync_data()?;
        raw_times.push(start.elapsed());
        small_times.push(small.append(&store).await?);
        large_times.push(large.append(&store).await?);
    }
    let raw = median(raw_times);
    let (small_time, large_time) = (median(small_times), median(large_times));
    println!("# raw append + fdatasync of {} bytes: {raw:?}; ours: {small_time:?}", line.len());
    print_ratio("durable append / raw append + fdatasync", ratio(small_time, raw), 2.2);
    print_ratio("append at 100,000 records / at 100", ratio(large_time, small_time), 1.2);

    let start = Instant::now();
    let log = store.load(&large.id).await?;
    println!("# load of {} records: {:?}", log.records.len(), start.elapsed());
    drop((small, large));
    store.close().await;
    let disk = size(&folder.path().join("sessions.db"))?;
    let payload: usize = log.records.iter().map(|(_, record)| payload(record)).sum::<usize>();
    print_ratio("bytes on disk / bytes of messages", disk as f64 / payload as f64, 1.5);
    Ok(())
}

/// One session and where it is.
struct Writing {
    id: SessionId,
    lock: WriterLock,
    seq: u64,
}

impl Writing {
    async fn append(&mut self, store: &SqliteStore) -> Result<Duration, Box<dyn Error>> {
        let expected_head = NodeId::new((self.seq - 1) as u32);
        let records = vec![record(self.seq as u32)];
        let batch = Batch { expected_head, expected_seq: self.seq, records, consumed: Vec::new() };
        let start = Instant::now();
        self.seq = store.append(&self.lock, batch).await?.seq;
        Ok(start.elapsed())
    }

    fn record_bytes(&self) -> Result<usize, Box<dyn Error>> {
        Ok(payload(&record(self.seq as u32)))
    }
}

async fn session(store: &SqliteStore, number: u32, records: u32) -> Result<Writing, Box<dyn Error>> {
    let id = SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}"))?;
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let info = SessionInfo {
        id: id.clone(),
        title: String::new(),
        workspace: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        head: NodeId::new(records - 1),
        records: records.into(),
        nodes: records.into(),
    };
    let all = std::iter::once(Record::Entry(root)).chain((1..records).map(record));
    store.restore(Log { info, records: (1..).zip(all).collect() }).await?;
    Ok(Writing { lock: store.lock(&id).await?, id, seq: records.into() })
}

/// A message of about 1 KB.
fn record(id: u32) -> Record {
    let mut message = Message::user("all work and no play ".repeat(44));
    message.node = Some(NodeId::new(id));
    let (id, parent) = (NodeId::new(id), Some(NodeId::new(id - 1)));
    Record::Entry(Entry::Node { id, parent, at: Timestamp(0), filed: false, message })
}

fn payload(record: &Record) -> usize {
    match record {
        Record::Entry(entry) => serde_json::to_string(entry).map_or(0, |text| text.len()),
        Record::Note(note) => note.body.len(),
    }
}

fn size(path: &Path) -> std::io::Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn print_ratio(name: &str, value: f64, bar: f64) {
    let verdict = if value <= bar { "ok" } else { "SHORT" };
    println!("{name}  {value:.2}  {bar:.2}  {verdict}");
}
