//! Messages to a new session file that the client can resume.
//!
//! Records that are still true are copied with the bytes they had; only their place in the chain, the session's id and
//! a time that is not later than the one before are written anew. The file is one line of records without forks, so that
//! every reader finds the same messages; older clients take the latest by time for the end (2.1.42, tried 2026-11).

use std::collections::HashSet;

use trunkline_message_tree::{Author, Message, NodeId, Role, Timestamp};

use crate::conversation::Loss;
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Session};
use crate::{anthropic, time};

/// The version that new records claim: the newest whose files were measured (read 2026-11).
const VERSION: &str = "2.1.42";

/// Writes a session file.
pub(crate) fn write(session: &Session<'_>, messages: &[Message], losses: &mut Vec<Loss>) -> String {
    let mut writer = Writer {
        session,
        out: String::new(),
        last: None,
        serial: 0,
        uuids: HashSet::new(),
        nodes: HashSet::new(),
        ids: HashSet::new(),
        id: None,
        at: None,
        manner: Manner::of(session),
    };
    let mut index = 0;
    while let Some(message) = messages.get(index) {
        let mut losses = Losses { list: losses, message: index, node: message.node };
        writer.id = None;
        if message.role == Role::System {
            losses.note("instructions: the client writes its own into every request".to_owned());
        } else if let Some(turn) = turn_at(messages, index) {
            writer.turn(turn, &mut losses);
            index += turn.len();
            continue;
        } else {
            writer.message(message, &mut losses);
        }
        index += 1;
    }
    writer.labels();
    writer.out
}

/// Returns the run of results and the user message after them that begin here, if a result among them is a message of
/// its own: on the wire they are one, and readers take them for one only as one record.
fn turn_at(messages: &[Message], from: usize) -> Option<&[Message]> {
    let rest = messages.get(from..)?;
    let is_result = |message: &&Message| {
        message.role == Role::Tool
            || message.role == Role::User && message.content.iter().all(|block| block.as_result().is_some())
    };
    let results = rest.iter().take_while(is_result).count();
    let (run, after) = rest.split_at_checked(results)?;
    let own = run.iter().any(|message| message.role == Role::Tool);
    let joins = own && after.first().is_some_and(|message| message.role == Role::User);
    joins.then(|| rest.get(..=results)).flatten()
}

struct Writer<'a> {
    session: &'a Session<'a>,
    out: String,
    /// The id of the record that was written last.
    last: Option<String>,
    serial: u64,
    uuids: HashSet<String>,
    nodes: HashSet<usize>,
    /// The provider's ids of the messages that were written.
    ids: HashSet<String>,
    /// The provider's id of the message that is being written: as it was, and as it is now.
    id: Option<(String, String)>,
    /// The time of the record that was written last.
    at: Option<Timestamp>,
    manner: Manner,
}

/// What the records around a new one say, as JSON.
#[derive(Clone, Default)]
struct Manner {
    cwd: Option<String>,
    version: Option<String>,
    branch: Option<String>,
    at: Option<Timestamp>,
}

impl Manner {
    fn of(session: &Session<'_>) -> Self {
        let mut manner = Manner::default();
        let sources = session.read.sources.iter().flat_map(|source| &source.records);
        let texts = sources.filter_map(|record| session.read.text.get(session.records.get(*record)?.clone()));
        if let Some(fields) = texts.into_iter().next().and_then(|text| Fields::parse(text).ok()) {
            manner.see(&fields);
        }
        manner
    }

    fn see(&mut self, fields: &Fields<'_>) {
        let keep = |slot: &mut Option<String>, name: &str| {
            if let Some(raw) = fields.get(name) {
                *slot = Some(raw.get().to_owned());
            }
        };
        keep(&mut self.cwd, "cwd");
        keep(&mut self.version, "version");
        keep(&mut self.branch, "gitBranch");
        self.at = fields.text("timestamp").and_then(|text| time::parse(&text)).or(self.at);
    }
}

/// Blocks that stand in one record.
struct Run<'a> {
    /// The record that they were read from; `None` for new ones.
    record: Option<usize>,
    blocks: Vec<String>,
    /// The bytes of those that were read.
    raws: Vec<&'a str>,
}

impl Writer<'_> {
    fn message(&mut self, message: &Message, losses: &mut Losses<'_>) {
        // A node may come twice where a message was split; only the first can be the message that was read.
        let first = message.node.is_none_or(|node| self.nodes.insert(node.index()));
        match self.session.read.untouched(message).filter(|_| first) {
            Some(source) => source.records.iter().for_each(|record| self.copy(*record, None)),
            None => self.changed(message, first, losses),
        }
    }

    /// Writes results and the words after them as one record.
    fn turn(&mut self, turn: &[Message], losses: &mut Losses<'_>) {
        let read = self.session.read;
        let mut blocks = Vec::new();
        let mut home = None;
        for message in turn {
            blocks.extend(anthropic::blocks(message, &mut read.reuse(message), losses));
            let origin = read.origin(message).filter(|(read, _)| wire_role(read.role) == "user");
            home = origin.and_then(|(_, source)| source.records.first().copied()).or(home);
            self.nodes.extend(message.node.map(NodeId::index));
        }
        let Some(message) = turn.last() else { return };
        let fresh = &mut Fresh::of(message, &self.session.heading.id);
        self.put(home, message, fresh, &blocks);
    }

    /// Writes a message that is not what was read: each block into the record that it came from, and what is new
    /// beside its neighbours.
    fn changed(&mut self, message: &Message, first: bool, losses: &mut Losses<'_>) {
        let read = self.session.read;
        let origin = read.origin(message).filter(|(read, _)| wire_role(read.role) == wire_role(message.role));
        let home = origin.and_then(|(_, source)| source.records.first().copied());
        let mut reuse = read.reuse(message);
        let mut runs: Vec<Run<'_>> = Vec::new();
        for content in &message.content {
            let raw = reuse.take(content);
            let Some(block) = raw.map(|raw| raw.block()).or_else(|| anthropic::encode(content, losses))
            else {
                continue;
            };
            let stands_in = raw.map(|raw| raw.record).filter(|_| home.is_some());
            // Lines of one message of the model are joined by its id; what the user's side says has no id, and is one
            // message only as one record.
            let whole = message.role != Role::Assistant;
            let joins =
                runs.last().is_some_and(|run| whole || stands_in.is_none() || stands_in == run.record);
            if !joins {
                runs.push(Run { record: stands_in.or(home), blocks: Vec::new(), raws: Vec::new() });
            }
            if let Some(run) = runs.last_mut() {
                run.blocks.push(block);
                run.raws.extend(raw.map(|raw| raw.text));
            }
        }
        if runs.is_empty() {
            runs.push(Run { record: home, blocks: Vec::new(), raws: Vec::new() });
        }
        let mut fresh = Fresh::of(message, &self.session.heading.id);
        for run in runs {
            let whole = run.record.filter(|record| {
                first && origin.is_some_and(|(_, source)| self.is_whole(source, *record, &run))
            });
            match whole {
                Some(record) => self.copy(record, None),
                None => self.put(run.record, message, &mut fresh, &run.blocks),
            }
        }
    }

    /// Writes blocks into the record that they stood in, or into a new one: those beside the chain of messages, such as
    /// what was typed while a turn ran, have no place for all that a message can hold.
    fn put(&mut self, record: Option<usize>, message: &Message, fresh: &mut Fresh<'_>, blocks: &[String]) {
        let text =
            record.and_then(|record| self.session.read.text.get(self.session.records.get(record)?.clone()));
        let fields = text.and_then(|text| Fields::parse(text).ok());
        match record.filter(|_| fields.is_some_and(|fields| fields.object("message").is_some())) {
            Some(record) => self.copy(record, Some(blocks)),
            None => self.fresh(message, fresh, blocks),
        }
    }

    /// Tells whether a run is all that stood in its record.
    fn is_whole(&self, source: &crate::source::Source, record: usize, run: &Run<'_>) -> bool {
        let of_record = source.blocks.iter().filter(|piece| piece.record == record);
        let stood = of_record.map(|piece| self.session.read.text.get(piece.range.clone()));
        source.exact && run.raws.len() == run.blocks.len() && stood.eq(run.raws.iter().map(|raw| Some(*raw)))
    }

    /// Copies a record to its new place, with other blocks if they are given.
    fn copy(&mut self, record: usize, blocks: Option<&[String]>) {
        let range = self.session.records.get(record).cloned();
        let Some(text) = range.and_then(|range| self.session.read.text.get(range)) else { return };
        let Ok(fields) = Fields::parse(text) else { return };
        self.manner.see(&fields);
        let uuid =
            fields.text("uuid").map(|uuid| uuid.into_owned()).filter(|uuid| !self.uuids.contains(uuid));
        let uuid = uuid.unwrap_or_else(|| self.new_uuid());
        let said = fields.text("timestamp").and_then(|text| time::parse(&text));
        let at = self.later(said);
        let mut edits = vec![
            ("parentUuid", Some(self.parent())),
            ("sessionId", Some(quote(&self.session.heading.id))),
            ("uuid", Some(quote(&uuid))),
            ("isSidechain", Some("false".to_owned())),
            ("logicalParentUuid", None),
            ("agentId", None),
            ("forkedFrom", None),
            ("supersedesUuids", None),
        ];
        if said != Some(at) {
            edits.push(("timestamp", Some(quote(&time::print(at)))));
        }
        if let Some(message) = fields.object("message") {
            let id = message.text("id").filter(|_| fields.text("type").as_deref() == Some("assistant"));
            let new_id = id.and_then(|id| self.new_id_of(&id));
            let mut inner = vec![];
            inner.extend(blocks.map(|blocks| ("content", Some(format!("[{}]", blocks.join(","))))));
            inner.extend(new_id.map(|id| ("id", Some(quote(&id)))));
            if !inner.is_empty() {
                edits.push(("message", Some(message.rewrite(&inner))));
            }
        }
        if blocks.is_some() {
            // It tells the client what the result was before.
            edits.push(("toolUseResult", None));
        }
        self.line(&fields.rewrite(&edits), uuid);
    }

    /// Returns another id for the message if an earlier one has its id: lines of one id are one message to readers.
    fn new_id_of(&mut self, id: &str) -> Option<String> {
        if self.id.as_ref().is_none_or(|(was, _)| was != id) {
            let mut now = id.to_owned();
            while !self.ids.insert(now.clone()) {
                now = format!("{id}_{}", self.serial);
                self.serial += 1;
            }
            self.id = Some((id.to_owned(), now));
        }
        self.id.as_ref().map(|(_, now)| now.clone()).filter(|now| now != id)
    }

    /// Writes a record that was not there before.
    fn fresh(&mut self, message: &Message, fresh: &mut Fresh, blocks: &[String]) {
        let uuid = self.new_uuid();
        let heading = self.session.heading;
        let kind = wire_role(message.role);
        let manner = self.manner.clone();
        let at = self.later(self.at.or(manner.at));
        let mut edits = vec![
            ("parentUuid", Some(self.parent())),
            ("isSidechain", Some("false".to_owned())),
            ("userType", Some(quote("external"))),
            ("cwd", Some(manner.cwd.unwrap_or_else(|| quote(&heading.cwd)))),
            ("sessionId", Some(quote(&heading.id))),
            ("version", Some(manner.version.unwrap_or_else(|| quote(VERSION)))),
            ("gitBranch", Some(manner.branch.unwrap_or_else(|| quote("")))),
            ("type", Some(quote(kind))),
            ("message", Some(fresh.message(kind, blocks, self.serial))),
            ("uuid", Some(quote(&uuid))),
            ("timestamp", Some(quote(&time::print(at)))),
        ];
        if message.role == Role::User && message.author == Author::Harness {
            edits.push(("isMeta", Some("true".to_owned())));
        }
        self.line(&object(&edits), uuid);
    }

    fn line(&mut self, line: &str, uuid: String) {
        self.out.push_str(line);
        self.out.push('\n');
        self.uuids.insert(uuid.clone());
        self.last = Some(uuid);
    }

    /// Returns the time of the next record: what it says itself, if that is later than the one before.
    fn later(&mut self, said: Option<Timestamp>) -> Timestamp {
        let after = self.at.map(|at| Timestamp(at.0.saturating_add(1)));
        let at = said.max(after).unwrap_or(self.manner.at.unwrap_or(self.session.heading.started));
        self.at = Some(at);
        at
    }

    fn parent(&self) -> String {
        self.last.as_deref().map_or_else(|| "null".to_owned(), quote)
    }

    /// Makes an id from the session's own: the same call gives the same file.
    fn new_uuid(&mut self) -> String {
        loop {
            let uuid = derived_uuid(&self.session.heading.id, self.serial);
            self.serial += 1;
            if !self.uuids.contains(&uuid) {
                return uuid;
            }
        }
    }

    fn labels(&mut self) {
        for range in self.session.labels {
            let fields = self.session.read.text.get(range.clone()).map(Fields::parse);
            let Some(Ok(fields)) = fields else { continue };
            let mut edits = vec![];
            if fields.has("sessionId") {
                edits.push(("sessionId", Some(quote(&self.session.heading.id))));
            }
            if fields.has("leafUuid") {
                edits.push(("leafUuid", Some(self.parent())));
            }
            self.out.push_str(&fields.rewrite(&edits));
            self.out.push('\n');
        }
    }
}

fn wire_role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System | Role::User | Role::Tool => "user",
    }
}

/// What every new record of one message says alike.
struct Fresh<'a> {
    of: &'a Message,
    session: &'a str,
    id: Option<String>,
}

impl<'a> Fresh<'a> {
    fn of(of: &'a Message, session: &'a str) -> Self {
        Fresh { of, session, id: None }
    }

    fn message(&mut self, role: &str, blocks: &[String], serial: u64) -> String {
        let content = format!("[{}]", blocks.join(","));
        if role == "user" {
            return format!(r#"{{"role":"user","content":{content}}}"#);
        }
        let new_id = || format!("msg_{}", derived_uuid(self.session, serial).replace('-', ""));
        let id = quote(self.id.get_or_insert_with(new_id));
        // The client's own name for words that no model wrote.
        let model = self.of.origin.as_ref().map_or("<synthetic>", |origin| origin.model.as_str());
        let stop =
            self.of.stop.as_ref().and_then(anthropic::stop_word).map_or_else(|| "null".to_owned(), quote);
        let usage = self.of.usage.unwrap_or_default();
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let usage = object(&[
            ("input_tokens", Some(usage.input_tokens.saturating_sub(cached).to_string())),
            ("cache_creation_input_tokens", Some(usage.cache_write_tokens.to_string())),
            ("cache_read_input_tokens", Some(usage.cache_read_tokens.to_string())),
            ("output_tokens", Some(usage.output_tokens.to_string())),
        ]);
        object(&[
            ("id", Some(id)),
            ("type", Some(quote("message"))),
            ("role", Some(quote("assistant"))),
            ("model", Some(quote(model))),
            ("content", Some(content)),
            ("stop_reason", Some(stop)),
            ("stop_sequence", Some("null".to_owned())),
            ("usage", Some(usage)),
        ])
    }
}

/// Returns a UUID of version 8, which is for ids that are made from something (RFC 9562, read 2026-11).
fn derived_uuid(session: &str, serial: u64) -> String {
    // FNV-1a, twice from different beginnings: it need not resist anybody, only differ.
    let hash = |seed: u64| {
        let bytes = session.bytes().chain(serial.to_le_bytes());
        bytes.fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x6c62_272e_07bb_0142));
    let high = (high & 0xffff_ffff_ffff_0fff) | 0x8000;
    let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
