//! Words as they come: one task drives the session, another prints what happens in it.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::io::Write;
use std::sync::Arc;

use trunkline_runtime::providers::{Event as Piece, Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, Event};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Scripted::new("scripted", "poet", |_| Turn::say("Roses are red,\nviolets are blue."));
    let agent = Agent::builder(model).build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "a poem", None).await?;

    let mut events = session.events();
    let printer = tokio::spawn(async move {
        while let Some(told) = events.next().await {
            if told.missed > 0 {
                println!("[{} events were missed]", told.missed);
            }
            match told.event {
                Event::Stream(Piece::TextDelta(piece)) => print!("{piece}"),
                Event::Stream(Piece::ThinkingDelta(piece)) => print!("({piece})"),
                Event::CallStarted { tool, .. } => println!("[{tool}]"),
                // What came so far is void: the answer begins again.
                Event::AttemptFailed { .. } => println!("[once more]"),
                Event::Message { .. } => println!(),
                _ => {}
            }
            // A terminal shows whole lines otherwise.
            let _ = std::io::stdout().flush();
        }
    });

    session.prompt("A poem, please.", &Cancel::new()).await?;
    // The stream ends with the session.
    drop(session);
    printer.await?;
    Ok(())
}
