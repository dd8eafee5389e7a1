//! The OpenAI Responses wire, text out.

use expect_test::{Expect, expect};
use trunkline_message_tree::Content;
use trunkline_providers::OpenAiResponses;

use crate::replies::{decode, fold, report};

fn check_decode(stream: &str, expected: Expect) {
    let events: Vec<String> = stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    expected.assert_eq(&report(&OpenAiResponses::new(), &events.concat()));
}

#[test]
fn a_call_is_put_together_from_its_pieces() {
    check_decode(
        r#"
        {"type":"response.created","sequence_number":0,"response":{"id":"resp_A","model":"m-1","status":"in_progress","output":[]}}
        {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_A","model":"m-1","status":"in_progress","output":[]}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[]}}
        {"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"rs_A","summary_index":0,"part":{"type":"summary_text","text":""}}
        {"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_A","summary_index":0,"delta":"First I"}
        {"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_A","summary_index":0,"delta":" look."}
        {"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_A","summary_index":1,"delta":"Then I think."}
        {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_A","type":"reasoning","summary":[{"type":"summary_text","text":"First I look."},{"type":"summary_text","text":"Then I think."}],"encrypted_content":"gAAA=="}}
        {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_A","role":"assistant","status":"in_progress","content":[]}}
        {"type":"response.content_part.added","output_index":1,"item_id":"msg_A","content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}
        {"type":"response.output_text.delta","output_index":1,"item_id":"msg_A","content_index":0,"delta":"Reading"}
        {"type":"response.output_text.delta","output_index":1,"item_id":"msg_A","content_index":0,"delta":" it."}
        {"type":"response.output_text.done","output_index":1,"item_id":"msg_A","content_index":0,"text":"Reading it."}
        {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_A","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Reading it.","annotations":[]}]}}
        {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"read_file","arguments":""}}
        {"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_A","delta":"{\"path\":"}
        {"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_A","delta":" \"a.rs\"}"}
        {"type":"response.function_call_arguments.done","output_index":2,"item_id":"fc_A","arguments":"{\"path\": \"a.rs\"}"}
        {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"read_file","arguments":"{\"path\": \"a.rs\"}","status":"completed"}}
        {"type":"response.completed","response":{"id":"resp_A","model":"m-1","status":"completed","usage":{"input_tokens":80,"input_tokens_details":{"cached_tokens":64,"cache_write_tokens":3},"output_tokens":15,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":95}}}
        [DONE]
        "#,
        expect![[r#"
            Started { model: "m-1", id: Some("resp_A") }
            ThinkingDelta("First I")
            ThinkingDelta(" look.")
            ThinkingDelta("\n\nThen I think.")
            BlockDone
            Replace { blocks: 0..1, with: Opaque { wire: "openai-responses", json: "{\"id\":\"rs_A\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"First I look.\"},{\"type\":\"summary_text\",\"text\":\"Then I think.\"}],\"encrypted_content\":\"gAAA==\"}" } }
            TextDelta("Reading")
            TextDelta(" it.")
            BlockDone
            CallStarted { index: 0, id: "call_A", name: "read_file" }
            ArgumentsDelta { index: 0, text: "{\"path\":" }
            ArgumentsDelta { index: 0, text: " \"a.rs\"}" }
            CallDone { index: 0 }
            Usage(Usage { input_tokens: 80, output_tokens: 15, cache_read_tokens: 64, cache_write_tokens: 3, reasoning_tokens: 7 })
            Stopped(ToolUse)
            --
            assistant:
            + opaque openai-responses {"id":"rs_A","type":"reasoning","summary":[{"type":"summary_text","text":"First I look."},{"type":"summary_text","text":"Then I think."}],"encrypted_content":"gAAA=="}
            + text: Reading it.
            + call call_A read_file {"path": "a.rs"}
            + origin openai-responses m
            + stop tool_use
        "#]],
    );
}

#[test]
fn a_reasoning_item_is_kept_byte_for_byte() {
    let item = r#"{ "type":"reasoning","id":"rs_A", "summary":[ ],"new_field":1.0,"encrypted_content":"gA\u0041A" }"#;
    let stream = format!(
        "data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\n\
         data: {{\"type\":\"response.completed\",\"response\":{{}}}}\n\n"
    );
    let (events, outcome) = decode(&OpenAiResponses::new(), [stream.as_bytes()]);
    assert_eq!(outcome, Ok(()));
    let kept = vec![Content::Opaque { wire: "openai-responses".into(), json: item.into() }];
    assert_eq!(fold("openai", &events).finish().content, kept);
}

#[test]
fn a_whole_response_is_read_like_a_stream() {
    expect![[r#"
        Started { model: "m", id: Some("resp_A") }
        ThinkingDelta("hmm")
        BlockDone
        Replace { blocks: 0..1, with: Opaque { wire: "openai-responses", json: "{\"id\":\"rs_A\",\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hmm\"}]}" } }
        TextDelta("hi")
        BlockDone
        TextDelta("there")
        BlockDone
        Block(Opaque { wire: "openai-responses", json: "{\"type\":\"web_search_call\",\"id\":\"ws_A\",\"status\":\"completed\"}" })
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{\"b\": 1.00}" }
        CallDone { index: 0 }
        CallStarted { index: 1, id: "call_B", name: "g" }
        CallDone { index: 1 }
        Usage(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(ToolUse)
        --
        assistant:
        + opaque openai-responses {"id":"rs_A","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hmm"}]}
        + text: hi
        + text: there
        + opaque openai-responses {"type":"web_search_call","id":"ws_A","status":"completed"}
        + call call_A f {"b": 1.00}
        + call call_B g
        + origin openai-responses m
        + stop tool_use
    "#]].assert_eq(&report(
        &OpenAiResponses::new(),
        r#" {"id":"resp_A","object":"response","model":"m","status":"completed","error":null,"output":[{"id":"rs_A","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hmm"}]},{"id":"msg_A","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"},{"type":"output_text","text":"there"}]},{"type":"web_search_call","id":"ws_A","status":"completed"},{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{\"b\": 1.00}"},{"type":"function_call","id":"fc_B","call_id":"call_B","name":"g","arguments":""}],"usage":{"input_tokens":1,"output_tokens":2}}"#,
    ));
}

#[test]
fn the_end_of_an_item_adds_what_its_pieces_left_out() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","item":{"type":"message","id":"msg_A"}}
        {"type":"response.output_text.delta","item_id":"msg_A","delta":"half a "}
        {"type":"response.output_item.done","item":{"type":"message","id":"msg_A","content":[{"type":"output_text","text":"half a sentence"}]}}
        {"type":"response.output_item.added","item":{"type":"function_call","id":"fc_A","call_id":"call_A","arguments":""}}
        {"type":"response.function_call_arguments.delta","item_id":"fc_A","delta":"{\"a\""}
        {"type":"response.output_item.done","item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{\"a\":1}"}}
        {"type":"response.output_item.done","item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{\"a\":1}"}}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            TextDelta("half a ")
            TextDelta("sentence")
            BlockDone
            CallStarted { index: 0, id: "call_A", name: "f" }
            ArgumentsDelta { index: 0, text: "{\"a\"" }
            ArgumentsDelta { index: 0, text: ":1}" }
            CallDone { index: 0 }
            Stopped(ToolUse)
            --
            assistant: half a sentence
            + call call_A f {"a":1}
            + origin openai-responses m
            + stop tool_use
        "#]],
    );
}

#[test]
fn items_are_told_apart_where_their_ids_change_with_every_event() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"x1","call_id":"call_A","name":"f","arguments":""}}
        {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"x2","call_id":"call_B","name":"g","arguments":""}}
        {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x3","delta":"{\"a\":1}"}
        {"type":"response.function_call_arguments.delta","output_index":1,"item_id":"x4","delta":"{}"}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"x5","call_id":"call_A","name":"f","arguments":"{\"a\": 1}"}}
        {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"x6","call_id":"call_B","name":"g","arguments":"{}"}}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            CallStarted { index: 0, id: "call_A", name: "f" }
            CallStarted { index: 1, id: "call_B", name: "g" }
            ArgumentsDelta { index: 0, text: "{\"a\":1}" }
            ArgumentsDelta { index: 1, text: "{}" }
            CallDone { index: 0 }
            CallDone { index: 1 }
            Stopped(ToolUse)
            --
            assistant:
            + call call_A f {"a":1}
            + call call_B g {}
            + origin openai-responses m
            + stop tool_use
        "#]],
    );
}

#[test]
fn items_that_only_the_end_names_are_read() {
    check_decode(
        r#"
        {"type":"response.completed","response":{"id":"resp_A","model":"m","status":"completed","output":[{"type":"message","id":"msg_A","content":[{"type":"output_text","text":"hi"}]}]}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            TextDelta("hi")
            BlockDone
            Stopped(EndTurn)
            --
            assistant: hi
            + origin openai-responses m
            + stop end_turn
        "#]],
    );
}

#[test]
fn items_that_never_ended_are_ended_by_the_response() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[]}}
        {"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_A","content_index":0,"delta":"hmm"}
        {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":""}}
        {"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_A","delta":"{}"}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed","output":[{"type":"reasoning","id":"rs_A","summary":[]},{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{}"}]}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            ThinkingDelta("hmm")
            BlockDone
            CallStarted { index: 0, id: "call_A", name: "f" }
            ArgumentsDelta { index: 0, text: "{}" }
            Replace { blocks: 0..1, with: Opaque { wire: "openai-responses", json: "{\"type\":\"reasoning\",\"id\":\"rs_A\",\"summary\":[]}" } }
            CallDone { index: 0 }
            Stopped(ToolUse)
            --
            assistant:
            + opaque openai-responses {"type":"reasoning","id":"rs_A","summary":[]}
            + call call_A f {}
            + origin openai-responses m
            + stop tool_use
        "#]],
    );
}

#[test]
fn reasoning_that_ends_late_stands_before_what_it_led_to() {
    // The order of a router that ends all items at once.
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[]}}
        {"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_A","content_index":0,"delta":"hmm"}
        {"type":"response.output_item.added","output_index":1,"item":{"type":"reasoning","id":"rs_B","summary":[]}}
        {"type":"response.output_item.added","output_index":2,"item":{"type":"message","id":"msg_A","content":[]}}
        {"type":"response.output_text.delta","output_index":2,"item_id":"msg_A","content_index":0,"delta":"I "}
        {"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_A","content_index":0,"delta":" well"}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[],"encrypted_content":"gAAA"}}
        {"type":"response.output_text.delta","output_index":2,"item_id":"msg_A","content_index":0,"delta":"look"}
        {"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":""}}
        {"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_B","summary":[],"encrypted_content":"gBBB"}}
        {"type":"response.function_call_arguments.delta","output_index":3,"item_id":"fc_A","delta":"{}"}
        {"type":"response.output_item.done","output_index":2,"item":{"type":"message","id":"msg_A","content":[{"type":"output_text","text":"I look"}]}}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            ThinkingDelta("hmm")
            BlockDone
            TextDelta("I ")
            Replace { blocks: 0..1, with: Opaque { wire: "openai-responses", json: "{\"type\":\"reasoning\",\"id\":\"rs_A\",\"summary\":[],\"encrypted_content\":\"gAAA\"}" } }
            TextDelta("look")
            BlockDone
            CallStarted { index: 0, id: "call_A", name: "f" }
            Replace { blocks: 1..1, with: Opaque { wire: "openai-responses", json: "{\"type\":\"reasoning\",\"id\":\"rs_B\",\"summary\":[],\"encrypted_content\":\"gBBB\"}" } }
            ArgumentsDelta { index: 0, text: "{}" }
            CallDone { index: 0 }
            Stopped(ToolUse)
            --
            assistant:
            + opaque openai-responses {"type":"reasoning","id":"rs_A","summary":[],"encrypted_content":"gAAA"}
            + opaque openai-responses {"type":"reasoning","id":"rs_B","summary":[],"encrypted_content":"gBBB"}
            + text: I look
            + call call_A f {}
            + origin openai-responses m
            + stop tool_use
        "#]],
    );
}

#[test]
fn arguments_that_contradict_their_pieces_are_not_run() {
    check_decode(
        r#"
        {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"rm","arguments":""}}
        {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_A","delta":"{\"path\":\"a\"}"}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"rm","arguments":"{\"path\":\"b\"}"}}
        "#,
        expect![[r#"
            Started { model: "", id: None }
            CallStarted { index: 0, id: "call_A", name: "rm" }
            ArgumentsDelta { index: 0, text: "{\"path\":\"a\"}" }
            --
            assistant:
            + call call_A rm {"path":"a"}
            + origin openai-responses m
            -- the answer cannot be read (a call whose pieces are not its arguments): {"path":"b"}
        "#]],
    );
}

#[test]
fn a_refusal_is_words_and_a_reason() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_A","content":[]}}
        {"type":"response.refusal.delta","output_index":0,"item_id":"msg_A","content_index":0,"delta":"I cannot."}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_A","content":[{"type":"refusal","refusal":"I cannot."}]}}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            TextDelta("I cannot.")
            BlockDone
            Stopped(Refusal)
            --
            assistant: I cannot.
            + origin openai-responses m
            + stop refusal
        "#]],
    );
}

#[test]
fn an_incomplete_response_says_why() {
    let mut text = String::new();
    for reason in ["\"max_output_tokens\"", "\"content_filter\"", "\"other\"", "null"] {
        let whole = format!(
            r#"{{"id":"r","model":"m","status":"incomplete","incomplete_details":{{"reason":{reason}}},"output":[]}}"#
        );
        let streamed = format!("data: {{\"type\":\"response.incomplete\",\"response\":{whole}}}\n\n");
        let [whole, streamed] = [whole, streamed].map(|body| {
            let (events, outcome) = decode(&OpenAiResponses::new(), [body.as_bytes()]);
            assert_eq!(outcome, Ok(()));
            fold("openai", &events).finish().stop
        });
        assert_eq!(whole, streamed);
        text.push_str(&format!("{reason}: {whole:?}\n"));
    }
    expect![[r#"
        "max_output_tokens": Some(MaxTokens)
        "content_filter": Some(Refusal)
        "other": Some(Other("other"))
        null: Some(Other("incomplete"))
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_failure_inside_a_stream_is_reported() {
    for failure in [
        r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}"#,
        r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null,"sequence_number":3}"#,
        r#"{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"slow down"}}"#,
        r#"{"error":{"code":"rate_limit_exceeded","message":"slow down"}}"#,
    ] {
        let stream = format!("data: {failure}\n\n");
        let (_, outcome) = decode(&OpenAiResponses::new(), [stream.as_bytes()]);
        expect![[
            r#"Err(Reported { kind: RateLimited, message: "slow down", retry_after: None, retryable: true })"#
        ]]
        .assert_eq(&format!("{outcome:?}"));
    }
    let whole =
        r#"{"id":"r","status":"failed","output":[],"error":{"code":"server_error","message":"it broke"}}"#;
    expect![[r#"Err(Reported { kind: Server, message: "it broke", retry_after: None, retryable: true })"#]]
        .assert_eq(&format!("{:?}", decode(&OpenAiResponses::new(), [whole.as_bytes()]).1));
}

#[test]
fn what_is_not_known_is_skipped_or_carried() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.brand_new","delta":{"of":"another shape"},"item":7}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_A","call_id":"call_A","name":"f","input":""}}
        {"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"ctc_A","delta":"words"}
        {"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_A","call_id":"call_A","name":"f","input":"words"}}
        {"type":"response.completed","response":{"id":"resp_A","status":"completed"}}
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            Block(Opaque { wire: "openai-responses", json: "{\"type\":\"custom_tool_call\",\"id\":\"ctc_A\",\"call_id\":\"call_A\",\"name\":\"f\",\"input\":\"words\"}" })
            Stopped(EndTurn)
            --
            assistant:
            + opaque openai-responses {"type":"custom_tool_call","id":"ctc_A","call_id":"call_A","name":"f","input":"words"}
            + origin openai-responses m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_stream_may_end_with_done() {
    let done = |status: &str| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{{}}"}}}}
            {{"type":"response.done","response":{{"id":"resp_A",{status}"usage":{{"input_tokens":3,"output_tokens":2}}}}}}"#
        )
    };
    for status in [r#""status":"completed","#, ""] {
        check_decode(
            &done(status),
            expect![[r#"
            Started { model: "", id: None }
            CallStarted { index: 0, id: "call_A", name: "f" }
            ArgumentsDelta { index: 0, text: "{}" }
            CallDone { index: 0 }
            Usage(Usage { input_tokens: 3, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            Stopped(ToolUse)
            --
            assistant:
            + call call_A f {}
            + origin openai-responses m
            + stop tool_use
        "#]],
        );
    }
    let incomplete = r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"#;
    check_decode(
        &done(incomplete),
        expect![[r#"
        Started { model: "", id: None }
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{}" }
        CallDone { index: 0 }
        Usage(Usage { input_tokens: 3, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(MaxTokens)
        --
        assistant:
        + call call_A f {}
        + origin openai-responses m
        + stop max_tokens
    "#]],
    );
    let failed = r#""status":"failed","error":{"code":"server_error","message":"broken"},"#;
    check_decode(
        &done(failed),
        expect![[r#"
        Started { model: "", id: None }
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{}" }
        CallDone { index: 0 }
        --
        assistant:
        + call call_A f {}
        + origin openai-responses m
        -- the provider failed while answering: broken
    "#]],
    );
    check_decode(
        &done(r#""status":"cancelled","#),
        expect![[r#"
        Started { model: "", id: None }
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{}" }
        CallDone { index: 0 }
        --
        assistant:
        + call call_A f {}
        + origin openai-responses m
        -- the answer was cut off before its end
    "#]],
    );
    check_decode(
        &done(r#""status":"in_progress","#),
        expect![[r#"
        Started { model: "", id: None }
        CallStarted { index: 0, id: "call_A", name: "f" }
        ArgumentsDelta { index: 0, text: "{}" }
        CallDone { index: 0 }
        --
        assistant:
        + call call_A f {}
        + origin openai-responses m
        -- the answer was cut off before its end
    "#]],
    );
}

#[test]
fn a_stream_without_its_end_is_cut() {
    check_decode(
        r#"
        {"type":"response.created","response":{"id":"resp_A","model":"m"}}
        {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[]}}
        {"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_A","summary_index":0,"delta":"half a tho"}
        [DONE]
        "#,
        expect![[r#"
            Started { model: "m", id: Some("resp_A") }
            ThinkingDelta("half a tho")
            --
            assistant:
            + thinking: half a tho
            + origin openai-responses m
            -- the answer was cut off before its end
        "#]],
    );
}

#[test]
fn an_answer_in_the_background_is_not_here() {
    // Its id is told: by it the answer can be fetched.
    expect![[r#"
        Started { model: "m", id: Some("resp_A") }
        --
        assistant:
        + origin openai-responses m
        -- the service is still making the answer resp_A in the background
    "#]]
    .assert_eq(&report(
        &OpenAiResponses::new(),
        r#"{"id":"resp_A","object":"response","model":"m","status":"queued","output":[]}"#,
    ));
}
