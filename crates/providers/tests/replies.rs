//! What the tests of all wires share: a body in, text out.

use trunkline_message_tree::{Message, Origin, notation};
use trunkline_providers::{Cache, DecodeError, Event, Fold, Request, Wire};

/// Decodes a body that comes in the given pieces.
pub(crate) fn decode<'a>(
    wire: &dyn Wire,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Result<(), DecodeError>) {
    let mut decoder = wire.decoder(&Request::new("m", vec![Message::user("hi")]));
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let outcome = decoder.finish(&mut events);
    (events, outcome)
}

pub(crate) fn fold(provider: &str, events: &[Event]) -> Fold {
    let mut fold = Fold::new(Origin::new(provider, "m"));
    for event in events {
        fold.push(event);
    }
    fold
}

/// The events one a line, then the message in notation, then the usage and the outcome.
pub(crate) fn report(wire: &dyn Wire, body: &str) -> String {
    report_bytes(wire, body.as_bytes())
}

/// The same, for a body that is no text.
pub(crate) fn report_bytes(wire: &dyn Wire, body: &[u8]) -> String {
    let (events, outcome) = decode(wire, [body]);
    let mut text = String::new();
    for event in &events {
        text.push_str(&format!("{event:?}\n"));
    }
    let message = fold(wire.name(), &events).finish();
    text.push_str("--\n");
    text.push_str(&notation::print(std::slice::from_ref(&message)));
    if let Err(error) = outcome {
        text.push_str(&format!("-- {error}\n"));
    }
    text
}

/// The body of a request, indented.
pub(crate) fn body(wire: &dyn Wire, request: &Request) -> String {
    let encoded = match wire.encode(request) {
        Ok(encoded) => encoded,
        Err(error) => return format!("refused: {error}"),
    };
    let value: serde_json::Value = serde_json::from_slice(&encoded.body.to_vec()).expect("the body is JSON");
    serde_json::to_string_pretty(&value).expect("a value can be printed")
}

/// A request for a conversation in notation; blocks get positions, not nodes.
pub(crate) fn request(conversation: &str) -> Request {
    let mut request = Request::new("m", notation::parse(conversation).expect("the test's own notation"));
    request.cache = Cache::Off;
    request
}
