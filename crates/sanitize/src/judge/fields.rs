//! Judges fields that the vocabulary has no word for, and raw parts, where a service refuses what it does not know.

use serde_json::Value;
use trunkline_message_tree::{Message, Role};

use super::Case;
use crate::{FieldHolder, Place, TakenFields, ViolationKind};

/// Judges the fields that somebody told of.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message]) {
    for field in &case.facts.fields {
        let found = messages.iter().position(|message| message.node == Some(field.node));
        let Some((index, message)) = found.and_then(|at| Some((at, messages.get(at)?))) else { continue };
        if !has_field(case.rules.fields, message.role, &field.holder, &field.name) {
            let (holder, name) = (field.holder.clone(), field.name.clone());
            case.find(Place::message(index, message), ViolationKind::FieldRefused { holder, field: name });
        }
    }
}

/// Whether the schema of the service has such a field.
fn has_field(service: TakenFields, role: Role, holder: &FieldHolder, name: &str) -> bool {
    let strict_chat = matches!(service, TakenFields::Mistral | TakenFields::Groq | TakenFields::Cerebras);
    match holder {
        _ if service == TakenFields::Any => true,
        FieldHolder::Message if service == TakenFields::Messages => matches!(name, "role" | "content"),
        _ if !strict_chat => true,
        FieldHolder::Message => match name {
            "role" | "content" => true,
            "tool_calls" => role == Role::Assistant,
            "tool_call_id" => role == Role::Tool,
            "name" => role == Role::Tool || service != TakenFields::Mistral,
            "reasoning" => role == Role::Assistant && service != TakenFields::Mistral,
            "role developer" => role == Role::System && service != TakenFields::Mistral,
            "prefix" => role == Role::Assistant && service == TakenFields::Mistral,
            _ => false,
        },
        FieldHolder::Part(kind) => has_part_field(service, kind, name),
        FieldHolder::Call => {
            matches!(name, "id" | "type" | "function")
                || (name == "index" && service == TakenFields::Cerebras)
        }
        FieldHolder::Function => matches!(name, "name" | "arguments"),
    }
}

fn has_part_field(service: TakenFields, kind: &str, name: &str) -> bool {
    let own = match (service, kind) {
        (_, "text" | "image_url") => kind == name,
        (TakenFields::Mistral, "document_url") => matches!(name, "document_url" | "document_name"),
        (TakenFields::Mistral, "reference") => name == "reference_ids",
        (TakenFields::Mistral, "file") => name == "file_id",
        (TakenFields::Mistral, "thinking") => matches!(name, "thinking" | "closed" | "signature"),
        (TakenFields::Mistral, "input_audio") => name == "input_audio",
        (TakenFields::Groq, "document") => name == "document",
        (TakenFields::Cerebras, "image") => name == "image",
        _ => return false,
    };
    own || name == "type"
}

impl Case<'_> {
    /// Whether the service has such a part in its schema, with these fields and no others.
    pub(super) fn has_part(&self, json: &str) -> bool {
        let service = self.rules.fields;
        if matches!(service, TakenFields::Any | TakenFields::Messages) {
            return true;
        }
        let part: Value = serde_json::from_str(json).unwrap_or_default();
        let kept_beside = ["besideCall", "besideMessage"].iter().any(|name| !part[*name].is_null());
        if kept_beside {
            return true;
        }
        let fields = part.as_object().map(|part| part.keys().map(String::as_str).collect::<Vec<_>>());
        match (part["type"].as_str(), fields) {
            (Some(kind), Some(fields)) => fields.into_iter().all(|name| has_part_field(service, kind, name)),
            _ => false,
        }
    }
}
