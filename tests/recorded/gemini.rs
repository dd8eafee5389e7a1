//! `generateContent` requests of Gemini.
//!
//! Its client libraries write some fields in camel case and some in snake case; the service takes both. Calls may come
//! without ids; then they get one by position, and their results find them by name.

use serde_json::Value;
use trunkline_message_tree::{Content, MediaSource, Part, Role, ToolChoice};
use trunkline_providers::{OutputSchema, Request, Thinking as Asked};
use trunkline_sanitize::Thinking;

use super::fields::{Fields, effort, tool};
use super::history::{self, Beside, History, Read, Reading, each, is_filled, text_of};

const WIRE: &str = "gemini";

/// Reads a request.
pub(super) fn read(body: &Value) -> Read<Reading> {
    let body = &camel(body);
    let config = field(&body["generationConfig"], "thinkingConfig", "thinking_config");
    let thinking = match config["thinkingBudget"].as_i64() {
        Some(0) => Thinking::Off,
        // It thinks as it sees fit unless it is told not to (recorded).
        _ => Thinking::Adaptive,
    };
    let choice =
        field(field(body, "toolConfig", "tool_config"), "functionCallingConfig", "function_calling_config");
    let forced = choice["mode"].as_str() == Some("ANY");
    // What is cached at the provider may hold tools too.
    let offered = body["cachedContent"].is_null().then(|| is_filled(&body["tools"]));
    let mut history = History { facts: history::facts(thinking, forced, offered), ..History::default() };
    let system = field(body, "systemInstruction", "system_instruction");
    if !system.is_null() {
        let content: Read<Vec<Content>> = each(&system["parts"]).map(block).collect();
        history.push(Role::System, content?);
    }
    for content in each(&body["contents"]) {
        match content["role"].as_str() {
            Some("model") => push_model(&mut history, content)?,
            Some("user" | "function") | None => push_user(&mut history, content)?,
            _ => return Err(format!("a turn of role {}", content["role"])),
        }
    }
    Ok(settings(body, history))
}

fn settings(body: &Value, history: History) -> Reading {
    let mut reading = Reading::of(history);
    let request = &mut reading.settings;
    let mut fields = Fields::of(body);
    for taken in ["contents", "systemInstruction", "system_instruction"] {
        fields.take(taken);
    }
    // On the developer API the model stands in the path; some clients repeat it.
    request.model = fields.text("model").unwrap_or_default();
    let mut config = Fields::of(&fields.take("generationConfig").unwrap_or_default());
    request.max_output_tokens = config.whole("maxOutputTokens");
    request.temperature = config.number("temperature");
    request.top_p = config.number("topP");
    request.top_k = config.whole("topK");
    request.seed = config.read("seed", Value::as_u64);
    request.presence_penalty = config.number("presencePenalty");
    request.frequency_penalty = config.number("frequencyPenalty");
    request.stop = config.texts("stopSequences").unwrap_or_default();
    let json = config.read("responseMimeType", |kind| (kind == "application/json").then_some(()));
    let schema = config.take("responseJsonSchema");
    request.output = match (json, schema) {
        (Some(()), Some(schema)) => Some(OutputSchema::new("output", schema)),
        (json, schema) => {
            json.into_iter().for_each(|()| config.put("responseMimeType", "application/json".into()));
            schema.into_iter().for_each(|schema| config.put("responseJsonSchema", schema));
            None
        }
    };
    let said = config.read("thinkingConfig", |thinking| {
        let mut thinking = Fields::of(thinking);
        let asked = match (thinking.whole("thinkingBudget"), thinking.text("thinkingLevel")) {
            (Some(0), None) => Asked::Off,
            (Some(budget), None) => Asked::Budget(budget),
            (None, Some(level)) => Asked::Effort(effort(&Value::String(level.to_lowercase()))?),
            _ => return None,
        };
        // We ask for thoughts with everything but their absence.
        let ours = asked != Asked::Off;
        let _ours = thinking.read("includeThoughts", |shown| (*shown == ours).then_some(()));
        thinking.is_empty().then_some(asked)
    });
    request.thinking = said.unwrap_or_default();
    if !config.is_empty() {
        fields.put("generationConfig", Value::Object(config.rest()));
    }
    tools(&mut fields, request);
    let name = if fields.has("toolConfig") { "toolConfig" } else { "tool_config" };
    let read = |config: &Value| {
        let mut calling = Fields::of(field(config, "functionCallingConfig", "function_calling_config"));
        let mode = calling.text("mode")?;
        let names = calling.texts("allowedFunctionNames").or_else(|| calling.texts("allowed_function_names"));
        let choice = match (mode.as_str(), names.unwrap_or_default().as_slice()) {
            ("AUTO", []) => ToolChoice::Auto,
            ("NONE", []) => ToolChoice::None,
            ("ANY", []) => ToolChoice::Any,
            ("ANY", [name]) => ToolChoice::Named(name.clone()),
            _ => return None,
        };
        (calling.is_empty() && config.as_object()?.len() == 1).then_some(choice)
    };
    fields.choice(name, read, request);
    request.extra = fields.rest();
    reading
}

/// Takes the tools; functions may stand in several groups, beside those that the provider runs.
fn tools(fields: &mut Fields, request: &mut Request) {
    for group in each(&fields.take("tools").unwrap_or_default()) {
        let mut group = Fields::of(group);
        let functions = group.take("functionDeclarations").or_else(|| group.take("function_declarations"));
        let mut theirs = Vec::new();
        for one in each(&functions.unwrap_or_default()) {
            let schema = ["parametersJsonSchema", "parameters_json_schema", "parameters"];
            let said = |name: &&&str| one.get(**name).is_some_and(|schema| !schema.is_null());
            let mut one = one.clone();
            if let Some(schema) = one.get_mut("parameters") {
                *schema = lower_types(schema);
            }
            match tool(&one, schema.iter().find(said).unwrap_or(&"parameters")) {
                Some(ours) => request.tools.push(ours),
                None => theirs.push(one.clone()),
            }
        }
        if !theirs.is_empty() {
            group.put("functionDeclarations", Value::Array(theirs));
        }
        if !group.is_empty() {
            request.provider_tools.push(Value::Object(group.rest()));
        }
    }
}

fn push_model(history: &mut History, content: &Value) -> Read<()> {
    let mut blocks = Vec::new();
    for part in each(&content["parts"]) {
        let call = field(part, "functionCall", "function_call");
        if call.is_null() {
            blocks.push(block(part)?);
            continue;
        }
        let id = call["id"].as_str().map_or_else(|| history.next_id(&blocks), str::to_owned);
        let signature = field(part, "thoughtSignature", "thought_signature").as_str();
        blocks.push(history::call(id, &call["name"], &call["args"], signature)?);
        let more = history::others(part, &["functionCall", "thoughtSignature"]);
        blocks.extend(history::beside(WIRE, Beside::Call, more));
    }
    // A turn without parts says nothing.
    if !blocks.is_empty() {
        history.push(Role::Assistant, blocks);
    }
    Ok(())
}

fn push_user(history: &mut History, content: &Value) -> Read<()> {
    let mut blocks = Vec::new();
    for part in each(&content["parts"]) {
        let result = field(part, "functionResponse", "function_response");
        if result.is_null() {
            blocks.push(block(part)?);
            continue;
        }
        if !blocks.is_empty() {
            history.push(Role::User, std::mem::take(&mut blocks));
        }
        let name = text_of(&result["name"])?;
        let id = result["id"].as_str().map_or_else(|| history.open_call(&name), str::to_owned);
        let mut parts = vec![Part::text(result["response"].to_string())];
        for part in each(&result["parts"]) {
            parts.push(history::part(block(part)?));
        }
        history.push_result(&id, parts, false);
    }
    if !blocks.is_empty() {
        history.push(Role::User, blocks);
    }
    Ok(())
}

fn block(part: &Value) -> Read<Content> {
    let (inline, file) = (field(part, "inlineData", "inline_data"), field(part, "fileData", "file_data"));
    let signature = field(part, "thoughtSignature", "thought_signature").as_str();
    // What else is said about a part has no word of ours; the whole is carried.
    let known = [
        "text",
        "thought",
        "thoughtSignature",
        "thought_signature",
        "inlineData",
        "inline_data",
        "fileData",
        "file_data",
    ];
    // So it is where two of them stand together.
    let contents = ["text", "inlineData", "fileData"].iter().filter(|name| !part[**name].is_null()).count();
    let thinks = part["thought"] == true && !part["text"].is_string();
    let named = !history::others(inline, &["mimeType", "data"]).is_empty()
        || !history::others(file, &["mimeType", "fileUri"]).is_empty();
    let more = Fields::of(part).rest().keys().any(|name| !known.contains(&name.as_str()));
    if more || contents > 1 || thinks || named {
        return Ok(history::opaque(WIRE, part));
    }
    Ok(if let Some(text) = part["text"].as_str() {
        match (part["thought"].as_bool().unwrap_or_default(), signature) {
            (true, signature) => {
                Content::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
            }
            (false, None) => Content::text(text),
            // A signed text must go back with its signature, for which our texts have no room.
            (false, Some(_)) => history::opaque(WIRE, part),
        }
    } else if !inline.is_null() {
        let media_type = text_of(field(inline, "mimeType", "mime_type"))?;
        history::media(&media_type, MediaSource::Base64(text_of(&inline["data"])?))
    } else if !file.is_null() {
        let media_type = field(file, "mimeType", "mime_type").as_str().unwrap_or_default();
        history::media(media_type, MediaSource::Url(text_of(field(file, "fileUri", "file_uri"))?))
    } else {
        history::opaque(WIRE, part)
    })
}

/// Returns a schema with the names of its types as JSON Schema has them; the service's own form takes capital letters.
pub fn lower_types(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let lower = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("type", Value::String(kind)) => (name.clone(), Value::String(kind.to_lowercase())),
                (_, value) => (name.clone(), lower_types(value)),
            };
            Value::Object(fields.iter().map(lower).collect())
        }
        Value::Array(list) => list.iter().map(lower_types).collect(),
        other => other.clone(),
    }
}

/// What the service, or a tool, or a model says is not ours to rename.
const OF_OTHERS: [&str; 8] = [
    "args",
    "labels",
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
    "response",
    "responseJsonSchema",
    "responseSchema",
];

/// Returns a request with the names of its fields in camel case; the service takes snake case too.
pub fn camel(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let mut words = name.split('_');
                let mut camel = words.next().unwrap_or_default().to_owned();
                for word in words {
                    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
                    camel.push_str(&first.to_uppercase());
                    camel.push_str(rest);
                }
                let of_others = OF_OTHERS.contains(&name.as_str()) || OF_OTHERS.contains(&camel.as_str());
                let value = if of_others { value.clone() } else { self::camel(value) };
                (camel, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(list) => list.iter().map(camel).collect(),
        other => other.clone(),
    }
}

fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    value.get(camel).or_else(|| value.get(snake)).unwrap_or(&Value::Null)
}
