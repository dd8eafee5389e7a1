//! Two independent opinions on what is legal: whatever was sanitized for a wire encodes on it.
//!
//! `sanitize` repairs and never refuses, `providers` refuses and never repairs, and neither knows the other.

use proptest::prelude::*;
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Origin, Part, Role, ToolCall, ToolResult, ToolSpec,
    notation,
};
use trunkline_providers::{
    Anthropic, Bedrock, Dialect, Gemini, Ollama, OpenAiChat, OpenAiResponses, Request, Wire,
};
use trunkline_sanitize::{RequestFacts, WireRules, sanitize, violations};

fn origin() -> Origin {
    Origin { provider: "p".to_owned(), model: "m".to_owned() }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("hello".to_owned()),
        Just("hello ".to_owned()),
        "\\PC{0,4}"
    ]
}

/// Few ids, so that they meet, repeat and cross.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a"),
        Just("b"),
        Just("functions.x:0"),
        Just(""),
        Just("call_with_a_rather_long_id_that_some_wires_refuse_0001")
    ]
    .prop_map(str::to_owned)
}

fn media() -> impl Strategy<Value = Media> {
    any::<bool>().prop_map(|here| Media {
        media_type: "image/png".to_owned(),
        source: match here {
            true => MediaSource::Base64("AAAA".to_owned()),
            false => MediaSource::Url("https://example.org/a.png".to_owned()),
        },
    })
}

/// What only one wire understands.
fn raw() -> impl Strategy<Value = (String, String)> {
    let wire = prop::sample::select(vec![
        "anthropic",
        "openai-chat",
        "openai-responses",
        "gemini",
        "bedrock",
        "ollama",
    ]);
    let json = prop::sample::select(vec![
        r#"{"type":"new"}"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[]}"#,
        r#"{"type":"reasoning","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#,
        r#"{"text":"signed","thoughtSignature":"c2ln"}"#,
        r#"{"textBytes":[0,3],"part":{"thoughtSignature":"c2ln"}}"#,
    ]);
    (wire.prop_map(str::to_owned), json.prop_map(str::to_owned))
}

fn block() -> impl Strategy<Value = Content> {
    let arguments =
        prop_oneof![Just("{}"), Just(r#"{"x": 1}"#), Just(""), Just(r#"{"x"#), Just("[]"), Just("null")];
    let signature = prop::option::of(Just("c2ln".to_owned()));
    let call = (id(), arguments, signature).prop_map(|(id, arguments, signature)| {
        let call = ToolCall { id, name: "f".to_owned(), arguments: arguments.to_owned(), signature };
        Content::ToolCall(call)
    });
    let part = prop_oneof![
        6 => word().prop_map(Part::text),
        2 => media().prop_map(Part::Image),
        1 => media().prop_map(Part::Document),
        1 => raw().prop_map(|(wire, json)| Part::Opaque { wire, json }),
    ];
    let result =
        (id(), prop::collection::vec(part, 0..3), any::<bool>()).prop_map(|(call_id, content, is_error)| {
            Content::ToolResult(ToolResult { call_id, content, is_error })
        });
    prop_oneof![
        4 => word().prop_map(Content::text),
        4 => call,
        4 => result,
        1 => (word(), prop::option::of(Just("sig".to_owned())))
            .prop_map(|(text, signature)| Content::Thinking { text, signature }),
        1 => Just(Content::RedactedThinking { data: "ZZ".to_owned() }),
        1 => media().prop_map(Content::Image),
        1 => media().prop_map(Content::Document),
        1 => id().prop_map(|id| Content::ServerCall { id, json: r#"{"type":"server_tool_use"}"#.to_owned() }),
        1 => id().prop_map(|call_id| Content::ServerResult { call_id, json: r#"{"type":"x_tool_result"}"#.to_owned() }),
        1 => raw().prop_map(|(wire, json)| Content::Opaque { wire, json }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![
        1 => Just((Role::System, Author::Harness)),
        4 => Just((Role::User, Author::Person)),
        1 => Just((Role::User, Author::Harness)),
        5 => Just((Role::Assistant, Author::Model)),
        5 => Just((Role::Tool, Author::Tool)),
    ];
    let origin = prop_oneof![
        Just(None),
        Just(Some(origin())),
        Just(Some(Origin { provider: "other".to_owned(), model: "m".to_owned() }))
    ];
    (role, prop::collection::vec(block(), 0..4), origin).prop_map(|((role, author), content, origin)| {
        let mut message = Message::new(role, author, content);
        message.origin = origin.filter(|_| role == Role::Assistant);
        message
    })
}

/// Each set of rules with the wire that it is for.
fn pairs() -> Vec<(&'static str, Box<dyn Wire>)> {
    let chat = |dialect| -> Box<dyn Wire> { Box::new(OpenAiChat::new(dialect)) };
    vec![
        ("anthropic", Box::new(Anthropic::new())),
        ("anthropic-strict", Box::new(Anthropic::new())),
        ("openai-chat", chat(Dialect::default())),
        ("deepseek", chat(Dialect::deepseek())),
        ("mistral", chat(Dialect::mistral())),
        ("openrouter", chat(Dialect::openrouter())),
        ("llama-cpp", chat(Dialect::llama_cpp())),
        ("openai-responses", Box::new(OpenAiResponses::new())),
        ("ollama", Box::new(Ollama::new())),
        ("gemini-2", Box::new(Gemini::new())),
        ("gemini-3", Box::new(Gemini::new())),
    ]
}

fn check(wire: &dyn Wire, rules: &WireRules, messages: &[Message]) -> Result<(), TestCaseError> {
    let mut facts = RequestFacts::default();
    facts.origin = Some(origin());
    let sanitized = sanitize(messages, rules, &facts);
    let after = sanitized.facts(&facts);
    let printed = notation::print(&sanitized.messages);
    prop_assert!(violations(&sanitized.messages, rules, &after).is_empty(), "{}", printed);
    let request = Request::new("m", sanitized.messages.clone().into_owned());
    if let Err(fault) = wire.encode(&request) {
        return Err(TestCaseError::fail(format!("{} refuses: {fault}\n{printed}", wire.name())));
    }
    Ok(())
}

/// Bedrock takes no tool blocks where no tool is offered, no addresses outside of S3, and no picture for a document; who
/// asks it says the one and brings the others along.
fn check_bedrock(model: &str, rules: &WireRules, messages: &[Message]) -> Result<(), TestCaseError> {
    let mut messages = messages.to_vec();
    let here = |media: &mut Media, kind: &str| {
        *media = Media { media_type: kind.to_owned(), source: MediaSource::Base64("AAAA".to_owned()) };
    };
    for block in messages.iter_mut().flat_map(|message| &mut message.content) {
        match block {
            Content::Image(media) => here(media, "image/png"),
            Content::Document(media) => here(media, "application/pdf"),
            Content::ToolResult(result) => result.content.iter_mut().for_each(|part| match part {
                Part::Image(media) => here(media, "image/png"),
                Part::Document(media) => here(media, "application/pdf"),
                Part::Text { .. } | Part::Opaque { .. } => {}
            }),
            _ => {}
        }
    }
    for offered in [false, true] {
        let mut facts = RequestFacts::default();
        facts.origin = Some(origin());
        facts.tools_offered = Some(offered);
        let sanitized = sanitize(&messages, rules, &facts);
        let printed = notation::print(&sanitized.messages);
        let mut request = Request::new(model, sanitized.messages.clone().into_owned());
        let tool = ToolSpec::new("f", "", serde_json::json!({"type": "object"}));
        request.tools.extend(offered.then_some(tool));
        if let Err(fault) = Bedrock::new().encode(&request) {
            return Err(TestCaseError::fail(format!("{model} refuses: {fault}\n{printed}")));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_was_sanitized_encodes(messages in prop::collection::vec(message(), 0..9)) {
        for (rules, wire) in pairs() {
            let rules = WireRules::named(rules).expect("the set exists");
            check(&*wire, &rules, &messages)?;
        }
        check_bedrock("anthropic.claude-haiku-4-5", &WireRules::bedrock_claude(), &messages)?;
        check_bedrock("amazon.nova-lite-v1:0", &WireRules::bedrock(), &messages)?;
    }
}
