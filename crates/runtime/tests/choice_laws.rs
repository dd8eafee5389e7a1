//! Whatever a model answers while something waits for it, and whenever its process dies: it is held to it for no more turns
//! than was said, nothing else is refused for that, and the drive comes to an end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::message_tree::{StopReason, ToolChoice};
use trunkline_runtime::providers::{
    Dialect, Gemini, Ollama, OpenAiChat, ProviderError, Request, Scripted, Thinking, Turn,
};
use trunkline_runtime::resolve_queue::{FAILED_ATTEMPTS, Policy};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, Limits, RuntimeError, Stop};

use crate::kills::{Death, Mortal};
use crate::story::{World, tools};

/// What a model does in one turn.
#[derive(Clone, Copy, Debug)]
enum Act {
    Edit(usize),
    Fails,
    Read,
    Resolve { apply: bool, id: Option<u32> },
    Both,
    Misspelt,
    Words,
    Nothing,
    Limit,
    Break,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0_usize..3).prop_map(Act::Edit),
        1 => Just(Act::Fails),
        4 => Just(Act::Read),
        2 => (any::<bool>(), prop::option::of(0_u32..4)).prop_map(|(apply, id)| Act::Resolve { apply, id }),
        1 => Just(Act::Both),
        1 => Just(Act::Misspelt),
        3 => Just(Act::Words),
        1 => Just(Act::Nothing),
        1 => Just(Act::Limit),
        1 => Just(Act::Break),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        (0_u32..4).prop_map(|turns| Policy::AtOnce { turns }),
        (0_u32..3, 0_u32..4).prop_map(|(patience, turns)| Policy::SoftFirst { patience, turns }),
    ]
}

fn turn(act: Act, number: usize) -> Turn {
    let id = format!("c{number}");
    let edit = |path: &str, text: &str| json!({ "path": path, "text": text });
    let read = json!({ "path": "b" });
    match act {
        Act::Edit(path) => {
            Turn::new().call(id, "edit", &edit(["a", "c", "d"][path], &format!("new {number}")))
        }
        Act::Fails => Turn::new().call(id, "edit", &edit("a", "unwritable")),
        Act::Read => Turn::say("I look.").call(id, "read", &read),
        Act::Resolve { apply, id: named } => {
            let mut arguments = json!({ "action": if apply { "apply" } else { "discard" }, "reason": "r" });
            if let Some(named) = named {
                arguments["id"] = json!(format!("p{named}"));
            }
            Turn::new().call(id, "resolve", &arguments)
        }
        Act::Both => Turn::new().call(format!("{id}x"), "read", &read).call(
            id,
            "resolve",
            &json!({ "action": "apply", "reason": "r" }),
        ),
        Act::Misspelt => Turn::new().call_raw(id, "resolve", r#"{"act":"apply"}"#),
        Act::Words => Turn::say("Shall I?"),
        Act::Nothing => Turn::new(),
        Act::Limit => Turn::say("Half of").stop(StopReason::MaxTokens),
        Act::Break => Turn::say("I").fail(ProviderError::Cut),
    }
}

const WIRES: [&str; 5] = ["anthropic", "chat", "llama.cpp", "gemini", "ollama"];

fn on(wire: &str, model: Scripted) -> Scripted {
    match wire {
        "anthropic" => model,
        "chat" => model.on(OpenAiChat::default()),
        "llama.cpp" => model.on(OpenAiChat::new(Dialect::llama_cpp())),
        "gemini" => model.on(Gemini::new()),
        _ => model.on(Ollama::new()),
    }
}

fn is_held(request: &Request) -> bool {
    request.tool_choice != ToolChoice::Auto || request.tools.len() == 1
}

async fn live(
    acts: Vec<Act>,
    policy: Policy,
    wire: &str,
    thinking: bool,
    deaths: Vec<usize>,
) -> Result<(), TestCaseError> {
    let fail = |fault: &dyn std::fmt::Display| TestCaseError::fail(fault.to_string());
    let world = World::default();
    world.files.lock().unwrap().insert("b".to_owned(), "beta".to_owned());
    let inner = Arc::new(MemoryStore::new());
    let next = Arc::new(AtomicUsize::new(0));
    let held: Arc<Mutex<usize>> = Arc::default();
    let (counted, script) = (Arc::clone(&held), acts);
    let model = Scripted::new("test", "script", move |request: &Request| {
        *counted.lock().unwrap() += usize::from(is_held(request));
        let at = next.fetch_add(1, Ordering::SeqCst);
        script.get(at).map_or_else(|| Turn::say("done"), |act| turn(*act, at))
    });
    let mut limits = Limits::default();
    limits.turns = 60;
    let agent = Agent::builder(on(wire, model)).system("You work.").approval(Approval::Model).limits(limits);
    let agent = agent.choice_policy(policy).tools(tools(&world).into_iter().take(2));
    let agent = if thinking { agent.thinking(Thinking::Budget(1024)) } else { agent };
    let agent = agent.build().map_err(|fault| fail(&fault))?;

    let session = agent.start(inner.clone(), "t", None).await.map_err(|fault| fail(&fault))?;
    let id = session.id().clone();
    drop(session);
    for left in deaths.into_iter().chain([usize::MAX]) {
        let death = [Death::Lost, Death::Kept, Death::Fenced][left % 3];
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), left, death));
        let Ok(mut session) = agent.open(store, &id).await else { continue };
        match session.prompt("go", &Cancel::new()).await {
            Ok(Stop::Limit(limit)) => {
                // Only a model that keeps running into its own limit goes on for so long.
                prop_assert_eq!(limit, trunkline_runtime::Limit::Output);
            }
            Ok(_) | Err(RuntimeError::Provider(ProviderError::Cut) | RuntimeError::NothingCame { .. }) => {}
            Err(fault) => prop_assert!(left < usize::MAX, "{}", fault),
        }
    }
    let mut session = agent.open(inner.clone(), &id).await.map_err(|fault| fail(&fault))?;
    let mut rested = false;
    for _ in 0..16 {
        // Breaks of the script come as errors; there are fewer than this.
        match session.resume(&Cancel::new()).await {
            Ok(Stop::Waiting(_) | Stop::Decided(_) | Stop::Idle) => {
                rested = true;
                break;
            }
            Ok(_) | Err(RuntimeError::Provider(ProviderError::Cut) | RuntimeError::NothingCame { .. }) => {}
            Err(fault) => return Err(fail(&fault)),
        }
    }
    prop_assert!(rested, "the drive ends by itself");
    prop_assert!(session.choices().in_flight().is_none(), "every turn was reported");

    let (Policy::AtOnce { turns } | Policy::SoftFirst { turns, .. }) = policy else { return Ok(()) };
    let attempts =
        |entry: &trunkline_runtime::resolve_queue::Entry<_>| (entry.attempts + 1).min(FAILED_ATTEMPTS);
    let most: u32 = session.proposals().iter().map(|entry| attempts(entry) * turns).sum();
    let held = *held.lock().unwrap();
    prop_assert!(held <= most as usize, "{} turns held, {} were said", held, most);

    for (_, node) in session.tree().nodes() {
        for call in node.message().calls().filter(|call| call.name != "resolve") {
            let mut results = session.tree().nodes().flat_map(|(_, node)| node.message().results());
            let Some(result) = results.find(|result| result.call_id == call.id) else { continue };
            // What was cut off with its reply or its process is the only call that has no result of its own.
            let text = result.text();
            let done = !result.is_error
                || text.starts_with("not run: the reply")
                || text.contains("outcome unknown");
            prop_assert!(done, "{}: {}", call.name, text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_model_is_held_for_no_more_turns_than_was_said_and_the_drive_ends(
        acts in prop::collection::vec(act(), 0..14),
        policy in policy(),
        wire in prop::sample::select(&WIRES[..]),
        thinking in prop::bool::weighted(0.2),
        deaths in prop::collection::vec(0_usize..20, 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(live(acts, policy, wire, thinking, deaths))?;
    }
}
