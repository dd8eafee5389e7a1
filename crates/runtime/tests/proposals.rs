//! Edits and commands that wait for a decision.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_runtime::Said;
use trunkline_runtime::message_tree::NodeId;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, State, Verdict};
use trunkline_runtime::{Approval, Cancel};

use crate::story::{Story, World, replies, stop_line};

fn edit(id: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": path, "text": text }))
}

fn resolve(id: &str, action: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because" }))
}

async fn begin(approval: Approval, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval).with_revert();
    Story::begin(world, agent).await
}

fn check(story: &Story, stop: &str, expected: Expect) {
    let tree = story.tree();
    let words: Vec<&str> =
        tree.lines().filter(|line| line.contains("result") || line.contains("harness:")).collect();
    let done = story.world.effects().join(", ");
    let told = story.world.told.lock().unwrap().join(", ");
    expected.assert_eq(&format!("{}\n-- did: {done}\n-- queue: {told}\n-- {stop}\n", words.join("\n")));
}

#[tokio::test]
async fn a_model_that_may_decide_applies_its_own_edit() {
    let mut story =
        begin(Approval::Model, vec![edit("c1", "a", "new"), resolve("c2", "apply"), Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n5 result c2: Applied p1. Written.
            -- did: wrote a
            -- queue: p1 staged, p1 decided, p1 began, p1 finished
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_decision_at_the_output_limit_decides_nothing() {
    let limit = trunkline_runtime::message_tree::StopReason::MaxTokens;
    let cut = resolve("c2", "apply").stop(limit);
    let turns = vec![edit("c1", "a", "new"), cut, resolve("c3", "discard"), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    let tree = story.tree();
    assert!(tree.contains("result c2!: not run: the reply ended in the middle of this call"), "{tree}");
    assert!(story.world.effects().is_empty(), "{:?}", story.world.effects());
}

#[tokio::test]
async fn a_discarded_edit_is_never_written() {
    let mut story = begin(
        Approval::Model,
        vec![edit("c1", "a", "new"), resolve("c2", "discard"), resolve("c3", "apply"), Turn::say("done")],
    )
    .await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n5 result c2: Discarded: edit a. Reason: because
            n7 result c3!: No pending action to resolve. Nothing to apply or discard.
            -- did: 
            -- queue: p1 staged, p1 decided
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn an_edit_of_a_file_that_changed_meanwhile_is_not_written() {
    let world = World::default();
    let files = world.files.clone();
    let turns = std::sync::Mutex::new(
        vec![edit("c1", "a", "new"), resolve("c2", "apply"), Turn::say("done")].into_iter(),
    );
    let agent = world.agent(move |request| {
        // Somebody else writes between preview and apply.
        if request.messages.len() > 3 {
            files.lock().unwrap().insert("a".to_owned(), "mine".to_owned());
        }
        turns.lock().unwrap().next().unwrap()
    });
    let mut story = Story::begin(world, agent.approval(Approval::Model)).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n5 result c2!: p1 was not applied and is dropped: a changed after the preview. Look again and propose anew.
            -- did: 
            -- queue: p1 staged, p1 decided, p1 went_stale, p1 decided
            -- decided other: answered
        "#]],
    );
    assert_eq!(story.world.files.lock().unwrap()["a"], "mine");
}

#[tokio::test]
async fn r15_an_apply_that_fails_keeps_the_proposal_and_can_be_discarded() {
    let mut story = begin(
        Approval::Model,
        vec![
            edit("c1", "a", "unwritable"),
            resolve("c2", "apply"),
            Turn::new().call("c3", "resolve", &json!({"action": "discard", "reason": "no room", "id": "p1"})),
            Turn::say("done"),
        ],
    )
    .await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n5 result c2!: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
            n6 harness: Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id.
            n8 result c3: Discarded: edit a. Reason: no room
            -- did: 
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p1 decided
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_model_that_leaves_an_edit_undecided_is_reminded_and_then_a_person_is_asked() {
    let mut story = begin(Approval::Model, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n5 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
            n7 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
            -- did: 
            -- queue: p1 staged
            -- waiting for p1
        "#]],
    );
}

#[tokio::test]
async fn without_anybody_to_ask_the_drive_stops_and_another_process_goes_on_from_there() {
    let mut story = begin(Approval::Person, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    assert_eq!(stop_line(&stop), "waiting for p1");
    let mut story = story.restart().await;
    story.session.decide(ProposalId(1), Verdict::Approve, "looks right").await.unwrap();
    let mut story = story.restart().await;
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n4 harness: A person approved p1, and it was applied. Written.
            -- did: wrote a
            -- queue: p1 staged, p1 decided, p1 began, p1 finished
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_person_declines_an_edit_and_the_model_is_told_why() {
    let mut story = begin(Approval::Person, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Discard, "wrong file").await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n4 harness: A person declined p1. Discarded: edit a. Reason: wrong file
            -- did: 
            -- queue: p1 staged, p1 decided
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_command_waits_with_its_call_open_and_runs_once_it_is_approved() {
    let turn = Turn::new().call("c1", "shell", &json!({ "path": "make" })).call(
        "c2",
        "read",
        &json!({ "path": "a" }),
    );
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    assert_eq!(stop_line(&stop), "waiting for p1");
    assert!(story.world.effects().is_empty());
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "waiting for p1", "nothing changes by asking again");
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: ok
            n4 result c2!: no file a
            -- did: ran make
            -- queue: p1 staged, p1 decided, p1 began, p1 finished
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_declined_command_is_answered_with_the_reason() {
    let turn = Turn::new().call("c1", "shell", &json!({ "path": "rm -rf" }));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Discard, "too much").await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1!: not run: the person declined it: too much
            -- did: 
            -- queue: p1 staged, p1 decided
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn what_was_staged_on_a_branch_that_is_left_is_put_aside_and_comes_back_with_it() {
    let turn =
        edit("c1", "a", "new").call("c2", "revert_to_state", &json!({"category": "tangent", "step": "n1"}));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done"), Turn::say("again")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n4 result c2: revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            -- did: 
            -- queue: p1 staged, p1 superseded
            -- decided other: answered
        "#]],
    );
    let refusal = story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap_err();
    assert!(refusal.to_string().contains("superseded"), "{refusal}");
    story.session.undo().await.unwrap();
    // It comes back stale, is checked against the files, and waits again.
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
}

#[tokio::test]
async fn what_comes_back_while_no_run_is_open_is_asked_about_also_where_the_model_decides() {
    // Left with its prompt, and left by a revert of the model's own.
    let own =
        edit("c1", "a", "new").call("c2", "revert_to_state", &json!({"category": "tangent", "step": "n1"}));
    for (first, head) in [(edit("c1", "a", "new"), "user"), (own, "assistant")] {
        let turns = vec![first, Turn::say("done"), Turn::say("again"), Turn::say("and again")];
        let mut story = begin(Approval::Model, turns).await;
        story.prompt("do it").await.unwrap();
        if head == "user" {
            story.session.revert(NodeId::ROOT, None).await.unwrap();
        }
        assert!(story.session.open_run().is_none());
        assert_eq!(story.session.proposals().get(ProposalId(1)).unwrap().state, State::Superseded);
        story.session.undo().await.unwrap();
        let stop = story.resume().await;
        assert_eq!(stop_line(&stop), "waiting for p1", "{}", story.tree());
        assert_eq!(stop_line(&story.resume().await), "waiting for p1", "it is not forgotten");
        story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        story.resume().await.unwrap();
        assert_eq!(story.world.effects(), ["wrote a"]);
    }
}

#[tokio::test]
async fn r4_a_newer_preview_of_the_same_file_takes_the_place_of_the_older() {
    let turns =
        vec![edit("c1", "a", "one"), edit("c2", "a", "two"), resolve("c3", "apply"), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.world.files.lock().unwrap()["a"], "two");
    assert_eq!(story.world.effects(), ["wrote a"]);
    assert!(story.tree().contains("Staged as p2, in place of p1."));
}

#[tokio::test]
async fn with_everything_approved_edits_are_applied_and_commands_run_in_their_order() {
    let turn = edit("c1", "a", "new").call("c2", "shell", &json!({ "path": "make" }));
    let mut story = begin(Approval::Always, vec![turn, Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            n4 result c2: ok
            n5 harness: Applied p1. Written.
            -- did: wrote a, ran make
            -- queue: p1 staged, p1 decided, p1 began, p1 finished
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn a_command_that_waits_when_its_turn_is_left_is_put_aside_and_blocks_nothing() {
    let turn = Turn::new().call("c1", "shell", &json!({ "path": "make" }));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    story.session.revert(NodeId::new(1), Some("no commands")).await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1!: not run: a person left this branch first
            -- did: 
            -- queue: p1 staged, p1 superseded
            -- decided other: answered
        "#]],
    );
}

#[tokio::test]
async fn what_waited_for_a_person_goes_on_when_everything_is_approved_later() {
    for turn in [edit("c1", "a", "new"), Turn::new().call("c1", "shell", &json!({ "path": "make" }))] {
        let world = World::default();
        let careful = world.agent(replies(vec![turn])).approval(Approval::Person);
        let mut story = Story::begin(world.clone(), careful).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
        let Story { store, session, .. } = story;
        let id = session.id().clone();
        drop(session);
        let bold = world.agent(replies(vec![Turn::say("done")])).approval(Approval::Always).build().unwrap();
        let mut session = bold.open(store, &id).await.unwrap();
        let stop = session.resume(&Cancel::new()).await;
        assert_eq!(stop_line(&stop), "decided other: answered");
        assert_eq!(world.effects().len(), 1);
    }
}

#[tokio::test]
async fn a_command_that_waits_holds_up_what_comes_after_it_in_its_turn_but_not_who_only_looks() {
    let turn = Turn::new()
        .call("c1", "shell", &json!({ "path": "first" }))
        .call("c2", "panic", &json!({ "path": "second" }))
        .call("c3", "read", &json!({ "path": "a" }));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let log = story.store().load(&story.id()).await.unwrap();
    let begun = |id: &str| {
        let needle = format!(r#""id":"{id}"}},"tool""#);
        log.records.iter().any(|(_, record)| {
            matches!(record, trunkline_runtime::session_store::Record::Note(note)
            if note.kind == "call_started" && note.body.contains(&needle))
        })
    };
    assert_eq!((begun("c1"), begun("c2"), begun("c3")), (false, false, true));
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_asked_is_not_disturbed_by_a_letter_that_has_to_wait() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Slow(AtomicUsize);
    #[async_trait::async_trait]
    impl trunkline_runtime::Decider for Slow {
        async fn decide(
            &self,
            _: &trunkline_runtime::resolve_queue::Entry<serde_json::Value>,
        ) -> Option<Said> {
            self.0.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
            Some(Said::new(Verdict::Approve, ""))
        }
    }
    let slow = std::sync::Arc::new(Slow(AtomicUsize::new(0)));
    let world = World::default();
    let turn = Turn::new().call("c1", "shell", &json!({ "path": "make" }));
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).decider(slow.clone());
    let mut story = Story::begin(world, agent).await;
    let body = r#"{"text":"and hurry"}"#;
    let (store, id) = (story.store(), story.id());
    tokio::spawn(async move {
        // Once the command waits, a prompt has no place yet.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        store.post(&id, "prompt", body, trunkline_runtime::message_tree::Timestamp(1)).await.unwrap();
    });
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert!(slow.0.load(Ordering::SeqCst) <= 2, "the letter may interrupt once, when it comes");
}

#[tokio::test]
async fn an_apply_that_keeps_failing_is_given_up() {
    struct Yes;
    #[async_trait::async_trait]
    impl trunkline_runtime::Decider for Yes {
        async fn decide(
            &self,
            _: &trunkline_runtime::resolve_queue::Entry<serde_json::Value>,
        ) -> Option<Said> {
            Some(Said::new(Verdict::Approve, ""))
        }
    }
    let world = World::default();
    let agent = world
        .agent(replies(vec![edit("c1", "a", "unwritable"), Turn::say("done")]))
        .decider(std::sync::Arc::new(Yes));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    let told = story.world.told.lock().unwrap().iter().filter(|line| line.ends_with("began")).count();
    assert_eq!(told, 3);
}

#[tokio::test]
async fn what_a_person_approves_after_the_run_is_over_opens_a_run_of_its_own() {
    let turn =
        edit("c1", "a", "new").call("c2", "revert_to_state", &json!({"category": "tangent", "step": "n1"}));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done"), Turn::say("seen")]).await;
    story.prompt("do it").await.unwrap();
    story.session.undo().await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    let log = story.store().load(&story.id()).await.unwrap();
    let at = |kind: &str, word: &str| {
        let found = log.records.iter().rev().find(|(_, record)| {
            matches!(record, trunkline_runtime::session_store::Record::Note(note)
                if note.kind == kind && note.body.contains(word))
        });
        found.map_or(0, |(seq, _)| *seq)
    };
    assert!(at("opened", "run") < at("event", "began"), "the run was open before the file was written");
}

#[tokio::test(start_paused = true)]
async fn an_approved_command_that_does_not_stop_when_it_is_cancelled_is_settled_as_unknown() {
    let turn = Turn::new().call("c1", "stubborn", &json!({ "path": "x" }));
    let mut story = begin(Approval::Person, vec![turn, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let cancel = story.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        cancel.cancel();
    });
    assert_eq!(stop_line(&story.resume().await), "cancelled");
    let mut story = story.restart().await;
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1!: outcome unknown: this call was cancelled while it ran and did not stop by itself; look before you repeat it
            -- did: began and will not stop
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p1 recovered, p1 decided
            -- decided other: answered
        "#]],
    );
}
