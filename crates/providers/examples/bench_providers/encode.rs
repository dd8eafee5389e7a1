//! Encoding the next request of a long session.
//!
//! The bar is the message that was added, encoded alone, and one assembly that copies no byte: a shared handle taken for
//! the bytes of each message.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use trunkline_message_tree::Message;
use trunkline_providers::{
    Anthropic, Bedrock, Dialect, Gemini, Memo, Ollama, OpenAiChat, OpenAiResponses, Request, Wire,
};

use crate::Bars;

const MESSAGES: usize = 10_000;
const TURNS: usize = 200;
// A kilobyte a message: ten megabytes.
const WORDS: &str = "all the words of a turn ";

pub(crate) fn encode(bars: &mut Bars) {
    let wires: Vec<Box<dyn Wire>> = vec![
        Box::new(Anthropic::new()),
        Box::new(OpenAiChat::new(Dialect::default())),
        Box::new(OpenAiResponses::new()),
        Box::new(Gemini::new()),
        Box::new(Bedrock::new()),
        Box::new(Ollama::new()),
    ];
    for wire in wires {
        let name = format!("encode the next of {MESSAGES} messages, {}", wire.name());
        bars.at_most(&name, next_request(&*wire), 2.0);
    }
}

/// How much longer the next request takes than what it is measured against.
fn next_request(wire: &dyn Wire) -> f64 {
    let mut messages: Vec<Arc<Message>> = (0..MESSAGES + 1).map(message).collect();
    let mut memo = Memo::new();
    let first = wire.encode_next(&Request::new("m", messages.clone()), &mut memo).expect("it is legal");
    assert!(first.body.len() > 10_000_000, "ten megabytes");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        // What is added is the model's answer and the person's words; the bar has only the latter.
        let answered = MESSAGES + 1 + 2 * turn;
        messages.push(message(answered));
        messages.push(message(answered + 1));
        let request = Request::new("m", messages.clone());
        let alone = Request::new("m", messages.last().cloned());
        let start = Instant::now();
        let http = black_box(wire.encode_next(&request, &mut memo));
        ours.push(start.elapsed());

        let handles: Vec<Bytes> = messages.iter().map(|_| Bytes::from(vec![0; 1])).collect();
        let start = Instant::now();
        let one = black_box(wire.encode(&alone));
        let body = black_box(handles.clone());
        theirs.push(start.elapsed());
        assert!(http.is_ok() && one.is_ok() && body.len() == messages.len());
    }
    median(ours).as_secs_f64() / median(theirs).as_secs_f64()
}

/// Words of a person and of the model in turn.
fn message(number: usize) -> Arc<Message> {
    let words = format!("{number} {}", WORDS.repeat(43));
    Arc::new(if number.is_multiple_of(2) { Message::user(words) } else { Message::assistant(words) })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
