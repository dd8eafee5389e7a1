//! Measures what the wires cost, against what the same bytes cost without them in the same run.
//!
//! Run it with `cargo run --release -p trunkline-providers --example bench_providers`; it ends with exit code 1 if a bar is
//! missed. Every ratio is of the fastest of many rounds, in which all sides run one after the other, fed the same pieces.
//!
//! The bare reader is our [`SseParser`] and one borrowed `serde_json` struct for each event: less than any client can do with,
//! because it makes nothing of what it reads. The usual one is `eventsource-stream` and a `serde_json::Value`.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

mod encode;

use std::borrow::Cow;
use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use eventsource_stream::Eventsource as _;
use futures_util::Stream as _;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_message_tree::Message;
use trunkline_providers::{Anthropic, Event, OpenAiChat, OpenAiResponses, Request, SseParser, Wire};

const ROUNDS: usize = 200;

// What sockets give: a small read, a TLS record, a large one.
const PIECES: [usize; 3] = [1400, 4 * 1024, 16 * 1024];

fn main() -> ExitCode {
    let mut bars = Bars::default();
    decode(&mut bars);
    encode::encode(&mut bars);
    memory(&mut bars);
    ExitCode::from(u8::from(bars.short))
}

/// Prints one line for each measurement and remembers whether a bar was missed.
#[derive(Default)]
struct Bars {
    short: bool,
}

impl Bars {
    fn at_least(&mut self, name: &str, value: f64, bar: f64) {
        self.line(name, &format!("{value:.2}x"), &format!("{bar:.1}x"), value >= bar);
    }

    fn at_most(&mut self, name: &str, value: f64, bar: f64) {
        self.line(name, &format!("{value:.2}x"), &format!("{bar:.1}x"), value <= bar);
    }

    fn at_most_mib(&mut self, name: &str, value: f64, bar: f64) {
        self.line(name, &format!("{value:.1} MiB"), &format!("{bar:.1} MiB"), value <= bar);
    }

    fn line(&mut self, name: &str, value: &str, bar: &str, ok: bool) {
        self.short |= !ok;
        println!("{name:<52} {value:>9}  {bar:>9}  {}", if ok { "ok" } else { "SHORT" });
    }
}

/// Reads all that a client needs of one event and makes nothing of it.
type Read = fn(&str) -> usize;

/// Decoding against the two other ways to read the same stream.
fn decode(bars: &mut Bars) {
    let streams: [(&str, Box<dyn Wire>, String, Read); 3] = [
        ("anthropic", Box::new(Anthropic::new()), anthropic(), read_anthropic),
        ("chat", Box::new(OpenAiChat::default()), chat(), read_chat),
        ("responses", Box::new(OpenAiResponses::new()), responses(), read_responses),
    ];
    for (name, wire, stream, read) in &streams {
        let events = stream.matches("\n\n").count();
        println!("{name}: {} bytes, {events} events, fastest of {ROUNDS} rounds each, in turn", stream.len());
        for size in PIECES {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let [ours, bare, usual] =
                in_turn([&mut || ours(wire.as_ref(), &pieces), &mut || bare(&pieces, *read), &mut || {
                    usual(&pieces)
                }]);
            let (mbs, each) = (stream.len() as f64 / ours / 1e6, ours / events as f64 * 1e9);
            println!("  pieces of {size}: {mbs:.0} MB/s, {each:.0} ns an event");
            // The pieces of a Responses item are kept until its end says them again, and are compared then.
            let bar = if *name == "responses" { 0.6 } else { 0.7 };
            bars.at_least(&format!("{name}: {size}, speed of the bare reader"), bare / ours, bar);
            bars.at_least(&format!("{name}: {size}, speed of the usual reader"), usual / ours, 3.0);
        }
    }
}

fn ours(wire: &dyn Wire, pieces: &[&[u8]]) -> usize {
    let mut decoder = wire.decoder(&Request::new("m", vec![Message::user("hi")]));
    let mut events = Vec::new();
    let mut seen = 0;
    for piece in pieces {
        decoder.push(piece, &mut events).expect("the stream is good");
        seen += black_box(&events).len();
        events.clear();
    }
    decoder.finish(&mut events).expect("the stream is whole");
    seen + events.len()
}

fn bare(pieces: &[&[u8]], read: Read) -> usize {
    let mut parser = SseParser::new();
    let mut seen = 0;
    for piece in pieces {
        let outcome = parser.push(piece, |event| {
            seen += read(event.data);
            Ok(())
        });
        outcome.expect("the stream is good");
    }
    seen
}

fn usual(pieces: &[&[u8]]) -> usize {
    let pieces = pieces.iter().map(|piece| Ok::<_, Infallible>(*piece));
    let mut stream = pin!(futures_util::stream::iter(pieces).eventsource());
    let mut context = Context::from_waker(Waker::noop());
    let mut seen = 0;
    while let Poll::Ready(Some(event)) = stream.as_mut().poll_next(&mut context) {
        let event = event.expect("the stream is good");
        if event.data != "[DONE]" {
            let value: Value = serde_json::from_str(&event.data).expect("the data is JSON");
            seen += usize::from(black_box(value).is_object());
        }
    }
    seen
}

/// Returns the shortest of many runs of each, one after the other: on a busy machine the others say how busy it was.
fn in_turn<const N: usize>(mut runs: [&mut dyn FnMut() -> usize; N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let start = Instant::now();
            black_box(run());
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    best
}

/// serde copies a `Cow` that stands inside of an `Option`; this one is borrowed there too.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// All that a client of Messages needs of an event.
#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: usize,
    #[serde(borrow, default)]
    delta: Option<AnthropicDelta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<AnthropicBlock<'a>>,
    #[serde(default)]
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct AnthropicDelta<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
    #[serde(borrow, default)]
    partial_json: Cow<'a, str>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct AnthropicBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct AnthropicUsage {
    output_tokens: u64,
}

fn len(text: &Option<Text<'_>>) -> usize {
    text.as_ref().map_or(0, |text| text.0.len())
}

fn read_anthropic(data: &str) -> usize {
    let event: AnthropicEvent<'_> = serde_json::from_str(data).expect("an event");
    let delta = event.delta.as_ref().map_or(0, |delta| {
        let stop = len(&delta.stop_reason);
        let words = delta.text.len() + delta.thinking.len() + delta.partial_json.len();
        delta.kind.len() + words + delta.signature.len() + stop
    });
    let block = event.content_block.as_ref().map_or(0, |b| b.kind.len() + b.id.len() + b.name.len());
    let usage = event.usage.as_ref().map_or(0, |usage| usage.output_tokens as usize);
    black_box(&event).index + event.kind.len() + delta + block + usage
}

/// All that a client of Chat Completions needs of a chunk.
#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    choices: Vec<ChatChoice<'a>>,
    #[serde(default)]
    usage: Option<ChatUsage>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    index: usize,
    #[serde(borrow)]
    delta: ChatDelta<'a>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ChatCall<'a>>>,
}

#[derive(Deserialize)]
struct ChatCall<'a> {
    index: usize,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: ChatFunction<'a>,
}

#[derive(Deserialize)]
struct ChatFunction<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ChatUsage {
    completion_tokens: u64,
}

fn read_chat(data: &str) -> usize {
    if data == "[DONE]" {
        return 1;
    }
    let chunk: ChatChunk<'_> = serde_json::from_str(data).expect("a chunk");
    let mut seen = chunk.id.len() + chunk.model.len();
    for choice in &black_box(&chunk).choices {
        seen += choice.index + len(&choice.finish_reason);
        seen += len(&choice.delta.content) + len(&choice.delta.reasoning_content);
        for call in choice.delta.tool_calls.iter().flatten() {
            seen += call.index + len(&call.id) + len(&call.function.name) + call.function.arguments.len();
        }
    }
    seen + chunk.usage.as_ref().map_or(0, |usage| usage.completion_tokens as usize)
}

/// All that a client of Responses needs of an event.
#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: usize,
    #[serde(default)]
    content_index: usize,
    #[serde(borrow, default)]
    item_id: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Cow<'a, str>,
    #[serde(borrow, default)]
    item: Option<ResponsesItem<'a>>,
}

#[derive(Deserialize)]
struct ResponsesItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Cow<'a, str>,
}

fn read_responses(data: &str) -> usize {
    let event: ResponsesEvent<'_> = serde_json::from_str(data).expect("an event");
    let item = event.item.as_ref().map_or(0, |i| i.kind.len() + i.call_id.len() + i.arguments.len());
    let numbers = black_box(&event).output_index + event.content_index;
    numbers + event.kind.len() + event.item_id.len() + event.delta.len() + item
}

// Words as tokenizers cut them; one in eight has something that JSON must escape, a few are not ASCII.
const WORDS: [&str; 16] = [
    "Let",
    " me",
    " look at",
    " the",
    " failing test",
    " in",
    " `src/lib.rs`",
    ", then",
    " decide",
    "\n\n",
    " whether",
    " the change",
    " naïve",
    " is",
    " correct",
    ".",
];

const ARGUMENTS: [&str; 8] = [
    "{\"path\": ",
    "\"crates/",
    "thing/src",
    "/lib.rs\",",
    " \"edits\": [",
    "{\"line\": 12, ",
    "\"text\": \"x\"}",
    "]}",
];

fn words(count: usize) -> impl Iterator<Item = String> {
    // Pieces of one to four words, scattered but the same each time.
    (0..count).map(|n| (0..1 + n * 7 % 4).map(|more| WORDS[(n * 5 + more) % WORDS.len()]).collect())
}

fn anthropic() -> String {
    let mut out = String::new();
    let mut push = |event: &str, data: String| out.push_str(&format!("event: {event}\ndata: {data}\n\n"));
    let usage = r#"{"input_tokens":2293,"cache_creation_input_tokens":0,"cache_read_input_tokens":2048,"output_tokens":1,"service_tier":"standard"}"#;
    push(
        "message_start",
        format!(
            r#"{{"type":"message_start","message":{{"model":"m","id":"msg_A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#
        ),
    );
    let mut index = 0;
    let mut block = |start: String, deltas: Vec<(&str, &str, String)>| {
        push(
            "content_block_start",
            format!(r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#),
        );
        for (at, (kind, field, text)) in deltas.into_iter().enumerate() {
            if at % 200 == 0 {
                push("ping", r#"{"type": "ping"}"#.to_owned());
            }
            let text = json!(text);
            // The service pads its events.
            let pad = " ".repeat(at * 5 % 12);
            push(
                "content_block_delta",
                format!(
                    r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":{text}}}{pad} }}"#
                ),
            );
        }
        push("content_block_stop", format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
        index += 1;
    };
    let mut thinking: Vec<_> = words(400).map(|text| ("thinking_delta", "thinking", text)).collect();
    thinking.push(("signature_delta", "signature", "EqQBCgIYAhIM".repeat(40)));
    block(r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(), thinking);
    let text = words(1600).map(|text| ("text_delta", "text", text)).collect();
    block(r#"{"type":"text","text":""}"#.to_owned(), text);
    for call in 0..16 {
        let pieces = ARGUMENTS.iter().map(|piece| ("input_json_delta", "partial_json", (*piece).to_owned()));
        block(
            format!(r#"{{"type":"tool_use","id":"toolu_{call}","name":"edit","input":{{}}}}"#),
            pieces.collect(),
        );
    }
    push("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5161}}"#.to_owned());
    push("message_stop", r#"{"type":"message_stop"}"#.to_owned());
    out
}

fn chat() -> String {
    let mut out = String::new();
    let mut push = |delta: String, reason: &str| {
        out.push_str(&format!(
            "data: {{\"id\":\"chatcmpl-Cq1xGk2mZ\",\"object\":\"chat.completion.chunk\",\"created\":1765226419,\"model\":\"m-2026-01-01\",\"system_fingerprint\":\"fp_a26a795594\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}],\"usage\":null}}\n\n"
        ));
    };
    push(r#"{"role":"assistant","content":"","refusal":null}"#.to_owned(), "null");
    for text in words(400) {
        push(format!(r#"{{"reasoning_content":{}}}"#, json!(text)), "null");
    }
    for text in words(1600) {
        push(format!(r#"{{"content":{}}}"#, json!(text)), "null");
    }
    for call in 0..16 {
        push(
            format!(
                r#"{{"tool_calls":[{{"index":{call},"id":"call_{call}","type":"function","function":{{"name":"edit","arguments":""}}}}]}}"#
            ),
            "null",
        );
        for piece in ARGUMENTS {
            push(
                format!(
                    r#"{{"tool_calls":[{{"index":{call},"function":{{"arguments":{}}}}}]}}"#,
                    json!(piece)
                ),
                "null",
            );
        }
    }
    push("{}".to_owned(), "\"tool_calls\"");
    out.push_str("data: {\"id\":\"chatcmpl-Cq1xGk2mZ\",\"model\":\"m-2026-01-01\",\"choices\":[],\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":5161,\"total_tokens\":5251}}\n\ndata: [DONE]\n\n");
    out
}

fn responses() -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut push = |kind: &str, rest: String| {
        out.push_str(&format!(
            "event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number},{rest}}}\n\n"
        ));
        number += 1;
    };
    push(
        "response.created",
        r#""response":{"id":"resp_A","model":"m","status":"in_progress","output":[]}"#.to_owned(),
    );
    push(
        "response.output_item.added",
        r#""output_index":0,"item":{"type":"message","id":"msg_A","content":[]}"#.to_owned(),
    );
    for text in words(2000) {
        push(
            "response.output_text.delta",
            format!(
                r#""item_id":"msg_A","output_index":0,"content_index":0,"delta":{},"logprobs":[],"obfuscation":"q8ZkTw""#,
                json!(text)
            ),
        );
    }
    let whole = json!(words(2000).collect::<String>());
    push(
        "response.output_item.done",
        format!(
            r#""output_index":0,"item":{{"type":"message","id":"msg_A","content":[{{"type":"output_text","text":{whole}}}]}}"#
        ),
    );
    for call in 1..17 {
        let item = |arguments: &str| {
            format!(
                r#""output_index":{call},"item":{{"type":"function_call","id":"fc_{call}","call_id":"call_{call}","name":"edit","arguments":{}}}"#,
                json!(arguments)
            )
        };
        push("response.output_item.added", item(""));
        for piece in ARGUMENTS {
            push(
                "response.function_call_arguments.delta",
                format!(r#""item_id":"fc_{call}","output_index":{call},"delta":{}"#, json!(piece)),
            );
        }
        push("response.output_item.done", item(&ARGUMENTS.concat()));
    }
    push(
        "response.completed",
        r#""response":{"id":"resp_A","status":"completed","usage":{"input_tokens":80,"output_tokens":5161}}"#
            .to_owned(),
    );
    out
}

/// What stays in memory while much more goes through.
fn memory(bars: &mut Bars) {
    const BODY: usize = 128 * 1024 * 1024;
    let delta = |text: &str| {
        format!(
            "data: {{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{}}}}}]}}\n\n",
            json!(text)
        )
    };
    // One event in a thousand is large.
    let mut stream: String = words(1000).map(|text| delta(&text)).collect();
    stream.push_str(&delta(&"x".repeat(256 * 1024)));
    let mut decoder = OpenAiChat::default().decoder(&Request::new("m", vec![Message::user("hi")]));
    let mut events: Vec<Event> = Vec::new();
    let mut turn = || {
        for piece in stream.as_bytes().chunks(16 * 1024) {
            decoder.push(piece, &mut events).expect("the stream is good");
            black_box(&events);
            events.clear();
        }
    };
    turn();
    let Some(before) = peak() else {
        println!("memory: the system does not say how much there was, nothing is measured");
        return;
    };
    let mut through = 0;
    while through < BODY {
        turn();
        through += stream.len();
    }
    let grown = peak().unwrap_or(before) - before;
    bars.at_most_mib(&format!("memory: growth while {} MiB go through", through >> 20), grown, 1.0);
}

/// Returns the most memory that this process ever had, in MiB.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}
