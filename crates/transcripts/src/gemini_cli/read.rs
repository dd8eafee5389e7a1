//! A session file to its entries.

use std::ops::Range;

use trunkline_message_tree::Timestamp;

use super::message::{Kind, Parsed, Reader};
use super::units::Units;
use super::words;
use crate::fault::{Fault, FaultKind};
use crate::json::{Fields, Value, range_in};
use crate::lines::{self, Line};
use crate::log::{Log, News};
use crate::time;

/// What is said of a session as a whole (the client's source of 2026-08, read 2026-11).
const SESSION_FIELDS: [&str; 9] = [
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "messages",
    "summary",
    "memoryScratchpad",
    "directories",
    "kind",
];

/// Fields of a session that go along into a new file.
pub(super) const KEPT: [&str; 3] = ["summary", "memoryScratchpad", "directories"];

/// Reads a session file, or says that there is none of its records in it.
pub(crate) fn read(
    text: &str,
    whole: &Result<Value<'_>, serde_json::Error>,
    faults: &mut Vec<Fault>,
) -> Result<Log, String> {
    let mut session =
        Session { text, log: Log::default(), units: Units::default(), news: News::default(), seen: false };
    let document = whole.as_ref().ok().and_then(Value::fields);
    match document.filter(|fields| fields.items("messages").is_some()) {
        Some(fields) => session.document(&fields, whole.as_ref().map_or("", |whole| whole.get()), faults),
        None => lines::each(text, faults, is_record, |line, faults| session.line(line, faults)),
    }
    if !session.seen {
        return Err("no record of a session of Gemini CLI".to_owned());
    }
    session.news.report(faults);
    let mut log = session.log;
    session.units.into_log(&mut log);
    log.cwd = log.entries.iter().find_map(|entry| words::folder(&entry.message));
    Ok(log)
}

/// Tells a record from a part of one.
fn is_record(fields: &Fields<'_>) -> bool {
    let is_message = || fields.text("type").is_some_and(|name| Kind::of(&name).is_some());
    is_message() && fields.has("timestamp") && fields.has("id")
        || fields.has("sessionId") && fields.has("projectHash")
        || fields.object("$set").is_some()
        || fields.text("$rewindTo").is_some()
}

/// A file that is being read.
struct Session<'a> {
    text: &'a str,
    log: Log,
    units: Units,
    news: News,
    /// Whether there was any record of the format.
    seen: bool,
}

impl<'a> Session<'a> {
    /// Reads a file of the older form.
    fn document(&mut self, fields: &Fields<'a>, raw: &'a str, faults: &mut Vec<Fault>) {
        self.seen = fields.has("sessionId");
        let record = self.log.record(range_in(self.text, raw));
        self.log.labels.push(record);
        self.news.fields(1, "session", fields.names(), &SESSION_FIELDS);
        self.header(fields);
        let (mut line, mut from) = (1, 0);
        for value in fields.items("messages").unwrap_or_default().iter() {
            let range = range_in(self.text, value.get());
            let between = self.text.get(from..range.start).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between.as_bytes()).count();
            from = from.max(range.start);
            match value.fields() {
                Some(fields) => self.message(&fields, line, range, faults),
                None => not_a_message(line, "an element of `messages` is no object", faults),
            }
        }
    }

    /// Reads a record of the newer form.
    fn line(&mut self, line: &Line<'_, 'a>, faults: &mut Vec<Fault>) {
        let range = range_in(self.text, line.raw);
        let fields = line.fields;
        if let Some(id) = fields.text("$rewindTo") {
            self.seen = true;
            self.log.record(range);
            self.news.fields(line.number, "$rewindTo", fields.names(), &["$rewindTo"]);
            self.units.rewind(&id);
        } else if fields.text("id").is_some() || fields.has("type") {
            self.message(fields, line.number, range, faults);
        } else if let Some(update) = fields.object("$set") {
            self.seen = true;
            self.news.fields(line.number, "record", fields.names(), &["$set"]);
            self.update(&update, line.number, range, faults);
        } else if fields.text("sessionId").is_some() {
            self.seen = true;
            let record = self.log.record(range);
            self.log.labels.push(record);
            self.news.fields(line.number, "session", fields.names(), &SESSION_FIELDS);
            self.header(fields);
            for value in fields.items("messages").unwrap_or_default().iter() {
                match value.fields() {
                    Some(fields) => {
                        self.message(&fields, line.number, range_in(self.text, value.get()), faults);
                    }
                    None => not_a_message(line.number, "an element of `messages` is no object", faults),
                }
            }
        } else {
            self.log.record(range);
            let name = fields.names().first().map_or_else(|| "{}".to_owned(), |name| format!("{{{name}}}"));
            self.news.record(line.number, &name);
        }
    }

    /// Reads what is said of the session as a whole.
    fn header(&mut self, fields: &Fields<'_>) {
        let owned = |name: &str| fields.text(name).map(|text| text.into_owned());
        if let Some(id) = owned("sessionId") {
            self.log.id = id;
        }
        self.log.title = owned("summary").filter(|title| !title.is_empty()).or(self.log.title.take());
        let started = fields.text("startTime").and_then(|text| time::parse(&text));
        self.log.started = self.log.started.or(started);
    }

    /// Reads a message and puts it where it belongs.
    fn message(&mut self, fields: &Fields<'a>, line: usize, range: Range<usize>, faults: &mut Vec<Fault>) {
        let record = self.log.record(range);
        let Some(mut parsed) = self.parsed(fields, line, faults) else { return };
        parsed.set_record(record);
        let id = parsed.id.clone();
        if self.units.write(parsed) {
            faults.push(Fault { line, kind: FaultKind::RepeatedId { id: id.unwrap_or_default() } });
        }
    }

    fn parsed(&mut self, fields: &Fields<'a>, line: usize, faults: &mut Vec<Fault>) -> Option<Parsed> {
        let Some(name) = fields.text("type") else {
            not_a_message(line, "it has no type", faults);
            return None;
        };
        let Some(kind) = Kind::of(&name) else {
            self.news.record(line, &name);
            return None;
        };
        let mut reader = Reader { text: self.text, line, news: &mut self.news };
        match reader.message(kind, fields) {
            Ok(parsed) => {
                self.seen = true;
                Some(parsed)
            }
            Err(reason) => {
                not_a_message(line, &reason, faults);
                None
            }
        }
    }

    /// Reads an update: fields of the session, or another list in place of all messages.
    fn update(&mut self, fields: &Fields<'a>, line: usize, range: Range<usize>, faults: &mut Vec<Fault>) {
        let record = self.log.record(range);
        self.news.fields(line, "$set", fields.names(), &SESSION_FIELDS);
        if KEPT.iter().any(|name| fields.has(name)) {
            self.log.labels.push(record);
        }
        self.header(fields);
        let Some(items) = fields.items("messages") else { return };
        let (mut messages, mut ranges) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for value in items.iter() {
            let Some(fields) = value.fields() else {
                not_a_message(line, "an element of `messages` is no object", faults);
                continue;
            };
            if let Some(parsed) = self.parsed(&fields, line, faults) {
                messages.push(parsed);
                ranges.push(range_in(self.text, value.get()));
            }
        }
        let log = &mut self.log;
        self.units.replace(messages, |parsed, element| {
            if let Some(range) = ranges.get(element) {
                parsed.set_record(log.record(range.clone()));
            }
        });
    }
}

fn not_a_message(line: usize, reason: &str, faults: &mut Vec<Fault>) {
    faults.push(Fault { line, kind: FaultKind::NotAMessage { reason: reason.to_owned() } });
}

/// Returns when a record was written.
pub(super) fn written_at(fields: &Fields<'_>) -> Option<Timestamp> {
    fields.text("timestamp").and_then(|text| time::parse(&text))
}
