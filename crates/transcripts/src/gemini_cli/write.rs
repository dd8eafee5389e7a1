//! Messages to a new session file that the client can resume.
//!
//! Records that are still true are copied. New ones hold all that was said as parts in their content, which the client
//! takes for the whole message if it has thoughts or calls in it, and the results in `toolCalls` (0.61.0, run 2026-11).

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Author, Content, Message, Role, StopReason, Timestamp, ToolCall, ToolResult};

use super::read::written_at;
use super::words::{self, one_line};
use super::{WIRE, header, part};
use crate::conversation::Loss;
use crate::json::{Fields, Value, object, quote};
use crate::source::{Losses, Session};
use crate::time;

/// Writes a session file.
pub(crate) fn write(session: &Session<'_>, messages: &[Message], losses: &mut Vec<Loss>) -> String {
    let mut writer = Writer {
        session,
        out: String::new(),
        serial: 0,
        ids: HashSet::new(),
        nodes: HashSet::new(),
        at: None,
        calls: HashMap::new(),
        open: HashSet::new(),
        is_foreign: false,
    };
    let mut index = 0;
    while let Some(rest) = messages.get(index..).filter(|rest| !rest.is_empty()) {
        index += writer.next(rest, index, losses).max(1);
    }
    let labels: Vec<&str> = session.label_texts().collect();
    header::header(session.heading, &labels, writer.at) + &writer.out
}

/// A result, and the message that brings it.
#[derive(Copy, Clone)]
struct Answer<'m> {
    message: &'m Message,
    block: &'m Content,
    result: &'m ToolResult,
    /// How many results stand before it.
    place: usize,
}

struct Writer<'a> {
    session: &'a Session<'a>,
    out: String,
    serial: u64,
    /// The ids of the records that were written.
    ids: HashSet<String>,
    /// The nodes that were written: one may come twice where a message was split.
    nodes: HashSet<usize>,
    /// The time of the latest record.
    at: Option<Timestamp>,
    /// The names of the calls that were written.
    calls: HashMap<String, String>,
    /// The calls right above that have no result yet.
    open: HashSet<String>,
    /// Whether it was said that a model of another wire spoke.
    is_foreign: bool,
}

impl<'a> Writer<'a> {
    /// Writes what comes next and returns how many messages that were.
    fn next(&mut self, rest: &[Message], index: usize, list: &mut Vec<Loss>) -> usize {
        let Some(message) = rest.first() else { return 0 };
        let mut losses = Losses { list, message: index, node: message.node };
        if message.role == Role::System {
            losses.note("instructions: the client writes its own into every request".to_owned());
            return 1;
        }
        if let Some((record, count)) = self.unchanged(rest) {
            let said = rest.get(..count).unwrap_or_default();
            if said.iter().any(|message| message.role != Role::Tool) {
                self.open.clear();
            }
            for message in said {
                self.nodes.extend(message.node.map(|node| node.index()));
                self.note_calls(message);
                for result in message.results() {
                    self.open.remove(&result.call_id);
                }
            }
            self.copy(record);
            return count;
        }
        self.nodes.extend(message.node.map(|node| node.index()));
        match message.role {
            Role::Assistant => self.of_model(rest, &mut losses),
            Role::System | Role::User | Role::Tool => {
                self.of_user(message, &message.results().map(|_| true).collect::<Vec<_>>(), &mut losses);
                1
            }
        }
    }

    /// Returns the record that the next messages are, and how many, if they are all that it says.
    fn unchanged(&self, rest: &[Message]) -> Option<(usize, usize)> {
        let read = self.session.read;
        let first = rest.first()?;
        let record = *read.untouched(first)?.records.first()?;
        let node = first.node?.index();
        let of_record =
            |at: usize| read.sources.get(at).is_some_and(|of| of.records.first() == Some(&record));
        if node.checked_sub(1).is_some_and(of_record) {
            return None;
        }
        let count = (node..read.sources.len()).take_while(|at| of_record(*at)).count();
        let is_next = |(at, message): (usize, &Message)| {
            let is_it = message.node.is_some_and(|held| held.index() == node + at);
            is_it && !self.nodes.contains(&(node + at)) && read.untouched(message).is_some()
        };
        let said = rest.get(..count)?;
        said.iter().enumerate().all(is_next).then_some((record, count))
    }

    /// Copies a record, with another id if it has none or one that was given out.
    fn copy(&mut self, record: usize) {
        let Some(text) = self.session.record(record) else { return };
        let Ok(fields) = Fields::parse(text) else { return };
        self.at = self.at.max(written_at(&fields));
        let id = fields.text("id").map(|id| id.into_owned()).filter(|id| !self.ids.contains(id));
        let line = match id {
            Some(id) => {
                self.ids.insert(id);
                one_line(text).into_owned()
            }
            None => one_line(&fields.rewrite(&[("id", Some(quote(&self.new_id())))])).into_owned(),
        };
        self.line(&line);
    }

    /// Writes a message of the model and the results behind it; returns how many messages that were.
    fn of_model(&mut self, rest: &[Message], losses: &mut Losses<'_>) -> usize {
        let Some((message, behind)) = rest.split_first() else { return 0 };
        let mut open: HashSet<&str> = message.calls().map(|call| call.id.as_str()).collect();
        let mut answers: HashMap<&str, Answer<'_>> = HashMap::new();
        let mut count = 0;
        let mut words = None;
        for next in behind.iter().take_while(|next| next.role != Role::Assistant && next.role != Role::System)
        {
            let results = next.results().count();
            if results == 0 || !next.results().all(|result| open.contains(result.call_id.as_str())) {
                break;
            }
            for block in &next.content {
                if let Some(result) = block.as_result().filter(|result| open.remove(result.call_id.as_str()))
                {
                    let place = answers.len();
                    answers.insert(&result.call_id, Answer { message: next, block, result, place });
                }
            }
            count += 1;
            // Words beside results are what is said next.
            if results < next.content.len() {
                words = Some(next);
                break;
            }
        }
        self.model_record(message, &answers, losses);
        for next in behind.get(..count).unwrap_or_default() {
            self.nodes.extend(next.node.map(|node| node.index()));
        }
        if let Some(next) = words {
            let mut losses = Losses { list: losses.list, message: losses.message + count, node: next.node };
            let taken: Vec<bool> = next.results().map(|_| false).collect();
            self.of_user(next, &taken, &mut losses);
        }
        count + 1
    }

    fn model_record(
        &mut self,
        message: &Message,
        answers: &HashMap<&str, Answer<'_>>,
        losses: &mut Losses<'_>,
    ) {
        let wire = message.origin.as_ref().map(|origin| origin.provider.as_str());
        let is_foreign = wire.is_some_and(|wire| wire != WIRE);
        if is_foreign && !std::mem::replace(&mut self.is_foreign, true) {
            losses.note(format!("that its model speaks {}", wire.unwrap_or_default()));
        }
        let mut reuse = self.session.read.reuse(message);
        for _ in message.results() {
            losses.note("a result in a message of the model".to_owned());
        }
        let blocks = message.content.iter().map(|block| (block, reuse.take(block).map(|raw| raw.text)));
        let parts = part::write(blocks, is_foreign, losses);
        self.open.clear();
        if parts.is_empty() {
            losses.note("an empty message".to_owned());
            return;
        }
        self.note_calls(message);
        for call in answers.keys() {
            self.open.remove(*call);
        }
        self.note_ends(message, losses);
        let text = self.base(message);
        let base = text.and_then(|text| Fields::parse(text).ok());
        let at = self.later(base.as_ref());
        let calls: Vec<String> = {
            let items = base.as_ref().and_then(|base| base.items("toolCalls"));
            let items = items.as_deref().unwrap_or_default();
            let mut held = HashMap::new();
            for fields in items.iter().filter_map(Value::fields) {
                if let Some(id) = fields.text("id") {
                    held.insert(id.into_owned(), fields.into_owned());
                }
            }
            let item = |call: &ToolCall| {
                let answer = answers.get(call.id.as_str());
                self.call_record(call, answer, held.get(&call.id), at, losses)
            };
            // Results stand in the order in which they came.
            let place = |call: &&ToolCall| answers.get(call.id.as_str()).map_or(usize::MAX, |of| of.place);
            let mut calls: Vec<&ToolCall> = message.calls().collect();
            calls.sort_by_key(place);
            calls.into_iter().map(item).collect()
        };
        let (usage, model) = (message.usage, message.origin.as_ref().map(|origin| origin.model.as_str()));
        // What was taken over from another record does not stand in this one.
        let read = self.session.read.origin(message).filter(|(_, source)| source.exact && base.is_some());
        let read = read.map(|(read, _)| read);
        let mut edits = vec![
            ("id", Some(quote(&self.id_for(base.as_ref())))),
            ("timestamp", Some(quote(&time::print(at)))),
            ("type", Some(quote("gemini"))),
            ("content", Some(format!("[{}]", parts.join(",")))),
            ("thoughts", Some("[]".to_owned())),
        ];
        if read.is_none_or(|read| read.usage != usage) {
            edits.push(("tokens", usage.map(|usage| tokens(&usage))));
        }
        if read.is_none_or(|read| read.origin != message.origin) {
            edits.push(("model", model.map(quote)));
        }
        edits.push(("toolCalls", (!calls.is_empty()).then(|| format!("[{}]", calls.join(",")))));
        self.put(base.as_ref(), &edits);
    }

    /// Says what there is no place for around the words of a model.
    fn note_ends(&self, message: &Message, losses: &mut Losses<'_>) {
        match &message.stop {
            None | Some(StopReason::EndTurn | StopReason::ToolUse) => {}
            Some(_) => losses.note("why the model stopped".to_owned()),
        }
        if message.usage.is_some_and(|usage| usage.cache_write_tokens > 0) {
            losses.note("how many tokens were written to the cache".to_owned());
        }
        if words::author(Role::Assistant, &message.content) != message.author {
            losses.note("who wrote it: the client takes it for the model's".to_owned());
        }
    }

    /// Writes a call with its result, as its client shows them.
    fn call_record(
        &self,
        call: &ToolCall,
        answer: Option<&Answer<'_>>,
        held: Option<&Fields<'_>>,
        at: Timestamp,
        losses: &mut Losses<'_>,
    ) -> String {
        let raw = answer.and_then(|answer| {
            let raw = self.session.read.reuse(answer.message).take(answer.block)?;
            let text = one_line(raw.text);
            Some(if text.starts_with('{') { format!("[{text}]") } else { text.into_owned() })
        });
        let result = answer.map(|answer| {
            raw.unwrap_or_else(|| {
                format!("[{}]", part::result_parts(answer.result, &call.name, losses).join(","))
            })
        });
        let status = match answer {
            None => "cancelled",
            Some(answer) if answer.result.is_error => "error",
            Some(_) => "success",
        };
        let has_same = held.and_then(|held| held.text("status")).is_some_and(|was| match answer {
            None => true,
            Some(answer) => matches!(was.as_ref(), "error" | "cancelled") == answer.result.is_error,
        });
        let args = one_line(call.arguments.trim());
        let args = if Fields::parse(&args).is_ok() { args.into_owned() } else { "{}".to_owned() };
        let mut edits = vec![
            ("id", Some(quote(&call.id))),
            ("name", Some(quote(&call.name))),
            ("args", Some(args)),
            ("result", result.clone()),
        ];
        if !has_same {
            edits.push(("status", Some(quote(status))));
        }
        if held.is_none_or(|held| !held.has("timestamp")) {
            edits.push(("timestamp", Some(quote(&time::print(at)))));
        }
        match held {
            Some(held) => {
                // It shows what the result was before.
                let same = held.get("result").map(|was| one_line(was.get()).into_owned()) == result;
                if !same {
                    edits.push(("resultDisplay", None));
                }
                one_line(&held.rewrite(&edits)).into_owned()
            }
            None => object(&edits),
        }
    }

    /// Writes results, and then what else a message of the user holds. `wanted` tells which results are to be written.
    fn of_user(&mut self, message: &Message, wanted: &[bool], losses: &mut Losses<'_>) {
        let mut wanted = wanted.iter();
        let mut results = Vec::new();
        let mut reuse = self.session.read.reuse(message);
        let mut own = Vec::new();
        for block in &message.content {
            let raw = reuse.take(block).map(|raw| raw.text);
            match block {
                Content::ToolResult(result) if wanted.next() == Some(&true) => {
                    results.extend(self.lone_result(result, raw, losses));
                }
                Content::ToolResult(_) => {}
                block => own.push((block, raw)),
            }
        }
        let had_results = message.results().next().is_some();
        if !results.is_empty() {
            let at = self.later(None);
            let id = self.new_id();
            self.user_record(None, id, at, &results);
        }
        if own.is_empty() && had_results {
            return;
        }
        self.open.clear();
        let is_whole = own.len() == message.content.len();
        let parts = part::write(own, false, losses);
        if parts.is_empty() {
            losses.note("an empty message".to_owned());
            return;
        }
        let text = self.base(message).filter(|_| is_whole);
        let base = text.and_then(|text| Fields::parse(text).ok());
        let base = base.filter(|base| base.text("type").as_deref() == Some("user"));
        let (at, id) = (self.later(base.as_ref()), self.id_for(base.as_ref()));
        self.user_record(base.as_ref(), id, at, &parts);
        self.note_author(message, losses);
    }

    /// Says what becomes of words that the client tells by their beginning.
    fn note_author(&self, message: &Message, losses: &mut Losses<'_>) {
        let said: Vec<Content> =
            message.content.iter().filter(|block| block.as_result().is_none()).cloned().collect();
        let author = words::author(Role::User, &said);
        if author != message.author {
            let taken = if author == Author::Person { "a person's" } else { "its own" };
            losses.note(format!("who wrote it: the client takes it for {taken}"));
        }
        if words::is_passed_over(&Message::new(Role::User, author, said)) {
            losses.note("a message that the client leaves out when it goes on, by how it begins".to_owned());
        }
    }

    fn user_record(&mut self, base: Option<&Fields<'_>>, id: String, at: Timestamp, parts: &[String]) {
        let edits = [
            ("id", Some(quote(&id))),
            ("timestamp", Some(quote(&time::print(at)))),
            ("type", Some(quote("user"))),
            ("content", Some(format!("[{}]", parts.join(",")))),
            // It shows what was said before.
            ("displayContent", None),
        ];
        self.put(base, &edits);
    }

    /// Writes the parts of a result that does not stand with its call.
    fn lone_result(
        &mut self,
        result: &ToolResult,
        raw: Option<&str>,
        losses: &mut Losses<'_>,
    ) -> Vec<String> {
        let name = self.calls.get(&result.call_id).cloned();
        if name.is_some() && !self.open.remove(&result.call_id) {
            losses.note(format!(
                "the place of the result of call {:?}, which stands with its call",
                result.call_id
            ));
        }
        match raw.map(one_line) {
            Some(raw) if names_call(&raw, &result.call_id) => vec![raw.into_owned()],
            // The service wants some name.
            _ => part::result_parts(result, name.as_deref().unwrap_or("unknown"), losses),
        }
    }

    fn note_calls(&mut self, message: &Message) {
        for call in message.calls() {
            self.calls.insert(call.id.clone(), call.name.clone());
            self.open.insert(call.id.clone());
        }
    }

    /// Returns the record of a message that was changed.
    fn base(&self, message: &Message) -> Option<&'a str> {
        let (read, source) = self.session.read.origin(message)?;
        let record = source.records.first().filter(|_| read.role == message.role)?;
        self.session.record(*record)
    }

    fn put(&mut self, base: Option<&Fields<'_>>, edits: &[(&str, Option<String>)]) {
        let line = match base {
            Some(base) => one_line(&base.rewrite(edits)).into_owned(),
            None => object(edits),
        };
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Returns the time of the next record: what it says itself, or the next after the one before.
    fn later(&mut self, base: Option<&Fields<'_>>) -> Timestamp {
        let after = self.at.map(|at| Timestamp(at.0.saturating_add(1)));
        let at = base.and_then(written_at).or(after).unwrap_or(self.session.heading.started);
        self.at = self.at.max(Some(at));
        at
    }

    fn id_for(&mut self, base: Option<&Fields<'_>>) -> String {
        let held = base.and_then(|base| base.text("id")).map(|id| id.into_owned());
        match held.filter(|id| self.ids.insert(id.clone())) {
            Some(id) => id,
            None => self.new_id(),
        }
    }

    /// Makes an id from the session's own: the same call gives the same file.
    fn new_id(&mut self) -> String {
        loop {
            let id = format!("{}-{}", self.session.heading.id, self.serial);
            self.serial += 1;
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Tells whether a part is the result of a call by its id: some have none.
fn names_call(part: &str, call: &str) -> bool {
    let fields = Fields::parse(part).ok();
    let response = fields.as_ref().and_then(|fields| fields.object("functionResponse"));
    response.is_some_and(|response| response.text("id").as_deref() == Some(call))
}

/// Writes what a request cost.
fn tokens(usage: &trunkline_message_tree::Usage) -> String {
    let number = |count: u64| Some(count.to_string());
    object(&[
        ("input", number(usage.input_tokens)),
        ("output", number(usage.output_tokens.saturating_sub(usage.reasoning_tokens))),
        ("cached", number(usage.cache_read_tokens)),
        ("thoughts", number(usage.reasoning_tokens)),
        ("tool", number(0)),
        ("total", number(usage.input_tokens.saturating_add(usage.output_tokens))),
    ])
}
