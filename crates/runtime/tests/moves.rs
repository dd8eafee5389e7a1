//! What a person does with the head and with branches: goes, merges, names, and takes it back.

use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::message_tree::{Name, NameKind, Naming, NodeId, Timestamp, notation};
use trunkline_runtime::orders::{MoveAct, Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Approval, Cancel, RuntimeError, Session, View};

use crate::story::{Story, World, replies, stop_line};

fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

async fn begin(turns: Vec<Turn>) -> Story {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "old".to_owned());
    let agent = world.agent(replies(turns)).approval(Approval::Person).with_revert();
    Story::begin(world, agent).await
}

/// A trunk n0–n4 that was left at n1, and n5 after n1: two ways to answer one prompt.
async fn two_branches() -> Story {
    let mut story = begin(vec![
        read("c1"),
        Turn::say("The parser is slow. It needs 300 lines."),
        Turn::say("A generated one is fast."),
        Turn::say("Both then."),
    ])
    .await;
    story.prompt("which parser?").await.unwrap();
    story.session.go(n(1)).await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    story
}

/// Returns the bytes of the trunk.
fn trunk(session: &Session) -> Vec<String> {
    session.tree().trunk().messages().map(|message| serde_json::to_string(message).unwrap()).collect()
}

/// Returns the rendered list without what tells of undone moves.
fn rendered(session: &Session) -> Vec<String> {
    let rendered = session.rendered();
    let kept = rendered.iter().filter(|message| !message.text().contains("[revert-undone]"));
    kept.map(|message| serde_json::to_string(message).unwrap()).collect()
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, RuntimeError>) -> String {
    match outcome {
        Err(RuntimeError::Refused { reason }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_person_goes_to_a_branch_that_was_left_and_back() {
    let mut story = two_branches().await;
    expect![[r#"
        n0 system: You work on files.
        n1 user: which parser?
        n2 assistant:
        + call c1 read {"path":"a"}
        n3 result c1: old
        n4 assistant: The parser is slow. It needs 300 lines.
        head n1 as fork
        n5 assistant: A generated one is fast.
    "#]]
    .assert_eq(&story.tree());
    let before = trunk(&story.session);
    assert_eq!(story.session.go(n(4)).await.unwrap(), n(4));
    expect![[r#"
        [revert-undone] the user put the conversation back here: the messages above stand — left 1 message
        Told the user: “A generated one is fast.”
        Go on from here."#]]
    .assert_eq(&story.session.rendered().last().unwrap().text());
    assert_eq!(story.session.answer(), "The parser is slow. It needs 300 lines.");
    story.session.undo().await.unwrap();
    assert_eq!(trunk(&story.session), before);
    story.session.redo().await.unwrap();
    assert_eq!(story.session.tree().head(), n(4));
    let mut story = story.restart().await;
    assert_eq!(story.session.tree().head(), n(4), "and still after a restart");
    story.session.undo().await.unwrap();
    assert_eq!(trunk(&story.session), before);
}

#[tokio::test]
async fn a_merge_brings_what_came_of_a_branch_and_the_model_reads_it() {
    let mut story = two_branches().await;
    let before = trunk(&story.session);
    let record = story.session.merge(&[n(4)]).await.unwrap();
    assert_eq!((record.node, record.into, record.with.as_slice()), (n(6), n(5), [n(4)].as_slice()));
    let sources: Vec<_> = record.sentences.iter().map(|one| (one.text.as_str(), &one.from)).collect();
    assert_eq!(sources, [("The parser is slow.", &vec![n(4)]), ("It needs 300 lines.", &vec![n(4)])]);
    let merged = trunk(&story.session);
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    expect![[r#"
        system: You work on files.
        user: [n1]
        + text: which parser?
        assistant: A generated one is fast.
        + origin test script
        + stop end_turn
        harness: [n6]
        + text: Merged from a branch of this conversation: n4. Each line ends in the nodes that it comes from.\n- The parser is slow. (n4)\n- It needs 300 lines. (n4)\nWhat tools changed there, files included, was neither undone nor done again.
    "#]]
    .assert_eq(&story.world.last_request());
    let after = trunk(&story.session);
    let mut story = story.restart().await;
    assert_eq!(story.session.merges().len(), 1);
    story.session.undo().await.unwrap();
    assert_eq!(trunk(&story.session), before);
    let note = story.session.notes().last().unwrap().text();
    assert_eq!(note, "the merge made here was undone by the user: what it brought is gone");
    assert!(story.session.rendered().last().unwrap().text().contains(&note));
    story.session.redo().await.unwrap();
    assert_eq!(trunk(&story.session), after);
    assert!(after.starts_with(&merged));
    assert_eq!(
        refusal(story.session.merge(&[n(4)]).await),
        "merge refused: n4 was merged before, by n6; there is no branch that could be merged now"
    );
}

#[tokio::test]
async fn a_branch_name_follows_the_head_and_a_bookmark_stays() {
    let mut story = two_branches().await;
    story.session.name("generated", NameKind::Branch, n(5)).await.unwrap();
    story.session.name("here", NameKind::Bookmark, n(5)).await.unwrap();
    story.session.name("slow", NameKind::Branch, n(2)).await.unwrap();
    story.prompt("and now?").await.unwrap();
    let unname = |name: &str| {
        let name = Name::parse(name).unwrap();
        Order::Name { naming: Naming { name, kind: NameKind::Branch, node: None } }
    };
    let leads = |story: &Story| {
        let names = story.session.names().all(story.session.tree());
        names.map(|(name, kind, node)| format!("{kind} {name} {node}")).collect::<Vec<_>>()
    };
    assert_eq!(leads(&story), ["branch generated n7", "bookmark here n5", "branch slow n4"]);
    story.session.go(n(4)).await.unwrap();
    let mut story = story.restart().await;
    assert_eq!(leads(&story), ["branch generated n7", "bookmark here n5", "branch slow n4"]);
    story.session.name("here", NameKind::Branch, n(1)).await.unwrap();
    story.session.order(unname("slow")).await.map(drop).unwrap();
    assert_eq!(leads(&story), ["branch generated n7", "branch here n4"]);
    assert_eq!(refusal(story.session.order(unname("slow")).await.map(drop)), "nothing is called \"slow\"");
    assert!(refusal(story.session.name("n12", NameKind::Branch, n(1)).await).contains("is no node like n12"));
    assert!(refusal(story.session.name("x", NameKind::Branch, n(40)).await).contains("n40 does not exist"));
    let log = story.store().load(&story.id()).await.unwrap();
    let view = View::of(&log).unwrap();
    assert_eq!(view.names(), story.session.names());
}

#[tokio::test]
async fn all_of_it_can_be_asked_for_by_letter() {
    let mut story = two_branches().await;
    let head = story.session.tree().head();
    let leave = async |story: &Story, request: Order| {
        post(story.store().as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap()
    };
    let naming =
        Naming { name: "here".to_owned().try_into().unwrap(), kind: NameKind::Bookmark, node: Some(head) };
    let moved = |act, expected_head| Order::Move { act, expected_head };
    let letters = [
        leave(&story, Order::Name { naming }).await,
        leave(&story, moved(MoveAct::Merge { tips: vec![n(4)] }, head)).await,
        leave(&story, moved(MoveAct::Go { to: n(4) }, head)).await,
        leave(&story, moved(MoveAct::Go { to: n(4) }, n(6))).await,
        leave(&story, moved(MoveAct::Undo, n(4))).await,
    ];
    story.session.read_letters().await.unwrap();
    let mut told = String::new();
    for letter in letters {
        told += &match settled(story.store().as_ref(), &story.id(), letter).await.unwrap() {
            Settled::Done { .. } => "done\n".to_owned(),
            Settled::Refused { reason } => format!("refused: {reason}\n"),
            other => format!("{other:?}\n"),
        };
    }
    expect![[r#"
        done
        done
        done
        refused: the head is n4 by another move, this was asked for at n6
        done
    "#]]
    .assert_eq(&told);
    assert_eq!(story.session.names().find(story.session.tree(), "here"), Some(n(5)));
    assert_eq!(story.session.tree().head(), n(6));
}

/// What a person does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Prompt,
    Restart,
    Go(u32),
    Merge(Vec<u32>),
    Revert(u32),
    Undo,
    Redo,
    Name(u32),
}

pub(crate) fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Prompt),
        1 => Just(Act::Restart),
        4 => (0_u32..40).prop_map(Act::Go),
        3 => prop::collection::vec(0_u32..40, 1..3).prop_map(Act::Merge),
        2 => (0_u32..40).prop_map(Act::Revert),
        2 => Just(Act::Undo),
        2 => Just(Act::Redo),
        1 => (0_u32..40).prop_map(Act::Name),
    ]
}

/// Picks an end of a branch, or any node.
fn tip(session: &Session, pick: u32) -> NodeId {
    let tree = session.tree();
    let left: Vec<NodeId> =
        tree.moves().iter().map(|made| made.from).filter(|from| !tree.is_on_trunk(*from)).collect();
    left.get(pick as usize % (left.len() + 1)).copied().unwrap_or(n(pick % tree.len() as u32))
}

/// Does one thing; `None` if it is no move or was refused.
pub(crate) async fn carry_out(session: &mut Session, act: &Act) -> Result<Option<()>, TestCaseError> {
    let any = |pick: &u32| n(pick % session.tree().len() as u32);
    let done = match act {
        Act::Prompt => session.prompt("go on", &Cancel::new()).await.map(|_| None),
        Act::Go(pick) => {
            let to = any(pick);
            session.go(to).await.map(|_| Some(()))
        }
        Act::Merge(picks) => {
            let tips: Vec<NodeId> = picks.iter().map(|pick| tip(session, *pick)).collect();
            session.merge(&tips).await.map(|_| Some(()))
        }
        Act::Revert(pick) => {
            let to = any(pick);
            session.revert(to, Some("a lesson")).await.map(|()| Some(()))
        }
        Act::Undo => session.undo().await.map(|()| None),
        Act::Redo => session.redo().await.map(|()| None),
        Act::Name(pick) => {
            let node = any(pick);
            session.name("line", NameKind::Branch, node).await.map(|()| None)
        }
        Act::Restart => Ok(None),
    };
    match done {
        Ok(done) => Ok(done),
        Err(RuntimeError::Refused { .. }) => Ok(None),
        Err(other) => Err(TestCaseError::fail(format!("{act:?}: {other}"))),
    }
}

async fn live(acts: Vec<Act>, script: Vec<u8>) -> Result<(), TestCaseError> {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "old".to_owned());
    let turns = script.iter().enumerate().map(|(place, kind)| match kind {
        0 => read(&format!("c{place}")),
        1 => Turn::new().call(format!("c{place}"), "shell", &json!({ "path": "rm" })),
        _ => Turn::say(format!("Finding {place} is this. It is good.")),
    });
    let agent = world.agent(replies(turns.collect())).approval(Approval::Person).with_revert();
    let agent = agent.build().map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    let store = Arc::new(MemoryStore::new());
    let fail = |fault: RuntimeError| TestCaseError::fail(fault.to_string());
    let mut session = agent.start(store.clone(), "t", None).await.map_err(fail)?;
    let mut known = String::new();
    for act in acts {
        let open = session.open_run().is_some();
        let (before, sent) = (trunk(&session), rendered(&session));
        if carry_out(&mut session, &act).await?.is_some() {
            let (after, sent_after) = (trunk(&session), rendered(&session));
            session.undo().await.map_err(fail)?;
            let back = trunk(&session);
            prop_assert!(back.starts_with(&before), "{act:?}: {before:#?} became {back:#?}");
            if !open {
                prop_assert_eq!(&back, &before, "nothing was open that had to be ended");
                prop_assert_eq!(rendered(&session), sent);
            }
            session.redo().await.map_err(fail)?;
            let again = trunk(&session);
            prop_assert!(again.starts_with(&after), "{act:?}: {after:#?} became {again:#?}");
            if session.open_run().is_none() {
                prop_assert_eq!(again, after);
                prop_assert_eq!(rendered(&session), sent_after);
            }
        }
        if let Act::Restart = act {
            let (id, was) = (session.id().clone(), (trunk(&session), rendered(&session)));
            let names = session.names().clone();
            drop(session);
            session = agent.open(store.clone(), &id).await.map_err(fail)?;
            prop_assert_eq!((trunk(&session), rendered(&session)), was);
            prop_assert_eq!(session.names(), &names);
        }
        let printed = notation::print_tree(session.tree());
        prop_assert!(printed.starts_with(&known), "nothing that was said is lost");
        known = printed;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_a_person_does_no_node_is_lost_and_undo_brings_the_trunk_back(
        acts in prop::collection::vec(act(), 1..24),
        script in prop::collection::vec(0_u8..6, 0..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(live(acts, script))?;
    }
}

#[tokio::test]
async fn whoever_goes_to_and_fro_is_not_told_more_each_time() {
    let mut story = two_branches().await;
    let mut said = Vec::new();
    for _ in 0..6 {
        story.session.go(n(4)).await.unwrap();
        story.session.go(n(5)).await.unwrap();
        said.push(story.session.notes().last().unwrap().clone());
    }
    assert!(said.windows(2).all(|two| two[0].ledger == two[1].ledger), "{said:?}");
}
