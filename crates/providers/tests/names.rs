//! Names of tools: what a model wrote and what a program offers, on every wire.

use expect_test::expect;
use serde_json::json;
use trunkline_message_tree::{Content, ToolSpec};
use trunkline_providers::{EncodeError, Request, Wire};

use crate::every_wire::wires;
use crate::replies::request;

/// A conversation in which a tool of that name was called.
fn called(name: &str) -> Request {
    let mut request = request(
        "user: hi
         assistant:
         + call c1 f {}
         result c1: there is no such tool
         user: and?",
    );
    request.messages = request
        .messages
        .iter()
        .map(|message| {
            let mut message = (**message).clone();
            for content in &mut message.content {
                if let Content::ToolCall(call) = content {
                    name.clone_into(&mut call.name);
                }
            }
            message.into()
        })
        .collect();
    request.tools = vec![ToolSpec::new("f", "", json!({ "type": "object" }))];
    request
}

fn offered(name: &str) -> Request {
    let mut request = request("user: hi");
    request.tools = vec![ToolSpec::new(name, "", json!({ "type": "object" }))];
    request
}

/// The wires that refuse the name, and whether they say so of a call and of an offer alike.
fn refusals(name: &str) -> Vec<&'static str> {
    let refuses = |wire: &dyn Wire| {
        let call = wire.encode(&called(name)).err();
        let offer = wire.encode(&offered(name)).err();
        match (call, offer) {
            (
                Some(EncodeError::CalledName { name: called, .. }),
                Some(EncodeError::OfferedName { name: offered }),
            ) => {
                assert_eq!((called.as_str(), offered.as_str()), (name, name));
                true
            }
            (None, None) => false,
            other => panic!("{}: {name:?}: {other:?}", wire.name()),
        }
    };
    wires().into_iter().filter(|(_, wire)| refuses(&**wire)).map(|(name, _)| name).collect()
}

#[test]
fn each_wire_refuses_what_its_service_does() {
    let long = |length: usize| "a".repeat(length);
    let names = [
        "read_file-2",
        "functions.list_files",
        "list files",
        "lire_là",
        "1st",
        "",
        &long(64),
        &long(65),
        &long(129),
    ];
    let mut told = String::new();
    for name in names {
        let shown = if name.len() > 60 { format!("{} letters", name.len()) } else { format!("{name:?}") };
        let refused = refusals(name).join(", ");
        let by = if refused.is_empty() { "nobody" } else { &refused };
        told.push_str(&format!("{shown}: {by}\n"));
    }
    expect![[r#"
        "read_file-2": nobody
        "functions.list_files": Anthropic, Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Responses, Bedrock
        "list files": Anthropic, Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Responses, Gemini, Bedrock
        "lire_là": Anthropic, Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Responses, Gemini, Bedrock
        "1st": Gemini
        "": Anthropic, Chat, Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Chat: llama.cpp, Responses, Gemini, Ollama, Bedrock
        64 letters: nobody
        65 letters: Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Gemini, Bedrock
        129 letters: Anthropic, Chat: OpenAI, Chat: OpenRouter, Chat: DeepSeek, Chat: Mistral, Responses, Gemini, Bedrock
    "#]].assert_eq(&told);
}

#[test]
fn a_refusal_says_where_and_what_to_do() {
    let anthropic = trunkline_providers::Anthropic::new();
    let error = |request: &Request| anthropic.encode(request).expect_err("it is refused").to_string();
    expect![[r#"message 1: the wire refuses "a b" as the name of a called tool"#]]
        .assert_eq(&error(&called("a b")));
    expect![[r#"the wire refuses "a b" as the name of a tool on offer; give the tool another name"#]]
        .assert_eq(&error(&offered("a b")));
}
