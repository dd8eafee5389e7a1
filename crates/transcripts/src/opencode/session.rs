//! A session, its messages and their parts to the entries of a log.
//!
//! Where they were kept makes no difference here: the objects are the same in an export, in the folders of older
//! versions and in the database. They are taken in the order that they are given in; the client sorts messages by
//! their time and parts by their id.
//!
//! What is sent next follows the client: an answer that ended in an error is passed over, but not one that was cut
//! off; a compaction puts its question, the summary and what it kept in place of what was before; what was undone is
//! gone. The first and the last are read as branches.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Author, Content, Message, Origin, Role, Timestamp};

use super::part::{STATE, Said, known_fields, said};
use super::step::{Piecemeal, Step, parts_again, steps};
use super::word::{error_stop, is_sent, origin, stop, told_usage};
use crate::fault::{Fault, FaultKind};
use crate::json::{Fields, range_in};
use crate::log::{Entry, Log, News, Part};
use crate::source::{Piece, Source};

/// A session as it is kept: the bytes of its objects, which are pieces of one text.
#[derive(Debug, Default)]
pub(super) struct Stored<'a> {
    /// What is said of the session.
    pub(super) session: Option<&'a str>,
    /// The names of the fields beside the session and its messages.
    pub(super) beside: Vec<String>,
    /// The messages, in order.
    pub(super) messages: Vec<StoredMessage<'a>>,
}

/// A message as it is kept.
#[derive(Debug, PartialEq)]
pub(super) struct StoredMessage<'a> {
    /// What is said of the message.
    pub(super) info: &'a str,
    /// What it is made of, in order.
    pub(super) parts: Vec<&'a str>,
}

const SESSION: [&str; 21] = [
    "id",
    "slug",
    "projectID",
    "workspaceID",
    "directory",
    "path",
    "parentID",
    "summary",
    "cost",
    "tokens",
    "share",
    "title",
    "agent",
    "model",
    "version",
    "metadata",
    "time",
    "permission",
    "revert",
    "project",
    "subpath",
];

const USER: [&str; 11] =
    ["id", "sessionID", "role", "time", "format", "summary", "agent", "model", "system", "tools", "variant"];

const ASSISTANT: [&str; 19] = [
    "id",
    "sessionID",
    "role",
    "time",
    "error",
    "parentID",
    "modelID",
    "providerID",
    "mode",
    "agent",
    "path",
    "summary",
    "cost",
    "tokens",
    "structured",
    "variant",
    "finish",
    "system",
    "model",
];

/// Makes the log of a session.
pub(super) fn log_of<'a>(text: &'a str, stored: &Stored<'a>, faults: &mut Vec<Fault>) -> Log {
    let mut reader = Reader {
        text,
        log: Log::default(),
        news: News::default(),
        faults,
        counted: (0, 1),
        way: Vec::new(),
        undone: false,
        revert: None,
        again: None,
        summed: summed(stored),
        asked: HashSet::new(),
        seen: HashMap::new(),
        before: HashMap::new(),
    };
    reader.log.keeps_summaries = true;
    let beside = stored.beside.iter().map(String::as_str);
    reader.news.fields(1, "export", beside, &["info", "messages"]);
    if let Some(session) = stored.session {
        reader.session(session);
    }
    for message in &stored.messages {
        reader.message(message);
    }
    let Reader { mut log, news, faults, way, undone, .. } = reader;
    if !undone {
        log.head = way.last().copied();
    }
    news.report(faults);
    log
}

/// Returns the prompts that a summary answers: one that is whole.
fn summed(stored: &Stored<'_>) -> HashSet<String> {
    let summary = |message: &StoredMessage<'_>| {
        let info = Fields::parse(message.info).ok().filter(|info| info.flag("summary"))?;
        let is_whole =
            info.text("finish").is_some_and(|word| !word.is_empty()) && info.get("error").is_none();
        Some(info.text("parentID").filter(|_| is_whole)?.into_owned())
    };
    stored.messages.iter().filter_map(summary).collect()
}

/// A time in milliseconds, which some versions wrote with a fraction.
pub(super) fn millis(fields: &Fields<'_>, name: &str) -> Option<Timestamp> {
    let raw = fields.get(name)?.get();
    let whole = raw.split_once('.').map_or(raw, |(whole, _)| whole);
    whole.parse().ok().map(Timestamp)
}

struct Reader<'s, 'a, 'f> {
    text: &'a str,
    log: Log,
    news: News,
    faults: &'f mut Vec<Fault>,
    /// A place in the text, and the line that it stands on.
    counted: (usize, usize),
    /// The entries up to here; the next one continues the last of them.
    way: Vec<usize>,
    /// Whether the rest was undone.
    undone: bool,
    /// The message from which on everything was undone, or the part of it.
    revert: Option<(String, Option<String>)>,
    /// The prompt that is sent once more behind a compaction which it made too large itself.
    again: Option<usize>,
    /// The prompts that a summary answers.
    summed: HashSet<String>,
    /// The prompts above that ask for a summary.
    asked: HashSet<String>,
    /// The messages above, by id.
    seen: HashMap<String, &'s StoredMessage<'a>>,
    /// How many entries there were before each message above.
    before: HashMap<String, usize>,
}

/// What is said of a message, for its entries.
struct Turn<'i> {
    id: &'i str,
    of_user: bool,
    origin: Option<Origin>,
    record: usize,
    at: Option<Timestamp>,
    part: Part,
}

impl<'s, 'a> Reader<'s, 'a, '_> {
    /// Returns the line of a piece of the text.
    fn line(&mut self, raw: &str) -> usize {
        let at = range_in(self.text, raw).start;
        if at < self.counted.0 {
            self.counted = (0, 1);
        }
        let between = self.text.as_bytes().get(self.counted.0..at).unwrap_or_default();
        self.counted = (at, self.counted.1 + memchr::memchr_iter(b'\n', between).count());
        self.counted.1
    }

    fn fault(&mut self, line: usize, kind: FaultKind) {
        self.faults.push(Fault { line, kind });
    }

    fn session(&mut self, raw: &'a str) {
        let Ok(fields) = Fields::parse(raw) else { return };
        let line = self.line(raw);
        self.news.fields(line, "session", fields.names(), &SESSION);
        let record = self.log.record(range_in(self.text, raw));
        self.log.labels.push(record);
        let owned = |name: &str| fields.text(name).map(|text| text.into_owned());
        self.log.id = owned("id").unwrap_or_default();
        self.log.title = owned("title").filter(|title| !title.is_empty() && !is_default_title(title));
        self.log.cwd = owned("directory");
        self.log.parent = owned("parentID");
        self.log.started = fields.object("time").and_then(|time| millis(&time, "created"));
        self.revert = fields.object("revert").and_then(|revert| {
            let part = revert.text("partID").map(|part| part.into_owned());
            Some((revert.text("messageID")?.into_owned(), part))
        });
    }

    fn message(&mut self, stored: &'s StoredMessage<'a>) {
        let line = self.line(stored.info);
        let fields = Fields::parse(stored.info);
        let role = fields.as_ref().ok().and_then(|info| info.text("role"));
        let (Ok(info), Some(of_user)) = (&fields, role.as_deref().and_then(is_user)) else {
            let reason = "its role is neither user nor assistant".to_owned();
            return self.fault(line, FaultKind::NotAMessage { reason });
        };
        let id = info.text("id").unwrap_or_default();
        match self.seen.get(id.as_ref()) {
            Some(other) if *other == stored => {
                return self.fault(line, FaultKind::RepeatedRecord { id: id.into_owned() });
            }
            Some(_) => self.fault(line, FaultKind::RepeatedId { id: id.clone().into_owned() }),
            None => {}
        }
        let (kind, known) = if of_user { ("user", &USER[..]) } else { ("assistant", &ASSISTANT[..]) };
        self.news.fields(line, kind, info.names(), known);
        let record = self.log.record(range_in(self.text, stored.info));
        let parts = self.parts(&stored.parts, of_user);
        let parent = info.text("parentID").filter(|_| !of_user);
        if let Some(parent) =
            parent.filter(|parent| *parent != id && !self.seen.contains_key(parent.as_ref()))
        {
            self.fault(line, FaultKind::MissingParent { id: parent.into_owned() });
        }
        self.seen.insert(id.clone().into_owned(), stored);
        let entries = self.log.entries.len();
        let at = info.object("time").and_then(|time| millis(&time, "created"));
        let part = self.part(info, &id, of_user, &stored.parts);
        self.before.insert(id.clone().into_owned(), entries);
        let origin = origin(info).filter(|_| !of_user);
        let turn = Turn { id: &id, of_user, origin, record, at, part };
        self.place(&turn, info, parts);
    }

    /// Reads the parts of a message.
    fn parts(&mut self, raws: &[&'a str], of_user: bool) -> Vec<Piecemeal<'a>> {
        let mut parts = Vec::with_capacity(raws.len());
        for raw in raws {
            let line = self.line(raw);
            let fields = Fields::parse(raw);
            let kind = fields.as_ref().ok().and_then(|part| part.text("type"));
            let (Ok(fields), Some(kind)) = (&fields, kind) else {
                let reason = "a part without a type".to_owned();
                self.fault(line, FaultKind::NotAMessage { reason });
                continue;
            };
            let record = self.log.record(range_in(self.text, raw));
            let Some(known) = known_fields(&kind) else {
                self.news.record(line, &kind);
                continue;
            };
            self.news.fields(line, &kind, fields.names(), &known);
            let state = fields.object("state").filter(|_| kind == "tool");
            if let Some(state) = &state {
                self.news.fields(line, "tool state", state.names(), &STATE);
            }
            let time = fields.object("time").or_else(|| state.as_ref()?.object("time"));
            match said(of_user, &kind, fields) {
                Ok(said) => parts.push(Piecemeal {
                    id: fields.text("id").unwrap_or_default().into_owned(),
                    kind: kind.into_owned(),
                    record,
                    raw,
                    at: time.and_then(|time| millis(&time, "start")),
                    said,
                }),
                Err(reason) => self.fault(line, FaultKind::NotAMessage { reason }),
            }
        }
        parts
    }

    /// Tells what a message is in the session.
    fn part(&mut self, info: &Fields<'_>, id: &str, of_user: bool, parts: &[&'a str]) -> Part {
        if of_user {
            let mut asking =
                parts.iter().filter(|raw| raw.contains("compaction")).flat_map(|raw| Fields::parse(raw));
            let Some(part) = asking.find(|part| part.text("type").as_deref() == Some("compaction")) else {
                return Part::Said;
            };
            self.asked.insert(id.to_owned());
            // Where the beginning of what it kept is not found, the client sends everything.
            let kept = match part.text("tail_start_id") {
                Some(tail) if tail != id => self.before.get(tail.as_ref()).map(|before| {
                    let place = self.way.partition_point(|entry| entry < before);
                    self.way.get(place).copied()
                }),
                _ => Some(None),
            };
            return match kept.filter(|_| self.summed.contains(id)) {
                Some(kept) => {
                    let of_user = |entry: &&usize| {
                        self.log.entries.get(**entry).is_some_and(|entry| entry.message.role == Role::User)
                    };
                    let prompt = self.way.iter().rev().find(of_user).copied();
                    self.again = prompt.filter(|_| part.flag("overflow"));
                    Part::Compaction { kept }
                }
                None => Part::Said,
            };
        }
        if !info.flag("summary") {
            return Part::Said;
        }
        match info.text("parentID") {
            Some(parent) if self.asked.contains(parent.as_ref()) => match self.before_this() {
                Some(Part::Compaction { .. }) => Part::MoreOfCompaction,
                _ => Part::Said,
            },
            // Before there was a question, the summary alone stood for what was before it.
            _ if info.get("error").is_none() => Part::Compaction { kept: None },
            _ => Part::Said,
        }
    }

    /// Puts the entries of a message in their place.
    fn place(&mut self, turn: &Turn<'_>, info: &Fields<'_>, parts: Vec<Piecemeal<'a>>) {
        let here = self.revert.take_if(|(message, _)| message == turn.id && !self.undone);
        let cut = here.as_ref().and_then(|(_, part)| part.as_ref());
        let cut = cut.and_then(|id| parts.iter().position(|part| part.id == *id));
        if here.as_ref().is_some_and(|(_, part)| part.is_none()) {
            self.undo();
        }
        let is_sent = turn.of_user || is_sent(info, parts.iter().map(|part| part.kind.as_str()));
        let before = self.way.len();
        match cut {
            Some(cut) => self.cut(turn, info, parts, cut),
            None => self.answer(turn, info, parts, true),
        }
        if !is_sent {
            self.way.truncate(before);
        }
        if here.is_some_and(|(_, part)| part.is_some()) && !self.undone {
            self.undo();
        }
    }

    /// What follows was undone.
    fn undo(&mut self) {
        self.log.head = self.way.last().copied();
        self.undone = true;
    }

    /// Puts a message in its place of which the parts from one on were undone: what is left goes on, the rest was left.
    fn cut(&mut self, turn: &Turn<'_>, info: &Fields<'_>, parts: Vec<Piecemeal<'a>>, cut: usize) {
        let begins = |(place, part): (usize, &Piecemeal<'_>)| {
            (matches!(part.said, Said::StepStart) && !turn.of_user).then_some(place)
        };
        let until = cut.saturating_add(1);
        let start = parts.iter().enumerate().take(until).filter_map(begins).next_back().unwrap_or(0);
        let mut before = parts;
        let rest = before.split_off(start.min(before.len()));
        self.answer(turn, info, before, false);
        let again = self.way.len();
        let kept = rest.get(..cut.saturating_sub(start)).unwrap_or_default();
        self.answer(turn, info, parts_again(kept, turn.of_user), false);
        self.undo();
        self.way.truncate(again);
        self.answer(turn, info, rest, true);
    }

    /// Adds the entries of a message, or of a piece of it; its end says why it ended.
    fn answer(&mut self, turn: &Turn<'_>, info: &Fields<'_>, parts: Vec<Piecemeal<'a>>, is_end: bool) {
        if turn.of_user {
            let mut step = Step::default();
            parts.into_iter().for_each(|part| step.take(self.text, part));
            return self.prompt(turn, step);
        }
        let steps = steps(self.text, parts);
        let count = steps.len();
        for (index, (_, mut step)) in steps.into_iter().enumerate() {
            if is_end && index + 1 == count && step.finish.is_none() {
                let word = || info.text("finish").and_then(|word| stop(&word));
                step.finish = Some(error_stop(info).or_else(word));
                // Only of one request it is known that the message's count is its own.
                let tokens = info.object("tokens").filter(|_| count == 1 && step.usage.is_none());
                step.usage = step.usage.or(tokens.and_then(|tokens| told_usage(&tokens)));
            }
            self.step(turn, step, index == 0);
        }
    }

    fn prompt(&mut self, turn: &Turn<'_>, step: Step) {
        if step.blocks.is_empty() {
            return;
        }
        let author = if step.put_in && !step.typed { Author::Harness } else { Author::Person };
        let mut records = vec![turn.record];
        records.extend(step.records);
        let source = Source { records, blocks: step.pieces, exact: true, older: false };
        self.push(turn, turn.at, Message::new(Role::User, author, step.blocks), source, true);
    }

    /// Adds what one request gave, and what became of its calls.
    fn step(&mut self, turn: &Turn<'_>, step: Step, is_first: bool) {
        if step.blocks.is_empty() {
            return;
        }
        let mut message = Message::new(Role::Assistant, Author::Model, step.blocks);
        message.origin = turn.origin.clone();
        message.stop = step.finish.flatten();
        message.usage = step.usage;
        let mut records = vec![turn.record];
        records.extend(step.records);
        let source = Source { records, blocks: step.pieces, exact: true, older: false };
        let at = if is_first { turn.at } else { step.at.or(turn.at) };
        self.push(turn, at, message, source, is_first);
        for (result, record, began) in step.results {
            let source = Source {
                records: vec![record],
                blocks: vec![Piece { record, range: 0..0 }],
                exact: true,
                older: false,
            };
            let message = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
            self.push(turn, began.or(at), message, source, false);
        }
    }

    fn push(
        &mut self,
        turn: &Turn<'_>,
        at: Option<Timestamp>,
        message: Message,
        source: Source,
        is_first: bool,
    ) {
        // A compaction begins with one entry; what more is said of it stands with that.
        let of_compaction =
            matches!(self.before_this(), Some(Part::Compaction { .. } | Part::MoreOfCompaction));
        let part = match turn.part {
            Part::Compaction { .. } if of_compaction && !is_first => Part::MoreOfCompaction,
            Part::MoreOfCompaction if !of_compaction => Part::Said,
            Part::Said if turn.of_user => self.repeated(&message).unwrap_or_default(),
            part => part,
        };
        let entry = self.log.push(Entry { parent: self.way.last().copied(), at, message, source, part });
        self.way.push(entry);
    }

    /// Tells whether a prompt is sent once more.
    fn repeated(&mut self, message: &Message) -> Option<Part> {
        let of = self.again.take()?;
        let is_same = self.log.entries.get(of).is_some_and(|entry| entry.message.content == message.content);
        is_same.then_some(Part::Copy { of })
    }

    /// Returns what the last entry is.
    fn before_this(&self) -> Option<Part> {
        self.log.entries.get(*self.way.last()?).map(|entry| entry.part)
    }
}

fn is_user(role: &str) -> Option<bool> {
    match role {
        "user" => Some(true),
        "assistant" => Some(false),
        _ => None,
    }
}

/// Tells whether the client gave a title because it needs one; it makes a better one after the first prompt.
fn is_default_title(title: &str) -> bool {
    let rest = title.strip_prefix("New session - ").or_else(|| title.strip_prefix("Child session - "));
    rest.is_some_and(|time| crate::time::parse(time).is_some())
}
