//! One message of a file, with the results that stand in it.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use trunkline_message_tree::{
    Author, Content, Message, Origin, Role, Timestamp, ToolCall, ToolResult, Usage,
};

use super::answers::Answers;
use super::said::Said;
use super::{WIRE, part, words};
use crate::json::{Fields, Value, range_in};
use crate::log::News;
use crate::source::{Piece, Source};
use crate::time;

/// Fields of a message (the client's source of 2026-08, read 2026-11); the last four only where the model speaks.
const FIELDS: [&str; 9] =
    ["id", "timestamp", "type", "content", "displayContent", "toolCalls", "thoughts", "tokens", "model"];
/// How many of them every message can have.
const COMMON: usize = 5;
/// Fields of a call in `toolCalls`.
const CALL_FIELDS: [&str; 11] = [
    "id",
    "name",
    "args",
    "result",
    "status",
    "timestamp",
    "agentId",
    "displayName",
    "description",
    "resultDisplay",
    "renderOutputAsMarkdown",
];

/// What a message says.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Its id, if it has one.
    pub(super) id: Option<String>,
    /// When it was written.
    pub(super) at: Option<Timestamp>,
    /// What is said, apart from results; none where that is nothing.
    pub(super) said: Option<Said>,
    /// Results that stand with their calls.
    pub(super) answers: Answers,
    /// Results in a message of the user.
    pub(super) loose: Vec<Said>,
}

impl Parsed {
    /// Tells which record it was read from.
    pub(super) fn set_record(&mut self, record: usize) {
        let all = self.said.iter_mut().chain(self.answers.iter_mut()).chain(&mut self.loose);
        all.for_each(|said| said.set_record(record));
    }
}

/// What a record is, by its type.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Kind {
    /// Words of the user, or results.
    User,
    /// Words of the model.
    Model,
    /// Words of the client to the person, which the model is not told.
    Notice,
}

impl Kind {
    /// Returns the kind of a record, if it is a message.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Kind::User),
            "gemini" => Some(Kind::Model),
            "info" | "error" | "warning" => Some(Kind::Notice),
            _ => None,
        }
    }
}

/// Where messages are read: the text, and what is new in them.
pub(super) struct Reader<'n, 'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) news: &'n mut News,
}

impl<'a> Reader<'_, 'a> {
    /// Reads a message, or says why it is none.
    pub(super) fn message(&mut self, kind: Kind, fields: &Fields<'a>) -> Result<Parsed, String> {
        let name = fields.text("type").unwrap_or_default();
        let known = FIELDS.get(..if kind == Kind::Model { FIELDS.len() } else { COMMON });
        self.news.fields(self.line, &name, fields.names(), known.unwrap_or_default());
        let mut parsed = Parsed {
            id: fields.text("id").map(|id| id.into_owned()),
            at: fields.text("timestamp").and_then(|text| time::parse(&text)),
            ..Parsed::default()
        };
        let parts = parts(fields, kind)?;
        match kind {
            Kind::Model => self.model(fields, &parts, &mut parsed),
            Kind::User => self.user(&parts, &mut parsed),
            // Files that a tool read are told to the model, and written down as a notice (0.61.0, its source).
            Kind::Notice => {
                let is_file = |part: &Value<'_>| {
                    part.fields().is_some_and(|part| part.has("inlineData") || part.has("fileData"))
                };
                if parts.iter().any(is_file) {
                    self.user(&parts, &mut parsed);
                    if let Some(said) = &mut parsed.said {
                        said.message.author = Author::Harness;
                    }
                }
            }
        }
        Ok(parsed)
    }

    fn range(&self, raw: &str) -> Range<usize> {
        range_in(self.text, raw)
    }

    fn said(&self, role: Role, content: Vec<Content>, ranges: Vec<Range<usize>>) -> Option<Said> {
        if content.is_empty() {
            return None;
        }
        let blocks = ranges.into_iter().map(|range| Piece { record: 0, range }).collect();
        let message = Message::new(role, words::author(role, &content), content);
        let source = Source { records: Vec::new(), blocks, exact: true, older: false };
        Some(Said { message, source, is_loose: false, answered: 0 })
    }

    /// Reads the parts that are no results.
    fn blocks<'p>(&self, parts: impl IntoIterator<Item = &'p Value<'a>>) -> (Vec<Content>, Vec<Range<usize>>)
    where
        'a: 'p,
    {
        let (mut content, mut ranges) = (Vec::new(), Vec::new());
        for value in parts {
            let (blocks, alone) = part::blocks(value);
            let range = if alone { self.range(value.get()) } else { 0..0 };
            ranges.extend(blocks.iter().map(|_| range.clone()));
            content.extend(blocks);
        }
        (content, ranges)
    }

    fn user(&self, parts: &[Value<'a>], parsed: &mut Parsed) {
        let mut own = Vec::new();
        for (index, value) in parts.iter().enumerate() {
            let fields = value.fields();
            let Some(response) = fields.as_ref().and_then(|fields| fields.object("functionResponse")) else {
                own.push(value);
                continue;
            };
            let mut result = part::result(&response);
            if result.call_id.is_empty() {
                let id = parsed.id.as_deref().unwrap_or_default();
                result.call_id = made_up(id, index);
            }
            let answer = self.answer(result, value.get());
            parsed.loose.extend(answer.map(|answer| Said { is_loose: true, ..answer }));
        }
        let (content, ranges) = self.blocks(own);
        parsed.said = self.said(Role::User, content, ranges);
        if let (false, Some(said)) = (parsed.loose.is_empty(), &mut parsed.said) {
            // What stands beside results is the tool's, or the client's.
            said.message.author = Author::Harness;
        }
    }

    fn answer(&self, result: ToolResult, raw: &str) -> Option<Said> {
        self.said(Role::Tool, vec![Content::ToolResult(result)], vec![self.range(raw)])
    }

    fn model(&mut self, fields: &Fields<'a>, parts: &[Value<'a>], parsed: &mut Parsed) {
        let (mut content, mut ranges) = self.blocks(parts);
        // Where the content has thoughts or calls itself, it is the whole answer, as the client reads it.
        let has_thoughts = content.iter().any(|block| matches!(block, Content::Thinking { .. }));
        if !has_thoughts {
            let thoughts = self.thoughts(fields);
            ranges.splice(0..0, thoughts.iter().map(|_| 0..0));
            content.splice(0..0, thoughts);
        }
        let calls = fields.items("toolCalls").unwrap_or_default();
        let mut pairs = Pairs::of(&content);
        let mut results = Vec::new();
        for (index, value) in calls.iter().enumerate() {
            let Some(call) = value.fields() else {
                self.news.record(self.line, "toolCalls element that is no object");
                continue;
            };
            self.news.fields(self.line, "toolCalls", call.names(), &CALL_FIELDS);
            let made = || made_up(parsed.id.as_deref().unwrap_or_default(), index);
            let id = call.text("id").filter(|id| !id.is_empty()).map_or_else(made, |id| id.into_owned());
            let name = call.text("name").unwrap_or_default();
            let id = match pairs.take(&mut content, &id, &name) {
                Some(id) => id,
                None => {
                    content.push(Content::ToolCall(ToolCall {
                        id: id.clone(),
                        name: name.into_owned(),
                        arguments: call
                            .get("args")
                            .map(|args| words::one_line(args.get()).into_owned())
                            .unwrap_or_default(),
                        signature: None,
                    }));
                    ranges.push(0..0);
                    id
                }
            };
            results.push((id, value.clone()));
        }
        self.answers(results, parsed);
        for (index, block) in content.iter_mut().enumerate() {
            if let Content::ToolCall(call) = block
                && call.id.is_empty()
            {
                call.id = format!("{}_part_{index}", parsed.id.as_deref().unwrap_or_default());
            }
        }
        parsed.said = self.said(Role::Assistant, content, ranges);
        if let Some(said) = &mut parsed.said {
            said.answered = parsed.answers.len();
            said.message.usage = self.usage(fields);
            let model = fields.text("model").filter(|model| !model.is_empty());
            said.message.origin = model.map(|model| Origin::new(WIRE, model));
        }
    }

    /// Reads the summaries of thoughts, in the words in which the client sends them.
    fn thoughts(&mut self, fields: &Fields<'a>) -> Vec<Content> {
        let items = fields.items("thoughts").unwrap_or_default();
        let thought = |item: &Value<'a>| {
            let fields = item.fields()?;
            self.news.fields(self.line, "thoughts", fields.names(), &["subject", "description", "timestamp"]);
            let (subject, description) = (fields.text("subject"), fields.text("description"));
            let description = description.unwrap_or_default();
            let text = match subject.filter(|subject| !subject.is_empty()) {
                Some(subject) => format!("**{subject}** {description}"),
                None => description.into_owned(),
            };
            (!text.is_empty()).then_some(Content::Thinking { text, signature: None })
        };
        items.iter().filter_map(thought).collect()
    }

    /// Reads what a request cost. Cached tokens are in the prompt's, thoughts are not in the output's.
    fn usage(&mut self, fields: &Fields<'a>) -> Option<Usage> {
        let tokens = fields.object("tokens")?;
        const KNOWN: [&str; 6] = ["input", "output", "cached", "thoughts", "tool", "total"];
        self.news.fields(self.line, "tokens", tokens.names(), &KNOWN);
        let reasoning_tokens = tokens.count("thoughts");
        Some(Usage {
            input_tokens: tokens.count("input").saturating_add(tokens.count("tool")),
            output_tokens: tokens.count("output").saturating_add(reasoning_tokens),
            cache_read_tokens: tokens.count("cached"),
            cache_write_tokens: 0,
            reasoning_tokens,
        })
    }

    /// Reads the results of calls. After the client has masked some, each call can hold those of its neighbours too.
    fn answers(&self, calls: Vec<(String, Value<'a>)>, parsed: &mut Parsed) {
        for (id, value) in calls {
            let Some(fields) = value.fields() else { continue };
            let Some(given) = fields.get("result") else { continue };
            let status = fields.text("status");
            let failed = matches!(status.as_deref(), Some("error" | "cancelled"));
            let own_id = fields.text("id").unwrap_or_default();
            let one = std::slice::from_ref(given);
            let items = given.items();
            let items = items.as_deref().unwrap_or(one);
            let mut result = ToolResult { call_id: id, content: Vec::new(), is_error: failed };
            let (mut found, mut others, mut is_own) = (false, false, true);
            for item in items {
                let fields = item.fields();
                let Some(response) = fields.as_ref().and_then(|fields| fields.object("functionResponse"))
                else {
                    result.content.extend(part::result_part(item).filter(|_| is_own));
                    continue;
                };
                let of = response.text("id").unwrap_or_default();
                is_own = of.is_empty() || of == own_id || of == result.call_id;
                if !is_own {
                    others = true;
                    continue;
                }
                let read = part::result(&response);
                result.is_error |= read.is_error;
                result.content.extend(read.content);
                found = true;
            }
            let empty = !found && result.content.is_empty();
            // Only results of other calls are none of this one.
            if empty && (others || given.items().is_some_and(|items| items.is_empty())) {
                continue;
            }
            let raw = if others { "" } else { given.get() };
            if let Some(answer) = self.answer(result, raw) {
                parsed.answers.add(answer, false);
            }
        }
    }
}

/// Returns the parts of a message: a string, one part, or a list of them.
fn parts<'a>(fields: &Fields<'a>, kind: Kind) -> Result<Vec<Value<'a>>, String> {
    let Some(content) = fields.get("content") else {
        // A message of the model can be calls alone.
        return match kind {
            Kind::User => Err("it has no content".to_owned()),
            _ => Ok(Vec::new()),
        };
    };
    if let Some(items) = content.items() {
        return Ok(items.into_owned());
    }
    if content.text().is_some() || content.fields().is_some() {
        return Ok(vec![content.clone()]);
    }
    Err("its content is neither a string nor parts".to_owned())
}

/// Returns an id for a call that has none: the same whenever the message is read.
fn made_up(message: &str, index: usize) -> String {
    if message.is_empty() { format!("call_{index}") } else { format!("{message}_{index}") }
}

/// The calls in the content of a message that no entry of `toolCalls` was found for yet.
struct Pairs {
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, VecDeque<usize>>,
    taken: Vec<bool>,
}

impl Pairs {
    fn of(content: &[Content]) -> Self {
        let mut pairs =
            Pairs { by_id: HashMap::new(), by_name: HashMap::new(), taken: vec![false; content.len()] };
        for (index, block) in content.iter().enumerate() {
            if let Content::ToolCall(call) = block {
                pairs.by_id.insert(call.id.clone(), index);
                // Ids that the client made up where the service gave none need not agree.
                if call.id.is_empty() || call.id.starts_with("synth_") {
                    pairs.by_name.entry(call.name.clone()).or_default().push_back(index);
                }
            }
        }
        pairs
    }

    /// Returns the id of the call in the content that an entry tells of.
    fn take(&mut self, content: &mut [Content], id: &str, name: &str) -> Option<String> {
        let by_name = self.by_name.get_mut(name);
        let index = self.by_id.get(id).copied().or_else(|| {
            by_name.and_then(|places| {
                std::iter::from_fn(|| places.pop_front()).find(|at| self.taken.get(*at) == Some(&false))
            })
        })?;
        if let Some(taken) = self.taken.get_mut(index) {
            *taken = true;
        }
        let Some(Content::ToolCall(call)) = content.get_mut(index) else { return None };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        Some(call.id.clone())
    }
}
