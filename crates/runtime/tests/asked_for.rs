//! What the builder asks for, and what of it is in the requests.

use std::sync::{Arc, Mutex};

use serde_json::json;
use trunkline_runtime::providers::{
    Anthropic, Dialect, Feature, OpenAiChat, OutputSchema, Request, Scripted, Turn, Wire,
};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, AgentBuilder, Cancel};

fn form() -> OutputSchema {
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
        "additionalProperties": false,
    });
    OutputSchema::new("number", schema)
}

fn all(builder: AgentBuilder) -> AgentBuilder {
    builder.output_schema(form()).stop_sequences(["END", "STOP"]).seed(7)
}

/// Returns the requests of two turns, and what was left out of them.
async fn asked(
    wire: impl Wire + 'static,
    with: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (Vec<Request>, Vec<Feature>) {
    let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
    let heard = Arc::clone(&requests);
    let model = Scripted::new("scripted", "m", move |request: &Request| {
        heard.lock().unwrap().push(request.clone());
        Turn::say(r#"{"n":1}"#)
    });
    let agent = with(Agent::builder(model.on(wire))).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    for _ in 0..2 {
        session.prompt("a number", &Cancel::new()).await.unwrap();
    }
    let requests = requests.lock().unwrap().clone();
    (requests, agent.left_out())
}

#[tokio::test]
async fn each_request_has_what_was_asked_for() {
    let (requests, left_out) = asked(OpenAiChat::default(), all).await;
    assert_eq!((requests.len(), left_out), (2, Vec::new()));
    for request in requests {
        assert_eq!(request.output, Some(form()));
        assert_eq!((request.stop, request.seed), (vec!["END".to_owned(), "STOP".to_owned()], Some(7)));
    }
}

#[tokio::test]
async fn what_a_wire_has_no_place_for_is_left_out_and_told_beforehand() {
    let (requests, left_out) = asked(Anthropic::new(), all).await;
    assert_eq!(left_out, [Feature::Seed]);
    assert!(requests.iter().all(|request| request.seed.is_none() && request.output.is_some()));

    let (requests, left_out) = asked(OpenAiChat::new(Dialect::deepseek()), all).await;
    assert_eq!(left_out, [Feature::OutputSchema, Feature::Seed]);
    assert!(requests.iter().all(|request| request.seed.is_none() && request.output.is_none()));
    assert!(requests.iter().all(|request| request.stop.len() == 2));
}

#[tokio::test]
async fn what_was_not_asked_for_is_neither_sent_nor_left_out() {
    let (requests, left_out) = asked(OpenAiChat::new(Dialect::deepseek()), |builder| builder).await;
    assert_eq!(left_out, []);
    let unasked =
        |request: &Request| (&request.output, &request.seed) == (&None, &None) && request.stop.is_empty();
    assert!(requests.iter().all(unasked));
}
