//! A tool of one's own: its arguments are a type, and a call that does not fit it is told to the model.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Access, Agent, Cancel, Event, Tool, ToolContext, TypedTool};

#[derive(serde::Deserialize, JsonSchema)]
struct Distance {
    /// How far, in kilometres.
    kilometres: f64,
    /// What it is wanted in.
    unit: Unit,
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Miles,
    Leagues,
}

async fn convert(distance: Distance, _: ToolContext) -> Result<String, &'static str> {
    if distance.kilometres < 0.0 {
        return Err("a distance is not negative");
    }
    let (kilometres, name) = match distance.unit {
        Unit::Miles => (1.609_344, "miles"),
        Unit::Leagues => (4.828_032, "leagues"),
    };
    Ok(format!("{:.1} {name}", distance.kilometres / kilometres))
}

/// Calls it wrongly, then rightly, then says what came.
fn model(request: &Request) -> Turn {
    let results: Vec<_> = request.messages.iter().flat_map(|message| message.results()).collect();
    match results.as_slice() {
        [] => Turn::new().call("c1", "convert", &json!({ "kilometres": 42.195, "unit": "ells" })),
        [_] => Turn::new().call("c2", "convert", &json!({ "kilometres": 42.195, "unit": "miles" })),
        [.., last] => Turn::say(format!("A marathon is {}.", last.text())),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let convert = TypedTool::from_fn("convert", "Converts a distance.", convert).access(Access::ReadOnly);
    println!("The model is told: {}", convert.spec().input_schema);
    let agent = Agent::builder(Scripted::new("scripted", "runner", model)).tool(convert).build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "distances", None).await?;
    session.on_event(|event| {
        if let Event::CallFinished { result, .. } = event {
            println!("{}{}", if result.is_error { "failed: " } else { "" }, result.text());
        }
    });
    session.prompt("How many miles is a marathon?", &Cancel::new()).await?;
    println!("{}", session.answer());
    Ok(())
}
