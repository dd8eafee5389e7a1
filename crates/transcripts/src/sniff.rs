//! Tells formats apart by what stands in a file.
//!
//! Never by its name: names are lost in pipes, and other agents call their files the same.

use serde_json::value::RawValue;

use crate::Format;
use crate::claude_code::is_whole_record;
use crate::json::{self, Fields};
use crate::mend::mend;
use crate::salvage::{BLANK, salvage};

/// How many lines are looked at. A session may begin with many records that other agents could have written too.
const LINES: usize = 1_000;

/// Returns the format of a file, or `None` if it is none that we know.
///
/// ```
/// use trunkline_transcripts::{Format, sniff};
///
/// let list = br#"[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]"#;
/// assert_eq!(sniff(list), Some(Format::Anthropic));
/// // Where nothing but words is said the wires do not differ.
/// assert_eq!(sniff(br#"[{"role": "user", "content": "hi"}]"#), Some(Format::OpenAiChat));
/// assert_eq!(sniff(b"hello"), None);
/// ```
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    look(bytes).ok().map(|seen| seen.format)
}

/// Returns the format of a file that no other format has, or `None` for a list of words that is of every wire.
///
/// Instructions inside of the list, and fields such as `tool_calls` even if they are empty, are of OpenAI Chat alone.
///
/// ```
/// use trunkline_transcripts::{Format, sniff_only};
///
/// let instructed = br#"[{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]"#;
/// assert_eq!(sniff_only(instructed), Some(Format::OpenAiChat));
/// assert_eq!(sniff_only(br#"[{"role": "user", "content": "hi"}]"#), None);
/// ```
pub fn sniff_only(bytes: &[u8]) -> Option<Format> {
    look(bytes).ok().filter(|seen| seen.is_only).map(|seen| seen.format)
}

/// What a file looks like.
pub(crate) struct Seen {
    pub(crate) format: Format,
    /// Whether no other format has what stands in it.
    pub(crate) is_only: bool,
}

impl From<Format> for Seen {
    fn from(format: Format) -> Self {
        Seen { format, is_only: true }
    }
}

/// What a file is that cannot be read.
pub(crate) enum Unseen {
    /// A session of an agent that is known by name.
    Agent(&'static str),
    /// Something else, in words.
    Words(String),
}

fn words(seen: &str) -> Unseen {
    Unseen::Words(seen.to_owned())
}

fn look(bytes: &[u8]) -> Result<Seen, Unseen> {
    match other(bytes) {
        Some(seen) => Err(Unseen::Words(seen)),
        None => recognise(&mend(bytes, &mut Vec::new())),
    }
}

/// Says what a file is that holds no text.
pub(crate) fn other(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(b"SQLite format 3\0") {
        return Some("a SQLite database".to_owned());
    }
    bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]).then(|| "zstd; decompress it first".to_owned())
}

/// Returns the format of a text that was mended, or what was seen instead, in words.
pub(crate) fn recognise(text: &str) -> Result<Seen, Unseen> {
    let text = text.trim();
    if text.is_empty() {
        return Err(words("nothing"));
    }
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => document(raw),
        Err(_) => lines(text),
    }
}

/// Recognises one JSON value.
fn document(raw: &RawValue) -> Result<Seen, Unseen> {
    if let Some(items) = json::items(raw) {
        return list(&items, None).ok_or_else(|| words("an array that is no list of messages"));
    }
    let Some(fields) = Fields::of(raw) else {
        return Err(words("JSON that is neither an object nor an array"));
    };
    if let Some(agent) = agent_of(&fields) {
        return Err(Unseen::Agent(agent));
    }
    if let Some(format) = session(&fields) {
        return format.map(Seen::from).ok_or_else(other_agent);
    }
    if let Some(items) = fields.items("messages") {
        return list(&items, Some(&fields))
            .ok_or_else(|| words("an object whose `messages` are none that we know"));
    }
    if is_message(&fields) {
        return list(&[raw], None).ok_or_else(|| words("one object"));
    }
    Err(words("an object without `messages`"))
}

/// Returns the agent that alone writes such an object: its whole file, or the line that begins one (their sources, read
/// 2026-11).
fn agent_of(fields: &Fields<'_>) -> Option<&'static str> {
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    match fields.text("type").as_deref() {
        Some("session_meta") if all(&["payload"]) => return Some("Codex"),
        Some("session") if all(&["id", "cwd"]) => return Some("pi"),
        _ => {}
    }
    if all(&["sessionId", "projectHash"]) {
        return Some("Gemini CLI");
    }
    let first = || fields.items("messages").and_then(|items| items.first().and_then(|one| Fields::of(one)));
    if fields.object("info").is_some() && first().is_some_and(|one| one.has("info") && one.has("parts")) {
        return Some("opencode");
    }
    all(&["mapping", "current_node"]).then_some("ChatGPT")
}

/// Recognises JSON lines by the first that tells.
fn lines(text: &str) -> Result<Seen, Unseen> {
    let mut perhaps = None;
    let mut objects = Vec::new();
    let lines = text.lines().map(|line| line.trim_matches(BLANK)).filter(|line| !line.is_empty());
    for line in lines.take(LINES) {
        for raw in objects_on(line) {
            let Some(fields) = Fields::of(raw) else { continue };
            if let Some(agent) = agent_of(&fields).filter(|_| objects.is_empty()) {
                return Err(Unseen::Agent(agent));
            }
            objects.push(raw);
            match session(&fields) {
                Some(Some(format)) => return Ok(format.into()),
                Some(None) => return Err(other_agent()),
                None => {}
            }
            // These hold no message; they begin files of this client.
            if fields.has("leafUuid") && fields.has("summary")
                || fields.has("snapshot") && fields.has("messageId")
            {
                perhaps = Some(Seen::from(Format::ClaudeCode));
            }
        }
    }
    perhaps.or_else(|| list(&objects, None)).ok_or_else(|| match objects.len() {
        0 => words("no JSON"),
        count => Unseen::Words(format!("{count} JSON lines of another kind")),
    })
}

/// Returns the object on a line, or those that can be read of a damaged one.
fn objects_on(line: &str) -> Vec<&RawValue> {
    match serde_json::from_str::<&RawValue>(line) {
        Ok(raw) => vec![raw],
        Err(fault) => {
            let found = salvage(line, &fault, |fields| is_whole_record(fields) || is_message(fields));
            let raws = found.records.iter().map(|(raw, _)| serde_json::from_str::<&RawValue>(raw));
            raws.flatten().collect()
        }
    }
}

fn other_agent() -> Unseen {
    words("a session of another agent")
}

/// Tells whether a line is a session's record, and whether of a session that we can read.
fn session(fields: &Fields<'_>) -> Option<Option<Format>> {
    let known = fields.has("sessionId") && fields.has("uuid") || fields.has("isSidechain");
    let kind = fields.text("type")?;
    if matches!(kind.as_ref(), "user" | "assistant") {
        let message = fields.object("message");
        let is = |name: &str| message.as_ref().is_some_and(|message| message.has(name));
        // Some agents share the envelope and keep their messages in other shapes.
        return match (is("content"), is("parts")) {
            (true, _) if known || fields.has("sessionId") || fields.has("uuid") => {
                Some(Some(Format::ClaudeCode))
            }
            (false, true) => Some(None),
            _ => None,
        };
    }
    let own =
        known && fields.has("parentUuid") && matches!(kind.as_ref(), "progress" | "attachment" | "system");
    // The envelope of another agent holds its payload in a field of its own.
    (own && !fields.has("systemPayload")).then_some(Some(Format::ClaudeCode))
}

/// Tells whether an object is a message of a list.
pub(crate) fn is_message(fields: &Fields<'_>) -> bool {
    const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];
    let role = fields.text("role");
    let plain = fields.text("type").is_none_or(|kind| kind == "message");
    role.is_some_and(|role| ROLES.contains(&role.as_ref()))
        && plain
        && (fields.has("content") || fields.has("tool_calls") || fields.has("function_call"))
}

/// Tells the wires of message lists apart; `None` for a list of something else.
fn list(items: &[&RawValue], body: Option<&Fields<'_>>) -> Option<Seen> {
    let messages: Vec<_> = items.iter().filter_map(|item| Fields::of(item)).filter(is_message).collect();
    // Logs of other agents hold a message here and there; a list holds little else.
    let is_list = messages.len() * 2 >= items.len().max(1) || (items.is_empty() && body.is_some());
    if !is_list {
        return None;
    }
    // A damaged list may hold both; what there is more of is what it was.
    let told = messages.iter().filter_map(wire_of);
    let (anthropic, openai): (Vec<_>, Vec<_>) = told.partition(|format| *format == Format::Anthropic);
    if anthropic.len() + openai.len() > 0 {
        let is_openai = openai.len() > anthropic.len();
        return Some(if is_openai { Format::OpenAiChat.into() } else { Format::Anthropic.into() });
    }
    if body.is_some_and(|body| body.has("system") || body.has("anthropic_version")) {
        return Some(Format::Anthropic.into());
    }
    // Weaker than what a message holds: who mends a list by hand puts instructions into any.
    if messages.iter().any(|message| message.text("role").as_deref() == Some("system")) {
        return Some(Format::OpenAiChat.into());
    }
    let model = body.and_then(|body| body.text("model"));
    let is_anthropic = model.is_some_and(|model| model.starts_with("claude"));
    let format = if is_anthropic { Format::Anthropic } else { Format::OpenAiChat };
    Some(Seen { format, is_only: false })
}

/// Returns the wire that one message can only be of.
fn wire_of(fields: &Fields<'_>) -> Option<Format> {
    let role = fields.text("role")?;
    let openai_field = ["tool_calls", "tool_call_id", "function_call", "reasoning_content", "refusal"];
    let says = |name: &&str| fields.get(name).is_some_and(|raw| !is_empty(raw));
    if matches!(role.as_ref(), "tool" | "developer" | "function") || openai_field.iter().any(says) {
        return Some(Format::OpenAiChat);
    }
    let blocks = fields.items("content").unwrap_or_default().into_iter().filter_map(Fields::of);
    let told = blocks.filter_map(|block| wire_of_block(&block)).next();
    // An empty field says less than a block, and more than plain words.
    told.or_else(|| openai_field.iter().any(|name| fields.has(name)).then_some(Format::OpenAiChat))
}

fn is_empty(raw: &RawValue) -> bool {
    json::items(raw).is_some_and(|items| items.is_empty())
}

fn wire_of_block(block: &Fields<'_>) -> Option<Format> {
    match block.text("type")?.as_ref() {
        "text" if block.has("cache_control") || block.has("citations") => Some(Format::Anthropic),
        "image_url" | "input_audio" | "file" | "refusal" => Some(Format::OpenAiChat),
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document" => {
            Some(Format::Anthropic)
        }
        kind if kind.ends_with("_tool_result") || kind.ends_with("_tool_use") => Some(Format::Anthropic),
        _ => None,
    }
}
