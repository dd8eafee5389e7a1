//! Small sessions to test with, and logs as text.

use trunkline_message_tree::{Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Timestamp};
use trunkline_session_store::{
    Batch, Blob, Log, NewSession, Note, Position, Record, SessionId, SessionStore,
};

/// The id of the `number`th session.
pub(crate) fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}")).expect("it is a UUID")
}

/// The `number`th session, made at that time.
pub(crate) fn new_session(number: u32) -> NewSession {
    let at = Timestamp(u64::from(number));
    NewSession {
        id: session(number),
        title: format!("session {number}"),
        workspace: Some("/project".to_owned()),
        at,
        root: root("be brief", at),
    }
}

/// A user message at a node.
pub(crate) fn node(id: u32, parent: u32, text: &str) -> Record {
    let mut message = Message::user(text);
    message.node = Some(NodeId::new(id));
    let (id, parent) = (NodeId::new(id), Some(NodeId::new(parent)));
    Record::Entry(Entry::Node { id, parent, at: Timestamp(10), link: Link::Next, message })
}

/// The same, leaving the head where it is.
pub(crate) fn filed(id: u32, parent: u32, text: &str) -> Record {
    match node(id, parent, text) {
        Record::Entry(Entry::Node { id, parent, at, message, .. }) => {
            Record::Entry(Entry::Node { id, parent, at, link: Link::Filed, message })
        }
        other => other,
    }
}

/// A person moves the head.
pub(crate) fn head_move(from: u32, to: u32) -> Record {
    let (from, to) = (NodeId::new(from), NodeId::new(to));
    Record::Entry(Entry::Move(HeadMove { from, to, kind: MoveKind::PersonRevert, at: Timestamp(11) }))
}

/// A note of a layer that nobody knows.
pub(crate) fn note(body: &str) -> Record {
    Record::Note(Note::new("weather", "rain", Timestamp(12), body))
}

/// A batch for that place.
pub(crate) fn batch(seq: u64, head: u32, records: Vec<Record>) -> Batch {
    Batch::new(Position { seq, head: NodeId::new(head) }, records)
}

/// A log as text: one line each for the session and every record.
pub(crate) fn show(log: &Log) -> String {
    let info = &log.info;
    let mut text = format!(
        "{} {:?}: {} records, {} nodes, head {}, {} to {}\n",
        &info.id.as_str()[35..],
        info.title,
        info.records,
        info.nodes,
        info.head,
        info.created_at,
        info.updated_at
    );
    for (seq, record) in &log.records {
        text += &match record {
            Record::Entry(Entry::Node { id, parent, link, message, .. }) => {
                let parent = parent.map_or("nothing".to_owned(), |parent| parent.to_string());
                let how = if link.is_filed() { "filed under" } else { "after" };
                format!("{seq} {id} {how} {parent}: {}\n", message.text())
            }
            Record::Entry(Entry::Move(HeadMove { from, to, .. })) => format!("{seq} head {from} -> {to}\n"),
            Record::Note(Note { layer, kind, body, key, .. }) => {
                let about = key.as_ref().map_or(String::new(), |key| format!(" about {:?}", key.key));
                format!("{seq} {layer}/{kind}{about} {body}\n")
            }
            Record::Blob(Blob { layer, kind, bytes, .. }) => {
                format!("{seq} {layer}/{kind} {} bytes\n", bytes.len())
            }
        };
    }
    text
}

/// Loads a session and shows it.
pub(crate) async fn loaded(store: &dyn SessionStore, number: u32) -> String {
    show(&store.load(&session(number)).await.expect("it can be loaded"))
}

/// An error with its causes, as a program would print it.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

/// The first entry of a session.
pub(crate) fn root(text: &str, at: Timestamp) -> Entry {
    MessageTree::new(Message::system(text), at).root_entry()
}
