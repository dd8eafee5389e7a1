//! Logs that are not all our own: of older versions, and with records of other layers.

use std::sync::Arc;

use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{ProposalId, Verdict};
use trunkline_runtime::session_store::{
    Batch, Blob, FoundNote, MemoryStore, Note, Position, Record, SessionId, SessionStore, import,
};
use trunkline_runtime::{Cancel, across};

use crate::story::{Story, World, replies, stop_line};

/// A run that waits for a decision, as version 1 exported it: without digests, and without keys in its notes.
const VERSION_1: &str = r#"{"trunkline":"session","version":1,"session":{"id":"01a2024d-d3fa-70b0-aaf4-355b0393d183","title":"a story","workspace":null,"created_at":1,"updated_at":6,"head":"n3","records":8,"nodes":4}}
{"seq":1,"entry":"node","id":"n0","parent":null,"at":1,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"You work on files."}]}}
{"seq":2,"entry":"node","id":"n1","parent":"n0","at":2,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"change a"}]}}
{"seq":3,"entry":"note","layer":"decision","kind":"opened","at":2,"body":{"run":"{\"type\":\"run\",\"version\":1,\"id\":\"01a2024d-d3fa-70b0-aaf4-355ca637443b\",\"at\":\"1970-01-01T00:00:00.002Z\",\"actor\":{\"kind\":\"human\",\"id\":\"user\"},\"goal\":\"change a\"}","prompt":"n1","base":{}}}
{"seq":4,"entry":"node","id":"n2","parent":"n1","at":3,"message":{"node":"n2","role":"assistant","author":"model","content":[{"type":"text","text":"I propose."},{"type":"tool_call","id":"c1","name":"edit","arguments":"{\"path\":\"a\",\"text\":\"new\"}"}],"origin":{"provider":"test","model":"script"},"stop":"tool_use","usage":{"input_tokens":320,"output_tokens":9,"cache_read_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0}}}
{"seq":5,"entry":"note","layer":"runtime","kind":"call_started","at":4,"body":{"call":{"node":"n2","index":0,"id":"c1"},"tool":"edit"}}
{"seq":6,"entry":"note","layer":"runtime","kind":"call_finished","at":5,"body":{"call":{"node":"n2","index":0,"id":"c1"},"result":{"call_id":"c1","content":[{"type":"text","text":"a preview"},{"type":"text","text":"Staged as p1. Nothing is written before it is approved; you will be told."}]},"ran":true}}
{"seq":7,"entry":"note","layer":"resolve","kind":"event","at":5,"body":{"proposal":"p1","at":5,"change":{"staged":{"label":"edit a","source_tool":"edit","payload":{"path":"a","text":"new"},"preview":{"text":""},"fingerprints":[{"subject":"a","state":"absent"}],"after":[{"subject":"a","state":{"digest":"new"}}],"call":{"node":"n2","call_id":"c1"},"effect":"reversible","proposed_by":{"kind":"model"},"deciders":["person","policy"]}}}}
{"seq":8,"entry":"node","id":"n3","parent":"n2","at":6,"message":{"node":"n3","role":"tool","author":"tool","content":[{"type":"tool_result","call_id":"c1","content":[{"type":"text","text":"a preview"},{"type":"text","text":"Staged as p1. Nothing is written before it is approved; you will be told."}]}]}}
"#;

fn keys(found: &[FoundNote]) -> Vec<String> {
    found
        .iter()
        .map(|note| format!("{}/{} {} {}", note.layer, note.kind, note.key.key, note.key.state))
        .collect()
}

#[tokio::test]
async fn a_session_from_before_notes_had_keys_goes_on_and_its_next_steps_have_them() {
    let store = Arc::new(MemoryStore::new());
    let id = import(store.as_ref(), VERSION_1.as_bytes()).await.unwrap().remove(0).id;
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("done")])).build().unwrap();
    let mut session = agent.open(store.clone(), &id).await.unwrap();
    assert!(session.open_run().is_some());
    assert!(keys(&store.notes(&across::pending_proposals()).await.unwrap()).is_empty());

    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let approved = across::pending_proposals().in_state("approved");
    assert_eq!(keys(&store.notes(&approved).await.unwrap()), ["resolve/event p1 approved"]);

    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(world.effects(), ["wrote a"]);
    let answered = across::open_runs().in_state("other: answered");
    let run = "decision/run 01a2024d-d3fa-70b0-aaf4-355ca637443b other: answered";
    assert_eq!(keys(&store.notes(&answered).await.unwrap()), [run]);
    store.verify(&id).await.unwrap();
}

/// Writes into a session that nobody holds, as another program would.
async fn write(store: &MemoryStore, id: &SessionId, record: Record) {
    let info = store.info(id).await.unwrap();
    let lease = store.lease(id).await.unwrap();
    let batch = Batch::new(Position { seq: info.records, head: info.head }, vec![record]);
    store.append(&lease, batch).await.unwrap();
}

#[tokio::test]
async fn notes_and_blobs_of_other_layers_are_passed_over_and_kept() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("one"), Turn::say("two")]));
    let Story { store, agent, mut session, cancel, .. } = Story::begin(world, agent).await;
    session.prompt("first", &cancel).await.unwrap();
    let id = session.id().clone();
    drop(session);
    let at = trunkline_runtime::message_tree::Timestamp(9);
    let (layer, kind) = ("gauge".to_owned(), "picture".to_owned());
    let blob = Blob { layer, kind, at, bytes: vec![0, 255, 7] };
    let digest = blob.digest();
    write(&store, &id, Record::Blob(blob)).await;
    write(&store, &id, Record::Note(Note::new("gauge", "reading", at, "1.50").once("rain", "wet"))).await;

    let mut session = agent.open(store.clone(), &id).await.unwrap();
    session.prompt("second", &cancel).await.unwrap();
    assert_eq!(session.answer(), "two");
    assert_eq!(store.blob(&id, &digest).await.unwrap(), Some(vec![0, 255, 7]));
    store.verify(&id).await.unwrap();
}

#[tokio::test]
async fn a_run_that_somebody_decided_first_gets_no_second_verdict() {
    // A run that is over, whose verdict is put into the other session under the name of its open run.
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("done")]));
    let mut other = Story::begin(world, agent).await;
    other.prompt("anything").await.unwrap();
    let log = other.store.load(&other.id()).await.unwrap();
    let verdict = log.records.into_iter().find_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "decided" => Some(note),
        _ => None,
    });

    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &serde_json::json!({ "path": "a", "text": "new" }));
    let agent = world.agent(replies(vec![edit, Turn::say("done")]));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("change a").await), "waiting for p1");
    let run = story.store.notes(&across::open_runs()).await.unwrap().remove(0).key.key;
    let Story { store, agent, session, cancel, .. } = story;
    let id = session.id().clone();
    drop(session);
    write(&store, &id, Record::Note(verdict.unwrap().once(&run, "abandon"))).await;

    let mut session = agent.open(store.clone(), &id).await.unwrap();
    session.decide(ProposalId(1), Verdict::Discard, "").await.unwrap();
    let before = store.info(&id).await.unwrap().records;
    let refused = session.resume(&cancel).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("run {run} was decided already, by record 10: abandon"));
    // The model was asked once more; nothing of the second verdict is there.
    assert_eq!(store.info(&id).await.unwrap().records, before + 1);
}
