//! One line of a session file.
//!
//! New types of records and new fields come every few weeks: whatever says nothing to the model is only looked at for its
//! place in the chain. What a record says is held; what it says of other records is needed only until they are linked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use trunkline_message_tree::{Author, Content, Role, StopReason, Timestamp, Usage};

use crate::fault::FaultKind;
use crate::json::{self, Fields, Value};
use crate::{anthropic, time};

/// What a record says of itself and of others, by their ids.
#[derive(Debug)]
pub(super) struct Ties<'a> {
    /// From 1.
    pub(super) line: usize,
    pub(super) uuid: Option<Cow<'a, str>>,
    pub(super) parent: Parent<'a>,
    pub(super) chain: Chain<'a>,
    pub(super) session: Option<Cow<'a, str>>,
    /// The provider's id of the message, for words of the model.
    pub(super) message: Option<Cow<'a, str>>,
    pub(super) request: Option<Cow<'a, str>>,
    /// The bytes of its blocks.
    pub(super) raws: Vec<&'a str>,
    /// The last record that a compaction's summary covers.
    pub(super) covers: Option<Cow<'a, str>>,
    /// What a compaction kept word for word.
    pub(super) kept: Option<Segment<Cow<'a, str>>>,
    /// The sub-agent whose work a result is.
    pub(super) agent: Option<Cow<'a, str>>,
}

/// What a record says of the one before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parent<'a> {
    /// Its id.
    Id(Cow<'a, str>),
    /// That there is none.
    Root,
    /// Nothing; as in hand-made files, where the line above is meant.
    Unsaid,
}

/// Whose record it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Chain<'a> {
    /// The conversation that the person sees.
    Main,
    /// A sub-agent's, by its id where there is one.
    Side(Option<Cow<'a, str>>),
}

/// Records that were kept verbatim across a compaction: from `head` to `tail`, read after `anchor`.
#[derive(Clone, Debug)]
pub(super) struct Segment<T> {
    pub(super) head: T,
    pub(super) anchor: T,
    pub(super) tail: T,
}

/// One record, as far as it matters once it has its place.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Where it stands in the text.
    pub(super) range: Range<usize>,
    pub(super) cwd: Option<Arc<str>>,
    pub(super) at: Option<Timestamp>,
    pub(super) body: Body,
}

/// What a record is.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// A message or a part of one.
    Message(Box<Piece>),
    /// Where a summary took the place of what was before.
    Boundary {
        /// The last record that the summary covers.
        covers: Option<usize>,
        /// What stayed word for word.
        kept: Option<Segment<usize>>,
    },
    /// It has a place in the chain and says nothing to the model.
    Passage,
}

/// A message or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) role: Role,
    pub(super) author: Author,
    pub(super) content: Vec<Content>,
    /// Where each block stands in the text.
    pub(super) places: Vec<Range<usize>>,
    pub(super) exact: bool,
    /// The model that wrote it.
    pub(super) model: Option<Arc<str>>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<Usage>,
    /// Whether it is for people only: what the client itself said in place of an answer, and what it only displays.
    pub(super) unsent: bool,
    /// Whether it was typed while a turn ran, and is sent beside the results before it.
    pub(super) queued: bool,
}

impl Piece {
    /// Tells whether it answers a call.
    pub(super) fn is_answer(&self) -> bool {
        self.role == Role::User && self.content.iter().any(|block| block.as_result().is_some())
    }

    /// Tells whether a person typed it.
    pub(super) fn is_typed(&self) -> bool {
        self.role == Role::User && self.author == Author::Person && !self.unsent
    }
}

impl Record {
    /// Returns the message or part, if the record is one.
    pub(super) fn piece(&self) -> Option<&Piece> {
        match &self.body {
            Body::Message(piece) => Some(piece),
            _ => None,
        }
    }
}

/// Texts that most records repeat, each held once as long as it does not change.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    cwd: Option<Arc<str>>,
    model: Option<Arc<str>>,
}

fn held(last: &mut Option<Arc<str>>, text: Option<Cow<'_, str>>) -> Option<Arc<str>> {
    let text = text?;
    if last.as_deref() != Some(text.as_ref()) {
        *last = Some(Arc::from(text));
    }
    last.clone()
}

/// A record with its ties, or `None` for one that has no place in the chain.
pub(super) type Linked<'a> = Option<(Ties<'a>, Record)>;

/// Tells a record from a part of one, where the line does not.
pub(super) fn is_record(fields: &Fields<'_>, unchained: &[&str]) -> bool {
    let Some(kind) = fields.text("type") else { return false };
    let is = |name: &&str| fields.has(name);
    match kind.as_ref() {
        kind if unchained.contains(&kind) => true,
        // What a sub-agent reported stands as a record inside of one, without these.
        _ => fields.has("uuid") && ["parentUuid", "sessionId", "isSidechain"].iter().any(is),
    }
}

/// Reads one chained record.
pub(super) fn record<'a>(
    text: &'a str,
    line: usize,
    raw: &'a str,
    fields: &Fields<'a>,
    repeated: &mut Repeated,
) -> Result<Linked<'a>, FaultKind> {
    let kind = fields.text("type").unwrap_or_default();
    let not_a_message = |reason| FaultKind::NotAMessage { reason };
    let mut ties = Ties {
        line,
        uuid: fields.text("uuid"),
        parent: Parent::Unsaid,
        chain: if fields.flag("isSidechain") { Chain::Side(fields.text("agentId")) } else { Chain::Main },
        session: fields.text("sessionId"),
        message: None,
        request: None,
        raws: Vec::new(),
        covers: None,
        kept: None,
        agent: None,
    };
    let subtype = || fields.text("subtype");
    let body = match kind.as_ref() {
        "user" => message(text, fields, Role::User, &mut ties, repeated).map_err(not_a_message)?,
        "assistant" => message(text, fields, Role::Assistant, &mut ties, repeated).map_err(not_a_message)?,
        "system" if subtype().as_deref() == Some("compact_boundary") => {
            ties.covers = fields.text("logicalParentUuid");
            ties.kept = segment(fields);
            Body::Boundary { covers: None, kept: None }
        }
        "system" if subtype().as_deref() == Some("local_command") => {
            words(text, fields.get("content"), &mut ties, Author::Harness, false).unwrap_or(Body::Passage)
        }
        "attachment" => queued(text, fields, &mut ties).unwrap_or(Body::Passage),
        _ => Body::Passage,
    };
    if matches!(body, Body::Passage) && ties.uuid.is_none() {
        return Ok(None);
    }
    ties.parent = match fields.text("parentUuid").or_else(|| fields.text("logicalParentUuid")) {
        // Here the next request begins anew; what was before it is covered, not continued.
        _ if matches!(body, Body::Boundary { .. }) => Parent::Root,
        Some(id) => Parent::Id(id),
        None if fields.has("parentUuid") => Parent::Root,
        None => Parent::Unsaid,
    };
    let record = Record {
        range: json::range_in(text, raw),
        cwd: held(&mut repeated.cwd, fields.text("cwd")),
        at: fields.text("timestamp").and_then(|text| time::parse(&text)),
        body,
    };
    Ok(Some((ties, record)))
}

fn segment<'a>(fields: &Fields<'a>) -> Option<Segment<Cow<'a, str>>> {
    let metadata = fields.object("compactMetadata")?;
    let segment = metadata.object("preservedSegment")?;
    Some(Segment {
        head: segment.text("headUuid")?,
        anchor: segment.text("anchorUuid")?,
        tail: segment.text("tailUuid")?,
    })
}

/// Reads what somebody typed, or what reached the client, while a turn ran: it sends that beside the next result (2.1.332,
/// tried 2026-11).
fn queued<'a>(text: &'a str, fields: &Fields<'a>, ties: &mut Ties<'a>) -> Option<Body> {
    let attachment = fields.object("attachment")?;
    if attachment.text("type").as_deref() != Some("queued_command") {
        return None;
    }
    let by_person = attachment.text("commandMode").is_none_or(|mode| mode == "prompt");
    let author = if by_person { Author::Person } else { Author::Harness };
    words(text, attachment.get("prompt"), ties, author, true)
}

/// Reads words that stand outside of a message; `None` if there are none.
fn words<'a>(
    text: &'a str,
    content: Option<&Value<'a>>,
    ties: &mut Ties<'a>,
    by: Author,
    queued: bool,
) -> Option<Body> {
    let body = anthropic::body(content).ok()?;
    let said = |block: &Content| !matches!(block, Content::Text { text } if text.trim().is_empty());
    body.blocks.iter().any(said).then_some(())?;
    let exact = body.odd == 0;
    let (content, places) = blocks(text, body, ties);
    let author = if author(Role::User, false, &content) == Author::Person { by } else { Author::Harness };
    Some(Body::Message(Box::new(Piece {
        role: Role::User,
        author,
        content,
        places,
        exact,
        model: None,
        stop: None,
        usage: None,
        unsent: false,
        queued,
    })))
}

fn blocks<'a>(
    text: &str,
    body: anthropic::Body<'a>,
    ties: &mut Ties<'a>,
) -> (Vec<Content>, Vec<Range<usize>>) {
    ties.raws = body.raws;
    let places = ties.raws.iter().map(|raw| json::range_in(text, raw)).collect();
    (body.blocks, places)
}

fn message<'a>(
    text: &'a str,
    fields: &Fields<'a>,
    by_type: Role,
    ties: &mut Ties<'a>,
    repeated: &mut Repeated,
) -> Result<Body, String> {
    let message = fields.object("message").ok_or("it has no message")?;
    if !message.has("content") {
        return Err("its message has no content".to_owned());
    }
    let body = anthropic::body(message.get("content"))?;
    let role = match message.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => by_type,
    };
    let exact = body.odd == 0;
    let by_model = role == Role::Assistant;
    let unsent = match role {
        Role::Assistant => fields.flag("isApiErrorMessage"),
        _ => fields.flag("isVisibleInTranscriptOnly") && !fields.flag("isCompactSummary"),
    };
    let (content, places) = blocks(text, body, ties);
    let by_client = fields.flag("isMeta") || fields.flag("isCompactSummary");
    if by_model {
        ties.message = message.text("id").filter(|id| !id.is_empty());
        ties.request = fields.text("requestId");
    } else {
        // It is read in full only where it can say what is asked: results of tools can be large.
        let sidecar = fields
            .get("toolUseResult")
            .filter(|raw| memchr::memmem::find(raw.get().as_bytes(), b"\"agentId\"").is_some());
        ties.agent = sidecar.and_then(Value::fields).and_then(|sidecar| sidecar.text("agentId"));
    }
    // The client signs its own words so; no model wrote them.
    let model = message.text("model").filter(|model| by_model && model != "<synthetic>");
    Ok(Body::Message(Box::new(Piece {
        role,
        author: author(role, by_client, &content),
        content,
        places,
        exact,
        model: held(&mut repeated.model, model),
        stop: message.text("stop_reason").map(|word| anthropic::stop_reason(&word)),
        usage: message.object("usage").map(|usage| anthropic::usage(&usage)),
        unsent,
        queued: false,
    })))
}

fn author(role: Role, by_client: bool, content: &[Content]) -> Author {
    // What the client puts into the words of a person: echoes of its own commands, and that it was interrupted.
    const CLIENT: [&str; 6] = [
        "<command-name>",
        "<command-message>",
        "<local-command-",
        "<bash-",
        "<task-notification>",
        "[Request interrupted by user",
    ];
    if role == Role::Assistant {
        return Author::Model;
    }
    if !content.is_empty() && content.iter().all(|block| block.as_result().is_some()) {
        return Author::Tool;
    }
    let echo = |block: &Content| match block {
        Content::Text { text } => CLIENT.iter().any(|start| text.trim_start().starts_with(start)),
        Content::ToolResult(_) => true,
        _ => false,
    };
    if by_client || content.iter().all(echo) { Author::Harness } else { Author::Person }
}
