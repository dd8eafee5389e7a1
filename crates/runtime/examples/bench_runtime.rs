//! Measures what a turn costs in a long session, against one in a short session of the same run.
//!
//! Run it with `cargo xtask bench runtime`; it ends with exit code 1 if a bar is missed. A turn is a prompt and a scripted
//! answer, with a call of a tool in between or without. Short and long take turns, so that both meet the same machine.
//! `BENCH_LENGTHS=1000,5000` measures other lengths, `BENCH_TURNS` how many turns, `BENCH_ONLY=memory` the lines that say so.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trunkline_message_tree::{
    Author, Content, Message, MessageTree, Role, StopReason, Timestamp, ToolCall, ToolSpec,
};
use trunkline_providers::{Scripted, Turn};
use trunkline_runtime::{Access, Agent, Cancel, Limits, Session, Tool, ToolContext, ToolOutput};
use trunkline_session_store::{
    Batch, MemoryStore, NewSession, Position, Record, SessionId, SessionStore, SqliteStore,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a turn of a long session may take, against one of a short session.
const BAR: f64 = 1.2;
/// Messages of a session that counts as short; a new one is opened before it has grown by much.
const SHORT: usize = 10;
const FRESH_AFTER: usize = 4;

fn main() -> Outcome<ExitCode> {
    let lengths = match std::env::var("BENCH_LENGTHS") {
        Ok(lengths) => lengths.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?,
        Err(_) => vec![10_000, 50_000],
    };
    let turns = std::env::var("BENCH_TURNS").ok().map_or(Ok(200), |turns| turns.parse())?;
    let only = std::env::var("BENCH_ONLY").ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut short = false;
    println!(
        "{turns} turns of each length, in turn with one of {SHORT} messages; times are mean, p50 and p99"
    );
    for length in lengths {
        for (store, on_disk) in [("memory", false), ("SQLite", true)] {
            for (what, prompt) in [("words", "say it"), ("a call", "call it")] {
                let name = format!("{store}, {what}: {length} against {SHORT}");
                if only.as_ref().is_some_and(|only| !name.contains(only)) {
                    continue;
                }
                let path = folder.path().join(format!("{length}-{what}.db"));
                let path = on_disk.then_some(path.as_path());
                let (base, long) = runtime.block_on(measure(path, length, prompt, turns))?;
                let value = base.ratio(&long);
                short |= value > BAR;
                let verdict = if value <= BAR { "ok" } else { "SHORT" };
                println!("    short {base}   long {long}");
                println!("{name:<44} {value:>7.2}x  {BAR:>4.1}x  {verdict}");
            }
        }
    }
    Ok(ExitCode::from(u8::from(short)))
}

/// The times of many turns.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn mean(&self) -> Duration {
        self.0.iter().sum::<Duration>() / self.0.len().max(1) as u32
    }

    /// The median, which one slow write of the disk does not move.
    fn at(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
    }

    fn ratio(&self, long: &Times) -> f64 {
        long.at(0.5).as_secs_f64() / self.at(0.5).as_secs_f64()
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0?} {:.0?} {:.0?}", self.mean(), self.at(0.5), self.at(0.99))
    }
}

async fn measure(path: Option<&Path>, length: usize, prompt: &str, turns: usize) -> Outcome<(Times, Times)> {
    let store: Arc<dyn SessionStore> = match path {
        Some(path) => Arc::new(SqliteStore::open(path).await?),
        None => Arc::new(MemoryStore::new()),
    };
    let (mut base, mut long) = (Times::default(), Times::default());
    let mut in_long = open(&store, length).await?;
    turn(&mut in_long, prompt).await?;
    let mut in_short = None;
    for round in 0..turns {
        if round % FRESH_AFTER == 0 {
            in_short = Some(open(&store, SHORT).await?);
        }
        if let Some(session) = &mut in_short {
            // The first turn of a session writes what later ones do not.
            if round % FRESH_AFTER == 0 {
                turn(session, prompt).await?;
            }
            base.0.push(turn(session, prompt).await?);
        }
        long.0.push(turn(&mut in_long, prompt).await?);
    }
    Ok((base, long))
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

/// Opens a session that has so many messages already.
async fn open(store: &Arc<dyn SessionStore>, length: usize) -> Outcome<Session> {
    let id = SessionId::parse(&uuid::Uuid::now_v7().to_string())?;
    let mut tree = MessageTree::new(Message::system("You are careful. ".repeat(20)), Timestamp(1));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let new = NewSession { id: id.clone(), title: String::new(), workspace: None, at: Timestamp(1), root };
    store.create(new).await?;
    let lease = store.lease(&id).await?;
    let mut seq = 1;
    while tree.len() < length {
        let mut draft = tree.draft();
        for message in round(tree.len()) {
            draft.append(message, Timestamp(2))?;
        }
        let entries = draft.into_entries();
        let records = entries.iter().cloned().map(Record::Entry).collect();
        seq = store.append(&lease, Batch::new(Position { seq, head: tree.head() }, records)).await?.seq;
        for entry in entries {
            tree.record(entry)?;
        }
    }
    drop(lease);
    Ok(agent()?.open(Arc::clone(store), &id).await?)
}

/// A prompt, a call with its result, and an answer.
fn round(at: usize) -> Vec<Message> {
    let answer = |content, stop| Message {
        stop: Some(stop),
        origin: Some(trunkline_message_tree::Origin::new("scripted", "bench")),
        ..Message::new(Role::Assistant, Author::Model, content)
    };
    let id = format!("toolu_{at:08}");
    let arguments = r#"{"path":"crates/thing/src/lib.rs","first_line":120,"last_line":180}"#.to_owned();
    let call = ToolCall { id: id.clone(), name: "look".to_owned(), arguments, signature: None };
    vec![
        Message::user("please look into the failing test and mend it; do not touch the others"),
        answer(vec![Content::text("Let me look."), Content::ToolCall(call)], StopReason::ToolUse),
        Message::tool_result(
            id,
            "fn walk(messages: &[Message]) -> usize { messages.len() }\n".repeat(10),
            false,
        ),
        answer(vec![Content::text("It passes now; an index was off by one.")], StopReason::EndTurn),
    ]
}

fn agent() -> Outcome<Agent> {
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
    // The tokens of one long request are more than a drive may use unless told.
    let mut limits = Limits::default();
    limits.tokens = u64::MAX;
    Ok(Agent::builder(model).tool(Look(spec)).with_revert().limits(limits).build()?)
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
