//! Words of a person on a branch that a model leaves: copied, or asked about.

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::Reverts;
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::StepAnswer;
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::revert::{Prompts, ProposalId};
use trunkline_runtime::session_store::SessionStore;

use crate::story::{Story, World, replies, stop_line};

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

fn revert(id: &str, step: &str) -> Turn {
    let arguments = json!({ "category": "failure", "step": step, "summary": "a dead end" });
    Turn::new().call(id, "revert_to_state", &arguments)
}

async fn story(prompts: Prompts, turns: Vec<Turn>) -> Story {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "text".to_owned());
    let agent = world.agent(replies(turns)).with_reverts(Reverts::default().prompts(prompts));
    Story::begin(world, agent).await
}

/// The first run answers; in the second a word of the person joins, and then the model wants to leave both.
async fn steered(prompts: Prompts, last: Turn) -> Story {
    let turns = vec![Turn::say("hello"), read("c1"), revert("c2", "n2"), last];
    let mut story = story(prompts, turns).await;
    story.prompt("hi").await.unwrap();
    let steer = Order::Prompt { text: "quickly".to_owned() };
    post(story.store.as_ref(), &story.id(), &steer, Timestamp(1)).await.unwrap();
    story
}

#[tokio::test]
async fn words_of_a_person_follow_onto_the_new_branch_and_the_run_is_the_same() {
    let mut story = steered(Prompts::Rebase, Turn::say("done")).await;
    assert_eq!(stop_line(&story.prompt("read a").await), "decided other: answered");
    expect![[r#"
        n0 system: You work on files.
        n1 user: hi
        n2 assistant: hello
        n3 user: read a
        n4 user: quickly
        n5 assistant:
        + call c1 read {"path":"a"}
        n6 result c1: text
        n7 assistant:
        + call c2 revert_to_state {"category":"failure","step":"n2","summary":"a dead end"}
        n8 result c2: revert applied (failure): the conversation goes on from n2; what came after it was left, and a note (lesson) stands there, followed by copies of the 2 user messages that were left
        + author harness
        head n2 by model
        n9 user: read a
        n10 user: quickly
        n11 assistant: done
    "#]]
    .assert_eq(&story.tree());
    let record = story.session.decisions().iter().last().unwrap().clone();
    let considered: Vec<String> = record.considered().iter().map(|one| one.reason.to_string()).collect();
    assert_eq!(considered.len(), 1, "what was left belongs to the run: {considered:?}");
    assert_eq!(story.session.decisions().iter().count(), 2, "one verdict for each run");
    let log = story.store.load(&story.id()).await.unwrap();
    let view = trunkline_runtime::View::of(&log).unwrap();
    let links = &view.reverts()[0].rebased;
    let links: Vec<String> = links.iter().map(|link| format!("{}={}", link.original, link.copy)).collect();
    assert_eq!(links, ["n3=n9", "n4=n10"]);
}

#[tokio::test(start_paused = true)]
async fn undo_of_a_rebase_keeps_the_run_and_leaving_the_copy_ends_it() {
    let mut story = steered(Prompts::Rebase, Turn::say("half").hang()).await;
    let cancel = story.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        cancel.cancel();
    });
    story.prompt("read a").await.unwrap();
    assert!(story.tree().contains("n11 assistant: half"), "{}", story.tree());
    assert!(story.session.open_run().is_some());
    story.session.undo().await.unwrap();
    assert!(story.session.open_run().is_some(), "its prompt stands again");
    story.session.redo().await.unwrap();
    assert!(story.session.open_run().is_some(), "the copy does");
    let mut story = story.restart().await;
    story.session.revert(NodeId::new(2), None).await.unwrap();
    assert!(story.session.open_run().is_none(), "neither does");
}

#[tokio::test]
async fn a_person_who_is_asked_may_accept_later() {
    let mut story = steered(Prompts::Ask, Turn::say("then I wait")).await;
    story.prompt("read a").await.unwrap();
    let tree = story.tree();
    let result = tree.lines().find(|line| line.contains("result c2")).unwrap();
    expect!["n8 result c2!: revert to n2 not made yet: it would leave words of the user (n3, n4), who is asked first; targets that would work: n4, n6 (newest last)"].assert_eq(result);
    let open: Vec<String> = story.session.proposed_reverts().map(|open| open.text_for_person()).collect();
    assert_eq!(open, ["p0: the model asks to leave words of the user (n3, n4); proposed: go back to n2"]);
    let mut story = story.restart().await;
    story.session.answer_revert(ProposalId(0), StepAnswer::Accept).await.unwrap();
    assert_eq!(story.session.tree().head(), NodeId::new(2));
    assert_eq!(story.session.notes().last().unwrap().summary.as_deref(), Some("a dead end"));
    assert_eq!(story.session.proposed_reverts().count(), 0);
}

#[tokio::test]
async fn p64_a_model_that_copies_the_same_words_again_and_again_is_noticed() {
    let back = |step| [read("c1"), revert("c2", step)];
    let mut turns: Vec<Turn> = [back("n0"), back("n0"), back("n0")].into_iter().flatten().collect();
    turns.push(Turn::say("done"));
    let mut story = story(Prompts::Rebase, turns).await;
    assert_eq!(stop_line(&story.prompt("read a").await), "decided other: answered");
    let open: Vec<String> = story.session.proposed_reverts().map(|open| open.because.to_string()).collect();
    assert_eq!(open, ["2 steps back in a row taught only what was known"]);
    assert_eq!(story.tree().matches("user: read a").count(), 4, "once said, three times copied");
}

#[tokio::test]
async fn what_a_model_is_told_of_the_tool_is_what_holds() {
    let mut told = Vec::new();
    for prompts in [Prompts::Refuse, Prompts::Leave, Prompts::Rebase, Prompts::Ask] {
        let mut story = story(prompts, vec![Turn::say("hello")]).await;
        story.prompt("hi").await.unwrap();
        let requests = story.world.requests.lock().unwrap();
        let tool = requests[0].tools.iter().find(|tool| tool.name == "revert_to_state").unwrap();
        assert!(tool.description.chars().count() <= 1024);
        told.push(tool.description.clone());
    }
    told.dedup();
    assert_eq!(told.len(), 4);
}
