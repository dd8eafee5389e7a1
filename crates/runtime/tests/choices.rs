//! What a request carries while a proposal waits for the model, on the bytes of each wire.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_runtime::providers::{
    Anthropic, Bedrock, Cache, Dialect, Effort, Gemini, HttpRequest, Ollama, OpenAiChat, OpenAiResponses,
    Request, Scripted, Thinking, Turn, Wire,
};
use trunkline_runtime::resolve_queue::{Choice, Directive, Notice, Place, Policy, Reject};
use trunkline_runtime::{Agent, AgentBuilder, Approval, Event};

use crate::story::{Story, World, replies, stop_line, tools};

const WIRES: [&str; 8] =
    ["anthropic", "chat", "llama.cpp", "deepseek", "responses", "gemini", "bedrock", "ollama"];

fn wire(name: &str) -> Box<dyn Wire> {
    match name {
        "anthropic" => Box::new(Anthropic::new()),
        "chat" => Box::new(OpenAiChat::default()),
        "llama.cpp" => Box::new(OpenAiChat::new(Dialect::llama_cpp())),
        "deepseek" => Box::new(OpenAiChat::new(Dialect::deepseek())),
        "responses" => Box::new(OpenAiResponses::new()),
        "gemini" => Box::new(Gemini::new()),
        "bedrock" => Box::new(Bedrock::new()),
        _ => Box::new(Ollama::new()),
    }
}

fn on(name: &str, model: Scripted) -> Scripted {
    match name {
        "anthropic" => model,
        "chat" => model.on(OpenAiChat::default()),
        "llama.cpp" => model.on(OpenAiChat::new(Dialect::llama_cpp())),
        "deepseek" => model.on(OpenAiChat::new(Dialect::deepseek())),
        "responses" => model.on(OpenAiResponses::new()),
        "gemini" => model.on(Gemini::new()),
        "bedrock" => model.on(Bedrock::new()),
        _ => model.on(Ollama::new()),
    }
}

fn edit(id: &str, text: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": "a", "text": text }))
}

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "b" }))
}

fn resolve(id: &str, action: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because" }))
}

/// A model whose replies are these, on one wire; what was told of choices is kept.
async fn begin(name: &str, turns: Vec<Turn>, with: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Story {
    let world = World::default();
    world.files.lock().unwrap().insert("b".to_owned(), "beta".to_owned());
    let (requests, script) = (Arc::clone(&world.requests), replies(turns));
    let model = Scripted::new("test", "anthropic.claude-x", move |request: &Request| {
        requests.lock().unwrap().push(request.clone());
        script(request)
    });
    let told = Arc::clone(&world.told);
    let agent = Agent::builder(on(name, model)).system("You work.").approval(Approval::Model);
    let agent = agent.tools(tools(&world).into_iter().take(2)).on_event(move |event| match event {
        Event::Choice(Notice::GaveUp { about }) => {
            told.lock().unwrap().push(format!("gave up {}", about[0].proposal))
        }
        Event::Choice(Notice::Resolved { label, .. }) => told.lock().unwrap().push(format!("{label} done")),
        Event::Choice(Notice::Rejected { label, reason, .. }) => {
            told.lock().unwrap().push(format!("{label} {reason}"))
        }
        _ => {}
    });
    Story::begin(world, with(agent)).await
}

fn encoded(name: &str, request: &Request) -> HttpRequest {
    // Where the marks of the cache stand says nothing of what is in it.
    let mut request = request.clone();
    request.cache = Cache::Off;
    wire(name).encode(&request).unwrap()
}

fn bodies(name: &str, story: &Story) -> Vec<String> {
    let requests = story.world.requests.lock().unwrap();
    let body = |request: &Request| encoded(name, request).body.to_vec();
    requests.iter().map(|request| String::from_utf8(body(request)).unwrap()).collect()
}

/// What a body offers and demands, on one line.
fn demand(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let mut names = Vec::new();
    fn collect(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            Value::Object(fields) => match fields.get("name").and_then(Value::as_str) {
                Some(name) => names.push(name.to_owned()),
                None => fields.values().for_each(|value| collect(value, names)),
            },
            _ => {}
        }
    }
    let offered = [body.get("tools"), body.pointer("/toolConfig/tools")];
    offered.into_iter().flatten().for_each(|tools| collect(tools, &mut names));
    let paths = ["/tool_choice", "/toolConfig/functionCallingConfig", "/toolConfig/toolChoice"];
    let choice = paths.iter().find_map(|path| body.pointer(path)).map(Value::to_string);
    format!("{} | {}", names.join(" "), choice.unwrap_or_else(|| "nothing said".to_owned()))
}

fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Whether the next body goes on where this one ended: its list of messages only grew.
fn goes_on(body: &str, next: &str) -> bool {
    // Two brackets close the list and the body.
    next.starts_with(&body[..body.len() - 2])
}

async fn each(turns: fn() -> Vec<Turn>, policy: Policy, request: usize, expected: Expect) {
    let mut told = String::new();
    for name in WIRES {
        let mut story = begin(name, turns(), |agent| agent.choice_policy(policy)).await;
        let stop = story.prompt("do it").await;
        assert_eq!(stop_line(&stop), "decided other: answered", "{name}");
        assert_eq!(story.world.effects(), ["wrote a"], "{name}");
        told += &format!("{name:10} {}\n", demand(&bodies(name, &story)[request]));
    }
    expected.assert_eq(&told);
}

fn declines() -> Vec<Turn> {
    vec![edit("c1", "new"), read("c2"), resolve("c3", "apply"), Turn::say("done")]
}

#[tokio::test]
async fn a_model_that_calls_something_else_is_held_to_it_by_what_its_wire_has() {
    each(
        declines,
        Policy::default(),
        2,
        expect![[r#"
        anthropic  edit read resolve | {"name":"resolve","type":"tool"}
        chat       edit read resolve | {"function":{"name":"resolve"},"type":"function"}
        llama.cpp  resolve | "required"
        deepseek   edit read resolve | {"function":{"name":"resolve"},"type":"function"}
        responses  edit read resolve | {"name":"resolve","type":"function"}
        gemini     edit read resolve | {"allowedFunctionNames":["resolve"],"mode":"ANY"}
        bedrock    edit read resolve | {"tool":{"name":"resolve"}}
        ollama     resolve | nothing said
    "#]],
    )
    .await;
}

#[tokio::test]
async fn before_that_it_is_asked_for_nothing_on_any_wire() {
    each(
        declines,
        Policy::default(),
        1,
        expect![[r#"
        anthropic  edit read resolve | {"type":"auto"}
        chat       edit read resolve | nothing said
        llama.cpp  edit read resolve | nothing said
        deepseek   edit read resolve | nothing said
        responses  edit read resolve | nothing said
        gemini     edit read resolve | nothing said
        bedrock    edit read resolve | nothing said
        ollama     edit read resolve | nothing said
    "#]],
    )
    .await;
}

#[tokio::test]
async fn at_once_the_very_next_turn_is_held_to_it() {
    let at_once = Policy::AtOnce { turns: 3 };
    each(
        || vec![edit("c1", "new"), resolve("c3", "apply"), Turn::say("done")],
        at_once,
        1,
        expect![[r#"
        anthropic  edit read resolve | {"name":"resolve","type":"tool"}
        chat       edit read resolve | {"function":{"name":"resolve"},"type":"function"}
        llama.cpp  resolve | "required"
        deepseek   edit read resolve | {"function":{"name":"resolve"},"type":"function"}
        responses  edit read resolve | {"name":"resolve","type":"function"}
        gemini     edit read resolve | {"allowedFunctionNames":["resolve"],"mode":"ANY"}
        bedrock    edit read resolve | {"tool":{"name":"resolve"}}
        ollama     resolve | nothing said
    "#]],
    )
    .await;
}

#[tokio::test]
async fn r11_beside_thinking_nothing_is_ever_demanded() {
    for (name, thinking) in [
        ("anthropic", Thinking::Budget(2048)),
        ("anthropic", Thinking::Effort(Effort::High)),
        ("bedrock", Thinking::Budget(2048)),
        ("deepseek", Thinking::Effort(Effort::High)),
        ("gemini", Thinking::Budget(2048)),
    ] {
        for policy in [Policy::default(), Policy::AtOnce { turns: 3 }] {
            let mut story =
                begin(name, declines(), |agent| agent.choice_policy(policy).thinking(thinking)).await;
            let stop = story.prompt("do it").await;
            assert_eq!(stop_line(&stop), "decided other: answered", "{name} {thinking:?}");
            for request in story.world.requests.lock().unwrap().iter() {
                let mut strict = request.clone();
                // What is only softened would be refused here.
                strict.soft_choice = false;
                let http = wire(name).encode(&strict).unwrap();
                assert!(http.softened.is_empty(), "{name}");
                let body = String::from_utf8(http.body.to_vec()).unwrap();
                let said = demand(&body);
                for word in ["\"any\"", "\"tool\"", "required", "ANY", "function"] {
                    assert!(!said.contains(word), "{name} {thinking:?}: {said}");
                }
            }
            // Instead only that tool is there.
            let held = if policy == Policy::default() { 2 } else { 1 };
            let said = demand(&bodies(name, &story)[held]);
            assert!(said.starts_with("resolve |"), "{name}: {said}");
        }
    }
}

#[tokio::test]
async fn a_model_that_thinks_although_nobody_said_so_is_not_forced_either() {
    let thinks =
        Turn::new().think("hm", Some("sig")).call("c1", "edit", &json!({"path": "a", "text": "new"}));
    let read = Turn::new().think("hm", Some("sig")).call("c2", "read", &json!({"path": "b"}));
    let turns = vec![thinks, read, resolve("c3", "apply"), Turn::say("done")];
    let mut story = begin("deepseek", turns, |agent| agent).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(demand(&bodies("deepseek", &story)[2]), "resolve | nothing said");
}

/// Where each request stops being the one before it; `goes on` if nothing that was sent is different.
async fn breaks(name: &str, policy: Policy, turns: Vec<Turn>) -> String {
    let mut story = begin(name, turns, |agent| agent.choice_policy(policy)).await;
    story.prompt("do it").await.unwrap();
    let bodies = bodies(name, &story);
    let told = bodies.windows(2).map(|pair| match goes_on(&pair[0], &pair[1]) {
        true => "goes on".to_owned(),
        false => {
            let at = common(&pair[0], &pair[1]);
            let from = pair[0][..at].rfind('"').unwrap_or(0);
            let percent = at * 100 / pair[0].len();
            format!("{percent}% then {}", pair[1][from..].chars().take(24).collect::<String>())
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn what_was_cached_stays_while_the_model_is_only_reminded() {
    for name in WIRES {
        // It resolves when it is told that something is staged, after an apply that fails too.
        let turns = vec![
            edit("c1", "unwritable"),
            resolve("c2", "apply"),
            resolve("c3", "discard"),
            Turn::say("done"),
        ];
        assert_eq!(breaks(name, Policy::default(), turns).await, "goes on; goes on; goes on", "{name}");
    }
}

#[tokio::test]
async fn a_demand_changes_what_stands_before_the_messages() {
    let mut told = String::new();
    for name in WIRES {
        let soft = breaks(name, Policy::default(), declines()).await;
        let turns = vec![edit("c1", "new"), resolve("c3", "apply"), Turn::say("done")];
        let hard = breaks(name, Policy::AtOnce { turns: 3 }, turns).await;
        told += &format!("{name}\n  soft, declined: {soft}\n  at once: {hard}\n");
    }
    expect![[r#"
        anthropic
          soft, declined: goes on; 76% then "tool","name":"resolve"}; 69% then "auto"},"stream":true,"m
          at once: 94% then "tool","name":"resolve"}; 76% then "auto"},"stream":true,"m
        chat
          soft, declined: goes on; 75% then "tool_choice":{"type":"f; 67% then "max_tokens":8192,"strea
          at once: 90% then "tool_choice":{"type":"f; 73% then "max_tokens":8192,"strea
        llama.cpp
          soft, declined: goes on; 4% then "resolve","description":; 4% then "edit","description":"a 
          at once: 4% then "resolve","description":; 4% then "edit","description":"a 
        deepseek
          soft, declined: goes on; 75% then "tool_choice":{"type":"f; 65% then "max_tokens":8192,"strea
          at once: 90% then "tool_choice":{"type":"f; 72% then "max_tokens":8192,"strea
        responses
          soft, declined: goes on; 76% then "tool_choice":{"type":"f; 69% then "max_output_tokens":8192
          at once: 89% then "tool_choice":{"type":"f; 74% then "max_output_tokens":8192
        gemini
          soft, declined: goes on; 78% then "toolConfig":{"functionC; 68% then "generationConfig":{"max
          at once: 93% then "toolConfig":{"functionC; 74% then "generationConfig":{"max
        bedrock
          soft, declined: goes on; 80% then "}}}}],"toolChoice":{"to; 71% then "}}}}]},"messages":[{"ro
          at once: 96% then "}}}}],"toolChoice":{"to; 78% then "}}}}]},"messages":[{"ro
        ollama
          soft, declined: goes on; 4% then "resolve","description":; 4% then "edit","description":"a 
          at once: 4% then "resolve","description":; 5% then "edit","description":"a 
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn r19_a_reminder_is_a_message_of_its_own_behind_every_result() {
    let mut told = String::new();
    for name in WIRES {
        // Two results and then the reminder.
        let both = resolve("c2", "apply").call("c3", "read", &json!({ "path": "b" }));
        let turns = vec![edit("c1", "unwritable"), both, resolve("c4", "discard"), Turn::say("done")];
        let mut story = begin(name, turns, |agent| agent).await;
        story.prompt("do it").await.unwrap();
        let body = bodies(name, &story)[2].clone();
        let at = body.rfind("could not be applied").unwrap();
        told += &format!("{name}: {}\n", &body[at..]);
    }
    expect![[r#"
        anthropic: could not be applied: the disk is full. It is kept: apply it again or discard it.","is_error":true},{"type":"tool_result","tool_use_id":"c3","content":"beta"},{"type":"text","text":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}]}
        chat: could not be applied: the disk is full. It is kept: apply it again or discard it.","tool_call_id":"c2"},{"role":"tool","content":"beta","tool_call_id":"c3"},{"role":"user","content":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}
        llama.cpp: could not be applied: the disk is full. It is kept: apply it again or discard it.","tool_call_id":"c2"},{"role":"tool","content":"beta","tool_call_id":"c3"},{"role":"user","content":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}
        deepseek: could not be applied: the disk is full. It is kept: apply it again or discard it.","tool_call_id":"c2"},{"role":"tool","content":"beta","tool_call_id":"c3"},{"role":"user","content":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}
        responses: could not be applied: the disk is full. It is kept: apply it again or discard it."},{"type":"function_call_output","call_id":"c3","output":"beta"},{"role":"user","content":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}
        gemini: could not be applied: the disk is full. It is kept: apply it again or discard it."}}},{"functionResponse":{"id":"c3","name":"read","response":{"output":"beta"}}}]},{"role":"user","parts":[{"text":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}]}
        bedrock: could not be applied: the disk is full. It is kept: apply it again or discard it."}],"status":"error"}},{"toolResult":{"toolUseId":"c3","content":[{"text":"beta"}]}}]},{"role":"assistant","content":[{"text":"(results received)"}]},{"role":"user","content":[{"text":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}]}
        ollama: could not be applied: the disk is full. It is kept: apply it again or discard it.","tool_name":"resolve","tool_call_id":"c2"},{"role":"tool","content":"beta","tool_name":"read","tool_call_id":"c3"},{"role":"user","content":"Not done yet, and waiting for you: p1 (its apply failed). Call `resolve` with action apply or discard, a reason, and the id."}]}
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn r21_a_decision_beside_other_calls_is_one_and_all_of_them_run() {
    let both = Turn::new()
        .call("c2", "read", &json!({ "path": "b" }))
        .call("c3", "resolve", &json!({ "action": "apply", "reason": "r", "id": "p1" }))
        .call("c4", "read", &json!({ "path": "b" }));
    for name in WIRES {
        let turns = vec![edit("c1", "new"), both.clone(), read("c5"), Turn::say("done")];
        let mut story = begin(name, turns, |agent| agent).await;
        story.prompt("do it").await.unwrap();
        let tree = story.tree();
        for result in ["result c2: beta", "result c3: Applied p1.", "result c4: beta", "result c5: beta"] {
            assert!(tree.contains(result), "{name}: {tree}");
        }
        let all = bodies(name, &story);
        assert!(all.iter().all(|body| demand(body) == demand(&all[0])), "{name}: nothing was demanded");
        assert!(!tree.contains("Not done yet"), "{tree}");
    }
}

#[tokio::test]
async fn r26_what_a_summary_took_the_place_of_is_said_again() {
    use trunkline_runtime::Compaction;
    use trunkline_runtime::revert::CompactPolicy;
    let world = World::default();
    world.files.lock().unwrap().insert("b".to_owned(), "a line of the file\n".repeat(80));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let agent = world.agent(move |request| {
        if request.messages.first().is_some_and(|first| first.text().starts_with("You write the summary")) {
            return Turn::say("the file was read, it says nothing new");
        }
        match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => edit("c0", "new"),
            number @ 1..14 => read(&format!("c{number}")),
            14 => resolve("c14", "apply"),
            _ => Turn::say("done"),
        }
    });
    let patient = Policy::SoftFirst { patience: 50, turns: 50 };
    let agent = agent.approval(Approval::Model).choice_policy(patient);
    let agent = agent.with_revert().with_compaction(Compaction::new(CompactPolicy::new(3_000).keep(20, 1)));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert!(!story.session.tree().covering().is_empty(), "it was compacted");
    // Never while something stood there that said it, and again each time that it was gone.
    let requests = story.world.requests.lock().unwrap();
    let asked = requests.iter().filter(|request| !request.tools.is_empty());
    let mut before = 0;
    for request in asked.skip(1).take(13) {
        let texts: Vec<String> = request
            .messages
            .iter()
            .flat_map(|message| message.results().map(|result| result.text()).chain([message.text()]))
            .collect();
        let says = |word: &str| texts.iter().filter(|text| text.contains(word)).count();
        let (staged, reminders) = (says("Staged as p1."), says("waiting for you: p1"));
        assert!(staged + reminders == 1, "{staged} {reminders}");
        before = before.max(reminders);
    }
    assert_eq!(before, 1, "it was said at all");
}

#[tokio::test]
async fn a_callers_own_directives_come_first_and_are_told() {
    let turns = vec![read("c1"), Turn::say("done"), Turn::say("again"), Turn::say("and again")];
    let mut story = begin("chat", turns, |agent| agent).await;
    let forced = Choice::Tool("read".to_owned());
    let look = Directive::sequence("look", vec![forced.clone(), Choice::None]);
    story
        .session
        .direct(Directive::once("gone", Choice::Tool("nonsense".to_owned())), Place::Last)
        .await
        .unwrap();
    story.session.direct(look, Place::First).await.unwrap();
    // It is stored, and another process asks it.
    let mut story = story.restart().await;
    story.prompt("do it").await.unwrap();
    story.prompt("and then").await.unwrap();
    let all = bodies("chat", &story);
    let said: Vec<String> = all.iter().map(|body| demand(body)).collect();
    expect![[r#"
        edit read resolve | {"function":{"name":"read"},"type":"function"}
        edit read resolve | "none"
        edit read resolve | nothing said"#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(
        *story.world.told.lock().unwrap(),
        ["look done", "look done", &format!("gone {}", Reject::Unavailable)]
    );
    assert!(story.session.choices().waiting().next().is_none());
}
