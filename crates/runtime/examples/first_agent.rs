//! The ten lines of the README, with a scripted model: no key, no network.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Scripted::new("scripted", "parrot", |request| {
        let last = request.messages.last().map(|message| message.text()).unwrap_or_default();
        Turn::say(format!("You said: {last}"))
    });
    let agent = Agent::builder(model).system("You repeat.").with_revert().build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "a first talk", None).await?;
    let stop = session.prompt("hello", &Cancel::new()).await?;
    println!("{}\n{stop:?}", session.answer());
    Ok(())
}
