//! Which calls may run.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{CallOutcome, Message, StopReason, notation};

/// Prints the outcome of each call of the first message, which stopped for the given reason.
fn check(conversation: &str, stop: StopReason, expected: Expect) {
    let mut message = notation::parse(conversation).expect("the test's own notation").swap_remove(0);
    message.stop = Some(stop);
    let lines = message.call_outcomes().map(|(call, outcome)| format!("{}: {}\n", call.id, line(outcome)));
    expected.assert_eq(&lines.collect::<String>());
}

fn line(outcome: CallOutcome) -> String {
    match outcome {
        CallOutcome::Ready(arguments) => format!("ready {}", serde_json::Value::Object(arguments)),
        CallOutcome::NotJson { reason } => format!("not JSON: {reason}"),
        other => format!("{other:?}"),
    }
}

const CALLS: &str = "assistant:
    + call c1 f {\"a\":1}
    + call c2 f
    + call c3 f {\"a\":
    + call c4 f [1]
    + call c5 f {\"b\":2}";

#[test]
fn a_reply_that_ended_well_has_calls_that_are_whole_or_wrong() {
    check(
        CALLS,
        StopReason::ToolUse,
        expect![[r#"
            c1: ready {"a":1}
            c2: ready {}
            c3: not JSON: EOF while parsing a value at line 1 column 5
            c4: NotAnObject
            c5: ready {"b":2}
        "#]],
    );
}

#[test]
fn the_call_that_a_limit_may_have_cut_is_truncated_even_if_it_can_be_read() {
    for stop in [
        StopReason::MaxTokens,
        StopReason::ContextWindow,
        StopReason::Cut,
        StopReason::Cancelled,
        StopReason::Refusal,
    ] {
        check(
            CALLS,
            stop,
            expect![[r#"
                c1: ready {"a":1}
                c2: Truncated
                c3: Truncated
                c4: NotAnObject
                c5: Truncated
            "#]],
        );
    }
}

#[test]
fn what_follows_a_call_says_that_it_had_ended() {
    check(
        "assistant:
            + call c1 f {\"a\":1}
            + text: and now",
        StopReason::MaxTokens,
        expect![[r#"
            c1: ready {"a":1}
        "#]],
    );
}

proptest! {
    #[test]
    fn no_prefix_of_arguments_is_ready_when_the_reply_was_cut(end in 0_usize..40) {
        let whole = r#"{"path":"a.rs","more":{"x":[1,2]}}  "#;
        let mut message = Message::assistant("");
        message.content = notation::parse("assistant:\n+ call c1 f {}").expect("notation").swap_remove(0).content;
        if let Some(trunkline_message_tree::Content::ToolCall(call)) = message.content.first_mut() {
            call.arguments = whole[..end.min(whole.len())].to_owned();
        }
        message.stop = Some(StopReason::Cut);
        prop_assert_eq!(message.outcome_of(0), Some(CallOutcome::Truncated));
        prop_assert_eq!(message.outcome_of(1), None);
    }
}
