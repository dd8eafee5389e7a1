//! What sessions cost on SQLite.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use trunkline_message_tree::{Message, Timestamp};
use trunkline_session_store::{Digest, Lease, Note, Position, Record, SessionStore, SqliteStore, export};

use crate::writing::{Rate, Writing, create, fill, id, message, payload};
use crate::{Outcome, at_least, at_most, median, ratio, slow_flush};

const LARGE: u32 = 100_000;
const SMALL: u32 = 1_000;
const WRITERS: u32 = 64;
const IDLE: u32 = 4_000;

pub(crate) async fn measure() -> Outcome<()> {
    // Beside the program: the system's temporary folder may be memory.
    let program = std::env::current_exe()?;
    let folder = tempfile::tempdir_in(program.parent().ok_or("the program lies in a folder")?)?;
    let path = |name: &str| folder.path().join(name);
    let store = Arc::new(SqliteStore::open(path("sessions.db")).await?);
    // First, while nothing that was used and given back hides what is new.
    idle(&store).await?;
    durable_appends(&store, &path("raw")).await?;
    reading(&store, &path("session.jsonl")).await?;
    store.as_ref().clone().close().await;
    turns_on_disk(&path("turns.db")).await?;
    reverts_on_disk(&path("reverts.db")).await
}

/// What many writers share, in a process whose flushes are slow.
pub(crate) async fn with_slow_flushes() -> Outcome<()> {
    let program = std::env::current_exe()?;
    let folder = tempfile::tempdir_in(program.parent().ok_or("the program lies in a folder")?)?;
    slow_flush::is_slow(folder.path())?;
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await?);
    many_writers(&store, &folder.path().join("raw")).await?;
    store.as_ref().clone().close().await;
    Ok(())
}

/// One session, one append after the other.
async fn durable_appends(store: &SqliteStore, raw: &Path) -> Outcome<()> {
    let mut raw = Raw::new(raw, 0)?;
    let mut small = Writing::begin(store, 1, 100).await?;
    let mut large = Writing::begin(store, 2, LARGE).await?;
    raw.line = vec![b'x'; payload(&message(100))];
    let (mut raw_times, mut small_times, mut large_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..800 {
        raw_times.push(raw.append()?);
        small_times.push(small.append(store).await?);
        large_times.push(large.append(store).await?);
    }
    let (raw_time, small_time, large_time) = (median(raw_times), median(small_times), median(large_times));
    println!("# raw append + fdatasync of {} bytes: {raw_time:?}; ours: {small_time:?}", raw.line.len());
    at_most("durable append / raw append + fdatasync", ratio(small_time, raw_time), 2.2);
    at_most("append at 100,000 records / at 100", ratio(large_time, small_time), 1.2);

    Ok(())
}

/// Many sessions at once, against one raw writer.
async fn many_writers(store: &Arc<SqliteStore>, raw: &Path) -> Outcome<()> {
    let mut raw = Raw::new(raw, payload(&message(100)))?;
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        writers.push(Writing::begin(store, 100 + number, 2).await?);
    }
    let (mut raw_done, mut ours_done) = (Rate::default(), Rate::default());
    let slice = Duration::from_millis(250);
    for _ in 0..12 {
        let start = Instant::now();
        while start.elapsed() < slice {
            raw.append()?;
            raw_done.count += 1;
        }
        raw_done.time += start.elapsed();
        let start = Instant::now();
        let tasks = writers.into_iter().map(|mut writing| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut count = 0;
                while start.elapsed() < slice {
                    writing.append(&store).await?;
                    count += 1;
                }
                Outcome::Ok((writing, count))
            })
        });
        let tasks: Vec<_> = tasks.collect();
        writers = Vec::new();
        for task in tasks {
            let (writing, count) = task.await??;
            writers.push(writing);
            ours_done.count += count;
        }
        ours_done.time += start.elapsed();
    }
    println!(
        "# SQLite, each flush 1 ms slower: raw {:.0} appends/s, ours {:.0}/s",
        raw_done.get(),
        ours_done.get()
    );
    let name = "appends of 64 sessions at once / raw single writer, each flush 1 ms slower";
    at_least(name, ours_done.get() / raw_done.get(), 8.0);
    Ok(())
}

/// Going on with a long session, and reading all of it.
async fn reading(store: &SqliteStore, file: &Path) -> Outcome<()> {
    let (small, large) = (id(11)?, id(12)?);
    fill(store, &small, SMALL).await?;
    fill(store, &large, LARGE).await?;
    let mut out = std::io::BufWriter::new(File::create(file)?);
    let info = export(store, &large, &mut out).await?;
    out.into_inner()?.sync_all()?;
    let (mut small_times, mut large_times) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        for (session, times) in [(&small, &mut small_times), (&large, &mut large_times)] {
            let start = Instant::now();
            let resumed = store.resume(session, 50).await?;
            times.push(start.elapsed());
            assert_eq!(resumed.last.len(), 50, "the last 50 records");
        }
    }
    let (small_time, large_time) = (median(small_times), median(large_times));
    println!("# resume at {SMALL} records: {small_time:?}; at {LARGE}: {large_time:?}");
    at_most("resume at 100,000 records / at 1,000", ratio(large_time, small_time), 2.0);

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        let log = store.load(&large).await?;
        ours.push(start.elapsed());
        assert_eq!(log.records.len() as u64, info.records, "all records");
        drop(log);
        let start = Instant::now();
        let lines = read_lines(file, info.records)?;
        theirs.push(start.elapsed());
        assert_eq!(lines.len() as u64, info.records, "all lines");
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!("# load of {} records: {ours:?}; the same lines with serde_json: {theirs:?}", info.records);
    at_most("full load of 100,000 messages / reading the JSONL", ratio(ours, theirs), 1.2);
    Ok(())
}

/// What a session costs that is held and does nothing.
async fn idle(store: &SqliteStore) -> Outcome<()> {
    for number in 0..IDLE {
        create(store, &id(10_000 + number)?).await?;
    }
    // One lease more, so that what all of them share is there.
    let _first = store.lease(&id(10_000)?).await?;
    let before = Process::now()?;
    let mut leases: Vec<Lease> = Vec::with_capacity(IDLE as usize);
    for number in 1..IDLE {
        leases.push(store.lease(&id(10_000 + number)?).await?);
    }
    let after = Process::now()?;
    let each = after.bytes.saturating_sub(before.bytes) as f64 / leases.len() as f64;
    at_most("bytes of an idle open session", each, 2_000.0);
    at_most("threads of 4,000 idle sessions", after.threads.saturating_sub(before.threads) as f64, 0.0);
    at_most("file handles of 4,000 idle sessions", after.files.saturating_sub(before.files) as f64, 0.0);
    Ok(())
}

/// A thousand turns, each a prompt, a call, its result and an answer, with notes and a revert every ten.
async fn turns_on_disk(path: &Path) -> Outcome<()> {
    let store = SqliteStore::open(path).await?;
    let mut writing = Writing::begin(&store, 1, 1).await?;
    let mut payload_bytes = 0;
    for turn in 0..1_000_u32 {
        for _ in 0..4 {
            payload_bytes += payload(&message(writing.node));
            writing.append(&store).await?;
        }
        let note = Note::new("runtime", "call_started", Timestamp(0), r#"{"call":{"node":"n5","index":0}}"#);
        payload_bytes += note.body.len();
        writing.add(&store, vec![Record::Note(note)]).await?;
        if turn % 10 == 9 {
            writing.revert(&store).await?;
        }
    }
    drop(writing);
    store.close().await;
    let disk = std::fs::metadata(path)?.len();
    println!("# {payload_bytes} bytes of payload, {disk} on disk");
    at_most("bytes on disk / payload, 1,000 turns with reverts", disk as f64 / payload_bytes as f64, 1.5);
    Ok(())
}

/// What two hundred reverts of a long session add to its database.
async fn reverts_on_disk(path: &Path) -> Outcome<()> {
    let store = SqliteStore::open(path).await?;
    drop(Writing::begin(&store, 1, LARGE).await?);
    store.close().await;
    let before = std::fs::metadata(path)?.len();
    let store = SqliteStore::open(path).await?;
    let lease = store.lease(&id(1)?).await?;
    let info = store.info(&id(1)?).await?;
    let at = Position { seq: info.records, head: info.head };
    let mut writing = Writing { lease, at, node: info.nodes as u32 };
    for _ in 0..200 {
        writing.revert(&store).await?;
    }
    drop(writing);
    store.close().await;
    let bytes = std::fs::metadata(path)?.len() - before;
    at_most("KB that a revert adds at 100,000 records", bytes as f64 / 200.0 / 1024.0, 8.0);
    Ok(())
}

/// Appends bytes to a file and waits for the disk.
struct Raw {
    file: File,
    line: Vec<u8>,
}

impl Raw {
    fn new(path: &Path, bytes: usize) -> Outcome<Self> {
        Ok(Raw { file: File::create(path)?, line: vec![b'x'; bytes] })
    }

    fn append(&mut self) -> std::io::Result<Duration> {
        let start = Instant::now();
        self.file.write_all(&self.line)?;
        self.file.sync_data()?;
        Ok(start.elapsed())
    }
}

/// What the operating system says of this process.
struct Process {
    bytes: u64,
    threads: u64,
    files: u64,
}

impl Process {
    fn now() -> Outcome<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| -> Outcome<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
            Ok(line.split_whitespace().next().ok_or("no number")?.parse()?)
        };
        let files = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        Ok(Process { bytes: number("VmRSS:")? * 1024, threads: number("Threads:")?, files })
    }
}

/// A line of the interchange form, read as a typed message.
#[derive(Deserialize)]
struct Line {
    seq: u64,
    #[expect(dead_code, reason = "read as we read it")]
    at: Timestamp,
    #[expect(dead_code, reason = "read as we read it")]
    digest: Digest,
    #[expect(dead_code, reason = "read as we read it")]
    message: Option<Message>,
}

/// Reads the records behind the header; a last line closes the export.
fn read_lines(path: &Path, records: u64) -> Outcome<Vec<Line>> {
    let mut lines = Vec::new();
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    line.clear();
    while (lines.len() as u64) < records && file.read_until(b'\n', &mut line)? > 0 {
        let read: Line = serde_json::from_slice(&line)?;
        assert_eq!(read.seq, lines.len() as u64 + 1, "lines are in order");
        lines.push(read);
        line.clear();
    }
    Ok(lines)
}
