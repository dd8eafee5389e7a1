//! What a model says, and what becomes of it.

use async_trait::async_trait;
use expect_test::{Expect, expect};
use trunkline_runtime::message_tree::{Origin, StopReason, Usage};
use trunkline_runtime::providers::{Event, Provider, ProviderError, Reply, Request, Turn};
use trunkline_runtime::{Limits, Stop};

use crate::story::{Story, World, replies, stop_line};

async fn check(turns: Vec<Turn>, expected: Expect) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns));
    let mut story = Story::begin(world, agent).await;
    let stop = story.prompt("do it").await;
    expected.assert_eq(&format!("{}-- {}\n", story.tree(), stop_line(&stop)));
    story
}

#[tokio::test]
async fn an_answer_without_changes_ends_the_run_as_answered() {
    check(
        vec![Turn::say("42")],
        expect![[r#"
            n0 system: You work on files.
            n1 user: do it
            n2 assistant: 42
            -- decided other: answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_reply_that_ran_into_its_limit_is_asked_to_go_on_three_times_a_drive() {
    let cut = || Turn::say("and so").stop(StopReason::MaxTokens);
    let mut story = check(
        vec![cut(), cut(), cut(), cut(), Turn::say("asked for by the next drive")],
        expect![[r#"
            n0 system: You work on files.
            n1 user: do it
            n2 assistant: and so
            + stop max_tokens
            n3 harness: Your reply ended at its output limit. Go on exactly where it ended.
            n4 assistant: and so
            + stop max_tokens
            n5 harness: Your reply ended at its output limit. Go on exactly where it ended.
            n6 assistant: and so
            + stop max_tokens
            n7 harness: Your reply ended at its output limit. Go on exactly where it ended.
            n8 assistant: and so
            + stop max_tokens
            -- at the limit of output
        "#]],
    )
    .await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_keeps_the_words_that_came_and_leaves_the_run_open() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("I was about to").hang(), Turn::say("done")]));
    let mut story = Story::begin(world, agent).await;
    let cancel = story.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        cancel.cancel();
    });
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert!(story.session.open_run().is_some());
    let mut story = story.restart().await;
    let stop = story.prompt("go on then").await;
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant: I was about to
        + stop cancelled
        n3 user: go on then
        n4 assistant: done
        -- decided other: answered
    "#]]
    .assert_eq(&format!("{}-- {}\n", story.tree(), stop_line(&stop)));
}

#[tokio::test]
async fn a_run_that_reaches_its_limit_of_turns_stays_open_and_goes_on() {
    let world = World::default();
    let look = || Turn::new().call("c", "read", &serde_json::json!({ "path": "a" }));
    let mut limits = Limits::default();
    limits.turns = 2;
    let agent = world.agent(replies(vec![look(), look(), Turn::say("found nothing")])).limits(limits);
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("look").await), "at the limit of turns");
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
}

#[tokio::test]
async fn a_session_with_nothing_to_do_rests() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("42")]));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(story.resume().await.unwrap(), Stop::Idle);
    story.prompt("do it").await.unwrap();
    assert_eq!(story.resume().await.unwrap(), Stop::Idle);
}

/// A model whose service counts tokens as no service can.
struct Boastful(Origin);

#[async_trait]
impl Provider for Boastful {
    fn origin(&self) -> &Origin {
        &self.0
    }

    fn wire(&self) -> &str {
        "anthropic"
    }

    async fn send(&self, _: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
        let mut call = vec![
            Event::CallStarted { index: 0, id: "c1".to_owned(), name: "nothing".to_owned() },
            Event::CallDone { index: 0 },
            Event::Usage(usage),
            Event::Stopped(StopReason::ToolUse),
        ];
        call.reverse();
        Ok(Box::new(Canned(call)))
    }
}

struct Canned(Vec<Event>);

#[async_trait]
impl Reply for Canned {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        Ok(self.0.pop())
    }
}

#[tokio::test]
async fn absurd_counts_of_tokens_are_a_limit_and_nothing_worse() {
    let origin = Origin::new("test", "boastful");
    let agent = trunkline_runtime::Agent::builder(Boastful(origin)).build().unwrap();
    let store = std::sync::Arc::new(trunkline_runtime::session_store::MemoryStore::new());
    let mut session = agent.start(store, "t", None).await.unwrap();
    let stop = session.prompt("go", &trunkline_runtime::Cancel::new()).await;
    assert_eq!(stop_line(&stop), "at the limit of tokens");
}

/// A model whose answer breaks off and is begun anew, as a retry policy with leave to restart has it.
struct Restarting(Origin);

#[async_trait]
impl Provider for Restarting {
    fn origin(&self) -> &Origin {
        &self.0
    }

    fn wire(&self) -> &str {
        "anthropic"
    }

    async fn send(&self, _: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let mut events = vec![
            Event::TextDelta("half a sen".to_owned()),
            Event::BlockDone,
            Event::CallStarted { index: 0, id: "c1".to_owned(), name: "shell".to_owned() },
            Event::ArgumentsDelta { index: 0, text: r#"{"path":"rm -rf"}"#.to_owned() },
            Event::CallDone { index: 0 },
            Event::Retrying { attempt: 1, wait: std::time::Duration::ZERO, cause: "cut".to_owned() },
            Event::TextDelta("the whole sentence".to_owned()),
            Event::BlockDone,
            Event::Stopped(StopReason::EndTurn),
        ];
        events.reverse();
        Ok(Box::new(Canned(events)))
    }
}

#[tokio::test]
async fn what_came_before_a_restart_is_neither_recorded_nor_run() {
    let origin = Origin::new("test", "restarting");
    let agent = trunkline_runtime::Agent::builder(Restarting(origin)).build().unwrap();
    let store = std::sync::Arc::new(trunkline_runtime::session_store::MemoryStore::new());
    let mut session = agent.start(store, "t", None).await.unwrap();
    let stop = session.prompt("go", &trunkline_runtime::Cancel::new()).await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    assert_eq!(session.answer(), "the whole sentence");
}
