//! A model that goes back to its branches, merges them and leaves results out, killed at every write.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::message_tree::{Link, MoveKind, Role, notation};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::revert::{PrunePolicy, RenderPolicy};
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{Approval, Cancel, Event, Reverts, Stop, View};

use crate::kills::{Death, Mortal};
use crate::story::{World, replies};

fn reverts() -> Reverts {
    Reverts::default().offer_merge().offer_return().offer_pruning()
}

/// A model that tells where it is from what it is sent alone, as a real one does: it reads, leaves the branch, reads on
/// another, merges the first, leaves a result out, asks for it again, and goes back to the first branch.
fn model(request: &Request) -> Turn {
    let said = notation::print(&request.messages.to_vec());
    let id = format!("c{}", request.messages.len());
    let calls = |name: &str| {
        request.messages.iter().flat_map(|message| message.calls()).filter(|call| call.name == name).count()
    };
    let read = |path: &str| Turn::new().call(&id, "read", &json!({ "path": path }));
    if said.contains("you came back to this branch") {
        return match calls("recall_result") {
            // On this branch it was read in full, and the result was left out on the other.
            0 => Turn::new().call(&id, "recall_result", &json!({ "result": "n3" })),
            _ => Turn::say("done"),
        };
    }
    if !said.contains("[revert-lesson]") {
        return match (calls("read"), calls("prune_result")) {
            (0, _) => read("a"),
            (_, 0) => Turn::new().call(&id, "prune_result", &json!({ "results": ["n3"] })),
            _ => Turn::new().call(
                &id,
                "revert_to_state",
                &json!({ "category": "failure", "step": "n1", "summary": "a is long" }),
            ),
        };
    }
    match (calls("read"), calls("merge_left_branch")) {
        (0, _) => read("b"),
        (_, 0) => Turn::new().call(&id, "merge_left_branch", &json!({ "branches": ["n3"] })),
        _ => Turn::new().call(
            &id,
            "return_to_branch",
            &json!({ "category": "tangent", "branch": "n3", "summary": "b is longer" }),
        ),
    }
}

/// Runs the story and kills it at the n-th write of its first process. Returns how it went, and whether it was killed.
async fn survive(inner: &Arc<dyn SessionStore>, left: usize, death: Death) -> (World, SessionId, bool) {
    let world = World::default();
    for path in ["a", "b"] {
        world.files.lock().unwrap().insert(path.to_owned(), path.repeat(900));
    }
    let agent = world.agent(model).approval(Approval::Always).with_reverts(reverts()).build().unwrap();
    let (mut id, mut killed) = (None, false);
    let mut left = Some(left);
    for _ in 0..20 {
        let lives = left.take();
        let store: Arc<dyn SessionStore> =
            Arc::new(Mortal::new(Arc::clone(inner), lives.unwrap_or(usize::MAX), death));
        let opened = match &id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let Ok(mut session) = opened else {
            killed = true;
            continue;
        };
        id = Some(session.id().clone());
        let cancel = Cancel::new();
        let begun = session.tree().len() > 1;
        let stop = if begun { session.resume(&cancel).await } else { session.prompt("go", &cancel).await };
        match stop {
            Ok(Stop::Decided(_)) => return (world, session.id().clone(), killed),
            Ok(Stop::Idle) if session.open_run().is_none() => return (world, session.id().clone(), killed),
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(_) => killed = true,
        }
    }
    panic!("the run never ended");
}

/// Returns what the log came to: the tree, and what was recorded of moves, merges and results.
async fn told(store: &Arc<dyn SessionStore>, id: &SessionId) -> String {
    store.verify(id).await.unwrap();
    let view = View::of(&store.load(id).await.unwrap()).unwrap();
    let tree = view.tree();
    let moves: Vec<String> =
        tree.moves().iter().map(|made| format!("{:?} {}->{}", made.kind, made.from, made.to)).collect();
    let merged = tree.nodes().filter(|(_, node)| matches!(node.link(), Link::Merge { .. }));
    let merged: Vec<String> =
        merged.map(|(id, node)| format!("{id} merges {:?}", node.link().further_parents())).collect();
    let pruned: Vec<String> =
        view.going_back().prunings.iter().map(|(node, since)| format!("{node} since {since}")).collect();
    let results: Vec<String> = tree
        .nodes()
        .filter(|(_, node)| node.message().role == Role::Tool)
        .map(|(id, node)| {
            let text: String = node.message().results().map(|result| result.text()).collect();
            format!("{id} {}", text.chars().take(120).collect::<String>())
        })
        .collect();
    format!("{}\n", [moves, merged, pruned, results].concat().join("\n"))
}

#[tokio::test]
async fn a_model_that_comes_and_goes_has_one_outcome_wherever_it_is_killed() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let (_, id, killed) = survive(&store, usize::MAX, Death::Lost).await;
    let undisturbed = told(&store, &id).await;
    assert!(!killed);
    expect_test::expect![[r#"
        ModelRevert n7->n1
        Merge n11->n11
        ModelRevert n14->n7
        n12 merges [n7]
        n3 since n5
        n3 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        n5 left out from now on: n3 (900 bytes of read); recall_result returns one again
        n7 revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands ther
        n9 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
        n11 merge applied: what came of n7 follows, 1 line
        n14 return applied (tangent): the conversation goes on from n7, the end of the branch that begins with n2; what came after n
        n16 what read returned then:
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    "#]]
    .assert_eq(&undisturbed);
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut tried = 0;
        for left in 0.. {
            let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            let (_, id, killed) = survive(&store, left, kind).await;
            assert_eq!(told(&store, &id).await, undisturbed, "killed at write {left}, {kind:?}");
            if !killed {
                break;
            }
            tried += 1;
        }
        assert!(tried > 15, "{tried} writes were tried");
    }
}

/// What is taken up without the words of what it left reads them when the model names a branch.
#[tokio::test]
async fn a_session_from_a_snapshot_merges_and_goes_back_to_what_it_has_not_read() {
    let world = World::default();
    let script = vec![
        Turn::say("The first way is long. It needs a lock.").call("a", "read", &json!({ "path": "a" })),
        Turn::new().call(
            "b",
            "revert_to_state",
            &json!({ "category": "failure", "step": "n1", "summary": "no" }),
        ),
        Turn::say("first"),
        Turn::new().call("c", "merge_left_branch", &json!({ "branches": ["n2"] })),
        Turn::say("second"),
    ];
    let agent = world.agent(replies(script)).with_reverts(reverts()).snapshot_after(0).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let id = session.id().clone();
    drop(session);
    drop(agent.open(store.clone(), &id).await.unwrap());
    let mut session = agent.open(store.clone(), &id).await.unwrap();
    assert!(!session.is_whole());
    session.prompt("and?", &Cancel::new()).await.unwrap();
    let sent = world.last_request();
    assert!(sent.contains("- The first way is long. (n2)"), "{sent}");
    assert!(session.is_whole());
}

/// Results are left out of what is sent, and of nothing else: what a run rests on reads the log.
#[tokio::test]
async fn what_is_left_out_is_told_and_evidence_stays() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "long ".repeat(200));
    let script = vec![
        Turn::new().call("a", "read", &json!({ "path": "a" })).call("s", "shell", &json!({ "path": "test" })),
        Turn::new().call("b", "prune_result", &json!({ "results": ["n3"] })),
        Turn::new().call("c", "prune_result", &json!({ "results": ["n1"] })),
        Turn::new().call("d", "merge_left_branch", &json!({ "branches": ["n1"] })),
        Turn::say("done"),
    ];
    let told: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    let agent = world.agent(replies(script)).approval(Approval::Always).with_reverts(reverts());
    let agent = agent.on_event(move |event| {
        let line = match event {
            Event::Pruned(record) => match &record.reason {
                None => format!(
                    "pruned {:?}",
                    record.results.iter().filter_map(|one| one.node).collect::<Vec<_>>()
                ),
                Some(reason) => reason.clone(),
            },
            Event::MergeRefused(refused) => refused.reason.clone(),
            Event::CacheBroken(lost) => format!("cache lost: {:?}", lost.cause),
            _ => return,
        };
        heard.lock().unwrap().push(line);
    });
    let agent = agent.build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let stop = session.prompt("go", &Cancel::new()).await.unwrap();
    expect_test::expect![[r#"
        pruned [n3]
        cache lost: Pruning
        pruning refused: n1 is no result of a tool; there is no result that could be left out now
        merge refused: n1 is on the current branch; there is no branch that could be merged now
    "#]]
    .assert_eq(&format!("{}\n", told.lock().unwrap().join("\n")));
    let Stop::Decided(decision) = stop else { panic!("{stop:?}") };
    assert_eq!(decision.evidence().len(), 1, "the command's result stands");
    assert!(world.last_request().contains("[pruned] 1000 bytes that read returned"));
    assert!(
        session.tree().nodes().any(|(_, node)| node.message().results().any(|one| one.text().len() == 1_000))
    );
}

/// A rule that leaves old results out and a model that asks for them go together.
#[tokio::test]
async fn what_a_rule_has_left_out_can_be_had_again() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "long ".repeat(200));
    let mut script = vec![Turn::new().call("a", "read", &json!({ "path": "a" }))];
    script.extend((0..3).map(|n| Turn::new().call(format!("s{n}"), "read", &json!({ "path": "b" }))));
    script.push(Turn::new().call("r", "recall_result", &json!({ "result": "n3" })));
    let mut render = RenderPolicy::default();
    render.prune = Some(PrunePolicy::new(1, 1, 500));
    let agent = world.agent(replies(script)).with_reverts(reverts().render(render)).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let sent = world.last_request();
    assert!(sent.contains("[pruned] 1000 bytes that read returned"), "{sent}");
    assert!(sent.contains("what read returned then:"), "{sent}");
    assert!(session.tree().moves().iter().all(|made| made.kind != MoveKind::ModelRevert));
}
