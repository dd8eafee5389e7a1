//! Shows a session under DBOS: a worker is killed while a person thinks, and another goes on.
//!
//! `cargo xtask postgres -- cargo run --manifest-path tests/dbos/Cargo.toml`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;
use std::process::Stdio;
use std::time::Duration;

use dbos::{EnqueueOptions, SendOptions};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use trunkline_dbos::letters::Letters;
use trunkline_dbos::turn::{ASKED, Asked, QUEUE, Turn, WORKFLOW};
use trunkline_dbos::{Failed, VERSION, client, open, worker};
use trunkline_runtime::message_tree::NodeId;
use trunkline_runtime::providers::{Scripted, Turn as Reply};
use trunkline_runtime::resolve_queue::Verdict;
use trunkline_runtime::{Agent, Said};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let url =
        std::env::var("TRUNKLINE_TEST_POSTGRES").map_err(|_| "TRUNKLINE_TEST_POSTGRES names no server")?;
    match std::env::args().nth(1).as_deref() {
        None => show(&url).await,
        Some("worker") => work(&url).await,
        Some(_) => Err("takes `worker`, or nothing".into()),
    }
}

/// Works until the standard input ends.
async fn work(url: &str) -> Outcome<()> {
    let dbos = worker(url).await?;
    println!("ready");
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    dbos.shutdown().await;
    Ok(())
}

async fn show(url: &str) -> Outcome<()> {
    let first = start_worker().await?;
    let store = open(url).await?;
    // Who asks for a turn needs no model and no tools.
    let agent = Agent::builder(Scripted::new("scripted", "silent", |_| Reply::say(""))).build()?;
    let session = agent.start(std::sync::Arc::new(store), "letters", None).await?;
    let turn = Turn { session: session.id().to_string(), at: NodeId::ROOT, words: "Tell them.".to_owned() };
    drop(session);
    let key = turn.key();
    let dbos = client(url).await?;
    let options =
        EnqueueOptions { workflow_id: Some(&key), app_version: Some(VERSION), ..EnqueueOptions::new(QUEUE) };
    let handle = dbos.enqueue_with::<_, String, Failed>(WORKFLOW, &turn, options).await?;
    println!("a turn is asked for: {key}");

    let mut worker = first;
    let mut seen: Vec<Asked> = Vec::new();
    for _ in 0..2 {
        let asked = loop {
            let asked: Vec<Asked> =
                dbos.get_event(&key, ASKED, Duration::from_secs(60)).await?.ok_or("nothing is asked")?;
            if asked != seen {
                break asked;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        worker.kill().await?;
        println!("the worker is killed while a person reads {:?}", asked[0].label);
        for one in &asked {
            let topic = one.topic();
            let said = Said::new(Verdict::Approve, "");
            let once = format!("{key}/{topic}");
            let options =
                SendOptions { topic: Some(&topic), idempotency_key: Some(&once), ..SendOptions::default() };
            dbos.send_with(&key, &said, options).await?;
            println!("{} is approved, with no worker there", one.label);
        }
        seen = asked;
        worker = start_worker().await?;
        println!("another worker goes on");
    }
    println!("{}", handle.result().await?);
    for sent in Letters::open(url).await?.sent_for(&turn.session).await? {
        println!("{} was sent to {}, asked {} time(s)", sent.key, sent.to, sent.asked);
    }
    worker.kill().await?;
    dbos.close().await;
    Ok(())
}

async fn start_worker() -> Outcome<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("worker").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("it has an output")?;
    let line = BufReader::new(output).lines().next_line().await?;
    match line.as_deref() {
        Some("ready") => Ok(child),
        _ => Err("a worker did not start, see above".into()),
    }
}
