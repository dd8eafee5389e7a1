//! Measures what reading a session costs, against `serde_json::Value` over the same lines in the same run.
//!
//! Run it with `cargo run --release -p trunkline-transcripts --example bench_transcripts`; it ends with exit code 1 if a bar is
//! missed. Values are what a reader gets for nothing: every line parsed, and nothing understood.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::fmt::Write;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_transcripts::{Format, Transcript, read, read_as};

const TURNS: usize = 2_000;
const ROUNDS: usize = 15;
/// Twice the time of what understands nothing.
const BAR: f64 = 2.0;

fn main() -> ExitCode {
    let mut short = false;
    let mut line = |name: &str, value: f64, bar: f64| {
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        short |= value > bar;
        println!("{name:<44} {value:>6.2}x  {bar:>5.1}x  {verdict}");
    };
    println!("fastest of {ROUNDS} rounds each, in turn, by the time that the thread ran");
    let session = session();
    let list = list();
    println!("a session of {} bytes, a list of {} bytes", session.len(), list.len());
    let values =
        || session.lines().map(|line| serde_json::from_str(line).ok()).collect::<Vec<Option<Value>>>();
    let of_bytes = || read(session.as_bytes()).expect("a session");
    let (bar, time) = in_turn(values, of_bytes);
    line("a session, against values", ratio(time, bar), BAR);
    let (bar, time) = in_turn(values, || main_of(&of_bytes()));
    line("a session and its messages, against values", ratio(time, bar), BAR);
    let (bar, time) = in_turn(
        || serde_json::from_str::<Value>(&list).ok(),
        || read_as(list.as_bytes(), Format::Anthropic).expect("a list"),
    );
    line("a list, against a value", ratio(time, bar), BAR);
    // One that goes on and 1,000 that have all of it in common: what each adds is its own end.
    let forked = forked(&session);
    let (bar, time) = in_turn(of_bytes, || read(forked.as_bytes()).expect("a session"));
    line("with 1,000 branches, against without", ratio(time, bar), 1.5);
    ExitCode::from(u8::from(short))
}

fn main_of(transcript: &Transcript) -> usize {
    transcript.conversation(0).map_or(0, |conversation| conversation.messages.len())
}

/// Returns how long this thread has run: the time that others took on the same machine is nobody's cost. Systems that do not
/// tell are asked for the time that has passed.
fn ran(since: Instant) -> Duration {
    // What has run since the last switch is counted at the next one.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = told.as_deref().and_then(|told| told.split_whitespace().next()?.parse().ok());
    first.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Returns the shortest of many runs of each, one after the other; dropping the output is not counted.
fn in_turn<B, O>(mut bar: impl FnMut() -> B, mut run: impl FnMut() -> O) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let start = ran(begun);
        let out = black_box(bar());
        best.0 = best.0.min(ran(begun).saturating_sub(start));
        drop(out);
        let start = ran(begun);
        let out = black_box(run());
        best.1 = best.1.min(ran(begun).saturating_sub(start));
        drop(out);
    }
    best
}

fn ratio(time: Duration, bar: Duration) -> f64 {
    time.as_secs_f64() / bar.as_secs_f64()
}

/// A session as the client writes them: a prompt now and then, reasoning, calls of which two run side by side, results
/// with what the client keeps beside them.
fn session() -> String {
    let mut file = String::new();
    let mut last = Value::Null;
    let mut write = |id: String, parent: &Value, kind: &str, more: Value| {
        let mut record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/project/app",
            "sessionId": "0b8f3f0e-6a0c-4a57-9d0a-1c6b1f6f7e55", "version": "2.1.332", "gitBranch": "main", "type": kind,
            "uuid": id, "timestamp": "2026-02-01T10:00:00.000Z",
        });
        if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
            record.extend(more);
        }
        writeln!(file, "{record}").expect("a string takes everything");
        Value::String(id)
    };
    for turn in 0..TURNS {
        let uuid = |name: &str| format!("{turn:08x}-0000-4000-8000-{name:0>12}");
        let words =
            "fn read(path: &Path) -> io::Result<String> {\n    fs::read_to_string(path)\n}\n".repeat(4);
        if turn % 10 == 0 {
            let prompt = json!({ "message": { "role": "user", "content": format!("change number {turn}") } });
            last = write(uuid("1"), &last, "user", prompt);
        }
        let by_model = |block: Value| {
            json!({ "requestId": format!("req_{turn}"), "message": {
                "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "claude-x",
                "content": [block], "stop_reason": "tool_use", "stop_sequence": null,
                "usage": { "input_tokens": 12, "cache_read_input_tokens": 30_000, "output_tokens": 200 },
            }})
        };
        let call = |name: &str| {
            json!({ "type": "tool_use", "id": format!("toolu_{turn}_{name}"), "name": "Edit",
                "input": { "file_path": "/project/app/src/main.rs", "old_string": words, "new_string": words } })
        };
        let result = |name: &str| {
            json!({ "message": { "role": "user", "content": [{
                "type": "tool_result", "tool_use_id": format!("toolu_{turn}_{name}"), "content": words }] },
                "toolUseResult": { "filePath": "/project/app/src/main.rs", "originalFile": words.repeat(3) } })
        };
        let thought =
            json!({ "type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl".repeat(20) });
        last = write(uuid("2"), &last, "assistant", by_model(thought));
        last = write(uuid("3"), &last, "assistant", by_model(call("a")));
        let first = last.clone();
        last = write(uuid("4"), &last, "assistant", by_model(call("b")));
        write(uuid("5"), &first, "user", result("a"));
        last = write(uuid("6"), &last, "user", result("b"));
    }
    file
}

/// The same session, left a thousand times.
fn forked(session: &str) -> String {
    let mut file = session.to_owned();
    for at in 0..1_000 {
        let turn = TURNS - 1 - at;
        let record = json!({
            "parentUuid": format!("{turn:08x}-0000-4000-8000-000000000006"), "type": "user", "uuid": format!("left-{at}"),
            "sessionId": "s", "message": { "role": "user", "content": format!("left {at}") },
        });
        writeln!(file, "{record}").expect("a string takes everything");
    }
    file
}

/// The messages of a session as a request body.
fn list() -> String {
    let words = "what a tool returned, and what a model made of it\n".repeat(20);
    let messages: Vec<Value> = (0..TURNS)
        .flat_map(|turn| {
            let id = format!("toolu_{turn}");
            [
                json!({ "role": "assistant", "content": [
                    { "type": "text", "text": words },
                    { "type": "tool_use", "id": id, "name": "Read", "input": { "path": words } }] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": words }] }),
            ]
        })
        .collect();
    json!({ "model": "claude-x", "max_tokens": 1024, "messages": messages }).to_string()
}
