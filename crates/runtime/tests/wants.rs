//! What a service wants otherwise, what a list that has lost something may still be asked for, and what does not fit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trunkline_runtime::message_tree::{Author, Content, Message, Timestamp};
use trunkline_runtime::orders::{Order as Letter, post};
use trunkline_runtime::providers::{
    Anthropic, ErrorKind, OpenAiChat, ProviderError, Request, Thinking, Trait, Turn,
};
use trunkline_runtime::revert::CompactPolicy;
use trunkline_runtime::sanitize::RepairKind;
use trunkline_runtime::{AgentBuilder, Compaction, Event};

use crate::story::{Story, World, replies, stop_line};

fn refused(wants: Option<Trait>) -> Turn {
    let refusal = ProviderError::api(400, ErrorKind::InvalidRequest, "not so").wanting(wants);
    Turn::new().fail(refusal)
}

/// An agent whose service takes a request only if it is asked so.
fn picky(world: &World, wanted: Trait) -> AgentBuilder {
    let script = move |request: &Request| match request.traits.has(wanted) {
        true => Turn::say("here you are"),
        false => refused(Some(wanted)),
    };
    world.agent_behind(script, |provider| Box::new(provider.on(OpenAiChat::default())))
}

fn told(agent: AgentBuilder) -> (AgentBuilder, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&told);
    let agent = agent.on_event(move |event| {
        seen.lock().unwrap().push(match event {
            Event::Learned { wants, refused } => format!("learned {} {refused}", wants.name()),
            Event::Unlearned { wants } => format!("unlearned {}", wants.name()),
            _ => return,
        });
    });
    (agent, told)
}

fn sent(world: &World) -> Vec<Vec<Trait>> {
    world.requests.lock().unwrap().iter().map(|request| request.traits.iter().collect()).collect()
}

#[tokio::test]
async fn what_a_refusal_asks_for_is_sent_and_kept() {
    let world = World::default();
    let (agent, told) = told(picky(&world, Trait::MaxCompletionTokens));
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    // One more request, and no more in another process.
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.prompt("again").await), "decided other: answered");
    let one = vec![Trait::MaxCompletionTokens];
    assert_eq!(sent(&world), [vec![], one.clone(), one]);
    assert_eq!(*told.lock().unwrap(), ["learned max_completion_tokens true"]);
}

#[tokio::test]
async fn the_request_that_taught_costs_no_turn() {
    let world = World::default();
    let mut limits = trunkline_runtime::Limits::default();
    limits.turns = 1;
    let agent = picky(&world, Trait::NoTemperature).limits(limits);
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
}

#[tokio::test]
async fn what_did_not_help_is_dropped_and_the_refusal_told() {
    let world = World::default();
    let script = |_: &Request| refused(Some(Trait::NoTemperature));
    let (agent, told) = told(world.agent(script));
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "error: the model could not be asked");
    assert_eq!(sent(&world), [vec![], vec![Trait::NoTemperature]]);
    assert_eq!(*told.lock().unwrap(), ["learned no_temperature true", "unlearned no_temperature"]);
    // It begins anew: the service may have been mended meanwhile.
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "error: the model could not be asked");
    assert_eq!(sent(&world).len(), 4);
}

#[tokio::test]
async fn a_service_that_contradicts_itself_is_not_asked_for_ever() {
    let world = World::default();
    let script = |request: &Request| {
        refused(Some(match request.traits.has(Trait::MaxTokens) {
            true => Trait::MaxCompletionTokens,
            false => Trait::MaxTokens,
        }))
    };
    let mut story = Story::begin(world.clone(), world.agent(script)).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "error: the model could not be asked");
    assert_eq!(sent(&world).len(), 3);
}

#[tokio::test]
async fn several_things_are_learned_one_after_the_other() {
    let world = World::default();
    let wanted = [Trait::MaxCompletionTokens, Trait::NoStreamOptions, Trait::InstructionsOfUser];
    let script = move |request: &Request| match wanted.into_iter().find(|one| !request.traits.has(*one)) {
        Some(missing) => refused(Some(missing)),
        None => Turn::say("at last"),
    };
    let agent = world.agent_behind(script, |provider| Box::new(provider.on(OpenAiChat::default())));
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert_eq!(sent(&world).len(), 4);
}

#[tokio::test]
async fn what_came_with_an_import_is_not_believed() {
    let world = World::default();
    let mut story = Story::begin(world.clone(), picky(&world, Trait::NoTemperature)).await;
    story.prompt("do it").await.unwrap();
    post(story.store().as_ref(), &story.id(), &Letter::Distrust, Timestamp(1)).await.unwrap();
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.prompt("again").await), "decided other: answered");
    assert_eq!(sent(&world).last(), Some(&vec![Trait::NoTemperature]));
    assert_eq!(sent(&world).iter().filter(|traits| traits.is_empty()).count(), 2, "it was learned anew");
}

#[tokio::test]
async fn a_summary_is_asked_for_as_the_service_wants_it() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(80));
    let asked = AtomicUsize::new(0);
    let script = move |request: &Request| {
        let summary =
            request.messages.first().is_some_and(|first| first.text().starts_with("You write the summary"));
        match asked.fetch_add(1, Ordering::SeqCst) {
            _ if summary && !request.traits.has(Trait::NoTemperature) => refused(Some(Trait::NoTemperature)),
            _ if summary => Turn::say("the file was read"),
            number if number < 6 => Turn::new().call(format!("c{number}"), "read", &json!({ "path": "a" })),
            _ => Turn::say("done"),
        }
    };
    let agent = world.agent(script).with_compaction(Compaction::new(CompactPolicy::new(3_000).keep(20, 1)));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    story.session.compact(&story.cancel).await.unwrap();
}

#[tokio::test]
async fn a_loop_that_has_lost_its_reasoning_is_asked_without_thinking() {
    let world = World::default();
    // The reasoning beside the call is not signed, as that of another service: it cannot go back.
    let turns = vec![
        Turn::new().think("I look.", None).call("c1", "read", &json!({ "path": "a" })),
        Turn::say("nothing there"),
    ];
    let agent = world.agent(replies(turns)).thinking(Thinking::Budget(2048));
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    let thinking: Vec<Thinking> =
        world.requests.lock().unwrap().iter().map(|request| request.thinking).collect();
    assert_eq!(thinking, [Thinking::Budget(2048), Thinking::Off]);
    // The next turn begins anew, and thinks again.
    story.prompt("and now").await.unwrap();
    assert_eq!(world.requests.lock().unwrap().last().unwrap().thinking, Thinking::Budget(2048));
}

/// What reasoning a request has, by its signatures, and what it says about reasoning.
fn reasoned(request: &Request) -> (Vec<String>, Thinking) {
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let signatures = blocks.filter_map(|block| match block {
        Content::Thinking { signature, .. } => signature.clone(),
        _ => None,
    });
    (signatures.collect(), request.thinking)
}

#[tokio::test]
async fn reasoning_that_is_refused_is_left_out_and_what_comes_after_it_goes_back() {
    let world = World::default();
    let look = |id: &str, signature: &str| {
        Turn::new().think("I look.", Some(signature)).call(id, "read", &json!({ "path": "a" }))
    };
    let turns = vec![
        look("c1", "s1"),
        refused(Some(Trait::NoEarlierReasoning)),
        Turn::new().call("c2", "read", &json!({ "path": "b" })),
        Turn::say("nothing there"),
        look("c3", "s2"),
        Turn::say("still nothing"),
    ];
    // What the wire would not take is an error of its encoder here.
    let agent = world.agent_behind(replies(turns), |provider| Box::new(provider.on(Anthropic::new())));
    let (agent, told) = told(agent.thinking(Thinking::Budget(2048)));
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    // Another process knows it too.
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.prompt("and now").await), "decided other: answered");
    let (on, signed) = (Thinking::Budget(2048), |signature: &str| vec![signature.to_owned()]);
    // The loop that has lost its reasoning goes on without, the next one has its own.
    assert_eq!(
        world.requests.lock().unwrap().iter().map(reasoned).collect::<Vec<_>>(),
        [
            (vec![], on),
            (signed("s1"), on),
            (vec![], Thinking::Off),
            (vec![], Thinking::Off),
            (vec![], on),
            (signed("s2"), on),
        ]
    );
    assert_eq!(*told.lock().unwrap(), ["learned no_earlier_reasoning true"]);
}

#[tokio::test]
async fn reasoning_that_is_refused_again_is_left_out_up_to_there_and_a_refusal_without_any_is_told() {
    let world = World::default();
    let asked = AtomicUsize::new(0);
    let script = move |request: &Request| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Turn::new().think("I look.", Some("s")).and_say("there"),
        number if number < 6 => match reasoned(request).0.is_empty() {
            true => Turn::new().think("Again.", Some("s")).and_say("there"),
            false => refused(Some(Trait::NoEarlierReasoning)),
        },
        _ => refused(Some(Trait::NoEarlierReasoning)),
    };
    let agent = world.agent_behind(script, |provider| Box::new(provider.on(Anthropic::new())));
    let (agent, told) = told(agent);
    let mut story = Story::begin(world.clone(), agent).await;
    for _ in 0..3 {
        assert_eq!(stop_line(&story.prompt("look").await), "decided other: answered");
    }
    let sent: Vec<usize> =
        world.requests.lock().unwrap().iter().map(|request| reasoned(request).0.len()).collect();
    assert_eq!(sent, [0, 1, 0, 1, 0], "one more request for each that was refused");
    assert_eq!(stop_line(&story.prompt("look").await), "error: the model could not be asked");
    assert_eq!(told.lock().unwrap().last().map(String::as_str), Some("unlearned no_earlier_reasoning"));
}

#[tokio::test]
async fn thinking_that_was_asked_for_by_a_field_of_the_wire_is_left_out_too() {
    let world = World::default();
    let turns = vec![
        Turn::new().think("I look.", None).call("c1", "read", &json!({ "path": "a" })),
        Turn::say("nothing there"),
        Turn::say("still nothing"),
    ];
    let asked = json!({ "thinking": { "type": "enabled", "budget_tokens": 2048 }, "top_k": 3 });
    let Value::Object(fields) = asked.clone() else { unreachable!("it is one") };
    let agent = world.agent_behind(replies(turns), |provider| Box::new(provider.on(Anthropic::new())));
    let mut story = Story::begin(world.clone(), agent.extra(fields)).await;
    story.prompt("do it").await.unwrap();
    story.prompt("and now").await.unwrap();
    let sent: Vec<Value> =
        world.requests.lock().unwrap().iter().map(|one| Value::Object(one.extra.clone())).collect();
    assert_eq!(sent, [asked.clone(), json!({ "top_k": 3 }), asked]);
}

#[tokio::test]
async fn reasoning_goes_back_to_its_address_in_the_loop_and_not_after_it() {
    let world = World::default();
    let turns = vec![
        Turn::new().think("I look.", None).call("c1", "read", &json!({ "path": "a" })),
        Turn::say("nothing there"),
        Turn::say("still nothing"),
    ];
    let agent = world.agent_behind(replies(turns), |provider| {
        Box::new(provider.on(OpenAiChat::default()).at("5d5b09f6dcb2d53a"))
    });
    let mut story = Story::begin(world.clone(), agent).await;
    story.prompt("do it").await.unwrap();
    story.prompt("look again").await.unwrap();
    let thought =
        |message: &Message| message.content.iter().any(|one| matches!(one, Content::Thinking { .. }));
    let requests = world.requests.lock().unwrap();
    let thinks: Vec<bool> =
        requests.iter().map(|request| request.messages.iter().any(|message| thought(message))).collect();
    assert_eq!(thinks, [false, true, false]);
}

#[tokio::test]
async fn a_result_that_does_not_fit_the_window_is_cut_and_told() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(2_000));
    let cuts: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&cuts);
    let turns = vec![Turn::new().call("c1", "read", &json!({ "path": "a" })), Turn::say("long")];
    let agent = world.agent(replies(turns)).with_compaction(Compaction::new(CompactPolicy::new(4_000)));
    let agent = agent.on_event(move |event| {
        let Event::Asking { repairs, .. } = event else { return };
        seen.lock().unwrap().extend(repairs.iter().filter_map(|repair| match &repair.kind {
            RepairKind::ResultCut { bytes, .. } => Some(*bytes),
            _ => None,
        }));
    });
    let mut story = Story::begin(world.clone(), agent).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(cuts.lock().unwrap().len(), 1);
    let sent = world.last_request();
    assert!(sent.len() < 16_000, "{} bytes", sent.len());
    // What is stored stays whole.
    let whole = |message: &Message| message.results().any(|result| result.text().len() == 38_000);
    assert!(story.session.tree().trunk().messages().any(whole));
}

#[tokio::test]
async fn a_list_that_is_too_long_is_summed_up_once_without_a_window() {
    let world = World::default();
    let asked = AtomicUsize::new(0);
    let script = move |request: &Request| {
        let summary =
            request.messages.first().is_some_and(|first| first.text().starts_with("You write the summary"));
        if summary {
            return Turn::say("they talked");
        }
        match asked.fetch_add(1, Ordering::SeqCst) {
            number if number < 6 => Turn::say("a long answer, word for word. ".repeat(40)),
            6 => Turn::new().fail(ProviderError::api(400, ErrorKind::ContextTooLong, "prompt is too long")),
            _ => Turn::say("it fits"),
        }
    };
    let mut story = Story::begin(world.clone(), world.agent(script)).await;
    for _ in 0..6 {
        story.prompt("say much").await.unwrap();
    }
    assert_eq!(stop_line(&story.prompt("and more").await), "decided other: answered");
    assert_eq!(story.session.answer(), "it fits");
    assert_eq!(story.session.tree().covering().len(), 1);
    let people = |message: &Message| message.author == Author::Person;
    assert_eq!(
        story.session.tree().trunk().messages().filter(|one| people(one)).count(),
        7,
        "nothing is lost"
    );
}

#[tokio::test]
async fn a_result_that_makes_the_list_too_long_is_cut_without_a_window() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(2_000));
    let script = |request: &Request| {
        let bytes: usize =
            request.messages.iter().flat_map(|one| one.results()).map(|one| one.text().len()).sum();
        match (request.messages.len(), bytes) {
            (2, _) => Turn::new().call("c1", "read", &json!({ "path": "a" })),
            (_, 8_000..) => Turn::new().fail(ProviderError::api(400, ErrorKind::ContextTooLong, "too long")),
            _ => Turn::say("it fits"),
        }
    };
    let mut story = Story::begin(world.clone(), world.agent(script)).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    // Whole, cut to a quarter, and to a quarter of that; the last is kept for what comes.
    assert_eq!(world.requests.lock().unwrap().len(), 4);
    let mut story = story.restart().await;
    story.prompt("again").await.unwrap();
    assert_eq!(world.requests.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_list_that_stays_too_long_is_told() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(2_000));
    let script = |request: &Request| match request.messages.len() {
        2 => Turn::new().call("c1", "read", &json!({ "path": "a" })),
        _ => Turn::new().fail(ProviderError::api(400, ErrorKind::ContextTooLong, "too long")),
    };
    let mut story = Story::begin(world.clone(), world.agent(script)).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "error: the model could not be asked");
    assert!(world.requests.lock().unwrap().len() <= 6, "{}", world.requests.lock().unwrap().len());
}
