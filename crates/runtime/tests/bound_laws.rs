//! Whatever happens to a conversation: a service that takes signed reasoning back only behind what it was written behind refuses
//! nothing, and gets all back that still stands there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::NodeId;
use trunkline_runtime::providers::{Effort, Thinking};
use trunkline_runtime::revert::{CompactPolicy, Decay, PrunePolicy, RenderPolicy};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, Compaction, Limits, Reverts, RuntimeError};

use crate::bound_reasoning::BINDS;
use crate::kills::{Death, Mortal};
use crate::story::{World, tools};
use crate::strict_service::{Block, FREE, Speaks, Strict};

/// What happens between two drives.
#[derive(Clone, Debug)]
enum Act {
    Prompt,
    Revert(u32),
    Undo,
    Redo,
    Compact,
    /// Another process takes it up, maybe with another agent.
    Restart(How),
    /// A process takes it up, is asked something, and dies at one of its writes.
    Die(usize, Death),
}

/// How an agent is built.
#[derive(Copy, Clone, Debug, Default)]
struct How {
    free: bool,
    edits: bool,
    brief: bool,
}

fn how() -> impl Strategy<Value = How> {
    let seldom = || prop::bool::weighted(0.25);
    (seldom(), seldom(), seldom()).prop_map(|(free, edits, brief)| How { free, edits, brief })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Prompt),
        3 => (0_u32..30).prop_map(Act::Revert),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
        1 => Just(Act::Compact),
        2 => how().prop_map(Act::Restart),
        2 => (0_usize..9, prop_oneof![Just(Death::Lost), Just(Death::Kept), Just(Death::Fenced)])
            .prop_map(|(left, death)| Act::Die(left, death)),
    ]
}

/// What the model does when it is asked for the nth time, by a number.
fn answer(speaks: Speaks, number: u8, asked: usize) -> Vec<Block> {
    let read = || Block::Call("read", json!({ "path": "a" }));
    let say = || Block::Say(format!("answer {asked}"));
    match number {
        0..=2 => vec![Block::Think, say()],
        3..=5 => vec![Block::Think, read()],
        6 => vec![say()],
        7 => vec![read()],
        8 if speaks == Speaks::Messages => vec![Block::Think, say(), Block::Think, read(), read()],
        8 => vec![Block::Think, say(), read(), read()],
        _ => {
            let step =
                json!({ "category": "failure", "step": format!("n{}", asked % 9), "summary": "not so" });
            vec![Block::Think, Block::Call("revert_to_state", step)]
        }
    }
}

fn agent(
    service: &Strict,
    world: &World,
    reverts: &Reverts,
    numbers: &[u8],
    asked: &Arc<AtomicUsize>,
    how: How,
) -> Agent {
    let (numbers, asked, speaks) = (numbers.to_vec(), Arc::clone(asked), service.speaks);
    let script = move |_: &Value| {
        let asked = asked.fetch_add(1, Ordering::SeqCst);
        answer(speaks, numbers[asked % numbers.len()], asked)
    };
    let mut limits = Limits::default();
    limits.turns = 6;
    let wanted = move |name: &str| name == "read" || (how.edits && name == "edit");
    let mut agent = Agent::builder(service.model(if how.free { FREE } else { BINDS }, script))
        .system("You work on files.")
        .tools(tools(world).into_iter().filter(|tool| wanted(&tool.spec().name)))
        .thinking(Thinking::Effort(Effort::Medium))
        .limits(limits)
        .with_reverts(reverts.clone())
        // What is taken up has the records of the trunk alone.
        .snapshot_after(0)
        .with_compaction(Compaction::new(CompactPolicy::new(4_000).keep(20, 1)));
    if speaks == Speaks::Responses && !how.free {
        agent = agent.bound_reasoning(true);
    }
    if how.brief {
        let field = if speaks == Speaks::Messages { "system" } else { "instructions" };
        agent = agent.extra(Map::from_iter([(field.to_owned(), json!("Be brief."))]));
    }
    agent.build().unwrap()
}

/// Plays it all, and says what went wrong.
async fn play(speaks: Speaks, reverts: Reverts, numbers: Vec<u8>, acts: Vec<Act>) -> Result<usize, String> {
    let service = Strict::new(speaks);
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(20));
    let store = Arc::new(MemoryStore::new());
    let asked = Arc::new(AtomicUsize::new(0));
    let mut now = How::default();
    let build = |how| agent(&service, &world, &reverts, &numbers, &asked, how);
    let mut session = build(now).start(store.clone(), "bound", None).await.unwrap();
    let id = session.id().clone();
    for act in acts {
        let done = match act {
            Act::Prompt => session.prompt("go on", &Cancel::new()).await.map(drop),
            Act::Revert(to) => session.revert(NodeId::new(to), Some("not so")).await,
            Act::Undo => session.undo().await,
            Act::Redo => session.redo().await,
            Act::Compact => session.compact(&Cancel::new()).await.map(drop),
            Act::Restart(how) => {
                now = how;
                drop(session);
                session = build(now).open(store.clone(), &id).await.unwrap();
                Ok(())
            }
            Act::Die(left, death) => {
                drop(session);
                let mortal = Arc::new(Mortal::new(store.clone(), left, death));
                if let Ok(mut mortal) = build(now).open(mortal, &id).await {
                    let _ = mortal.prompt("go on", &Cancel::new()).await;
                }
                session = build(now).open(store.clone(), &id).await.unwrap();
                session.resume(&Cancel::new()).await.map(drop)
            }
        };
        match done {
            Ok(()) | Err(RuntimeError::Refused { .. }) => {}
            Err(fault) => return Err(format!("{fault}: {:?}", std::error::Error::source(&fault))),
        }
    }
    if let Some(refused) = service.refused().first() {
        return Err(format!("refused: {refused}"));
    }
    let seen = service.seen();
    match seen.iter().find(|seen| !seen.missed.is_empty()) {
        Some(seen) => Err(format!("{:?} could have gone back: {}", seen.missed, seen.body)),
        None => Ok(seen.iter().map(|seen| seen.back.len()).sum()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_refused_and_nothing_is_kept_back(
        responses in any::<bool>(),
        numbers in proptest::collection::vec(0..10_u8, 1..12),
        acts in proptest::collection::vec(act(), 1..14),
        (exact, prunes) in any::<(bool, bool)>(),
    ) {
        let mut policy = RenderPolicy::default();
        (policy.lesson_window_turns, policy.lesson_window_count) = (2, 0);
        policy.prune = prunes.then(|| PrunePolicy::new(3, 2, 50));
        let decay = if exact { Decay::Exact } else { Decay::CacheMinding };
        let reverts = Reverts::default().render(policy).bound_decay(decay);
        let speaks = if responses { Speaks::Responses } else { Speaks::Messages };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let played = runtime.block_on(play(speaks, reverts, numbers, acts));
        prop_assert!(played.is_ok(), "{}", played.unwrap_err());
    }
}
