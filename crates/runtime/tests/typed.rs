//! Tools whose arguments are a type, called and applied by an agent.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_runtime::message_tree::notation::print_tree;
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{
    Access, Agent, AgentError, Cancel, PendingAction, PendingActionError, Stop, ToolContext, TypedTool,
};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn an_agent_runs_it_and_names_its_session() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&seen);
    let which = TypedTool::from_fn("which", "Tells the session.", move |_: Nothing, context| {
        heard.lock().unwrap().push(context.session.map(|id| id.to_string()));
        async { "noted" }
    });
    let model = Scripted::new("scripted", "m", |request| match request.messages.last() {
        Some(last) if last.results().next().is_some() => Turn::say("done"),
        _ => Turn::new().call("c1", "which", &json!({})),
    });
    let agent = Agent::builder(model).tool(which.access(Access::ReadOnly)).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let stop = session.prompt("hi", &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)));
    assert_eq!(*seen.lock().unwrap(), [Some(session.id().to_string())]);
}

#[test]
fn arguments_that_are_no_object_are_refused_when_the_agent_is_built() {
    let tool = TypedTool::from_fn("say", "", |text: String, _| async move { text });
    let agent = Agent::builder(Scripted::new("scripted", "m", |_| Turn::say("done"))).tool(tool).build();
    let fault = agent.err().unwrap();
    assert!(matches!(fault, AgentError::Schema { .. }));
    let told = r#"the schema of tool "say" is not valid: arguments are an object, and not "string""#;
    assert_eq!(fault.to_string(), told);
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Mail {
    to: String,
}

async fn stage(mail: Mail, context: ToolContext) -> Result<&'static str, PendingActionError> {
    let label = format!("send a mail to {}", mail.to);
    context.push_pending_action(PendingAction::new(label, json!(mail)))?;
    Ok("It is sent once a person has approved it.")
}

#[tokio::test]
async fn what_a_call_stages_is_applied_once_a_person_has_approved_it() {
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let outbox = Arc::clone(&sent);
    let mail = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(move |mail: Mail, _| {
        outbox.lock().unwrap().push(mail.to.clone());
        async move { format!("Sent to {}.", mail.to) }
    });
    let model = Scripted::new("scripted", "m", |request| match request.messages.last() {
        Some(last) if last.results().next().is_some() => Turn::say("done"),
        _ => Turn::new().call("c1", "send_mail", &json!({ "to": "a@example.org" })),
    });
    let agent = Agent::builder(model).tool(mail).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let stop = session.prompt("hi", &Cancel::new()).await.unwrap();
    assert_eq!(stop, Stop::Waiting(vec![ProposalId(1)]));
    assert!(sent.lock().unwrap().is_empty());
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(*sent.lock().unwrap(), ["a@example.org"]);
    let told = print_tree(session.tree());
    assert!(told.contains("Sent to a@example.org."), "{told}");
}
