//! What a folder says, or a log from elsewhere says of one, that cannot be taken as it is.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::decision_objects::{PatchSet, Verdict};
use trunkline_runtime::message_tree::{NameKind, Naming, Timestamp};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{Record, SessionStore};
use trunkline_runtime::{AgentBuilder, Approval, Base, CloseAs, Limits, Stop, distrust};

use crate::fake_folder::{Act, FakeFolder};
use crate::story::{Story, World, replies, stop_line};

/// An agent that writes `a`, and stops before it says so.
fn agent(world: &World, folder: &FakeFolder) -> AgentBuilder {
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = world.agent(replies(vec![edit, Turn::say("done"), Turn::say("again")]));
    agent.approval(Approval::Always).limits(limits).workspace(Arc::new(folder.clone())).commits(true)
}

async fn at_the_limit(folder: &FakeFolder) -> Story {
    let world = World::default();
    let agent = agent(&world, folder);
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("write a").await), "at the limit of turns");
    assert!(story.session.open_run().is_some());
    story
}

#[tokio::test]
async fn what_an_imported_run_began_on_is_not_handed_to_git_and_it_goes_on_from_what_is_here() {
    let base = Base { commit: Some("b".repeat(40)), tree: Some("--output=/elsewhere".to_owned()) };
    for imported in [false, true] {
        let there = FakeFolder::naming(vec!["a"]).begun_on(base.clone());
        let Story { world, store, session, .. } = at_the_limit(&there).await;
        let id = session.id().clone();
        drop(session);
        if imported {
            let letter = distrust(Timestamp(1));
            store.post(&id, &letter.kind, &letter.body, letter.at).await.unwrap();
        }
        let found = Base { commit: Some("d".repeat(40)), tree: Some("e".repeat(40)) };
        let here = FakeFolder::naming(vec!["a"]).begun_on(found.clone());
        let agent = agent(&world, &here).build().unwrap();
        let mut session = agent.open(store, &id).await.unwrap();
        let how = CloseAs::Checkpoint { words: "so far".to_owned() };
        session.close_run(how).await.unwrap();
        let calls = here.kept.lock().unwrap().calls.clone();
        let handed: Vec<Base> = calls.into_iter().filter_map(|call| call.base).collect();
        let expected = if imported { found } else { base.clone() };
        assert!(
            !handed.is_empty() && handed.iter().all(|handed| *handed == expected),
            "{imported}: {handed:?}"
        );
    }
}

#[tokio::test]
async fn two_names_that_become_one_path_do_not_keep_a_run_from_its_verdict() {
    // Bytes that are no UTF-8 come as the sign for that; what a path cannot hold is spelled out, as somebody may have
    // called a file.
    for names in [["x\u{fffd}", "x\u{fffd}"], ["C:x", "C%3Ax"], ["C%3Ax", "C:x"]] {
        let folder = FakeFolder::naming(names.to_vec()).begun_on(Base::default());
        let mut story = at_the_limit(&folder).await;
        let Ok(Stop::Decided(decision)) = story.resume().await else { panic!("no verdict: {names:?}") };
        assert!(matches!(decision.verdict(), Verdict::Commit { .. }), "{names:?}");
        let log = story.store.load(&story.id()).await.unwrap();
        let sets = log.records.iter().filter_map(|(_, record)| match record {
            Record::Note(note) if note.kind == "patch_set" => PatchSet::parse(note.body.as_bytes()).ok(),
            _ => None,
        });
        let files: Vec<String> =
            sets.flat_map(|set| set.files().to_vec()).map(|file| file.path.to_string()).collect();
        assert_eq!(files.len(), 1, "{names:?}: {files:?}");
    }
}

#[tokio::test]
async fn a_close_that_a_fault_of_the_folder_refuses_holds_up_no_later_letter() {
    let folder = FakeFolder::naming(vec!["a"]).begun_on(Base::default());
    let mut story = at_the_limit(&folder).await;
    let (id, run) = (story.id(), story.session.open_run().unwrap());
    folder.fail(&[Act::Changes], usize::MAX, "the index is damaged");
    let close = CloseAs::Checkpoint { words: "so far".to_owned() };
    let first = Order::CloseRun { run, close };
    let first = post(story.store.as_ref(), &id, &first, Timestamp(1)).await.unwrap();
    let node = Some(story.session.tree().head());
    let naming = Naming { name: "here".to_owned().try_into().unwrap(), kind: NameKind::Bookmark, node };
    let second = Order::Name { naming };
    let second = post(story.store.as_ref(), &id, &second, Timestamp(2)).await.unwrap();
    // The run cannot end, for the same reason.
    let _ = story.resume().await;
    let waiting = story.store.inbox(&id).await.unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
    let Settled::Refused { reason } = settled(story.store.as_ref(), &id, first).await.unwrap() else {
        panic!("it took effect")
    };
    assert!(reason.contains("workspace"), "{reason}");
    let second = settled(story.store.as_ref(), &id, second).await.unwrap();
    assert!(matches!(second, Settled::Done { .. }), "{second:?}");
    assert!(story.session.open_run().is_some(), "the run is as it was");
    folder.mend();
    let how = CloseAs::Abandon { reason: "enough".to_owned() };
    assert!(story.session.close_run(how).await.is_ok(), "and can be closed once the folder is mended");
}
