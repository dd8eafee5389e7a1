//! The validators refuse what services refuse; one that lets everything pass would prove nothing.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::notation;
use trunkline_sanitize::{RequestFacts, Thinking};

use crate::validators::{Verdict, anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

fn say(verdict: Verdict) -> String {
    verdict.err().unwrap_or_else(|| "accepted".to_owned())
}

/// Asks about bodies that hold these messages.
fn bodies(ask: impl Fn(&Value) -> Verdict, lists: &[Value], expected: &Expect) {
    let answers: Vec<String> = lists.iter().map(|list| say(ask(&json!({"messages": list}))) + "\n").collect();
    expected.assert_eq(&answers.concat());
}

/// Asks about lists in notation.
fn lists(ask: impl Fn(&[trunkline_message_tree::Message]) -> Verdict, lists: &[&str], expected: &Expect) {
    let read = |list: &&str| say(ask(&notation::parse(list).expect("notation"))) + "\n";
    expected.assert_eq(&lists.iter().map(read).collect::<String>());
}

#[test]
fn anthropic_refuses_what_its_table_says() {
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}}]});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id});
    let user = |blocks: Value| json!({"role": "user", "content": blocks});
    let hi = || user(json!("hi"));
    bodies(
        |body| anthropic::check(body, anthropic::Taste { alternate: true, ..anthropic::Taste::default() }),
        &[
            json!([hi(), call("a"), user(json!([result("a"), {"type": "text", "text": "so?"}]))]),
            json!([hi(), call("a"), hi()]),
            json!([hi(), call("a")]),
            json!([user(json!([result("a")]))]),
            json!([hi(), call("a"), user(json!([result("a"), result("a")]))]),
            json!([hi(), call("a"), user(json!([{"type": "text", "text": "x"}, result("a")]))]),
            json!([hi(), call("a"), user(json!([result("a")])), call("a"), user(json!([result("a")]))]),
            json!([hi(), call("f:0"), user(json!([result("f:0")]))]),
            json!([user(json!([{"type": "text", "text": " "}]))]),
            json!([user(json!([]))]),
            json!([hi(), hi()]),
            json!([hi(), {"role": "assistant", "content": "well"}]),
            json!([{"role": "assistant", "content": "well"}, hi()]),
            json!([hi(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}, hi()]),
            json!([hi(), {"role": "assistant", "content": [{"type": "x_tool_result", "tool_use_id": "s"}]}, hi()]),
            json!([hi(), {"role": "system", "content": "x"}]),
        ],
        &expect![[r#"
            accepted
            calls without results: ["a"]
            the conversation must end with a user message
            no open call for the result a
            no open call for the result a
            a result behind other blocks
            `tool_use` ids must be unique: a
            tool_use.id: "f:0" should match pattern
            text content blocks must contain non-whitespace text
            all messages must have non-empty content
            messages: roles must alternate between "user" and "assistant"
            the conversation must end with a user message
            messages: first message must use the "user" role
            invalid `signature` in `thinking` block: {"thinking":"x","type":"thinking"}
            unexpected `tool_use_id` found in `x_tool_result` blocks
            messages: role system
        "#]],
    );
    let body = json!({
        "thinking": {"type": "enabled"},
        "messages": [hi(), call("a"), user(json!([result("a")]))],
    });
    expect!["expected `thinking`, but found `tool_use`"]
        .assert_eq(&say(anthropic::check(&body, anthropic::Taste::default())));
}

#[test]
fn openai_chat_and_its_dialects_refuse_what_their_tables_say() {
    use openai_chat::{Ids, Order, Taste, check};
    let call = |id: &str, arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "42"});
    let say = |role: &str| json!({"role": role, "content": "hi"});
    let picture = json!([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]);
    bodies(
        |body| check(body, Taste::default()),
        &[
            json!([call("a", "{}"), result("a"), say("user")]),
            json!([say("user"), call("a", "{}"), say("user")]),
            json!([say("user"), call("a", "{}")]),
            json!([say("user"), result("a")]),
            json!([call("a", "{}"), result("a"), result("a")]),
            json!([call("", "{}"), result("")]),
            json!([call(&"a".repeat(41), "{}"), result(&"a".repeat(41))]),
            json!([call("a", "{\"x"), result("a")]),
            json!([call("a", "null"), result("a")]),
            json!([{"role": "assistant", "content": null}]),
            json!([call("a", "{}"), {"role": "tool", "tool_call_id": "a", "content": picture}]),
            json!([]),
        ],
        &expect![[r#"
            accepted
            calls without results: ["a"]
            calls without results: ["a"]
            no open call for the result a
            no open call for the result a
            tool call id was ""
            tool call id was "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            arguments must be a valid JSON object string, not "{\"x"
            arguments must be a valid JSON object string, not "null"
            invalid value for 'content' in {"content":null,"role":"assistant"}
            tool message with the part {"image_url":{"url":"https://example.org/a.png"},"type":"image_url"}
            empty array, expected an array with minimum length 1
        "#]],
    );
    bodies(
        |body| check(body, Taste { reasoning_beside_calls: true, pictures: false, ..Taste::default() }),
        &[json!([call("a", "{}"), result("a")]), json!([{"role": "user", "content": picture}])],
        &expect![[r#"
            the `reasoning_content` in the thinking mode must be passed back
            user message with the part {"image_url":{"url":"https://example.org/a.png"},"type":"image_url"}
        "#]],
    );
    bodies(
        |body| {
            check(
                body,
                Taste {
                    ids: Ids::Nine,
                    order: Order::Mistral { user_after_tool: false },
                    ..Taste::default()
                },
            )
        },
        &[
            json!([call("call_1", "{}"), result("call_1")]),
            json!([call("abcdefghi", "{}"), result("abcdefghi"), say("user")]),
            json!([say("user"), say("assistant")]),
        ],
        &expect![[r#"
            tool call id was "call_1"
            unexpected role 'user' after role 'tool'
            expected last role User or Tool but got assistant
        "#]],
    );
    bodies(
        |body| check(body, Taste { order: Order::Template, ..Taste::default() }),
        &[
            json!([say("system"), say("user"), call("a", "{}"), result("a"), say("assistant"), say("user")]),
            json!([say("user"), call("a", "{}"), result("a"), say("user")]),
            json!([say("user"), say("system"), say("assistant")]),
            json!([say("assistant"), say("user")]),
        ],
        &expect![[r#"
            accepted
            after the optional system message, conversation roles must alternate user/assistant
            after the optional system message, conversation roles must alternate user/assistant
            after the optional system message, conversation roles must alternate user/assistant
        "#]],
    );
}

#[test]
fn openai_responses_refuses_what_its_table_says() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "42"});
    let say = |role: &str| json!({"role": role, "content": "hi"});
    let reasoning = || json!({"type": "reasoning", "id": "rs_1", "summary": []});
    bodies(
        |body| openai_responses::check(&json!({"input": body["messages"]})),
        &[
            json!([call("a"), say("assistant"), call("b"), output("b"), output("a")]),
            json!([call("a"), say("user")]),
            json!([call("a"), call("b"), output("a"), say("assistant"), output("b")]),
            json!([say("user"), output("a")]),
            json!([call("a"), output("a"), output("a")]),
            json!([call(""), output("")]),
            json!([reasoning(), call("a"), output("a")]),
            json!([reasoning(), say("user")]),
            json!([say("assistant"), reasoning()]),
        ],
        &expect![[r#"
            accepted
            calls without results: ["a"]
            calls without results: ["b"]
            no open call for the result a
            no open call for the result a
            call_id ""
            accepted
            item of type 'reasoning' was provided without its required following item
            item of type 'reasoning' was provided without its required following item
        "#]],
    );
}

#[test]
fn gemini_refuses_what_its_table_says() {
    let ask = |signed| {
        move |messages: &[_]| gemini::check(messages, gemini::Taste { signed, pictures_in_results: false })
    };
    lists(
        ask(false),
        &[
            "user: hi\nassistant: well\n+ call a f {}\n+ call b g {}\nresult b: 2\nresult a: 1\nuser: so?",
            "assistant:\n+ call a f {}\nresult a: 1",
            "user: hi\nassistant: well\nassistant:\n+ call a f {}\nresult a: 1",
            "user: hi\nassistant:\n+ call a f {}\n+ call b f {}\nresult b: 2\nresult a: 1",
            "user: hi\nassistant:\n+ call a f {}\n+ call b f {}\nresult a: 1\nuser: so?",
            "user: hi\nresult a: 1",
            "user: hi\nassistant: well",
            "user: hi\nassistant:\nuser: hi",
            "user: hi\nuser: \\s",
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1\n++ image image/png base64 AAAA",
        ],
        &expect![[r#"
            accepted
            function call turn comes immediately after a user turn
            function call turn comes immediately after a user turn or after a function response turn
            result b comes out of order
            number of function response parts
            no open call for the result a
            ends with a model turn
            contents.parts must not be empty
            accepted
            a picture in a function response
        "#]],
    );
    lists(
        ask(true),
        &[
            "user: hi\nassistant:\n+ call a f {}\n++ signature s\n+ call b f {}\nresult a: 1\nresult b: 2",
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1",
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1\nuser: next",
        ],
        &expect![[r#"
            accepted
            function call is missing a thought_signature in functionCall parts
            accepted
        "#]],
    );
}

#[test]
fn bedrock_refuses_what_its_table_says() {
    let mut facts = RequestFacts::default();
    lists(
        |messages| bedrock::check(messages, &facts, false),
        &[
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1\nassistant: .\nuser: so?",
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1\nuser: so?",
            "user: hi\nassistant:\n+ call a f {}\nuser: so?",
            "user: hi\nassistant:\n+ call a f {}\nresult a: 1\nresult a: 1",
            "user: hi\nuser: hi",
            "assistant: hi\nuser: hi",
            "user: hi\nassistant: well",
            "user: \\s",
            "user: hi\nassistant:\n+ call \"a b\" f {}\nresult \"a b\": 1",
            "user: hi\nassistant:\n+ call a f {}\nresult a!:",
        ],
        &expect![[r#"
            accepted
            conversation blocks and tool result blocks cannot be provided in the same turn
            calls without results: ["a"]
            no open call for the result a
            a conversation must alternate between user and assistant roles
            accepted
            this model does not support assistant message prefill
            the text field in the ContentBlock object is blank
            toolUseId "a b"
            toolResult cannot be empty when status value is error
        "#]],
    );
    let loops = ["user: hi\nassistant:\n+ call a f {}\nresult a: 1"];
    facts.tools_offered = Some(false);
    lists(
        |messages| bedrock::check(messages, &facts, false),
        &loops,
        &expect![[r#"
        the toolConfig field must be defined when using toolUse and toolResult content blocks
    "#]],
    );
    facts = RequestFacts::default();
    facts.thinking = Thinking::On;
    lists(
        |messages| bedrock::check(messages, &facts, true),
        &loops,
        &expect![[r#"
        expected `thinking`, but found `tool_use`
    "#]],
    );
}

#[test]
fn ollama_refuses_what_cannot_be_paired_or_said() {
    lists(
        ollama::check,
        &[
            "assistant: well\n+ thinking: hm\n+ call a f {}\n+ call b f {}\nresult a: 1\nresult b: 2",
            "assistant:\n+ call a f {}\n+ call b f {}\nresult b: 2\nresult a: 1",
            "assistant:\n+ call a f {}\nuser: hi",
            "user: hi\nresult a: 1",
            "assistant:\n+ redacted: x",
            "assistant:\n+ call a f {}\nresult a: 1\n++ image image/png base64 AAAA",
        ],
        &expect![[r#"
            accepted
            result b comes out of order
            calls without results: ["a"]
            no open call for the result a
            in a Assistant message: RedactedThinking { data: "x" }
            in a Tool message: ToolResult(ToolResult { call_id: "a", content: [Text { text: "1" }, Image(Media { media_type: "image/png", source: Base64("AAAA") })], is_error: false })
        "#]],
    );
}
