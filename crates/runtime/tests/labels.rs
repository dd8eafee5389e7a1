//! What people are shown for a tool: recorded where it does not follow from the name, and in no request.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionStore};
use trunkline_runtime::{Agent, Cancel, Event, Tool, ToolContext, ToolOutput, View};

use crate::kills::{Death, Mortal};

/// A tool that people know by another name, if it says one.
struct Ship(Option<&'static str>);

#[async_trait::async_trait]
impl Tool for Ship {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("deploy_it", "Ships.", json!({ "type": "object", "properties": {} }))
    }

    fn label(&self) -> String {
        match self.0 {
            Some("panics") => panic!("a tool that does not know its name"),
            Some(label) => label.to_owned(),
            None => "Deploy it".to_owned(),
        }
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        ToolOutput::text("shipped")
    }
}

struct Told {
    requests: Vec<Request>,
    labels: Vec<String>,
}

fn agent(label: Option<&'static str>) -> (Agent, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(Told { requests: Vec::new(), labels: Vec::new() }));
    let (asked, observed) = (Arc::clone(&told), Arc::clone(&told));
    let model = Scripted::new("test", "script", move |request: &Request| {
        asked.lock().unwrap().requests.push(request.clone());
        let calls = |turn: Turn, id: &str| turn.call(id, "deploy_it", &json!({}));
        match request.messages.last().is_some_and(|last| last.results().next().is_some()) {
            true => Turn::say("done"),
            false => calls(calls(Turn::new(), "a"), "b"),
        }
    });
    let agent =
        Agent::builder(model).tools([Box::new(Ship(label)) as Box<dyn Tool>]).on_event(move |event| {
            if let Event::CallStarted { label, .. } = event {
                observed.lock().unwrap().labels.push(label.clone());
            }
        });
    (agent.build().unwrap(), told)
}

/// Returns the labels that the log holds.
fn recorded(log: &trunkline_runtime::session_store::Log) -> Vec<String> {
    let notes = log.records.iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "tool_label" => Some(note.body.clone()),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn a_label_of_ones_own_is_recorded_once_and_is_in_no_request() {
    let mut requests = Vec::new();
    for (label, shown, kept) in [
        (None, "Deploy it", vec![]),
        (Some("Ship\n  it"), "Ship it", vec![r#"{"tool":"deploy_it","label":"Ship it"}"#]),
        (Some(" "), "Deploy it", vec![]),
        (Some("panics"), "Deploy it", vec![]),
    ] {
        let (agent, told) = agent(label);
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mut session = agent.start(Arc::clone(&store), "t", None).await.unwrap();
        for prompt in ["ship it", "again"] {
            session.prompt(prompt, &Cancel::new()).await.unwrap();
        }
        let log = store.load(session.id()).await.unwrap();
        assert_eq!(recorded(&log), kept, "{label:?}");
        assert_eq!(told.lock().unwrap().labels, [shown; 4], "{label:?}");
        assert_eq!(View::of(&log).unwrap().tool_label("deploy_it"), shown);
        let outline = View::outline(store.as_ref(), &log.info).await.unwrap();
        assert_eq!(outline.tool_label("deploy_it"), shown);
        requests.push(format!("{:?}", told.lock().unwrap().requests));
    }
    assert!(requests.iter().all(|request| *request == requests[0]), "what is sent does not change by a byte");
}

#[tokio::test]
async fn a_label_that_changes_is_recorded_again() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = agent(Some("Ship")).0.start(Arc::clone(&store), "t", None).await.unwrap();
    session.prompt("ship it", &Cancel::new()).await.unwrap();
    let id = session.id().clone();
    drop(session);
    let mut session = agent(Some("Send")).0.open(Arc::clone(&store), &id).await.unwrap();
    session.prompt("again", &Cancel::new()).await.unwrap();
    let log = store.load(&id).await.unwrap();
    assert_eq!(recorded(&log).len(), 2);
    assert_eq!(View::of(&log).unwrap().tool_label("deploy_it"), "Send");
}

#[tokio::test]
async fn a_label_is_recorded_once_wherever_the_process_is_killed() {
    for death in [Death::Lost, Death::Kept, Death::Fenced] {
        for write in 0..12 {
            let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            let mortal: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(&inner), write, death));
            let mut session = agent(Some("Ship")).0.start(mortal, "t", None).await.unwrap();
            let id = session.id().clone();
            let was_killed = session.prompt("ship it", &Cancel::new()).await.is_err();
            drop(session);
            if was_killed {
                let mut session = agent(Some("Ship")).0.open(Arc::clone(&inner), &id).await.unwrap();
                session.prompt("again", &Cancel::new()).await.unwrap();
            }
            assert_eq!(recorded(&inner.load(&id).await.unwrap()).len(), 1, "killed at {write}, {death:?}");
        }
    }
}
