//! Two processes that want one session: who is taken over writes nothing more.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Value, json};
use trunkline_runtime::Said;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{Entry, ProposalId, Verdict};
use trunkline_runtime::session_store::{
    Batch, Claim, Lease, MemoryStore, Note, Position, Record, SessionId, SessionStore,
};
use trunkline_runtime::{Agent, Approval, Cancel, Decider, RuntimeError, Session, Stop};

use crate::story::{Story, World, replies, stop_line};

fn call(tool: &str, path: &str) -> Turn {
    Turn::new().call("c1", tool, &json!({ "path": path, "text": "new" }))
}

async fn begin(approval: Approval, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval).with_revert();
    Story::begin(world, agent).await
}

async fn take_over(story: &Story) -> Session {
    story.agent.take_over(story.store(), &story.id()).await.unwrap()
}

/// Takes a session over and writes to it, as another program would.
async fn usurp(store: &MemoryStore, id: &SessionId) -> Lease {
    let lease = store.claim(id, Claim::TakeOver).await.unwrap();
    let info = store.info(id).await.unwrap();
    let note = Record::Note(Note::new("gauge", "reading", Timestamp(9), "1"));
    let batch = Batch::new(Position { seq: info.records, head: info.head }, vec![note]);
    store.append(&lease, batch).await.unwrap();
    lease
}

/// Two handles on one database, as two processes have them.
#[tokio::test]
async fn on_disk_a_session_is_taken_over_from_a_model_that_hangs_and_letters_reach_who_has_it_now() {
    use trunkline_runtime::orders::{Order, Settled, post, settled};
    use trunkline_runtime::session_store::{SqliteStore, StoreError};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let first: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(&path).await.unwrap());
    let second: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(&path).await.unwrap());
    let world = World::default();
    let turns = vec![Turn::say("I am").hang(), Turn::say("heard").hang(), Turn::say("done")];
    let agent = world.agent(replies(turns)).build().unwrap();
    let mut session = agent.start(first, "t", None).await.unwrap();
    let id = session.id().clone();
    let asked = async |times| {
        while world.requests.lock().unwrap().len() < times {
            tokio::task::yield_now().await;
        }
    };
    let (mine, theirs) = (Cancel::new(), Cancel::new());
    let successor = async {
        asked(1).await;
        let held = agent.open(Arc::clone(&second), &id).await.err();
        assert!(matches!(held, Some(RuntimeError::Store(StoreError::Locked { .. }))), "{held:?}");
        let mut session = agent.take_over(Arc::clone(&second), &id).await.unwrap();
        let stop = session.prompt("and you?", &theirs).await;
        (stop_line(&stop), session)
    };
    let sender = async {
        asked(2).await;
        let letter = post(second.as_ref(), &id, &Order::Cancel, Timestamp(1)).await.unwrap();
        settled(second.as_ref(), &id, letter).await.unwrap()
    };
    let (stop, (their_stop, mut theirs_now), told) =
        tokio::join!(session.prompt("who?", &mine), successor, sender);
    assert!(is_taken_over(&stop), "{stop:?}");
    assert_eq!(their_stop, "cancelled");
    assert!(matches!(told, Settled::Done { .. }), "{told:?}");
    assert_eq!(stop_line(&theirs_now.resume(&Cancel::new()).await), "decided other: answered");
    second.verify(&id).await.unwrap();
}

/// Drives a session with a prompt, and takes it over once the world is such.
async fn disturbed(story: &mut Story, when: impl Fn(&World) -> bool) -> Result<Stop, RuntimeError> {
    let (store, id, world) = (Arc::clone(&story.store), story.id(), story.world.clone());
    let usurped = async {
        while !when(&world) {
            tokio::task::yield_now().await;
        }
        usurp(&store, &id).await
    };
    let (stop, _lease) = tokio::join!(story.prompt("go"), usurped);
    stop
}

fn is_taken_over(stop: &Result<Stop, RuntimeError>) -> bool {
    matches!(stop, Err(RuntimeError::TakenOver { .. }))
}

#[tokio::test]
async fn who_is_taken_over_says_so_and_writes_nothing_more() {
    let mut story = begin(Approval::Always, vec![Turn::say("one"), Turn::say("two")]).await;
    story.prompt("first").await.unwrap();
    let mut second = take_over(&story).await;
    second.prompt("second", &story.cancel).await.unwrap();
    let log = story.store.load(&story.id()).await.unwrap();

    let fault = story.prompt("third").await.unwrap_err().to_string();
    let holder = format!("process {}", std::process::id());
    let fault = fault.replace(story.id().as_str(), "SESSION").replace(&holder, "HOLDER");
    expect!["session SESSION was taken over by HOLDER; nothing more is written here, open it again to go on"]
        .assert_eq(&fault);
    // It stays so, also when the one who took it is gone.
    drop(second);
    assert!(is_taken_over(&story.resume().await));
    assert!(is_taken_over(&story.session.undo().await.map(|()| Stop::Idle)));
    assert!(is_taken_over(&story.session.read_letters().await.map(|()| Stop::Idle)));
    assert_eq!(story.store.load(&story.id()).await.unwrap(), log);
    assert_eq!(story.world.requests.lock().unwrap().len(), 2, "the model was not asked either");

    let mut story = story.restart().await;
    assert_eq!(story.session.answer(), "two");
    assert_eq!(stop_line(&story.prompt("third").await), "decided other: answered");
}

#[tokio::test]
async fn a_take_over_that_is_over_is_found_out_by_the_next_write() {
    let mut story = begin(Approval::Always, vec![]).await;
    drop(take_over(&story).await);
    let before = story.store.load(&story.id()).await.unwrap();
    assert!(is_taken_over(&story.prompt("go").await));
    assert_eq!(story.store.load(&story.id()).await.unwrap(), before);
    assert!(story.world.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_session_that_nobody_holds_can_be_taken_over_too() {
    let Story { store, agent, session, cancel, .. } = begin(Approval::Always, vec![]).await;
    let id = session.id().clone();
    drop(session);
    let mut session = agent.take_over(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.prompt("go", &cancel).await), "decided other: answered");
}

#[tokio::test]
async fn a_prompt_of_who_was_taken_over_is_not_left_as_a_letter_either() {
    let mut story = begin(Approval::Person, vec![call("shell", "make")]).await;
    assert_eq!(stop_line(&story.prompt("go").await), "waiting for p1");
    let _second = take_over(&story).await;
    assert!(is_taken_over(&story.prompt("hurry").await));
    assert!(story.store.inbox(&story.id()).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_was_approved_is_applied_by_the_one_who_took_over_alone() {
    let mut story = begin(Approval::Person, vec![call("edit", "a"), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("go").await), "waiting for p1");
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let mut second = take_over(&story).await;
    assert!(is_taken_over(&story.resume().await));
    assert!(story.world.effects().is_empty());
    assert_eq!(stop_line(&second.resume(&story.cancel).await), "decided other: answered");
    assert_eq!(story.world.effects(), ["wrote a"]);
}

#[tokio::test]
async fn a_model_that_is_still_talking_is_left_when_the_session_is_taken_over() {
    let mut story = begin(Approval::Always, vec![Turn::say("I am").hang()]).await;
    let asked = |world: &World| world.requests.lock().unwrap().len() == 1;
    assert!(is_taken_over(&disturbed(&mut story, asked).await));
    assert!(!story.cancel.is_cancelled(), "nobody has cancelled");
}

#[tokio::test]
async fn a_tool_that_runs_is_told_to_stop_when_the_session_is_taken_over() {
    let mut story = begin(Approval::Always, vec![call("sleep", "a")]).await;
    let sleeps = |world: &World| world.effects() == ["sleeps"];
    assert!(is_taken_over(&disturbed(&mut story, sleeps).await));
}

/// A person who has gone for lunch.
struct Away;

#[async_trait]
impl Decider for Away {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_person_is_not_asked_any_longer_when_the_session_is_taken_over() {
    let world = World::default();
    let agent = world.agent(replies(vec![call("shell", "make")])).decider(Arc::new(Away));
    let mut story = Story::begin(world, agent).await;
    let staged = |world: &World| world.told.lock().unwrap().contains(&"p1 staged".to_owned());
    assert!(is_taken_over(&disturbed(&mut story, staged).await));
    assert!(story.world.effects().is_empty());
}

#[tokio::test]
async fn of_two_who_take_it_from_each_other_every_word_that_was_acknowledged_is_in_the_log() {
    let script = |_: &_| Turn::say("heard");
    let world = World::default();
    let agent: Agent = world.agent(script).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut sides = vec![agent.start(store.clone(), "t", None).await.unwrap()];
    let id = sides[0].id().clone();
    sides.push(agent.take_over(store.clone(), &id).await.unwrap());
    let cancel = Cancel::new();
    let mut heard = Vec::new();
    for round in 0..40_usize {
        // A side keeps its turn for one to three prompts, and then the other takes it away.
        let side = round % 2;
        for word in 0..=(round % 3) {
            let text = format!("word {round}.{word}");
            match sides[side].prompt(&text, &cancel).await {
                Ok(_) => heard.push(text),
                Err(RuntimeError::TakenOver { .. }) => {
                    sides[side] = agent.take_over(store.clone(), &id).await.unwrap();
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    let log = store.load(&id).await.unwrap();
    let view = trunkline_runtime::View::of(&log).unwrap();
    let said = view.tree().trunk().messages().map(|message| message.text());
    let said: Vec<String> = said.filter(|text| text.starts_with("word")).collect();
    assert_eq!(said, heard);
    assert!(heard.len() > 20, "{}", heard.len());
    store.verify(&id).await.unwrap();
}
