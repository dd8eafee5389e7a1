//! Tells formats apart by what stands in a file.
//!
//! Never by its name: names are lost in pipes, and other agents call their files the same.

use std::borrow::Cow;

use crate::claude_code::is_whole_record;
use crate::format::Format;
use crate::json::{Fields, Value};
use crate::mend::mend;
use crate::packed;
use crate::salvage::{BLANK, Records, salvage};

const GEMINI: &str = "a request of Gemini, whose turns are made of parts";
const RESPONSES: &str = "a request of OpenAI Responses, whose input is made of items";

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
/// // Marks for a cache are part of several dialects of the other wire.
/// let marked = br#"{"stream_options": {}, "messages": [{"role": "user", "content": [
///     {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}]}"#;
/// assert_eq!(sniff(marked), Some(Format::OpenAiChat));
/// assert_eq!(sniff(b"hello"), None);
/// ```
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    look(bytes).ok().map(|seen| seen.format)
}

/// Returns the format of a file that no other format has, or `None` for a list that is as much of one wire as of the other.
///
/// Instructions that lead the list, and fields such as `tool_calls` even if they are empty, are of OpenAI Chat alone.
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
    let bytes = &packed::unpacked(bytes, &mut Vec::new()).map_err(|_| words("more than is unpacked"))?;
    match other(bytes) {
        Some(seen) => Err(seen),
        None => {
            let text = mend(bytes, &mut Vec::new());
            recognise(&text, Value::read(&text).as_ref().ok())
        }
    }
}

/// Says what a file is that holds no text.
pub(crate) fn other(bytes: &[u8]) -> Option<Unseen> {
    if bytes.starts_with(b"SQLite format 3\0") {
        return Some(database(bytes).map_or_else(|| words("a SQLite database"), Unseen::Agent));
    }
    None
}

/// Returns the agent whose database it is, by the tables that its first pages name: the statements that made them stand there
/// as text (their sources, read 2026-11).
fn database(bytes: &[u8]) -> Option<&'static str> {
    /// As much as the schema of a small program has.
    const SCHEMA: usize = 256 * 1024;
    let schema = bytes.get(..bytes.len().min(SCHEMA))?;
    let has = |words: &str| memchr::memmem::find(schema, words.as_bytes()).is_some();
    [
        ("goose", "content_json"),
        ("crush", "summary_message_id"),
        ("llm", "parent_hash"),
        ("LangGraph", "parent_checkpoint_id"),
        ("opencode", "time_compacting"),
    ]
    .into_iter()
    .find(|(_, field)| has(field))
    .map(|(agent, _)| agent)
}

/// Returns the format of a text that was mended, or what was seen instead, in words. `whole` is the text as one value, if it is
/// one.
pub(crate) fn recognise(text: &str, whole: Option<&Value<'_>>) -> Result<Seen, Unseen> {
    if let Some(whole) = whole {
        return document(whole);
    }
    match text.trim() {
        "" => Err(words("nothing")),
        _ if crate::opencode::begins(text) => Ok(Format::Opencode.into()),
        same if same.len() == text.len() => lines(text),
        // White space that JSON does not know.
        trimmed => match Value::read(trimmed) {
            Ok(whole) => document(&whole),
            Err(_) => lines(trimmed),
        },
    }
}

/// Recognises one JSON value.
fn document(whole: &Value<'_>) -> Result<Seen, Unseen> {
    if let Some(items) = whole.items() {
        return list(&items, None)
            .unwrap_or_else(|| Err("an array that is no list of messages".to_owned()))
            .map_err(Unseen::Words);
    }
    let Some(fields) = whole.fields() else {
        return Err(words("JSON that is neither an object nor an array"));
    };
    if let Some(agent) = agent_of(&fields) {
        return agent.seen();
    }
    if let Some(format) = session(&fields) {
        return format.map(Seen::from).ok_or_else(other_agent);
    }
    if let Some(items) = fields.items("messages") {
        return list(&items, Some(&fields))
            .unwrap_or_else(|| Err("an object whose `messages` are none that we know".to_owned()))
            .map_err(Unseen::Words);
    }
    if is_message(&fields) {
        return list(std::slice::from_ref(whole), None)
            .unwrap_or_else(|| Err("one object".to_owned()))
            .map_err(Unseen::Words);
    }
    if fields.items("contents").is_some() {
        return Err(words(GEMINI));
    }
    if fields.has("input") && (fields.has("model") || fields.has("instructions")) {
        return Err(words(RESPONSES));
    }
    Err(words("an object without `messages`"))
}

/// An agent whose sessions are known by how they begin.
enum Agent {
    /// They are read.
    Read(Format),
    /// They are not.
    Named(&'static str),
}

impl Agent {
    fn seen(self) -> Result<Seen, Unseen> {
        match self {
            Agent::Read(format) => Ok(format.into()),
            Agent::Named(agent) => Err(Unseen::Agent(agent)),
        }
    }
}

/// Returns the agent that alone writes such an object: its whole file, or the line that begins one (their sources, read
/// 2026-11).
fn agent_of(fields: &Fields<'_>) -> Option<Agent> {
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    match fields.text("type").as_deref() {
        Some("session_meta") if all(&["payload"]) => return Some(Agent::Read(Format::Codex)),
        // Its first line may be lost; what follows has an envelope that is its own.
        Some("response_item" | "event_msg" | "turn_context" | "compacted")
            if all(&["payload", "timestamp"]) =>
        {
            return Some(Agent::Read(Format::Codex));
        }
        Some("session") if all(&["id", "cwd"]) => return Some(Agent::Read(Format::Pi)),
        // The title of oh-my-pi, in front of the header.
        Some("title") if all(&["v", "updatedAt", "pad"]) => return Some(Agent::Read(Format::Pi)),
        _ => {}
    }
    // The header of a rollout before 0.32.
    if all(&["id", "timestamp", "instructions"]) && !fields.has("type") {
        return Some(Agent::Read(Format::Codex));
    }
    if all(&["sessionId", "projectHash"]) {
        return Some(Agent::Read(Format::GeminiCli));
    }
    let first_is = |is: fn(&Fields<'_>) -> bool| {
        let items = fields.items("messages").unwrap_or_default();
        items.first().and_then(Value::fields).is_some_and(|one| is(&one))
    };
    let is_begun = |info: Cow<'_, Fields<'_>>| {
        let is_empty = fields.items("messages").is_some_and(|messages| messages.is_empty());
        is_empty && info.text("id").is_some_and(|id| id.starts_with("ses_"))
    };
    if fields.object("info").is_some() && first_is(|one| one.has("info") && one.has("parts"))
        || fields.object("info").is_some_and(is_begun)
    {
        return Some(Agent::Read(Format::Opencode));
    }
    all(&["mapping", "current_node"]).then_some(Agent::Named("ChatGPT"))
}

/// Recognises JSON lines by the first that tells.
fn lines(text: &str) -> Result<Seen, Unseen> {
    let mut perhaps = None;
    let mut objects = Vec::new();
    let lines = text.lines().map(|line| line.trim_matches(BLANK)).filter(|line| !line.is_empty());
    for line in lines.take(LINES) {
        for raw in objects_on(line) {
            let Some(fields) = raw.fields() else { continue };
            if let Some(agent) = agent_of(&fields).filter(|_| objects.is_empty()) {
                return agent.seen();
            }
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
            drop(fields);
            objects.push(raw);
        }
    }
    let listed = || list(&objects, None).map(|seen| seen.map_err(Unseen::Words));
    perhaps.map(Ok).or_else(listed).unwrap_or_else(|| {
        Err(match objects.len() {
            0 => words("no JSON"),
            count => Unseen::Words(format!("{count} JSON lines of another kind")),
        })
    })
}

/// Returns the object on a line, or those that can be read of a damaged one.
fn objects_on(line: &str) -> Vec<Value<'_>> {
    match Value::read(line) {
        Ok(raw) => vec![raw],
        Err(fault) => {
            let found = salvage(line, &fault, Records::WithId, |fields| {
                is_whole_record(fields) || is_message(fields)
            });
            let raws = found.records.iter().map(|(raw, _)| Value::read(raw));
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

/// What speaks for each of the two formats of lists that are read, each trait once.
#[derive(Copy, Clone, Default)]
struct Traits {
    anthropic: usize,
    openai: usize,
}

impl Traits {
    fn add(&mut self, format: Format) {
        match format {
            Format::Anthropic => self.anthropic += 1,
            _ => self.openai += 1,
        }
    }
}

/// Tells the wires of message lists apart by all that is in them.
///
/// Nothing for a list of something else, and words for the request of a wire that is not read here: taken for a wire that it
/// is not, it would lose what only its own has.
fn list(items: &[Value<'_>], body: Option<&Fields<'_>>) -> Option<Result<Seen, String>> {
    let mut others = Others::default();
    let mut traits = Traits::default();
    let mut messages = Vec::with_capacity(items.len());
    // All that is asked of a message is asked in one go: a file is larger than what a processor has at hand.
    for message in items.iter().filter_map(Value::fields) {
        others.count(&message);
        if is_message(&message) {
            wire_of(&message).into_iter().for_each(|format| traits.add(format));
            messages.push(message);
        }
    }
    if let Some(wire) = others.wire(body) {
        return Some(Err(wire.to_owned()));
    }
    // Logs of other agents hold a message here and there; a list holds little else.
    let is_list = messages.len() * 2 >= items.len().max(1) || (items.is_empty() && body.is_some());
    if !is_list {
        return None;
    }
    if let Some(body) = body {
        traits_of_body(body, &mut traits);
    }
    let Traits { anthropic, openai } = traits;
    if anthropic + openai > 0 {
        // A damaged list may hold both; what there is more of is what it was. As much of both is of either.
        let format = if openai > anthropic { Format::OpenAiChat } else { Format::Anthropic };
        return Some(Ok(Seen { format, is_only: anthropic != openai }));
    }
    // Weaker than what a message holds: who mends a list by hand puts instructions into any.
    let is_instructed = |message: &Fields<'_>| message.text("role").as_deref() == Some("system");
    let leads = messages.first().is_some_and(|message| is_instructed(message));
    let is_marked = messages.iter().any(|message| has_marks(message));
    if leads || (!is_marked && messages.iter().any(|message| is_instructed(message))) {
        return Some(Ok(Format::OpenAiChat.into()));
    }
    let model = body.and_then(|body| body.text("model"));
    let is_anthropic = is_marked || model.is_some_and(|model| model.starts_with("claude"));
    let format = if is_anthropic { Format::Anthropic } else { Format::OpenAiChat };
    Some(Ok(Seen { format, is_only: false }))
}

/// Returns the wire that one message can only be of.
fn wire_of(fields: &Fields<'_>) -> Option<Format> {
    let of_openai = |name: &&str| {
        matches!(
            *name,
            "tool_calls"
                | "tool_call_id"
                | "function_call"
                | "reasoning_content"
                | "reasoning"
                | "reasoning_details"
                | "refusal"
                | "annotations"
                | "audio"
        )
    };
    let role = fields.text("role")?;
    let own = || fields.entries().map(|(name, _)| name).filter(of_openai);
    let says = |name: &str| fields.get(name).is_some_and(|raw| !is_empty(raw));
    if matches!(role.as_ref(), "tool" | "developer" | "function") || own().any(says) {
        return Some(Format::OpenAiChat);
    }
    let content = fields.items("content").unwrap_or_default();
    let told = content.iter().filter_map(Value::fields).find_map(|block| wire_of_block(&block));
    // An empty field says less than a block, and more than plain words.
    told.or_else(|| own().next().map(|_| Format::OpenAiChat))
}

fn is_empty(value: &Value<'_>) -> bool {
    value.items().is_some_and(|items| items.is_empty())
}

fn wire_of_block(block: &Fields<'_>) -> Option<Format> {
    match block.text("type")?.as_ref() {
        "image_url" | "video_url" | "document_url" | "input_audio" | "file" | "refusal" => {
            Some(Format::OpenAiChat)
        }
        // Mistral's reasoning is a list of parts.
        "thinking" if block.items("thinking").is_some() => Some(Format::OpenAiChat),
        "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
        | "search_result" | "container_upload" | "compaction" | "tool_addition" | "tool_removal" => {
            Some(Format::Anthropic)
        }
        kind if kind.ends_with("_tool_result") || kind.ends_with("_tool_use") => Some(Format::Anthropic),
        _ => None,
    }
}

/// Whether a text has what Anthropic has and gateways of the other wire pass on to it: breakpoints of the cache, citations.
fn has_marks(message: &Fields<'_>) -> bool {
    let content = message.items("content").unwrap_or_default();
    content.iter().filter_map(Value::fields).any(|block| block.has("cache_control") || block.has("citations"))
}

/// Counts the fields of a request that only one of the two has. Fields that both have, or a dialect of the other, say nothing.
fn traits_of_body(body: &Fields<'_>, traits: &mut Traits) {
    const ANTHROPIC: [&str; 8] = [
        "system",
        "anthropic_version",
        "anthropic_beta",
        "stop_sequences",
        "output_config",
        "context_management",
        "mcp_servers",
        "container",
    ];
    const OPENAI: [&str; 20] = [
        "max_completion_tokens",
        "stream_options",
        "response_format",
        "parallel_tool_calls",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "n",
        "seed",
        "random_seed",
        "stop",
        "functions",
        "function_call",
        "reasoning_effort",
        "reasoning",
        "modalities",
        "prompt_cache_key",
        "user",
    ];
    traits.anthropic += ANTHROPIC.iter().filter(|name| body.get(name).is_some()).count();
    traits.openai += OPENAI.iter().filter(|name| body.get(name).is_some()).count();
    let tools = body.items("tools").unwrap_or_default();
    let of_tool = |tool: Cow<'_, Fields<'_>>| match () {
        () if tool.object("function").is_some() => Some(Format::OpenAiChat),
        () if tool.has("input_schema") => Some(Format::Anthropic),
        () => None,
    };
    tools
        .iter()
        .filter_map(Value::fields)
        .find_map(of_tool)
        .into_iter()
        .for_each(|format| traits.add(format));
    let choice = body.get("tool_choice").and_then(|choice| match choice.fields() {
        Some(choice) if choice.object("function").is_some() => Some(Format::OpenAiChat),
        Some(choice) => {
            let kind = choice.text("type");
            matches!(kind.as_deref(), Some("auto" | "any" | "tool" | "none")).then_some(Format::Anthropic)
        }
        None => Some(Format::OpenAiChat),
    });
    choice.into_iter().for_each(|format| traits.add(format));
}

/// What speaks for wires that are not read here, and what against them.
#[derive(Default)]
struct Others {
    bedrock: usize,
    ollama: usize,
    responses: usize,
    gemini: usize,
    ours: usize,
}

impl Others {
    fn count(&mut self, message: &Fields<'_>) {
        let is = |name: &str| message.has(name);
        if is("images") || is("tool_name") {
            let ollama = message.items("images").is_some() || message.text("tool_name").is_some();
            self.ollama += usize::from(ollama);
        }
        if is("parts") && !is("content") {
            let turn = matches!(message.text("role").as_deref(), Some("user" | "model" | "function"));
            self.gemini += usize::from(turn && message.items("parts").is_some());
        }
        let item = ["function_call", "function_call_output", "reasoning", "item_reference"];
        self.responses += usize::from(message.text("type").is_some_and(|kind| item.contains(&kind.as_ref())));
        for block in message.items("content").unwrap_or_default().iter().filter_map(Value::fields) {
            let named =
                ["text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "citationsContent"];
            let media = ["image", "document", "video", "audio"];
            match block.text("type").as_deref() {
                Some("input_text" | "output_text" | "input_image" | "input_file") => self.responses += 1,
                Some(_) => self.ours += 1,
                None if named.iter().chain(&media).any(|name| block.get(name).is_some()) => self.bedrock += 1,
                None => {}
            }
        }
    }

    /// Returns what the request is, in words.
    fn wire(&self, body: Option<&Fields<'_>>) -> Option<&'static str> {
        const BEDROCK: &str = "a request of Bedrock Converse, whose blocks have names and no type";
        const OLLAMA: &str =
            "a request of Ollama's own chat, which keeps pictures, names and settings in fields of its own";
        let has = |names: &[&str]| body.is_some_and(|body| names.iter().any(|name| body.get(name).is_some()));
        if has(&["inferenceConfig", "toolConfig", "additionalModelRequestFields", "guardrailConfig"]) {
            return Some(BEDROCK);
        }
        let Others { bedrock, ollama, responses, gemini, ours } = *self;
        let most = bedrock.max(ollama).max(responses).max(gemini);
        match () {
            () if most <= ours && !(has(&["options", "keep_alive"]) && ollama > 0) => None,
            () if bedrock == most => Some(BEDROCK),
            () if responses == most => Some(RESPONSES),
            () if gemini == most => Some(GEMINI),
            () => Some(OLLAMA),
        }
    }
}
