//! Fields that a message has besides what the vocabulary says, and which services take them.
//!
//! Servers of one wire differ in what they write into a message: reasoning with its signatures, citations, a position. Some
//! refuse what they do not know, be it `null`. Who reads messages from a file knows these fields and tells of them; the tables
//! here are those of the services, from their own clients and validators (read 2026-11).

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline_message_tree::{Message, NodeId, Role};

use crate::{Place, Repair, RepairKind, RequestFacts, WireRules};

/// A field of a message that the vocabulary has no word for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldFact {
    /// The node of the message.
    pub node: NodeId,
    /// What the field stands in.
    pub holder: FieldHolder,
    /// Its name.
    pub name: String,
    /// Whether it says something: it is neither `null` nor empty.
    pub says_something: bool,
}

impl FieldFact {
    /// Returns the fact that a message has such a field.
    pub fn new(node: NodeId, holder: FieldHolder, name: impl Into<String>, says_something: bool) -> Self {
        FieldFact { node, holder, name: name.into(), says_something }
    }
}

/// What a field stands in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl fmt::Display for FieldHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldHolder::Message => f.write_str("the message"),
            FieldHolder::Part(kind) => write!(f, "a part of type {kind:?}"),
            FieldHolder::Call => f.write_str("a call"),
            FieldHolder::Function => f.write_str("the function of a call"),
        }
    }
}

/// Which fields and parts a service takes besides what the vocabulary says.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TakenFields {
    /// Any: it reads over what it does not know, or nothing is known of it.
    Any,
    /// Those of Anthropic's messages; in their blocks any. `messages.N.id: Extra inputs are not permitted`.
    Messages,
    /// Those of Mistral. `messages.N.assistant.reasoning_details: Extra inputs are not permitted`.
    Mistral,
    /// Those of Groq. `property 'reasoning_content' is unsupported`.
    Groq,
    /// Those of Cerebras. `property 'messages.N.assistant.reasoning_content' is unsupported`.
    Cerebras,
}

impl TakenFields {
    /// Whether the service takes a field there.
    fn takes(self, role: Role, holder: &FieldHolder, name: &str) -> bool {
        let known: &[&str] = match (self, holder) {
            (TakenFields::Any, _) => return true,
            (TakenFields::Messages, FieldHolder::Message) => &["role", "content"],
            (TakenFields::Messages, _) => return true,
            (_, FieldHolder::Message) => self.of_message(role),
            (_, FieldHolder::Part(kind)) => {
                return self.of_part(kind).is_some_and(|known| known.contains(&name));
            }
            (TakenFields::Cerebras, FieldHolder::Call) => &["id", "type", "function", "index"],
            (_, FieldHolder::Call) => &["id", "type", "function"],
            (_, FieldHolder::Function) => &["name", "arguments"],
        };
        known.contains(&name)
    }

    fn of_message(self, role: Role) -> &'static [&'static str] {
        match (self, role) {
            (TakenFields::Mistral, Role::System | Role::User) => &["role", "content"],
            (TakenFields::Mistral, Role::Assistant) => &["role", "content", "tool_calls", "prefix"],
            (_, Role::System) => &["role", "role developer", "content", "name"],
            (_, Role::User) => &["role", "content", "name"],
            (_, Role::Assistant) => &["role", "content", "name", "reasoning", "tool_calls"],
            (_, Role::Tool) => &["role", "content", "tool_call_id", "name"],
        }
    }

    /// Returns the fields of a part of that type; nothing if the service has no such part.
    fn of_part(self, kind: &str) -> Option<&'static [&'static str]> {
        Some(match (self, kind) {
            (_, "text") => &["type", "text"],
            (_, "image_url") => &["type", "image_url"],
            (TakenFields::Mistral, "document_url") => &["type", "document_url", "document_name"],
            (TakenFields::Mistral, "reference") => &["type", "reference_ids"],
            (TakenFields::Mistral, "file") => &["type", "file_id"],
            (TakenFields::Mistral, "thinking") => &["type", "thinking", "closed", "signature"],
            (TakenFields::Mistral, "input_audio") => &["type", "input_audio"],
            (TakenFields::Groq, "document") => &["type", "document"],
            (TakenFields::Cerebras, "image") => &["type", "image"],
            _ => return None,
        })
    }

    /// Whether the service takes a raw part of its wire: it has such a part, and the part has no other fields.
    pub(crate) fn takes_part(self, json: &str) -> bool {
        if matches!(self, TakenFields::Any | TakenFields::Messages) {
            return true;
        }
        let Ok(part) = serde_json::from_str::<Map<String, Value>>(json) else { return false };
        // What a wire keeps beside a call or a message is no part, and its encoder knows what its service takes.
        if part.contains_key("besideCall") || part.contains_key("besideMessage") {
            return true;
        }
        let kind = part.get("type").and_then(Value::as_str);
        let known = kind.and_then(|kind| self.of_part(kind));
        known.is_some_and(|known| part.keys().all(|field| known.contains(&field.as_str())))
    }
}

/// Returns a repair for each field that the service does not take; whoever writes the messages leaves it out.
pub(crate) fn drop_unknown(messages: &[Message], rules: &WireRules, facts: &RequestFacts) -> Vec<Repair> {
    if rules.fields == TakenFields::Any || facts.fields.is_empty() {
        return Vec::new();
    }
    let mut by_node: HashMap<NodeId, Vec<&FieldFact>> = HashMap::new();
    for field in &facts.fields {
        by_node.entry(field.node).or_default().push(field);
    }
    let mut repairs = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = Place::message(index, message);
        let fields = message.node.and_then(|node| by_node.remove(&node)).unwrap_or_default();
        let refused =
            fields.into_iter().filter(|field| !rules.fields.takes(message.role, &field.holder, &field.name));
        repairs.extend(refused.map(|field| {
            let (holder, says_something) = (field.holder.clone(), field.says_something);
            let kind = RepairKind::FieldDropped { holder, field: field.name.clone(), says_something };
            Repair { at, kind }
        }));
    }
    repairs
}

/// Returns the fields that are left when those of the repairs are gone.
pub(crate) fn left(fields: &[FieldFact], repairs: &[Repair]) -> Vec<FieldFact> {
    let dropped = |repair: &'_ Repair| match &repair.kind {
        RepairKind::FieldDropped { holder, field, .. } => {
            Some((repair.at.node?, holder.clone(), field.clone()))
        }
        _ => None,
    };
    let dropped: HashSet<(NodeId, FieldHolder, String)> = repairs.iter().filter_map(dropped).collect();
    let stays = |field: &&FieldFact| {
        dropped.is_empty() || !dropped.contains(&(field.node, field.holder.clone(), field.name.clone()))
    };
    fields.iter().filter(stays).cloned().collect()
}

/// Fields that say something to machines only.
const BOOKKEEPING: &[&str] = &[
    "id",
    "index",
    "object",
    "type",
    "model",
    "usage",
    "name",
    "role developer",
    "stop_reason",
    "stop_sequence",
    "finish_reason",
    "cache_control",
    "prefix",
    "created_at",
    "timestamp",
];

/// Whether a field that says something says it to the model. Reasoning of another service is no loss: the model never sees it.
pub(crate) fn speaks_to_model(field: &str) -> bool {
    !BOOKKEEPING.contains(&field) && !field.starts_with("reasoning")
}
