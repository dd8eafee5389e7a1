//! A tool that asks another agent, in a session of its own: it stops with the call, and its log names the call.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Cancel, Parent, RuntimeError, ToolContext, TypedTool, children_of};

#[derive(serde::Deserialize, JsonSchema)]
struct Question {
    /// What the other agent is to find out; it knows nothing else of this conversation.
    question: String,
}

/// Returns a tool that gives each question to a session of `agent`.
fn ask(agent: Agent) -> TypedTool<Question> {
    TypedTool::from_fn("ask", "Lets another agent find something out.", move |asked: Question, context| {
        let agent = agent.clone();
        async move { answer(&agent, &asked.question, &context).await }
    })
}

async fn answer(agent: &Agent, question: &str, context: &ToolContext) -> Result<String, RuntimeError> {
    let mut child = agent.start_child(context, question).await?;
    // It stops with the call, and can be stopped alone.
    let stop = child.prompt(question, &context.cancel.child()).await?;
    // The model that asked is told how it ended, also where it only waits for a decision.
    Ok(format!("{} ({stop})", child.answer()))
}

fn lead(request: &Request) -> Turn {
    match request.messages.last().and_then(|message| message.results().next()) {
        None => Turn::new().call("c1", "ask", &json!({ "question": "How high is the tower?" })),
        Some(result) => Turn::say(format!("I was told: {}", result.text())),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let surveyor =
        Agent::builder(Scripted::new("scripted", "surveyor", |_| Turn::say("324 metres."))).build()?;
    let lead = Agent::builder(Scripted::new("scripted", "lead", lead)).tool(ask(surveyor)).build()?;
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = lead.start(Arc::clone(&store), "the tower", None).await?;
    session.prompt("Find out how high the tower is.", &Cancel::new()).await?;
    println!("{}", session.answer());

    for found in store.notes(&children_of(session.id())).await? {
        let title = store.info(&found.session).await?.title;
        println!("call {} began the session {title:?}", Parent::read(&found)?.call.id);
    }
    Ok(())
}
