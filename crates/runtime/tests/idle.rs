//! What sessions keep for their next request while they are idle: those that were driven last do, and all of them ask alike.

use std::sync::{Arc, Mutex};

use trunkline_runtime::message_tree::Message;
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, Session};

/// More than an agent keeps lists of.
const MANY: usize = 500;

/// Returns the first words of the person.
fn words(session: &Session) -> &Arc<Message> {
    let tree = session.tree();
    tree.node(tree.trunk().ids()[1]).unwrap().shared()
}

/// Returns in how many places they are beside the tree.
fn shares(session: &Session) -> usize {
    Arc::strong_count(words(session)) - 1
}

#[tokio::test]
async fn the_sessions_that_were_driven_last_keep_their_lists() {
    let asked: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let sent = Arc::clone(&asked);
    let model = Scripted::new("test", "script", move |request| {
        sent.lock()
            .unwrap()
            .push(request.messages.iter().skip(1).map(|message| Message::text(message)).collect());
        Turn::say("done")
    });
    let agent = Agent::builder(model).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut sessions = Vec::new();
    for number in 0..MANY {
        let mut session = agent.start(store.clone(), "t", None).await.unwrap();
        session.prompt(&format!("I am {number}"), &Cancel::new()).await.unwrap();
        assert!(shares(&session) > 0, "it is kept for the next request");
        sessions.push(session);
    }
    assert_eq!(shares(&sessions[0]), 0, "others need the room");
    let kept = |sessions: &[Session]| sessions.iter().filter(|session| shares(session) > 0).count();
    let before = kept(&sessions);
    assert!((200..MANY).contains(&before), "{before}");
    let gone = sessions.split_off(MANY / 2);
    let of_gone = Arc::clone(words(&gone[10]));
    assert!(Arc::strong_count(&of_gone) > 2);
    drop(gone);
    assert_eq!(Arc::strong_count(&of_gone), 1, "what is kept for a session goes with it");
    // What was let go of is made again.
    for (number, session) in sessions.iter_mut().enumerate() {
        asked.lock().unwrap().clear();
        session.prompt("and?", &Cancel::new()).await.unwrap();
        assert_eq!(
            *asked.lock().unwrap(),
            [[format!("I am {number}"), "done".to_owned(), "and?".to_owned()]]
        );
    }
    assert_eq!(kept(&sessions), MANY / 2);
}
