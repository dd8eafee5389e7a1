//! What a wire writes: features, shapes, the same bytes each time, and what the model said before.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use trunkline_message_tree::{Content, Message, Origin};

use super::asking::{asking_for, misshapen, without};
use super::order::show;
use super::reading::{Read, guard};
use super::{Answer, Promise, Report, Samples};
use crate::{EncodeError, Feature, Fold, HttpRequest, Request, Secret, Support, Wire};

/// Checks what does not depend on an answer.
pub(super) fn check(wire: &dyn Wire, samples: &Samples, report: &mut Report) {
    for feature in Feature::ALL {
        let broken = guard(|| feature_fault(wire, feature)).unwrap_or_else(Some);
        report.check(Promise::Features, broken.map(|fault| format!("{}: {fault}", feature.name())));
    }
    for (what, request) in misshapen(&Request::new("m", Vec::<Message>::new())) {
        let taken =
            guard(|| wire.encode(&request).is_ok().then(|| "it is taken".to_owned())).unwrap_or_else(Some);
        report.check(Promise::Shapes, taken.map(|fault| format!("{what}: {fault}")));
    }
    let features = Feature::ALL.into_iter().map(asking_for);
    for request in samples.answers.iter().map(|answer| answer.request.clone()).chain(features) {
        written(wire, samples, &request, report);
    }
    key_header(wire, report);
}

fn feature_fault(wire: &dyn Wire, feature: Feature) -> Option<String> {
    let asking = asking_for(feature);
    let encoded = wire.encode(&asking);
    let support = wire.support(feature);
    let forced = matches!(feature, Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed);
    if forced && matches!(support, Support::Near(_)) {
        let mut strict = asking;
        strict.soft_choice = false;
        if wire.encode(&strict).is_ok() {
            return Some("only near, and not refused where near is not enough".to_owned());
        }
    }
    match (support, encoded) {
        // A hint, which is never refused and need not show.
        (_, Ok(_)) if feature == Feature::CacheBreakpoints => None,
        (Support::None, Err(EncodeError::Unsupported { .. } | EncodeError::UnsupportedBlock { .. })) => None,
        (Support::None, Err(other)) => Some(format!("refused as {} and not as unsupported", show(&other))),
        (Support::None, Ok(_)) => Some("it is not there, and not refused".to_owned()),
        (_, Err(error)) => Some(format!("it is there, and refused: {error}")),
        (_, Ok(with)) => match wire.encode(&without(feature)) {
            Ok(without) if (&with.path, &with.body) == (&without.path, &without.body) => {
                Some("it is there, and makes no difference".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(format!("a request without it is refused: {error}")),
        },
    }
}

/// The same bytes twice, from the same messages and from copies, and no key in them.
fn written(wire: &dyn Wire, samples: &Samples, request: &Request, report: &mut Report) {
    let mut copy = request.clone();
    copy.messages = request.messages.iter().map(|message| Arc::new(Message::clone(message))).collect();
    let Ok((first, again, copied)) =
        guard(|| (wire.encode(request), wire.encode(request), wire.encode(&copy)))
    else {
        // Told where features are checked.
        return;
    };
    let differs = (first != again || first != copied).then(|| {
        format!("{} and then {}", show(&first), show(if first != again { &again } else { &copied }))
    });
    report.check(Promise::Deterministic, differs);
    if let (Some(key), Ok(http)) = (&samples.key, first) {
        report.check(Promise::Key, holds(&http, key).map(|place| format!("the key stands in {place}")));
    }
}

fn holds(http: &HttpRequest, key: &Secret) -> Option<String> {
    let key = key.expose();
    if http.path.contains(key) {
        return Some("the path".to_owned());
    }
    if String::from_utf8_lossy(&http.body.to_vec()).contains(key) {
        return Some("the body".to_owned());
    }
    let header = http.headers.iter().find(|(_, value)| value.contains(key))?;
    Some(format!("the encoded header {}", header.0))
}

fn key_header(wire: &dyn Wire, report: &mut Report) {
    let key = Secret::new("kit-0123456789abcdef");
    let (name, value) = wire.key_header(&key);
    let token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let fits = !name.is_empty()
        && name.chars().all(token)
        && value.contains(key.expose())
        && !value.contains(|c: char| c.is_control());
    report.check(Promise::Key, (!fits).then(|| format!("{name:?} is not a header with the key in it")));
}

/// Puts what the model said into the next request.
pub(super) fn round_trip(wire: &dyn Wire, answer: &Answer, read: &Read, report: &mut Report) {
    if !answer.goes_back {
        return;
    }
    let request = next_request(wire, answer, read);
    let fault = match guard(|| wire.encode(&request)) {
        Err(panic) => Some(panic),
        Ok(Err(error)) => Some(format!("refused: {error}")),
        Ok(Ok(http)) => {
            let said = request.messages.get(answer.request.messages.len()).map(|message| &message.content);
            let missing =
                said.into_iter().flatten().find_map(|block| missing(block, wire, &http.body.to_vec()));
            missing.map(|what| format!("{what} is not in what is sent"))
        }
    };
    report.check(Promise::RoundTrip, fault.map(|fault| format!("{}, said back: {fault}", answer.name)));
}

/// Returns the request that follows an answer: its calls are answered, or the person goes on.
pub(super) fn next_request(wire: &dyn Wire, answer: &Answer, read: &Read) -> Request {
    let model = answer.request.model.clone();
    let mut fold = Fold::new(Origin::new(wire.name(), model));
    read.events.iter().for_each(|event| fold.push(event));
    let message = fold.finish();
    let mut request = answer.request.clone();
    let mut results: Vec<Message> =
        message.calls().map(|call| Message::tool_result(&call.id, "it is done", false)).collect();
    if results.is_empty() {
        results.push(Message::user("go on"));
    }
    request.messages.push(message.into());
    request.messages.extend(results.into_iter().map(Arc::new));
    request
}

/// Tells what of a block a body lacks.
fn missing(block: &Content, wire: &dyn Wire, body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let parsed: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let says = |words: &str| {
        words.trim().is_empty()
            || text.contains(words)
            || in_strings(&parsed, &|string| string.contains(words))
    };
    let (what, there) = match block {
        Content::Text { text } => (text, says(text)),
        Content::Thinking { signature: Some(signature), .. } => (signature, says(signature)),
        Content::RedactedThinking { data } => (data, says(data)),
        Content::ToolCall(call) => {
            if !says(&call.name) {
                return Some(format!("the call of {}", call.name));
            }
            if let Some(signature) = call.signature.as_ref().filter(|signature| !says(signature)) {
                return Some(show(signature));
            }
            // Some wires want an object and others a text; what counts is what it means.
            let meant = meaning(if call.arguments.trim().is_empty() { "{}" } else { &call.arguments });
            let same = |value: &Value| Some(value) == meant.as_ref();
            let there = meant.is_none()
                || anywhere(&parsed, &same)
                || in_strings(&parsed, &|text| meaning(text) == meant);
            (&call.arguments, there || says(&call.arguments))
        }
        Content::Opaque { wire: of, json } if of == wire.name() => (json, carries(&text, json)),
        _ => return None,
    };
    (!there).then(|| show(what))
}

/// Whether a raw block is there byte for byte: as it is, or, where the wire takes it apart, each of its strings.
fn carries(text: &str, json: &str) -> bool {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    let payload = parts.into_iter().filter(|(name, _)| name != "type");
    let strings: Vec<&str> = payload.flat_map(|(_, value)| strings(value.get())).collect();
    text.contains(json) || (!strings.is_empty() && strings.iter().all(|string| text.contains(string)))
}

/// Returns the strings of a value as they are written, quotes and escapes included.
fn strings(json: &str) -> Vec<&str> {
    match json.as_bytes().first() {
        Some(b'"') => vec![json],
        Some(b'[') => {
            let list: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            list.into_iter().flat_map(|value| strings(value.get())).collect()
        }
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
            fields.into_values().flat_map(|value| strings(value.get())).collect()
        }
        _ => Vec::new(),
    }
}

fn meaning(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn in_strings(value: &Value, fits: &dyn Fn(&str) -> bool) -> bool {
    anywhere(value, &|value| value.as_str().is_some_and(fits))
}

fn anywhere(value: &Value, fits: &dyn Fn(&Value) -> bool) -> bool {
    fits(value)
        || match value {
            Value::Array(list) => list.iter().any(|value| anywhere(value, fits)),
            Value::Object(fields) => fields.values().any(|value| anywhere(value, fits)),
            _ => false,
        }
}
