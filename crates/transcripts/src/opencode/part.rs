//! The parts of a message to blocks.

use trunkline_message_tree::{Content, Media, MediaSource, Part, ToolCall, ToolResult, Usage};

use super::word::{ASKED_FOR_SUMMARY, RAN_SUBTASK, WIRE, told_usage};
use crate::json::{Fields, Value};

/// The fields of each kind of part beside those that all have.
const KINDS: [(&str, &[&str]); 12] = [
    ("text", &["text", "synthetic", "ignored", "time", "metadata"]),
    ("reasoning", &["text", "metadata", "time"]),
    ("file", &["mime", "filename", "url", "source"]),
    ("tool", &["callID", "tool", "state", "metadata"]),
    ("step-start", &["snapshot"]),
    ("step-finish", &["reason", "snapshot", "cost", "tokens"]),
    ("snapshot", &["snapshot"]),
    ("patch", &["hash", "files"]),
    ("agent", &["name", "source"]),
    ("subtask", &["prompt", "description", "agent", "model", "command"]),
    ("retry", &["attempt", "error", "time"]),
    ("compaction", &["auto", "overflow", "tail_start_id"]),
];

/// The fields of what became of a call.
pub(super) const STATE: [&str; 9] =
    ["status", "input", "raw", "output", "error", "title", "metadata", "time", "attachments"];

/// Returns the fields that a kind of part is known to have; nothing for a kind that is not known.
pub(super) fn known_fields(kind: &str) -> Option<Vec<&'static str>> {
    let (_, own) = KINDS.iter().find(|(known, _)| *known == kind)?;
    Some(["id", "sessionID", "messageID", "type"].iter().chain(*own).copied().collect())
}

/// Who said a block of a prompt.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A person typed it.
    Person,
    /// The client put it in.
    Client,
    /// It does not tell.
    Unsaid,
}

/// What a part says.
pub(super) enum Said {
    /// A block.
    Block(Content, By),
    /// A call, and what became of it.
    Call(ToolCall, Option<ToolResult>),
    /// A request of the model begins.
    StepStart,
    /// A request of the model has ended.
    StepFinish { reason: Option<String>, usage: Option<Usage> },
    /// Nothing that is sent.
    Nothing,
}

/// Reads a part of a known kind.
pub(super) fn said(of_user: bool, kind: &str, part: &Fields<'_>) -> Result<Said, String> {
    let text = || part.text("text").ok_or_else(|| format!("a part of type {kind:?} without text"));
    Ok(match kind {
        "text" => {
            let text = text()?;
            if of_user && (part.flag("ignored") || text.is_empty()) {
                return Ok(Said::Nothing);
            }
            let by = if part.flag("synthetic") { By::Client } else { By::Person };
            Said::Block(Content::text(text), by)
        }
        "reasoning" => Said::Block(reasoning(part, text()?.into_owned()), By::Unsaid),
        "file" => {
            let mime = part.text("mime").unwrap_or_default();
            // The client has put the words of such a file beside it.
            if of_user && matches!(mime.as_ref(), "text/plain" | "application/x-directory") {
                return Ok(Said::Nothing);
            }
            let block = match media(part).filter(|_| of_user) {
                Some(media) if media.media_type.starts_with("image/") => Content::Image(media),
                Some(media) => Content::Document(media),
                None => opaque(part),
            };
            Said::Block(block, By::Unsaid)
        }
        "tool" if part.object("metadata").is_some_and(|metadata| metadata.flag("providerExecuted")) => {
            Said::Block(opaque(part), By::Unsaid)
        }
        "tool" => {
            let (call, result) = tool(part)?;
            Said::Call(call, result)
        }
        "compaction" if of_user => Said::Block(Content::text(ASKED_FOR_SUMMARY), By::Client),
        "subtask" if of_user => Said::Block(Content::text(RAN_SUBTASK), By::Client),
        "step-start" => Said::StepStart,
        "step-finish" => Said::StepFinish {
            reason: part.text("reason").map(|reason| reason.into_owned()),
            usage: part.object("tokens").and_then(|tokens| told_usage(&tokens)),
        },
        _ => Said::Nothing,
    })
}

/// Keeps a part as it is but for its ids, which are of its place.
fn opaque(part: &Fields<'_>) -> Content {
    let json = part.rewrite(&[("id", None), ("sessionID", None), ("messageID", None)]);
    Content::Opaque { wire: WIRE.to_owned(), json }
}

/// Reads reasoning. Each provider's proof stands under the provider's name.
fn reasoning(part: &Fields<'_>, text: String) -> Content {
    let find = |names: &[&str]| {
        let metadata = part.object("metadata")?;
        let of_provider = metadata.entries().filter_map(|(_, value)| value.fields());
        let mut proofs = of_provider.filter_map(|proof| {
            let said = names.iter().find_map(|name| proof.text(name))?;
            Some(said.into_owned()).filter(|said| !said.is_empty())
        });
        proofs.next()
    };
    if text.is_empty()
        && let Some(data) = find(&["redactedData"])
    {
        return Content::RedactedThinking { data };
    }
    let signature = find(&["signature", "thoughtSignature", "reasoningEncryptedContent"]);
    Content::Thinking { text, signature }
}

/// Reads bytes or their address; nothing for what only the client can find, such as a file of the machine.
fn media(part: &Fields<'_>) -> Option<Media> {
    let (mime, url) = (part.text("mime")?, part.text("url")?);
    let source = if url.starts_with("http://") || url.starts_with("https://") {
        MediaSource::Url(url.into_owned())
    } else {
        let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
        kind.ends_with(";base64").then(|| MediaSource::Base64(data.to_owned()))?
    };
    Some(Media { media_type: mime.into_owned(), source })
}

/// Reads a call and what became of it: both are one part.
pub(super) fn tool(part: &Fields<'_>) -> Result<(ToolCall, Option<ToolResult>), String> {
    let (id, name) = (part.text("callID"), part.text("tool"));
    if id.is_none() && name.is_none() {
        return Err("a call without id and tool".to_owned());
    }
    let id = id.unwrap_or_default().into_owned();
    let state = part.object("state");
    let signature = part.object("metadata").and_then(|metadata| {
        let google = metadata.object("google")?;
        Some(google.text("thoughtSignature")?.into_owned())
    });
    let call = ToolCall {
        id: id.clone(),
        name: name.unwrap_or_default().into_owned(),
        arguments: state.as_deref().map_or_else(|| "{}".to_owned(), arguments),
        signature,
    };
    let result = state.and_then(|state| outcome(&state));
    Ok((call, result.map(|(content, is_error)| ToolResult { call_id: id, content, is_error })))
}

/// Returns the arguments; while they still come in, the client has them as text.
fn arguments(state: &Fields<'_>) -> String {
    let raw = state.text("raw").filter(|raw| !raw.is_empty());
    let is_pending = state.text("status").as_deref() == Some("pending");
    match (raw, state.get("input")) {
        (Some(raw), input) if is_pending && input.is_none_or(|input| input.get() == "{}") => raw.into_owned(),
        (_, input) => input.map_or_else(|| "{}".to_owned(), |input| without_layout(input.get())),
    }
}

/// Returns JSON without the white space that an export puts around its values. What stands on one line was not laid
/// out.
fn without_layout(json: &str) -> String {
    if !json.contains('\n') {
        return json.to_owned();
    }
    let (mut inside, mut escaped) = (false, false);
    let is_kept = |sign: &char| {
        let was_escaped = escaped;
        escaped = inside && !escaped && *sign == '\\';
        inside ^= *sign == '"' && !was_escaped;
        inside || !matches!(sign, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(is_kept).collect()
}

/// Returns what a call gave, and whether that is an error; nothing while it is not over.
fn outcome(state: &Fields<'_>) -> Option<(Vec<Part>, bool)> {
    let words = |text: &str| if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
    match state.text("status").as_deref() {
        Some("pending" | "running") => None,
        Some("error") => {
            // What a tool gave until it was stopped is sent in place of the error.
            let stopped = state.object("metadata").filter(|metadata| metadata.flag("interrupted"));
            match stopped.and_then(|metadata| metadata.text("output").map(|output| output.into_owned())) {
                Some(output) => Some((words(&output), false)),
                None => Some((words(&state.text("error").unwrap_or_default()), true)),
            }
        }
        // Other words were used by versions before; what matters is that there is a result.
        Some(_) => {
            let attachments = state.items("attachments").unwrap_or_default();
            let output = match state.get("output") {
                Some(output) => output.text().unwrap_or_else(|| output.get().into()),
                None => "".into(),
            };
            let mut parts = words(&output);
            parts.extend(attachments.iter().filter_map(attachment));
            Some((parts, false))
        }
        None => None,
    }
}

fn attachment(value: &Value<'_>) -> Option<Part> {
    let fields = value.fields()?;
    Some(match media(&fields) {
        Some(media) if media.media_type.starts_with("image/") => Part::Image(media),
        Some(media) => Part::Document(media),
        None => Part::Opaque { wire: WIRE.to_owned(), json: value.get().to_owned() },
    })
}
