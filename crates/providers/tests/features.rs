//! What a wire says that it does, it does; and the README says the same.

use serde_json::json;
use trunkline_message_tree::{Content, Media, MediaSource, Message, Part, ToolChoice, ToolSpec};
use trunkline_providers::{
    Cache, Effort, EncodeError, Feature, OutputSchema, Request, Support, Thinking, Wire,
};

use crate::every_wire::wires;

fn media(kind: &str, by_url: bool) -> Media {
    let source = match by_url {
        true => MediaSource::Url("https://example.org/a".to_owned()),
        false => MediaSource::Base64("aGk=".to_owned()),
    };
    Media { media_type: kind.to_owned(), source }
}

/// A request that asks for nothing but this feature.
fn asking_for(feature: Feature) -> Request {
    let mut message = Message::user("hi");
    let mut request = Request::new("m", Vec::<Message>::new());
    request.stream = feature == Feature::Streaming;
    let tool = ToolSpec::new("f", "does it", json!({"type": "object", "properties": {}}));
    let mut answered: Option<Part> = None;
    match feature {
        Feature::Streaming => {}
        Feature::Tools => request.tools.push(tool),
        Feature::ProviderTools => request.provider_tools.push(json!({"type": "web_search"})),
        Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed => {
            request.tools = vec![tool.clone(), ToolSpec { name: "g".to_owned(), ..tool }];
            request.tool_choice = match feature {
                Feature::ChoiceNone => ToolChoice::None,
                Feature::ChoiceAny => ToolChoice::Any,
                _ => ToolChoice::Named("f".to_owned()),
            };
        }
        Feature::ParallelCalls => {
            request.tools.push(tool);
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
        other => panic!("no request asks for {other:?}"),
    }
    request.messages.push(message.into());
    if let Some(part) = answered {
        let called = trunkline_message_tree::notation::parse("assistant:\n+ call c1 f {}\nresult c1: ok");
        request.tools.push(ToolSpec::new("f", "", json!({"type": "object", "properties": {}})));
        for mut message in called.expect("well formed") {
            if let Some(Content::ToolResult(result)) = message.content.first_mut() {
                result.content.push(part.clone());
            }
            request.messages.push(message.into());
        }
    }
    request
}

/// What the body is like without the feature, to see that it makes a difference.
fn plain(feature: Feature) -> Request {
    let mut request = Request::new("m", vec![Message::user("hi")]);
    request.stream = false;
    if matches!(
        feature,
        Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed | Feature::ParallelCalls
    ) {
        request.tools = asking_for(feature).tools;
    }
    request
}

#[test]
fn a_wire_does_what_it_says_and_refuses_the_rest() {
    for (name, wire) in wires() {
        for feature in Feature::ALL {
            let asking = asking_for(feature);
            let encoded = wire.encode(&asking);
            let at = format!("{name}: {}", feature.name());
            match wire.support(feature) {
                Support::None if feature == Feature::CacheBreakpoints => assert!(encoded.is_ok(), "{at}"),
                Support::None => match encoded.expect_err(&at) {
                    EncodeError::Unsupported { .. } | EncodeError::UnsupportedBlock { .. } => {}
                    other => panic!("{at}: {other}"),
                },
                Support::Near("automatic") => assert!(encoded.is_ok(), "{at}"),
                _ => {
                    let body = encoded.expect(&at);
                    let without = wire.encode(&plain(feature)).expect("nothing is asked for");
                    assert_ne!((body.path, body.body), (without.path, without.body), "{at}");
                }
            }
            // A choice that is only near is refused by who does not want it near.
            let mut strict = asking;
            strict.soft_choice = false;
            let forced = matches!(feature, Feature::ChoiceNone | Feature::ChoiceAny | Feature::ChoiceNamed);
            if forced && matches!(wire.support(feature), Support::Near(_)) {
                assert!(wire.encode(&strict).is_err(), "{at}");
            }
        }
    }
}

fn cell(wire: &dyn Wire, feature: Feature) -> String {
    match wire.support(feature) {
        Support::Native => "yes".to_owned(),
        Support::Near(what) => what.to_owned(),
        Support::None => "–".to_owned(),
        other => format!("{other:?}"),
    }
}

/// One column a wire; what the dialects of Chat differ in is told below the table.
fn table() -> String {
    let wires = wires();
    let columns: Vec<_> = wires.iter().filter(|(name, _)| !name.contains(':')).collect();
    let mut table = "| |".to_owned();
    columns.iter().for_each(|(name, _)| table.push_str(&format!(" {name} |")));
    table.push_str("\n|---|");
    columns.iter().for_each(|_| table.push_str("---|"));
    for feature in Feature::ALL {
        table.push_str(&format!("\n| {} |", feature.name()));
        columns.iter().for_each(|(_, wire)| table.push_str(&format!(" {} |", cell(&**wire, feature))));
    }
    table.push('\n');
    let chat = wires.iter().find(|(name, _)| *name == "Chat").map(|(_, wire)| wire).expect("it is there");
    for (name, wire) in wires.iter().filter(|(name, _)| name.starts_with("Chat: ")) {
        let differs =
            Feature::ALL.into_iter().filter(|feature| wire.support(*feature) != chat.support(*feature));
        let differs: Vec<String> =
            differs.map(|feature| format!("{} ({})", feature.name(), cell(&**wire, feature))).collect();
        table.push_str(&format!("\n- {name} differs from Chat in: {}.", differs.join(", ")));
    }
    table
}

/// `UPDATE_EXPECT=1` writes it, as for all other expectations.
#[test]
fn the_readme_has_the_table_that_the_code_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("the README is there");
    let (before, rest) = readme.split_once("<!-- features -->\n").expect("the table begins");
    let (shown, after) = rest.split_once("\n<!-- /features -->").expect("the table ends");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let fresh = format!("{before}<!-- features -->\n{}\n<!-- /features -->{after}", table());
        std::fs::write(path, fresh).expect("the README can be written");
    } else {
        assert_eq!(shown, table(), "UPDATE_EXPECT=1 writes the table anew");
    }
}
