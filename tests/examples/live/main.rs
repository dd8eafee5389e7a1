//! The agent loop against a model that really generates, on three wires.
//!
//! `cargo xtask live` starts the servers and runs this; by hand it takes their addresses:
//! `cargo run -p trunkline-tests --example live -- 127.0.0.1:18481 127.0.0.1:18482 FOLDER`, the model's server, the
//! proxy's, and where the bytes of every exchange are kept. The model is small and says what it likes: nothing here
//! depends on its wording.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows itself")]

mod checks;
mod endpoint;
mod relay;
mod resolving;
mod steered;
mod weather;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use checks::{Facts, Outcome};
use endpoint::Endpoint;

/// What one check may take; a busy machine generates one token a second.
const PATIENCE: Duration = Duration::from_secs(900);

#[tokio::main]
async fn main() -> ExitCode {
    let (model, proxy, folder) = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("live: {problem}\nusage: live MODEL_ADDRESS PROXY_ADDRESS FOLDER");
            return ExitCode::from(2);
        }
    };
    match run(model, proxy, &folder).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("live: {problem}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<(SocketAddr, SocketAddr, PathBuf), String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [model, proxy, folder] = given.as_slice() else {
        return Err(format!("three arguments are needed, {} were given", given.len()));
    };
    let address = |text: &String| {
        let bare = text.trim_start_matches("http://").trim_end_matches('/');
        bare.parse().map_err(|_| format!("{text:?} is not an address like 127.0.0.1:18481"))
    };
    Ok((address(model)?, address(proxy)?, PathBuf::from(folder)))
}

/// Runs every check and prints a line for each; returns whether all were good.
async fn run(model: SocketAddr, proxy: SocketAddr, folder: &Path) -> std::io::Result<bool> {
    let chat = Endpoint::chat(model, folder)?;
    let responses = Endpoint::responses(model, folder)?;
    let messages = Endpoint::messages(proxy, folder)?;
    let native = Endpoint::native_messages(model, folder)?;

    println!("{:<4}  {:<19}  {:<24} {:>7}  what came", "", "wire", "check", "time");
    let mut good = true;
    let wires = [&chat, &responses, &messages];
    for at in wires.into_iter().chain([&native]) {
        good &= line(at.name, "words, streamed", checks::words(at, true)).await;
        good &= line(at.name, "words, whole", checks::words(at, false)).await;
        good &= line(at.name, "cancelled", checks::cancelled(at, model)).await;
        if at.calls {
            good &= line(at.name, "agent with a tool", checks::agent(at)).await;
        }
    }
    for at in [&chat, &messages] {
        good &= line(at.name, "resolves, held to it", resolving::at_once(at)).await;
        good &= line(at.name, "resolves, soft first", resolving::soft_first(at)).await;
    }
    good &= line(chat.name, "answer by schema", checks::by_schema(&chat)).await;
    for [first, second, third] in
        [[&chat, &responses, &messages], [&responses, &messages, &chat], [&messages, &chat, &responses]]
    {
        let check = format!("then {}, {}", second.name, third.name);
        good &= line(first.name, &check, checks::taken_up(first, second, third)).await;
    }
    Ok(good)
}

/// Waits for a check and prints how it ended. The first word is what `cargo xtask live` counts.
async fn line(wire: &str, check: &str, outcome: impl Future<Output = Outcome>) -> bool {
    let began = Instant::now();
    let outcome = match tokio::time::timeout(PATIENCE, outcome).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("no end within {} s", PATIENCE.as_secs())),
    };
    let time = format!("{:.1} s", began.elapsed().as_secs_f64());
    let (word, what) = match &outcome {
        Ok(Facts(what)) => ("ok", what),
        Err(reason) => ("FAIL", reason),
    };
    println!("{word:<4}  {wire:<19}  {check:<24} {time:>7}  {what}");
    outcome.is_ok()
}
