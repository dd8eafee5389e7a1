//! The first agent of the README: a scripted model, no key, no network.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Scripted::new("scripted", "parrot", |_| Turn::say("Hello."));
    let agent = Agent::builder(model).system("You greet.").with_revert().build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "a first talk", None).await?;
    let stop = session.prompt("hi", &Cancel::new()).await?;
    println!("{} ({stop})", session.answer());
    Ok(())
}
