//! `run_command`: a shell command in the workspace, approved before it runs.
//!
//! It is not contained as the file tools are: it can read and do what the user can. Where the kernel has Landlock its
//! writes are limited; the README says what that leaves open.

mod evidence;
pub(crate) mod kept;
mod left_running;
mod length;
mod output;
mod process;
mod sandbox;
mod surroundings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{EffectClass, Effects, Finding, Gate, Tool, ToolContext, ToolOutput};

pub(crate) use self::length::room;
pub(crate) use self::process::{Ended, How, Order, What, Words, start};
pub(crate) use self::sandbox::Sandbox;
pub(crate) use self::surroundings::{absolute_path, is_secret};
use crate::root::Root;
use crate::{call, shown};

const MAX_SECONDS: u64 = 600;

/// How commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandPolicy {
    /// How long a command may take if the call does not say; 120 s by default, at most 600 s.
    pub timeout: Duration,
    /// How many characters of output are kept, half from the start and half from the end; 30,000 by default.
    pub output_limit: usize,
    /// Whether writes are limited where the kernel can do it; true by default.
    pub sandbox: bool,
    /// Folders that may be written besides the workspace and the temporary folder, such as a package cache.
    pub also_writable: Vec<PathBuf>,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        CommandPolicy {
            timeout: Duration::from_secs(120),
            output_limit: 30_000,
            sandbox: true,
            also_writable: Vec::new(),
        }
    }
}

pub(crate) struct RunCommand {
    pub(crate) root: Arc<Root>,
    pub(crate) policy: CommandPolicy,
    pub(crate) sandbox: Sandbox,
    /// How many bytes a command may have; found out once, so that it is refused where it is not asked about.
    pub(crate) room: usize,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout_seconds: Option<u64>,
    cwd: Option<String>,
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> ToolSpec {
        call::spec(
            "run_command",
            "Runs a command with `sh -c` in the workspace and returns its exit code and output. It gets no input. What \
             it leaves running in the background is stopped when it ends, but for what has a session of its own. It may have to be approved first, and it may \
             be kept from writing outside the workspace and the temporary folder.",
            json!({
                "command": {"type": "string", "minLength": 1, "description": "the command line"},
                "timeout_seconds": {
                    "type": "integer", "minimum": 1, "maximum": MAX_SECONDS,
                    "description": "after how long it is stopped; 120 if not given",
                },
                "cwd": {"type": "string", "description": "the folder to run in, relative to the workspace"},
            }),
            &["command"],
        )
    }

    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let text = |name| arguments.get(name).and_then(Value::as_str);
        let command = text("command").unwrap_or_default();
        // What is refused in any case is no question.
        if length::refusal(command, self.room).is_some() {
            return None;
        }
        let mut folder = self.root.path().display().to_string();
        if let Some(cwd) = text("cwd") {
            folder.push_str(&format!(" → {cwd}"));
        }
        let seconds = self.timeout(arguments.get("timeout_seconds").and_then(Value::as_u64)).as_secs();
        let label = format!("run: {}", shown::line(command, 100));
        let preview = format!(
            "{}\n\nin {}\nat most {seconds} s\n{}\n",
            shown::safe(command),
            shown::name(&folder),
            self.sandbox.describe()
        );
        Some(Gate::new(label, preview).of_command(command))
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        // What a command line does, nobody can tell from it.
        let effects = Effects::new(EffectClass::Unknown);
        call::text(arguments, "command").into_iter().fold(effects, Effects::running)
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let command = call::text(&arguments, "command").unwrap_or_default().to_owned();
        let order = match call::arguments(arguments).and_then(|arguments| self.order(arguments)) {
            Ok(order) => order,
            Err(reason) => return ToolOutput::error(reason),
        };
        if context.cancel.is_cancelled() {
            return ToolOutput::error("cancelled before it was started");
        }
        let before = kept::look(&self.root);
        match run(order, context).await {
            Ok(ended) => self.report(&command, &ended, &kept::told(&self.root, before)),
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

/// Runs a command to its end, or until the call is cancelled.
pub(crate) async fn run(order: Order, context: &ToolContext) -> Result<Ended, String> {
    let mut running = start(order)?;
    tokio::select! {
        ended = running.ended() => ended,
        () = context.cancel.cancelled() => {
            running.stop();
            running.ended().await
        }
    }
}

/// Says how a command ended, and with which exit code if it had one.
pub(crate) fn headline(ended: &Ended) -> (String, Option<i32>) {
    let seconds = format!("{:.1} s", ended.elapsed.as_secs_f64());
    match ended.how {
        How::Exited(code) => (format!("exit code {code} after {seconds}"), Some(code)),
        How::Signalled(signal) => (format!("ended by signal {signal} after {seconds}"), None),
        How::TimedOut => (format!("stopped: still running at the time limit, after {seconds}"), None),
        How::Cancelled => (format!("cancelled after {seconds}"), None),
        How::Stuck => (format!("killed after {seconds}, but it does not end"), None),
    }
}

impl RunCommand {
    fn order(&self, arguments: Arguments) -> Result<Order, String> {
        if let Some(why) = length::refusal(&arguments.command, self.room) {
            return Err(why);
        }
        let folder = self.root.folder(arguments.cwd.as_deref().unwrap_or("."))?;
        Ok(Order {
            what: What::Line { command: arguments.command, room: self.room },
            folder: self.root.full(&folder),
            timeout: self.timeout(arguments.timeout_seconds),
            output_limit: self.policy.output_limit,
            sandbox: self.sandbox.clone(),
        })
    }

    fn timeout(&self, seconds: Option<u64>) -> Duration {
        let asked = seconds.map_or(self.policy.timeout, Duration::from_secs);
        asked.clamp(Duration::from_secs(1), Duration::from_secs(MAX_SECONDS))
    }

    fn report(&self, command: &str, ended: &Ended, beside: &str) -> ToolOutput {
        let (headline, exit_code) = headline(ended);
        let (text, odd) = ended.output.text(self.policy.output_limit);
        let is_error = exit_code != Some(0);
        let mut told = format!("{headline}\n{text}");
        if !told.ends_with('\n') {
            told.push('\n');
        }
        told.extend(odd.told());
        told.push_str(&ended.left.told());
        told.push_str(beside);
        if is_error && self.sandbox.is_on() && text.contains("ermission denied") {
            told.push_str(&format!("[{}]\n", self.sandbox.describe()));
        }
        let mut output = if is_error { ToolOutput::error(told) } else { ToolOutput::text(told) };
        if ended.how != How::Cancelled {
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            output.finding = Some(Finding {
                kind: evidence::kind(command).to_owned(),
                command: shown::line(command, 200),
                exit_code,
                summary: format!("{headline}: {}", shown::line(last, 120)),
                output: Some(ended.output.digest()),
            });
        }
        output
    }
}
