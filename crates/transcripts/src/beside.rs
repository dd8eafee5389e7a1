//! Fields of messages that the vocabulary has no word for, and the way to leave them out.
//!
//! Servers of one wire write what others refuse, be it `null`. Such fields stay with their message unless somebody says that
//! they must go; what a message says is then written in the fields that every server knows.

use trunkline_message_tree::NodeId;

use crate::format::Format;
use crate::json::{Fields, Value, object, quote};
use crate::openai_chat::{REASONING, custom_arguments};

/// What is told of instructions by a role that only OpenAI and its followers have.
const DEVELOPER: &str = "role developer";
/// What is told of a result by the role that it had before there were ids.
const FUNCTION: &str = "role function";

/// A field of a message that the vocabulary has no word for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageField {
    /// The node of the message.
    pub node: NodeId,
    /// What the field stands in.
    pub holder: FieldHolder,
    /// Its name; `role developer` and `role function` for the roles that not every server has.
    pub name: String,
    /// Whether it says something: it is neither `null` nor empty.
    pub says_something: bool,
}

/// What a field stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldHolder {
    /// The message itself.
    Message,
    /// A part of its content, by its type.
    Part(String),
    /// A call.
    Call,
    /// The function of a call.
    Function,
}

/// Returns the fields of one message, each once.
pub(crate) fn of_message(format: Format, node: NodeId, fields: &Fields<'_>) -> Vec<MessageField> {
    let mut found = Found { node, fields: Vec::new() };
    let role = fields.text("role").unwrap_or_default();
    if format == Format::Anthropic {
        // A row of the other wire is written anew.
        if role != "tool" {
            found.all(&FieldHolder::Message, fields, &["role", "content"]);
        }
        return found.fields;
    }
    match role.as_ref() {
        "developer" => found.push(&FieldHolder::Message, DEVELOPER, true),
        "function" => found.push(&FieldHolder::Message, FUNCTION, true),
        _ => {}
    }
    // Reasoning is read, and stays or goes by other rules.
    let reasons = |name: &&str| fields.text(name).is_some_and(|text| !text.is_empty());
    let reasoning = REASONING.iter().find(|name| role == "assistant" && reasons(name));
    let read = ["role", "content", "tool_calls", "tool_call_id"].into_iter().chain(reasoning.copied());
    found.all(&FieldHolder::Message, fields, &read.collect::<Vec<_>>());
    // Where nothing else is said, a refusal is read as what is said.
    let says = |raw: &Value<'_>| !matches!(raw.get(), "\"\"" | "[]");
    if !fields.get("content").is_some_and(says) {
        let refusals = found.fields.iter_mut().filter(|field| field.name == "refusal");
        refusals.for_each(|field| field.says_something = false);
    }
    for part in fields.items("content").unwrap_or_default().iter().filter_map(Value::fields) {
        let kind = part.text("type").unwrap_or_default();
        // Other parts are carried as a whole.
        if matches!(kind.as_ref(), "text" | "refusal" | "image_url") {
            let known = if kind == "refusal" { "type" } else { kind.as_ref() };
            found.all(&FieldHolder::Part(kind.to_string()), &part, &["type", known]);
        }
    }
    for call in fields.items_or_one("tool_calls").unwrap_or_default().iter().filter_map(Value::fields) {
        found.all(&FieldHolder::Call, &call, &["id", "type", "function"]);
        if let Some(function) = call.object("function") {
            found.all(&FieldHolder::Function, &function, &["name", "arguments"]);
        }
    }
    found.fields
}

struct Found {
    node: NodeId,
    fields: Vec<MessageField>,
}

impl Found {
    fn all(&mut self, holder: &FieldHolder, fields: &Fields<'_>, but: &[&str]) {
        for (name, raw) in fields.entries().filter(|(name, _)| !but.contains(name)) {
            let says_something = !matches!(raw.get(), "null" | "\"\"" | "[]" | "{}" | "false");
            self.push(holder, name, says_something);
        }
    }

    fn push(&mut self, holder: &FieldHolder, name: &str, says_something: bool) {
        let same = |field: &&mut MessageField| field.holder == *holder && field.name == name;
        match self.fields.iter_mut().find(same) {
            Some(field) => field.says_something |= says_something,
            None => self.fields.push(MessageField {
                node: self.node,
                holder: holder.clone(),
                name: name.to_owned(),
                says_something,
            }),
        }
    }
}

/// Writes a message of JSON without some fields. Words that stood in one of them were written elsewhere before.
pub(crate) fn without(text: &str, left_out: &[&MessageField]) -> String {
    let Ok(fields) = Fields::parse(text) else { return text.to_owned() };
    let goes = |holder: &FieldHolder, name: &str| {
        left_out.iter().any(|field| field.holder == *holder && field.name == name)
    };
    let strip = |holder: &FieldHolder, fields: &Fields<'_>| {
        let names = fields.entries().map(|(name, _)| name).filter(|name| goes(holder, name));
        let edits: Vec<(&str, Option<String>)> = names.map(|name| (name, None)).collect();
        fields.rewrite(&edits)
    };
    let part = |raw: &Value<'_>| {
        let Some(part) = raw.fields() else { return raw.get().to_owned() };
        let kind = FieldHolder::Part(part.text("type").unwrap_or_default().into_owned());
        match part.text("refusal").filter(|_| goes(&kind, "refusal")) {
            Some(words) => object(&[("type", Some(quote("text"))), ("text", Some(quote(&words)))]),
            None => strip(&kind, &part),
        }
    };
    let call = |raw: &Value<'_>| {
        let Some(call) = raw.fields() else { return raw.get().to_owned() };
        let stripped = strip(&FieldHolder::Call, &call);
        let custom = call.object("custom").filter(|_| goes(&FieldHolder::Call, "custom"));
        let (kind, function) = match (custom, call.object("function")) {
            (Some(custom), _) => {
                let name = custom.text("name").map(|name| quote(&name));
                let input = custom.get("input");
                let input = input.map(|raw| raw.text().unwrap_or(std::borrow::Cow::Borrowed(raw.get())));
                let arguments = input.map(|input| quote(&custom_arguments(&input)));
                (Some(quote("function")), object(&[("name", name), ("arguments", arguments)]))
            }
            (None, Some(function)) => (None, strip(&FieldHolder::Function, &function)),
            (None, None) => return stripped,
        };
        let kind = kind.map(|kind| ("type", Some(kind)));
        let edits: Vec<_> = kind.into_iter().chain([("function", Some(function))]).collect();
        Fields::parse(&stripped).map(|call| call.rewrite(&edits)).unwrap_or(stripped)
    };
    let array = |elements: Vec<String>| format!("[{}]", elements.join(","));
    let mut edits: Vec<(&str, Option<String>)> = Vec::new();
    let holds = |wanted: fn(&FieldHolder) -> bool| left_out.iter().any(|field| wanted(&field.holder));
    if holds(|holder| matches!(holder, FieldHolder::Part(_)))
        && let Some(parts) = fields.items("content")
    {
        edits.push(("content", Some(array(parts.iter().map(part).collect()))));
    }
    if holds(|holder| matches!(holder, FieldHolder::Call | FieldHolder::Function))
        && let Some(calls) = fields.items_or_one("tool_calls")
    {
        edits.push(("tool_calls", Some(array(calls.iter().map(call).collect()))));
    }
    for field in left_out.iter().filter(|field| field.holder == FieldHolder::Message) {
        match field.name.as_str() {
            DEVELOPER => edits.push(("role", Some(quote("system")))),
            name => edits.push((name, None)),
        }
    }
    fields.rewrite(&edits)
}
