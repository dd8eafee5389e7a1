//! Decodes one recorded answer: at once, byte by byte, and under random splits, which must all give the same.

use trunkline_message_tree::{Message, Origin};
use trunkline_providers::{Decode, DecodeError, Event, Fold, Request, Wire};

use super::chance::Chance;
use crate::recorded::Exchange;
use crate::recorded::Protocol;

// Larger bodies are not fed byte by byte.
const SMALL: usize = 128 * 1024;

/// What became of an answer.
#[derive(Debug)]
pub enum Outcome {
    /// It was read to its end.
    Message {
        /// What it folds to.
        message: Message,
        /// Whether it came as a stream.
        streamed: bool,
    },
    /// The service failed inside of it and said so.
    Reported(String),
    /// The recording ends before the answer does.
    RecordingCut,
    /// The recording has no body for it.
    NoBody,
    /// It is no answer of an API.
    NotAnApi(String),
    /// It cannot be had from the recording.
    NotRead(String),
    /// We cannot read it, and should.
    Failed(String),
    /// It depends on where the bytes were cut.
    Splits(String),
}

/// Decodes the answer of an exchange under so many random splits.
pub fn decode(
    exchange: &Exchange,
    protocol: Protocol,
    wire: &dyn Wire,
    request: &Request,
    splits: u32,
) -> Outcome {
    let body = match &exchange.answer {
        Ok(body) if body.iter().all(u8::is_ascii_whitespace) => return Outcome::NoBody,
        Ok(body) => body.as_slice(),
        Err(problem) => return Outcome::NotRead(problem.clone()),
    };
    let whole = feed(wire, request, [body]);
    if let Some(difference) = difference(exchange, body, &whole, splits, wire, request) {
        return Outcome::Splits(difference);
    }
    match whole.1 {
        Ok(()) => {
            let origin = Origin::new(wire.name(), request.model.clone());
            let mut fold = Fold::new(origin);
            whole.0.iter().for_each(|event| fold.push(event));
            Outcome::Message { message: fold.finish(), streamed: !is_json(body) }
        }
        Err(DecodeError::Reported { kind, message, .. }) => Outcome::Reported(format!("{kind}: {message}")),
        Err(DecodeError::Cut) if !has_end(protocol, body) => Outcome::RecordingCut,
        Err(DecodeError::Html) => Outcome::NotAnApi("a web page".to_owned()),
        // A page of text, as some gateways answer with.
        Err(error) if !is_api(body) => Outcome::NotAnApi(error.to_string()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

type Fed = (Vec<Event>, Result<(), DecodeError>);

fn feed<'a>(wire: &dyn Wire, request: &Request, pieces: impl IntoIterator<Item = &'a [u8]>) -> Fed {
    let mut decoder: Box<dyn Decode> = wire.decoder(request);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let result = decoder.finish(&mut events);
    (events, result)
}

/// Returns how one of the splits differs from the whole, if any does.
fn difference(
    exchange: &Exchange,
    body: &[u8],
    whole: &Fed,
    splits: u32,
    wire: &dyn Wire,
    request: &Request,
) -> Option<String> {
    let differs = |pieces: &[&[u8]], how: &str| {
        let fed = feed(wire, request, pieces.iter().copied());
        (fed != *whole).then(|| {
            let at = fed.0.iter().zip(&whole.0).take_while(|(one, other)| one == other).count();
            let (one, other) = (fed.0.get(at), whole.0.get(at));
            format!(
                "{how}: event {at} is {one:?} and not {other:?}; the end is {:?} and not {:?}",
                fed.1, whole.1
            )
        })
    };
    if body.len() <= SMALL {
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        if let Some(found) = differs(&bytes, "byte by byte") {
            return Some(found);
        }
    }
    let mut chance = Chance::from(&exchange.place());
    (0..splits).find_map(|_| {
        let seed = chance.seed();
        differs(&chance.cut(body), &format!("with seed {seed}"))
    })
}

/// Whether a body looks like JSON, like events, or like no text at all.
fn is_api(body: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(body) else { return true };
    let event = |line: &str| ["data:", "event:", "id:", ":"].iter().any(|field| line.starts_with(field));
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) || text.lines().any(event)
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// Whether an answer has its end, by the bytes alone.
fn has_end(protocol: Protocol, body: &[u8]) -> bool {
    if is_json(body) {
        return true;
    }
    let text = String::from_utf8_lossy(body);
    let any = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    match protocol {
        Protocol::Anthropic => any(&["\"message_stop\""]),
        Protocol::OpenAiChat => any(&["[DONE]", "\"finish_reason\":\"", "\"finish_reason\": \""]),
        Protocol::OpenAiResponses => any(&["response.completed", "response.incomplete", "response.failed"]),
        Protocol::Gemini => any(&["\"finishReason\""]),
        Protocol::Bedrock => any(&["messageStop"]),
        Protocol::Ollama => any(&["\"done\":true", "\"done\": true"]),
    }
}
