//! What a quiet team feels of another one that takes all that its limits allow.
//!
//! The noisy team is another process with the limits that `grant` gives if nothing else is said. The quiet one appends and
//! reads now and then through the store. Alone and beside the other take turns, and the 99th percentiles are compared.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use trunkline_session_store::{PostgresAdmin, PostgresOptions, PostgresStore, SessionStore, TeamLimits};

use crate::postgres::connect;
use crate::writing::{Writing, id};
use crate::{Outcome, at_most, median};

const BAR: f64 = 2.0;
const SLICE: Duration = Duration::from_millis(900);
/// For how long the noisy team is at it before the quiet one is measured, and how much longer it goes on.
const AROUND: Duration = Duration::from_millis(200);
const TURNS: u32 = 14;
/// What a person and a model leave between two appends is much longer.
const PAUSE: Duration = Duration::from_millis(3);

/// How the noisy team makes noise.
const HOWS: [(&str, &str); 3] = [
    ("processor", "statements that only compute"),
    ("bulk", "bulk inserts"),
    ("store", "appends to 64 sessions through the store"),
];

/// On how many connections the noisy team is at it: those that `grant` gives if nothing else is said, and half as many as there
/// are cores, which leaves the other half to the rest.
fn connections() -> BTreeSet<u32> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    BTreeSet::from([TeamLimits::new().connections, u32::try_from(cores / 2).unwrap_or(1).max(1)])
}

pub(crate) async fn measure() -> Outcome<()> {
    let Ok(url) = std::env::var("TRUNKLINE_TEST_POSTGRES") else { return Ok(()) };
    let teams = Teams::make(&url).await?;
    let measured = compare(&teams).await;
    teams.remove().await?;
    measured
}

async fn compare(teams: &Teams) -> Outcome<()> {
    let options = PostgresOptions::new(&teams.urls[0]).schema(&teams.names[0]);
    let store = PostgresStore::open(options.connections(1)).await?;
    let mut writing = Writing::begin(&store, 1, 100).await?;
    // Fills caches.
    Times::of(&store, &mut writing).await?;
    let each = connections().into_iter().flat_map(|connections| HOWS.map(|how| (connections, how)));
    for (connections, (how, words)) in each {
        let mut noisy = Noisy::start(how, connections, teams).await?;
        let (mut alone, mut beside) = (Times::default(), Times::default());
        for _ in 0..TURNS {
            alone.add(Times::of(&store, &mut writing).await?);
            noisy.go().await?;
            tokio::time::sleep(AROUND).await;
            beside.add(Times::of(&store, &mut writing).await?);
            noisy.wait().await?;
        }
        noisy.end().await?;
        for (what, alone, beside) in
            [("append", alone.appends, beside.appends), ("read", alone.reads, beside.reads)]
        {
            let (alone, beside) = (Percentiles::of(alone), Percentiles::of(beside));
            println!("# PostgreSQL, a quiet team's {what} beside {words}: alone {alone}, beside {beside}");
            let name = format!(
                "PostgreSQL: p99 of a quiet team's {what} beside {words} on all {connections} connections of another / alone"
            );
            at_most(&name, beside.p99.as_secs_f64() / alone.p99.as_secs_f64(), BAR);
        }
    }
    drop(writing);
    store.close().await;
    Ok(())
}

/// How long single calls of the quiet team took.
#[derive(Default)]
struct Times {
    appends: Vec<Duration>,
    reads: Vec<Duration>,
}

impl Times {
    async fn of(store: &PostgresStore, writing: &mut Writing) -> Outcome<Self> {
        let (start, mut times) = (Instant::now(), Times::default());
        let session = id(1)?;
        while start.elapsed() < SLICE {
            times.appends.push(writing.append(store).await?);
            tokio::time::sleep(PAUSE).await;
            let read = Instant::now();
            store.read(&session, 50, 20).await?;
            times.reads.push(read.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        Ok(times)
    }

    fn add(&mut self, mut other: Times) {
        self.appends.append(&mut other.appends);
        self.reads.append(&mut other.reads);
    }
}

struct Percentiles {
    p50: Duration,
    p99: Duration,
}

impl Percentiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
        Percentiles { p50: median(times), p99 }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.2?} p99 {:.2?}", self.p50, self.p99)
    }
}

/// Two teams: the quiet one and the noisy one.
struct Teams {
    admin: String,
    names: [String; 2],
    urls: [String; 2],
}

impl Teams {
    async fn make(admin: &str) -> Outcome<Self> {
        let name = |part: &str| format!("bench_{part}_{}", std::process::id());
        let names = [name("quiet"), name("noisy")];
        let mut urls = [String::new(), String::new()];
        for (name, url) in names.iter().zip(&mut urls) {
            let team = PostgresAdmin::connect(PostgresOptions::new(admin).schema(name)).await?;
            let mut limits = TeamLimits::new();
            limits.bytes = Some(1 << 30);
            limits.connections = connections().into_iter().max().unwrap_or(1);
            team.grant(&limits).await?;
            let password = name.chars().rev().collect::<String>();
            team.set_password(&password).await?;
            team.close().await;
            let (before, after) = admin.rsplit_once('@').ok_or("a URL with a login")?;
            let (scheme, _) = before.split_once("://").ok_or("a URL")?;
            *url = format!("{scheme}://{name}:{password}@{after}");
        }
        Ok(Teams { admin: admin.to_owned(), names, urls })
    }

    async fn remove(self) -> Outcome<()> {
        for name in &self.names {
            let team = PostgresAdmin::connect(PostgresOptions::new(&self.admin).schema(name)).await?;
            team.revoke().await?;
            team.close().await;
        }
        Ok(())
    }
}

/// The process of the noisy team.
struct Noisy {
    child: Child,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Noisy {
    async fn start(how: &str, connections: u32, teams: &Teams) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["hammer", how, &connections.to_string(), &teams.urls[1], &teams.names[1]]);
        command.kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("it has an output")?;
        let mut noisy = Noisy { child, lines: BufReader::new(output).lines() };
        noisy.wait().await?;
        Ok(noisy)
    }

    async fn go(&mut self) -> Outcome<()> {
        Ok(self.child.stdin.as_mut().ok_or("it has an input")?.write_all(b"go\n").await?)
    }

    async fn wait(&mut self) -> Outcome<()> {
        self.lines.next_line().await?.ok_or("the noisy team ended, see above")?;
        Ok(())
    }

    async fn end(mut self) -> Outcome<()> {
        drop(self.child.stdin.take());
        match self.child.wait().await?.success() {
            true => Ok(()),
            false => Err("the noisy team failed, see above".into()),
        }
    }
}

/// What the noisy team does: it takes what it may get for a while on each line that it reads.
pub(crate) async fn hammer(how: &str, connections: usize, url: &str, schema: &str) -> Outcome<()> {
    let mut writings = Vec::new();
    let mut clients = Vec::new();
    let mut store = None;
    if how == "store" {
        let options = PostgresOptions::new(url).schema(schema).connections(connections);
        let opened = PostgresStore::open(options).await?;
        for number in 1..=64 {
            writings.push(Writing::begin(&opened, number, 2).await?);
        }
        store = Some(opened);
    } else {
        for _ in 0..connections {
            clients.push(std::sync::Arc::new(connect(url).await?));
        }
    }
    let statement = match how {
        "bulk" => {
            "INSERT INTO bodies SELECT gen_random_uuid(), i, repeat(md5(i::text), 100), NULL FROM generate_series(1, 2000) i;
             DELETE FROM bodies WHERE seq > 0"
        }
        _ => "SELECT count(*) FROM generate_series(1, 300000)",
    };
    println!("ready");
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    while input.next_line().await?.is_some() {
        let end = Instant::now() + SLICE + 2 * AROUND;
        let mut tasks = Vec::new();
        for client in &clients {
            let client = std::sync::Arc::clone(client);
            tasks.push(tokio::spawn(async move {
                while Instant::now() < end {
                    // What its quota refuses, it tries again.
                    let _ = client.batch_execute(statement).await;
                }
                Outcome::Ok(None)
            }));
        }
        for mut writing in writings.drain(..) {
            let Some(store) = store.clone() else { break };
            tasks.push(tokio::spawn(async move {
                while Instant::now() < end {
                    writing.append(&store).await?;
                }
                Outcome::Ok(Some(writing))
            }));
        }
        for task in tasks {
            writings.extend(task.await??);
        }
        println!("done");
    }
    writings.clear();
    if let Some(store) = store {
        store.close().await;
    }
    Ok(())
}
