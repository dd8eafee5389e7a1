//! Applies that are cut off where somebody else has written meanwhile: theirs stays, the rest is as before, and it is said.

use std::sync::Arc;

use expect_test::expect;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Cancel, Session};

use crate::many::{Disk, Halt};
use crate::recovering::{BEFORE_ANY, agent, cut_off, edits, soon, three, until_stopped, words};
use crate::story::{World, stop_line};

fn why(session: &Session) -> String {
    let entry = session.proposals().get(ProposalId(1)).unwrap();
    let decision = entry.decision.as_ref().unwrap();
    format!("{} by {}: {}", entry.state, decision.by, decision.reason)
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_stays_and_the_rest_is_put_back() {
    let (_, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
    disk.put("a", "mine");
    let session = agent.open(store.clone(), &id).await.unwrap();
    assert_eq!(disk.now(), "a=mine b=there");
    expect!["discarded by harness: somebody else has written to a meanwhile, which was left as it is; everything else is as before"].assert_eq(&why(&session));
    expect!["n4 harness: p1 (edit a, b, c) was cut off while it was applied, and somebody else has written to a meanwhile, which was left as it is; everything else is as before. It is dropped; look at the files before you go on."].assert_eq(&words(&session));
    let records = store.load(&id).await.unwrap().records.len();
    drop(session);
    agent.open(store.clone(), &id).await.unwrap();
    assert_eq!(store.load(&id).await.unwrap().records.len(), records, "once is enough");
}

#[tokio::test]
async fn where_nothing_was_written_yet_but_by_somebody_else_the_tool_can_clear_up_all_the_same() {
    for disturbed in [false, true] {
        let (_, disk, store, agent, id) = cut_off(BEFORE_ANY).await;
        if disturbed {
            disk.put("c", "mine");
        }
        let session = agent.open(store, &id).await.unwrap();
        assert_eq!(*disk.put_back.lock().unwrap(), if disturbed { 3 } else { 0 });
        if disturbed {
            assert_eq!(disk.now(), "a=old b=there c=mine");
            expect!["discarded by harness: somebody else has written to c meanwhile, which was left as it is; everything else is as before"].assert_eq(&why(&session));
        }
    }
}

#[tokio::test]
async fn of_many_files_those_of_somebody_else_are_named_first() {
    let (world, disk) = (World::default(), Disk::default());
    let paths: Vec<String> = (0..60).map(|number| format!("f{number:02}")).collect();
    let texts: Vec<(&str, Option<&str>)> = paths.iter().map(|path| (path.as_str(), Some("new"))).collect();
    let edit = Turn::new().call("c1", "many", &edits(&texts));
    let agent = agent(&world, &disk, vec![edit, Turn::say("done")]).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(60 + 1 + 40, Halt::Stop);
    assert!(until_stopped(&mut session, &disk).await.is_none());
    assert_eq!(disk.files.lock().unwrap().len(), 2 + 40);
    let id = session.id().clone();
    drop(session);
    for path in &paths[30..55] {
        disk.put(path, "mine");
    }
    let session = agent.open(store, &id).await.unwrap();
    let written = disk.now();
    assert!(!written.contains("=new"), "{written}");
    assert_eq!(disk.files.lock().unwrap().len(), 2 + 25, "theirs stay");
    expect!["discarded by harness: somebody else has written to f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49 and 5 more meanwhile, which was left as it is; everything else is as before"].assert_eq(&why(&session));
}

#[tokio::test]
async fn putting_back_beside_what_somebody_else_wrote_can_be_cut_off_and_is_done_again() {
    for steps in 0..6 {
        let (_, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
        disk.put("c", "mine");
        disk.break_after(steps, Halt::Stop);
        tokio::select! {
            biased;
            () = disk.stopped.notified() => {}
            opened = agent.open(store.clone(), &id) => { opened.unwrap(); }
        }
        disk.mend();
        let mut session = agent.open(store, &id).await.unwrap();
        assert_eq!(disk.now(), "a=old b=there c=mine", "after {steps} steps");
        assert!(why(&session).starts_with("discarded by harness: somebody else has written to c meanwhile"));
        assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
        assert_eq!(disk.now(), "a=old b=there c=mine");
    }
}

#[tokio::test]
async fn what_could_not_be_put_back_is_said_beside_what_somebody_else_wrote() {
    let (_, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
    disk.put("a", "mine");
    store.post(&id, "distrust", "{}", Timestamp(1)).await.unwrap();
    let session = agent.open(store, &id).await.unwrap();
    assert_eq!(disk.now(), "a=mine", "nothing is put back for an import");
    expect!["discarded by harness: somebody else has written to a meanwhile, which was left as it is; still as after, and not put back: b; the others are as before"].assert_eq(&why(&session));
}

#[tokio::test]
async fn a_tool_that_goes_wrong_beside_what_somebody_else_wrote_leaves_nothing_of_its_own() {
    for (halt, expected) in [
        (
            Halt::Fail,
            expect![
                "n4 harness: p1 could not be applied: the disk is full; somebody else has written to a meanwhile, which was left as it is; everything else is as before. It is kept: apply it again or discard it."
            ],
        ),
        (
            Halt::Panic,
            expect![[r#"
            n4 harness: It is not known whether p1 was applied: the tool crashed while it applied it; somebody else has written to a meanwhile, which was left as it is; everything else is as before.
            n5 harness: p1 (edit a, b, c) was cut off while it was applied, and somebody else has written to a meanwhile, which was left as it is; everything else is as before. It is dropped; look at the files before you go on."#]],
        ),
    ] {
        let (world, disk) = (World::default(), Disk::default());
        let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        disk.break_after(BEFORE_ANY + 1, Halt::Wait);
        let cancel = Cancel::new();
        let meddle = async {
            disk.stopped.notified().await;
            disk.put("a", "mine");
            disk.break_after(0, halt);
            disk.go_on.notify_one();
        };
        let (stop, ()) = soon(async { tokio::join!(session.resume(&cancel), meddle) }).await;
        let waits = if halt == Halt::Fail { "waiting for p1" } else { "decided other: answered" };
        assert_eq!(stop_line(&stop), waits);
        assert_eq!(disk.now(), "a=mine b=there");
        expected.assert_eq(&words(&session));
        if halt == Halt::Fail {
            // Approved again it is not written over what somebody else has there.
            session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
            session.resume(&Cancel::new()).await.unwrap();
            assert_eq!(disk.now(), "a=mine b=there");
        }
    }
}
