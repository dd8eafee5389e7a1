//! Writers in a process of their own, which can be stopped and woken while others write.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;

use super::journal::{Clock, Journal, Nap};
use super::{Outcome, Signal, write};

/// The numbers of the writers in it, of which the last one mostly waits.
pub(crate) const THERE: [u32; 4] = [5, 6, 7, 11];

/// A process that shows no sign of life for longer was stopped.
const SLEPT: Duration = Duration::from_secs(5);

/// How long the writers there have for their last calls.
const ENDS: Duration = Duration::from_secs(120);

/// That process, as the one that started it sees it.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
}

impl Client {
    pub(crate) fn start(seed: u64, one: &str, other: &str) -> Outcome<Client> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["client", &seed.to_string(), one, other]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no pipe to the client")?;
        Ok(Client { child, input })
    }

    /// Passes signals on until the end, and returns what its writers were told, and when they slept.
    pub(crate) async fn run(self, mut signal: watch::Receiver<Signal>) -> Outcome<(Vec<Journal>, Vec<Nap>)> {
        let Client { mut child, mut input } = self;
        let mut calls = 0;
        while signal.changed().await.is_ok() {
            let now = *signal.borrow();
            if now.calls != calls {
                calls = now.calls;
                input.write_all(b"idle\n").await?;
            }
            if now.stop {
                break;
            }
        }
        drop(input);
        let mut said = String::new();
        let mut output = child.stdout.take().ok_or("no pipe from the client")?;
        tokio::time::timeout(ENDS, output.read_to_string(&mut said)).await??;
        if !child.wait().await?.success() {
            return Err("the client failed".into());
        }
        Journal::read(&said, &Clock::new()?)
    }
}

/// Runs the writers of that process, and prints what they were told.
#[expect(clippy::print_stdout, reason = "the process that started it reads it")]
pub(crate) async fn run(seed: u64, urls: [&str; 2]) -> Outcome<()> {
    let (signals, signal) = watch::channel(Signal::default());
    let naps = tokio::spawn(naps(signal.clone()));
    let writing = write(&THERE, seed, urls, &signal).await?;
    let signals = super::follow_input(signals).await?;
    let mut journals = Vec::new();
    for writer in writing {
        journals.push(writer.await?);
    }
    drop(signals);
    let clock = Clock::new()?;
    naps.await?.iter().for_each(|nap| print!("{}", nap.line(&clock)));
    journals.iter().for_each(|journal| print!("{}", journal.lines(&clock)));
    Ok(())
}

/// Notes when this process slept, until the end.
async fn naps(signal: watch::Receiver<Signal>) -> Vec<Nap> {
    let mut naps = Vec::new();
    while signal.has_changed().is_ok() {
        let from = Instant::now();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let slept = from.elapsed();
        if slept > SLEPT {
            naps.push(Nap { from, slept });
        }
    }
    naps
}
