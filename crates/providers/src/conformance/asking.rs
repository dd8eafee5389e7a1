//! Requests that ask for one feature and nothing else, and histories that no service takes.

use std::sync::Arc;

use serde_json::json;
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Part, Role, ToolCall, ToolChoice, ToolResult, ToolSpec,
};

use crate::{Cache, Effort, Feature, OutputSchema, Request, Thinking};

/// Returns a request that asks for nothing but this feature.
pub(super) fn asking_for(feature: Feature) -> Request {
    let mut message = Message::user("hi");
    let mut request = Request::new("m", Vec::<Message>::new());
    request.stream = feature == Feature::Streaming;
    let mut answered: Option<Part> = None;
    match feature {
        Feature::Streaming => {}
        Feature::Tools => request.tools.push(tool("f")),
        Feature::ProviderTools => request.provider_tools.push(json!({"type": "web_search"})),
        Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed => {
            request.tools = vec![tool("f"), tool("g")];
            request.tool_choice = match feature {
                Feature::ChoiceNone => ToolChoice::None,
                Feature::ChoiceAny => ToolChoice::Any,
                _ => ToolChoice::Named("f".to_owned()),
            };
        }
        Feature::ParallelCalls => {
            request.tools.push(tool("f"));
            request.parallel_calls = Some(false);
        }
        Feature::System => request.messages.push(Message::system("be brief").into()),
        Feature::Image => message.content.push(Content::Image(media("image/png", false))),
        Feature::ImageUrl => message.content.push(Content::Image(media("image/png", true))),
        Feature::Document => message.content.push(Content::Document(media("application/pdf", false))),
        Feature::DocumentUrl => message.content.push(Content::Document(media("application/pdf", true))),
        Feature::ResultImage => answered = Some(Part::Image(media("image/png", false))),
        Feature::ResultDocument => answered = Some(Part::Document(media("application/pdf", false))),
        Feature::Stop => request.stop.push("END".to_owned()),
        Feature::Temperature => request.temperature = Some(0.5),
        Feature::TopP => request.top_p = Some(0.5),
        Feature::TopK => request.top_k = Some(5),
        Feature::Penalties => request.presence_penalty = Some(0.5),
        Feature::Seed => request.seed = Some(7),
        Feature::ThinkingOff => request.thinking = Thinking::Off,
        Feature::ThinkingBudget => request.thinking = Thinking::Budget(1024),
        Feature::ThinkingEffort => request.thinking = Thinking::Effort(Effort::Low),
        Feature::OutputSchema => {
            request.output = Some(OutputSchema::new("answer", json!({"type": "object", "properties": {}})));
        }
        Feature::CacheBreakpoints => request.cache = Cache::Long,
        Feature::CacheKey => request.cache_key = Some("k".to_owned()),
        Feature::User => request.user = Some("u".to_owned()),
        Feature::Metadata => drop(request.metadata.insert("a".to_owned(), "b".to_owned())),
        Feature::ServiceTier => request.service_tier = Some("priority".to_owned()),
        Feature::Extra => drop(request.extra.insert("zebra".to_owned(), json!(1))),
    }
    request.messages.push(message.into());
    if let Some(part) = answered {
        request.tools.push(tool("f"));
        request.messages.push(calling(["call00001"]).into());
        let content = vec![Part::text("ok"), part];
        let result = ToolResult { call_id: "call00001".to_owned(), content, is_error: false };
        let result = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
        request.messages.push(result.into());
    }
    request
}

/// Returns the request without the feature, to see that it makes a difference.
pub(super) fn without(feature: Feature) -> Request {
    let mut request = Request::new("m", vec![Message::user("hi")]);
    request.stream = false;
    let choices = [Feature::ChoiceNone, Feature::ChoiceAny, Feature::ChoiceNamed, Feature::ParallelCalls];
    if choices.contains(&feature) {
        request.tools = asking_for(feature).tools;
    }
    request
}

/// Returns the request with histories that no service takes, each with what is wrong with it.
pub(super) fn misshapen(request: &Request) -> Vec<(&'static str, Request)> {
    let with = |messages: Vec<Message>| {
        let mut request = request.clone();
        request.messages = messages.into_iter().map(Arc::new).collect();
        request
    };
    let hi = || Message::user("hi");
    let result = |id: &str| Message::tool_result(id, "42", false);
    let empty = Message::new(Role::User, Author::Person, Vec::new());
    vec![
        ("no message at all", with(Vec::new())),
        ("a message without a block", with(vec![empty])),
        (
            "a call without its result",
            with(vec![hi(), calling(["call00001", "call00002"]), result("call00001"), hi()]),
        ),
        ("a call at the end", with(vec![hi(), calling(["call00001"])])),
        ("a result without its call", with(vec![hi(), Message::assistant("hello"), result("call00001")])),
        (
            "a call that is answered twice",
            with(vec![hi(), calling(["call00001"]), result("call00001"), result("call00001")]),
        ),
    ]
}

/// Returns words of the model with calls; the ids are legal everywhere: nine letters and digits.
pub(super) fn calling<'a>(ids: impl IntoIterator<Item = &'a str>) -> Message {
    let mut message = Message::assistant("let me look");
    message.content.extend(ids.into_iter().map(|id| {
        let (id, name) = (id.to_owned(), "f".to_owned());
        Content::ToolCall(ToolCall { id, name, arguments: "{\"a\": 1}".to_owned(), signature: None })
    }));
    message
}

/// Returns a tool without arguments that matter.
pub(super) fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "does it", json!({"type": "object", "properties": {}}))
}

fn media(kind: &str, by_url: bool) -> Media {
    let source = match by_url {
        true => MediaSource::Url("https://example.org/a".to_owned()),
        false => MediaSource::Base64("aGk=".to_owned()),
    };
    Media { media_type: kind.to_owned(), source }
}
