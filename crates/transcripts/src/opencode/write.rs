//! Messages to a new session file, which the client imports and goes on with.
//!
//! The client leaves out what has an id that it knows already, so every message and every part gets a new one. Its
//! order is that of the times of messages, and of the ids of parts. What is still true keeps its bytes otherwise.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Author, Content, Message, Role, StopReason, Timestamp, ToolResult, Usage};

use super::around::{Answers, Manner};
use super::fresh::{Ids, Made, arguments_lost, of_answer, of_prompt, session_id, state};
use super::mend::{fit_answer, fit_part, fit_prompt, new_session, old_session, settle};
use super::part::tool;
use super::session::millis;
use super::word::{ASKED_FOR_SUMMARY, RAN_SUBTASK, UNKNOWN, origin, provider_of, stop_word, tokens, wire_of};
use crate::conversation::Loss;
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Session};

/// Writes a session file.
pub(crate) fn write(session: &Session<'_>, messages: &[Message], losses: &mut Vec<Loss>) -> String {
    let seed = session.heading.id.as_str();
    let mut writer = Writer {
        session,
        id: session_id(seed),
        ids: Ids::new(seed),
        out: Vec::new(),
        at: None,
        open: None,
        prompt: None,
        manner: Manner::of(session, messages),
        answers: Answers::of(messages),
    };
    for (index, message) in messages.iter().enumerate() {
        let mut losses = Losses { list: losses, message: index, node: message.node };
        match message.role {
            Role::System => {
                losses.note("instructions: the client writes its own into every request".to_owned());
            }
            Role::Assistant => writer.answer(index, message, &mut losses),
            Role::User | Role::Tool => writer.prompt(message, messages.get(index + 1), &mut losses),
        }
        writer.answers.report(index, message, &mut losses);
    }
    writer.close();
    let old = session.label_texts().find_map(|label| old_session(label, &writer.id, writer.at));
    let info = old.unwrap_or_else(|| new_session(session.heading, &writer.id, writer.at));
    format!("{{\"info\":{info},\"messages\":[\n{}\n]}}\n", writer.out.join(",\n"))
}

/// A message that is being written.
struct Open<'a> {
    /// The record that it was read from, while it is copied.
    record: Option<usize>,
    /// What was said of it.
    base: Option<&'a str>,
    edits: Made,
    id: String,
    at: Timestamp,
    parts: Vec<String>,
    kinds: Vec<String>,
    /// How the last answer in it ended, and whether one of its parts says so.
    end: Option<(Option<StopReason>, Option<Usage>)>,
    says_end: bool,
}

struct Writer<'a, 'm> {
    session: &'a Session<'a>,
    id: String,
    ids: Ids,
    out: Vec<String>,
    /// The time of the message that was begun last.
    at: Option<Timestamp>,
    open: Option<Open<'a>>,
    /// The prompt that was written last.
    prompt: Option<String>,
    manner: Manner,
    answers: Answers<'m>,
}

impl<'a> Writer<'a, '_> {
    /// Writes what is open.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.parts.is_empty() {
            return;
        }
        let base = open.base.and_then(|base| Fields::parse(base).ok());
        let mut edits = open.edits;
        if let (Some(base), Some(end), Some(_)) = (&base, open.end, open.record) {
            let kinds = open.kinds.iter().map(String::as_str);
            edits.extend(settle(base, kinds, end, open.says_end));
        }
        // What is said of a field last counts.
        let mut told = HashSet::new();
        edits.reverse();
        edits.retain(|(name, _)| told.insert(*name));
        edits.reverse();
        let info = base.map_or_else(|| object(&edits), |base| base.rewrite(&edits));
        self.out.push(format!("{{\"info\":{info},\"parts\":[\n{}\n]}}", open.parts.join(",\n")));
    }

    /// Begins a message; `base` is what was said of it, of which the edits that follow are made.
    fn begin(&mut self, record: Option<usize>, base: Option<&'a str>, of_user: bool) -> Option<Fields<'a>> {
        self.close();
        let fields = base.and_then(|base| Fields::parse(base).ok());
        let time = fields.as_ref().and_then(|info| info.object("time"));
        let said = time.as_ref().and_then(|time| millis(time, "created"));
        let after = self.at.map(|at| Timestamp(at.0.saturating_add(1)));
        let at = said.max(after).unwrap_or(self.session.heading.started);
        self.at = Some(at);
        let id = self.ids.next("msg");
        let mut edits: Made = vec![
            ("id", Some(quote(&id))),
            ("sessionID", Some(quote(&self.id))),
            ("role", Some(quote(if of_user { "user" } else { "assistant" }))),
        ];
        let created = ("created", Some(at.0.to_string()));
        let is_over = time.as_ref().is_some_and(|time| time.get("completed").is_some());
        let completed = ("completed", (!of_user && !is_over).then(|| at.0.to_string()));
        match &time {
            Some(_) if said == Some(at) && (of_user || is_over) => {}
            Some(time) => {
                let edits_of_time: &[_] =
                    if completed.1.is_some() { &[created, completed] } else { &[created] };
                edits.push(("time", Some(time.rewrite(edits_of_time))));
            }
            None => edits.push(("time", Some(object(&[created, completed])))),
        }
        if !of_user {
            // What answers nothing names itself: the client wants some id.
            edits.push(("parentID", Some(quote(self.prompt.as_deref().unwrap_or(&id)))));
        }
        if let Some(info) = &fields {
            self.manner.see(info);
        }
        if of_user {
            self.prompt = Some(id.clone());
        }
        let (parts, kinds) = (Vec::new(), Vec::new());
        self.open = Some(Open { record, base, edits, id, at, parts, kinds, end: None, says_end: false });
        fields
    }

    fn edit(&mut self, edits: impl IntoIterator<Item = (&'static str, Option<String>)>) {
        if let Some(open) = &mut self.open {
            open.edits.extend(edits);
        }
    }

    /// Returns the time of the message that is open.
    fn now(&self) -> Timestamp {
        self.open.as_ref().map(|open| open.at).or(self.at).unwrap_or_default()
    }

    /// Finishes a part: with its ids.
    fn finish(&mut self, made: Made) -> String {
        let message = self.open.as_ref().map(|open| open.id.clone()).unwrap_or_default();
        let ids: Made = vec![
            ("id", Some(quote(&self.ids.next("prt")))),
            ("sessionID", Some(quote(&self.id))),
            ("messageID", Some(quote(&message))),
        ];
        match made.first() {
            // A part as it was.
            Some(("", Some(json))) => match Fields::parse(json) {
                Ok(part) => part.rewrite(&ids),
                Err(_) => object(&ids),
            },
            _ => object(&ids.into_iter().chain(made).collect::<Made>()),
        }
    }

    fn put(&mut self, kind: &str, part: String) {
        if let Some(open) = &mut self.open {
            open.parts.push(part);
            open.kinds.push(kind.to_owned());
            open.says_end = match kind {
                "step-finish" => true,
                // What is said behind an end is of a request whose own end is not told.
                "step-start" | "text" | "reasoning" | "tool" => false,
                _ => open.says_end,
            };
        }
    }

    fn make(&mut self, made: Made) {
        let kind = made.iter().find(|(name, _)| *name == "type").and_then(|(_, kind)| kind.clone());
        let part = self.finish(made);
        self.put(kind.unwrap_or_default().trim_matches('"'), part);
    }

    /// Copies a part with other values for some fields.
    fn copy(&mut self, part: &Fields<'_>, edits: &[(&'static str, Option<String>)]) {
        let kind = part.text("type").unwrap_or_default().into_owned();
        let message = self.open.as_ref().map(|open| open.id.clone()).unwrap_or_default();
        let mut all: Made = vec![
            ("id", Some(quote(&self.ids.next("prt")))),
            ("sessionID", Some(quote(&self.id))),
            ("messageID", Some(quote(&message))),
        ];
        all.extend(edits.iter().cloned());
        if !edits.iter().any(|(name, _)| *name == "state") {
            all.extend(fit_part(&kind, part, self.now()));
        }
        self.put(&kind, part.rewrite(&all));
    }

    /// Copies a call with what became of it.
    fn copy_call(&mut self, part: &Fields<'_>, result: Option<&ToolResult>, losses: &mut Losses<'_>) {
        let Ok((call, was)) = tool(part) else { return };
        if was.as_ref() != result {
            let at = self.now();
            let state = state(&call, result, at, losses, |made| self.finish(made));
            return self.copy(part, &[("state", Some(state))]);
        }
        self.copy(part, &[]);
        // The client refuses other arguments than an object.
        let written = self.open.as_ref().and_then(|open| Fields::parse(open.parts.last()?).ok());
        let now = written.and_then(|part| tool(&part).ok());
        if now.is_none_or(|(now, _)| now.arguments != call.arguments) && !call.arguments.trim().is_empty() {
            losses.note(arguments_lost(&call));
        }
    }

    /// Writes what a user message says beside the results in it.
    fn prompt(&mut self, message: &Message, next: Option<&Message>, losses: &mut Losses<'_>) {
        let source = self.session.read.untouched(message).filter(|_| message.role == Role::User);
        if let Some(records) =
            source.map(|source| source.records.as_slice()).filter(|records| records.len() > 1)
        {
            return self.copy_prompt(records, next);
        }
        if message.content.is_empty() {
            return losses.note("a message without content".to_owned());
        }
        if message.content.iter().all(|block| block.as_result().is_some()) {
            return;
        }
        let info = self.begin(None, self.base(message, "user"), true);
        let edits = fit_prompt(info.as_ref(), &self.manner.agent, &self.manner.provider, &self.manner.model);
        self.edit(edits);
        let is_put_in = message.author != Author::Person;
        let mut reuse = self.session.read.reuse(message);
        let was = self.session.read.origin(message).map(|(read, _)| read.author);
        // Whether it will be read as words of a person or of the client.
        let (mut is_typed, mut has_words) = (false, false);
        for block in &message.content {
            let raw = reuse.take(block).and_then(|raw| Fields::parse(raw.text).ok());
            // Of the others some ask the client to do something.
            match raw.filter(|raw| matches!(raw.text("type").as_deref(), Some("text" | "file"))) {
                Some(part) if part.text("type").as_deref() == Some("file") => self.copy(&part, &[]),
                // What a person sent may hold what the client put in.
                Some(part) if was == Some(message.author) => {
                    has_words = true;
                    is_typed |= !part.flag("synthetic");
                    self.copy(&part, &[]);
                }
                _ => {
                    has_words |= matches!(block, Content::Text { text } if !text.is_empty());
                    is_typed |= has_words && !is_put_in;
                    if let Some(made) = of_prompt(block, is_put_in, losses) {
                        self.make(made);
                    }
                }
            }
        }
        if is_put_in && !has_words {
            losses.note("that the client said it and not a person".to_owned());
        } else if is_put_in && message.author != Author::Harness || message.role == Role::Tool {
            losses.note("who said it: it is written as words of the client".to_owned());
        } else if !is_put_in && has_words && !is_typed {
            losses.note("that a person said it and not the client".to_owned());
        }
    }

    /// Copies a prompt. What asks the client to do something is only left where it was done.
    fn copy_prompt(&mut self, records: &[usize], next: Option<&Message>) {
        let Some((info, parts)) = records.split_first() else { return };
        let old = self.begin(Some(*info), self.session.record(*info), true);
        let edits = fit_prompt(old.as_ref(), &self.manner.agent, &self.manner.provider, &self.manner.model);
        self.edit(edits);
        let answer = next.and_then(|next| {
            let record = self.session.read.untouched(next)?.records.first()?;
            Fields::parse(self.session.record(*record)?).ok()
        });
        let id = old.as_ref().and_then(|old| old.text("id"));
        let is_done = answer.as_ref().is_some_and(|answer| answer.text("parentID") == id && id.is_some());
        let is_summed = is_done && answer.is_some_and(|answer| answer.flag("summary")) && self.out.is_empty();
        for record in parts {
            let part = self.session.record(*record).and_then(|part| Fields::parse(part).ok());
            let Some(part) = part else { continue };
            let words = match part.text("type").as_deref() {
                Some("compaction") if !is_summed => ASKED_FOR_SUMMARY,
                Some("subtask") if !is_done => RAN_SUBTASK,
                // What was kept stands behind the summary now.
                Some("compaction") => {
                    self.copy(&part, &[("tail_start_id", None)]);
                    continue;
                }
                _ => {
                    self.copy(&part, &[]);
                    continue;
                }
            };
            self.make(vec![
                ("type", Some(quote("text"))),
                ("text", Some(quote(words))),
                ("synthetic", Some("true".to_owned())),
            ]);
        }
    }

    /// Returns what was said of a message that was changed, if it is still of the same role.
    fn base(&self, message: &Message, role: &str) -> Option<&'a str> {
        let (_, source) = self.session.read.origin(message)?;
        let info = self.session.record(*source.records.first()?)?;
        let fields = Fields::parse(info).ok()?;
        (fields.text("role").as_deref() == Some(role)).then_some(info)
    }

    /// Writes what one request of the model gave, and what became of its calls.
    fn answer(&mut self, index: usize, message: &Message, losses: &mut Losses<'_>) {
        match self.session.read.untouched(message) {
            Some(source) if source.records.len() > 1 => {
                let blocks = source.blocks.iter().enumerate().map(|(block, piece)| (piece.record, block));
                self.copy_answer(index, message, &source.records, &blocks.collect(), losses);
            }
            _ => self.new_answer(index, message, losses),
        }
    }

    fn copy_answer(
        &mut self,
        index: usize,
        message: &Message,
        records: &[usize],
        blocks: &HashMap<usize, usize>,
        losses: &mut Losses<'_>,
    ) {
        let Some((info, parts)) = records.split_first() else { return };
        // Several requests may stand in one message.
        if self.open.as_ref().and_then(|open| open.record) != Some(*info) {
            let asks = self.asks_for_summary();
            let old = self.begin(Some(*info), self.session.record(*info), false);
            let edits = old.as_ref().map(|old| {
                let mut edits = fit_answer(Some(old), &self.manner.agent, &self.manner.cwd);
                // A summary of nothing would hide what is before it.
                edits.extend((!asks).then_some(("summary", None)));
                edits
            });
            self.edit(edits.unwrap_or_default());
        } else if self.open.as_ref().is_some_and(|open| !open.says_end && !open.parts.is_empty()) {
            // What told the two requests apart may be among what was not copied.
            let first = parts.first().and_then(|record| self.session.record(*record));
            let first = first.and_then(|part| Fields::parse(part).ok());
            if first.is_none_or(|part| part.text("type").as_deref() != Some("step-start")) {
                self.make(vec![("type", Some(quote("step-start")))]);
            }
        }
        for record in parts {
            let part = self.session.record(*record).and_then(|part| Fields::parse(part).ok());
            let Some(part) = part else { continue };
            match blocks.get(record).and_then(|block| Some((block, message.content.get(*block)?.as_call()?)))
            {
                Some((block, _)) => {
                    let result = self.answers.of_calls.get(&(index, *block)).copied();
                    self.copy_call(&part, result, losses);
                }
                None => self.copy(&part, &[]),
            }
        }
        if let Some(open) = &mut self.open {
            open.end = Some((message.stop.clone(), message.usage));
        }
    }

    /// Tells whether what is open is a prompt that asks for a summary.
    fn asks_for_summary(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.kinds.iter().any(|kind| kind == "compaction"))
    }

    fn new_answer(&mut self, index: usize, message: &Message, losses: &mut Losses<'_>) {
        if message.content.is_empty() {
            return losses.note("a message without content".to_owned());
        }
        if message.author != Author::Model {
            losses.note("who said it: it is written as words of the model".to_owned());
        }
        let old = self.begin(None, self.base(message, "assistant"), false);
        let edits = fit_answer(old.as_ref(), &self.manner.agent, &self.manner.cwd);
        self.edit(edits);
        let provider = self.name_origin(old.as_ref(), message, losses);
        let at = self.now();
        self.make(vec![("type", Some(quote("step-start")))]);
        let empty = self.open.as_ref().map_or(0, |open| open.parts.len());
        let mut reuse = self.session.read.reuse(message);
        for (block, content) in message.content.iter().enumerate() {
            let raw = reuse.take(content).and_then(|raw| Fields::parse(raw.text).ok());
            match (raw, content) {
                (Some(part), Content::ToolCall(_)) => {
                    let result = self.answers.of_calls.get(&(index, block)).copied();
                    self.copy_call(&part, result, losses);
                }
                (Some(part), _) => self.copy(&part, &[]),
                (None, Content::ToolCall(call)) => {
                    let result = self.answers.of_calls.get(&(index, block)).copied();
                    let state = state(call, result, at, losses, |made| self.finish(made));
                    let signature = call.signature.as_ref().map(|signature| {
                        let proof = object(&[("thoughtSignature", Some(quote(signature)))]);
                        object(&[("google", Some(proof))])
                    });
                    self.make(vec![
                        ("type", Some(quote("tool"))),
                        ("callID", Some(quote(&call.id))),
                        ("tool", Some(quote(&call.name))),
                        ("state", Some(state)),
                        ("metadata", signature),
                    ]);
                }
                (None, content) => {
                    if let Some(made) = of_answer(content, message, &provider, at, losses) {
                        self.make(made);
                    }
                }
            }
        }
        if self.open.as_ref().is_some_and(|open| open.parts.len() == empty) {
            // Nothing of it has a place.
            self.open = None;
            return;
        }
        self.end(message);
    }

    /// Says which model answered, and returns its provider's name.
    fn name_origin(
        &mut self,
        old: Option<&Fields<'_>>,
        message: &Message,
        losses: &mut Losses<'_>,
    ) -> String {
        let named = |old: &Fields<'_>| {
            Some((old.text("providerID")?.into_owned(), old.text("modelID")?.into_owned()))
        };
        let kept = old.filter(|old| origin(old) == message.origin).and_then(named);
        let (provider, model) = kept.unwrap_or_else(|| match &message.origin {
            Some(origin) => (provider_of(origin).to_owned(), origin.model.clone()),
            None => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
        });
        if let Some(origin) = &message.origin {
            (self.manner.provider, self.manner.model) = (provider.clone(), model.clone());
            if wire_of(&provider, &model) != origin.provider {
                losses.note(format!("that the answer came over {}", origin.provider));
            }
        }
        self.edit([("modelID", Some(quote(&model))), ("providerID", Some(quote(&provider)))]);
        provider
    }

    /// Says how a new answer ended.
    fn end(&mut self, message: &Message) {
        let word = message.stop.as_ref().map(stop_word);
        let cost = message.usage.unwrap_or_default();
        if message.usage.is_some() {
            self.make(vec![
                ("type", Some(quote("step-finish"))),
                ("reason", Some(quote(word.unwrap_or(UNKNOWN)))),
                ("tokens", Some(tokens(cost))),
                ("cost", Some("0".to_owned())),
            ]);
        }
        self.edit([
            ("error", None),
            ("summary", None),
            ("tokens", Some(tokens(cost))),
            ("finish", word.map(quote)),
        ]);
    }
}
