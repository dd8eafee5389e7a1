//! Proposals that another task decides: the drive sends each through a channel and waits for the answer.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::resolve_queue::{Entry, Verdict};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, Decider, Gate, Said, ToolContext, TypedTool};

#[derive(serde::Deserialize, JsonSchema)]
struct Removal {
    path: String,
}

async fn remove(removal: Removal, _: ToolContext) -> String {
    format!("removed {}", removal.path)
}

/// What is asked, and where the answer goes.
type Asked = (String, oneshot::Sender<Said>);

/// Asks through a channel. With no answer the drive stops with `Stop::Waiting`, and what waits can be decided later.
struct Desk(mpsc::Sender<Asked>);

#[async_trait]
impl Decider for Desk {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said> {
        let (answer, said) = oneshot::channel();
        self.0.send((proposal.proposal.label.clone(), answer)).await.ok()?;
        said.await.ok()
    }
}

fn model(request: &Request) -> Turn {
    let results: Vec<_> = request.messages.iter().flat_map(|message| message.results()).collect();
    if results.is_empty() {
        let call = |turn: Turn, id, path| turn.call(id, "remove", &json!({ "path": path }));
        return call(call(Turn::new(), "c1", "old.log"), "c2", "letters.txt");
    }
    Turn::say(results.iter().map(|result| result.text()).collect::<Vec<_>>().join("\n"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (desk, mut asked) = mpsc::channel::<Asked>(1);
    let person = tokio::spawn(async move {
        while let Some((label, answer)) = asked.recv().await {
            let said = match label.ends_with(".log") {
                true => Said::new(Verdict::Approve, ""),
                false => Said::new(Verdict::Discard, "I still need it"),
            };
            println!("{label}? {:?}", said.verdict);
            // The drive may have been cancelled meanwhile.
            let _ = answer.send(said);
        }
    });
    let remove = TypedTool::from_fn("remove", "Removes a file.", remove)
        .gate(|removal| Some(Gate::new(format!("remove {}", removal.path), "")));
    let model = Scripted::new("scripted", "tidy", model);
    let agent = Agent::builder(model).tool(remove).decider(Arc::new(Desk(desk))).build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "tidying", None).await?;
    session.prompt("Tidy up.", &Cancel::new()).await?;
    println!("{}", session.answer());
    // The channel ends with the agent.
    drop((session, agent));
    person.await?;
    Ok(())
}
