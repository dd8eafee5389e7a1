//! Messages to a new session file that the agent can resume.
//!
//! Records that are still true are copied with the bytes they had; only their place in the chain is rewritten, and an
//! id that is there already. The file is one line of entries of version 3, from the first to the last.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Author, Content, Message, NodeId, Role, ToolResult};

use super::chain::{Chain, Field};
use super::{BRANCH, COMPACTION, UNKNOWN, encode};
use crate::conversation::Loss;
use crate::json::{Fields, Value, object, quote};
use crate::source::{Losses, Session};
use crate::time;

/// The version of the header.
const VERSION: &str = "3";

/// The tools that the client has unless it is told otherwise.
///
/// It takes the first instructions in a file for the whole list of them, so that it would have none; what they are in
/// detail it declares itself once more (1.5.2, tried 2026-11).
const TOOLS: &str = concat!(
    r#"[{"name":"read","description":"","parameters":{}},"#,
    r#"{"name":"bash","description":"","parameters":{}},"#,
    r#"{"name":"edit","description":"","parameters":{}},"#,
    r#"{"name":"write","description":"","parameters":{}}]"#,
);

/// What new records say of their kind that only tell the model something.
const CUSTOM: &str = "trunkline";

/// Writes a session file.
pub(crate) fn write(session: &Session<'_>, messages: &[Message], losses: &mut Vec<Loss>) -> String {
    let results = messages.iter().flat_map(Message::results);
    let mut writer = Writer {
        session,
        chain: Chain::new(session.heading),
        nodes: HashSet::new(),
        names: HashMap::new(),
        tools: Some(TOOLS),
        answered: results.map(|result| result.call_id.as_str()).collect(),
    };
    writer.head();
    let mut index = 0;
    while let Some(message) = messages.get(index) {
        let mut losses = Losses { list: losses, message: index, node: message.node };
        index += match writer.checkpoint(message, messages.get(index + 1)) {
            true => 2,
            false => {
                writer.message(message, &mut losses);
                1
            }
        };
    }
    writer.title();
    writer.chain.finish()
}

/// What is being written.
struct Writer<'a> {
    session: &'a Session<'a>,
    chain: Chain<'a>,
    /// The nodes of the messages that were written.
    nodes: HashSet<usize>,
    /// The tool of each call.
    names: HashMap<&'a str, &'a str>,
    /// The tools that the first instructions have to declare, if they do not; none once there were some.
    tools: Option<&'a str>,
    /// The calls that are answered.
    answered: HashSet<&'a str>,
}

/// What a message is written as.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Shape {
    System,
    User,
    /// What the client says in the name of a person.
    Custom,
    Assistant,
}

impl Shape {
    fn of(message: &Message) -> Self {
        match (message.role, message.author) {
            (Role::System, _) => Shape::System,
            (Role::Assistant, _) => Shape::Assistant,
            (Role::User, Author::Person) => Shape::User,
            (Role::User | Role::Tool, _) => Shape::Custom,
        }
    }

    /// Tells whether a record says what a message of this shape says.
    fn is(self, fields: &Fields<'_>) -> bool {
        let role =
            fields.object("message").and_then(|message| message.text("role").map(|role| role.into_owned()));
        match (fields.text("type").as_deref(), role.as_deref()) {
            (Some("message"), Some("system")) => self == Shape::System,
            (Some("message"), Some("assistant")) => self == Shape::Assistant,
            (Some("message"), Some("user")) => matches!(self, Shape::User | Shape::Custom),
            (Some("message"), Some("developer" | "custom" | "hookMessage")) | (Some("custom_message"), _) => {
                self == Shape::Custom
            }
            _ => false,
        }
    }
}

impl<'a> Writer<'a> {
    /// Writes the header, and what stands before it.
    fn head(&mut self) {
        let heading = self.session.heading;
        let mut header = None;
        for label in self.session.label_texts() {
            let Ok(fields) = Fields::parse(label) else { continue };
            match fields.text("type").as_deref() {
                Some("session") => header = header.or(Some(fields)),
                // The client knows it by its length.
                Some("title") if self.chain.is_blank() => self.chain.put(label),
                _ => {}
            }
        }
        let (id, version) = (Some(quote(&heading.id)), Some(VERSION.to_owned()));
        let header = match header {
            Some(fields) => {
                let has_time = fields.text("timestamp").is_some();
                let mut edits = vec![("version", version), ("id", id)];
                if !has_time {
                    edits.push(("timestamp", Some(quote(&time::print(heading.started)))));
                }
                if fields.text("cwd").is_none() {
                    edits.push(("cwd", Some(quote(&heading.cwd))));
                }
                // It may have been changed further down in the old file.
                if fields.text("title").is_some() && !heading.title.is_empty() {
                    edits.push(("title", Some(quote(&heading.title))));
                }
                fields.rewrite(&edits)
            }
            None => object(&[
                ("type", Some(quote("session"))),
                ("version", version),
                ("id", id),
                ("timestamp", Some(quote(&time::print(heading.started)))),
                ("cwd", Some(quote(&heading.cwd))),
            ]),
        };
        self.chain.put(&header);
    }

    /// Writes the title, unless the header has it already.
    fn title(&mut self) {
        let labels = || self.session.label_texts().filter_map(|label| Fields::parse(label).ok());
        let named = labels().find(|fields| fields.text("type").as_deref() == Some("session_info"));
        if let Some(fields) = named {
            return self.chain.entry(&fields, Vec::new());
        }
        let title = self.session.heading.title.replace(['\r', '\n'], " ");
        let is_there = labels().any(|fields| fields.text("title").is_some_and(|title| !title.is_empty()));
        if !is_there && !title.trim().is_empty() {
            self.chain.fresh("session_info", &[("name", Some(quote(title.trim())))]);
        }
    }

    /// Copies the record of a compaction that repeats the instructions, if both messages stand here that it became.
    fn checkpoint(&mut self, first: &'a Message, second: Option<&'a Message>) -> bool {
        let read = self.session.read;
        let record =
            |message: &Message| read.untouched(message).and_then(|source| source.records.first().copied());
        let both = second.and_then(|second| Some((record(first)?, record(second)?, second)));
        let Some((one, other, second)) = both else { return false };
        let is_twin = one == other && first.role == Role::System && self.chain.is_empty();
        if !is_twin || first.node == second.node {
            return false;
        }
        self.nodes.extend([first, second].into_iter().filter_map(|message| message.node.map(NodeId::index)));
        let declared = self
            .fields(one)
            .and_then(|fields| fields.object("systemMessage")?.get("toolsAdded").map(Value::get));
        self.tools = declared.or(self.tools);
        self.copy(one, first)
    }

    /// Writes one message.
    fn message(&mut self, message: &'a Message, losses: &mut Losses<'_>) {
        self.names.extend(message.calls().map(|call| (call.id.as_str(), call.name.as_str())));
        // A node may come twice where a message was split; only the first can be the message that was read.
        let first = message.node.is_none_or(|node| self.nodes.insert(node.index()));
        let source = self.session.read.untouched(message).filter(|_| first);
        if let Some(record) = source.and_then(|source| source.records.first())
            && self.is_whole(*record, message)
            && self.copy(*record, message)
        {
            return;
        }
        self.changed(message, first, losses);
    }

    /// Tells whether a record says one message and nothing else that counts in its new place.
    fn is_whole(&self, record: usize, message: &Message) -> bool {
        let Some(fields) = self.fields(record) else { return false };
        // A compaction hides what stands before it, and its instructions are a message of their own.
        let is_compaction = fields.text("type").as_deref() == Some("compaction");
        !is_compaction
            || self.chain.is_empty()
                && message.role != Role::System
                && fields.object("systemMessage").is_none()
    }

    /// Returns the fields of a record of the old file.
    fn fields(&self, record: usize) -> Option<Fields<'a>> {
        self.session.record(record).and_then(|text| Fields::parse(text).ok())
    }

    /// Copies the record of a message to its new place.
    fn copy(&mut self, record: usize, of: &Message) -> bool {
        let Some(fields) = self.fields(record) else { return false };
        let mut edits = Vec::new();
        if let Some(message) = fields.object("message") {
            let inner: Vec<Field> = match message.text("role").as_deref() {
                Some("hookMessage") => vec![("role", Some(quote("custom")))],
                Some("system") => {
                    self.tools_of(of, message.get("toolsAdded").is_some()).into_iter().collect()
                }
                _ => Vec::new(),
            };
            if !inner.is_empty() {
                edits.push(("message", Some(message.rewrite(&inner))));
            }
        }
        self.chain.entry(&fields, edits);
        true
    }

    /// Returns the tools that the first instructions of the file have to declare, unless they began the old one, too.
    fn tools_of(&mut self, message: &Message, are_there: bool) -> Option<Field> {
        let began = message.node.is_some_and(|node| node.index() == 0);
        let tools = self.tools.take().filter(|_| !are_there && !began)?;
        Some(("toolsAdded", Some(tools.to_owned())))
    }

    /// Writes a message that is not what was read.
    fn changed(&mut self, message: &'a Message, first: bool, losses: &mut Losses<'_>) {
        let results = message.results().count();
        let has_others = results < message.content.len() || results == 0;
        // The client wants results behind the calls and before all other words.
        let is_answer = message.role == Role::Assistant;
        if is_answer && has_others {
            self.body(message, first, losses);
        }
        let mut reuse = self.session.read.reuse(message);
        for block in &message.content {
            if let Content::ToolResult(result) = block {
                let raw = reuse.take(block).map(|raw| raw.text).filter(|raw| raw.starts_with('{'));
                let home = Some(message).filter(|_| first && results == 1);
                self.result(result, raw, home, losses);
            }
        }
        if !is_answer && has_others {
            self.body(message, first, losses);
        }
    }

    /// Tells what a message has that no record says, and whether it has anything else.
    fn is_said(message: &Message, losses: &mut Losses<'_>) -> bool {
        let empty = match message.role {
            Role::System if message.text().is_empty() => "empty instructions",
            Role::Tool if message.content.is_empty() => "an empty message of a tool",
            _ => "",
        };
        if !empty.is_empty() {
            losses.note(empty.to_owned());
            return false;
        }
        let kept = match message.role {
            Role::Assistant => Author::Model,
            Role::User if message.author == Author::Person => Author::Person,
            Role::System | Role::User | Role::Tool => Author::Harness,
        };
        if kept != message.author {
            losses.note("who wrote it".to_owned());
        }
        true
    }

    /// Writes a message without its results, into the record that it stood in if there is one.
    fn body(&mut self, message: &'a Message, first: bool, losses: &mut Losses<'_>) {
        if !Self::is_said(message, losses) {
            return;
        }
        let shape = Shape::of(message);
        let read = self.session.read;
        let origin = read.origin(message).filter(|_| first);
        let record = origin.and_then(|(_, source)| source.records.first().copied());
        let old = record.and_then(|record| self.fields(record));
        if let Some(fields) = &old
            && let Some(words) = self.summary(fields, message, losses)
        {
            return self.chain.entry(fields, vec![("summary", Some(words)), ("systemMessage", None)]);
        }
        let blocks = encode::blocks(message, &mut read.reuse(message), losses);
        let content = ("content", Some(format!("[{}]", blocks.join(","))));
        match (old.filter(|fields| shape.is(fields)), shape) {
            (Some(fields), Shape::Assistant) => {
                let was = origin.map(|(was, _)| was);
                self.answer(&fields, was, message, content, losses);
            }
            (Some(fields), _) => {
                let Some(said) = fields.object("message") else {
                    return self.chain.entry(&fields, vec![content]);
                };
                let mut edits = vec![content, ("sections", None)];
                match said.text("role").as_deref() {
                    Some("hookMessage") => edits.push(("role", Some(quote("custom")))),
                    Some("user") if shape == Shape::Custom => {
                        edits.push(("attribution", Some(quote("agent"))))
                    }
                    Some("user") => edits.extend([("attribution", None), ("synthetic", None)]),
                    Some("system") => edits.extend(self.tools_of(message, said.get("toolsAdded").is_some())),
                    _ => {}
                }
                self.chain.entry(&fields, vec![("message", Some(said.rewrite(&edits)))]);
            }
            (None, Shape::Custom) => {
                let fields =
                    [("customType", Some(quote(CUSTOM))), content, ("display", Some("true".to_owned()))];
                self.chain.fresh("custom_message", &fields);
            }
            (None, Shape::Assistant) => {
                let [stop, raw] = self.stop(message, losses);
                let [api, provider, model] = encode::origin(message, losses);
                let usage = encode::usage(&message.usage.unwrap_or_default());
                let role = ("role", Some(quote("assistant")));
                let usage = ("usage", Some(usage));
                self.said(vec![role, content, api, provider, model, usage, stop, raw]);
            }
            (None, Shape::System) => {
                let mut fields = vec![("role", Some(quote("system"))), content];
                fields.extend(self.tools_of(message, false));
                self.said(fields);
            }
            (None, Shape::User) => self.said(vec![("role", Some(quote("user"))), content]),
        }
    }

    /// Writes an answer into the record that it stood in.
    fn answer(
        &mut self,
        fields: &Fields<'_>,
        was: Option<&Message>,
        message: &Message,
        content: Field,
        losses: &mut Losses<'_>,
    ) {
        let Some(said) = fields.object("message") else { return };
        let mut edits = vec![content];
        if was.is_none_or(|was| was.origin != message.origin) {
            edits.extend(encode::origin(message, losses));
        }
        if was.is_none_or(|was| was.usage != message.usage) {
            edits.push(("usage", Some(encode::usage(&message.usage.unwrap_or_default()))));
        }
        if was.is_none_or(|was| was.stop != message.stop) {
            edits.extend(self.stop(message, losses));
        }
        // What oh-my-pi sends in place of the content would say what was there before.
        edits.push(("providerPayload", None));
        self.chain.entry(fields, vec![("message", Some(said.rewrite(&edits)))]);
    }

    fn stop(&self, message: &Message, losses: &mut Losses<'_>) -> [Field; 2] {
        let is_answered = message.calls().any(|call| self.answered.contains(call.id.as_str()));
        let (word, raw) = encode::stop(message, is_answered, losses);
        [("stopReason", Some(quote(word))), ("rawStopReason", raw.map(quote))]
    }

    /// Returns the words of the summary of a branch or a compaction, as JSON, if the message still is one.
    fn summary(&self, fields: &Fields<'_>, message: &Message, losses: &mut Losses<'_>) -> Option<String> {
        if (message.role, message.author) != (Role::User, Author::Harness) {
            return None;
        }
        let (before, after) = match fields.text("type").as_deref() {
            Some("branch_summary") => BRANCH,
            // It would hide what stands before it.
            Some("compaction") if self.chain.is_empty() => COMPACTION,
            Some("compaction") => {
                losses.note("that it is the summary of a compaction".to_owned());
                return None;
            }
            _ => return None,
        };
        let words = match message.content.as_slice() {
            [Content::Text { text }] => text.strip_prefix(before).and_then(|text| text.strip_suffix(after)),
            _ => None,
        };
        let words = words.filter(|words| !words.is_empty());
        if words.is_none() {
            losses.note("that it is a summary: its words have another form now".to_owned());
        }
        words.map(quote)
    }

    /// Writes a result as a message of its own: as it was read, into the record of the message that it stood in alone,
    /// or into a new one.
    fn result(
        &mut self,
        result: &ToolResult,
        raw: Option<&str>,
        home: Option<&Message>,
        losses: &mut Losses<'_>,
    ) {
        if let Some(raw) = raw {
            return self.chain.fresh("message", &[("message", Some(raw.to_owned()))]);
        }
        let content = ("content", Some(encode::parts(result, losses)));
        let id = ("toolCallId", Some(quote(&result.call_id)));
        let is_error = ("isError", Some(result.is_error.to_string()));
        let origin = home.and_then(|message| self.session.read.origin(message));
        let record = origin.and_then(|(_, source)| source.records.first().copied());
        let old = record.and_then(|record| self.fields(record));
        let said = old.as_ref().and_then(|fields| fields.object("message"));
        if let (Some(fields), Some(said)) = (&old, &said)
            && said.text("role").as_deref() == Some("toolResult")
        {
            // They tell the client what the result was before.
            let edits = [id, content, is_error, ("details", None)];
            return self.chain.entry(fields, vec![("message", Some(said.rewrite(&edits)))]);
        }
        let name = self.names.get(result.call_id.as_str()).copied().unwrap_or(UNKNOWN);
        let role = ("role", Some(quote("toolResult")));
        self.said(vec![role, id, ("toolName", Some(quote(name))), content, is_error]);
    }

    /// Writes a new message.
    fn said(&mut self, mut fields: Vec<Field>) {
        fields.push(("timestamp", Some(self.chain.next().0.to_string())));
        self.chain.fresh("message", &[("message", Some(object(&fields)))]);
    }
}
