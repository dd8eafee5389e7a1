//! Who is told what of which session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::providers::{Event as Piece, Request, Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Access, Agent, Cancel, Event, Tool, ToolContext, ToolOutput};

/// Tells which session it is called in, after everybody else had a turn.
struct WhichSession;

#[async_trait]
impl Tool for WhichSession {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("which", "Tells the session.", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        tokio::task::yield_now().await;
        ToolOutput::text(context.session.as_ref().map(ToString::to_string).unwrap_or_default())
    }
}

/// Calls the tool, then says the prompt and what the tool told, in two blocks.
fn model(request: &Request) -> Turn {
    let prompt = request.messages.iter().map(|message| message.text()).find(|text| !text.is_empty());
    match request.messages.last().and_then(|message| message.results().next()) {
        None => Turn::new().call("c1", "which", &json!({})),
        Some(result) => Turn::say(prompt.unwrap_or_default()).and_say(result.text()),
    }
}

fn piece(event: &Event) -> &str {
    match event {
        Event::Stream(Piece::TextDelta(text)) => text,
        _ => "",
    }
}

#[tokio::test]
async fn what_two_sessions_of_one_agent_stream_at_once_is_told_apart() {
    let all: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let heard = Arc::clone(&all);
    let agent = Agent::builder(Scripted::new("scripted", "m", model)).tool(WhichSession);
    let agent = agent.on_session_event(move |session, event| {
        heard.lock().unwrap().entry(session.to_string()).or_default().push_str(piece(event));
    });
    let agent = agent.build().unwrap();
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut first = agent.start(Arc::clone(&store), "first", None).await.unwrap();
    let mut second = agent.start(store, "second", None).await.unwrap();
    let alone: Arc<Mutex<String>> = Arc::default();
    let heard = Arc::clone(&alone);
    first.on_event(move |event| heard.lock().unwrap().push_str(piece(event)));

    let cancel = Cancel::new();
    let (one, two) = tokio::join!(first.prompt("one", &cancel), second.prompt("two", &cancel));
    one.unwrap();
    two.unwrap();

    let (one, two) = (first.id().to_string(), second.id().to_string());
    let expected = BTreeMap::from([(one.clone(), format!("one{one}")), (two.clone(), format!("two{two}"))]);
    assert_eq!(*all.lock().unwrap(), expected);
    assert_eq!(*alone.lock().unwrap(), format!("one{one}"));
}

#[tokio::test]
async fn an_observer_of_one_session_is_told_the_same_as_the_agents() {
    let (all, alone) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (of_agent, of_session) = (Arc::clone(&all), Arc::clone(&alone));
    let agent = Agent::builder(Scripted::new("scripted", "m", model)).tool(WhichSession);
    let agent = agent.on_event(move |event| of_agent.lock().unwrap().push(format!("{event:?}")));
    let agent = agent.build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.on_event(move |_| panic!("it was replaced"));
    session.on_event(move |event| of_session.lock().unwrap().push(format!("{event:?}")));
    let before = all.lock().unwrap().len();
    session.prompt("one", &Cancel::new()).await.unwrap();
    assert!(!alone.lock().unwrap().is_empty());
    assert_eq!(all.lock().unwrap()[before..], alone.lock().unwrap()[..]);
}
