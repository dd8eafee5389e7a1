//! Small sessions to test with.

use trunkline_message_tree::{Entry, Link, Message, MessageTree, NodeId, Timestamp};
use trunkline_session_store::{
    Batch, Lease, NewSession, Note, Position, PostgresStore, Receipt, Record, SessionId, SessionStore,
    StoreError,
};

pub(super) fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}")).expect("it is a UUID")
}

pub(super) fn new_session(number: u32) -> NewSession {
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(1));
    let root = tree.entries().next().expect("a tree has its root");
    NewSession { id: session(number), title: "test".to_owned(), workspace: None, at: Timestamp(1), root }
}

/// A note; it leaves the head where it is.
pub(super) fn note(body: &str) -> Record {
    Record::Note(Note::new("test", "said", Timestamp(2), body))
}

/// The `id`th node, after the one before it.
pub(super) fn node(id: u32, text: &str) -> Record {
    let mut message = Message::user(text);
    message.node = Some(NodeId::new(id));
    let parent = Some(NodeId::new(id - 1));
    Record::Entry(Entry::Node { id: NodeId::new(id), parent, at: Timestamp(3), link: Link::Next, message })
}

/// A batch after record `seq` of a session whose head is the root.
pub(super) fn batch(seq: u64, records: Vec<Record>) -> Batch {
    Batch::new(Position { seq, head: NodeId::ROOT }, records)
}

/// Appends notes one after the other and returns the last receipt.
pub(super) async fn append_notes(
    store: &PostgresStore,
    lease: &Lease,
    from: u64,
    count: u64,
) -> Result<Receipt, StoreError> {
    let mut receipt = store.append(lease, batch(from, Vec::new())).await?;
    for seq in from..from + count {
        receipt = store.append(lease, batch(seq, vec![note(&seq.to_string())])).await?;
    }
    Ok(receipt)
}

/// The bodies of all records after the root.
pub(super) async fn bodies(store: &PostgresStore, number: u32) -> Vec<String> {
    let kept = store.read(&session(number), 1, 100_000).await.expect("it can be read");
    kept.into_iter().map(|kept| kept.body).collect()
}
