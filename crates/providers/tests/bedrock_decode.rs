//! What Converse answers, as events and as a message.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;
use trunkline_providers::{Bedrock, Wire};

use crate::bedrock_frames::stream;
use crate::grammar;
use crate::replies::{decode, report, report_bytes};
use crate::splits::cut;

fn check(events: &str, expected: Expect) {
    let all = format!("messageStart {{\"role\":\"assistant\"}}\n{events}");
    expected.assert_eq(&report_bytes(&Bedrock::new(), &stream(&all)));
}

fn whole(body: &str, expected: Expect) {
    expected.assert_eq(&report(&Bedrock::new(), body));
}

#[test]
fn text_then_calls_then_usage_then_the_stop() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"I look. "},"p":"abc"}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"text":""},"p":"abc"}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"read"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":""}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"a\": 1.0"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":",  \"b\":\"\\u00fc\"}"}}}
           contentBlockStop {"contentBlockIndex":1}
           contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t2","name":"ping","type":"tool_use"}}}
           contentBlockStop {"contentBlockIndex":2}
           messageStop {"stopReason":"tool_use"}
           metadata {"usage":{"inputTokens":4,"outputTokens":7,"totalTokens":131,"cacheReadInputTokens":100,"cacheWriteInputTokens":20}}"#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("I look. ")
            BlockDone
            CallStarted { index: 0, id: "t1", name: "read" }
            ArgumentsDelta { index: 0, text: "{\"a\": 1.0" }
            ArgumentsDelta { index: 0, text: ",  \"b\":\"\\u00fc\"}" }
            CallDone { index: 0 }
            CallStarted { index: 1, id: "t2", name: "ping" }
            CallDone { index: 1 }
            Usage(Usage { input_tokens: 124, output_tokens: 7, cache_read_tokens: 100, cache_write_tokens: 20, reasoning_tokens: 0 })
            Stopped(ToolUse)
            --
            assistant: I look.\s
            + call t1 read {"a": 1.0,  "b":"\\u00fc"}
            + call t2 ping
            + origin bedrock m
            + stop tool_use
        "#]],
    );
}

#[test]
fn calls_may_overlap() {
    check(
        r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}
           contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t2","name":"g"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"b\""}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":":2}"}}}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockStop {"contentBlockIndex":1}
           messageStop {"stopReason":"tool_use"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            CallStarted { index: 0, id: "t1", name: "f" }
            CallStarted { index: 1, id: "t2", name: "g" }
            ArgumentsDelta { index: 1, text: "{\"b\"" }
            ArgumentsDelta { index: 0, text: "{}" }
            ArgumentsDelta { index: 1, text: ":2}" }
            CallDone { index: 0 }
            CallDone { index: 1 }
            Stopped(ToolUse)
            --
            assistant:
            + call t1 f {}
            + call t2 g {"b":2}
            + origin bedrock m
            + stop tool_use
        "#]],
    );
}

#[test]
fn reasoning_keeps_its_signature_whole() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":", well"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"Er"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"IB+/="}}}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"AAAA"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"Zg=="}}}
           contentBlockStop {"contentBlockIndex":1}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"reasoningContent":{"signature":"withheld"}}}
           contentBlockStop {"contentBlockIndex":2}
           contentBlockDelta {"contentBlockIndex":3,"delta":{"text":"so"}}
           messageStop {"stopReason":"end_turn"}
           metadata {"usage":{"inputTokens":1,"outputTokens":2}}"#,
        expect![[r#"
            Started { model: "m", id: None }
            ThinkingDelta("hm")
            ThinkingDelta(", well")
            Signature("ErIB+/=")
            BlockDone
            Block(RedactedThinking { data: "AAAAZg==" })
            Signature("withheld")
            BlockDone
            TextDelta("so")
            BlockDone
            Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            Stopped(EndTurn)
            --
            assistant:
            + thinking "ErIB+/=": hm, well
            + redacted: AAAAZg==
            + thinking withheld:
            + text: so
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn reasoning_of_models_that_sign_nothing_has_no_signature() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":""}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"so"}}
           contentBlockStop {"contentBlockIndex":1}
           messageStop {"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            ThinkingDelta("hm")
            BlockDone
            TextDelta("so")
            BlockDone
            Stopped(EndTurn)
            --
            assistant:
            + thinking: hm
            + text: so
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn tools_that_the_service_runs_are_carried() {
    check(
        r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"name":"interpreter","toolUseId":"t1","type":"server_tool_use"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"snippet\":"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"\"1 + 1\"}"}}}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockStart {"contentBlockIndex":1,"start":{"toolResult":{"status":"success","toolUseId":"t1","type":"interpreter_result"}}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"json":{"out":"2"}}]}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"text":"do"}]}}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"text":"ne"}]}}
           contentBlockStop {"contentBlockIndex":1}
           contentBlockStart {"contentBlockIndex":2,"start":{"image":{"format":"png"}}}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"image":{"source":{"bytes":"AAAA"}}}}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"image":{"source":{"bytes":"BBBB"}}}}
           contentBlockDelta {"contentBlockIndex":3,"delta":{"text":"two"}}
           messageStop {"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            Block(Opaque { wire: "bedrock", json: "{\"toolUse\":{\"input\":{\"snippet\":\"1 + 1\"},\"name\":\"interpreter\",\"toolUseId\":\"t1\",\"type\":\"server_tool_use\"}}" })
            Block(Opaque { wire: "bedrock", json: "{\"toolResult\":{\"content\":[{\"json\":{\"out\":\"2\"}},{\"text\":\"done\"}],\"status\":\"success\",\"toolUseId\":\"t1\",\"type\":\"interpreter_result\"}}" })
            Block(Opaque { wire: "bedrock", json: "{\"image\":{\"format\":\"png\",\"source\":{\"bytes\":\"AAAABBBB\"}}}" })
            TextDelta("two")
            BlockDone
            Stopped(EndTurn)
            --
            assistant:
            + opaque bedrock {"toolUse":{"input":{"snippet":"1 + 1"},"name":"interpreter","toolUseId":"t1","type":"server_tool_use"}}
            + opaque bedrock {"toolResult":{"content":[{"json":{"out":"2"}},{"text":"done"}],"status":"success","toolUseId":"t1","type":"interpreter_result"}}
            + opaque bedrock {"image":{"format":"png","source":{"bytes":"AAAABBBB"}}}
            + text: two
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn citations_are_kept_beside_their_words() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"cited"}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"citation":{"title":"t"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"citation":{"title":"u"}}}
           contentBlockStop {"contentBlockIndex":0}
           messageStop {"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("cited")
            BlockDone
            Block(Opaque { wire: "bedrock", json: "{\"besideText\":{\"citations\":[{\"title\":\"t\"},{\"title\":\"u\"}]}}" })
            Stopped(EndTurn)
            --
            assistant: cited
            + opaque bedrock {"besideText":{"citations":[{"title":"t"},{"title":"u"}]}}
            + origin bedrock m
            + stop end_turn
        "#]],
    );
    whole(
        r#"{"output":{"message":{"role":"assistant","content":[{"citationsContent":{"content":[{"text":"ci"},{"text":"ted"}],"citations":[{"title":"t"}]}}]}},"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("cited")
            BlockDone
            Block(Opaque { wire: "bedrock", json: "{\"besideText\":{\"citations\":[{\"title\":\"t\"}],\"content\":[{\"text\":\"ci\"},{\"text\":\"ted\"}]}}" })
            Stopped(EndTurn)
            --
            assistant: cited
            + opaque bedrock {"besideText":{"citations":[{"title":"t"}],"content":[{"text":"ci"},{"text":"ted"}]}}
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_whole_answer_is_read_as_a_stream_that_came_at_once() {
    whole(
        r#"{"metrics":{"latencyMs":9},"output":{"message":{"content":[
            {"reasoningContent":{"reasoningText":{"text":"hm","signature":"sig"}}},
            {"reasoningContent":{"redactedContent":"AAA="}},
            {"text":"grüße"},
            {"toolUse":{"input":{"b": 1.0, "a":"\u00fc"},"name":"f","toolUseId":"t1","type":"tool_use"}},
            {"toolUse":{"input":{},"name":"g","toolUseId":"t2"}},
            {"toolUse":{"input":{"x":1},"name":"interpreter","toolUseId":"t3","type":"server_tool_use"}},
            {"newBlock":{"z":1,  "a":2}},
            {"text":""}
        ],"role":"assistant"}},"stopReason":"tool_use",
        "usage":{"inputTokens":0,"outputTokens":48,"totalTokens":75,"cacheReadInputTokens":27,"cacheReadInputTokenCount":27}}"#,
        expect![[r#"
            Started { model: "m", id: None }
            ThinkingDelta("hm")
            Signature("sig")
            BlockDone
            Block(RedactedThinking { data: "AAA=" })
            TextDelta("grüße")
            BlockDone
            CallStarted { index: 0, id: "t1", name: "f" }
            ArgumentsDelta { index: 0, text: "{\"b\": 1.0, \"a\":\"\\u00fc\"}" }
            CallDone { index: 0 }
            CallStarted { index: 1, id: "t2", name: "g" }
            ArgumentsDelta { index: 1, text: "{}" }
            CallDone { index: 1 }
            Block(Opaque { wire: "bedrock", json: "{\"toolUse\":{\"input\":{\"x\":1},\"name\":\"interpreter\",\"toolUseId\":\"t3\",\"type\":\"server_tool_use\"}}" })
            Block(Opaque { wire: "bedrock", json: "{\"newBlock\":{\"z\":1,  \"a\":2}}" })
            Usage(Usage { input_tokens: 27, output_tokens: 48, cache_read_tokens: 27, cache_write_tokens: 0, reasoning_tokens: 0 })
            Stopped(ToolUse)
            --
            assistant:
            + thinking sig: hm
            + redacted: AAA=
            + text: grüße
            + call t1 f {"b": 1.0, "a":"\\u00fc"}
            + call t2 g {}
            + opaque bedrock {"toolUse":{"input":{"x":1},"name":"interpreter","toolUseId":"t3","type":"server_tool_use"}}
            + opaque bedrock {"newBlock":{"z":1,  "a":2}}
            + origin bedrock m
            + stop tool_use
        "#]],
    );
}

#[test]
fn reasons_to_stop_are_named() {
    let reason = |reason: &str| {
        let body = json!({"output": {"message": {"content": [{"text": "a"}]}}, "stopReason": reason});
        let text = report(&Bedrock::new(), &body.to_string());
        text.lines().find(|line| line.starts_with("+ stop")).unwrap_or_default().to_owned()
    };
    let all = [
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "guardrail_intervened",
        "content_filtered",
        "malformed_model_output",
        "malformed_tool_use",
        "model_context_window_exceeded",
    ];
    let named: Vec<String> = all.into_iter().map(|name| format!("{name}: {}\n", reason(name))).collect();
    expect![[r#"
        end_turn: + stop end_turn
        tool_use: + stop other "tool_use without a call"
        max_tokens: + stop max_tokens
        stop_sequence: + stop stop_sequence
        guardrail_intervened: + stop refusal
        content_filtered: + stop refusal
        malformed_model_output: + stop other malformed_model_output
        malformed_tool_use: + stop other malformed_tool_use
        model_context_window_exceeded: + stop context_window
    "#]]
    .assert_eq(&named.concat());
}

#[test]
fn without_usage_at_the_end_the_answer_is_whole() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"all"}}
           contentBlockStop {"contentBlockIndex":0}
           messageStop {"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("all")
            BlockDone
            Stopped(EndTurn)
            --
            assistant: all
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn usage_before_the_stop_waits_for_it() {
    check(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"all"}}
           metadata {"usage":{"inputTokens":1,"outputTokens":2}}
           messageStop {"stopReason":"end_turn"}"#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("all")
            Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            BlockDone
            Stopped(EndTurn)
            --
            assistant: all
            + origin bedrock m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_call_that_was_cut_by_the_limit_keeps_its_piece() {
    check(
        r#"contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\": \"b"}}}
           messageStop {"stopReason":"max_tokens"}
           metadata {"usage":{"inputTokens":1,"outputTokens":2}}"#,
        expect![[r#"
            Started { model: "m", id: None }
            CallStarted { index: 0, id: "t1", name: "f" }
            ArgumentsDelta { index: 0, text: "{\"a\": \"b" }
            CallDone { index: 0 }
            Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            Stopped(MaxTokens)
            --
            assistant:
            + call t1 f {"a": "b
            + origin bedrock m
            + stop max_tokens
        "#]],
    );
}

/// An event of any kind at any place.
fn event() -> impl Strategy<Value = String> {
    (0_usize..9, 0_u64..3).prop_map(|(kind, index)| {
        let (kind, mut payload) = match kind {
            0 => ("contentBlockStart", json!({"start": {"toolUse": {"toolUseId": "t", "name": "f"}}})),
            1 => ("contentBlockStart", json!({"start": {"toolResult": {"toolUseId": "t"}}})),
            2 => ("contentBlockDelta", json!({"delta": {"text": "a"}})),
            3 => {
                ("contentBlockDelta", json!({"delta": {"reasoningContent": {"text": "a", "signature": "s"}}}))
            }
            4 => ("contentBlockDelta", json!({"delta": {"reasoningContent": {"redactedContent": "AA=="}}})),
            5 => ("contentBlockDelta", json!({"delta": {"toolUse": {"input": "{"}}})),
            6 => ("contentBlockStop", json!({})),
            7 => ("metadata", json!({"usage": {"inputTokens": 1}})),
            _ => ("messageStop", json!({"stopReason": "end_turn"})),
        };
        payload["contentBlockIndex"] = json!(index);
        format!("{kind} {payload}")
    })
}

/// A whole answer with every kind of block.
fn everything() -> Vec<u8> {
    stream(
        r#"messageStart {"role":"assistant"}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"grüße 🦀"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"sig"}}}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"süß"}}
           contentBlockStop {"contentBlockIndex":1}
           contentBlockStart {"contentBlockIndex":2,"start":{"toolResult":{"toolUseId":"t"}}}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"toolResult":[{"text":"x"}]}}
           contentBlockStop {"contentBlockIndex":2}
           contentBlockStart {"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}
           contentBlockDelta {"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"a\":1}"}}}
           contentBlockStop {"contentBlockIndex":3}
           messageStop {"stopReason":"tool_use"}
           metadata {"usage":{"inputTokens":1,"outputTokens":2}}"#,
    )
}

#[test]
fn byte_by_byte_it_is_the_same() {
    let wire = Bedrock::new();
    assert_eq!(decode(&wire, cut(&everything(), &[1])), decode(&wire, [everything().as_slice()]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn events_do_not_depend_on_where_the_bytes_were_cut(
        missing in 0_usize..2500,
        flipped in prop::option::of(0_usize..2500),
        lengths in prop::collection::vec(1_usize..200, 1..20),
    ) {
        let mut body = everything();
        body.truncate(body.len().saturating_sub(missing));
        if let Some(byte) = flipped.and_then(|at| body.get_mut(at)) {
            *byte ^= 0x55;
        }
        let whole = decode(&Bedrock::new(), [body.as_slice()]);
        prop_assert_eq!(grammar::check(&whole.0, &whole.1), Ok(()));
        prop_assert_eq!(decode(&Bedrock::new(), cut(&body, &lengths)), whole);
    }

    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..300), status in 400_u16..600) {
        let _ = decode(&Bedrock::new(), [bytes.as_slice()]);
        let _ = Bedrock::new().error(status, &[], &bytes);
    }

    #[test]
    fn events_in_any_order_keep_the_order_of_events(events in prop::collection::vec(event(), 0..14)) {
        let (events, outcome) = decode(&Bedrock::new(), [stream(&events.join("\n")).as_slice()]);
        prop_assert_eq!(grammar::check(&events, &outcome), Ok(()));
    }
}
