//! What a record says, as a message.

use std::borrow::Cow;

use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Origin, Part, Role, StopReason, ToolCall, ToolResult, Usage,
};

use super::{BRANCH, COMPACTION, REASONING, UNKNOWN, WIRE};
use crate::json::{Fields, Value};

/// A message, and the bytes of each of its blocks; empty for a block that has none of its own.
#[derive(Clone, Debug)]
pub(super) struct Said<'a> {
    pub(super) message: Message,
    pub(super) raws: Vec<&'a str>,
}

/// Blocks, and the bytes of each.
type Blocks<'a> = (Vec<Content>, Vec<&'a str>);

/// Reads a message of a role that is known; nothing if it is not sent to a model.
pub(super) fn said<'a>(role: &str, raw: &'a str, fields: &Fields<'a>) -> Result<Option<Said<'a>>, String> {
    let harness = |blocks: Blocks<'a>| Some(message(Role::User, Author::Harness, blocks));
    Ok(match role {
        "user" => {
            // oh-my-pi marks what it says itself.
            let own = fields.flag("synthetic") || fields.text("attribution").as_deref() == Some("agent");
            let author = if own { Author::Harness } else { Author::Person };
            Some(message(Role::User, author, body(fields.get("content"))?))
        }
        "developer" | "custom" | "hookMessage" => harness(body(fields.get("content"))?),
        "system" => Some(message(Role::System, Author::Harness, instructions(fields)?))
            .filter(|said| !said.message.content.is_empty()),
        "assistant" => Some(answer(fields)?),
        "toolResult" => Some(result(raw, fields)?),
        "bashExecution" | "pythonExecution" if fields.flag("excludeFromContext") => None,
        "bashExecution" => harness(alone(ran(fields, "command", "`", "`\n"))),
        "pythonExecution" => harness(alone(ran(fields, "code", "Python:\n```python\n", "\n```\n"))),
        "fileMention" => harness(files(fields)),
        "compactionSummary" => harness(alone(summary(fields, COMPACTION)?)),
        "branchSummary" => harness(alone(summary(fields, BRANCH)?)),
        _ => return Err(format!("a message of the role {role:?}")),
    })
}

/// Reads what an extension injected.
pub(super) fn injected<'a>(fields: &Fields<'a>) -> Result<Said<'a>, String> {
    Ok(message(Role::User, Author::Harness, body(fields.get("content"))?))
}

/// Reads a summary as it is sent.
pub(super) fn summed<'a>(fields: &Fields<'a>, frame: (&str, &str)) -> Result<Said<'a>, String> {
    Ok(message(Role::User, Author::Harness, alone(summary(fields, frame)?)))
}

/// Returns a message with other content, as an edit of the context makes it.
pub(super) fn replaced<'a>(of: &Message, content: Option<&Value<'a>>) -> Result<Said<'a>, String> {
    let mut message = of.clone();
    let (blocks, raws) = match message.content.as_slice() {
        [Content::ToolResult(result)] if of.role == Role::Tool => {
            let result = ToolResult { content: parts(content)?, ..result.clone() };
            (vec![Content::ToolResult(result)], vec![""])
        }
        _ => body(content)?,
    };
    message.content = blocks;
    Ok(Said { message, raws })
}

fn message<'a>(role: Role, author: Author, (content, raws): Blocks<'a>) -> Said<'a> {
    Said { message: Message::new(role, author, content), raws }
}

/// Returns words that stand in no block.
fn alone<'a>(text: String) -> Blocks<'a> {
    (vec![Content::text(text)], vec![""])
}

fn summary(fields: &Fields<'_>, (before, after): (&str, &str)) -> Result<String, String> {
    let summary = fields.text("summary").ok_or_else(|| "a summary without words".to_owned())?;
    Ok(format!("{before}{summary}{after}"))
}

/// Reads the content of a message: a string or blocks.
fn body<'a>(content: Option<&Value<'a>>) -> Result<Blocks<'a>, String> {
    // The client takes what is missing for nothing.
    let Some(content) = content else { return Ok((Vec::new(), Vec::new())) };
    if let Some(text) = content.text() {
        return Ok((vec![Content::text(text)], vec![content.get()]));
    }
    let items = content.items().ok_or_else(|| "its content is neither a string nor blocks".to_owned())?;
    Ok(items.iter().map(|item| (block(item), item.get())).unzip())
}

fn block(item: &Value<'_>) -> Content {
    if let Some(text) = item.text() {
        return Content::text(text);
    }
    let known = item.fields().and_then(|fields| known(&fields));
    known.unwrap_or_else(|| Content::Opaque { wire: WIRE.to_owned(), json: item.get().to_owned() })
}

fn known(fields: &Fields<'_>) -> Option<Content> {
    let owned = |name: &str| fields.text(name).map(Cow::into_owned);
    let signed = |name: &str| owned(name).filter(|signature| !signature.is_empty());
    match fields.text("type")?.as_ref() {
        "text" => owned("text").map(Content::text),
        "thinking" => match signed("thinkingSignature") {
            Some(data) if fields.flag("redacted") => Some(Content::RedactedThinking { data }),
            signature => owned("thinking").map(|text| Content::Thinking {
                text,
                signature: signature.filter(|name| !REASONING.contains(&name.as_str())),
            }),
        },
        "redactedThinking" => owned("data").map(|data| Content::RedactedThinking { data }),
        "image" => picture(fields).map(Content::Image),
        "toolCall" => Some(Content::ToolCall(ToolCall {
            id: owned("id").unwrap_or_default(),
            name: owned("name").unwrap_or_default(),
            arguments: fields.get("arguments").map(arguments).unwrap_or_default(),
            signature: signed("thoughtSignature"),
        })),
        _ => None,
    }
}

fn arguments(value: &Value<'_>) -> String {
    value.text().map_or_else(|| value.get().to_owned(), Cow::into_owned)
}

/// Reads a picture. One whose bytes oh-my-pi has put into a file of their own is none that could be sent.
fn picture(fields: &Fields<'_>) -> Option<Media> {
    let source = match fields.text("data") {
        Some(data) if data.starts_with("blob:") => return None,
        Some(data) if !data.is_empty() => MediaSource::Base64(data.into_owned()),
        _ => MediaSource::Url(fields.text("url").filter(|url| !url.is_empty())?.into_owned()),
    };
    Some(Media {
        media_type: fields.text("mimeType").map_or_else(|| "image/*".to_owned(), Cow::into_owned),
        source,
    })
}

/// Reads instructions: words, then named sections. One that is `null` removes what was said before.
fn instructions<'a>(fields: &Fields<'a>) -> Result<Blocks<'a>, String> {
    let (mut blocks, mut raws) = body(fields.get("content"))?;
    let is_empty = |block: &Content| matches!(block, Content::Text { text } if text.is_empty());
    if blocks.iter().all(is_empty) {
        (blocks, raws) = (Vec::new(), Vec::new());
    }
    if let Some(sections) = fields.object("sections") {
        for (_, value) in sections.entries() {
            if let Some(text) = value.text().filter(|text| !text.is_empty()) {
                blocks.push(Content::text(text));
                raws.push(value.get());
            }
        }
    }
    Ok((blocks, raws))
}

fn answer<'a>(fields: &Fields<'a>) -> Result<Said<'a>, String> {
    let mut said = message(Role::Assistant, Author::Model, body(fields.get("content"))?);
    said.message.origin = origin(fields);
    said.message.stop = stop(fields);
    said.message.usage =
        fields.object("usage").map(|fields| usage(&fields)).filter(|usage| *usage != Usage::default());
    Ok(said)
}

fn origin(fields: &Fields<'_>) -> Option<Origin> {
    let model = fields.text("model").filter(|model| !model.is_empty())?;
    let provider = fields.text("provider").unwrap_or_default();
    if model == UNKNOWN && provider == UNKNOWN {
        return None;
    }
    let api = fields.text("api").filter(|api| !api.is_empty()).unwrap_or(provider);
    Some(Origin::new(wire(&api), model))
}

/// Returns the wire that an API speaks.
fn wire(api: &str) -> &'static str {
    match api {
        api if api.starts_with("anthropic") || api.starts_with("bedrock") => "anthropic",
        api if api.starts_with("google") => "gemini",
        // Of OpenAI, Azure and Codex.
        api if api.ends_with("-responses") => "openai-responses",
        _ => "openai-chat",
    }
}

fn stop(fields: &Fields<'_>) -> Option<StopReason> {
    let word = fields.text("stopReason")?;
    // The provider's own word says more, where it is there. An empty one stands for no reason at all.
    match fields.text("rawStopReason").as_deref() {
        Some("") => return None,
        Some("stop_sequence") => return Some(StopReason::StopSequence),
        Some("refusal") => return Some(StopReason::Refusal),
        Some("pause_turn") => return Some(StopReason::Pause),
        Some("model_context_window_exceeded") => return Some(StopReason::ContextWindow),
        _ => {}
    }
    Some(match word.as_ref() {
        "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "toolUse" => StopReason::ToolUse,
        "aborted" => StopReason::Cancelled,
        "error" => StopReason::Cut,
        other => StopReason::Other(other.to_owned()),
    })
}

/// Reads what a request cost. Cached tokens are counted apart here; ours are part of the prompt.
fn usage(fields: &Fields<'_>) -> Usage {
    let (cache_read_tokens, cache_write_tokens) = (fields.count("cacheRead"), fields.count("cacheWrite"));
    let plain = fields.count("input");
    Usage {
        input_tokens: plain.saturating_add(cache_read_tokens).saturating_add(cache_write_tokens),
        output_tokens: fields.count("output"),
        cache_read_tokens,
        cache_write_tokens,
        reasoning_tokens: fields.count("reasoning").max(fields.count("reasoningTokens")),
    }
}

fn result<'a>(raw: &'a str, fields: &Fields<'a>) -> Result<Said<'a>, String> {
    let result = ToolResult {
        call_id: fields.text("toolCallId").unwrap_or_default().into_owned(),
        content: parts(fields.get("content"))?,
        is_error: fields.flag("isError"),
    };
    Ok(message(Role::Tool, Author::Tool, (vec![Content::ToolResult(result)], vec![raw])))
}

/// Reads what a tool returned.
fn parts(content: Option<&Value<'_>>) -> Result<Vec<Part>, String> {
    let Some(content) = content else { return Ok(Vec::new()) };
    if let Some(text) = content.text() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![Part::text(text)] });
    }
    let items = content.items().ok_or_else(|| "its content is neither a string nor blocks".to_owned())?;
    Ok(items.iter().map(part).collect())
}

fn part(item: &Value<'_>) -> Part {
    let known = item.fields().and_then(|fields| match fields.text("type")?.as_ref() {
        "text" => fields.text("text").map(Part::text),
        "image" => picture(&fields).map(Part::Image),
        _ => None,
    });
    let raw = || match item.fields() {
        Some(_) => Part::Opaque { wire: WIRE.to_owned(), json: item.get().to_owned() },
        None => Part::text(item.get()),
    };
    known.or_else(|| item.text().map(Part::text)).unwrap_or_else(raw)
}

/// Returns what is sent of a command that a person ran beside the conversation.
fn ran(fields: &Fields<'_>, name: &str, before: &str, after: &str) -> String {
    let text = |name: &str| fields.text(name).unwrap_or_default();
    let mut said = format!("Ran {before}{}{after}", text(name));
    let is_code = name == "code";
    match text("output") {
        output if output.is_empty() => said.push_str("(no output)"),
        output if is_code => said.push_str(&format!("Output:\n```\n{output}\n```")),
        output => said.push_str(&format!("```\n{output}\n```")),
    }
    let code = fields.get("exitCode").map(Value::get).filter(|code| *code != "0");
    if fields.flag("cancelled") {
        said.push_str(if is_code { "\n\n(execution cancelled)" } else { "\n\n(command cancelled)" });
    } else if let Some(code) = code {
        let what = if is_code { "Execution failed" } else { "Command exited" };
        said.push_str(&format!("\n\n{what} with code {code}"));
    }
    if let Some(path) = fields.text("fullOutputPath").filter(|_| fields.flag("truncated")) {
        said.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    said
}

/// Reads files that a person named, which oh-my-pi reads at once.
fn files<'a>(fields: &Fields<'a>) -> Blocks<'a> {
    let mut blocks = Vec::new();
    for file in fields.items("files").unwrap_or_default().iter() {
        let Some(file) = file.fields() else { continue };
        let (path, content) =
            (file.text("path").unwrap_or_default(), file.text("content").unwrap_or_default());
        let content = if content.is_empty() { "\n".to_owned() } else { format!("\n{content}\n") };
        blocks.push(Content::text(format!("<file path=\"{path}\">{content}</file>")));
        blocks.extend(file.get("image").map(block));
    }
    let raws = vec![""; blocks.len()];
    (blocks, raws)
}
