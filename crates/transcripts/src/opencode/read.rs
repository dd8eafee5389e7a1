//! A file to the session, the messages and the parts in it.
//!
//! An export is one value over many lines. Of one that was torn, as when a pipe was closed, every object is read that
//! is whole.

use std::collections::HashSet;

use memchr::memchr_iter;
use serde_json::Deserializer;

use super::session::{Stored, StoredMessage, log_of};
use crate::fault::{Fault, FaultKind};
use crate::json::{self, Fields, Value, lines};
use crate::log::Log;

/// Reads a session file, or says that there is none of its records in it.
pub(crate) fn read<'a>(
    text: &'a str,
    whole: &Result<Value<'a>, serde_json::Error>,
    faults: &mut Vec<Fault>,
) -> Result<Log, String> {
    let stored = match whole {
        Ok(value) => stored(text, value, faults),
        Err(_) => {
            let document = document(text).unwrap_or(text);
            match Value::read(document) {
                Ok(value) => stored(text, &value, faults),
                Err(_) => torn(text, document, faults),
            }
        }
    };
    if stored.session.is_none() && stored.messages.is_empty() {
        return Err("neither a session of opencode nor a message of one".to_owned());
    }
    Ok(log_of(text, &stored, faults))
}

/// Tells whether a text that is not one value begins as an export does: torn, or with words of the client before it.
pub(crate) fn begins(text: &str) -> bool {
    /// The client's words are one line.
    const WORDS: usize = 1_000;
    /// The id stands among the first fields.
    const HEAD: usize = 1_000;
    let Some(document) = document(text).filter(|document| text.len() - document.len() <= WORDS) else {
        return false;
    };
    let signs = ["{", "\"info\"", ":", "{"];
    let info = signs.iter().try_fold(document, |rest, sign| rest.trim_start().strip_prefix(sign));
    info.is_some_and(|info| {
        info.as_bytes().iter().take(HEAD).copied().collect::<Vec<u8>>().windows(5).any(|id| id == b"\"ses_")
    })
}

/// Returns the text from the line on that begins an object.
fn document(text: &str) -> Option<&str> {
    let trimmed = text.trim_start();
    if trimmed.starts_with('{') {
        return Some(trimmed);
    }
    text.find("\n{").and_then(|end| text.get(end + 1..))
}

/// Returns what an export holds. A list of messages, as the client's server gives it, is taken too.
fn stored<'a>(text: &'a str, value: &Value<'a>, faults: &mut Vec<Fault>) -> Stored<'a> {
    let mut stored = Stored::default();
    let mut not_a_message = |raw: &str, reason: String| {
        let before = text.get(..json::range_in(text, raw).start).unwrap_or_default();
        faults.push(Fault { line: lines(before).count(), kind: FaultKind::NotAMessage { reason } });
    };
    let root = value.fields();
    if let Some(root) = &root {
        stored.session = root.get("info").filter(|info| info.fields().is_some()).map(Value::get);
        stored.beside = root.names().into_iter().map(str::to_owned).collect();
        // The client reads nothing else of such a file.
        if let Some(other) = root.get("messages").filter(|messages| messages.items().is_none()) {
            not_a_message(other.get(), "the messages are no list".to_owned());
        }
    }
    let listed = root.as_ref().and_then(|root| root.items("messages")).or_else(|| value.items());
    let mut odd: Vec<&str> = Vec::new();
    for element in listed.unwrap_or_default().iter() {
        let fields = element.fields();
        let info = fields.as_ref().and_then(|fields| Some(fields.get("info")?.get()));
        let Some(info) = info.filter(|info| info.starts_with('{')) else {
            odd.push(element.get());
            continue;
        };
        let parts = fields.as_ref().and_then(|fields| fields.get("parts"));
        stored.messages.push(StoredMessage { info, parts: parts.map(elements).unwrap_or_default() });
    }
    if let Some(first) = odd.first() {
        not_a_message(first, format!("elements of the list without info: {}", odd.len()));
    }
    stored
}

/// Returns the bytes of the elements of a list, none of which is looked into.
fn elements<'a>(list: &Value<'a>) -> Vec<&'a str> {
    let values: Vec<Value<'a>> = serde_json::from_str(list.get()).unwrap_or_default();
    values.iter().map(Value::get).collect()
}

/// Returns what is whole in a file that is not JSON, and reports each place where it is not.
fn torn<'a>(text: &'a str, document: &'a str, faults: &mut Vec<Fault>) -> Stored<'a> {
    // Each object that is left open is read from each of its openings. So many times may the text be read in all.
    const READINGS: usize = 16;
    /// A file can be made to be torn everywhere.
    const MOST: usize = 1_000;
    let mut left = document.len().saturating_mul(READINGS);
    let mut found = Found::default();
    let mut tears: Vec<Fault> = Vec::new();
    let mut places = HashSet::new();
    let before = text.get(..json::range_in(text, document).start).unwrap_or_default();
    let mut line = count_lines(before);
    let mut at = 0;
    while let Some(open) = document.get(at..).and_then(opening) {
        line += document.get(at..at + open).map_or(0, count_lines);
        at += open;
        let rest = document.get(at..).unwrap_or_default();
        let mut values = Deserializer::from_str(rest).into_iter::<Fields<'a>>();
        let length = match values.next() {
            Some(Ok(fields)) => {
                let length = values.byte_offset().max(1);
                found.take(&fields, rest.get(..length).unwrap_or_default());
                length
            }
            Some(Err(error)) => {
                let came = offset(rest, &error).max(1);
                // What is open around it ends in the same place.
                if tears.len() < MOST && places.insert(at + came) {
                    let kind = FaultKind::NotJson { reason: what(&error) };
                    tears.push(Fault { line: line + error.line(), kind });
                }
                let Some(rest_of_it) = left.checked_sub(came) else { break };
                left = rest_of_it;
                1
            }
            None => break,
        };
        line += rest.get(..length).map_or(0, count_lines);
        at += length;
    }
    if let Some(Fault { kind, .. }) = tears.first_mut()
        && let FaultKind::NotJson { reason } = kind
        && found.count > 0
    {
        *kind = FaultKind::TornLine { count: found.count, reason: std::mem::take(reason) };
    }
    faults.extend(tears);
    faults.extend((found.stray > 0).then(|| {
        let reason = format!("parts whose message was torn: {}", found.stray);
        Fault { line: 0, kind: FaultKind::NotAMessage { reason } }
    }));
    found.stored
}

fn count_lines(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count()
}

/// Returns where the next object begins that has a field.
fn opening(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr_iter(b'{', bytes).find(|at| {
        let after = bytes.get(at + 1..).unwrap_or_default();
        after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'"')
    })
}

/// Returns what a parser said, without the place, which it counted from the beginning of an object.
fn what(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split_once(" at line ").map_or(said.clone(), |(what, _)| what.to_owned())
}

/// Returns how far a parser came.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let before = error.line().checked_sub(2).and_then(|line| memchr_iter(b'\n', text.as_bytes()).nth(line));
    before.map_or(0, |end| end + 1).saturating_add(error.column())
}

/// What was found in a torn file, object by object.
#[derive(Default)]
struct Found<'a> {
    stored: Stored<'a>,
    /// The id of the last message.
    last: Option<String>,
    count: usize,
    /// Parts whose message was not found.
    stray: usize,
}

impl<'a> Found<'a> {
    /// Takes an object for what it is by its fields.
    fn take(&mut self, fields: &Fields<'a>, raw: &'a str) {
        let id = fields.text("id");
        if let (Some(info), Some(parts)) = (fields.get("info"), fields.get("parts")) {
            self.last = info.fields().and_then(|info| Some(info.text("id")?.into_owned()));
            self.stored.messages.push(StoredMessage { info: info.get(), parts: elements(parts) });
        } else if fields.text("role").is_some() && id.is_some() {
            self.last = id.map(|id| id.into_owned());
            self.stored.messages.push(StoredMessage { info: raw, parts: Vec::new() });
        } else if fields.text("type").is_some() && fields.has("messageID") {
            let message = fields.text("messageID");
            let home = self.stored.messages.last_mut().filter(|_| self.last.as_deref() == message.as_deref());
            match home {
                Some(home) => home.parts.push(raw),
                None => {
                    self.stray += 1;
                    return;
                }
            }
        } else if fields.text("directory").is_some() && id.is_some() && self.stored.session.is_none() {
            self.stored.session = Some(raw);
        } else {
            return;
        }
        self.count += 1;
    }
}
