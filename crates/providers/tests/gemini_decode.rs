//! The Gemini wire, text out.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_message_tree::{Message, Role};
use trunkline_providers::{Event, Gemini, Request, Wire};

use crate::replies::{decode, fold, report};
use crate::{grammar, replies};

fn check_decode(stream: &str, expected: Expect) {
    let events: Vec<String> = stream
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    expected.assert_eq(&report(&Gemini::new(), &events.concat()));
}

fn check_whole(body: &str, expected: Expect) {
    expected.assert_eq(&report(&Gemini::new(), body));
}

#[test]
fn calls_keep_their_bytes_and_their_own_signatures() {
    check_decode(
        r#"
        {"candidates":[{"content":{"role":"model","parts":[{"text":"I need ","thought":true}]},"index":0}],"usageMetadata":{"promptTokenCount":70,"totalTokenCount":70},"modelVersion":"m-3","responseId":"R1"}
        {"candidates":[{"content":{"role":"model","parts":[{"text":"two files.","thought":true}]},"index":0}],"modelVersion":"m-3","responseId":"R1"}
        {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"path":  "a.rs"},"id":"x7"},"thoughtSignature":"c2ln"},{"functionCall":{"name":"read_file","args":{"path":"b.rs"},"id":"x8"}}]},"index":0}],"usageMetadata":{"promptTokenCount":70,"candidatesTokenCount":9,"totalTokenCount":100,"thoughtsTokenCount":21},"modelVersion":"m-3","responseId":"R1"}
        {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":70,"candidatesTokenCount":9,"totalTokenCount":100,"thoughtsTokenCount":21},"modelVersion":"m-3","responseId":"R1"}
        "#,
        expect![[r#"
            Started { model: "m-3", id: Some("R1") }
            ThinkingDelta("I need ")
            Usage(Usage { input_tokens: 70, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            ThinkingDelta("two files.")
            BlockDone
            CallStarted { index: 0, id: "x7", name: "read_file" }
            ArgumentsDelta { index: 0, text: "{\"path\":  \"a.rs\"}" }
            CallSignature { index: 0, signature: "c2ln" }
            CallDone { index: 0 }
            CallStarted { index: 1, id: "x8", name: "read_file" }
            ArgumentsDelta { index: 1, text: "{\"path\":\"b.rs\"}" }
            CallDone { index: 1 }
            Usage(Usage { input_tokens: 70, output_tokens: 30, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 21 })
            Stopped(ToolUse)
            --
            assistant:
            + thinking: I need two files.
            + call x7 read_file {"path":  "a.rs"}
            ++ signature c2ln
            + call x8 read_file {"path":"b.rs"}
            + origin gemini m
            + stop tool_use
        "#]],
    );
}

#[test]
fn a_signature_after_the_last_word_is_a_part_of_its_own() {
    check_decode(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"The sum "}]}}],"modelVersion":"m-3"}
        {"candidates":[{"content":{"parts":[{"text":"is 5."}]}}]}
        {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln\u003d"}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            Started { model: "m-3", id: None }
            TextDelta("The sum ")
            TextDelta("is 5.")
            BlockDone
            Block(Opaque { wire: "gemini", json: "{\"text\":\"\",\"thoughtSignature\":\"c2ln\\u003d\"}" })
            Stopped(EndTurn)
            --
            assistant: The sum is 5.
            + opaque gemini {"text":"","thoughtSignature":"c2ln\\u003d"}
            + origin gemini m
            + stop end_turn
        "#]],
    );
}

#[test]
fn signed_words_stay_one_text_and_say_what_was_signed() {
    check_decode(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"{\"city\": \"Zür","thoughtSignature":"Zmlyc3Q="}]}}],"modelVersion":"m-2.5"}
        {"candidates":[{"content":{"parts":[{"text":"ich\"}"}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            Started { model: "m-2.5", id: None }
            TextDelta("{\"city\": \"Zür")
            TextDelta("ich\"}")
            BlockDone
            Block(Opaque { wire: "gemini", json: "{\"textBytes\":[0,14],\"part\":{\"thoughtSignature\":\"Zmlyc3Q=\"}}" })
            Stopped(EndTurn)
            --
            assistant: {"city": "Zürich"}
            + opaque gemini {"textBytes":[0,14],"part":{"thoughtSignature":"Zmlyc3Q="}}
            + origin gemini m
            + stop end_turn
        "#]],
    );
    check_whole(
        r#"{"candidates":[{"content":{"parts":[{"text":"9","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"modelVersion":"m","responseId":"r"}"#,
        expect![[r#"
            Started { model: "m", id: Some("r") }
            TextDelta("9")
            BlockDone
            Block(Opaque { wire: "gemini", json: "{\"textBytes\":[0,1],\"part\":{\"thoughtSignature\":\"c2ln\"}}" })
            Stopped(EndTurn)
            --
            assistant: 9
            + opaque gemini {"textBytes":[0,1],"part":{"thoughtSignature":"c2ln"}}
            + origin gemini m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_signed_thought_stands_alone() {
    check_decode(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"one","thought":true},{"text":"two","thought":true,"thoughtSignature":"c2ln"},{"text":"three","thought":true},{"text":"","thought":true,"thoughtSignature":"YWdu"}]},"finishReason":"STOP"}]}
        "#,
        expect![[r#"
            Started { model: "m", id: None }
            ThinkingDelta("one")
            BlockDone
            ThinkingDelta("two")
            Signature("c2ln")
            BlockDone
            ThinkingDelta("three")
            BlockDone
            Signature("YWdu")
            BlockDone
            Stopped(EndTurn)
            --
            assistant:
            + thinking: one
            + thinking c2ln: two
            + thinking: three
            + thinking YWdu:
            + origin gemini m
            + stop end_turn
        "#]],
    );
}

#[test]
fn what_the_provider_ran_and_what_is_new_is_carried() {
    check_whole(
        r#"{"candidates":[{"content":{"parts":[{"executableCode":{"code":"print(2**20)\n","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1048576\n"}},{"text":"It is 1048576."},{"toolCall":{"id":"t1"}},{"toolResponse":{"id":"t1"},"thoughtSignature":"c2ln"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"thoughtSignature":"bGFzdA=="},{},null]},"finishReason":"STOP","index":0},{"content":{"parts":[{"text":"another answer"}]},"index":1,"finishReason":"SAFETY"}],"modelVersion":"m","responseId":"r","usageMetadata":{"candidatesTokenCount":30,"promptTokenCount":25,"cachedContentTokenCount":11,"thoughtsTokenCount":34,"toolUsePromptTokenCount":75,"totalTokenCount":164}}"#,
        expect![[r#"
            Started { model: "m", id: Some("r") }
            Block(Opaque { wire: "gemini", json: "{\"executableCode\":{\"code\":\"print(2**20)\\n\",\"language\":\"PYTHON\"}}" })
            Block(Opaque { wire: "gemini", json: "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"1048576\\n\"}}" })
            TextDelta("It is 1048576.")
            BlockDone
            Block(Opaque { wire: "gemini", json: "{\"toolCall\":{\"id\":\"t1\"}}" })
            Block(Opaque { wire: "gemini", json: "{\"toolResponse\":{\"id\":\"t1\"},\"thoughtSignature\":\"c2ln\"}" })
            Block(Opaque { wire: "gemini", json: "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"AAAA\"}}" })
            Block(Opaque { wire: "gemini", json: "{\"text\":\"\",\"thoughtSignature\":\"bGFzdA==\"}" })
            Usage(Usage { input_tokens: 100, output_tokens: 64, cache_read_tokens: 11, cache_write_tokens: 0, reasoning_tokens: 34 })
            Stopped(EndTurn)
            --
            assistant:
            + opaque gemini {"executableCode":{"code":"print(2**20)\\n","language":"PYTHON"}}
            + opaque gemini {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1048576\\n"}}
            + text: It is 1048576.
            + opaque gemini {"toolCall":{"id":"t1"}}
            + opaque gemini {"toolResponse":{"id":"t1"},"thoughtSignature":"c2ln"}
            + opaque gemini {"inlineData":{"mimeType":"image/png","data":"AAAA"}}
            + opaque gemini {"text":"","thoughtSignature":"bGFzdA=="}
            + origin gemini m
            + stop end_turn
        "#]],
    );
}

#[test]
fn a_body_may_be_one_array() {
    check_whole(
        "[{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a \\\"]},{ \"}]}}], \"modelVersion\": \"m\"}\n,\n{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"b\"}]}, \"finishReason\": \"STOP\"}]}]",
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("a \"]},{ ")
            TextDelta("b")
            BlockDone
            Stopped(EndTurn)
            --
            assistant: a "]},{ b
            + origin gemini m
            + stop end_turn
        "#]],
    );
    for (body, expected) in [
        ("[]", "Err(Cut)"),
        ("[{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a\"}]}}]}", "Err(Cut)"),
        ("[{\"candidates\": [{\"finish", "Err(Cut)"),
        (
            "[1]",
            "Err(Malformed { reason: \"invalid type: integer `1`, expected struct ResponseShape at line 1 column 1\", excerpt: \"1\" })",
        ),
        (
            "[{\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}]",
            "Err(Reported { kind: Overloaded, message: \"The model is overloaded.\", retry_after: None, retryable: true })",
        ),
    ] {
        assert_eq!(format!("{:?}", decode(&Gemini::new(), [body.as_bytes()]).1), expected, "{body}");
    }
}

#[test]
fn a_failure_inside_a_stream_is_reported() {
    check_decode(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"half a sen"}]}}],"modelVersion":"m"}
        {"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}
        "#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("half a sen")
            --
            assistant: half a sen
            + origin gemini m
            -- the provider failed while answering: An internal error has occurred.
        "#]],
    );
}

#[test]
fn a_stream_without_a_reason_is_cut() {
    check_decode(
        r#"
        {"candidates":[{"content":{"parts":[{"text":"The"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}],"modelVersion":"m"}
        {"brand":"new"}
        "#,
        expect![[r#"
            Started { model: "m", id: None }
            TextDelta("The")
            --
            assistant: The
            + origin gemini m
            -- the answer was cut off before its end
        "#]],
    );
}

#[test]
fn a_whole_body_that_is_no_answer_is_quoted() {
    for (body, expected) in [
        (
            r#"{"detail":"not here"}"#,
            r#"Err(Reported { kind: Other, message: "not here", retry_after: None, retryable: false })"#,
        ),
        (r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#, "Ok(())"),
        (r#"{"candidates":[{"content":{}}]}"#, "Err(Cut)"),
        (r#"{"candidates":[{"content":{"parts":[{"text":"cut"#, "Err(Cut)"),
    ] {
        assert_eq!(format!("{:?}", decode(&Gemini::new(), [body.as_bytes()]).1), expected, "{body}");
    }
}

#[test]
fn reasons_to_stop() {
    let stop = |body: Value| {
        let (events, outcome) = decode(&Gemini::new(), [body.to_string().as_bytes()]);
        assert_eq!(outcome, Ok(()));
        fold("p", &events).finish().stop.map(|stop| format!("{stop:?}")).unwrap_or_default()
    };
    let reason = |reason: &str, part: Value| {
        stop(json!({"candidates": [{"content": {"parts": [part]}, "finishReason": reason}]}))
    };
    let call = || json!({"functionCall": {"name": "f"}});
    let mut text = String::new();
    for name in
        ["STOP", "MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "MALFORMED_FUNCTION_CALL"]
    {
        text.push_str(&format!(
            "{name}: {}, with a call {}\n",
            reason(name, json!({})),
            reason(name, call())
        ));
    }
    text.push_str(&format!("UNEXPECTED_TOOL_CALL: {}\n", reason("UNEXPECTED_TOOL_CALL", call())));
    text.push_str(&format!("blocked: {}\n", stop(json!({"promptFeedback": {"blockReason": "SAFETY"}}))));
    expect![[r#"
        STOP: EndTurn, with a call ToolUse
        MAX_TOKENS: MaxTokens, with a call MaxTokens
        SAFETY: Refusal, with a call Refusal
        PROHIBITED_CONTENT: Refusal, with a call Refusal
        RECITATION: Refusal, with a call Refusal
        MALFORMED_FUNCTION_CALL: Other("MALFORMED_FUNCTION_CALL"), with a call Other("MALFORMED_FUNCTION_CALL")
        UNEXPECTED_TOOL_CALL: ToolUse
        blocked: Refusal
    "#]].assert_eq(&text);
}

#[test]
fn a_call_without_an_id_gets_one_that_is_new_in_the_conversation() {
    let ids = |id: Option<&str>, calls: usize, request: &Request| {
        let call = json!({"functionCall": {"name": "f", "args": {}}});
        let mut body =
            json!({"candidates": [{"content": {"parts": vec![call; calls]}, "finishReason": "STOP"}]});
        body["responseId"] = json!(id);
        let mut decoder = Gemini::new().decoder(request);
        let mut events = Vec::new();
        decoder.push(body.to_string().as_bytes(), &mut events).expect("legible");
        decoder.finish(&mut events).expect("complete");
        let message = fold("p", &events).finish();
        message.calls().map(|call| call.id.clone()).collect::<Vec<_>>().join(" ")
    };
    let fresh = replies::request("user: hi");
    let later = replies::request(
        "user: hi
         assistant:
           + call call_1 f {}
           + call call_R.1_0 f {}
           + call call_R1_0 f {}
         result call_1: a
         result call_R.1_0: b
         result call_R1_0: c",
    );
    let text = [
        ids(Some("R.1"), 2, &fresh),
        ids(Some("R.1"), 2, &later),
        ids(None, 2, &fresh),
        ids(None, 2, &later),
        ids(Some(&"r".repeat(90)), 1, &fresh),
    ];
    expect![[r#"
        call_R1_0 call_R1_1
        call_R1_1 call_R1_2
        call_0 call_1
        call_3 call_4
        call_rrrrrrrrrrrrrrrrrrrrrrrrrrrr_0"#]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn a_call_that_cannot_be_read_whole_is_no_call() {
    for part in [
        r#"{"functionCall":{"args":{}}}"#,
        r#"{"functionCall":{"name":"f","willContinue":true}}"#,
        r#"{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","stringValue":"b"}]}}"#,
        r#"{"functionCall":7}"#,
    ] {
        let body = format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"STOP"}}]}}"#);
        let (events, outcome) = decode(&Gemini::new(), [body.as_bytes()]);
        assert!(outcome.is_err(), "{part}");
        assert!(!events.iter().any(|event| matches!(event, Event::CallDone { .. })), "{part}");
    }
}

/// A part as the service may write it, with its number, so that no two are alike.
fn part() -> impl Strategy<Value = Value> {
    let words = prop_oneof![Just("".to_owned()), Just(" ".to_owned()), "[a-zü\\n]{1,4}"];
    (0_usize..6, words, any::<bool>(), 0_u32..1000).prop_map(|(kind, words, signed, number)| {
        let mut part = match kind {
            0..=2 => json!({"text": words}),
            3 => json!({"text": words, "thought": true}),
            4 => json!({"functionCall": {"name": "f", "args": {"n": number}}}),
            _ => json!({"executableCode": {"code": number.to_string()}}),
        };
        if signed {
            part["thoughtSignature"] = json!(format!("sig{number}"));
        }
        part
    })
}

/// What of these parts goes back: words without a signature are joined, and reasoning and silence without one left out.
fn expected(parts: &[Value]) -> Vec<Value> {
    let mut expected: Vec<Value> = Vec::new();
    // Whether the last part takes further words, and whether those are thoughts.
    let mut open: Option<bool> = None;
    for part in parts {
        let signed = part.get("thoughtSignature").is_some();
        match part["text"].as_str() {
            Some("") if !signed => {}
            Some(text) if !signed => {
                let thought = Some(part.get("thought").is_some());
                match expected.last_mut().filter(|_| open == thought) {
                    Some(last) => {
                        last["text"] = json!(last["text"].as_str().unwrap_or_default().to_owned() + text)
                    }
                    None => expected.push(part.clone()),
                }
                open = thought;
            }
            _ => {
                expected.push(part.clone());
                open = None;
            }
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn each_part_goes_back_with_its_own_signature(chunks in prop::collection::vec(prop::collection::vec(part(), 0..4), 1..5)) {
        let mut stream: String = chunks
            .iter()
            .map(|parts| format!("data: {}\n\n", json!({"candidates": [{"content": {"parts": parts}}]})))
            .collect();
        stream.push_str("data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n");
        let (events, outcome) = decode(&Gemini::new(), [stream.as_bytes()]);
        prop_assert_eq!(grammar::check(&events, &outcome), Ok(()));
        prop_assert_eq!(outcome, Ok(()));

        let answer = fold("gemini", &events).finish();
        let parts: Vec<Value> = chunks.into_iter().flatten().collect();
        let words = |parts: &[Value]| -> String {
            let said = parts.iter().filter(|part| part.get("thought").is_none());
            said.filter_map(|part| part["text"].as_str()).collect()
        };
        // Blocks of text are joined by line breaks, so only the letters are compared.
        prop_assert_eq!(answer.text().replace('\n', ""), words(&parts).replace('\n', ""));

        let expected = expected(&parts);
        prop_assume!(!expected.is_empty());
        let results: Vec<Message> =
            answer.calls().map(|call| Message::tool_result(&call.id, "42", false)).collect();
        let mut messages = vec![Message::user("hi"), answer];
        messages.extend(results);
        messages.push(Message::user("go on"));
        prop_assert!(messages.iter().all(|message| message.role != Role::System));
        let mut wire = Gemini::new();
        wire.call_ids = false;
        let http = wire.encode(&Request::new("m", messages)).expect("legal");
        let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("the body is JSON");
        prop_assert_eq!(&body["contents"][1]["parts"], &Value::Array(expected));
    }
}
