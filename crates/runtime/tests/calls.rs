//! Calls: which run, in what order their results stand, and what the model is told of those that don't.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_runtime::message_tree::StopReason;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{Approval, Stop};

use crate::story::{Story, World, replies};

async fn check(turn: Turn, expected: Expect) -> Story {
    let world = World::default();
    world
        .files
        .lock()
        .unwrap()
        .extend([("a".to_owned(), "1".to_owned()), ("bbbbbbbb".to_owned(), "2".to_owned())]);
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let tree = story.tree();
    let results = tree.lines().skip_while(|line| !line.starts_with("n3"));
    expected.assert_eq(&results.map(|line| format!("{line}\n")).collect::<String>());
    story
}

#[tokio::test]
async fn results_stand_in_call_order_whoever_ends_first() {
    let turn = Turn::new()
        .call("c1", "read", &json!({ "path": "a" }))
        .call("c2", "read", &json!({ "path": "bbbbbbbb" }))
        .call("c3", "read", &json!({ "path": "nowhere" }));
    check(
        turn,
        expect![[r#"
            n3 result c1: 1
            n4 result c2: 2
            n5 result c3!: no file nowhere
            n6 assistant: done
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_cannot_run_is_answered_with_what_is_wrong() {
    let turn = Turn::new()
        .call("c1", "delete_all", &json!({}))
        .call_raw("c2", "shell", r#"{"path": "rm"#)
        .call("c3", "shell", &json!({ "text": "x" }))
        .call("c4", "shell", &json!({ "path": 7 }))
        .call_raw("c5", "shell", "[]");
    let story = check(
        turn,
        expect![[r#"
            n3 result c1!: not run: there is no tool "delete_all"; there are: edit, panic, read, shell, sleep, stubborn
            + author harness
            n4 result c2!: not run: the arguments are not a JSON object (EOF while parsing a string at line 1 column 12); received: {"path": "rm
            + author harness
            n5 result c3!: not run: the arguments do not fit the tool: "path" is a required property
            + author harness
            n6 result c4!: not run: the arguments do not fit the tool: /path: 7 is not of type "string"
            + author harness
            n7 result c5!: not run: the arguments are not a JSON object; received: []
            + author harness
            n8 assistant: done
        "#]],
    )
    .await;
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn a_call_at_the_output_limit_never_runs_even_if_what_came_is_whole() {
    let turn = Turn::new()
        .call("c1", "shell", &json!({ "path": "first" }))
        .call_raw("c2", "shell", r#"{"path":"second"}"#)
        .stop(StopReason::MaxTokens);
    let story = check(
        turn,
        expect![[r#"
            n3 result c1: ok
            n4 result c2!: not run: the reply ended in the middle of this call; write less at once and call again
            + author harness
            n5 assistant: done
        "#]],
    )
    .await;
    assert_eq!(story.world.effects(), ["ran first"]);
}

#[tokio::test]
async fn a_call_at_the_output_limit_whose_arguments_never_came_is_not_a_call_without_arguments() {
    for stop in [StopReason::MaxTokens, StopReason::ContextWindow, StopReason::Refusal] {
        let turn = Turn::new().call_raw("c1", "read", "").call_raw("c2", "shell", "").stop(stop);
        let story = check(
            turn,
            expect![[r#"
                n3 result c1!: not run: the reply ended in the middle of this call; write less at once and call again
                + author harness
                n4 result c2!: not run: the reply ended in the middle of this call; write less at once and call again
                + author harness
                n5 assistant: done
            "#]],
        )
        .await;
        assert!(story.world.effects().is_empty());
    }
}

#[tokio::test]
async fn p58_a_tool_that_panics_is_a_tool_that_failed() {
    let turn =
        Turn::new().call("c1", "panic", &json!({ "path": "a" })).call("c2", "read", &json!({ "path": "a" }));
    check(
        turn,
        expect![[r#"
            n3 result c1!: the tool crashed; what it had done by then is unknown
            n4 result c2: 1
            n5 assistant: done
        "#]],
    )
    .await;
}

#[tokio::test]
async fn ids_that_repeat_within_a_message_and_across_messages_are_told_apart_by_place() {
    let world = World::default();
    let twice = || {
        Turn::new().call("c", "shell", &json!({ "path": "one" })).call(
            "c",
            "shell",
            &json!({ "path": "two" }),
        )
    };
    let agent = world.agent(replies(vec![twice(), twice(), Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.world.effects(), ["ran one", "ran two", "ran one", "ran two"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_stops_the_tool_that_runs_and_begins_no_other() {
    let world = World::default();
    let turn =
        Turn::new().call("c1", "sleep", &json!({ "path": "a" })).call("c2", "shell", &json!({ "path": "b" }));
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    let cancel = story.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        cancel.cancel();
    });
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.world.effects(), ["sleeps"]);
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 sleep {"path":"a"}
        + call c2 shell {"path":"b"}
        n3 result c1!: stopped while asleep
        n4 result c2!: not run: the turn was cancelled before this call began
        + author harness
    "#]]
    .assert_eq(&story.tree());
}

#[tokio::test]
async fn arguments_that_are_nested_too_deep_to_be_stored_are_refused_before_they_brick_anything() {
    for depth in [60, 70, 120, 126, 5000] {
        let deep = format!(r#"{{"path":"x","text":"t","more":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        let world = World::default();
        let agent = world.agent(replies(vec![Turn::new().call_raw("c1", "shell", deep), Turn::say("done")]));
        let mut story = Story::begin(world, agent).await;
        let _ = story.prompt("do it").await;
        // Whatever became of it, the session can be taken up again.
        story.restart().await;
    }
}
