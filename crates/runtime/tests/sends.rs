//! Drives go where the program wants them: on any thread of a runtime with many.

use std::sync::Arc;

use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::{InboxId, MemoryStore};
use trunkline_runtime::{Agent, Cancel, RuntimeError, Session, orders};

fn is_send<T: Send>(_: T) {}

/// Never called: that it compiles is the test.
#[expect(dead_code, reason = "only its types are looked at")]
fn every_future_of_a_session_is_send(agent: &Agent, session: &mut Session, cancel: &Cancel) {
    let store = || Arc::new(MemoryStore::new());
    let id = session.id().clone();
    is_send(agent.start(store(), "t", None));
    is_send(agent.open(store(), &id));
    is_send(agent.take_over(store(), &id));
    is_send(orders::settled(store().as_ref(), &id, InboxId(1)));
    is_send(session.prompt("do it", cancel));
    is_send(session.resume(cancel));
    is_send(session.read_letters());
    is_send(session.revert(trunkline_runtime::message_tree::NodeId::ROOT, None));
    is_send(session.undo());
    is_send(session.redo());
    is_send(session.decide(
        trunkline_runtime::resolve_queue::ProposalId(1),
        trunkline_runtime::resolve_queue::Verdict::Approve,
        "",
    ));
}

#[tokio::test]
async fn a_drive_can_be_spawned() {
    let agent = Agent::builder(Scripted::new("test", "script", |_| Turn::say("done"))).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let drive = tokio::spawn(async move {
        session.prompt("do it", &Cancel::new()).await?;
        Ok::<_, RuntimeError>(session.answer())
    });
    assert_eq!(drive.await.unwrap().unwrap(), "done");
}
