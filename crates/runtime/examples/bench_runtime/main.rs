//! Measures what a turn costs in a long session, against one in a short session of the same run.
//!
//! Run it with `cargo xtask bench runtime`; it ends with exit code 1 if a bar is missed. A turn is a prompt and a scripted
//! answer, with a call of a tool in between or without; "after moves" both sessions were reverted with a lesson twenty times
//! and compacted once; "a step back and words" goes back by one turn each time before it asks. Short and long take turns, so that both meet the same machine.
//! "With a task" compares a session that has an intent and an open task with one that has neither, both short.
//! "Opening" takes a session up whose log is long and whose trunk is short. Over HTTP the other side is a bare client that sends the bytes of the same request to the same server.
//! `BENCH_LENGTHS=1000,5000` measures other lengths, `BENCH_TURNS` how many turns, `BENCH_ONLY=memory` the lines that say so.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

mod long_sessions;
mod opening;
mod over_http;
mod with_a_task;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trunkline_message_tree::{Role, ToolSpec};
use trunkline_providers::{Scripted, Turn};
use trunkline_runtime::revert::CompactPolicy;
use trunkline_runtime::{
    Access, Agent, AgentBuilder, Cancel, Compaction, Limits, Session, Tool, ToolContext, ToolOutput,
};

use long_sessions::{Outcome, Times, open, store};

/// How long a turn of a long session may take, against one of a short session.
const BAR: f64 = 1.2;
/// Messages of a session that counts as short; a new one is opened before it has grown by much.
const SHORT: usize = 10;
const FRESH_AFTER: usize = 4;
const MOVES: usize = 20;
/// How many sessions of one agent take turns.
const MANY: usize = 10;

fn main() -> Outcome<ExitCode> {
    let lengths = match std::env::var("BENCH_LENGTHS") {
        Ok(lengths) => Some(lengths.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?),
        Err(_) => None,
    };
    let turns = std::env::var("BENCH_TURNS").ok().map_or(Ok(200), |turns| turns.parse())?;
    let only = std::env::var("BENCH_ONLY").ok();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut lines = Lines { short: false };
    // First, while this process has no memory that it was given back: what is taken from that is not seen.
    if wanted("SQLite, idle") {
        runtime.block_on(opening::idle(&folder.path().join("idle.db"), &agent()?, "say it", &mut lines))?;
    }
    println!("{turns} turns each, in turn with the other side; times are mean, p50 and p99");
    for length in lengths.clone().unwrap_or(vec![10_000, 50_000]) {
        for (store, on_disk) in [("memory", false), ("SQLite", true)] {
            let kinds = [
                ("words", "say it", 0, false),
                ("a call", "call it", 0, false),
                ("words after moves", "say it", MOVES, false),
                ("a step back and words", "say it", MOVES, true),
            ];
            for (what, prompt, moves, steps_back) in kinds {
                // Its price is reckoned from the newest 256 messages.
                let short = if steps_back { SHORT * 100 } else { SHORT };
                let name = format!("{store}, {what}: {length} against {short}");
                if !wanted(&name) {
                    continue;
                }
                let path = folder.path().join(format!("{length}-{what}.db"));
                let path = on_disk.then_some(path.as_path());
                let (base, long) =
                    runtime.block_on(measure(path, (short, length, turns), prompt, (moves, steps_back)))?;
                println!("    short {base}   long {long}");
                lines.print(&name, base.ratio(&long), BAR);
            }
        }
    }
    let length = lengths.as_ref().and_then(|lengths| lengths.first()).copied().unwrap_or(5_000);
    let name = format!("memory, words in {MANY} sessions: {length} against {SHORT}");
    if wanted(&name) {
        let (base, long) = runtime.block_on(in_turn((SHORT, length, turns)))?;
        println!("    short {base}   long {long}");
        lines.print(&name, base.ratio(&long), BAR);
    }
    for (what, prompt) in [("words", "say it"), ("a call", "call it")] {
        let name = format!("memory, {what}: with a task against without");
        if wanted(&name) {
            let agents = (agent()?, builder().keeps_intents(true).build()?);
            let (without, with) = runtime.block_on(with_a_task::measure(agents, turns, prompt))?;
            println!("    without {without}   with {with}");
            lines.print(&name, without.ratio(&with), with_a_task::BAR);
        }
    }
    for (store, on_disk) in [("memory", false), ("SQLite", true)] {
        let name = format!("{store}, over HTTP");
        if wanted(&name) {
            let lengths = lengths.clone().unwrap_or(vec![1_000, 10_000]);
            let path = folder.path().join("http.db");
            let path = on_disk.then_some(path.as_path());
            runtime.block_on(over_http::measure(&name, path, &lengths, turns, &mut lines))?;
        }
    }
    for (what, prompt) in [("words", "say it"), ("a call", "call it")] {
        if wanted(&format!("opening, {what}")) {
            let path = folder.path().join(format!("opening-{what}.db"));
            let length = lengths.as_ref().and_then(|lengths| lengths.first()).copied().unwrap_or(100_000);
            let (agent, path) = (agent()?, path.as_path());
            let opened = opening::measure((what, path), (&agent, prompt), (length, 20), &mut lines);
            runtime.block_on(opened)?;
        }
    }
    Ok(ExitCode::from(u8::from(lines.short)))
}

/// What is told of each thing that has a bar.
pub(crate) struct Lines {
    short: bool,
}

impl Lines {
    pub(crate) fn print(&mut self, name: &str, value: f64, bar: f64) {
        self.short |= value > bar;
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        println!("{name:<52} {value:>7.3}x  {bar:>4.2}x  {verdict}");
    }
}

async fn measure(
    path: Option<&Path>,
    (short, length, turns): (usize, usize, usize),
    prompt: &str,
    (moves, steps_back): (usize, bool),
) -> Outcome<(Times, Times)> {
    let store = store(path).await?;
    let (mut base, mut long) = (Times::default(), Times::default());
    let mut in_long = open(&agent()?, &store, length).await?;
    go_back(&mut in_long, moves).await?;
    turn(&mut in_long, prompt).await?;
    let mut in_short = None;
    for round in 0..turns {
        if round % FRESH_AFTER == 0 {
            let mut fresh = open(&agent()?, &store, short).await?;
            go_back(&mut fresh, moves).await?;
            in_short = Some(fresh);
        }
        if let Some(session) = &mut in_short {
            // The first turn of a session writes what later ones do not.
            if round % FRESH_AFTER == 0 {
                turn(session, prompt).await?;
            }
            base.0.push(timed(session, prompt, steps_back).await?);
        }
        long.0.push(timed(&mut in_long, prompt, steps_back).await?);
    }
    Ok((base, long))
}

/// Many sessions of one agent, each of which has the next turn.
async fn in_turn((short, length, turns): (usize, usize, usize)) -> Outcome<(Times, Times)> {
    let (store, agent) = (store(None).await?, agent()?);
    let (mut base, mut long) = (Times::default(), Times::default());
    let mut sessions = Vec::new();
    for _ in 0..MANY {
        let mut pair = [open(&agent, &store, short).await?, open(&agent, &store, length).await?];
        for session in &mut pair {
            turn(session, "say it").await?;
        }
        sessions.push(pair);
    }
    for round in 0..turns {
        let Some([in_short, in_long]) = sessions.get_mut(round % MANY) else { break };
        base.0.push(turn(in_short, "say it").await?);
        long.0.push(turn(in_long, "say it").await?);
    }
    Ok((base, long))
}

/// Leaves as many turns with a lesson, and then puts a summary in place of what is old.
async fn go_back(session: &mut Session, moves: usize) -> Outcome<()> {
    for number in 0..moves {
        let to = session.tree().head();
        turn(session, "say it").await?;
        session.revert(to, Some(&format!("way {number} leads nowhere"))).await?;
    }
    if moves > 0 {
        turn(session, "say it").await?;
        session.compact(&Cancel::new()).await?;
    }
    Ok(())
}

/// A turn, or a step back that leaves a lesson with the turn after it. Older lessons decay meanwhile, one each time.
async fn timed(session: &mut Session, prompt: &str, steps_back: bool) -> Outcome<Duration> {
    if !steps_back {
        return turn(session, prompt).await;
    }
    let to = session.tree().head();
    turn(session, prompt).await?;
    let start = Instant::now();
    session.revert(to, Some("this way leads nowhere")).await?;
    let back = start.elapsed();
    Ok(back + turn(session, prompt).await?)
}

async fn turn(session: &mut Session, prompt: &str) -> Outcome<Duration> {
    let (start, before) = (Instant::now(), session.tree().len());
    let stop = session.prompt(prompt, &Cancel::new()).await?;
    let took = start.elapsed();
    let came = session.tree().len() - before;
    if came != if prompt == "call it" { 4 } else { 2 } {
        return Err(format!("a turn of {came} messages: {stop:?}").into());
    }
    Ok(took)
}

fn agent() -> Outcome<Agent> {
    Ok(builder().build()?)
}

fn builder() -> AgentBuilder {
    let model = Scripted::new("scripted", "bench", |request| {
        let last = request.messages.last();
        let asked =
            last.is_some_and(|message| message.role == Role::User && message.text().ends_with("call it"));
        match asked {
            true => Turn::new().call(format!("call_{}", request.messages.len()), "look", &json!({})),
            false => Turn::say("It does what it says."),
        }
    });
    let spec = ToolSpec::new("look", "Looks.", json!({ "type": "object" }));
    // One long request has more tokens than a drive may use by default.
    // Nothing is compacted by itself, but before each request that is asked.
    let compaction = Compaction::new(CompactPolicy::new(1 << 30));
    let mut limits = Limits::default();
    limits.tokens = u64::MAX;
    Agent::builder(model).tool(Look(spec)).with_revert().with_compaction(compaction).limits(limits)
}

struct Look(ToolSpec);

#[async_trait::async_trait]
impl Tool for Look {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        ToolOutput::text("what was looked at")
    }
}
