//! What others ask of a session that is held.

use std::sync::Arc;

use expect_test::expect;
use trunkline_runtime::Said;
use trunkline_runtime::message_tree::{NodeId, Origin, Timestamp};
use trunkline_runtime::orders::{MoveAct, Order, Settled, post, settled};
use trunkline_runtime::providers::{ErrorKind, Provider, ProviderError, Reply, Turn};
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::session_store::{
    InboxId, LetterState, MemoryStore, SessionId, SessionStore, StoreError, export, import,
};
use trunkline_runtime::{Agent, Approval, Cancel, RuntimeError, Stop};

use crate::story::{Story, World, replies, stop_line};

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(Approval::Person).with_revert();
    Story::begin(world, agent).await
}

async fn leave(story: &Story, request: Order) -> InboxId {
    post(story.store().as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap()
}

/// Says what became of letters, one a line.
async fn outcomes(store: &dyn SessionStore, id: &SessionId, letters: &[InboxId]) -> String {
    let mut told = String::new();
    for letter in letters {
        told += &match settled(store, id, *letter).await {
            Ok(Settled::Done { seq }) => format!("{letter} done, up to record {seq}\n"),
            Ok(Settled::Refused { reason }) => format!("{letter} refused: {reason}\n"),
            other => format!("{letter} {other:?}\n"),
        };
    }
    told
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
    leave(&story, Order::Prompt { text: "and that".to_owned() }).await;
    let stop = story.prompt("this").await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    assert!(story.world.last_request().contains("this"));
    assert!(story.world.last_request().contains("and that"));
    assert!(story.store().inbox(&story.id()).await.unwrap().is_empty(), "a letter takes effect once");
}

#[tokio::test]
async fn a_cancel_left_by_another_ends_the_turn_and_one_for_the_writer_before_does_not() {
    let story = begin(vec![Turn::say("I am").hang(), Turn::say("done")]).await;
    leave(&story, Order::Cancel).await;
    let mut story = story.restart().await;
    let (store, id) = (story.store(), story.id());
    let log = async || store.load(&id).await.unwrap();
    let other = async {
        // The turn has begun when the letter before it was put aside and the prompt is there.
        while log().await.info.nodes < 2 || !store.inbox(&id).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let letter = post(store.as_ref(), &id, &Order::Cancel, Timestamp(2)).await.unwrap();
        settled(store.as_ref(), &id, letter).await.unwrap()
    };
    let (stop, settled) = tokio::join!(story.prompt("go"), other);
    assert_eq!(stop.unwrap(), Stop::Cancelled);
    assert!(matches!(settled, Settled::Done { .. }), "{settled:?}");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
}

#[tokio::test]
async fn a_cancel_that_comes_before_the_writer_has_begun_its_turn_is_not_lost() {
    let mut story = begin(vec![Turn::say("done"), Turn::say("more")]).await;
    // Whoever asks sees that somebody holds the session, and not how far that one is.
    let letter = leave(&story, Order::Cancel).await;
    assert_eq!(stop_line(&story.prompt("go").await), "cancelled");
    assert_eq!(story.world.requests.lock().unwrap().len(), 0, "no model was asked");
    assert!(matches!(settled(&*story.store, &story.id(), letter).await, Ok(Settled::Done { .. })));
    // Once; what was asked for is still there to be done.
    story.cancel = Cancel::new();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    // The same between two drives of one writer.
    leave(&story, Order::Cancel).await;
    assert_eq!(stop_line(&story.prompt("and").await), "cancelled");
}

/// A service that fails in the moment in which somebody asks to cancel, so that nobody reads that any more.
struct FailsAtOnce {
    origin: Origin,
    store: Arc<MemoryStore>,
}

#[async_trait::async_trait]
impl Provider for FailsAtOnce {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        "none"
    }

    async fn send(&self, _: trunkline_runtime::providers::Request) -> Result<Box<dyn Reply>, ProviderError> {
        let session = self.store.sessions().await.unwrap().remove(0);
        post(self.store.as_ref(), &session.id, &Order::Cancel, Timestamp(1)).await.unwrap();
        Err(ProviderError::api(400, ErrorKind::Other, "no"))
    }
}

#[tokio::test]
async fn a_cancel_of_a_turn_that_failed_does_not_end_the_next() {
    let store = Arc::new(MemoryStore::new());
    let origin = Origin::new("none", "none");
    let agent = Agent::builder(FailsAtOnce { origin, store: Arc::clone(&store) }).build().unwrap();
    let mut session = agent.start(store.clone(), "a story", None).await.unwrap();
    for attempt in 1..=3 {
        let failed = session.prompt("go", &Cancel::new()).await;
        assert!(matches!(failed, Err(RuntimeError::Provider(_))), "attempt {attempt}: {failed:?}");
        assert_eq!(store.inbox(session.id()).await.unwrap().len(), 1, "those before were put aside");
    }
}

#[tokio::test]
async fn a_verdict_left_by_another_is_taken_between_turns() {
    let edit = Turn::new().call("c1", "edit", &serde_json::json!({ "path": "a", "text": "new" }));
    let mut story = begin(vec![edit, Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    leave(
        &story,
        Order::Verdict { proposal: ProposalId(1), said: Said::new(Verdict::Approve, ""), seen: None },
    )
    .await;
    // The same verdict twice does no harm, and one on nothing is put aside with its reason.
    leave(
        &story,
        Order::Verdict { proposal: ProposalId(1), said: Said::new(Verdict::Approve, ""), seen: None },
    )
    .await;
    leave(
        &story,
        Order::Verdict { proposal: ProposalId(9), said: Said::new(Verdict::Approve, ""), seen: None },
    )
    .await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote a"]);
    let refused = refusals(&story).await;
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("no proposal p9"), "{refused:?}");
}

#[tokio::test]
async fn a_move_is_made_where_the_head_has_only_grown_and_put_aside_where_it_went_elsewhere() {
    let mut story = begin(vec![Turn::say("one"), Turn::say("two")]).await;
    story.prompt("first").await.unwrap();
    let (to, seen) = (NodeId::new(1), NodeId::new(2));
    let act = MoveAct::Revert { to, lesson: None };
    // Whoever writes has gone on while the letter was under way.
    leave(&story, Order::Move { act: act.clone(), expected_head: to }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(story.session.tree().head(), to);
    leave(&story, Order::Move { act, expected_head: seen }).await;
    // That is not what they wanted to take back: they had seen no move yet.
    leave(&story, Order::Move { act: MoveAct::Undo, expected_head: NodeId::ROOT }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(story.session.tree().head(), to);
    let refused = refusals(&story).await;
    assert!(refused[0].contains("the head is n1 by another move, this was asked for at n2"), "{refused:?}");
    assert_eq!(refused.len(), 2, "{refused:?}");
    leave(&story, Order::Move { act: MoveAct::Undo, expected_head: to }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(story.session.tree().head(), seen);
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
    leave(&story, Order::Move { act, expected_head: NodeId::new(2) }).await;
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
        leave(&story, Order::Distrust).await;
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

#[tokio::test]
async fn what_came_with_an_import_stays_put_aside_and_what_is_proposed_here_comes_back() {
    let edit = |path| Turn::new().call("c1", "edit", &serde_json::json!({ "path": path, "text": "new" }));
    let mut story = begin(vec![edit("a"), edit("b"), Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    // The branch was left before the session was brought here.
    story.session.revert(NodeId::ROOT, None).await.unwrap();
    leave(&story, Order::Distrust).await;
    let mut story = story.restart().await;
    story.session.undo().await.unwrap();
    story.session.redo().await.unwrap();
    story.session.undo().await.unwrap();
    let state = |story: &Story, id| story.session.proposals().get(ProposalId(id)).unwrap().state.to_string();
    assert_eq!(state(&story, 1), "superseded");
    // Its own proposals are as ever, also for whoever reads the log anew.
    story.prompt("and b").await.unwrap();
    let mut story = story.restart().await;
    story.session.revert(NodeId::ROOT, None).await.unwrap();
    assert_eq!(state(&story, 2), "superseded");
    story.session.undo().await.unwrap();
    assert_eq!((state(&story, 1).as_str(), state(&story, 2).as_str()), ("superseded", "stale"));
}

#[tokio::test]
async fn whoever_left_a_letter_learns_whether_it_took_effect_or_why_not() {
    let edit = Turn::new().call("c1", "edit", &serde_json::json!({ "path": "a", "text": "new" }));
    let mut story = begin(vec![edit, Turn::say("done")]).await;
    story.prompt("go").await.unwrap();
    let verdict =
        |id| Order::Verdict { proposal: ProposalId(id), said: Said::new(Verdict::Approve, ""), seen: None };
    let act = MoveAct::Revert { to: NodeId::new(1), lesson: None };
    let mut letters = Vec::new();
    for request in [verdict(9), verdict(1), verdict(1), Order::Move { act, expected_head: NodeId::new(7) }] {
        letters.push(leave(&story, request).await);
    }
    letters.push(story.store.post(&story.id(), "wish", "{}", Timestamp(1)).await.unwrap());
    letters.push(InboxId(9));
    let (store, id) = (story.store(), story.id());
    // Both wait for the other: who is first to look does not matter.
    let (told, stop) = tokio::join!(outcomes(store.as_ref(), &id, &letters), story.resume());
    assert_eq!(stop_line(&stop), "decided other: answered");
    let told = told.replace(id.as_str(), "SESSION");
    expect![[r#"
        1 refused: no proposal p9; open: p1
        2 done, up to record 12
        3 done, up to record 13
        4 refused: the head is n3 by another move, this was asked for at n7
        5 refused: nothing is known of letters of kind "wish"
        9 Err(Store(NoSuchLetter { session: SessionId("SESSION"), letter: InboxId(9) }))
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn what_is_refused_elsewhere_is_not_taken_for_the_fate_of_a_letter_of_the_same_number() {
    let mut story = begin(vec![]).await;
    let letter = story.store.post(&story.id(), "wish", "{}", Timestamp(1)).await.unwrap();
    story.session.read_letters().await.unwrap();
    let mut lines = Vec::new();
    export(story.store.as_ref(), &story.id(), &mut lines).await.unwrap();
    let moved = Arc::new(MemoryStore::new());
    let id = import(moved.as_ref(), lines.as_slice()).await.unwrap().remove(0).id;
    let again = post(moved.as_ref(), &id, &Order::Cancel, Timestamp(2)).await.unwrap();
    assert_eq!(again, letter, "letters are counted anew in another store");
    let mut session = story.agent.open(moved.clone(), &id).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(outcomes(moved.as_ref(), &id, &[again]).await, "1 done, up to record 3\n");
}

#[tokio::test]
async fn waiting_for_a_letter_can_be_given_up_and_ends_with_its_session() {
    let story = begin(vec![]).await;
    let (store, id) = (story.store(), story.id());
    let letter = leave(&story, Order::Cancel).await;
    let waiting = tokio::select! {
        biased;
        told = settled(store.as_ref(), &id, letter) => Some(told),
        () = tokio::task::yield_now() => None,
    };
    assert!(waiting.is_none(), "{waiting:?}");
    assert_eq!(store.letter(&id, letter).await.unwrap(), LetterState::Waiting);
    drop(story);
    let (told, deleted) = tokio::join!(settled(store.as_ref(), &id, letter), store.delete(&id));
    deleted.unwrap();
    assert!(matches!(told, Err(RuntimeError::Store(StoreError::UnknownSession { .. }))), "{told:?}");
}
