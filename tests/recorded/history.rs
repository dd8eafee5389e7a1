//! What the readers of all wires make of a request.

use serde_json::{Map, Value};
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolResult,
};
use trunkline_providers::Request;
use trunkline_sanitize::{RequestFacts, Thinking};

/// What is read, or why it cannot be.
pub type Read<T> = Result<T, String>;

/// A recorded request in our words.
#[derive(Debug)]
pub struct Reading {
    /// The conversation.
    pub history: History,
    /// Everything else; its messages are those of the history only after [`Reading::request`].
    pub settings: Request,
    /// Whether the service keeps a part of the conversation itself, so that nobody else can judge or write it.
    pub kept_by_service: bool,
}

impl Reading {
    /// Returns a reading of a conversation, with nothing asked for.
    pub fn of(history: History) -> Self {
        let mut settings = Request::new("", Vec::<Message>::new());
        settings.cache = trunkline_providers::Cache::Off;
        settings.stream = false;
        Reading { history, settings, kept_by_service: false }
    }

    /// Returns the whole request.
    pub fn request(&self) -> Request {
        let mut request = self.settings.clone();
        request.messages = self.history.messages.iter().cloned().map(Into::into).collect();
        request
    }
}

/// A conversation in our words, and what else rules want to know of its request.
#[derive(Debug, Default)]
pub struct History {
    /// The messages.
    pub messages: Vec<Message>,
    /// What was asked for.
    pub facts: RequestFacts,
}

impl History {
    /// Returns whether a tool has answered in it.
    pub fn has_results(&self) -> bool {
        self.messages.iter().flat_map(Message::results).next().is_some()
    }

    /// Appends a message of the usual author of its role.
    pub(crate) fn push(&mut self, role: Role, content: Vec<Content>) {
        let author = match role {
            Role::System => Author::Harness,
            Role::User => Author::Person,
            Role::Assistant => Author::Model,
            Role::Tool => Author::Tool,
        };
        self.messages.push(Message::new(role, author, content));
    }

    /// Appends one result; each is a message of its own.
    pub(crate) fn push_result(&mut self, call_id: &str, content: Vec<Part>, is_error: bool) {
        let result = ToolResult { call_id: call_id.to_owned(), content, is_error };
        self.push(Role::Tool, vec![Content::ToolResult(result)]);
    }

    /// Returns the id of the first call of that name whose result has not come yet.
    ///
    /// For wires that pair by name and order.
    pub(crate) fn open_call(&self, name: &str) -> String {
        let last = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        let after = &self.messages[last.map_or(0, |index| index + 1)..];
        let answered: Vec<&str> =
            after.iter().flat_map(Message::results).map(|result| result.call_id.as_str()).collect();
        last.into_iter()
            .flat_map(|index| self.messages[index].calls())
            .find(|call| call.name == name && !answered.contains(&call.id.as_str()))
            .map_or_else(|| format!("no open call of {name}"), |call| call.id.clone())
    }

    /// Whether a call of the newest words of the model has no result yet.
    pub(crate) fn has_open_call(&self) -> bool {
        let last = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        let Some(last) = last else { return false };
        let after = &self.messages[last + 1..];
        let answered = |id: &str| after.iter().flat_map(Message::results).any(|result| result.call_id == id);
        self.messages[last].calls().any(|call| !answered(&call.id))
    }

    /// Returns an id that no call of this history has.
    pub(crate) fn next_id(&self, in_this_message: &[Content]) -> String {
        let earlier = self.messages.iter().flat_map(|message| &message.content);
        format!("call_{}", earlier.chain(in_this_message).filter(|block| block.as_call().is_some()).count())
    }
}

/// Returns the facts that every wire can say.
pub(crate) fn facts(thinking: Thinking, choice_forced: bool, tools_offered: Option<bool>) -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.thinking = thinking;
    facts.choice_forced = choice_forced;
    facts.tools_offered = tools_offered;
    facts
}

/// Returns whether a field holds at least one element.
pub(crate) fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}

/// Returns the elements of a list; none if it is not there.
pub(crate) fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns a string; says so if it is another thing, so that nothing is overlooked.
pub(crate) fn text_of(value: &Value) -> Read<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("not a string: {value}"))
}

/// Returns a tool call whose arguments are an object on the wire.
pub(crate) fn call(id: String, name: &Value, arguments: &Value, signature: Option<&str>) -> Read<Content> {
    let signature = signature.map(str::to_owned);
    // A call without arguments may have no field for them.
    let arguments = if arguments.is_null() { "{}".to_owned() } else { arguments.to_string() };
    Ok(Content::ToolCall(ToolCall { id, name: text_of(name)?, arguments, signature }))
}

/// Returns bytes in base64 as the block that their media type asks for.
pub(crate) fn media(media_type: &str, source: MediaSource) -> Content {
    let media = Media { media_type: media_type.to_owned(), source };
    if media_type.starts_with("image/") { Content::Image(media) } else { Content::Document(media) }
}

/// Returns what a URL names: the bytes in it, or an address.
pub(crate) fn media_at(url: &str, media_type: &str) -> Content {
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((media_type, data)) => media(media_type, MediaSource::Base64(data.to_owned())),
        None => media(media_type, MediaSource::Url(url.to_owned())),
    }
}

/// Returns a block that only its own wire understands.
pub(crate) fn opaque(wire: &str, block: &Value) -> Content {
    Content::Opaque { wire: wire.to_owned(), json: block.to_string() }
}

/// What a block of members stands beside.
#[derive(Clone, Copy)]
pub(crate) enum Beside {
    /// The words before it.
    Text,
    /// The call before it.
    Call,
    /// Its message.
    Message,
}

/// Returns the block in which our decoders keep what a service said beside words, a call or a message; none if that is nothing.
pub(crate) fn beside(wire: &str, of: Beside, members: Map<String, Value>) -> Option<Content> {
    let name = match of {
        Beside::Text => "besideText",
        Beside::Call => "besideCall",
        Beside::Message => "besideMessage",
    };
    (!members.is_empty()).then(|| opaque(wire, &serde_json::json!({ name: members })))
}

/// Returns the members of an object that have none of these names and say something.
pub(crate) fn others(object: &Value, known: &[&str]) -> Map<String, Value> {
    let says = |value: &Value| match value {
        Value::Array(list) => !list.is_empty(),
        other => !other.is_null(),
    };
    let members = object.as_object().into_iter().flatten();
    let members = members.filter(|(name, value)| !known.contains(&name.as_str()) && says(value));
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns a block as the part of a result.
pub(crate) fn part(content: Content) -> Part {
    match content {
        Content::Text { text } => Part::Text { text },
        Content::Image(media) => Part::Image(media),
        Content::Document(media) => Part::Document(media),
        Content::Opaque { wire, json } => Part::Opaque { wire, json },
        Content::ServerCall { json, .. } | Content::ServerResult { json, .. } => {
            Part::Opaque { wire: "anthropic".to_owned(), json }
        }
        Content::Thinking { text, .. } | Content::RedactedThinking { data: text } => Part::text(text),
        Content::ToolCall(call) => Part::text(call.arguments),
        Content::ToolResult(result) => Part::text(result.text()),
    }
}
