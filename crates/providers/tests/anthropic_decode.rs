//! Answers on the Anthropic wire, text in and text out.

use expect_test::{Expect, expect};
use trunkline_providers::Anthropic;

use crate::replies::report;

fn check_decode(stream: &str, expected: Expect) {
    let events: Vec<String> = stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    expected.assert_eq(&report(&Anthropic::new(), &events.concat()));
}

#[test]
fn a_call_is_put_together_from_its_pieces() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":31,"cache_creation_input_tokens":5,"cache_read_input_tokens":2048,"output_tokens":1}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
        {"type":"ping"}
        {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Reading"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" it."}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_A","name":"read_file","input":{}}}
        {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}
        {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}
        {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"a.rs\"}"}}
        {"type":"content_block_stop","index":1}
        {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":24}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            Started { model: "m-1", id: Some("msg_A") }
            Usage(Usage { input_tokens: 2084, output_tokens: 1, cache_read_tokens: 2048, cache_write_tokens: 5, reasoning_tokens: 0 })
            Ping
            TextDelta("Reading")
            TextDelta(" it.")
            BlockDone
            CallStarted { index: 0, id: "toolu_A", name: "read_file" }
            ArgumentsDelta { index: 0, text: "{\"path\":" }
            ArgumentsDelta { index: 0, text: " \"a.rs\"}" }
            CallDone { index: 0 }
            Usage(Usage { input_tokens: 2084, output_tokens: 24, cache_read_tokens: 2048, cache_write_tokens: 5, reasoning_tokens: 0 })
            Stopped(ToolUse)
            --
            assistant: Reading it.
            + call toolu_A read_file {"path": "a.rs"}
            + origin anthropic m
            + stop tool_use
        "#]],
    );
}

#[test]
fn reasoning_keeps_its_signature_even_when_its_words_are_withheld() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hmm"}}
        {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"b25seQ=="}}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl"}}
        {"type":"content_block_stop","index":2}
        {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":3,"output_tokens_details":{"thinking_tokens":2}}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("msg_A") }
            Usage(Usage { input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            ThinkingDelta("hmm")
            Signature("c2ln")
            BlockDone
            Signature("b25seQ==")
            BlockDone
            Block(RedactedThinking { data: "b3BhcXVl" })
            Usage(Usage { input_tokens: 1, output_tokens: 3, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 2 })
            Stopped(MaxTokens)
            --
            assistant:
            + thinking c2ln: hmm
            + thinking "b25seQ==":
            + redacted: b3BhcXVl
            + origin anthropic m
            + stop max_tokens
        "#]],
    );
}

#[test]
fn tools_of_the_provider_and_unknown_blocks_are_carried() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","model":"m","content":[]}}
        {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}
        {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}
        {"type":"content_block_stop","index":0}
        {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result", "tool_use_id":"srvtoolu_1","content":[{"z":1.0,"a":2}]}}
        {"type":"content_block_stop","index":1}
        {"type":"content_block_start","index":2,"content_block":{"type":"compaction","content":null}}
        {"type":"content_block_delta","index":2,"delta":{"type":"compaction_delta","content":"so far"}}
        {"type":"content_block_stop","index":2}
        {"type":"an_event_of_next_year","index":2}
        {"type":"message_delta","delta":{"stop_reason":"pause_turn"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("msg_A") }
            Block(ServerCall { id: "srvtoolu_1", json: "{\"id\":\"srvtoolu_1\",\"input\":{\"query\":\"x\"},\"name\":\"web_search\",\"type\":\"server_tool_use\"}" })
            Block(ServerResult { call_id: "srvtoolu_1", json: "{\"type\":\"web_search_tool_result\", \"tool_use_id\":\"srvtoolu_1\",\"content\":[{\"z\":1.0,\"a\":2}]}" })
            Block(Opaque { wire: "anthropic", json: "{\"content\":\"so far\",\"type\":\"compaction\"}" })
            Stopped(Pause)
            --
            assistant:
            + server-call srvtoolu_1 {"id":"srvtoolu_1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"}
            + server-result srvtoolu_1 {"type":"web_search_tool_result", "tool_use_id":"srvtoolu_1","content":[{"z":1.0,"a":2}]}
            + opaque anthropic {"content":"so far","type":"compaction"}
            + origin anthropic m
            + stop pause
        "#]],
    );
}

#[test]
fn a_stream_may_hold_no_block_at_all() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","model":"m","content":[]}}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"}}
        {"type":"message_stop"}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("msg_A") }
            Stopped(EndTurn)
            --
            assistant:
            + origin anthropic m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_stream_without_its_end_is_cut() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","model":"m","content":[]}}
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half a sen"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("msg_A") }
            TextDelta("half a sen")
            --
            assistant: half a sen
            + origin anthropic m
            -- the answer was cut off before its end
        "#]],
    );
}

#[test]
fn an_error_inside_a_stream_is_reported() {
    check_decode(
        r#"
        {"type":"message_start","message":{"id":"msg_A","model":"m","content":[]}}
        {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("msg_A") }
            --
            assistant:
            + origin anthropic m
            -- the provider failed while answering: Overloaded
        "#]],
    );
}

#[test]
fn a_whole_message_is_read_like_a_stream() {
    expect![[r#"
        Started { model: "m", id: Some("msg_A") }
        ThinkingDelta("hmm")
        Signature("c2ln")
        BlockDone
        TextDelta("hi")
        BlockDone
        CallStarted { index: 0, id: "toolu_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{\"b\": 1.00}" }
        CallDone { index: 0 }
        CallStarted { index: 1, id: "toolu_B", name: "g" }
        CallDone { index: 1 }
        Usage(Usage { input_tokens: 3, output_tokens: 4, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(ToolUse)
        --
        assistant:
        + thinking c2ln: hmm
        + text: hi
        + call toolu_A f {"b": 1.00}
        + call toolu_B g
        + origin anthropic m
        + stop tool_use
    "#]].assert_eq(&report(
        &Anthropic::new(),
        r#"{"id":"msg_A","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hmm","signature":"c2ln"},{"type":"text","text":"hi"},{"type":"tool_use","id":"toolu_A","name":"f","input":{"b": 1.00}},{"type":"tool_use","id":"toolu_B","name":"g","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#,
    ));
}
