//! Edits and commands while somebody is asked about them, and while they run.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::{Approval, Said};

use crate::story::{Story, World, replies, stop_line};

fn edit(id: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": path, "text": text }))
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
