//! One line of a session file.
//!
//! New types of records and new fields come every few weeks: whatever is not a message is only looked at for its place
//! in the chain.

use std::borrow::Cow;

use trunkline_message_tree::{Author, Content, Origin, Role, StopReason, Timestamp, Usage};

use crate::anthropic::{self, WIRE};
use crate::json::Fields;
use crate::{FaultKind, time};

/// One line, as far as it matters here.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// From 1.
    pub(super) line: usize,
    pub(super) raw: &'a str,
    pub(super) uuid: Option<Cow<'a, str>>,
    pub(super) parent: Parent<'a>,
    pub(super) chain: Chain<'a>,
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) cwd: Option<Cow<'a, str>>,
    pub(super) at: Option<Timestamp>,
    pub(super) body: Body<'a>,
}

/// What a record says of the one before it.
#[derive(Debug)]
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

/// What a record is.
#[derive(Debug)]
pub(super) enum Body<'a> {
    /// A message or a part of one.
    Message(Box<Piece<'a>>),
    /// Where a summary took the place of what was before.
    Boundary {
        /// The last record that the summary covers.
        covers: Option<Cow<'a, str>>,
        /// What stayed word for word.
        kept: Option<Segment<'a>>,
    },
    /// It has a place in the chain and says nothing to the model.
    Passage,
}

/// Records that were kept verbatim across a compaction: from `head` to `tail`, read after `anchor`.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    pub(super) head: Cow<'a, str>,
    pub(super) anchor: Cow<'a, str>,
    pub(super) tail: Cow<'a, str>,
}

/// A message or a part of one.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub(super) role: Role,
    pub(super) author: Author,
    pub(super) content: Vec<Content>,
    pub(super) raws: Vec<&'a str>,
    pub(super) exact: bool,
    /// The provider's id of the message, for words of the model.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) request: Option<Cow<'a, str>>,
    pub(super) origin: Option<Origin>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<Usage>,
    /// Whether it is for people only: what the client itself said in place of an answer, and what it only displays.
    pub(super) unsent: bool,
    /// The sub-agent whose work a result is.
    pub(super) agent: Option<Cow<'a, str>>,
}

impl Piece<'_> {
    /// Tells whether it is nothing but results.
    pub(super) fn is_results(&self) -> bool {
        self.role == Role::User
            && !self.content.is_empty()
            && self.content.iter().all(|block| block.as_result().is_some())
    }

    /// Tells whether a person typed it.
    pub(super) fn is_typed(&self) -> bool {
        self.role == Role::User && self.author == Author::Person && !self.unsent
    }
}

impl<'a> Record<'a> {
    /// Returns the message or part, if the record is one.
    pub(super) fn piece(&self) -> Option<&Piece<'a>> {
        match &self.body {
            Body::Message(piece) => Some(piece),
            _ => None,
        }
    }
}

/// Reads one chained record, `None` for one that has no place in the chain.
pub(super) fn record<'a>(
    line: usize,
    raw: &'a str,
    fields: &Fields<'a>,
) -> Result<Option<Record<'a>>, FaultKind> {
    let kind = fields.text("type").unwrap_or_default();
    let body = match kind.as_ref() {
        "user" => Body::Message(Box::new(piece(fields, Role::User).map_err(not_a_message)?)),
        "assistant" => Body::Message(Box::new(piece(fields, Role::Assistant).map_err(not_a_message)?)),
        "system" if fields.text("subtype").as_deref() == Some("compact_boundary") => {
            Body::Boundary { covers: fields.text("logicalParentUuid"), kept: segment(fields) }
        }
        _ if fields.get("uuid").is_some() => Body::Passage,
        _ => return Ok(None),
    };
    let parent = match fields.text("parentUuid").or_else(|| fields.text("logicalParentUuid")) {
        // Here the next request begins anew; what was before it is covered, not continued.
        _ if matches!(body, Body::Boundary { .. }) => Parent::Root,
        Some(id) => Parent::Id(id),
        None if fields.has("parentUuid") => Parent::Root,
        None => Parent::Unsaid,
    };
    let chain = if fields.flag("isSidechain") { Chain::Side(fields.text("agentId")) } else { Chain::Main };
    Ok(Some(Record {
        line,
        raw,
        uuid: fields.text("uuid"),
        parent,
        chain,
        session: fields.text("sessionId"),
        cwd: fields.text("cwd"),
        at: fields.text("timestamp").and_then(|text| time::parse(&text)),
        body,
    }))
}

fn not_a_message(reason: String) -> FaultKind {
    FaultKind::NotAMessage { reason }
}

fn segment<'a>(fields: &Fields<'a>) -> Option<Segment<'a>> {
    let segment = fields.object("compactMetadata")?.object("preservedSegment")?;
    Some(Segment {
        head: segment.text("headUuid")?,
        anchor: segment.text("anchorUuid")?,
        tail: segment.text("tailUuid")?,
    })
}

fn piece<'a>(fields: &Fields<'a>, by_type: Role) -> Result<Piece<'a>, String> {
    let message = fields.object("message").ok_or("it has no message")?;
    let role = match message.text("role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => by_type,
    };
    if !message.has("content") {
        return Err("its message has no content".to_owned());
    }
    let body = anthropic::body(message.get("content"))?;
    let model = message.text("model");
    let by_model = role == Role::Assistant;
    let unsent = match role {
        Role::Assistant => fields.flag("isApiErrorMessage"),
        _ => fields.flag("isVisibleInTranscriptOnly") && !fields.flag("isCompactSummary"),
    };
    let raws = body.blocks.iter().map(|block| block.raw).collect();
    let content: Vec<Content> = body.blocks.into_iter().map(|block| block.content).collect();
    let by_client = fields.flag("isMeta") || fields.flag("isCompactSummary");
    Ok(Piece {
        role,
        author: author(role, by_client, &content),
        content,
        raws,
        exact: body.odd == 0,
        id: message.text("id").filter(|id| by_model && !id.is_empty()),
        request: fields.text("requestId").filter(|_| by_model),
        // The client signs its own words so; no model wrote them.
        origin: model
            .filter(|model| by_model && model != "<synthetic>")
            .map(|model| Origin::new(WIRE, model)),
        stop: message.text("stop_reason").map(|word| anthropic::stop_reason(&word)),
        usage: message.object("usage").map(|usage| anthropic::usage(&usage)),
        unsent,
        agent: fields.object("toolUseResult").and_then(|sidecar| sidecar.text("agentId")),
    })
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
