//! A run in a git repository, and its rollback: the page of trunkline-tools.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Approval, Cancel, Stop};
use trunkline_tools::{CodingTools, workspace_for};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    Command::new("git").args(["init", "-q"]).arg(folder.path()).status()?;
    let model = Scripted::new("scripted", "writer", |request| {
        match request.messages.last().and_then(|last| last.results().next()) {
            None => Turn::new().call("c1", "write_file", &json!({"path": "a.txt", "content": "hello\n"})),
            Some(_) => Turn::say("Done."),
        }
    });
    let agent = Agent::builder(model)
        .tools(CodingTools::new(folder.path())?.into_tools())
        .workspace(workspace_for(folder.path()).into())
        .approval(Approval::Always)
        .commits(true) // without it files are changed and not committed
        .binds(true) // keeps the decision in the repository too
        .build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "a greeting", None).await?;
    let stop = session.prompt("write a greeting", &Cancel::new()).await?;
    println!("{stop}");
    let Stop::Decided(decision) = stop else { return Err("it did not end".into()) };
    assert!(folder.path().join("a.txt").exists());

    let back = session.rollback(decision.id(), None).await?;
    println!("{}", back.verdict());
    assert!(!folder.path().join("a.txt").exists());
    Ok(())
}
