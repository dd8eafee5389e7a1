//! Writers and followers for `cargo xtask failover`, which breaks the servers below them; at the end they read everything
//! and say what of their receipts still holds.
//!
//! `failover_writers MODE SEED JUDGE ONE OTHER NODE…`: a URL of the primary for the verdict, two that writers and followers use in
//! turn, and one of each node. A line `idle` on standard input has the idle writers write once; its end ends the run. Some writers
//! are in a process of their own, `failover_writers client SEED ONE OTHER`, which can be stopped for a while.

#![expect(clippy::print_stdout, reason = "an example shows something")]

mod client;
mod follower;
mod journal;
mod nodes;
mod verdict;
mod writer;

use std::error::Error;
use std::io::BufRead;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_session_store::{
    NewSession, PostgresOptions, PostgresStore, SessionId, SessionStore, StoreError,
};

use self::client::Client;
use self::journal::Journal;
use self::verdict::Run;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Writers that take turns at sessions, the sessions they share, and writers with a session of their own that mostly wait.
const BUSY: u32 = 8;
const SHARED: u32 = 5;
const IDLE: u32 = 4;

/// A server that has not come back by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all tasks look at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Signal {
    /// How often the idle writers were called.
    pub(crate) calls: u64,
    pub(crate) stop: bool,
    /// All writers have ended.
    pub(crate) over: bool,
}

#[tokio::main]
async fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, seed, one, other] = arguments.as_slice()
        && word == "client"
    {
        client::run(seed.parse()?, [one, other]).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let [mode, seed, judge, one, other, nodes @ ..] = arguments.as_slice() else {
        println!("SKIPPED: no servers are named; `cargo xtask failover` starts some");
        return Ok(ExitCode::SUCCESS);
    };
    let seed: u64 = seed.parse()?;
    let urls = [one.as_str(), other.as_str()];
    let first = open(judge, "judge").await?;
    for number in 0..SHARED + IDLE {
        first.create(new_session(number)?).await?;
    }

    let begun = Instant::now();
    let (signals, signal) = watch::channel(Signal::default());
    let sampling: Vec<_> =
        nodes.iter().map(|node| tokio::spawn(nodes::sample(node.clone(), signal.clone()))).collect();
    let client = tokio::spawn(Client::start(seed, one, other)?.run(signal.clone()));
    let here: Vec<u32> = (0..BUSY + IDLE).filter(|number| !client::THERE.contains(number)).collect();
    let writing = write(&here, seed, urls, &signal).await?;
    let mut following = Vec::new();
    for number in 0..SHARED + IDLE {
        let store = open(url(&urls, number), &format!("follower {number}")).await?;
        following.push(tokio::spawn(follower::follow(store, session(number)?, signal.clone())));
    }
    let signals = follow_input(signals).await?;

    let mut journals = Vec::new();
    for writer in writing {
        journals.push(writer.await?);
    }
    println!("the writers of this process have ended");
    let (others, naps) = client.await??;
    journals.extend(others);
    println!("all writers have ended");
    signals.send_modify(|signal| signal.over = true);
    let mut followed = Vec::new();
    for follower in following {
        followed.push(follower.await?);
    }
    println!("all followers have ended");
    let mut samples = Vec::new();
    for node in sampling {
        samples.extend(node.await?);
    }
    let mut logs = Vec::new();
    for session in sessions(0..SHARED + IDLE)? {
        patiently(|| async { first.verify(&session).await.map(drop) }).await?;
        logs.push((session.clone(), patiently(|| first.read(&session, 0, usize::MAX)).await?));
    }
    let histories = nodes::histories(judge).await?;
    let synchronous = mode == "sync";
    let run = Run { synchronous, begun, journals, naps, followed, samples, histories, logs };
    Ok(ExitCode::from(u8::from(!run.print())))
}

/// Starts writers with these numbers, each with a store of its own.
pub(crate) async fn write(
    numbers: &[u32],
    seed: u64,
    urls: [&str; 2],
    signal: &watch::Receiver<Signal>,
) -> Outcome<Vec<JoinHandle<Journal>>> {
    let mut writing = Vec::new();
    for &number in numbers {
        let store = open(url(&urls, number), &format!("writer {number}")).await?;
        let chance = writer::Chance::new(seed ^ u64::from(number + 1) << 32);
        let writer = writer::Writer::new(number, store, chance, signal.clone());
        writing.push(match number.checked_sub(BUSY) {
            None => tokio::spawn(writer.take_turns(sessions(0..SHARED)?)),
            Some(own) => tokio::spawn(writer.wait_for_calls(session(SHARED + own)?)),
        });
    }
    Ok(writing)
}

/// Turns lines into signals until there are no more.
pub(crate) async fn follow_input(signals: watch::Sender<Signal>) -> Outcome<watch::Sender<Signal>> {
    let input = tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_ok_and(|line| line == "idle") {
                signals.send_modify(|signal| signal.calls += 1);
            }
        }
        signals.send_modify(|signal| signal.stop = true);
        signals
    });
    Ok(input.await?)
}

fn url<'a>(urls: &[&'a str; 2], number: u32) -> &'a str {
    let [one, other] = urls;
    if number.is_multiple_of(2) { one } else { other }
}

async fn open(url: &str, name: &str) -> Result<PostgresStore, StoreError> {
    patiently(|| PostgresStore::open(PostgresOptions::new(url).name(name))).await
}

/// Tries again what failed because a server is away.
pub(crate) async fn patiently<T, F>(what: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let begun = Instant::now();
    loop {
        match what().await {
            Err(StoreError::Busy { .. } | StoreError::Io { .. }) if begun.elapsed() < PATIENCE => {}
            result => return result,
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn sessions(numbers: std::ops::Range<u32>) -> Outcome<Vec<SessionId>> {
    numbers.map(session).collect()
}

fn session(number: u32) -> Outcome<SessionId> {
    Ok(SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}"))?)
}

fn new_session(number: u32) -> Outcome<NewSession> {
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(1));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let title = format!("session {number}");
    Ok(NewSession { id: session(number)?, title, workspace: None, at: Timestamp(1), root })
}
