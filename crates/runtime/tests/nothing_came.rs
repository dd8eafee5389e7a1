//! Answers that come to their end and bring nothing: no words that can be seen, and no call.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::message_tree::{Author, Entry, Link, Message, Role, StopReason, Timestamp};
use trunkline_runtime::providers::{
    Anthropic, Bedrock, DecodeError, Gemini, Ollama, OpenAiChat, OpenAiResponses, ProviderError, Scripted,
    Turn,
};
use trunkline_runtime::session_store::{Batch, Claim, Position, Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, RuntimeError, Stop};

use crate::asking_again::timed;
use crate::story::{Story, World, replies, stop_line};

fn nothings() -> Vec<Turn> {
    let other = |word: &str| Turn::new().stop(StopReason::Other(word.to_owned()));
    vec![
        Turn::new(),
        Turn::say(" \n\t"),
        Turn::say("\u{200b}\u{feff}"),
        Turn::new().think("Now I call the tool.", None),
        Turn::new().think("Now I call the tool.", None).and_say("\n"),
        other("MALFORMED_FUNCTION_CALL"),
        Turn::new().stop(StopReason::ToolUse),
        Turn::say("I call the tool:").stop(StopReason::ToolUse),
        Turn::say("I call the tool:").stop(StopReason::Other("malformed_tool_use".to_owned())),
        // Reasoning that nobody took out of the text.
        Turn::say("<think>Now I call the tool.</think>\n\n"),
        Turn::say("\n<think>Now I call"),
        Turn::say("<thinking>Hm.</thinking><think>Now</think>"),
        Turn::new().fail(nameless()),
        Turn::say("I call the tool:").fail(nameless()),
    ]
}

/// A call without a name, as a decoder tells it.
fn nameless() -> ProviderError {
    let reason = "a call without a name".to_owned();
    ProviderError::Decode(DecodeError::UnreadCall { reason, excerpt: "c1".to_owned() })
}

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = timed(world.agent(replies(turns)).approval(Approval::Always));
    Story::begin(world, agent).await
}

fn requests(story: &Story) -> usize {
    story.world.requests.lock().unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_again_once_with_a_nudge() {
    let mut story = begin(vec![Turn::new().think("Hm.", None), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    expect![[r#"
        n0 system: You work on files.
        n1 user: go
        n2 * n1 assistant:
        + thinking: Hm.
        n3 harness: Your last reply had no words and no tool call in it, so nothing came of it. Call a tool, or say in words what you found or what keeps you from going on.
        n4 assistant: done
    "#]]
    .assert_eq(&story.tree());
    for turn in nothings() {
        let named = format!("{turn:?}");
        let mut story = begin(vec![turn, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered", "{named}");
        assert_eq!(requests(&story), 2, "{named}");
        let asked = story.world.requests.lock().unwrap();
        assert_ne!(asked[0].messages, asked[1].messages, "not the same bytes: {named}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_twice_is_an_error_and_never_an_answer_and_what_was_done_is_kept() {
    for turn in nothings() {
        let named = format!("{turn:?}");
        let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
        let mut story = begin(vec![edit, turn.clone(), turn, Turn::say("done")]).await;
        let stop = story.prompt("go").await;
        assert!(matches!(stop, Err(RuntimeError::NothingCame { .. })), "{named}: {stop:?}");
        assert_eq!(requests(&story), 3, "{named}");
        assert_eq!(story.world.effects(), ["wrote a"], "{named}");
        let mut story = story.restart().await;
        assert!(
            story.session.open_run().is_some() && story.session.decisions().iter().next().is_none(),
            "{named}"
        );
        assert!(matches!(story.resume().await, Ok(Stop::Decided(_))), "{named}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_did_not_come_is_asked_for_in_words_of_its_own() {
    for turn in [Turn::say("I look:").stop(StopReason::ToolUse), Turn::new().fail(nameless())] {
        let mut story = begin(vec![turn, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
        let asked = story.world.last_request();
        assert!(asked.contains("announced a tool call, and none came that can be read"), "{asked}");
    }
    // Words behind reasoning in tags are an answer.
    let mut story = begin(vec![Turn::say("<think>Hm.</think>It is 4.")]).await;
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    assert_eq!(requests(&story), 1);
}

#[tokio::test(start_paused = true)]
async fn the_services_words_are_told() {
    let turn = || Turn::new().stop(StopReason::Other("MALFORMED_FUNCTION_CALL".to_owned()));
    let mut story = begin(vec![turn(), turn()]).await;
    let fault = story.prompt("go").await.unwrap_err().to_string();
    expect![[r#"the model has answered without words and without a call: it announced a call, and none came that can be read; the service says "MALFORMED_FUNCTION_CALL""#]].assert_eq(&fault);
}

#[tokio::test(start_paused = true)]
async fn that_it_was_asked_again_is_counted_across_kills() {
    let mut story = begin(vec![Turn::new(), Turn::say("x").hang(), Turn::new(), Turn::say("done")]).await;
    assert!(tokio::time::timeout(Duration::from_secs(5), story.prompt("go")).await.is_err());
    let mut story = story.restart().await;
    assert!(matches!(story.resume().await, Err(RuntimeError::NothingCame { .. })));
    assert_eq!(requests(&story), 3);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer_of_its_own_and_not_asked_again() {
    for turn in [Turn::new().stop(StopReason::Refusal), Turn::say("I won't.").stop(StopReason::Refusal)] {
        let mut story = begin(vec![turn, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("go").await), "decided abandon: the model declined");
        assert_eq!(requests(&story), 1);
    }
}

/// As an earlier version wrote it, or a kill left it: the answer stands on the trunk and the run is open.
#[tokio::test(start_paused = true)]
async fn an_empty_answer_that_stands_on_the_trunk_is_no_end_of_a_run() {
    let mut story = begin(vec![Turn::say("x").hang(), Turn::say("done")]).await;
    assert!(tokio::time::timeout(Duration::from_secs(5), story.prompt("go")).await.is_err());
    let Story { world, store, agent, session, .. } = story;
    let id = session.id().clone();
    let (head, next) = (session.tree().head(), session.tree().next_id().unwrap());
    drop(session);
    let lease = store.claim(&id, Claim::IfFree).await.unwrap();
    let seq = store.load(&id).await.unwrap().records.len() as u64;
    let mut message = Message::new(Role::Assistant, Author::Model, Vec::new());
    message.node = Some(next);
    let (parent, at) = (Some(head), Timestamp(9));
    let node = Entry::Node { id: next, parent, at, link: Link::Next, message };
    let batch = Batch::new(Position { seq, head }, vec![Record::Entry(node)]);
    store.append(&lease, batch).await.unwrap();
    drop(lease);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(session.answer(), "done");
    assert!(world.last_request().contains("Your reply above had no words"), "{}", world.last_request());
}

type On = fn(Scripted) -> Scripted;

/// The scripted provider encodes each request on a real wire, so a list that one refuses fails here.
#[tokio::test(start_paused = true)]
async fn the_next_request_is_legal_on_every_wire() {
    let wires: [(&str, On); 6] = [
        ("anthropic", |provider| provider.on(Anthropic::new())),
        ("chat", |provider| provider.on(OpenAiChat::default())),
        ("responses", |provider| provider.on(OpenAiResponses::default())),
        ("gemini", |provider| provider.on(Gemini::new())),
        ("bedrock", |provider| provider.on(Bedrock::new())),
        ("ollama", |provider| provider.on(Ollama::new())),
    ];
    for (name, on) in wires {
        for turn in nothings() {
            let world = World::default();
            let look = Turn::new().call("c1", "read", &json!({ "path": "a" }));
            let script = replies(vec![look, turn, Turn::say("done"), Turn::say("and more")]);
            let agent = world.agent_behind(script, |provider| Box::new(on(provider)));
            let mut story = Story::begin(world, timed(agent)).await;
            let stop = story.prompt("go").await;
            assert_eq!(stop_line(&stop), "decided other: answered", "{}: {stop:?}", name);
            assert!(story.prompt("more").await.is_ok(), "{}", name);
            let said: Vec<String> = story.session.tree().trunk().messages().map(Message::text).collect();
            assert_eq!(said.last().map(String::as_str), Some("and more"));
        }
    }
}
