//! Requests to revert that could not be read: each is recorded once, wherever the process is killed.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::message_tree::Role;
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{Cancel, Stop, View};

use crate::kills::{Death, Mortal};
use crate::story::World;

/// Asks to go back in two ways that cannot be read and in one that is refused, and then answers.
fn model(request: &Request) -> Turn {
    match request.messages.iter().any(|message| message.role == Role::Tool) {
        true => Turn::say("well"),
        false => Turn::new()
            .call("c1", "revert_to_state", &json!({ "step": "n1" }))
            .call("c2", "revert_to_state", &json!({ "category": "failure", "step": "n99" }))
            .call("c3", "revert_to_state", &json!({ "category": "failure" })),
    }
}

/// Runs it with a kill at a write of the first process. Returns whether there was one.
async fn killed_at(write: usize, death: Death) -> bool {
    let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let agent = World::default().agent(model).with_revert().build().unwrap();
    let mortal: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(&inner), write, death));
    let mut session = agent.start(mortal, "t", None).await.unwrap();
    let id: SessionId = session.id().clone();
    let was_killed = session.prompt("go back", &Cancel::new()).await.is_err();
    drop(session);
    if was_killed {
        let mut session = agent.open(Arc::clone(&inner), &id).await.unwrap();
        let begun = session.tree().len() > 1;
        let stop = match begun {
            true => session.resume(&Cancel::new()).await,
            false => session.prompt("go back", &Cancel::new()).await,
        };
        assert!(matches!(stop, Ok(Stop::Decided(_) | Stop::Idle)), "{stop:?}");
    }
    let log = inner.load(&id).await.unwrap();
    let kinds = log.records.iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.layer == "revert" && note.kind != "turn" => Some(note.kind.as_str()),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["unread", "drained", "unread"], "killed at {write}, {death:?}");
    let view = View::of(&log).unwrap();
    let faults: Vec<&str> = view.going_back().unread.iter().map(|request| request.fault.as_str()).collect();
    assert_eq!(faults, ["category is required", "step is required"]);
    was_killed
}

#[tokio::test]
async fn each_is_recorded_once_wherever_the_process_is_killed() {
    for death in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut write = 0;
        while killed_at(write, death).await {
            write += 1;
        }
        assert!(write >= 4, "{write} writes were tried");
    }
}
