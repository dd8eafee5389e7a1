//! Sessions that several processes write at once, against one raw writer.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::postgres::{Raw, open, schema};
use crate::writing::{Rate, Writing};
use crate::{Outcome, at_least};

const PROCESSES: u32 = 4;
const SESSIONS: u32 = 64;
const SLICE: Duration = Duration::from_millis(250);

pub(crate) async fn measure(url: &str) -> Outcome<()> {
    let schema = schema("many");
    let store = open(url, &schema).await?;
    store.close().await;
    let mut raw = Raw::new(url, &schema).await?;
    let mut others = Vec::new();
    for number in 0..PROCESSES {
        others.push(Other::start(url, &schema, number).await?);
    }
    let (mut raw_done, mut ours_done) = (Rate::default(), Rate::default());
    // The first turn fills caches, of both sides.
    for turn in 0..13 {
        let start = Instant::now();
        let mut raw_count = 0;
        while start.elapsed() < SLICE {
            raw.insert().await?;
            raw_count += 1;
        }
        let raw_time = start.elapsed();
        let start = Instant::now();
        for other in &mut others {
            other.input.write_all(b"go\n").await?;
        }
        let mut count = 0;
        for other in &mut others {
            count += other.line().await?.parse::<u64>()?;
        }
        if turn > 0 {
            raw_done.count += raw_count;
            raw_done.time += raw_time;
            ours_done.count += count;
            ours_done.time += start.elapsed();
        }
    }
    for other in others {
        other.end().await?;
    }
    raw.end(&schema).await?;
    let (raw, ours) = (raw_done.get(), ours_done.get());
    println!(
        "# PostgreSQL, each flush 1 ms slower: raw {raw:.0} INSERTs/s, {SESSIONS} sessions {ours:.0} appends/s"
    );
    let name = "PostgreSQL: 64 sessions from 4 processes / one raw writer with INSERT and COMMIT, each flush 1 ms slower";
    at_least(name, ours / raw, 8.0);
    Ok(())
}

/// Another process, which writes when it is told to.
struct Other {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Other {
    async fn start(url: &str, schema: &str, number: u32) -> Outcome<Self> {
        let each = SESSIONS / PROCESSES;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["write", url, schema, &(1 + number * each).to_string(), &each.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let input = child.stdin.take().ok_or("it has an input")?;
        let output = BufReader::new(child.stdout.take().ok_or("it has an output")?).lines();
        let mut other = Other { child, input, output };
        match other.line().await?.as_str() {
            "ready" => Ok(other),
            line => Err(format!("a writing process says {line:?}").into()),
        }
    }

    async fn line(&mut self) -> Outcome<String> {
        Ok(self.output.next_line().await?.ok_or("a writing process ended, see above")?)
    }

    async fn end(mut self) -> Outcome<()> {
        drop(self.input);
        match self.child.wait().await?.success() {
            true => Ok(()),
            false => Err("a writing process failed, see above".into()),
        }
    }
}

/// What the other process does: it writes its sessions for a slice of time on each line that it reads, and says how often.
pub(crate) async fn write(url: &str, schema: &str, first: u32, sessions: u32) -> Outcome<()> {
    let store = open(url, schema).await?;
    let mut writers = Vec::new();
    for number in first..first + sessions {
        writers.push(Writing::begin(&store, number, 2).await?);
    }
    println!("ready");
    std::io::stdout().flush()?;
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    while input.next_line().await?.is_some() {
        let start = Instant::now();
        let tasks: Vec<_> = writers
            .into_iter()
            .map(|mut writing| {
                let store = store.clone();
                tokio::spawn(async move {
                    let mut count = 0_u64;
                    while start.elapsed() < SLICE {
                        writing.append(&store).await?;
                        count += 1;
                    }
                    Outcome::Ok((writing, count))
                })
            })
            .collect();
        writers = Vec::new();
        let mut sum = 0;
        for task in tasks {
            let (writing, count) = task.await??;
            writers.push(writing);
            sum += count;
        }
        println!("{sum}");
        std::io::stdout().flush()?;
    }
    drop(writers);
    store.close().await;
    Ok(())
}
