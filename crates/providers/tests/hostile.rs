//! What broke once: answers that were damaged on the way, or made to do harm.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_message_tree::CallOutcome;
use trunkline_providers::{Ollama, OpenAiChat, OpenAiResponses, ProviderError, RetryPolicy, Wire};

use crate::replies::{decode, fold};

/// What would run of the answer's calls.
fn check(wire: &dyn Wire, events: &[&str], expected: Expect) {
    let body: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    let (events, outcome) = decode(wire, [body.as_bytes()]);
    let message = fold(wire.name(), &events).finish();
    let mut lines = format!("{outcome:?} {:?}\n", message.stop);
    for (call, outcome) in message.call_outcomes() {
        lines.push_str(&match outcome {
            CallOutcome::Ready(arguments) => format!("{} {arguments:?}\n", call.id),
            other => format!("{} {other:?}\n", call.id),
        });
    }
    expected.assert_eq(&lines);
}

#[test]
fn a_name_that_comes_late_takes_no_arguments_from_another_call() {
    check(
        &OpenAiChat::default(),
        &[
            r#"{"id":"c","model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_1","function":{"name":"rm","arguments":"{\"path\":\"x\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"ls","arguments":"{\"d\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            Ok(()) Some(ToolUse)
            call_1 {"path": String("x")}
            call_0 {"d": Number(1)}
        "#]],
    );
}

#[test]
fn a_piece_without_an_index_belongs_to_the_call_that_it_names() {
    check(
        &OpenAiChat::default(),
        &[
            r#"{"id":"c","model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            Ok(()) Some(ToolUse)
            a {"x": Number(1)}
            b {}
        "#]],
    );
}

#[test]
fn a_stop_that_nobody_knows_runs_no_call_that_may_be_cut() {
    check(
        &OpenAiChat::default(),
        &[
            r#"{"id":"c","model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]},"finish_reason":"insufficient_system_resource"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            Ok(()) Some(Other("insufficient_system_resource"))
            a Truncated
        "#]],
    );
}

#[test]
fn the_first_words_of_a_refusal_are_not_its_end() {
    check(
        &OpenAiChat::default(),
        &[r#"{"id":"c","model":"m","choices":[{"delta":{"refusal":"I am sor"}}]}"#],
        expect![[r#"
            Err(Cut) None
        "#]],
    );
}

#[test]
fn a_piece_of_a_stream_alone_is_no_whole_answer() {
    let body = r#"{"id":"c","model":"m","choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}"#;
    let (_, outcome) = decode(&OpenAiChat::default(), [body.as_bytes()]);
    assert_eq!(format!("{outcome:?}"), "Err(Cut)");
}

#[test]
fn arguments_that_were_only_said_at_the_end_are_not_lost() {
    check(
        &OpenAiResponses::new(),
        &[
            r#"{"type":"response.created","response":{"id":"r","model":"m"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc","arguments":"{\"x\":1}"}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#,
        ],
        expect![[r#"
            Ok(()) Some(ToolUse)
            a {"x": Number(1)}
        "#]],
    );
}

#[test]
fn more_calls_than_an_answer_has_are_refused() {
    let call = r#"{"function":{"name":"f","arguments":{}}}"#;
    let calls = vec![call; 2000].join(",");
    let body = format!("{{\"model\":\"m\",\"message\":{{\"tool_calls\":[{calls}]}},\"done\":true}}");
    let (events, outcome) = decode(&Ollama::new(), [body.as_bytes()]);
    assert!(outcome.is_err() && events.len() < 4000);
}

#[test]
fn no_policy_is_too_patient_to_be_asked() {
    let mut policy = RetryPolicy::default();
    (policy.base, policy.max, policy.budget) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for jitter in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(policy.next(1, &ProviderError::Cut, jitter, Duration::ZERO).is_some());
    }
}
