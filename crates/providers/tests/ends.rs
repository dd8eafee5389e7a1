//! How answers end: an explicit mark is believed, and an end that brought nothing says so.

use expect_test::{Expect, expect};
use trunkline_message_tree::StopReason;
use trunkline_providers::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

use crate::bedrock_frames;
use crate::grammar;
use crate::replies::{decode, fold};

fn told(wire: &dyn Wire, body: &[u8]) -> String {
    let (events, outcome) = decode(wire, [body]);
    assert_eq!(grammar::check(&events, &outcome), Ok(()));
    let fold = fold(wire.name(), &events);
    let remark = fold.remark().map(|words| format!(", {words:?}")).unwrap_or_default();
    let message = fold.finish();
    let stop = message.stop.as_ref().map(|stop| format!("{stop:?}")).unwrap_or_default();
    let calls: Vec<&str> = message.calls().map(|call| call.name.as_str()).collect();
    match outcome {
        Ok(()) => format!("{:?} {calls:?} {stop}{remark}\n", message.text()),
        Err(error) => format!("{:?} {calls:?} {error}\n", message.text()),
    }
}

fn sse(events: &[&str]) -> Vec<u8> {
    events.iter().map(|data| format!("data: {data}\n\n")).collect::<String>().into_bytes()
}

fn check(wire: &dyn Wire, bodies: &[Vec<u8>], expected: Expect) {
    let lines: String = bodies.iter().map(|body| told(wire, body)).collect();
    expected.assert_eq(&lines);
}

const CHAT: &str = r#"{"id":"c","model":"m","choices":[{"delta":{"content":"hi"},"finish_reason":null}]}"#;
const CHAT_CALL: &str = r#"{"id":"c","model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}"#;

#[test]
fn a_mark_without_a_reason_ends_a_chat_answer() {
    check(
        &OpenAiChat::default(),
        &[
            sse(&[CHAT, "[DONE]"]),
            sse(&[CHAT_CALL, "[DONE]"]),
            format!("[{CHAT}]").into_bytes(),
            // Neither mark nor reason; and a mark with nothing before it.
            sse(&[CHAT]),
            sse(&["[DONE]"]),
            format!("[{CHAT}").into_bytes(),
        ],
        expect![[r#"
            "hi" [] EndTurn
            "" ["f"] ToolUse
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
            "" [] the answer was cut off before its end
            "hi" [] the answer was cut off before its end
        "#]],
    );
}

#[test]
fn a_mark_without_a_reason_ends_an_answer_on_the_other_wires() {
    let start = r#"{"type":"message_start","message":{"id":"i","model":"m"}}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
    check(
        &Anthropic::new(),
        &[
            sse(&[start, text, r#"{"type":"message_stop"}"#]),
            sse(&[text, r#"{"type":"message_stop"}"#]),
            sse(&[start, text, r#"{"type":"content_block_stop","index":0}"#, "[DONE]"]),
            // Some gateways say it in any case.
            sse(&[start, text, "[DONE]"]),
            sse(&[start, "[DONE]"]),
            sse(&[start, text]),
        ],
        expect![[r#"
            "hi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
            "" [] the answer was cut off before its end
            "hi" [] the answer was cut off before its end
        "#]],
    );
    let text = r#"{"type":"response.output_text.delta","output_index":0,"item_id":"i","delta":"hi"}"#;
    check(
        &OpenAiResponses::new(),
        &[
            sse(&[r#"{"type":"response.completed"}"#]),
            sse(&[
                r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}}"#,
            ]),
            sse(&[text, r#"{"type":"response.completed","response":{}}"#]),
            sse(&[
                text,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","content":[{"type":"output_text","text":"hi"}]}}"#,
                "[DONE]",
            ]),
            sse(&[text, "[DONE]"]),
            sse(&[text]),
        ],
        expect![[r#"
            "" [] EndTurn
            "hi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
            "hi" [] the answer was cut off before its end
        "#]],
    );
    let text = r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]}}],"modelVersion":"m"}"#;
    check(
        &Gemini::new(),
        &[
            format!("[{text},\n{text}]").into_bytes(),
            sse(&[text, "[DONE]"]),
            text.as_bytes().to_vec(),
            sse(&[text]),
            format!("[{text},\n").into_bytes(),
        ],
        expect![[r#"
            "hihi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
            "hi" [] the answer was cut off before its end
        "#]],
    );
    check(
        &Ollama::new(),
        &[
            b"{\"model\":\"m\",\"message\":{\"content\":\"hi\"},\"done\":true}".to_vec(),
            b"{\"model\":\"m\",\"message\":{\"content\":\"hi\"},\"done\":false}".to_vec(),
        ],
        expect![[r#"
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
        "#]],
    );
    let text = r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"hi"}}"#;
    check(
        &Bedrock::new(),
        &[bedrock_frames::stream(&format!("{text}\nmessageStop {{}}")), bedrock_frames::stream(text)],
        expect![[r#"
            "hi" [] EndTurn
            "hi" [] the answer was cut off before its end
        "#]],
    );
}

#[test]
fn an_end_for_calls_that_brought_none_says_so() {
    let ends = |wire: &dyn Wire, body: &[u8]| {
        let (events, outcome) = decode(wire, [body]);
        assert_eq!(outcome, Ok(()));
        match fold("p", &events).finish().stop {
            Some(StopReason::Other(reason)) => reason,
            other => format!("{other:?}"),
        }
    };
    let chat = |reason: &str, native: &str| {
        let end = format!(
            "{{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\",\"native_finish_reason\":\"{native}\"}}]}}"
        );
        ends(&OpenAiChat::default(), &sse(&[&end, "[DONE]"]))
    };
    let gemini = |reason: &str, message: &str| {
        ends(
            &Gemini::new(),
            &sse(&[&format!(
                "{{\"candidates\":[{{\"content\":{{}},\"finishReason\":\"{reason}\"{message}}}]}}"
            )]),
        )
    };
    let anthropic = sse(&[
        r#"{"type":"message_start","message":{"id":"i","model":"m"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let bedrock = |reason: &str| {
        ends(
            &Bedrock::new(),
            &bedrock_frames::stream(&format!("messageStop {{\"stopReason\":\"{reason}\"}}\nmetadata {{}}")),
        )
    };
    let lines = [
        chat("tool_calls", ""),
        chat("function_call", ""),
        chat("stop", "MALFORMED_FUNCTION_CALL"),
        ends(&Anthropic::new(), &anthropic),
        bedrock("tool_use"),
        bedrock("malformed_tool_use"),
        ends(&Ollama::new(), b"{\"model\":\"m\",\"done\":true,\"done_reason\":\"tool_calls\"}"),
        gemini("MALFORMED_FUNCTION_CALL", ",\"finishMessage\":\"Malformed function call: print(\\nf)\""),
        gemini("UNEXPECTED_TOOL_CALL", ""),
        gemini("FUNCTION_CALL", ""),
    ];
    expect![[r#"
        tool_calls without a call
        function_call without a call
        MALFORMED_FUNCTION_CALL
        tool_use without a call
        tool_use without a call
        malformed_tool_use
        tool_calls without a call
        MALFORMED_FUNCTION_CALL: Malformed function call: print( f)
        UNEXPECTED_TOOL_CALL
        FUNCTION_CALL without a call
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_refusal_is_one_with_the_words_of_the_service() {
    check(
        &Gemini::new(),
        &[
            sse(&[
                r#"{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"The prompt was blocked."}}"#,
            ]),
            sse(&[r#"{"promptFeedback":{"blockReason":"OTHER"}}"#]),
            sse(&[r#"{"candidates":[{"finishReason":"PROHIBITED_CONTENT","finishMessage":"Not that."}]}"#]),
        ],
        expect![[r#"
            "" [] Refusal, "The prompt was blocked."
            "" [] Refusal, "OTHER"
            "" [] Refusal, "Not that."
        "#]],
    );
    check(
        &Anthropic::new(),
        &[sse(&[
            r#"{"type":"message_start","message":{"id":"i","model":"m"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not that."}}}"#,
            r#"{"type":"message_stop"}"#,
        ])],
        expect![[r#"
            "" [] Refusal, "cyber: Not that."
        "#]],
    );
    let content_filter =
        r#"{"id":"c","model":"m","choices":[{"delta":{},"finish_reason":"content_filter"}]}"#;
    check(
        &OpenAiChat::default(),
        &[sse(&[content_filter, "[DONE]"])],
        expect![[r#"
            "" [] Refusal
        "#]],
    );
}
