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
    Origin::new("p", "m")
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

/// The tool that there is, and what a model may call instead.
fn name() -> impl Strategy<Value = String> {
    let long = "a_name_that_is_longer_than_what_any_provider_takes_for_a_tool_0123456789".repeat(2);
    prop_oneof![
        4 => Just("f".to_owned()),
        1 => prop::sample::select(vec!["functions.f", "1f", "f f", "", "f:f"]).prop_map(str::to_owned),
        1 => Just(long),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let kinds =
        vec!["image/png", "image/png", "image/tiff", "application/pdf", "text/x-rust", "video/mp4", ""];
    let source = prop::sample::select(vec![
        MediaSource::Base64("AAAA".to_owned()),
        MediaSource::Url("https://example.org/a".to_owned()),
        MediaSource::Url("s3://bucket/a".to_owned()),
    ]);
    (prop::sample::select(kinds), source)
        .prop_map(|(kind, source)| Media { media_type: kind.to_owned(), source })
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
        r#"{"besideText":{"citations":[{"type":"x"}]}}"#,
        r#"{"besideCall":{"caller":{"type":"x"}}}"#,
        r#"{"besideMessage":{"name":"x"}}"#,
    ]);
    (wire.prop_map(str::to_owned), json.prop_map(str::to_owned))
}

fn block() -> impl Strategy<Value = Content> {
    let arguments =
        prop_oneof![Just("{}"), Just(r#"{"x": 1}"#), Just(""), Just(r#"{"x"#), Just("[]"), Just("null")];
    let signature = prop::option::of(Just("c2ln".to_owned()));
    let call = (id(), name(), arguments, signature).prop_map(|(id, name, arguments, signature)| {
        let call = ToolCall { id, name, arguments: arguments.to_owned(), signature };
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
    let origin = prop_oneof![Just(None), Just(Some(origin())), Just(Some(Origin::new("other", "m")))];
    (role, prop::collection::vec(block(), 0..4), origin).prop_map(|((role, author), content, origin)| {
        let mut message = Message::new(role, author, content);
        message.origin = origin.filter(|_| role == Role::Assistant);
        message
    })
}

/// Each set of rules with a model and the wire that it is for.
pub(crate) fn services() -> Vec<(&'static str, &'static str, Box<dyn Wire>)> {
    let chat = |dialect| -> Box<dyn Wire> { Box::new(OpenAiChat::new(dialect)) };
    vec![
        ("anthropic", "m", Box::new(Anthropic::new())),
        ("anthropic-strict", "m", Box::new(Anthropic::new())),
        ("anthropic-mid-system", "m", Box::new(Anthropic::new())),
        ("openai-chat", "m", chat(Dialect::default())),
        ("openai-chat", "m", chat(Dialect::openai())),
        ("deepseek", "m", chat(Dialect::deepseek())),
        ("mistral", "m", chat(Dialect::mistral())),
        ("groq", "m", chat(Dialect::for_host("api.groq.com"))),
        ("openrouter", "m", chat(Dialect::openrouter())),
        ("llama-cpp", "m", chat(Dialect::llama_cpp())),
        ("openai-responses", "m", Box::new(OpenAiResponses::new())),
        ("ollama", "m", Box::new(Ollama::new())),
        ("gemini-2", "gemini-2.5-flash", Box::new(Gemini::new())),
        ("gemini-3", "gemini-3-pro-preview", Box::new(Gemini::new())),
        ("bedrock-claude", "anthropic.claude-haiku-4-5", Box::new(Bedrock::new())),
        ("bedrock", "amazon.nova-lite-v1:0", Box::new(Bedrock::new())),
    ]
}

fn check(name: &str, model: &str, wire: &dyn Wire, messages: &[Message]) -> Result<(), TestCaseError> {
    let rules = WireRules::named(name).expect("the set exists");
    for offered in [false, true] {
        let mut facts = RequestFacts::default();
        facts.origin = Some(origin());
        facts.tools_offered = Some(offered);
        facts.tools.extend(offered.then(|| "f".to_owned()));
        let sanitized = sanitize(messages, &rules, &facts);
        let after = sanitized.facts(&facts);
        let printed = notation::print(&sanitized.messages);
        prop_assert!(violations(&sanitized.messages, &rules, &after).is_empty(), "{}", printed);
        let mut request = Request::new(model, sanitized.messages.clone().into_owned());
        let tool = ToolSpec::new("f", "", serde_json::json!({"type": "object"}));
        request.tools.extend(offered.then_some(tool));
        if let Err(fault) = wire.encode(&request) {
            return Err(TestCaseError::fail(format!("{name}: {} refuses: {fault}\n{printed}", wire.name())));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_was_sanitized_encodes(messages in prop::collection::vec(message(), 0..9)) {
        for (name, model, wire) in services() {
            check(name, model, &*wire, &messages)?;
        }
    }
}
