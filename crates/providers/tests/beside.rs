//! What a service says beside words and calls is read, kept and sent back: the smallest answer and the request that goes on
//! from it, for each wire, by the documents of the service.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::{Message, notation};
use trunkline_providers::{Anthropic, Bedrock, Dialect, Gemini, OpenAiChat, OpenAiResponses, Request, Wire};

use crate::replies::{decode, fold};

/// The answer as it is kept, and how it goes back with results and a prompt behind it.
fn there_and_back(wire: &dyn Wire, answer: &str) -> String {
    let (events, outcome) = decode(wire, [answer.as_bytes()]);
    assert_eq!(outcome, Ok(()), "{answer}");
    // Each byte by itself gives the same.
    let (again, _) = decode(wire, answer.as_bytes().chunks(1));
    assert_eq!(again, events);
    let kept = fold(wire.name(), &events).finish();
    format!("{}--\n{}", notation::print(std::slice::from_ref(&kept)), sent(wire, kept))
}

/// What the messages after the first prompt are on the wire, one a line.
fn sent(wire: &dyn Wire, answer: Message) -> String {
    let results: Vec<Message> =
        answer.calls().map(|call| Message::tool_result(&call.id, "42", false)).collect();
    let mut messages = vec![Message::user("hi"), answer];
    messages.extend(results);
    messages.push(Message::user("go on"));
    let mut request = Request::new("m", messages);
    request.cache = trunkline_providers::Cache::Off;
    request.tools = vec![trunkline_message_tree::ToolSpec::new("f", "", json!({"type": "object"}))];
    let body = wire.encode(&request).expect("what was answered goes back").body.to_vec();
    let body: Value = serde_json::from_slice(&body).expect("the body is JSON");
    let list = ["messages", "input", "contents"].iter().find_map(|name| body[*name].as_array());
    let rest = list.expect("a conversation").iter().skip(1);
    rest.map(|message| format!("{message}\n")).collect()
}

fn check(wire: &dyn Wire, answer: &str, expected: Expect) {
    expected.assert_eq(&there_and_back(wire, answer));
}

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn citations_of_anthropic_in_a_stream() {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    check(
        &Anthropic::new(),
        &sse(&[
            json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": []}}),
            delta(
                json!({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "sky"}}),
            ),
            delta(json!({"type": "text_delta", "text": "blue"})),
            delta(
                json!({"type": "citations_delta", "citation": {"type": "page_location", "cited_text": "sea"}}),
            ),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "."}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ]),
        expect![[r#"
            assistant: blue
            + opaque anthropic {"besideText":{"citations":[{"cited_text":"sky","type":"char_location"},{"cited_text":"sea","type":"page_location"}]}}
            + text: .
            + origin anthropic m
            + stop end_turn
            --
            {"content":[{"citations":[{"cited_text":"sky","type":"char_location"},{"cited_text":"sea","type":"page_location"}],"text":"blue","type":"text"},{"text":".","type":"text"}],"role":"assistant"}
            {"content":[{"text":"go on","type":"text"}],"role":"user"}
        "#]],
    );
}

#[test]
fn citations_callers_and_sets_of_anthropic_in_a_whole_answer() {
    check(
        &Anthropic::new(),
        r#"{"type":"message","id":"msg_1","model":"m","role":"assistant","stop_reason":"tool_use","content":[
            {"type":"text","text":"blue","citations":[{"type":"search_result_location","source":"s"}]},
            {"type":"text","text":"plain","citations":null},
            {"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"direct"}},
            {"type":"tool_use","id":"b","name":"f","input":{"x":1},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"},"toolset_name":"browser"}]}"#,
        expect![[r#"
            assistant: blue
            + opaque anthropic {"besideText":{"citations":[{"type":"search_result_location","source":"s"}]}}
            + text: plain
            + call a f
            + call b f {"x":1}
            + opaque anthropic {"besideCall":{"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"},"toolset_name":"browser"}}
            + origin anthropic m
            + stop tool_use
            --
            {"content":[{"citations":[{"source":"s","type":"search_result_location"}],"text":"blue","type":"text"},{"text":"plain","type":"text"},{"id":"a","input":{},"name":"f","type":"tool_use"},{"caller":{"tool_id":"srvtoolu_1","type":"code_execution_20260120"},"id":"b","input":{"x":1},"name":"f","toolset_name":"browser","type":"tool_use"}],"role":"assistant"}
            {"content":[{"content":"42","tool_use_id":"a","type":"tool_result"},{"content":"42","tool_use_id":"b","toolset_name":"browser","type":"tool_result"},{"text":"go on","type":"text"}],"role":"user"}
        "#]],
    );
}

#[test]
fn tools_that_come_and_go_among_the_messages_of_anthropic() {
    let messages = notation::parse(
        r#"
        user: hi
        assistant:
          + call c1 f {}
        result c1: 1
        system: more
          + opaque anthropic {"type":"tool_addition","tool":{"type":"tool_reference","name":"g"}}
          + opaque anthropic {"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}
          + opaque anthropic {"besideMessage":{"clear_at":"next_user_message"}}
        user: go on
        "#,
    );
    let messages = messages.expect("notation");
    let mut request = Request::new("m", messages);
    request.cache = trunkline_providers::Cache::Off;
    let body = Anthropic::new().encode(&request).expect("the service takes it").body.to_vec();
    let body: Value = serde_json::from_slice(&body).expect("the body is JSON");
    expect![[r#"
        {"clear_at":"next_user_message","content":[{"text":"more","type":"text"},{"tool":{"name":"g","type":"tool_reference"},"type":"tool_addition"},{"tool":{"name":"f","type":"tool_reference"},"type":"tool_removal"}],"role":"system"}
    "#]].assert_eq(&format!("{}\n", body["messages"][3]));
}

#[test]
fn phases_annotations_namespaces_and_callers_of_responses() {
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "see", "logprobs": [],
            "annotations": [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 3}]}]});
    let plain = json!({"type": "message", "id": "msg_2", "role": "assistant", "phase": null,
        "content": [{"type": "output_text", "text": "plain", "annotations": []}]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}",
        "namespace": "crm", "caller": {"type": "program", "caller_id": "p"}, "status": "completed"});
    let direct = json!({"type": "function_call", "id": "fc_2", "call_id": "b", "name": "f", "arguments": "{}",
        "caller": {"type": "direct"}});
    let items = [message, plain, call, direct];
    let whole = json!({"id": "resp_1", "model": "m", "status": "completed", "output": items});
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "output": []}})];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["content"] = json!([]);
        begun["arguments"] = json!("");
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
        if let Some(text) = item["content"][0]["text"].as_str() {
            events.push(json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "item_id": item["id"], "delta": text}));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    let wire = OpenAiResponses::without_reasoning();
    let streamed = there_and_back(&wire, &sse(&events));
    assert_eq!(there_and_back(&wire, &whole.to_string()), streamed);
    expect![[r#"
        assistant: see
        + opaque openai-responses {"besideText":{"annotations":[{"end_index":3,"start_index":0,"title":"t","type":"url_citation","url":"u"}],"phase":"commentary"}}
        + text: plain
        + call a f {}
        + opaque openai-responses {"besideCall":{"caller":{"caller_id":"p","type":"program"},"namespace":"crm"}}
        + call b f {}
        + origin openai-responses m
        + stop tool_use
        --
        {"content":[{"annotations":[{"end_index":3,"start_index":0,"title":"t","type":"url_citation","url":"u"}],"text":"see","type":"output_text"}],"phase":"commentary","role":"assistant","type":"message"}
        {"content":"plain","role":"assistant","type":"message"}
        {"arguments":"{}","call_id":"a","caller":{"caller_id":"p","type":"program"},"name":"f","namespace":"crm","type":"function_call"}
        {"arguments":"{}","call_id":"b","name":"f","type":"function_call"}
        {"call_id":"a","output":"42","type":"function_call_output"}
        {"call_id":"b","output":"42","type":"function_call_output"}
        {"content":"go on","role":"user"}
    "#]].assert_eq(&streamed);
}

#[test]
fn citations_of_bedrock_in_a_whole_answer() {
    check(
        &Bedrock::new(),
        r#"{"output":{"message":{"role":"assistant","content":[
            {"citationsContent":{"content":[{"text":"bl"},{"text":"ue"}],"citations":[{"title":"t","location":{"documentPage":{"documentIndex":0,"start":1,"end":2}}}]}},
            {"text":"plain"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}"#,
        expect![[r#"
            assistant: blue
            + opaque bedrock {"besideText":{"citations":[{"title":"t","location":{"documentPage":{"documentIndex":0,"start":1,"end":2}}}],"content":[{"text":"bl"},{"text":"ue"}]}}
            + text: plain
            + origin bedrock m
            + stop end_turn
            --
            {"content":[{"citationsContent":{"citations":[{"location":{"documentPage":{"documentIndex":0,"end":2,"start":1}},"title":"t"}],"content":[{"text":"bl"},{"text":"ue"}]}},{"text":"plain"}],"role":"assistant"}
            {"content":[{"text":"go on"}],"role":"user"}
        "#]],
    );
}

#[test]
fn two_contents_in_one_part_of_gemini_and_names_in_snake_case() {
    check(
        &Gemini::new(),
        r#"{"candidates":[{"content":{"role":"model","parts":[
            {"text":"why","thought":true},
            {"text":"so","thought_signature":"s1"},
            {"text":"hm","thought":true,"function_call":{"name":"f","args":{"a_b":1}},"thought_signature":"s2"},
            {"text":"and","functionCall":{"name":"f","args":{},"id":"q"}}
        ]},"finish_reason":"STOP"}],"usage_metadata":{"prompt_token_count":3,"candidates_token_count":4},"model_version":"m","response_id":"r"}"#,
        expect![[r#"
            assistant:
            + thinking: why
            + text: so
            + opaque gemini {"textBytes":[0,2],"part":{"thoughtSignature":"s1"}}
            + thinking: hm
            + call call_r_0 f {"a_b":1}
            ++ signature s2
            + opaque gemini {"besideCall":{"thought":true}}
            + text: and
            + call q f {}
            + origin gemini m
            + stop tool_use
            --
            {"parts":[{"text":"why","thought":true},{"text":"so","thoughtSignature":"s1"},{"text":"hm","thought":true},{"functionCall":{"args":{"a_b":1},"id":"call_r_0","name":"f"},"thought":true,"thoughtSignature":"s2"},{"text":"and"},{"functionCall":{"args":{},"id":"q","name":"f"}}],"role":"model"}
            {"parts":[{"functionResponse":{"id":"call_r_0","name":"f","response":{"output":"42"}}},{"functionResponse":{"id":"q","name":"f","response":{"output":"42"}}}],"role":"user"}
            {"parts":[{"text":"go on"}],"role":"user"}
        "#]],
    );
}

#[test]
fn annotations_and_signatures_of_chat_go_back_where_the_service_has_a_field_for_them() {
    let answer = r#"{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"see",
        "annotations":[{"type":"file","file":{"hash":"h"}}],
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"vendor":{"key":"s"}}}]}}]}"#;
    let mut text = String::new();
    for (name, dialect) in [
        ("a service that nobody knows", Dialect::default()),
        ("openai", Dialect::openai()),
        ("openrouter", Dialect::openrouter()),
        ("mistral", Dialect::mistral()),
        ("groq", Dialect::for_host("api.groq.com")),
        ("deepseek", Dialect::deepseek()),
    ] {
        let answer = there_and_back(&OpenAiChat::new(dialect), answer);
        let (kept, back) = answer.split_once("--\n").expect("both");
        if text.is_empty() {
            text.push_str(kept);
        }
        text.push_str(&format!("{name}: {}\n", back.lines().next().unwrap_or_default()));
    }
    expect![[r#"
        assistant: see
        + call a f {}
        + opaque openai-chat {"besideCall":{"extra_content":{"vendor":{"key":"s"}}}}
        + opaque openai-chat {"besideMessage":{"annotations":[{"type":"file","file":{"hash":"h"}}]}}
        + origin openai-chat m
        + stop tool_use
        a service that nobody knows: {"content":"see","role":"assistant","tool_calls":[{"extra_content":{"vendor":{"key":"s"}},"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
        openai: {"content":"see","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
        openrouter: {"annotations":[{"file":{"hash":"h"},"type":"file"}],"content":"see","role":"assistant","tool_calls":[{"extra_content":{"vendor":{"key":"s"}},"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
        mistral: {"content":"see","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
        groq: {"content":"see","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
        deepseek: {"content":"see","reasoning_content":"","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"a","type":"function"}]}
    "#]].assert_eq(&text);
}

#[test]
fn names_and_breakpoints_in_chat_and_responses() {
    let messages = |wire: &str| {
        let text = r#"
            system: be brief
              + opaque WIRE {"besideMessage":{"name":"rules","prefix":true}}
            user: long
              + opaque WIRE {"besideText":{"prompt_cache_breakpoint":{"mode":"explicit"}}}
              + text: short
            "#;
        notation::parse(&text.replace("WIRE", wire)).expect("notation")
    };
    let list = |wire: &dyn Wire, name: &str| {
        let body = wire.encode(&Request::new("m", messages(wire.name()))).expect("legal").body.to_vec();
        let body: Value = serde_json::from_slice(&body).expect("the body is JSON");
        body[name].as_array().expect("a list").iter().map(|one| format!("{one}\n")).collect::<String>()
    };
    let mut text = list(&OpenAiChat::new(Dialect::openai()), "messages");
    text.push_str(&list(&OpenAiChat::new(Dialect::mistral()), "messages"));
    text.push_str(&list(&OpenAiResponses::new(), "input"));
    expect![[r#"
        {"content":"be brief","name":"rules","role":"system"}
        {"content":[{"prompt_cache_breakpoint":{"mode":"explicit"},"text":"long","type":"text"},{"text":"short","type":"text"}],"role":"user"}
        {"content":"be brief","prefix":true,"role":"system"}
        {"content":[{"prompt_cache_breakpoint":{"mode":"explicit"},"text":"long","type":"text"},{"text":"short","type":"text"}],"role":"user"}
        {"content":"be brief","role":"system"}
        {"content":[{"prompt_cache_breakpoint":{"mode":"explicit"},"text":"long","type":"input_text"},{"text":"short","type":"input_text"}],"role":"user"}
    "#]].assert_eq(&text);
}

#[test]
fn what_belongs_to_nothing_is_left_out_on_every_wire() {
    let wires: [Box<dyn Wire>; 5] = [
        Box::new(Anthropic::new()),
        Box::new(OpenAiChat::default()),
        Box::new(OpenAiResponses::new()),
        Box::new(Gemini::new()),
        Box::new(Bedrock::new()),
    ];
    for wire in wires {
        let name = wire.name();
        let text = format!(
            "assistant:\n+ opaque {name} {{\"besideText\":{{\"x\":1}}}}\n+ text: words\n+ opaque {name} {{\"besideCall\":{{\"x\":1}}}}"
        );
        let mut messages = notation::parse(&text).expect("notation");
        let said = sent(&*wire, messages.remove(0));
        assert!(
            said.contains("words") && !said.contains("beside") && !said.contains("\"x\""),
            "{name}: {said}"
        );
    }
}

#[test]
fn an_effort_is_written_as_it_is_asked_for() {
    use trunkline_providers::{Effort, Thinking};
    for (effort, word) in [(Effort::High, "high"), (Effort::XHigh, "xhigh"), (Effort::Max, "max")] {
        let mut request = Request::new("m", vec![Message::user("hi")]);
        request.thinking = Thinking::Effort(effort);
        let body = |wire: &dyn Wire| -> Value {
            let body = wire.encode(&request).expect("legal").body.to_vec();
            serde_json::from_slice(&body).expect("the body is JSON")
        };
        assert_eq!(body(&OpenAiResponses::new())["reasoning"]["effort"], word);
        assert_eq!(body(&OpenAiChat::new(Dialect::openai()))["reasoning_effort"], word);
        assert_eq!(body(&OpenAiChat::new(Dialect::openrouter()))["reasoning"]["effort"], word);
        assert_eq!(body(&Anthropic::new())["output_config"]["effort"], word);
    }
}

#[test]
fn what_the_service_keeps_is_gone_on_from() {
    let result = || notation::parse("result c1: 42").expect("notation");
    let wire = OpenAiResponses::new();
    assert!(wire.encode(&Request::new("m", result())).is_err());
    for field in ["previous_response_id", "conversation"] {
        let mut request = Request::new("m", result());
        request.extra.insert(field.to_owned(), json!("x"));
        assert!(wire.encode(&request).is_ok(), "{field}");
        request.messages.clear();
        assert!(wire.encode(&request).is_ok(), "{field} and nothing new");
    }
    let reference = r#"user: hi
        assistant:
        + opaque openai-responses {"type":"item_reference","id":"fc_1"}
        result c1: 42"#;
    assert!(wire.encode(&Request::new("m", notation::parse(reference).expect("notation"))).is_ok());
}
