//! Measures what sanitizing costs, against plain walks over the same messages in the same run.
//!
//! Run it with `cargo run --release -p trunkline-sanitize --example bench_sanitize`; it ends with exit code 1 if a bar is missed.
//! The walk visits every block and adds up lengths; it reads no byte of them. A broken list that is
//! borrowed has to be copied before it can be repaired, so it is held against the walk and a clone.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Author, Content, Message, Origin, Part, Role, ToolCall};
use trunkline_sanitize::{LiveCheck, RequestFacts, WireRules, sanitize};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 150;

fn main() -> ExitCode {
    let legal = conversation();
    let broken = damage(&legal);
    let facts = RequestFacts::default();
    let mut short = false;
    let mut line = |name: &str, value: f64, bar: f64| {
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        short |= value > bar;
        println!("{name:<68} {value:>6.2}x  {bar:>5.1}x  {verdict}");
    };
    println!("{} messages, {} bytes; fastest of {ROUNDS} rounds each, in turn", legal.len(), walk(&legal));
    let mut out = String::with_capacity(2 * walk(&legal));
    let (walked, reading) = in_turn(|| walk(&legal), || (), |()| read(&legal, &mut out));
    println!("walk {walked:?}; reading every byte of it takes {:.1} times as long", ratio(reading, walked));
    for rules in [WireRules::anthropic(), WireRules::openai_chat()] {
        assert_eq!(sanitize(&legal, &rules, &facts).repairs, []);
        let repairs = sanitize(&broken, &rules, &facts).repairs.len();
        println!("{}: {repairs} repairs in the broken list", rules.name);
        let (bar, time) = in_turn(|| walk(&legal), || (), |()| sanitize(&legal, &rules, &facts));
        line(&format!("{}: legal, against a walk", rules.name), ratio(time, bar), 4.0);
        let (bar, time) = in_turn(|| walk(&broken), || broken.clone(), |list| sanitize(list, &rules, &facts));
        line(&format!("{}: broken and owned, against a walk", rules.name), ratio(time, bar), 12.0);
        let both = || (walk(&broken), broken.clone());
        let (bar, time) = in_turn(both, || (), |()| sanitize(&broken, &rules, &facts));
        line(&format!("{}: broken and borrowed, against both", rules.name), ratio(time, bar), 12.0);
    }
    let asked = |model: &str| {
        let mut facts = RequestFacts::default();
        facts.origin = Some(Origin::new("anthropic", model).at("here"));
        facts
    };
    let rules = WireRules::anthropic();
    for (name, odd, model) in [
        ("legal", Odd::Nothing, "opus"),
        ("calls that the provider ran", Odd::ServerCalls, "opus"),
        ("turns of 20 calls", Odd::ManyCalls, "opus"),
        ("reasoning of another model", Odd::Reasoning, "sonnet"),
        ("results that are lost", Odd::LostResults, "opus"),
    ] {
        let facts = asked(model);
        let times = [10, MESSAGES].map(|messages| one_more_turn(&rounds(messages, odd), &rules, &facts));
        line(&format!("one more turn, {name}: {MESSAGES} against 10"), ratio(times[1], times[0]), 1.5);
    }
    ExitCode::from(u8::from(short))
}

/// What is out of the ordinary in a conversation.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Odd {
    Nothing,
    ServerCalls,
    ManyCalls,
    Reasoning,
    LostResults,
}

/// Prompts and answers in turn, every round alike; it ends with a prompt.
fn rounds(messages: usize, odd: Odd) -> Vec<Arc<Message>> {
    let mut list = vec![Message::user("please look into the failing test")];
    let mut next = 0;
    while list.len() < messages || list.len() % 4 != 1 {
        let calls = if odd == Odd::ManyCalls { 20 } else { 2 };
        let ids: Vec<String> = (next..next + calls).map(|n| format!("toolu_{n:05}")).collect();
        next += calls;
        let mut content = Vec::new();
        if odd == Odd::Reasoning {
            content.push(Content::Thinking { text: "Let me see.".into(), signature: Some("c2ln".into()) });
        }
        if odd == Odd::ServerCalls {
            let json = |kind: &str| format!(r#"{{"type":"{kind}"}}"#);
            content.push(Content::ServerCall { id: "s1".into(), json: json("server_tool_use") });
            content
                .push(Content::ServerResult { call_id: "s1".into(), json: json("web_search_tool_result") });
        }
        content.extend(ids.iter().map(|id| {
            let (id, name, arguments) = (id.clone(), "read_file".to_owned(), r#"{"path":"a.rs"}"#.to_owned());
            Content::ToolCall(ToolCall { id, name, arguments, signature: None })
        }));
        let origin = Some(Origin::new("anthropic", "opus").at("here"));
        list.push(Message { origin, ..Message::new(Role::Assistant, Author::Model, content) });
        let results = ids.iter().skip(usize::from(odd == Odd::LostResults));
        let results = results.flat_map(|id| Message::tool_result(id, "42", false).content);
        list.push(Message::new(Role::Tool, Author::Tool, results.collect()));
        list.push(Message::assistant("The test passes now."));
        list.push(Message::user("thank you; now the next one"));
    }
    list.into_iter().map(Arc::new).collect()
}

/// Returns the shortest time in which a kept check tells of the last round, the rest of the list being what it was.
fn one_more_turn(list: &[Arc<Message>], rules: &WireRules, facts: &RequestFacts) -> Duration {
    let before = list.len() - 4;
    let mut check = LiveCheck::new();
    let mut best = Duration::MAX;
    for _ in 0..20 * ROUNDS {
        assert!(check.list(&list[..before], before, rules, facts).is_some());
        let start = Instant::now();
        let found = black_box(check.list(black_box(list), before, rules, facts));
        best = best.min(start.elapsed());
        assert!(found.is_some());
    }
    best
}

/// Returns the shortest of many runs of each, one after the other; making the input and dropping the output are not counted.
fn in_turn<B, I, O>(
    mut bar: impl FnMut() -> B,
    mut input: impl FnMut() -> I,
    mut run: impl FnMut(I) -> O,
) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let out = black_box(bar());
        best.0 = best.0.min(start.elapsed());
        drop(out);
        let given = input();
        let start = Instant::now();
        let out = black_box(run(black_box(given)));
        best.1 = best.1.min(start.elapsed());
        drop(out);
    }
    best
}

fn ratio(time: Duration, bar: Duration) -> f64 {
    time.as_secs_f64() / bar.as_secs_f64()
}

/// Visits every block of every message and adds up how long its texts are; no byte of them is read.
fn walk(messages: &[Message]) -> usize {
    let part = |part: &Part| match part {
        Part::Text { text } => text.len(),
        Part::Image(media) | Part::Document(media) => media.media_type.len(),
        Part::Opaque { json, .. } => json.len(),
    };
    let block = |block: &Content| match block {
        Content::Text { text } | Content::Thinking { text, .. } => text.len(),
        Content::RedactedThinking { data } => data.len(),
        Content::Image(media) | Content::Document(media) => media.media_type.len(),
        Content::ToolCall(call) => call.id.len() + call.name.len() + call.arguments.len(),
        Content::ToolResult(result) => result.call_id.len() + result.content.iter().map(part).sum::<usize>(),
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => json.len(),
    };
    messages.iter().flat_map(|message| &message.content).map(block).sum()
}

/// Copies the texts of every block into one buffer, as whoever sends them must at least once.
fn read(messages: &[Message], out: &mut String) {
    out.clear();
    for block in messages.iter().flat_map(|message| &message.content) {
        match block {
            Content::Text { text } | Content::Thinking { text, .. } => out.push_str(text),
            Content::ToolCall(call) => out.extend([call.id.as_str(), &call.name, &call.arguments]),
            Content::ToolResult(result) => {
                out.push_str(&result.call_id);
                for part in &result.content {
                    if let Part::Text { text } = part {
                        out.push_str(text);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A coding session: a prompt, ten rounds of tools, an answer, and again.
fn conversation() -> Vec<Message> {
    let mut list = vec![Message::system("You are careful. ".repeat(100))];
    let mut next = 0;
    while list.len() + 24 < MESSAGES {
        list.push(Message::user("please look into the failing test and mend it; do not touch the others"));
        for round in 0..10 {
            let calls = 1 + usize::from(round % 4 == 0);
            let mut content = vec![Content::text("Let me look at the next file before I change anything.")];
            let ids: Vec<String> =
                (next..next + calls).map(|n| format!("toolu_01A09q90qw90lq9178{n:05}")).collect();
            next += calls;
            content.extend(ids.iter().map(|id| {
                let arguments = r#"{"path":"crates/thing/src/lib.rs","first_line":120,"last_line":180}"#;
                let (id, name) = (id.clone(), "read_file".to_owned());
                Content::ToolCall(ToolCall { id, name, arguments: arguments.to_owned(), signature: None })
            }));
            let origin = Some(Origin::new("anthropic", "opus"));
            list.push(Message { origin, ..Message::new(Role::Assistant, Author::Model, content) });
            let text = "fn walk(messages: &[Message]) -> usize { messages.len() }\n".repeat(15);
            list.extend(ids.into_iter().map(|id| Message::tool_result(id, text.clone(), false)));
        }
        list.push(Message::assistant("The test passes now; the cause was an index that was off by one."));
    }
    list.push(Message::user("thank you; now the next one"));
    list
}

/// Something broken in every twentieth message, each time something else.
fn damage(legal: &[Message]) -> Vec<Message> {
    let mut list = Vec::with_capacity(legal.len());
    for (index, message) in legal.iter().enumerate() {
        if index == 0 || index % 20 != 0 {
            list.push(message.clone());
            continue;
        }
        match index / 20 % 5 {
            0 => {}
            1 => list.extend([message.clone(), message.clone()]),
            2 => list.extend([Message::user("hurry"), message.clone()]),
            3 => list.extend([message.clone(), Message::tool_result("c9", "nobody asked", false)]),
            _ => list.push(Message::new(message.role, message.author, Vec::new())),
        }
    }
    list
}
