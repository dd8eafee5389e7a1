//! Folding of replies that did not end well.

use std::time::Duration;

use expect_test::{Expect, expect};
use trunkline_message_tree::{Content, StopReason, Usage, notation};
use trunkline_providers::Event;

use crate::replies::fold;

fn check(events: &[Event], expected: Expect) {
    let cut = fold("p", events).cut(StopReason::Cut);
    let text = cut.map_or("nothing\n".to_owned(), |message| notation::print(&[message]));
    expected.assert_eq(&text);
}

fn call(index: usize, id: &str) -> Event {
    Event::CallStarted { index, id: id.into(), name: "f".into() }
}

#[test]
fn nothing_came() {
    check(
        &[],
        expect![[r#"
        nothing
    "#]],
    );
    check(
        &[Event::Started { model: "m".into(), id: None }, Event::Ping],
        expect![[r#"
        nothing
    "#]],
    );
}

#[test]
fn a_signature_belongs_to_its_call() {
    let signature = |index: usize| Event::CallSignature { index, signature: format!("sig{index}") };
    check(
        &[call(0, "c0"), call(1, "c1"), signature(1), signature(7), Event::CallDone { index: 1 }],
        expect![[r#"
            assistant:
            + call c0 f
            + call c1 f
            ++ signature sig1
            + origin p m
            + stop cut
        "#]],
    );
}

#[test]
fn half_a_sentence_is_kept() {
    check(
        &[Event::TextDelta("half a".into()), Event::TextDelta(" sen".into())],
        expect![[r#"
        assistant: half a sen
        + origin p m
        + stop cut
    "#]],
    );
}

#[test]
fn reasoning_is_kept_without_the_signature_that_never_came() {
    check(
        &[
            Event::ThinkingDelta("one".into()),
            Event::Signature("sig".into()),
            Event::BlockDone,
            Event::ThinkingDelta("tw".into()),
        ],
        expect![[r#"
            assistant:
            + thinking sig: one
            + thinking: tw
            + origin p m
            + stop cut
        "#]],
    );
}

#[test]
fn a_call_keeps_the_piece_of_its_arguments() {
    check(
        &[
            call(0, "c1"),
            Event::ArgumentsDelta { index: 0, text: "{}".into() },
            Event::CallDone { index: 0 },
            call(1, "c2"),
            Event::ArgumentsDelta { index: 1, text: "{\"path\": \"a".into() },
        ],
        expect![[r#"
            assistant:
            + call c1 f {}
            + call c2 f {"path": "a
            + origin p m
            + stop cut
        "#]],
    );
}

#[test]
fn arguments_of_a_call_that_never_began_are_ignored() {
    check(
        &[Event::ArgumentsDelta { index: 7, text: "{}".into() }],
        expect![[r#"
        nothing
    "#]],
    );
}

#[test]
fn blocks_can_be_replaced_and_calls_are_still_found() {
    let raw = |json: &str| Content::Opaque { wire: "w".into(), json: json.into() };
    check(
        &[
            Event::ThinkingDelta("hm".into()),
            Event::BlockDone,
            Event::TextDelta("a".into()),
            Event::Replace { blocks: 0..1, with: raw("{}") },
            Event::TextDelta("b".into()),
            Event::BlockDone,
            call(0, "c1"),
            Event::Replace { blocks: 0..0, with: raw("[]") },
            Event::ArgumentsDelta { index: 0, text: "{}".into() },
            // No call is ever replaced, and no number is out of bounds.
            Event::Replace { blocks: 2..9, with: raw("1") },
            Event::Replace { blocks: 7..9, with: raw("2") },
            Event::CallDone { index: 0 },
        ],
        expect![[r#"
            assistant:
            + opaque w []
            + opaque w {}
            + opaque w 1
            + text: ab
            + call c1 f {}
            + opaque w 2
            + origin p m
            + stop cut
        "#]],
    );
}

#[test]
fn another_attempt_takes_back_all_that_came_before_it() {
    let retrying = || Event::Retrying { attempt: 1, wait: Duration::ZERO, cause: "cut".into() };
    check(
        &[
            Event::TextDelta("half a".into()),
            Event::BlockDone,
            call(0, "c1"),
            Event::ArgumentsDelta { index: 0, text: "{\"a\"".into() },
            Event::Usage(Usage { output_tokens: 7, ..Usage::default() }),
            retrying(),
            call(0, "c2"),
            Event::ArgumentsDelta { index: 0, text: "{}".into() },
            Event::CallDone { index: 0 },
        ],
        expect![[r#"
            assistant:
            + call c2 f {}
            + origin p m
            + stop cut
        "#]],
    );
    check(
        &[Event::TextDelta("half a".into()), retrying()],
        expect![[r#"
            nothing
        "#]],
    );
}
