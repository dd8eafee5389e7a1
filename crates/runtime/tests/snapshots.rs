//! Sessions that are taken up from a snapshot: what they do next is what they would do with the whole log in memory.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::decision_objects::Decision;
use trunkline_runtime::message_tree::{Node, NodeId, notation};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{Entry, Verdict};
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{
    Agent, Approval, Cancel, CloseAs, EndTask, NewTask, Order, Reverts, RuntimeError, Session, View,
};

use crate::moves::{Act, act, carry_out};
use crate::story::{World, replies};

/// One of two sessions that live the same life.
struct Twin {
    world: World,
    agent: Agent,
    store: Arc<MemoryStore>,
    id: SessionId,
    session: Session,
}

/// What a twin shows after an act.
#[derive(Debug, PartialEq)]
struct Seen {
    trunk: Vec<NodeId>,
    rendered: Vec<String>,
    waiting: Vec<String>,
    open: bool,
    requests: usize,
}

impl Twin {
    async fn begin(script: &[u8], approval: Approval, after: u64) -> Self {
        let world = World::default();
        world.files.lock().unwrap().insert("a".to_owned(), "old ".repeat(200));
        let turns = script.iter().enumerate().map(|(place, kind)| reply(place, *kind));
        let reverts = Reverts::default().offer_merge().offer_return().offer_pruning();
        let agent = world.agent(replies(turns.collect())).approval(approval).with_reverts(reverts);
        let agent = agent.snapshot_after(after).build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let session = agent.start(store.clone(), "t", None).await.unwrap();
        Twin { world, agent, store, id: session.id().clone(), session }
    }

    async fn restart(mut self) -> Self {
        drop(self.session);
        self.session = self.agent.open(self.store.clone(), &self.id).await.unwrap();
        self
    }

    /// Decides on what waits, if anything does, goes on, and says how that went.
    async fn settle(&mut self, approve: bool) -> String {
        let waits = self.session.proposals().unsettled().next().map(|entry| entry.id);
        let verdict = if approve { Verdict::Approve } else { Verdict::Discard };
        let decided = match waits {
            Some(id) => Some(self.session.decide(id, verdict, "so").await),
            None => None,
        };
        format!("{decided:?} {:?}", self.session.resume(&Cancel::new()).await.map(|stop| stop.to_string()))
    }

    /// Ends the run as a person would, and goes on as far as that lets it.
    async fn close(&mut self, how: u8) -> String {
        let reason = "enough".to_owned();
        let how = match how {
            0 => CloseAs::Checkpoint { words: reason },
            1 => CloseAs::Retry { reason },
            _ => CloseAs::Abandon { reason },
        };
        let closed = self.session.close_run(how).await;
        closed.map_or_else(|fault| fault.to_string(), |decision| decision.verdict().to_string())
    }

    /// Carries an order out, and says why not if it is refused; names and times differ from one twin to the other.
    async fn order(&mut self, order: Order) -> String {
        self.session.order(order).await.map_or_else(|fault| fault.to_string(), |_| "done".to_owned())
    }

    fn seen(&self) -> Seen {
        let session = &self.session;
        Seen {
            trunk: session.tree().trunk().ids().to_vec(),
            rendered: session.rendered().iter().map(|one| serde_json::to_string(one).unwrap()).collect(),
            waiting: session
                .proposals()
                .unsettled()
                .map(|entry| format!("{} {}", entry.id, entry.state))
                .collect(),
            open: session.open_run().is_some(),
            requests: self.world.requests.lock().unwrap().len(),
        }
    }

    fn requests(&self) -> Vec<String> {
        let requests = self.world.requests.lock().unwrap();
        requests.iter().map(|request| format!("{:?}", (request.messages.to_vec(), &request.tools))).collect()
    }

    fn verdicts(&self) -> Vec<String> {
        let decisions = self.session.decisions();
        let told = |one: &Decision| format!("{} {:?}", one.verdict(), one.cites());
        let mut told: Vec<String> = decisions.iter().map(told).collect();
        told.sort();
        told
    }
}

fn reply(place: usize, kind: u8) -> Turn {
    let id = format!("c{place}");
    match kind {
        0 => Turn::new().call(id, "read", &json!({ "path": "a" })),
        1 => Turn::new().call(id, "shell", &json!({ "path": "rm" })),
        2 | 3 => Turn::new().call(id, "edit", &json!({ "path": "a", "text": format!("new {place}") })),
        4 => Turn::new().call(
            id,
            "revert_to_state",
            &json!({
                "category": "failure", "step": format!("n{}", place % 12), "summary": "it failed",
            }),
        ),
        8 => Turn::new().call(
            id,
            "resolve",
            &json!({ "action": "apply", "reason": "it is right", "id": format!("p{}", 1 + place % 5) }),
        ),
        10 => Turn::new().call(
            id,
            "return_to_branch",
            &json!({
                "category": "tangent", "branch": place % 16, "summary": "the other way",
            }),
        ),
        11 => Turn::new().call(id, "merge_left_branch", &json!({ "branches": [place % 16, place % 7] })),
        12 => {
            let results: Vec<usize> = vec![3 + place % 9];
            let recalled = json!({ "result": 3 + place % 5 });
            Turn::new().call(id, "prune_result", &json!({ "results": results })).call(
                format!("r{place}"),
                "recall_result",
                &recalled,
            )
        }
        _ => Turn::say(format!("Finding {place} is this. It is good.")),
    }
}

/// What happens to both.
#[derive(Clone, Debug)]
enum Life {
    Act(Act),
    Restart,
    Close(u8),
    Task { retries: u32, tokens: u64 },
    Done,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        6 => act().prop_map(Life::Act),
        2 => Just(Life::Restart),
        1 => (0_u8..3).prop_map(Life::Close),
        1 => (0_u32..3, 0_u64..40_000).prop_map(|(retries, tokens)| Life::Task { retries, tokens }),
        1 => Just(Life::Done),
    ]
}

async fn live(acts: Vec<(Life, bool)>, script: &[u8], approval: Approval) -> Result<(), TestCaseError> {
    let fail = |fault: RuntimeError| TestCaseError::fail(fault.to_string());
    let mut whole = Twin::begin(script, approval, u64::MAX).await;
    let mut part = Twin::begin(script, approval, 0).await;
    for (act, approve) in acts {
        match act {
            Life::Act(Act::Restart) | Life::Restart => {
                // The first makes a snapshot, the second is taken up from it.
                (whole, part) = (whole.restart().await.restart().await, part.restart().await.restart().await);
                prop_assert!(whole.session.is_whole());
            }
            Life::Close(how) => {
                prop_assert_eq!(whole.close(how).await, part.close(how).await);
                (whole, part) = (whole.restart().await.restart().await, part.restart().await.restart().await);
            }
            Life::Task { retries, tokens } => {
                let mut task = NewTask::new("write a");
                (task.bounds.retries, task.bounds.tokens) = (Some(retries), Some(tokens));
                let order = Order::GiveTask { task };
                prop_assert_eq!(whole.order(order.clone()).await, part.order(order).await);
            }
            Life::Done => {
                let order = Order::EndTask { end: EndTask::Done { reason: "it is there".to_owned() } };
                prop_assert_eq!(whole.order(order.clone()).await, part.order(order).await);
            }
            Life::Act(act) => {
                // What the tree is asked for has to be there in both, so that both pick the same.
                let (one, other) =
                    (carry_out(&mut whole.session, &act).await?, carry_out(&mut part.session, &act).await?);
                prop_assert_eq!(one, other);
            }
        }
        prop_assert_eq!(whole.settle(approve).await, part.settle(approve).await);
        prop_assert_eq!(whole.seen(), part.seen());
    }
    prop_assert_eq!(whole.requests(), part.requests());
    prop_assert_eq!(whole.world.effects(), part.world.effects());
    part.session.load_whole().await.map_err(fail)?;
    let printed = |twin: &Twin| notation::print_tree(twin.session.tree());
    prop_assert_eq!(printed(&whole), printed(&part));
    prop_assert_eq!(whole.verdicts(), part.verdicts());
    outlined(&whole.store, &whole.id).await
}

/// Without what was said a reader is told the same of the rest, and what was said can be read node by node.
async fn outlined(store: &MemoryStore, id: &SessionId) -> Result<(), TestCaseError> {
    let fail = |fault: RuntimeError| TestCaseError::fail(fault.to_string());
    let log = store.load(id).await.expect("it is there");
    let whole = View::of(&log).map_err(fail)?;
    let mut outline = View::outline(store, &log.info).await.map_err(fail)?;
    prop_assert!(outline.tree().nodes().skip(1).all(|(_, node)| node.is_bare()));
    let told = |view: &View| {
        let tree = view.tree();
        let shape: Vec<_> =
            tree.nodes().map(|(id, node)| (id, node.parent(), node.at(), node.link().clone())).collect();
        let revert = (
            view.merges(),
            view.notes(),
            view.reverts(),
            &view.going_back().steps.told,
            &view.going_back().breaks,
        );
        let proposed: Vec<_> = view.proposed_reverts().collect();
        let entries: Vec<_> = view.proposals().iter().map(|entry| (entry, view.is_call(entry.id))).collect();
        let rules: Vec<_> = view.rules().iter().collect();
        let runs = (view.verdicts(), view.open_run(), view.open_rollback());
        let head =
            (tree.trunk().ids(), tree.moves(), view.names(), view.asked(), &view.going_back().prunings);
        format!("{shape:?} {head:?} {revert:?} {proposed:?} {entries:?} {rules:?} {runs:?}")
    };
    prop_assert_eq!(told(&outline), told(&whole));
    let nodes: Vec<NodeId> = whole.tree().nodes().map(|(id, _)| id).collect();
    let (some, others): (Vec<NodeId>, Vec<NodeId>) = nodes.iter().partition(|id| id.index() % 3 == 0);
    outline.fill(store, &some).await.map_err(fail)?;
    prop_assert!(some.iter().all(|id| outline.tree().node(*id).is_ok_and(|node| !node.is_bare())));
    prop_assert!(others.iter().all(|id| outline.tree().node(*id).is_ok_and(Node::is_bare)));
    // In whatever order, and also what was read before.
    outline.fill(store, &nodes.iter().rev().copied().collect::<Vec<_>>()).await.map_err(fail)?;
    prop_assert_eq!(notation::print_tree(outline.tree()), notation::print_tree(whole.tree()));
    let missing = NodeId::new(nodes.len() as u32);
    prop_assert!(outline.fill(store, &[missing]).await.is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_session_from_a_snapshot_goes_on_as_one_from_the_log(
        acts in prop::collection::vec((life(), any::<bool>()), 1..24),
        script in prop::collection::vec(0_u8..13, 0..32),
        approval in prop_oneof![Just(Approval::Person), Just(Approval::Always), Just(Approval::Model)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(live(acts, &script, approval))?;
    }
}

#[tokio::test]
async fn what_stands_on_branches_that_were_left_is_read_when_it_is_asked_for() {
    let mut twin = Twin::begin(&[9; 12], Approval::Always, 0).await;
    let fork = twin.session.tree().head();
    for _ in 0..3 {
        twin.session.prompt("try it", &Cancel::new()).await.unwrap();
        twin.session.revert(fork, Some("no")).await.unwrap();
    }
    twin.session.prompt("once more", &Cancel::new()).await.unwrap();
    let printed = notation::print_tree(twin.session.tree());
    let rendered = twin.session.rendered();
    // What the session has kept itself, as the head was moved and as its drive ended.
    let mut twin = twin.restart().await;
    assert!(!twin.session.is_whole());
    assert_eq!(twin.session.rendered(), rendered);
    let bare = |session: &Session| session.tree().nodes().filter(|(_, node)| node.is_bare()).count();
    assert_eq!((bare(&twin.session), twin.session.decisions().iter().count()), (5, 2));
    // A person goes back to the first branch.
    twin.session.go(NodeId::new(2)).await.unwrap();
    assert!(twin.session.is_whole());
    assert!(notation::print_tree(twin.session.tree()).starts_with(&printed));
    assert_eq!((bare(&twin.session), twin.session.decisions().iter().count()), (0, 4));
}

/// The notes of a branch that came back are not in the snapshot that was kept before.
#[tokio::test]
async fn a_branch_that_came_back_is_whole_in_the_next_snapshot() {
    // One run of eight edits; an answer elsewhere; the run goes on from its middle and steps back to its first edit.
    let mut script: Vec<u8> = [2; 8].into();
    script.extend([9, 9, 0, 0, 0, 0, 0, 4, 9]);
    let mut twin = Twin::begin(&script, Approval::Always, 1).await;
    twin.session.prompt("edit it", &Cancel::new()).await.unwrap();
    twin.session.revert(NodeId::ROOT, None).await.unwrap();
    twin.session.prompt("something else", &Cancel::new()).await.unwrap();
    let mut twin = twin.restart().await;
    let staged = twin.session.proposals().iter().count();
    assert_eq!((twin.session.is_whole(), staged), (false, 1), "of those that were left the last is kept");
    twin.session.go(NodeId::new(15)).await.unwrap();
    let mut twin = twin.restart().await;
    assert!(twin.session.is_whole(), "most of it stands on the trunk");
    twin.session.resume(&Cancel::new()).await.unwrap();
    let whole = twin.seen();
    let twin = twin.restart().await;
    assert!(!twin.session.is_whole(), "most of it was left again");
    assert_eq!(twin.seen(), whole);
    let on_trunk = |entry: &&Entry<serde_json::Value>| {
        let node = entry.proposal.call.as_ref().map(|call| call.node.parse().unwrap());
        node.is_some_and(|node| twin.session.tree().is_on_trunk(node))
    };
    assert_eq!(twin.session.proposals().iter().filter(on_trunk).count(), 1);
}

#[tokio::test]
async fn a_snapshot_that_does_not_fit_is_passed_over() {
    use trunkline_runtime::session_store::Snapshot;
    let mut twin = Twin::begin(&[9; 12], Approval::Always, u64::MAX).await;
    twin.session.prompt("try it", &Cancel::new()).await.unwrap();
    let seen = twin.seen();
    let (store, id) = (twin.store.clone(), twin.id.clone());
    drop(twin.session);
    let info = store.info(&id).await.unwrap();
    for bytes in
        [vec![], vec![0], vec![1, 0], vec![255; 40], vec![1, 1, 1, 1, 0, 1, 9, 1, 1, 0], vec![3, 0, 4, 0]]
    {
        let lease = store.lease(&id).await.unwrap();
        store.keep_snapshot(&lease, Snapshot::new(info.records, info.digest, 1, bytes)).await.unwrap();
        drop(lease);
        let session = twin.agent.open(store.clone(), &id).await.unwrap();
        assert!(session.is_whole());
        twin.session = session;
        assert_eq!(twin.seen(), seen);
        drop(twin.session);
    }
}
