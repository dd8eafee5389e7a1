//! A session file to its entries.

use trunkline_message_tree::{Author, Content, Role, Timestamp, Usage};

use super::item::{self, Item, Read, image};
use super::turns::Turns;
use super::{WIRE, known};
use crate::fault::{Fault, FaultKind};
use crate::json::{Fields, Value, object, quote};
use crate::lines::{self, Line};
use crate::log::{Log, News};
use crate::time;

/// Reads a session file, or says that there is none of its records in it.
///
/// Events are read where there is nothing else, as in files from which the items of the conversation are gone.
pub(crate) fn read(text: &str, faults: &mut Vec<Fault>) -> Result<Log, String> {
    let mut found = Vec::new();
    let first = pass(text, false, &mut found);
    if first.known == 0 {
        return Err("no record of a rollout".to_owned());
    }
    let again = first.turns.log.entries.is_empty() && first.has_words;
    let reader = if again {
        found.clear();
        pass(text, true, &mut found)
    } else {
        first
    };
    faults.append(&mut found);
    reader.news.report(faults);
    Ok(reader.turns.log)
}

fn pass<'a>(text: &'a str, by_events: bool, faults: &mut Vec<Fault>) -> Reader<'a> {
    let mut reader = Reader {
        turns: Turns::new(text),
        news: News::default(),
        by_events,
        known: 0,
        has_words: false,
        has_header: false,
        total: None,
        title: None,
    };
    // Before there were envelopes an item stood alone. Where there are, one that is whole on a torn line is its part.
    let is_bare = text.lines().take(20).all(|line| !line.contains("\"payload\""));
    let is_record = |fields: &Fields<'_>| match fields.text("type") {
        Some(kind) if fields.has("payload") => is_kind(&kind),
        Some(kind) => is_bare && known::item(&kind).is_some(),
        None => is_bare && is_old_header(fields),
    };
    lines::each(text, faults, is_record, |line, faults| reader.record(line, faults));
    reader.turns.log.labels.extend(reader.title);
    reader
}

struct Reader<'a> {
    turns: Turns<'a>,
    news: News,
    /// Whether what was said is taken from events.
    by_events: bool,
    /// How many records are of this format.
    known: usize,
    /// Whether events hold what was said.
    has_words: bool,
    has_header: bool,
    /// What the session cost in all, as it was said last.
    total: Option<&'a str>,
    /// The record that named the session last.
    title: Option<usize>,
}

/// Tells whether records with an envelope have this type.
fn is_kind(kind: &str) -> bool {
    const READ: [&str; 7] = [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "token_usage_record",
        "inter_agent_communication",
    ];
    READ.contains(&kind) || known::SILENT.contains(&kind)
}

/// Tells whether it is the header of a file without envelopes.
fn is_old_header(fields: &Fields<'_>) -> bool {
    let has = |name: &str| fields.has(name);
    has("id") && has("timestamp") && (has("instructions") || has("git"))
}

impl<'a> Reader<'a> {
    fn record(&mut self, line: &Line<'_, 'a>, faults: &mut Vec<Fault>) {
        let record = self.turns.log.record(self.turns.range(line.raw));
        let kind = line.fields.text("type");
        let at = line.fields.text("timestamp").and_then(|text| time::parse(&text));
        if !line.fields.has("payload") {
            self.bare(line, kind.as_deref(), record, at, faults);
            return;
        }
        let kind = kind.unwrap_or_default();
        if !is_kind(&kind) {
            self.news.record(line.number, &kind);
            return;
        }
        self.known += 1;
        self.news.fields(line.number, &kind, line.fields.names(), &known::ENVELOPE);
        if known::SILENT.contains(&kind.as_ref()) {
            return;
        }
        let raw = line.fields.get("payload").map(Value::get).unwrap_or_default();
        let Some(payload) = line.fields.object("payload") else {
            let reason = "its payload is no object".to_owned();
            faults.push(Fault { line: line.number, kind: FaultKind::NotAMessage { reason } });
            return;
        };
        let place = Place { line: line.number, record, at };
        match kind.as_ref() {
            "session_meta" => self.meta(&payload, place, faults),
            "turn_context" => self.context(&payload, place),
            "response_item" => self.item(&payload, raw, place, faults),
            "compacted" => self.compacted(&payload, place, faults),
            "token_usage_record" => self.usage_record(&payload, place),
            "inter_agent_communication" => self.letter(&payload, place, faults),
            _ => self.event(&payload, place, faults),
        }
    }

    /// Reads a record without an envelope.
    fn bare(
        &mut self,
        line: &Line<'_, 'a>,
        kind: Option<&str>,
        record: usize,
        at: Option<Timestamp>,
        faults: &mut Vec<Fault>,
    ) {
        let place = Place { line: line.number, record, at };
        match kind {
            None if is_old_header(line.fields) => {
                self.known += 1;
                if self.heads(line.fields, place) {
                    self.news.fields(line.number, "header", line.fields.names(), &known::OLD_HEADER);
                }
            }
            // It says that the client has saved its state.
            None if line.fields.has("record_type") => {}
            None => self.news.record(line.number, ""),
            Some("message") if line.fields.text("role").is_none() => self.news.record(line.number, "message"),
            Some(kind) if known::item(kind).is_some() => {
                self.known += 1;
                self.item(line.fields, line.raw, place, faults);
            }
            Some(kind) => self.news.record(line.number, kind),
        }
    }

    /// Reads the header; tells whether it is the first. Those behind it came along with what was copied from elsewhere.
    fn heads(&mut self, fields: &Fields<'a>, place: Place) -> bool {
        let log = &mut self.turns.log;
        let owned =
            |name: &str| fields.text(name).filter(|text| !text.is_empty()).map(|text| text.into_owned());
        if self.has_header {
            let other = owned("id").filter(|id| *id != log.id);
            log.parent = log.parent.take().or(other);
            return false;
        }
        self.has_header = true;
        log.labels.push(place.record);
        log.id = owned("id").unwrap_or_default();
        log.cwd = owned("cwd");
        log.started = fields.text("timestamp").and_then(|text| time::parse(&text)).or(place.at);
        let of_source = || {
            let source = fields.object("source")?;
            let spawn =
                source.object("subagent")?.object("thread_spawn")?.text("parent_thread_id")?.into_owned();
            Some(spawn)
        };
        let parent = owned("forked_from_id").or_else(|| owned("parent_thread_id")).or_else(of_source);
        log.parent = parent.filter(|parent| *parent != log.id);
        self.turns.model = owned("model");
        true
    }

    fn meta(&mut self, payload: &Fields<'a>, place: Place, faults: &mut Vec<Fault>) {
        self.turns.close();
        self.news.fields(place.line, "session_meta", payload.names(), &known::META);
        let is_first = self.heads(payload, place);
        // Of a fork of a paginated thread only what is new stands in its file.
        let base = payload.object("history_base").filter(|_| is_first);
        if let Some(id) = base.and_then(|base| base.text("thread_id").map(|id| id.into_owned())) {
            faults.push(Fault { line: place.line, kind: FaultKind::MissingParent { id } });
        }
    }

    fn context(&mut self, payload: &Fields<'a>, place: Place) {
        self.turns.close();
        self.news.fields(place.line, "turn_context", payload.names(), &known::CONTEXT);
        if let Some(model) = payload.text("model").filter(|model| !model.is_empty()) {
            self.turns.model = Some(model.into_owned());
            self.turns.context = Some(place.record);
        }
        let log = &mut self.turns.log;
        log.cwd = log.cwd.take().or_else(|| payload.text("cwd").map(|cwd| cwd.into_owned()));
    }

    fn item(&mut self, payload: &Fields<'a>, raw: &'a str, place: Place, faults: &mut Vec<Fault>) {
        if let Some(item) = self.understood("response_item", payload, raw, place.line, faults) {
            self.turns.take(item, place.record, place.at);
        }
    }

    /// Reads an item and reports what is wrong with it or new in it.
    fn understood(
        &mut self,
        within: &str,
        fields: &Fields<'a>,
        raw: &'a str,
        line: usize,
        faults: &mut Vec<Fault>,
    ) -> Option<Item<'a>> {
        let kind = match fields.text("type") {
            Some(kind) => kind,
            None if fields.has("role") => "message".into(),
            None => {
                let reason = "it has no type".to_owned();
                faults.push(Fault { line, kind: FaultKind::NotAMessage { reason } });
                return None;
            }
        };
        if known::item(&kind).is_none() {
            self.news.record(line, &format!("{within}/{kind}"));
        } else {
            self.news.fields(line, &kind, known::new_fields(&kind, &fields.names()), &[]);
        }
        match item::read(&kind, fields, raw) {
            Read::Said(item) => {
                if item.is_torn {
                    let reason = "a part of it is neither an object nor a string".to_owned();
                    faults.push(Fault { line, kind: FaultKind::NotAMessage { reason } });
                }
                Some(item)
            }
            Read::Silent => None,
            Read::Not(reason) => {
                faults.push(Fault { line, kind: FaultKind::NotAMessage { reason } });
                None
            }
        }
    }

    fn compacted(&mut self, payload: &Fields<'a>, place: Place, faults: &mut Vec<Fault>) {
        self.news.fields(place.line, "compacted", payload.names(), &known::COMPACTED);
        let mut kept = Vec::new();
        for value in payload.items("replacement_history").unwrap_or_default().iter() {
            let Some(fields) = value.fields() else {
                let reason = "an item of its replacement_history is no object".to_owned();
                faults.push(Fault { line: place.line, kind: FaultKind::NotAMessage { reason } });
                continue;
            };
            let raw = value.get();
            if let Some(item) = self.understood("replacement_history", &fields, raw, place.line, faults) {
                let range = self.turns.range(raw);
                kept.push((item, self.turns.log.record(range)));
            }
        }
        if !kept.is_empty() {
            self.turns.replace(kept, place.at);
            return;
        }
        let raw = payload.get("message").map(Value::get).unwrap_or_default();
        let text = payload.text("message").filter(|text| !text.is_empty());
        // The client's own words for it.
        let text = text.unwrap_or_else(|| "(no summary available)".into());
        let item = harness(Content::text(text), raw);
        if payload.items("replacement_history").is_some() {
            self.turns.replace(vec![(Item { exact: false, ..item }, place.record)], place.at);
        } else {
            self.turns.summarise(item, place.record, place.at);
        }
    }

    /// Reads what another agent tells this one, from when it was no item yet.
    fn letter(&mut self, payload: &Fields<'a>, place: Place, faults: &mut Vec<Fault>) {
        self.news.fields(place.line, "inter_agent_communication", payload.names(), &known::INTER_AGENT);
        let raw = payload.get("content").map(Value::get).unwrap_or_default();
        let block = match (payload.text("content"), payload.get("encrypted_content")) {
            // The item that the client makes of it for the model.
            (_, Some(words)) => {
                let part = [
                    ("type", Some(quote("encrypted_content"))),
                    ("encrypted_content", Some(words.get().to_owned())),
                ];
                let name = |name: &str| payload.get(name).map(|value| value.get().to_owned());
                let json = object(&[
                    ("type", Some(quote("agent_message"))),
                    ("author", name("author")),
                    ("recipient", name("recipient")),
                    ("content", Some(format!("[{}]", object(&part)))),
                ]);
                Content::Opaque { wire: WIRE.to_owned(), json }
            }
            (Some(text), None) => Content::text(text),
            (None, None) => {
                let reason = "it has no content".to_owned();
                faults.push(Fault { line: place.line, kind: FaultKind::NotAMessage { reason } });
                return;
            }
        };
        let raw = if matches!(block, Content::Text { .. }) { raw } else { "" };
        let item = Item { prompts: true, ..harness(block, raw) };
        self.turns.take(item, place.record, place.at);
    }

    fn usage_record(&mut self, payload: &Fields<'a>, place: Place) {
        self.news.fields(place.line, "token_usage_record", payload.names(), &known::USAGE);
        if let Some(usage) = payload.object("usage") {
            self.turns.usage(counted(&usage), place.record, true);
        }
        self.turns.close();
    }

    fn event(&mut self, payload: &Fields<'a>, place: Place, faults: &mut Vec<Fault>) {
        let Some(kind) = payload.text("type") else {
            let reason = "the event has no type".to_owned();
            faults.push(Fault { line: place.line, kind: FaultKind::NotAMessage { reason } });
            return;
        };
        match kind.as_ref() {
            "token_count" => self.token_count(payload, place),
            "turn_aborted" => self.turns.abort(place.record),
            "thread_rolled_back" => self.turns.go_back(payload.count("num_turns")),
            "task_complete" | "turn_complete" => self.turns.close(),
            "thread_name_updated" => {
                let name = payload.text("thread_name").filter(|name| !name.is_empty());
                self.title = name.as_ref().map(|_| place.record);
                self.turns.log.title = name.map(|name| name.into_owned());
            }
            "user_message" | "agent_message" | "agent_reasoning" => {
                self.has_words = true;
                if self.by_events {
                    self.words(&kind, payload, place);
                }
            }
            kind if known::EVENTS.contains(&kind) => {}
            kind => self.news.record(place.line, &format!("event_msg/{kind}")),
        }
    }

    /// Reads what the last response cost. It is said again whenever limits change: what counts is whether the sum has.
    fn token_count(&mut self, payload: &Fields<'a>, place: Place) {
        let Some(info) = payload.object("info") else { return };
        let total = info.get("total_token_usage").map(Value::get);
        let is_new = total.is_some() && total != self.total;
        self.total = total.or(self.total);
        if let Some(last) = info.object("last_token_usage") {
            self.turns.usage(counted(&last), place.record, is_new);
        }
    }

    /// Reads what was said from the event that tells people of it.
    fn words(&mut self, kind: &str, payload: &Fields<'a>, place: Place) {
        let field = if kind == "agent_reasoning" { "text" } else { "message" };
        let text = payload.text(field).unwrap_or_default().into_owned();
        let raw = payload.get(field).map(Value::get).unwrap_or_default();
        let mut item = harness(Content::text(text), raw);
        item.exact = false;
        match kind {
            "user_message" => {
                item.author = Author::Person;
                item.prompts = true;
                let pictures = payload.items("images").unwrap_or_default();
                for picture in pictures.iter().filter_map(Value::text) {
                    item.blocks.push(Content::Image(image(&picture)));
                    item.raws.push("");
                }
            }
            _ => {
                (item.role, item.author) = (Role::Assistant, Author::Model);
                if kind == "agent_reasoning"
                    && let Some(Content::Text { text }) = item.blocks.pop()
                {
                    item.blocks.push(Content::Thinking { text, signature: None });
                }
            }
        }
        // It is no block of the conversation, only the words of one.
        item.raws.fill("");
        self.turns.take(item, place.record, place.at);
    }
}

/// Where a record stands, and when it was written.
#[derive(Copy, Clone)]
struct Place {
    line: usize,
    record: usize,
    at: Option<Timestamp>,
}

fn harness(block: Content, raw: &str) -> Item<'_> {
    Item::new(Role::User, Author::Harness).with(block, raw)
}

/// Reads counts; cached tokens are part of the prompt here too.
fn counted(usage: &Fields<'_>) -> Usage {
    Usage {
        input_tokens: usage.count("input_tokens"),
        output_tokens: usage.count("output_tokens"),
        cache_read_tokens: usage.count("cached_input_tokens"),
        cache_write_tokens: usage.count("cache_write_input_tokens"),
        reasoning_tokens: usage.count("reasoning_output_tokens"),
    }
}
