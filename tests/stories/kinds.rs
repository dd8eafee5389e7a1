//! Kinds of requests that services take, each in its smallest form by the documents of the service: they are read, written
//! again, and mean the same.

use serde_json::{Value, json};
use trunkline_tests::corpora;
use trunkline_tests::recorded::{self, Recordings};

const ANTHROPIC: &str = "https://api.anthropic.com/v1/messages";
const RESPONSES: &str = "https://api.openai.com/v1/responses";
const GEMINI: &str =
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent";
const CLAUDE: &str =
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-haiku-4-5/converse";
const NOVA: &str = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1:0/converse";

/// Says what of a request is lost, added or changed on its way through our words, or cannot be said at all.
fn check(uri: &str, body: &Value) {
    let answer = match uri {
        _ if uri.contains("anthropic.com") => {
            json!({"type": "message", "id": "msg_1", "model": "m", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"})
        }
        RESPONSES => json!({"id": "resp_1", "model": "m", "status": "completed", "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]}),
        GEMINI => json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}),
        CLAUDE | NOVA => {
            json!({"output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}}, "stopReason": "end_turn"})
        }
        _ => {
            json!({"model": "m", "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]})
        }
    };
    let exchange = json!({"interactions": [{
        "request": {"method": "POST", "uri": uri, "parsed_body": body},
        "response": {"status": {"code": 200, "message": "OK"}, "parsed_body": answer},
    }]});
    let mut recordings = Recordings { files: 1, ..Recordings::default() };
    recorded::read_text("made_up.yaml", &exchange.to_string(), &mut recordings);
    let report = corpora::run(&recordings, 1);
    let equal = report.wires.values().all(|wire| wire.identical + wire.equal == 1);
    let text = report.to_string();
    assert!(report.wires.len() == 1 && equal, "{body}\n{text}");
    assert!(report.failures() == 0 && !text.contains("NO WORD"), "{body}\n{text}");
}

#[test]
fn anthropic() {
    let list = |messages: Value| {
        let tools =
            json!([{"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}]);
        check(ANTHROPIC, &json!({"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}));
    };
    let hi = || json!({"role": "user", "content": "hi"});
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}}]});
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]});
    let reference = json!({"type": "tool_reference", "name": "f"});
    // Tools that come and go among the messages.
    list(
        json!([hi(), {"role": "system", "content": [{"type": "text", "text": "x"}, {"type": "tool_addition", "tool": reference}]}, hi()]),
    );
    list(
        json!([hi(), call("a"), result("a"), {"role": "system", "content": [{"type": "tool_removal", "tool": reference}]}]),
    );
    list(
        json!([{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "tool_addition", "tool": reference}]}]),
    );
    list(json!([hi(), {"role": "system", "content": "x", "clear_at": "next_user_message"}, hi()]));
    list(json!([hi(), call("a"), {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
        "content": [{"type": "tool_reference", "tool_name": "f"}]}]}]));
    // Instructions between a call and its result, and an id that comes again.
    list(json!([hi(), call("a"), {"role": "system", "content": "x"}, result("a")]));
    list(json!([hi(), call("a"), result("a"), call("a"), result("a")]));
    // Where words were taken from, and who made a call.
    let cited = json!({"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1});
    list(json!([hi(), {"role": "assistant", "content": [
        {"type": "text", "text": "x", "citations": [cited]}, {"type": "text", "text": "y"}]}, hi()]));
    list(
        json!([hi(), {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {},
        "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}, "toolset_name": "s"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x", "toolset_name": "s"}]}]),
    );
}

#[test]
fn openai_chat_and_its_dialects() {
    let hosts = [
        "api.openai.com",
        "api.deepseek.com",
        "api.mistral.ai",
        "openrouter.ai/api",
        "api.groq.com/openai",
        "api.example.org",
    ];
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]);
    let hi = || json!({"role": "user", "content": "hi"});
    let mut bodies = vec![
        json!({"tools": tools, "tool_choice": {"function": {"name": "f"}}}),
        json!({"reasoning_effort": "high"}),
        json!({"reasoning_effort": "max"}),
        json!({"reasoning_effort": "xhigh"}),
        json!({"thinking": {"type": "enabled"}}),
        json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        json!({"prompt_cache_options": {"mode": "explicit"}}),
    ];
    let lists = [
        json!([{"role": "user", "content": [{"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}]}]),
        json!([{"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}, hi()]),
        json!([hi(), {"role": "assistant", "content": "x", "refusal": null, "audio": null, "function_call": null,
            "annotations": [{"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 1}}]}, hi()]),
        json!([hi(), {"role": "assistant", "content": null}, hi()]),
        json!([{"role": "user", "content": "hi", "name": "bob"}]),
    ];
    bodies.extend(lists.map(|messages| json!({"messages": messages})));
    for host in hosts {
        for body in &bodies {
            let mut body = body.clone();
            body["model"] = json!("m");
            if body["messages"].is_null() {
                body["messages"] = json!([hi()]);
            }
            check(&format!("https://{host}/v1/chat/completions"), &body);
        }
    }
}

#[test]
fn openai_responses() {
    let items = |items: Value| {
        let tools = json!([{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": false}]);
        check(RESPONSES, &json!({"model": "m", "input": items, "tools": tools}));
    };
    let hi = || json!({"role": "user", "content": "hi"});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let cited = json!({"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1});
    items(json!([hi(), {"role": "assistant", "content": "x", "phase": "commentary"},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "final_answer", "content": [
            {"type": "output_text", "text": "a", "annotations": []}, {"type": "output_text", "text": "b", "annotations": [cited]}]}, hi()]));
    let mut named = call("a");
    named["namespace"] = json!("crm");
    named["caller"] = json!({"type": "program", "caller_id": "p"});
    items(json!([hi(), named, output("a")]));
    // Results that come late, and ids that come again.
    items(json!([hi(), call("a"), hi(), output("a")]));
    items(json!([hi(), call("a"), call("b"), output("a"), hi(), output("b")]));
    items(json!([hi(), call("a"), output("a"), call("a"), output("a")]));
    items(
        json!([{"role": "user", "content": [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "input_text", "text": "y"}]}]),
    );
    items(json!([hi(), call("a"), {"type": "function_call_output", "call_id": "a", "output": [
        {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}, {"type": "input_text", "text": "y"}]}]));
    items(json!([hi(), {"type": "item_reference", "id": "fc_1"}, output("a")]));
    for (name, value) in [
        ("reasoning", json!({"effort": "max"})),
        ("reasoning", json!({"effort": "xhigh", "summary": "auto"})),
        ("background", json!(true)),
        ("conversation", json!("conv_1")),
        ("previous_response_id", json!("resp_0")),
        ("prompt_cache_options", json!({"ttl": "12h"})),
    ] {
        check(RESPONSES, &json!({"model": "m", "input": [hi()], name: value}));
    }
    check(RESPONSES, &json!({"model": "m", "input": [output("a")], "previous_response_id": "resp_0"}));
    check(RESPONSES, &json!({"model": "m", "previous_response_id": "resp_0"}));
}

#[test]
fn gemini() {
    let turns = |contents: Value| check(GEMINI, &json!({"contents": contents}));
    let user = |part: Value| json!({"role": "user", "parts": [part]});
    let hi = || user(json!({"text": "hi"}));
    let call = || json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"});
    let result = || user(json!({"functionResponse": {"name": "f", "response": {"output": "x"}}}));
    turns(json!([hi(), {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "x"}]}, hi()]));
    turns(json!([hi(), {"role": "model", "parts": [{"text": "hm", "thought": true}, call()]}, result()]));
    turns(
        json!([hi(), {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thought": true}]}, result()]),
    );
    turns(
        json!([hi(), {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "text": "so"}]}, result()]),
    );
    turns(json!([user(json!({"text": ""})), {"role": "model", "parts": [{"text": " "}, {}]}, hi()]));
    turns(json!([hi(), {"role": "model", "parts": []}, hi()]));
    turns(json!([{"role": "model", "parts": [{"text": "x"}]}, hi()]));
    check(
        GEMINI,
        &json!({
            "contents": [hi(), {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}, "thought_signature": "s"}]},
                {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"x_y": 1}}}]}],
            "system_instruction": {"parts": [{"text": "s"}]},
            "tools": [{"function_declarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}}}]}],
            "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
            "generation_config": {"max_output_tokens": 5, "top_p": 0.9, "stop_sequences": ["x"], "thinking_config": {"thinking_budget": 100, "include_thoughts": true}},
        }),
    );
}

#[test]
fn bedrock() {
    let user = |blocks: Value| json!({"role": "user", "content": blocks});
    let said = |blocks: Value| json!({"role": "assistant", "content": blocks});
    let call = || json!({"toolUse": {"toolUseId": "a", "name": "f", "input": {}}});
    let result = |text: &str| {
        user(json!([{"toolResult": {"toolUseId": "a", "content": [{"text": text}], "status": "success"}}]))
    };
    let hi = || user(json!([{"text": "hi"}]));
    let cited = json!({"title": "t", "sourceContent": [{"text": "s"}], "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 1}}});
    for uri in [CLAUDE, NOVA] {
        for messages in [
            json!([said(json!([{"text": "x"}])), hi()]),
            json!([said(json!([call()])), result("x")]),
            json!([hi(), said(json!([{"text": ""}, call()])), result(" ")]),
            json!([user(json!([{"text": " "}])), said(json!([{"text": "\n"}])), hi()]),
            json!([hi(), said(json!([call()])), result("x"), said(json!([call()])), result("y")]),
            json!([
                hi(),
                said(
                    json!([{"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": [cited]}}, {"text": "c"}])
                ),
                hi()
            ]),
            json!([hi(), {"role": "system", "content": [{"text": "s"}, {"toolAddition": {"tool": {"name": "f"}}}]}, hi()]),
        ] {
            let tools = json!([{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}]);
            check(uri, &json!({"messages": messages, "toolConfig": {"tools": tools}}));
        }
    }
}
