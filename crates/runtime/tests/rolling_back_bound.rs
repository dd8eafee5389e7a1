//! A rollback that is bound: what git holds of it, and what a person did with it there, come before the files.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::decision_objects::{DecisionId, Verdict};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{MemoryStore, SessionId};
use trunkline_runtime::{Agent, Approval, Cancel};

use crate::binding_scene::block_on;
use crate::fake_folder::{FakeFolder, Files, files};
use crate::fake_git::{Act, Fault};
use crate::rolling_back::ids;
use crate::story::{World, replies};

struct Scene {
    here: FakeFolder,
    agent: Agent,
    store: Arc<MemoryStore>,
    id: SessionId,
    of: DecisionId,
}

/// A rollback of two files that was cut off when it was bound.
async fn cut_off(fault: Fault) -> Scene {
    let world = World::default();
    let here = FakeFolder::of(&world.files).restores().binds();
    here.git.lock().unwrap().head = "refs/heads/main";
    here.git.lock().unwrap().disturb(Act::Commit);
    let edit = |call: &str, path: &str| (call.to_owned(), json!({ "path": path, "text": "new" }));
    let turn = [edit("c1", "a"), edit("c2", "b")];
    let turn = turn.into_iter().fold(Turn::new(), |turn, (call, edit)| turn.call(call, "edit", &edit));
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Always);
    let agent = agent.workspace(Arc::new(here.clone())).commits(true).binds(true).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    session.prompt("write", &Cancel::new()).await.unwrap();
    let (id, of) = (session.id().clone(), ids(&session)[0]);
    here.git.lock().unwrap().fault = Some((1, fault));
    session.rollback(of, None).await.unwrap_err();
    assert_eq!(here.now(), Files::new());
    Scene { here, agent, store, id, of }
}

#[test]
fn no_file_is_put_back_while_git_may_hold_the_rollback() {
    block_on(async {
        let Scene { here, agent, store, id, of } = cut_off(Fault::After).await;
        // It is decided in git, and somebody goes on from there.
        let mine = files(&[("a", "new"), ("b", "new")]);
        here.files.lock().unwrap().clone_from(&mine);
        here.git.lock().unwrap().broken = Some(0);
        let mut session = agent.open(store, &id).await.unwrap();
        assert_eq!(here.now(), mine);
        session.resume(&Cancel::new()).await.unwrap_err();
        here.git.lock().unwrap().broken = None;
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(here.now(), mine);
        let ended = session.decisions().undone_by(of).unwrap();
        assert!(matches!(ended.verdict(), Verdict::Rollback { reverted_to: Some(_), .. }));
    });
}

#[test]
fn a_rollback_that_a_person_took_off_is_not_done_again() {
    // After `reset --hard` the files are as before it, after `reset --soft` they are not.
    for now in [files(&[("a", "new"), ("b", "new")]), files(&[("b", "new")]), Files::new()] {
        block_on(async {
            let Scene { here, agent, store, id, of } = cut_off(Fault::BranchOnly).await;
            here.git.lock().unwrap().disturb(Act::Back);
            here.files.lock().unwrap().clone_from(&now);
            let mut session = agent.open(store, &id).await.unwrap();
            assert_eq!(here.now(), now);
            let ended = session.finish_rollback().await.unwrap().unwrap();
            assert_eq!(here.now(), now);
            assert!(ended.print().contains("was taken off"), "{}", ended.print());
            let stands = now.len() < 2;
            assert_eq!(matches!(ended.verdict(), Verdict::Rollback { .. }), stands, "{}", ended.verdict());
            assert_eq!(session.decisions().undone_by(of).is_some(), stands, "else it can be asked for again");
            assert_eq!(ended.has_changes(), stands);
            let bound = here.git.lock().unwrap().refs.get(&ended.run().to_string()).cloned();
            assert!(bound.is_some(), "also what was given up is bound at once");
        });
    }
}
