//! Sessions that a call begins.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, ToolSpec};
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, SessionStore, SqliteStore};
use trunkline_runtime::{
    Agent, CallPlace, Cancel, Parent, RuntimeError, Stop, Tool, ToolContext, ToolOutput, children_of,
};

/// Asks another agent what the model asks it.
struct Ask(Agent);

#[async_trait]
impl Tool for Ask {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("ask", "Asks.", json!({ "type": "object" }))
    }

    async fn run(&self, _: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut child = self.0.start_child(context, "a question").await.unwrap();
        let stop = child.prompt("what is it?", &context.cancel.child()).await.unwrap();
        ToolOutput::text(format!("{} ({stop})", child.answer()))
    }
}

fn model(request: &Request) -> Turn {
    match request.messages.last().and_then(|message| message.results().next()) {
        None => Turn::new().call("c1", "ask", &json!({})),
        Some(result) => Turn::say(result.text()),
    }
}

fn agent(child: Scripted) -> Agent {
    let child = Agent::builder(child).build().unwrap();
    Agent::builder(Scripted::new("scripted", "m", model)).tool(Ask(child)).build().unwrap()
}

async fn check(store: Arc<dyn SessionStore>) {
    let agent = agent(Scripted::new("scripted", "child", |_| Turn::say("42")));
    let mut session = agent.start(Arc::clone(&store), "t", Some("/work")).await.unwrap();
    let other = agent.start(Arc::clone(&store), "another", None).await.unwrap();
    session.prompt("ask", &Cancel::new()).await.unwrap();
    assert_eq!(session.answer(), "42 (decided other: answered)");

    let found = store.notes(&children_of(session.id())).await.unwrap();
    let [note] = found.as_slice() else { panic!("one child: {found:?}") };
    let call = CallPlace { node: NodeId::new(2), index: 0, id: "c1".to_owned() };
    let parent = Parent::read(note).unwrap();
    assert_eq!((&parent.session, &parent.call), (session.id(), &call));
    assert_eq!(Parent::of(store.as_ref(), &note.session).await.unwrap(), Some(parent));
    assert_eq!(Parent::of(store.as_ref(), session.id()).await.unwrap(), None);
    assert_eq!(store.notes(&children_of(other.id())).await.unwrap(), []);

    let info = store.info(&note.session).await.unwrap();
    assert_eq!((info.title.as_str(), info.workspace.as_deref()), ("a question", Some("/work")));
    // It is a session like any other.
    let child = agent.open(Arc::clone(&store), &note.session).await.unwrap();
    assert_eq!(child.answer(), "42");
}

#[tokio::test]
async fn a_child_is_found_by_its_parent_and_the_parent_by_its_child() {
    check(Arc::new(MemoryStore::new())).await;
    let folder = tempfile::tempdir().unwrap();
    check(Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap())).await;
}

#[tokio::test]
async fn a_child_stops_with_its_call() {
    let cancel = Cancel::new();
    let given = cancel.clone();
    // It is given while the child is asked.
    let child = Scripted::new("scripted", "child", move |_| {
        given.cancel();
        Turn::say("too late")
    });
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session = agent(child).start(Arc::clone(&store), "t", None).await.unwrap();
    assert_eq!(session.prompt("ask", &cancel).await.unwrap(), Stop::Cancelled);
    let result = session.tree().trunk().messages().last().unwrap().results().next().unwrap().text();
    assert_eq!(result, " (cancelled)");
    assert_eq!(store.notes(&children_of(session.id())).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_tool_can_be_tried_with_a_session_and_is_refused_a_child_without_one() {
    let agent = Agent::builder(Scripted::new("scripted", "child", |_| Turn::say("42"))).build().unwrap();
    let call = CallPlace { node: NodeId::new(1), index: 0, id: "c1".to_owned() };
    let context = ToolContext::new(Cancel::new(), call);
    assert!(context.store().is_none());
    let refused = agent.start_child(&context, "t").await.err().unwrap();
    assert_eq!(refused.to_string(), "the call belongs to no session, so it can have no child");
    assert!(matches!(refused, RuntimeError::Refused { .. }));

    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let session = agent.start(Arc::clone(&store), "t", None).await.unwrap();
    let context = context.in_session(store, session.id().clone());
    let output = Ask(agent).run(Map::new(), &context).await;
    assert_eq!(output, ToolOutput::text("42 (decided other: answered)"));
}

#[tokio::test]
async fn a_note_that_cannot_be_read_is_said_to_be_so() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let agent = agent(Scripted::new("scripted", "child", |_| Turn::say("42")));
    let mut session = agent.start(Arc::clone(&store), "t", None).await.unwrap();
    session.prompt("ask", &Cancel::new()).await.unwrap();
    let mut found = store.notes(&children_of(session.id())).await.unwrap();
    found[0].body = r#"{"session":"none"}"#.to_owned();
    let fault = Parent::read(&found[0]).unwrap_err();
    assert!(fault.to_string().starts_with(r#"a note "parent" of layer "runtime" in the log cannot be read"#));
}
