//! Small sessions to try a store with, and sessions as text.

use std::fmt::Write;

use trunkline_message_tree::{Entry, HeadMove, Link, Message, MoveKind, NodeId, Timestamp};

use super::verdict::Broken;
use crate::{
    Batch, InboxId, NewSession, Note, Position, Record, SessionId, SessionInfo, SessionStore, StoreError,
};

/// The id of the `number`th session.
pub(super) fn session(number: u64) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{:012x}", number & 0xffff_ffff_ffff))
        .expect("it is a UUID")
}

/// The `number`th session, made at that time.
pub(super) fn new_session(number: u64) -> NewSession {
    let at = Timestamp(number);
    NewSession {
        id: session(number),
        title: format!("session {number}"),
        workspace: Some("/project".to_owned()),
        at,
        root: root("be brief", at),
    }
}

/// The first entry of a session.
pub(super) fn root(text: &str, at: Timestamp) -> Entry {
    let mut message = Message::system(text);
    message.node = Some(NodeId::ROOT);
    Entry::Node { id: NodeId::ROOT, parent: None, at, link: Link::Next, message }
}

/// A user message at a node, which becomes the head.
pub(super) fn node(id: u32, parent: u32, text: &str) -> Record {
    said(id, parent, false, 10, Message::user(text))
}

/// The same, leaving the head where it is.
pub(super) fn filed(id: u32, parent: u32, text: &str) -> Record {
    said(id, parent, true, 10, Message::user(text))
}

/// A message of the harness that merges branches, or stands for a span, as the link says.
pub(super) fn linked(id: u32, parent: u32, link: Link, text: &str) -> Record {
    put(id, parent, link, 10, Message::harness(text))
}

/// A message at a node.
pub(super) fn said(id: u32, parent: u32, filed: bool, at: u64, message: Message) -> Record {
    put(id, parent, if filed { Link::Filed } else { Link::Next }, at, message)
}

fn put(id: u32, parent: u32, link: Link, at: u64, mut message: Message) -> Record {
    let (id, parent) = (NodeId::new(id), Some(NodeId::new(parent)));
    message.node = Some(id);
    Record::Entry(Entry::Node { id, parent, at: Timestamp(at), link, message })
}

/// A person moves the head.
pub(super) fn head_move(from: u32, to: u32) -> Record {
    moved(from, to, 11, MoveKind::PersonRevert)
}

/// The head moves.
pub(super) fn moved(from: u32, to: u32, at: u64, kind: MoveKind) -> Record {
    let (from, to) = (NodeId::new(from), NodeId::new(to));
    Record::Entry(Entry::Move(HeadMove { from, to, kind, at: Timestamp(at) }))
}

/// A note of a layer that nobody knows.
pub(super) fn note(body: &str) -> Record {
    Record::Note(rain(body))
}

/// The same, before it is a record.
pub(super) fn rain(body: &str) -> Note {
    Note::new("weather", "rain", Timestamp(12), body)
}

/// A batch for that place.
pub(super) fn batch(seq: u64, head: u32, records: Vec<Record>) -> Batch {
    Batch::new(Position { seq, head: NodeId::new(head) }, records)
}

/// A batch for where a session is now.
pub(super) async fn next(
    store: &dyn SessionStore,
    session: &SessionId,
    records: Vec<Record>,
) -> Result<Batch, StoreError> {
    Ok(Batch::new(position(&store.info(session).await?), records))
}

/// Where a session is.
pub(super) fn position(info: &SessionInfo) -> Position {
    Position { seq: info.records, head: info.head }
}

/// Everything that can be asked about a session, as text.
pub(super) async fn state(store: &dyn SessionStore, session: &SessionId) -> Result<String, Broken> {
    let info = store.info(session).await?;
    let mut text = format!("{info:?}\n");
    // Writing into a string does not fail.
    for kept in all(store, session).await? {
        let _ = writeln!(text, "{kept:?}");
    }
    let _ = writeln!(text, "{:?}", store.inbox(session).await?);
    let _ = writeln!(text, "{:?}", store.outline(session).await?);
    let _ = writeln!(text, "{:?}", store.verify(session).await.map(|verified| verified.digest)?);
    Ok(text)
}

/// All records of a session as they are kept.
pub(super) async fn all(
    store: &dyn SessionStore,
    session: &SessionId,
) -> Result<Vec<crate::Kept>, StoreError> {
    let mut kept: Vec<crate::Kept> = Vec::new();
    loop {
        let page = store.read(session, kept.len() as u64, 1000).await?;
        if page.is_empty() {
            return Ok(kept);
        }
        kept.extend(page);
    }
}

/// A session as lines of JSON.
pub(super) async fn exported(store: &dyn SessionStore, session: &SessionId) -> Result<Vec<u8>, Broken> {
    let mut bytes = Vec::new();
    crate::export(store, session, &mut bytes).await?;
    Ok(bytes)
}

/// All sessions of a store as lines of JSON, in the order of their ids.
pub(super) async fn all_exported(store: &dyn SessionStore) -> Result<Vec<u8>, Broken> {
    let mut ids: Vec<SessionId> = store.sessions().await?.into_iter().map(|info| info.id).collect();
    ids.sort();
    let mut bytes = Vec::new();
    for id in ids {
        crate::export(store, &id, &mut bytes).await?;
    }
    Ok(bytes)
}

/// The names of letters.
pub(super) fn letters(ids: impl IntoIterator<Item = u64>) -> Vec<InboxId> {
    ids.into_iter().map(InboxId).collect()
}
