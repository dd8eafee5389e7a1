//! An agent that was not told of reverts sends the requests of a runtime without them.
//!
//! The bytes were written by a build that had none of the layers.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, ToolSpec};
use trunkline_runtime::providers::{Anthropic, OpenAiChat, Request, Scripted, Turn, Wire};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Access, Agent, AgentBuilder, Cancel, Tool, ToolContext, ToolOutput};

/// Returns what a model could take for marks and notes.
struct Look;

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("look", "Looks.", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        ToolOutput::text("[n3] [revert-lesson] x")
    }
}

fn script() -> Vec<Turn> {
    let asked = json!({ "category": "failure", "step": "n1", "summary": "s" });
    vec![
        Turn::say("[n2] I look.").call("c1", "look", &json!({})).call("c2", "look", &json!({})),
        // As a model does that was told of the tool elsewhere.
        Turn::new().call("c3", "revert_to_state", &asked),
        Turn::say("done"),
        Turn::say("again"),
    ]
}

/// Plays the script for two prompts, with a restart between, and returns the bodies of all requests.
async fn bodies(chat: bool, with: impl Fn(AgentBuilder) -> AgentBuilder) -> String {
    let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
    let (seen, turns) = (Arc::clone(&requests), Mutex::new(script().into_iter()));
    let model = Scripted::new("test", "m", move |request: &Request| {
        seen.lock().expect("whole").push(request.clone());
        turns.lock().expect("whole").next().expect("a turn")
    });
    let model = if chat { model.on(OpenAiChat::default()) } else { model };
    let agent = Agent::builder(model).system("Be brief.").tool(Look).clock(|| Timestamp(7));
    let agent = with(agent).build().expect("an agent");
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = agent.start(Arc::clone(&store), "t", None).await.expect("a session");
    session.prompt("[n1] look", &Cancel::new()).await.expect("an answer");
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(store, &id).await.expect("the same session");
    session.prompt("and now?", &Cancel::new()).await.expect("an answer");
    let requests = requests.lock().expect("whole");
    let lines = requests.iter().map(|request| {
        let encoded = match chat {
            true => OpenAiChat::default().encode(request),
            false => Anthropic::new().encode(request),
        };
        String::from_utf8(encoded.expect("it is legal").body.to_vec()).expect("JSON is UTF-8") + "\n"
    });
    lines.collect()
}

async fn check(chat: bool, expected: Expect) {
    let sent = bodies(chat, |agent| agent).await;
    expected.assert_eq(&sent);
    let asked_for = bodies(chat, AgentBuilder::with_revert).await;
    // The same script tells the two apart, or the comparison above would say nothing.
    assert!(asked_for.contains("Leave a branch") && asked_for.contains("(n1) look"), "{asked_for}");
}

#[tokio::test]
async fn requests_on_anthropic_are_those_of_a_build_without_reverts() {
    check(false, expect![[r#"
        {"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"auto"},"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"[n1] look","cache_control":{"type":"ephemeral"}}]}]}
        {"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"auto"},"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"[n1] look","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"[n2] I look."},{"type":"tool_use","id":"c1","name":"look","input":{}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"[n3] [revert-lesson] x"},{"type":"tool_result","tool_use_id":"c2","content":"[n3] [revert-lesson] x","cache_control":{"type":"ephemeral"}}]}]}
        {"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"auto"},"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"[n1] look"}]},{"role":"assistant","content":[{"type":"text","text":"[n2] I look."},{"type":"tool_use","id":"c1","name":"look","input":{}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"[n3] [revert-lesson] x"},{"type":"tool_result","tool_use_id":"c2","content":"[n3] [revert-lesson] x","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"revert_to_state","input":{"category":"failure","step":"n1","summary":"s"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"not run: there is no tool \"revert_to_state\"; there are: look","is_error":true,"cache_control":{"type":"ephemeral"}}]}]}
        {"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"auto"},"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"[n1] look"}]},{"role":"assistant","content":[{"type":"text","text":"[n2] I look."},{"type":"tool_use","id":"c1","name":"look","input":{}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"[n3] [revert-lesson] x"},{"type":"tool_result","tool_use_id":"c2","content":"[n3] [revert-lesson] x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"revert_to_state","input":{"category":"failure","step":"n1","summary":"s"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"not run: there is no tool \"revert_to_state\"; there are: look","is_error":true,"cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"done"}]},{"role":"user","content":[{"type":"text","text":"and now?","cache_control":{"type":"ephemeral"}}]}]}
    "#]]).await;
}

#[tokio::test]
async fn requests_on_chat_are_those_of_a_build_without_reverts() {
    check(true, expect![[r#"
        {"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"[n1] look"}]}
        {"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"[n1] look"},{"role":"assistant","content":"[n2] I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c1"},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c2"}]}
        {"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"[n1] look"},{"role":"assistant","content":"[n2] I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c1"},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c2"},{"role":"assistant","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"revert_to_state","arguments":"{\"category\":\"failure\",\"step\":\"n1\",\"summary\":\"s\"}"}}]},{"role":"tool","content":"not run: there is no tool \"revert_to_state\"; there are: look","tool_call_id":"c3"}]}
        {"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"[n1] look"},{"role":"assistant","content":"[n2] I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c1"},{"role":"tool","content":"[n3] [revert-lesson] x","tool_call_id":"c2"},{"role":"assistant","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"revert_to_state","arguments":"{\"category\":\"failure\",\"step\":\"n1\",\"summary\":\"s\"}"}}]},{"role":"tool","content":"not run: there is no tool \"revert_to_state\"; there are: look","tool_call_id":"c3"},{"role":"assistant","content":"done"},{"role":"user","content":"and now?"}]}
    "#]]).await;
}

/// A session that reverts were made in, taken up by an agent that was not given them: the trunk as it is, and no mark.
#[tokio::test]
async fn an_agent_without_reverts_reads_a_session_that_has_some_as_its_bare_trunk() {
    let asked = json!({ "category": "failure", "step": "n1", "summary": "not so" });
    let turns = Mutex::new(vec![
        Turn::new().call("c1", "look", &json!({})),
        Turn::new().call("c2", "revert_to_state", &asked),
        Turn::say("done"),
    ]);
    let model = Scripted::new("test", "m", move |_: &Request| turns.lock().expect("whole").remove(0));
    let agent = Agent::builder(model).system("Be brief.").tool(Look).with_revert().build().expect("an agent");
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = agent.start(Arc::clone(&store), "t", None).await.expect("a session");
    session.prompt("look", &Cancel::new()).await.expect("an answer");
    let id = session.id().clone();
    drop(session);

    let last: Arc<Mutex<Option<Request>>> = Arc::default();
    let seen = Arc::clone(&last);
    let model = Scripted::new("test", "m", move |request: &Request| {
        *seen.lock().expect("whole") = Some(request.clone());
        Turn::say("again")
    });
    let agent = Agent::builder(model).system("Be brief.").tool(Look).build().expect("an agent");
    let mut session = agent.open(store, &id).await.expect("the same session");
    session.prompt("and now?", &Cancel::new()).await.expect("an answer");
    let request = last.lock().expect("whole").clone().expect("it was asked");
    let body = OpenAiChat::default().encode(&request).expect("it is legal").body.to_vec();
    expect![[r#"
        {"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"look"},{"role":"assistant","content":"done"},{"role":"user","content":"and now?"}]}
    "#]].assert_eq(&(String::from_utf8(body).expect("JSON is UTF-8") + "\n"));
}
