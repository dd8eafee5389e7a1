//! What holds after any sequence of turns, reverts, undos, forks, merges, compactions and restarts.
//!
//! The acts are in `tree_world`; the runtime's own have their laws in `crates/runtime/tests/laws.rs`.
//!
//! `TRUNKLINE_TREE_CASES` asks for more cases than usual, `PROPTEST_RNG_SEED` for those of another seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::runtime::{Builder, Runtime};
use trunkline_message_tree::{Message, NodeId, ToolSpec, notation};
use trunkline_providers::{Request, Wire};
use trunkline_runtime::revert::{
    NoteKind, OwnBranches, Prompts, mark, merge_tool_spec, note_states, outline_tool_spec, prune_tool_spec,
    return_tool_spec, tool_spec, turn,
};
use trunkline_sanitize::{RequestFacts, WireRules, sanitize, violations};
use trunkline_session_store::{MemoryStore, SqliteStore};

use crate::encodes::services;
use crate::tree_world::{Act, Told, Who, World, acts, moves, origin};

/// How many cases each law has: the last word is the environment's. On disk a case costs more.
#[expect(clippy::print_stderr, reason = "whoever sees a law fail has to know the seed")]
fn enough(usual: u32) -> ProptestConfig {
    let asked = std::env::var("TRUNKLINE_TREE_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        // Nothing else here is random.
        RngSeed::Random => RandomState::new().hash_one(usual),
    };
    eprintln!("PROPTEST_RNG_SEED={seed}");
    ProptestConfig { cases: asked.unwrap_or(usual), rng_seed: RngSeed::Fixed(seed), ..config }
}

fn tokio() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn in_memory() -> World {
    World::begin(Arc::new(MemoryStore::new()), tokio())
}

/// The list of a world, made legal for a wire and encoded on it.
fn body(
    world: &World,
    name: &str,
    model: &str,
    wire: &dyn Wire,
    list: Vec<Message>,
) -> Result<String, TestCaseError> {
    let rules = WireRules::named(name).expect("the set exists");
    let mut facts = RequestFacts::default();
    facts.origin = Some(origin());
    facts.tools_offered = Some(true);
    let sanitized = sanitize(list, &rules, &facts);
    let after = sanitized.facts(&facts);
    let broken = violations(&sanitized.messages, &rules, &after);
    let tree = || notation::print_tree(&world.tree);
    prop_assert!(broken.is_empty(), "{}: {:?}\n{}", name, broken, tree());
    let mut request = Request::new(model, sanitized.messages.into_owned());
    request.tools = vec![tool_spec(), outline_tool_spec(), merge_tool_spec(), prune_tool_spec()];
    request.tools.push(return_tool_spec(Prompts::Refuse));
    request.tools.push(ToolSpec::new("read_file", "", serde_json::json!({ "type": "object" })));
    let encoded = wire.encode(&request);
    let encoded = encoded.map_err(|fault| {
        TestCaseError::fail(format!("{name}: {} refuses: {fault}\n{}", wire.name(), tree()))
    })?;
    Ok(String::from_utf8(encoded.body.to_vec()).expect("JSON is UTF-8"))
}

/// The prompt of a world as a service gets it.
fn prompt(world: &World, service: usize) -> Result<String, TestCaseError> {
    let services = services();
    let (name, model, wire) = &services[service % services.len()];
    body(world, name, model, &**wire, mark(world.rendered()))
}

/// The trunk of a world without notes, as two services get it.
fn trunk(world: &World) -> Result<Vec<String>, TestCaseError> {
    let list: Vec<Message> = world.tree.trunk().items().map(|item| item.message().clone()).collect();
    let bodies = services().into_iter().filter(|(name, ..)| matches!(*name, "anthropic" | "openai-chat"));
    bodies.map(|(name, model, wire)| body(world, name, model, &*wire, list.clone())).collect()
}

fn check_told(world: &World) -> Result<(), TestCaseError> {
    let Told { tree, notes, records, prunings } = world.told();
    prop_assert!(tree.entries().eq(world.tree.entries()));
    prop_assert_eq!(tree.trunk().ids(), world.tree.trunk().ids());
    prop_assert_eq!(
        (tree.head(), tree.epoch(), tree.covering()),
        (world.tree.head(), world.tree.epoch(), world.tree.covering())
    );
    prop_assert_eq!(tree.plan_undo(world.at()), world.tree.plan_undo(world.at()));
    prop_assert_eq!(tree.plan_redo(world.at()), world.tree.plan_redo(world.at()));
    prop_assert_eq!(&notes, &world.notes);
    prop_assert_eq!(&records, &world.records);
    prop_assert_eq!(&prunings, &world.prunings);
    let now = turn(&tree);
    let states = note_states(&tree, &notes, &world.policy, now);
    prop_assert_eq!(states, note_states(&world.tree, &world.notes, &world.policy, turn(&world.tree)));
    Ok(())
}

/// Returns the ends of the branches that a model is told of as its own.
fn own_branches(world: &World) -> Vec<NodeId> {
    OwnBranches::of(&world.tree, &world.notes, &world.records).newest()
}

/// No result is in a prompt but those that stand on the trunk, and so does the call of each.
fn check_results(world: &World, body: &str) -> Result<(), TestCaseError> {
    for answered in &world.answered {
        if body.contains(&answered.words) {
            let stands = world.tree.is_on_trunk(answered.call) && world.tree.is_on_trunk(answered.result);
            prop_assert!(stands, "{:?}\n{}", answered, notation::print_tree(&world.tree));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(enough(64))]

    #[test]
    fn no_node_is_ever_lost_or_changed(acts in acts()) {
        let mut world = in_memory();
        let mut seen = vec![Message::system("be brief")];
        seen[0].node = Some(NodeId::ROOT);
        for act in &acts {
            world.play(act);
            let now: Vec<Message> = world.tree.nodes().map(|(_, node)| node.message().clone()).collect();
            prop_assert_eq!(&now[..seen.len()], &seen[..]);
            seen = now;
        }
        let told = world.told();
        prop_assert!(told.tree.nodes().map(|(_, node)| node.message()).eq(&seen));
    }

    #[test]
    fn every_state_is_legal_on_every_wire_and_holds_no_result_of_another_branch(acts in acts()) {
        let mut world = in_memory();
        for (step, act) in acts.iter().enumerate() {
            world.play(act);
            // All of them in turn; the last state is tried on all.
            check_results(&world, &prompt(&world, step)?)?;
        }
        for service in 0..services().len() {
            check_results(&world, &prompt(&world, service)?)?;
        }
    }

    #[test]
    fn undo_restores_the_trunk_byte_for_byte_and_redo_what_was_before_it(
        acts in acts(),
        moved in moves(),
        later in prop::collection::vec(prop_oneof![Just(Act::Prompt), Just(Act::Answer(0))], 0..3),
        restarts in any::<bool>(),
    ) {
        let mut world = in_memory();
        acts.iter().for_each(|act| world.play(act));
        // A model's revert comes with the turn that asks for it; that is what an undo goes back to.
        let count = world.tree.moves().len();
        if let Act::Model { .. } = moved {
            world.play(&moved);
            if world.tree.moves().len() > count {
                world.play(&Act::Undo);
            }
        }
        let (before, rendered, count) = (trunk(&world)?, world.rendered(), world.tree.moves().len());
        let ids = world.tree.trunk().ids().to_vec();
        match moved {
            Act::Model { .. } => world.play(&Act::Redo),
            ref other => world.play(other),
        }
        if world.tree.moves().len() == count {
            return Ok(());
        }
        let (after, there) = (trunk(&world)?, world.tree.trunk().ids().to_vec());
        let shown = world.rendered();
        if restarts {
            world.play(&Act::Restart);
        }
        later.iter().for_each(|act| world.play(act));
        world.play(&Act::Undo);
        prop_assert_eq!(world.tree.trunk().ids(), &ids[..]);
        prop_assert_eq!(trunk(&world)?, before);
        if later.is_empty() {
            // The notes are those of before, but for the one that tells of the undo, and older ones of its kind that go for it.
            let undone = format!("[{}]", NoteKind::Undone.label());
            let of_undos = |text: &str| text.starts_with(&undone) || text.starts_with("[revert-note]");
            let without = |list: Vec<Message>| -> Vec<Message> {
                list.into_iter().filter(|message| !of_undos(&message.text())).collect()
            };
            prop_assert_eq!(without(world.rendered()), without(rendered));
            world.play(&Act::Redo);
            prop_assert_eq!(world.tree.trunk().ids(), &there[..]);
            prop_assert_eq!(trunk(&world)?, after);
            prop_assert_eq!(without(world.rendered()), without(shown));
        }
    }

    /// Who left a node is seen here from the trunk before and after each act, and not from the log.
    #[test]
    fn a_model_never_reaches_a_branch_that_it_did_not_leave(acts in acts()) {
        let mut world = in_memory();
        for act in &acts {
            let (before, count) = (world.left_by.clone(), world.tree.moves().len());
            world.reached.clear();
            let listed = own_branches(&world);
            world.play(act);
            for node in &world.reached {
                prop_assert_eq!(before.get(node), Some(&Who::Model), "{}\n{}", node, notation::print_tree(&world.tree));
            }
            if let (Act::Own(_), true) = (act, world.reached.is_empty()) {
                prop_assert_eq!(world.tree.moves().len(), count, "a request that is refused changes nothing");
            }
            for tip in listed {
                prop_assert_eq!(before.get(&tip), Some(&Who::Model));
            }
        }
    }

    #[test]
    fn a_restart_tells_nothing_new(acts in acts()) {
        let mut world = in_memory();
        for act in &acts {
            world.play(act);
            check_told(&world)?;
        }
    }
}

proptest! {
    #![proptest_config(enough(8))]

    #[test]
    fn a_restart_from_the_disk_tells_nothing_new(acts in acts()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tokio = tokio();
        let store = tokio.block_on(SqliteStore::open(folder.path().join("sessions.db"))).expect("a store");
        let mut world = World::begin(Arc::new(store), tokio);
        for act in &acts {
            world.play(act);
        }
        check_told(&world)?;
        let body = prompt(&world, 0)?;
        world.play(&Act::Restart);
        prop_assert_eq!(prompt(&world, 0)?, body);
        prop_assert!(world.tree.is_on_trunk(NodeId::ROOT));
    }
}
