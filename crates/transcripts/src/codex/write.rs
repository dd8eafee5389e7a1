//! Messages to a new session file that the agent can resume.
//!
//! What the model is sent stands in the items alone. Events are written beside them for people: the agent's list of
//! sessions has no session without one, and its screen would be empty (its `list.rs`, read 2026-11). Ordinals are left
//! out, and with them the mode of history that needs them; 0.171 resumes a session without (run 2026-11).

use std::collections::HashMap;

use trunkline_message_tree::{Author, Content, Message, Role, StopReason, Timestamp, Usage};

use super::{WIRE, encode};
use crate::conversation::Loss;
use crate::json::{Fields, object, quote};
use crate::source::{Losses, Session};
use crate::time;

/// The version that a new header claims: the newest whose files were measured (run 2026-11).
const VERSION: &str = "0.171.0";

/// Writes a session file.
pub(crate) fn write(session: &Session<'_>, messages: &[Message], losses: &mut Vec<Loss>) -> String {
    let mut writer = Writer {
        session,
        out: String::new(),
        at: None,
        serial: 0,
        model: None,
        is_open: false,
        customs: HashMap::new(),
        cost: Usage::default(),
        strangers: Vec::new(),
    };
    writer.header();
    for (index, message) in messages.iter().enumerate() {
        writer.message(message, &mut Losses { list: losses, message: index, node: message.node });
    }
    writer.title();
    writer.out
}

struct Writer<'a> {
    session: &'a Session<'a>,
    out: String,
    /// The time of the record that was written last.
    at: Option<Timestamp>,
    serial: u64,
    /// The model that a reader takes what follows for.
    model: Option<String>,
    /// Whether a reader takes more words of the model for the same message.
    is_open: bool,
    /// Whether a call is one of a custom tool, by its id.
    customs: HashMap<String, bool>,
    /// What the responses that are new have cost.
    cost: Usage,
    /// Models of other wires, each told of once.
    strangers: Vec<String>,
}

impl Writer<'_> {
    fn header(&mut self) {
        let label = self.session.label_texts().filter_map(|text| Fields::parse(text).ok());
        let meta = label.into_iter().find(|fields| match fields.text("type") {
            Some(kind) => kind == "session_meta" && fields.object("payload").is_some(),
            None => fields.has("timestamp"),
        });
        let heading = self.session.heading;
        let started = self.session.heading.started;
        let id = || Some(quote(&heading.id));
        match meta {
            Some(meta) if meta.has("payload") => {
                let Some(payload) = meta.object("payload") else { return };
                let of_agent = payload.object("source").is_some();
                let source = of_agent.then(|| ("source", Some(quote("cli"))));
                let of_agent = of_agent.then_some(("thread_source", None));
                let mut edits = vec![
                    ("id", id()),
                    ("session_id", payload.has("session_id").then(id).flatten()),
                    ("forked_from_id", None),
                    ("forked_from_ordinal_exclusive", None),
                    ("parent_thread_id", None),
                    ("attached_thread", None),
                    ("history_mode", None),
                    ("history_base", None),
                    ("subagent_history_start_ordinal", None),
                ];
                edits.extend(source.into_iter().chain(of_agent));
                self.model = payload.text("model").map(|model| model.into_owned());
                let payload = payload.rewrite(&edits);
                let at = meta.text("timestamp").and_then(|text| time::parse(&text));
                let at = self.later(at.or(Some(started)));
                self.put("session_meta", &payload, at);
            }
            older => {
                let raw = |name: &str| older.as_ref()?.get(name).map(|value| value.get().to_owned());
                let at = self.later(Some(started));
                let payload = object(&[
                    ("id", id()),
                    ("timestamp", raw("timestamp").or_else(|| Some(quote(&time::print(at))))),
                    ("cwd", Some(quote(&heading.cwd))),
                    ("originator", Some(quote("codex_cli_rs"))),
                    ("cli_version", Some(quote(VERSION))),
                    ("source", Some(quote("cli"))),
                    ("instructions", raw("instructions")),
                    ("git", raw("git")),
                ]);
                self.put("session_meta", &payload, at);
            }
        }
    }

    fn title(&mut self) {
        let heading = self.session.heading;
        let label = self.session.label_texts().filter_map(|text| Fields::parse(text).ok());
        let named = label.into_iter().find(|fields| fields.text("type").as_deref() == Some("event_msg"));
        let id = || Some(quote(&heading.id));
        let payload = match named.as_ref().and_then(|named| named.object("payload")) {
            Some(payload) => payload.rewrite(&[("thread_id", id())]),
            None if heading.title.is_empty() => return,
            None => object(&[
                ("type", Some(quote("thread_name_updated"))),
                ("thread_id", id()),
                ("thread_name", Some(quote(&heading.title))),
            ]),
        };
        let at = self.next();
        self.put("event_msg", &payload, at);
    }

    fn message(&mut self, message: &Message, losses: &mut Losses<'_>) {
        let by_model = message.role == Role::Assistant;
        if by_model && self.is_open {
            let turn = self.turn_id();
            self.event(&[("type", Some(quote("task_complete"))), ("turn_id", Some(turn))]);
        }
        let copied = self.session.read.untouched(message);
        match copied {
            Some(source) => self.copies(&source.records, message, losses),
            None => self.fresh(message, losses),
        }
        self.tell(message);
        self.is_open = by_model;
        if copied.is_some() {
            let is_cut = message.stop == Some(StopReason::Cancelled);
            self.is_open &= message.usage.is_none() && !is_cut;
        } else if by_model {
            self.ends(message, losses);
        }
    }

    /// Writes a message that is not what was read.
    fn fresh(&mut self, message: &Message, losses: &mut Losses<'_>) {
        self.asks(message, losses);
        let customs = &self.customs;
        let is_custom = |id: &str| customs.get(id).copied().unwrap_or(false);
        let items = encode::items(message, &mut self.session.read.reuse(message), &is_custom, losses);
        for item in items {
            if let Ok(fields) = Fields::parse(&item) {
                self.note_call(&fields);
            }
            let at = self.next();
            self.put("response_item", &item, at);
        }
    }

    /// Writes what a new message of the model has beside its items.
    fn ends(&mut self, message: &Message, losses: &mut Losses<'_>) {
        match &message.stop {
            None | Some(StopReason::EndTurn | StopReason::ToolUse) => {}
            Some(StopReason::Cancelled) => {
                let turn = self.turn_id();
                self.event(&[
                    ("type", Some(quote("turn_aborted"))),
                    ("turn_id", Some(turn)),
                    ("reason", Some(quote("interrupted"))),
                ]);
                self.is_open = false;
            }
            Some(stop) => losses.note(format!("why the model stopped: {stop:?}")),
        }
        if let Some(usage) = message.usage {
            self.usage(usage);
        }
    }

    fn usage(&mut self, usage: Usage) {
        let sum = &mut self.cost;
        for (sum, more) in [
            (&mut sum.input_tokens, usage.input_tokens),
            (&mut sum.output_tokens, usage.output_tokens),
            (&mut sum.cache_read_tokens, usage.cache_read_tokens),
            (&mut sum.cache_write_tokens, usage.cache_write_tokens),
            (&mut sum.reasoning_tokens, usage.reasoning_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
        let id = || Some(quote(&self.session.heading.id));
        let (ours, all) = (counts(&usage), counts(&self.cost));
        let turn = format!("{}-{}", self.session.heading.id, self.serial);
        let payload = object(&[
            ("thread_id", id()),
            ("turn_id", Some(quote(&turn))),
            ("session_id", id()),
            ("root_turn_id", Some(quote(&turn))),
            ("response_id", Some(quote(&format!("resp_{turn}")))),
            ("usage", Some(ours.clone())),
            ("turn_token_usage", Some(ours)),
            ("thread_token_usage", Some(all)),
        ]);
        self.serial += 1;
        let at = self.next();
        self.put("token_usage_record", &payload, at);
        self.is_open = false;
    }

    /// Names the model that wrote a message, if a reader would take it for another's.
    fn asks(&mut self, message: &Message, losses: &mut Losses<'_>) {
        if message.role != Role::Assistant {
            return;
        }
        let origin = message.origin.as_ref();
        let ours = origin.filter(|origin| origin.provider == WIRE && !origin.model.is_empty());
        match (origin, ours) {
            (_, Some(ours)) if self.model.as_deref() == Some(&ours.model) => {}
            (_, Some(ours)) => {
                let payload = object(&[
                    ("cwd", Some(quote(&self.session.heading.cwd))),
                    // The least that it may do; the agent asks its own settings when it resumes.
                    ("approval_policy", Some(quote("on-request"))),
                    ("sandbox_policy", Some(object(&[("type", Some(quote("read-only")))]))),
                    ("model", Some(quote(&ours.model))),
                    ("summary", Some(quote("auto"))),
                ]);
                self.model = Some(ours.model.clone());
                let at = self.next();
                self.put("turn_context", &payload, at);
            }
            (Some(other), None) => {
                let name = format!("{} of {}", other.model, other.provider);
                if !self.strangers.contains(&name) {
                    losses.note(format!("that {name} wrote it, here and below"));
                    self.strangers.push(name);
                }
            }
            (None, None) if self.model.is_some() => {
                losses.note("that it is not known which model wrote it".to_owned());
            }
            (None, None) => {}
        }
    }

    /// Copies the records of a message.
    fn copies(&mut self, records: &[usize], message: &Message, losses: &mut Losses<'_>) {
        let mut is_asked = false;
        for record in records {
            let Some(text) = self.session.record(*record) else { continue };
            let Ok(fields) = Fields::parse(text) else { continue };
            if !is_asked && fields.text("type").as_deref() != Some("turn_context") {
                self.asks(message, losses);
                is_asked = true;
            }
            self.copy(text, &fields);
        }
    }

    /// Copies a record to its new place.
    fn copy(&mut self, text: &str, fields: &Fields<'_>) {
        let said = fields.text("timestamp").and_then(|text| time::parse(&text));
        let Some(payload) = fields.object("payload") else {
            // An item that stood alone, or in place of what was before.
            let edits = self.note_call(fields);
            let text = if edits.is_empty() { text.to_owned() } else { fields.rewrite(&edits) };
            let at = self.later(said);
            self.put("response_item", &text, at);
            return;
        };
        let id = || Some(quote(&self.session.heading.id));
        let mut inner = Vec::new();
        match fields.text("type").as_deref() {
            Some("turn_context") => {
                self.model = payload.text("model").map(|model| model.into_owned());
            }
            Some("token_usage_record") => {
                inner.extend(["thread_id", "session_id"].map(|name| (name, id())));
            }
            Some("response_item") => inner = self.note_call(&payload),
            _ => {}
        }
        let at = self.later(said);
        let mut edits = vec![("ordinal", None)];
        if said != Some(at) {
            edits.push(("timestamp", Some(quote(&time::print(at)))));
        }
        if !inner.is_empty() {
            edits.push(("payload", Some(payload.rewrite(&inner))));
        }
        let changes = edits.len() > 1 || fields.has("ordinal");
        let line = if changes { fields.rewrite(&edits) } else { text.to_owned() };
        self.line(&line);
    }

    /// Notes of what kind a call is, and returns what must change in a result: its type follows its call.
    fn note_call(&mut self, item: &Fields<'_>) -> Vec<(&'static str, Option<String>)> {
        let Some(id) = item.text("call_id") else { return Vec::new() };
        let custom = |id: &str| self.customs.get(id).copied();
        match item.text("type").as_deref() {
            Some("custom_tool_call") => {
                self.customs.insert(id.into_owned(), true);
            }
            Some("function_call" | "local_shell_call") => {
                self.customs.insert(id.into_owned(), false);
            }
            Some("function_call_output") if custom(&id) == Some(true) => {
                return vec![("type", Some(quote("custom_tool_call_output")))];
            }
            Some("custom_tool_call_output") if custom(&id) == Some(false) => {
                return vec![("type", Some(quote("function_call_output")))];
            }
            _ => {}
        }
        Vec::new()
    }

    /// Writes the events that show people what was said.
    fn tell(&mut self, message: &Message) {
        match (message.role, message.author) {
            (Role::User, Author::Person) => {
                let words = message.text();
                if !words.is_empty() {
                    let none = || Some("[]".to_owned());
                    self.event(&[
                        ("type", Some(quote("user_message"))),
                        ("message", Some(quote(&words))),
                        ("images", none()),
                        ("local_images", none()),
                        ("text_elements", none()),
                    ]);
                }
            }
            (Role::Assistant, _) => {
                for block in &message.content {
                    let (kind, field, text) = match block {
                        Content::Text { text } => ("agent_message", "message", text),
                        Content::Thinking { text, .. } => ("agent_reasoning", "text", text),
                        _ => continue,
                    };
                    self.event(&[("type", Some(quote(kind))), (field, Some(quote(text)))]);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, fields: &[(&str, Option<String>)]) {
        let at = self.next();
        self.put("event_msg", &object(fields), at);
    }

    fn put(&mut self, kind: &str, payload: &str, at: Timestamp) {
        let line = object(&[
            ("timestamp", Some(quote(&time::print(at)))),
            ("type", Some(quote(kind))),
            ("payload", Some(payload.to_owned())),
        ]);
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Returns a name of a turn, made from the session's own: the same call gives the same file.
    fn turn_id(&mut self) -> String {
        self.serial += 1;
        quote(&format!("{}-{}", self.session.heading.id, self.serial - 1))
    }

    /// Returns the time of a record that is new.
    fn next(&mut self) -> Timestamp {
        self.later(None)
    }

    /// Returns the time of the next record: what it says itself, unless that is before the last one.
    fn later(&mut self, said: Option<Timestamp>) -> Timestamp {
        let after = self.at.map(|at| Timestamp(at.0.saturating_add(1)));
        let at = match (said, self.at) {
            (Some(said), Some(at)) if said < at => after.unwrap_or(at),
            (Some(said), _) => said,
            (None, _) => after.unwrap_or(self.session.heading.started),
        };
        self.at = Some(at);
        at
    }
}

fn counts(usage: &Usage) -> String {
    let total = usage.input_tokens.saturating_add(usage.output_tokens);
    object(&[
        ("input_tokens", Some(usage.input_tokens.to_string())),
        ("cached_input_tokens", Some(usage.cache_read_tokens.to_string())),
        ("cache_write_input_tokens", Some(usage.cache_write_tokens.to_string())),
        ("output_tokens", Some(usage.output_tokens.to_string())),
        ("reasoning_output_tokens", Some(usage.reasoning_tokens.to_string())),
        ("total_tokens", Some(total.to_string())),
    ])
}
