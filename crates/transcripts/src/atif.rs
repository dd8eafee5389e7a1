//! Messages as a trajectory of the Agent Trajectory Interchange Format, version 1.8, for viewers and trainers.
//!
//! What a step may hold, and of which source, is the format's own model's word (its package atif 1.8.0, read 2026-11): unknown
//! fields are refused, steps are counted from 1, and results stand in the step of their call.

use serde_json::{Map, Value, json};
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolResult,
};

use crate::conversation::{Heading, Written};
use crate::source::Losses;

const VERSION: &str = "ATIF-v1.8";
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Writes messages as one trajectory. Of the heading it takes the id and the title.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_transcripts::{Heading, export_atif};
///
/// let written = export_atif(&[Message::user("hi"), Message::assistant("hello")], &Heading::default());
/// let text = String::from_utf8(written.bytes)?;
/// assert!(text.contains(r#""schema_version": "ATIF-v1.8""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export_atif(messages: &[Message], heading: &Heading) -> Written {
    let mut losses = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut losses = Losses { list: &mut losses, message: index, node: message.node };
        for block in &message.content {
            if let Content::ToolResult(result) = block {
                add_result(&mut steps, result, &mut losses);
            }
        }
        let says = message.content.iter().any(|block| !matches!(block, Content::ToolResult(_)));
        if says || !message.brings_results() {
            steps.push(step(message, &mut losses));
        }
    }
    let used = messages.iter().filter_map(|message| message.usage);
    let (mut prompt, mut completion, mut cached) = (0_u64, 0_u64, 0_u64);
    for usage in used {
        prompt = prompt.saturating_add(usage.input_tokens);
        completion = completion.saturating_add(usage.output_tokens);
        cached = cached.saturating_add(usage.cache_read_tokens);
    }
    let model =
        messages.iter().rev().find_map(|message| message.origin.as_ref()).map(|origin| origin.model.as_str());
    let count = steps.len();
    let mut trajectory = json!({
        "schema_version": VERSION,
        "session_id": heading.id,
        "agent": { "name": "trunkline", "version": env!("CARGO_PKG_VERSION"), "model_name": model },
        "steps": steps.into_iter().zip(1..).map(|(step, number)| step.json(number)).collect::<Vec<Value>>(),
        "final_metrics": {
            "total_prompt_tokens": prompt,
            "total_completion_tokens": completion,
            "total_cached_tokens": cached,
            "total_steps": count,
        },
    });
    if !heading.title.is_empty() {
        trajectory["extra"] = json!({ "title": heading.title });
    }
    let mut bytes = format!("{trajectory:#}").into_bytes();
    bytes.push(b'\n');
    Written { bytes, losses }
}

/// A step on its way.
#[derive(Default)]
struct Step {
    fields: Map<String, Value>,
    calls: Vec<String>,
    results: Vec<Value>,
}

impl Step {
    fn json(mut self, number: usize) -> Value {
        self.fields.insert("step_id".to_owned(), json!(number));
        if !self.results.is_empty() {
            self.fields.insert("observation".to_owned(), json!({ "results": self.results }));
        }
        Value::Object(self.fields)
    }
}

fn step(message: &Message, losses: &mut Losses<'_>) -> Step {
    let mut step = Step::default();
    let source = match message.role {
        Role::System => "system",
        Role::Assistant => "agent",
        Role::User | Role::Tool => "user",
    };
    let is_agent = message.role == Role::Assistant;
    let (mut parts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for block in &message.content {
        match block {
            Content::Text { text } => parts.push(json!({ "type": "text", "text": text })),
            Content::Thinking { text, .. } if is_agent => thoughts.push(text.as_str()),
            Content::Image(media) => match picture(media) {
                Some(part) => parts.push(part),
                None => losses.note(format!("a picture of type {}", media.media_type)),
            },
            Content::ToolCall(call) if is_agent => {
                step.calls.push(call.id.clone());
                calls.push(called(call, losses));
            }
            Content::ToolResult(_) => {}
            Content::Thinking { .. } | Content::ToolCall(_) => {
                losses.note("what only a model says".to_owned())
            }
            Content::RedactedThinking { .. } => losses.note("encrypted reasoning".to_owned()),
            Content::Document(_) => losses.note("a document".to_owned()),
            Content::ServerCall { .. } | Content::ServerResult { .. } => {
                losses.note("a tool that the provider ran".to_owned());
            }
            Content::Opaque { wire, .. } => losses.note(format!("a block that only {wire} has")),
        }
    }
    let mut set = |name: &str, value: Value| step.fields.insert(name.to_owned(), value);
    set("source", json!(source));
    set("message", words(parts));
    if is_agent {
        if !thoughts.is_empty() {
            set("reasoning_content", json!(thoughts.join("\n")));
        }
        if !calls.is_empty() {
            set("tool_calls", json!(calls));
        }
        if let Some(origin) = &message.origin {
            set("model_name", json!(origin.model));
        }
        if let Some(usage) = message.usage {
            set(
                "metrics",
                json!({
                    "prompt_tokens": usage.input_tokens,
                    "completion_tokens": usage.output_tokens,
                    "cached_tokens": usage.cache_read_tokens,
                }),
            );
        }
    } else if message.role == Role::User && message.author != Author::Person {
        set("extra", json!({ "author": message.author }));
    }
    step
}

/// Returns text parts as one text; pictures among them need the list.
fn words(parts: Vec<Value>) -> Value {
    if parts.iter().any(|part| part["type"] != "text") {
        return Value::Array(parts);
    }
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    Value::String(texts.join("\n"))
}

fn called(call: &ToolCall, losses: &mut Losses<'_>) -> Value {
    match call.parse_arguments() {
        Ok(arguments) => {
            json!({ "tool_call_id": call.id, "function_name": call.name, "arguments": arguments })
        }
        Err(_) => {
            losses.note("arguments that are no JSON object stand beside the call".to_owned());
            json!({
                "tool_call_id": call.id,
                "function_name": call.name,
                "arguments": {},
                "extra": { "arguments_text": call.arguments },
            })
        }
    }
}

/// Puts a result into the step of its call; one without a call becomes a step of the system.
fn add_result(steps: &mut Vec<Step>, result: &ToolResult, losses: &mut Losses<'_>) {
    let mut parts = Vec::new();
    for part in &result.content {
        match part {
            Part::Text { text } => parts.push(json!({ "type": "text", "text": text })),
            Part::Image(media) => match picture(media) {
                Some(part) => parts.push(part),
                None => losses.note(format!("a picture of type {}", media.media_type)),
            },
            Part::Document(_) => losses.note("a document".to_owned()),
            Part::Opaque { wire, .. } => losses.note(format!("a part that only {wire} has")),
        }
    }
    let mut told = json!({ "content": words(parts) });
    if result.is_error {
        told["extra"] = json!({ "is_error": true });
    }
    let caller = steps.iter_mut().rev().find(|step| step.calls.contains(&result.call_id));
    match caller {
        Some(step) => {
            told["source_call_id"] = json!(result.call_id);
            step.results.push(told);
        }
        None => {
            losses.note(format!("the id of a result whose call is not here: {}", result.call_id));
            let mut step = Step { results: vec![told], ..Step::default() };
            step.fields.insert("source".to_owned(), json!("system"));
            step.fields.insert("message".to_owned(), json!(""));
            steps.push(step);
        }
    }
}

fn picture(media: &Media) -> Option<Value> {
    let path = match &media.source {
        MediaSource::Url(url) => url.clone(),
        MediaSource::Base64(bytes) => format!("data:{};base64,{bytes}", media.media_type),
    };
    let source = json!({ "media_type": media.media_type, "path": path });
    PICTURES.contains(&media.media_type.as_str()).then(|| json!({ "type": "image", "source": source }))
}
