//! Ollama's chat: what comes back.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;
use trunkline_providers::{DecodeError, Event, Ollama};

use crate::grammar;
use crate::replies::{decode, report};
use crate::splits::cut;

fn check(body: &str, expected: Expect) {
    expected.assert_eq(&report(&Ollama::new(), body));
}

#[test]
fn a_stream_of_lines_is_reasoning_words_and_calls() {
    check(
        concat!(
            "{\"model\":\"m:4b\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"the file \"},\"done\":false}\n",
            "{\"model\":\"m:4b\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"is needed\"},\"done\":false}\n",
            "{\"model\":\"m:4b\",\"message\":{\"role\":\"assistant\",\"content\":\"I \"},\"done\":false}\n",
            "{\"model\":\"m:4b\",\"message\":{\"role\":\"assistant\",\"content\":\"look.\"},\"done\":false}\n",
            "{\"model\":\"m:4b\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_a1b2c3d4\",\"function\":{\"index\":0,\"name\":\"read\",\"arguments\":{\"b\": 1.0, \"a\":\"ü\\u00fc\"}}}]},\"done\":false}\n",
            "{\"model\":\"m:4b\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":9,\"prompt_eval_count\":44,\"eval_count\":18}\n",
        ),
        expect![[r#"
            Started { model: "m:4b", id: None }
            ThinkingDelta("the file ")
            ThinkingDelta("is needed")
            BlockDone
            TextDelta("I ")
            TextDelta("look.")
            BlockDone
            CallStarted { index: 0, id: "call_a1b2c3d4", name: "read" }
            ArgumentsDelta { index: 0, text: "{\"b\": 1.0, \"a\":\"ü\\u00fc\"}" }
            CallDone { index: 0 }
            Usage(Usage { input_tokens: 44, output_tokens: 18, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
            Stopped(ToolUse)
            --
            assistant:
            + thinking: the file is needed
            + text: I look.
            + call call_a1b2c3d4 read {"b": 1.0, "a":"ü\\u00fc"}
            + origin ollama m
            + stop tool_use
        "#]],
    );
}

#[test]
fn calls_without_an_id_are_numbered() {
    check(
        concat!(
            "{\"model\":\"m\",\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}},{\"id\":\"\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n",
            "{\"model\":\"m\",\"message\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"call_2\",\"function\":{\"name\":\"g\"}},{\"id\":\"call_2\",\"function\":{\"name\":\"g\",\"arguments\":null}}]},\"done\":false}\n",
            "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
        ),
        expect![[r#"
            Started { model: "m", id: None }
            CallStarted { index: 0, id: "call_0", name: "f" }
            ArgumentsDelta { index: 0, text: "{}" }
            CallDone { index: 0 }
            CallStarted { index: 1, id: "call_1", name: "f" }
            ArgumentsDelta { index: 1, text: "{\"a\":1}" }
            CallDone { index: 1 }
            CallStarted { index: 2, id: "call_2", name: "g" }
            CallDone { index: 2 }
            CallStarted { index: 3, id: "call_3", name: "g" }
            CallDone { index: 3 }
            Stopped(ToolUse)
            --
            assistant:
            + call call_0 f {}
            + call call_1 f {"a":1}
            + call call_2 g
            + call call_3 g
            + origin ollama m
            + stop tool_use
        "#]],
    );
}

#[test]
fn a_whole_answer_may_be_printed_over_several_lines() {
    let answer = json!({
        "model": "m", "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "5", "thinking": "2 + 3 {", "tool_calls": [
            {"function": {"name": "add", "arguments": {"x": 2, "y": [3]}}},
        ]},
        "done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3,
    });
    let pretty = serde_json::to_string_pretty(&answer).expect("it is JSON");
    let expected = expect![[r#"
        Started { model: "m", id: None }
        ThinkingDelta("2 + 3 {")
        BlockDone
        TextDelta("5")
        BlockDone
        CallStarted { index: 0, id: "call_0", name: "add" }
        ArgumentsDelta { index: 0, text: "{\r\n            \"x\": 2,\r\n            \"y\": [\r\n              3\r\n            ]\r\n          }" }
        CallDone { index: 0 }
        Usage(Usage { input_tokens: 7, output_tokens: 3, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(ToolUse)
        --
        assistant:
        + thinking: 2 + 3 {
        + text: 5
        + call call_0 add {\r\n            "x": 2,\r\n            "y": [\r\n              3\r\n            ]\r\n          }
        + origin ollama m
        + stop tool_use
    "#]];
    check(&format!("\u{feff}\r\n{}", pretty.replace('\n', "\r\n")), expected);
}

#[test]
fn the_last_line_needs_no_line_break_and_nothing_after_it_matters() {
    for end in ["", "\r\n", "\n<html>", "}", "\u{feff}{\"error\":\"late\"}"] {
        let body = format!("{{\"model\":\"m\",\"message\":{{\"content\":\"hi\"}},\"done\":true}}{end}");
        let (events, outcome) = decode(&Ollama::new(), [body.as_bytes()]);
        assert_eq!((events.len(), outcome), (4, Ok(())), "{end:?}");
        assert_eq!(events[1], Event::TextDelta("hi".to_owned()));
    }
}

#[test]
fn reasons_to_stop_are_told_apart() {
    let stop = |reason: serde_json::Value, calls: bool| {
        let calls = if calls { json!([{"function": {"name": "f", "arguments": {}}}]) } else { json!(null) };
        let line =
            json!({"message": {"content": "", "tool_calls": calls}, "done": true, "done_reason": reason});
        let (events, outcome) = decode(&Ollama::new(), [line.to_string().as_bytes()]);
        assert_eq!(outcome, Ok(()));
        format!("{:?}\n", events.last().expect("it stopped"))
    };
    let all = [
        stop(json!("stop"), false),
        stop(json!("stop"), true),
        stop(json!("length"), false),
        stop(json!("length"), true),
        stop(json!("load"), false),
        stop(json!(null), false),
    ];
    expect![[r#"
        Stopped(EndTurn)
        Stopped(ToolUse)
        Stopped(MaxTokens)
        Stopped(MaxTokens)
        Stopped(Other("load"))
        Stopped(EndTurn)
    "#]]
    .assert_eq(&all.concat());
}

#[test]
fn what_is_no_answer_says_what_it_is() {
    let outcome = |body: &str| match decode(&Ollama::new(), [body.as_bytes()]) {
        (events, Err(error)) => format!("{} events, {error}\n", events.len()),
        (_, Ok(())) => "complete\n".to_owned(),
    };
    let begun = "{\"model\":\"m\",\"message\":{\"content\":\"hi\"},\"done\":false}\n";
    let all = [
        // Inside a stream that had begun well.
        outcome(&format!("{begun}{{\"error\":\"an error was encountered while running the model\"}}\n")),
        outcome(&format!(
            "{begun}{{\"error\":{{\"message\":\"overloaded\",\"type\":\"overloaded_error\"}}}}\n"
        )),
        // Cut between lines, inside one, and before the first.
        outcome(begun),
        outcome(&format!("{begun}{{\"model\":\"m\",\"mess")),
        outcome(""),
        // Broken.
        outcome(&format!("{begun}{{\"model\":\"m\",\"mess\n{begun}")),
        outcome(&format!("{begun}{{\"model\":\"m\",\"message\":[]}}\n")),
        outcome(&format!(
            "{begun}{{\"message\":{{\"tool_calls\":[{{\"function\":{{\"arguments\":{{}}}}}}]}}}}"
        )),
        // Of another kind.
        outcome("\n <!doctype html><html><title>502</title></html>"),
        outcome("404 page not found\n"),
        outcome("\u{1f}\u{8b}\u{8}\0\0\0"),
        outcome("data: {\"choices\":[]}\n\n"),
        outcome("{\"detail\":\"Not Found\"}"),
        outcome("{\"object\":\"list\",\"data\":[]}"),
        outcome("[{\"message\":{\"content\":\"hi\"},\"done\":true}]"),
    ];
    expect![[r#"
        2 events, the provider failed while answering: an error was encountered while running the model
        2 events, the provider failed while answering: overloaded
        2 events, the answer was cut off before its end
        2 events, the answer was cut off before its end
        0 events, the answer was cut off before its end
        4 events, the answer was cut off before its end
        3 events, the answer was cut off before its end
        4 events, the answer was cut off before its end
        0 events, an HTML page instead of an API response
        1 events, the answer cannot be read (not a JSON object): 404 page not found
        0 events, the answer cannot be read (the packed body is damaged, its header is none): gzip
        1 events, the answer cannot be read (not a JSON object): data: {"choices":[]}
        0 events, the provider failed while answering: Not Found
        0 events, the provider failed while answering: {"data":[],"object":"list"}
        0 events, the answer cannot be read (not a JSON object): [{"message":{"content":"hi"},"done":true}]
    "#]]
    .assert_eq(&all.concat());
}

#[test]
fn progress_of_another_kind_is_passed_over() {
    let body = "{\"status\":\"loading model\",\"completed\":1,\"total\":2}\n\
                {\"model\":\"m\",\"message\":{\"content\":\"hi\",\"images\":null,\"new\":1},\"logprobs\":[],\"done\":false}\n\n\
                {\"status\":\"still here\"}\n\
                {\"model\":\"m\",\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1}\n";
    check(
        body,
        expect![[r#"
        Started { model: "m", id: None }
        TextDelta("hi")
        BlockDone
        Usage(Usage { input_tokens: 0, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 })
        Stopped(EndTurn)
        --
        assistant: hi
        + origin ollama m
        + stop end_turn
    "#]],
    );
}

#[test]
fn an_object_that_never_ends_is_refused() {
    let mut decoder = trunkline_providers::Wire::decoder(
        &Ollama::new(),
        &trunkline_providers::Request::new("m", [trunkline_message_tree::Message::user("hi")]),
    );
    let mut events = Vec::new();
    decoder.push(b"{\"message\":{\"content\":\"", &mut events).expect("it may go on");
    let piece = vec![b'a'; 1024 * 1024];
    let fault = (0..17).find_map(|_| decoder.push(&piece, &mut events).err());
    assert!(matches!(fault, Some(DecodeError::TooLarge { .. })), "{fault:?}");
}

#[test]
fn a_refusal_is_read_by_its_words_and_its_status() {
    use trunkline_providers::{ErrorKind, Wire as _};

    let kind = |status, body: &str| Ollama::new().error(status, &[], body.as_bytes()).kind();
    assert_eq!(kind(404, "{\"error\":\"model 'x' not found\"}"), Some(ErrorKind::NotFound));
    assert_eq!(
        kind(400, "{\"error\":\"\\\"x\\\" does not support thinking\"}"),
        Some(ErrorKind::InvalidRequest)
    );
    assert_eq!(kind(401, "{\"error\":\"unauthorized\"}"), Some(ErrorKind::Auth));
    assert_eq!(kind(503, "{\"error\":\"server busy, please try again.\"}"), Some(ErrorKind::Overloaded));
    assert_eq!(kind(500, "{\"error\":\"llama runner process has terminated\"}"), Some(ErrorKind::Server));
}

/// A line of any kind, and lines that are broken.
fn line() -> impl Strategy<Value = String> {
    let message = (0..6_usize, "[a-z{}\\[\\]\"\\\\ü🦀 ]{0,6}").prop_map(|(kind, words)| match kind {
        0 => json!({"content": words}),
        1 => json!({"content": "", "thinking": words}),
        2 => json!({"thinking": words, "content": words, "tool_calls": []}),
        3 => json!({"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": words}}}]}),
        4 => {
            json!({"content": words, "tool_calls": [{"id": "c", "function": {"name": "g", "arguments": {}}}]})
        }
        _ => json!(null),
    });
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("")];
    let line = (message, prop::bool::weighted(0.1), prop::bool::weighted(0.2), end).prop_map(
        |(message, done, pretty, end)| {
            let line = json!({"model": "m", "message": message, "done": done});
            let text = if pretty { format!("{line:#}") } else { line.to_string() };
            format!("{text}{end}")
        },
    );
    (line, prop::option::weighted(0.1, 0_usize..60)).prop_map(|(line, cut)| match cut {
        Some(at) => line.chars().take(at).collect(),
        None => line,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn lines_of_any_kind_keep_the_order_of_events_at_any_split(
        lines in prop::collection::vec(line(), 0..8),
        lengths in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let body = lines.concat();
        let whole = decode(&Ollama::new(), [body.as_bytes()]);
        prop_assert_eq!(grammar::check(&whole.0, &whole.1), Ok(()), "{}", body);
        prop_assert_eq!(decode(&Ollama::new(), cut(body.as_bytes(), &lengths)), whole);
    }

    #[test]
    fn changed_bytes_are_not_fatal_at_any_split(
        lines in prop::collection::vec(line(), 1..5),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        lengths in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let mut body = lines.concat().into_bytes();
        for (at, byte) in changes {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        let whole = decode(&Ollama::new(), [body.as_slice()]);
        prop_assert_eq!(grammar::check(&whole.0, &whole.1), Ok(()));
        prop_assert_eq!(decode(&Ollama::new(), cut(&body, &lengths)), whole);
    }
}
