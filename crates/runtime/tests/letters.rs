//! What others ask of a session that is held.

use trunkline_runtime::letters::{MoveAct, Request, post};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::{Approval, RuntimeError, Stop};

use crate::story::{Story, World, replies, stop_line};

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(Approval::Person).with_revert();
    Story::begin(world, agent).await
}

async fn leave(story: &Story, request: Request) {
    post(story.store().as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap();
}

async fn refusals(story: &Story) -> Vec<String> {
    use trunkline_runtime::session_store::Record;
    let log = story.store().load(&story.id()).await.unwrap();
    let notes = log.records.into_iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "letter_refused" => Some(note.body),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn a_second_writer_is_refused_while_the_first_one_holds_the_session() {
    let story = begin(vec![]).await;
    let second = story.agent.open(story.store(), &story.id()).await;
    assert!(matches!(second, Err(RuntimeError::Store(_))));
}

#[tokio::test]
async fn a_prompt_left_by_another_joins_the_run() {
    let mut story = begin(vec![Turn::say("both then")]).await;
    leave(&story, Request::Prompt { text: "and that".to_owned() }).await;
    let stop = story.prompt("this").await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    assert!(story.world.last_request().contains("this"));
    assert!(story.world.last_request().contains("and that"));
    assert!(story.store().inbox(&story.id()).await.unwrap().is_empty(), "a letter takes effect once");
}

#[tokio::test]
async fn a_cancel_left_by_another_ends_the_turn_and_an_old_one_does_not() {
    let mut story = begin(vec![Turn::say("I am").hang(), Turn::say("done")]).await;
    leave(&story, Request::Cancel).await;
    let (store, id) = (story.store(), story.id());
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        post(store.as_ref(), &id, &Request::Cancel, Timestamp(2)).await.unwrap();
    });
    assert_eq!(story.prompt("go").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.session.answer(), "I am");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
}

#[tokio::test]
async fn a_verdict_left_by_another_is_taken_between_turns() {
    let edit = Turn::new().call("c1", "edit", &serde_json::json!({ "path": "a", "text": "new" }));
    let mut story = begin(vec![edit, Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    leave(
        &story,
        Request::Verdict { proposal: ProposalId(1), verdict: Verdict::Approve, reason: String::new() },
    )
    .await;
    // The same verdict twice does no harm, and one on nothing is put aside with its reason.
    leave(
        &story,
        Request::Verdict { proposal: ProposalId(1), verdict: Verdict::Approve, reason: String::new() },
    )
    .await;
    leave(
        &story,
        Request::Verdict { proposal: ProposalId(9), verdict: Verdict::Approve, reason: String::new() },
    )
    .await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote a"]);
    let refused = refusals(&story).await;
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("no proposal p9"), "{refused:?}");
}

#[tokio::test]
async fn a_move_asked_for_at_another_head_is_put_aside() {
    let mut story = begin(vec![Turn::say("one"), Turn::say("two")]).await;
    story.prompt("first").await.unwrap();
    let to = NodeId::new(1);
    let act = MoveAct::Revert { to, lesson: None };
    leave(&story, Request::Move { act: act.clone(), expected_head: to }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(story.session.tree().head(), NodeId::new(2));
    assert!(refusals(&story).await[0].contains("the head is n2, the move was asked for at n1"));
    leave(&story, Request::Move { act, expected_head: NodeId::new(2) }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(story.session.tree().head(), to);
}

#[tokio::test]
async fn a_prompt_given_while_a_command_waits_is_kept_until_it_is_decided() {
    let shell = Turn::new().call("c1", "shell", &serde_json::json!({ "path": "make" }));
    let mut story = begin(vec![shell, Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    assert_eq!(stop_line(&story.prompt("hurry").await), "waiting for p1");
    let mut story = story.restart().await;
    story.session.decide(ProposalId(1), Verdict::Discard, "no").await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(story.world.last_request().contains("hurry"));
}

#[tokio::test]
async fn a_move_that_closes_an_open_turn_is_one_batch_with_its_letter() {
    let shell = Turn::new().call("c1", "shell", &serde_json::json!({ "path": "make" }));
    let mut story = begin(vec![shell, Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    let act = MoveAct::Revert { to: NodeId::new(1), lesson: Some("no make here".to_owned()) };
    leave(&story, Request::Move { act, expected_head: NodeId::new(2) }).await;
    let before = story.store().load(&story.id()).await.unwrap().records.len();
    story.session.read_letters().await.unwrap();
    let log = story.store().load(&story.id()).await.unwrap();
    // The result node, the move, the note, the record of the request, the proposal that is put aside.
    assert_eq!(log.records.len() - before, 5);
    assert!(story.store().inbox(&story.id()).await.unwrap().is_empty());
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(story.world.last_request().contains("no make here"));
}

#[tokio::test]
async fn approvals_that_came_with_an_import_are_void_before_anything_else_happens() {
    for turn in [
        Turn::new().call("c1", "edit", &serde_json::json!({ "path": "a", "text": "new" })),
        Turn::new().call("c1", "shell", &serde_json::json!({ "path": "make" })),
    ] {
        let mut story = begin(vec![turn, Turn::say("done")]).await;
        story.prompt("go").await.unwrap();
        story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        leave(&story, Request::Distrust).await;
        let mut story = story.restart().await;
        let refusal = story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap_err();
        assert!(refusal.to_string().contains("superseded"), "{refusal}");
        assert_eq!(stop_line(&story.resume().await), "decided other: answered");
        assert!(story.world.effects().is_empty());
        // Undoing moves does not bring it back either.
        story.session.revert(NodeId::new(1), None).await.unwrap();
        story.session.undo().await.unwrap();
        story.resume().await.unwrap();
        assert!(story.world.effects().is_empty());
    }
}
