//! Taking back what was applied.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, State, Verdict};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, Said, Session};

use crate::many::{Disk, Lacks, Many};
use crate::recovering::{three, words};
use crate::story::{World, replies, stop_line};

async fn begin(lacks: Lacks, approval: Approval) -> (Disk, Arc<MemoryStore>, Agent, Session) {
    let (world, disk) = (World::default(), Disk::default());
    disk.put("a", "old");
    disk.put("b", "there");
    let turns = vec![three(), Turn::say("done"), Turn::say("seen")];
    let agent = world.agent(replies(turns)).tool(Many { disk: disk.clone(), lacks }).approval(approval);
    let agent = agent.build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    (disk, store, agent, session)
}

async fn applied(lacks: Lacks) -> (Disk, Arc<MemoryStore>, Agent, Session) {
    let (disk, store, agent, mut session) = begin(lacks, Approval::Person).await;
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(disk.now(), "a=new c=made");
    (disk, store, agent, session)
}

#[tokio::test]
async fn what_was_applied_is_taken_back_by_a_proposal_that_is_decided_like_any_other() {
    let (disk, store, agent, session) = applied(Lacks::Nothing).await;
    // In another process: the bytes are in the log.
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(session.take_back(ProposalId(1)).await.unwrap(), ProposalId(2));
    assert_eq!(disk.now(), "a=new c=made", "nothing is written before it is approved");
    let entry = session.proposals().get(ProposalId(2)).unwrap();
    assert_eq!(entry.proposal.label, "undo p1: edit a, b, c");
    assert_eq!(entry.proposal.preview.text, r#"back to {"a":"old","b":"there","c":null}"#);
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "waiting for p2");
    session.decide(ProposalId(2), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=old b=there");
    expect![[r#"
        n4 harness: A person approved p1, and it was applied. Written.
        n6 harness: A person approved p2, and it was applied. What p1 had done is taken back by it. Written."#]]
    .assert_eq(&words(&session));
    let again = session.take_back(ProposalId(1)).await.unwrap_err().to_string();
    expect!["p1 cannot be undone: p2 took it back"].assert_eq(&again);
    // And that is taken back as well.
    assert_eq!(session.take_back(ProposalId(2)).await.unwrap(), ProposalId(3));
    session.decide(ProposalId(3), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new c=made");
}

#[tokio::test]
async fn an_undo_is_not_applied_once_the_world_has_moved_on() {
    let (disk, _, _, mut session) = applied(Lacks::Nothing).await;
    session.take_back(ProposalId(1)).await.unwrap();
    disk.put("c", "mine");
    session.decide(ProposalId(2), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new c=mine");
    assert!(words(&session).ends_with(
        "p2 was not applied and is dropped: c changed after the preview. Look again and propose anew."
    ));
}

#[tokio::test]
async fn what_cannot_be_taken_back_says_why() {
    let refused =
        async |session: &mut Session, id| session.take_back(ProposalId(id)).await.unwrap_err().to_string();
    let (_, _, _, mut session) = begin(Lacks::Nothing, Approval::Person).await;
    expect!["p1 cannot be undone: it is proposed"].assert_eq(&refused(&mut session, 1).await);
    expect!["no proposal p7; open: p1"].assert_eq(&refused(&mut session, 7).await);
    let (_, _, _, mut session) = applied(Lacks::Keep).await;
    expect!["p1 cannot be undone: no pre-image of a was kept"].assert_eq(&refused(&mut session, 1).await);
    let (_, _, _, mut session) = applied(Lacks::Undo).await;
    expect![[r#"p1 cannot be undone: its tool "many" cannot take it back"#]]
        .assert_eq(&refused(&mut session, 1).await);
}

#[tokio::test]
async fn a_letter_asks_to_take_back_and_is_refused_with_the_reason() {
    let (disk, store, _, mut session) = applied(Lacks::Nothing).await;
    let id = session.id().clone();
    let ask = Order::TakeBack { proposal: ProposalId(1) };
    let first = post(store.as_ref(), &id, &ask, Timestamp(1)).await.unwrap();
    session.read_letters().await.unwrap();
    assert!(matches!(settled(store.as_ref(), &id, first).await.unwrap(), Settled::Done { .. }));
    assert_eq!(session.proposals().get(ProposalId(2)).unwrap().state, State::Proposed);
    let wrong = Order::TakeBack { proposal: ProposalId(2) };
    let second = post(store.as_ref(), &id, &wrong, Timestamp(1)).await.unwrap();
    session.read_letters().await.unwrap();
    let Settled::Refused { reason } = settled(store.as_ref(), &id, second).await.unwrap() else {
        panic!("it cannot be taken back");
    };
    expect!["p2 cannot be undone: it is proposed"].assert_eq(&reason);
    assert!(store.inbox(&id).await.unwrap().is_empty());
    assert_eq!(disk.now(), "a=new c=made");
}

#[tokio::test]
async fn with_everything_approved_an_undo_is_applied_by_the_next_drive() {
    let (disk, _, _, mut session) = begin(Lacks::Nothing, Approval::Always).await;
    assert_eq!(disk.now(), "a=new c=made");
    session.take_back(ProposalId(1)).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=old b=there");
    expect![[r#"
        n4 harness: Applied p1. Written.
        n6 harness: Applied p2. What p1 had done is taken back by it. Written."#]]
    .assert_eq(&words(&session));
}

/// Approves a part of a proposal and lets it happen.
async fn approve(session: &mut Session, id: u32, only: &[&str]) {
    let only: BTreeSet<String> = only.iter().map(|path| (*path).to_owned()).collect();
    session.decide_with(ProposalId(id), Said::new(Verdict::Approve, "").only(only)).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
}

#[tokio::test]
async fn what_an_undo_left_out_can_be_taken_back_by_another_one() {
    let (disk, store, agent, mut session) = applied(Lacks::Nothing).await;
    session.take_back(ProposalId(1)).await.unwrap();
    approve(&mut session, 2, &["a"]).await;
    assert_eq!(disk.now(), "a=old c=made");
    // What was taken back is anybody's by now.
    disk.put("a", "mine");
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(session.take_back(ProposalId(1)).await.unwrap(), ProposalId(3));
    let entry = session.proposals().get(ProposalId(3)).unwrap();
    expect!["undo p1: edit a, b, c (only b, c; p2 took back the others)"].assert_eq(&entry.proposal.label);
    assert_eq!(entry.part().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(entry.proposal.preview.text, r#"back to {"b":"there","c":null}"#);
    approve(&mut session, 3, &["b"]).await;
    assert_eq!(disk.now(), "a=mine b=there c=made");
    session.take_back(ProposalId(1)).await.unwrap();
    approve(&mut session, 4, &[]).await;
    assert_eq!(disk.now(), "a=mine b=there");
    let again = session.take_back(ProposalId(1)).await.unwrap_err().to_string();
    expect!["p1 cannot be undone: p2, p3, p4 took it back"].assert_eq(&again);
}

#[tokio::test]
async fn of_what_was_applied_in_part_only_that_part_is_taken_back() {
    let (disk, _, _, mut session) = begin(Lacks::Nothing, Approval::Person).await;
    approve(&mut session, 1, &["a", "c"]).await;
    assert_eq!(disk.now(), "a=new b=there c=made");
    session.take_back(ProposalId(1)).await.unwrap();
    approve(&mut session, 2, &["c"]).await;
    assert_eq!(disk.now(), "a=new b=there");
    session.take_back(ProposalId(1)).await.unwrap();
    approve(&mut session, 3, &[]).await;
    assert_eq!(disk.now(), "a=old b=there");
    let again = session.take_back(ProposalId(1)).await.unwrap_err().to_string();
    expect!["p1 cannot be undone: p2, p3 took it back"].assert_eq(&again);
}
