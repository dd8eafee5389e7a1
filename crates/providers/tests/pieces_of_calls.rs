//! Calls in older forms, in pieces, and said again.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::CallOutcome;
use trunkline_providers::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

use crate::bedrock_frames;
use crate::every_body::{Kind, all_wires, has_pieces_of_calls, stream};
use crate::grammar;
use crate::replies::{decode, fold};

fn told(wire: &dyn Wire, body: &[u8]) -> String {
    let (events, outcome) = decode(wire, [body]);
    assert_eq!(grammar::check(&events, &outcome), Ok(()));
    let message = fold(wire.name(), &events).finish();
    let mut lines = format!("{outcome:?} {:?} {:?}\n", message.stop, message.text());
    for ((call, outcome), raw) in message.call_outcomes().zip(message.calls()) {
        let outcome = match outcome {
            CallOutcome::Ready(_) => "",
            _ => " (does not run)",
        };
        lines.push_str(&format!("{} {} {}{outcome}\n", call.id, call.name, raw.arguments));
    }
    lines
}

/// One delta a line on the Chat wire, then the reason and the mark.
fn chat(deltas: &[&str], reason: &str, expected: Expect) {
    let chunks = deltas.iter().map(|delta| {
        format!("data: {{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n")
    });
    let end = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let body: String = chunks.chain([end]).collect();
    expected.assert_eq(&told(&OpenAiChat::default(), body.as_bytes()));
}

fn events(wire: &dyn Wire, events: &[&str], expected: Expect) {
    let body: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    expected.assert_eq(&told(wire, body.as_bytes()));
}

#[test]
fn a_call_of_the_older_form_is_a_call() {
    chat(
        &[
            r#"{"role":"assistant","content":null,"function_call":{"name":"list_files","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"p\":"}}"#,
            r#"{"function_call":{"arguments":"1}"}}"#,
        ],
        "function_call",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            call_0 list_files {"p":1}
        "#]],
    );
    let whole = r#"{"id":"c","model":"m","choices":[{"message":{"content":null,"function_call":{"name":"list_files","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    expect![[r#"
        Ok(()) Some(ToolUse) ""
        call_0 list_files {}
    "#]]
    .assert_eq(&told(&OpenAiChat::default(), whole.as_bytes()));
}

#[test]
fn a_call_in_both_forms_is_one() {
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}],"function_call":{"name":"f","arguments":"{}"}}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            a f {}
        "#]],
    );
}

#[test]
fn a_call_that_stands_in_no_list_is_a_list_of_one() {
    chat(
        &[
            r#"{"tool_calls":{"index":0,"id":"c1","function":{"name":"read","arguments":""}}}"#,
            r#"{"tool_calls":{"index":0,"function":{"arguments":"{\"p\":"}}}"#,
            r#"{"tool_calls":{"index":0,"function":{"arguments":"1}"}}}"#,
            r#"{"tool_calls":{}}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            c1 read {"p":1}
        "#]],
    );
    let whole = r#"{"id":"c","model":"m","choices":[{"message":{"content":null,"tool_calls":{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}},"finish_reason":"tool_calls"}]}"#;
    expect![[r#"
        Ok(()) Some(ToolUse) ""
        c1 read {}
    "#]]
    .assert_eq(&told(&OpenAiChat::default(), whole.as_bytes()));
    let line = r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":{"function":{"name":"read","arguments":{"p":1}}}},"done":true,"done_reason":"stop"}"#;
    expect![[r#"
        Ok(()) Some(ToolUse) ""
        call_0 read {"p":1}
    "#]]
    .assert_eq(&told(&Ollama::new(), line.as_bytes()));
    let none = line.replace(r#"{"function":{"name":"read","arguments":{"p":1}}}"#, "{}");
    expect![[r#"
        Ok(()) Some(EndTurn) ""
    "#]]
    .assert_eq(&told(&Ollama::new(), none.as_bytes()));
}

#[test]
fn a_name_in_pieces_is_joined_and_a_whole_one_that_is_repeated_stays() {
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"files","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            c1 list_files {}
        "#]],
    );
    // Repeated, whole so far, and beside the arguments.
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_files","arguments":""}},{"index":1,"id":"c2","function":{"name":"read_"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_files","arguments":"{"}},{"index":1,"id":"c2","function":{"name":"read_file","arguments":"{\"a\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_files","arguments":"}"}},{"index":1,"id":"c2","function":{"name":"read_file","arguments":":1}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            c1 list_files {}
            c2 read_file {"a":1}
        "#]],
    );
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"files","arguments":"}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            c1 list_files {}
        "#]],
    );
}

#[test]
fn an_id_in_pieces_is_joined_and_each_call_has_one_of_its_own() {
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"call_","function":{"name":"f"}},{"index":1,"id":"call_","function":{"name":"g"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a"},{"index":1,"id":"b"}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            call_a f {}
            call_b g {}
        "#]],
    );
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"x","function":{"name":"g","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            x f {}
            call_1 g {}
        "#]],
    );
}

#[test]
fn calls_are_told_apart_without_index_without_id_and_under_one_index() {
    chat(
        &[
            r#"{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"g","arguments":{"b": 2.0}}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            call_0 f {"a":1}
            call_1 g {"b": 2.0}
        "#]],
    );
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"b\":2}"}}]}"#,
        ],
        "stop",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            a f {"a":1}
            b g {"b":2}
        "#]],
    );
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"g","arguments":"{\"b\":2}"}}]}"#,
            r#"{"tool_calls":[{"index":"1","name":"h","arguments":"{}"}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            call_0 f {"a":1}
            call_1 g {"b":2}
            call_2 h {}
        "#]],
    );
}

#[test]
fn arguments_that_are_said_again_do_not_double() {
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\": 1}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            a f {"a":1}
        "#]],
    );
    // Each piece with all that there is so far, and a placeholder before what was meant.
    chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1"}},{"index":1,"function":{"arguments":"{\"b\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}},{"index":1,"function":{"arguments":":2}"}}]}"#,
        ],
        "tool_calls",
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            a f {"a":1}
            b g {"b":2}
        "#]],
    );
}

#[test]
fn a_message_behind_a_stream_says_all_of_it_again() {
    let wire = OpenAiChat::default();
    events(
        &wire,
        &[
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"hm","content":"It "},"message":{"role":"assistant","content":"It "}}]}"#,
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"is so"},"message":{"role":"assistant","content":"It is so"}}]}"#,
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"message":{"role":"assistant","reasoning_content":"hm","content":"It is so."},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            Ok(()) Some(EndTurn) "It is so."
        "#]],
    );
    events(
        &wire,
        &[
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Look","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}"#,
            r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Look","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            Ok(()) Some(ToolUse) "Look"
            a f {"a":1}
        "#]],
    );
}

#[test]
fn calls_that_other_wires_say_again_are_one() {
    expect![[r#"
        Ok(()) Some(ToolUse) ""
        x f {"a":1}
    "#]]
    .assert_eq(&told(
        &Ollama::new(),
        b"{\"model\":\"m\",\"message\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n{\"model\":\"m\",\"message\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":true}\n",
    ));
    events(
        &Gemini::new(),
        &[
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"x","name":"f","args":{"a":1}}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"x","name":"f","args":{"a":1}}}]},"finishReason":"STOP"}]}"#,
        ],
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            x f {"a":1}
        "#]],
    );
    let frames = r#"messageStart {"role":"assistant"}
        contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}
        contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":1}"}}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":1}"}}}
        contentBlockStop {"contentBlockIndex":0}
        messageStop {"stopReason":"tool_use"}
        metadata {}"#;
    expect![[r#"
        Ok(()) Some(ToolUse) ""
        x f {"a":1}
    "#]]
    .assert_eq(&told(&Bedrock::new(), &bedrock_frames::stream(frames)));
    events(
        &Anthropic::new(),
        &[
            r#"{"type":"message_start","message":{"id":"i","model":"m"}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{"a":1}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            x f {"a":1}
        "#]],
    );
    events(
        &OpenAiResponses::new(),
        &[
            r#"{"type":"response.created","response":{"id":"r","model":"m"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"x","name":"list_"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#,
            r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":{"a":1}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"x","name":"list_files","arguments":"{\"a\":1}"}}"#,
            r#"{"type":"response.completed","response":{"status":"completed"}}"#,
        ],
        expect![[r#"
            Ok(()) Some(ToolUse) ""
            x list_files {"a":1}
        "#]],
    );
}

#[test]
fn a_call_without_a_name_leaves_no_answer_that_counts() {
    let nameless: [(Box<dyn Wire>, &str); 3] = [
        (
            Box::new(OpenAiChat::default()),
            "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"ok\",\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
        ),
        (
            Box::new(Gemini::new()),
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"},{\"functionCall\":{\"args\":{}}}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
        (
            Box::new(Ollama::new()),
            "{\"model\":\"m\",\"message\":{\"content\":\"ok\",\"tool_calls\":[{\"function\":{\"arguments\":{}}}]},\"done\":true}\n",
        ),
    ];
    for (wire, body) in nameless {
        let (events, outcome) = decode(wire.as_ref(), [body.as_bytes()]);
        let error = outcome.expect_err("a call is missing").to_string();
        assert!(error.contains("without a name"), "{}: {error}", wire.name());
        assert_eq!(fold("p", &events).finish().text(), "ok");
    }
}

proptest! {
    #[test]
    fn arguments_in_pieces_are_what_they_were(
        arguments in prop::sample::select(vec![
            r#"{"a":{"a":{"a":1}},"b":[{"a":2},{}]}"#,
            r#"{"{":1,"{\"":"{\"{","c":"{\"a\":1}"}"#,
            r#"{"x":"{","y":"}{","z":[],"w":""}"#,
            r#"{ "a" : "a{\"a", "": {"": {}}}"#,
            r#"{"path":"aa","aa":"path","n":1.50}"#,
        ]),
        lengths in prop::collection::vec(1_usize..9, 1..8),
        wire in 0_usize..6,
    ) {
        let wires = all_wires();
        let wire = wires[wire].as_ref();
        if has_pieces_of_calls(wire) {
            let mut pieces = Vec::new();
            let mut rest = arguments;
            for length in lengths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at((*length).min(rest.len()));
                pieces.push(serde_json::to_string(piece).expect("text").into_bytes());
                rest = tail;
            }
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[1..piece.len() - 1]).collect();
            let body = stream(wire, Kind::Arguments, &pieces, b"null");
            let (events, outcome) = decode(wire, [body.as_slice()]);
            prop_assert_eq!(outcome, Ok(()));
            let message = fold("p", &events).finish();
            let call = message.calls().next().expect("a call");
            prop_assert_eq!(&call.arguments, arguments);
        }
    }
}

/// A Chat body of deltas; the last one ends the answer.
fn chat_of(deltas: &[&str]) -> Vec<u8> {
    let last = deltas.len() - 1;
    let chunk = |(place, delta): (usize, &&str)| {
        let finish = if place == last { "\"stop\"" } else { "null" };
        format!(
            "data: {{\"id\":\"c\",\"model\":\"m\",\"choices\":[{{\"index\":0,{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let body: String = deltas.iter().enumerate().map(chunk).collect();
    format!("{body}data: [DONE]\n\n").into_bytes()
}

#[test]
fn a_last_delta_that_says_the_whole_text_again_says_nothing() {
    let words = "The tests pass, and the build is green.";
    let (one, two) = words.split_at(17);
    let delta = |text: &str| format!("\"delta\":{{\"content\":\"{text}\"}}");
    let both = format!("{},\"message\":{{\"role\":\"assistant\",\"content\":\"{words}\"}}", delta(words));
    let said = |deltas: &[&str]| {
        let (events, outcome) = decode(&OpenAiChat::default(), [&chat_of(deltas)[..]]);
        assert_eq!(outcome, Ok(()));
        fold("openai", &events).finish().text()
    };
    assert_eq!(said(&[&delta(one), &delta(two), &delta(words)]), words);
    assert_eq!(said(&[&delta(one), &delta(two), &both]), words);
    assert_eq!(said(&[&delta(words), &both]), words);
    // What a model may well say twice is said twice: a token, and what came in one piece.
    assert_eq!(said(&[&delta("ha"), &delta("ha"), &delta("haha")]), "hahahaha");
    assert_eq!(said(&[&delta(words), &delta(words)]), format!("{words}{words}"));
    // And what is only its beginning goes on.
    assert_eq!(said(&[&delta(one), &delta(two), &delta(one)]), format!("{words}{one}"));
}
