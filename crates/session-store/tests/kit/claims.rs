//! What a store says of its sessions, held against what it has.

use std::sync::Arc;

use trunkline_message_tree::{Entry, Message, MessageTree, Timestamp};
use trunkline_session_store::{MemoryStore, NewSession, Retention, SessionId, SessionStore, StoreError};

use super::flawed::{Flaw, Flawed, Shared, at_once};

fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}")).unwrap()
}

fn made(flaw: Flaw) -> Flawed {
    let store = MemoryStore::new();
    for number in [1, 2] {
        let at = Timestamp(u64::from(number));
        let root: Entry = MessageTree::new(Message::system("be brief"), at).root_entry();
        let new = NewSession { id: session(number), title: String::new(), workspace: None, at, root };
        at_once(store.create(new)).unwrap();
    }
    Flawed::new(store, flaw, Arc::new(Shared::default()))
}

#[test]
fn verify_compares_all_that_a_session_says_of_its_log() {
    for flaw in [Flaw::MiscountsBytes, Flaw::ForgetsTheLastUpdate] {
        let refused = at_once(made(flaw).verify(&session(1))).unwrap_err();
        assert!(matches!(refused, StoreError::BadRecord { seq: 1, .. }), "{refused}");
    }
}

#[test]
fn a_session_that_goes_while_a_plan_is_made_takes_no_room_in_it() {
    let store = made(Flaw::ListsWhatIsGone);
    let sessions = at_once(store.sessions()).unwrap();
    let all: u64 = sessions.iter().map(|info| info.bytes).sum();
    let there: u64 = sessions.iter().take(2).map(|info| info.bytes).sum();
    let plan = |bytes| at_once(Retention::bytes(bytes).plan(&store, Timestamp(9))).unwrap();
    for bytes in [all, all - 1, there] {
        assert_eq!(plan(bytes), []);
    }
    assert_eq!(plan(there - 1).len(), 1);
}
