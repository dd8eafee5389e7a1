//! Sessions that are written, on any store.

use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Timestamp};
use trunkline_session_store::{
    Batch, Header, Kept, Lease, NewSession, Note, Position, Record, Restoring, SessionId, SessionStore, Tally,
};

use crate::Outcome;

/// One session that is written, and where it is.
pub(crate) struct Writing {
    pub(crate) lease: Lease,
    pub(crate) at: Position,
    /// The node that comes next.
    pub(crate) node: u32,
}

impl Writing {
    pub(crate) async fn begin(store: &dyn SessionStore, number: u32, records: u32) -> Outcome<Self> {
        let id = id(number)?;
        fill(store, &id, records).await?;
        let lease = store.lease(&id).await?;
        let info = store.info(&id).await?;
        let at = Position { seq: info.records, head: info.head };
        Ok(Writing { lease, at, node: info.nodes as u32 })
    }

    pub(crate) async fn append(&mut self, store: &dyn SessionStore) -> Outcome<Duration> {
        let head = NodeId::new(self.node);
        let record = node(self.node, self.at.head);
        let time = self.add(store, vec![record]).await?;
        self.at.head = head;
        self.node += 1;
        Ok(time)
    }

    /// Goes back by five nodes.
    pub(crate) async fn revert(&mut self, store: &dyn SessionStore) -> Outcome<()> {
        let (from, to) = (self.at.head, NodeId::new(self.at.head.index() as u32 - 5));
        let kind = MoveKind::ModelRevert;
        let moved = Record::Entry(Entry::Move(HeadMove { from, to, kind, at: Timestamp(0) }));
        let lesson =
            r#"{"kind":"lesson","summary":"the parser does not know dates","anchor":"n7","made_by":3}"#;
        let note = Record::Note(Note::new("revert", "note", Timestamp(0), lesson));
        self.add(store, vec![moved, note]).await?;
        self.at.head = to;
        Ok(())
    }

    pub(crate) async fn add(&mut self, store: &dyn SessionStore, records: Vec<Record>) -> Outcome<Duration> {
        let batch = Batch::new(self.at, records);
        let start = Instant::now();
        self.at.seq = store.append(&self.lease, batch).await?.seq;
        Ok(start.elapsed())
    }
}

/// How much was done in which time.
#[derive(Default)]
pub(crate) struct Rate {
    pub(crate) count: u64,
    pub(crate) time: Duration,
}

impl Rate {
    pub(crate) fn get(&self) -> f64 {
        self.count as f64 / self.time.as_secs_f64()
    }
}

pub(crate) fn id(number: u32) -> Outcome<SessionId> {
    Ok(SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}"))?)
}

pub(crate) fn root() -> Outcome<Entry> {
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
    Ok(tree.entries().next().ok_or("a tree has its root")?)
}

pub(crate) async fn create(store: &dyn SessionStore, id: &SessionId) -> Outcome<()> {
    let new =
        NewSession { id: id.clone(), title: String::new(), workspace: None, at: Timestamp(0), root: root()? };
    Ok(store.create(new).await?)
}

/// Makes a session of so many messages of about 1 KB, with a branch every hundred.
pub(crate) async fn fill(store: &dyn SessionStore, id: &SessionId, records: u32) -> Outcome<()> {
    let mut tally = Tally::new(id, Timestamp(0));
    let mut rows: Vec<Kept> = vec![tally.add(id, Record::Entry(root()?))?];
    let mut next = 1;
    while tally.seq < u64::from(records) {
        if tally.seq % 100 == 99 {
            let from = tally.head;
            let to = NodeId::new(from.index() as u32 - 3);
            let moved = HeadMove { from, to, kind: MoveKind::ModelRevert, at: Timestamp(0) };
            rows.push(tally.add(id, Record::Entry(Entry::Move(moved)))?);
        } else {
            rows.push(tally.add(id, node(next, tally.head))?);
            next += 1;
        }
    }
    let header = Header {
        id: id.clone(),
        title: String::new(),
        tags: std::collections::BTreeSet::new(),
        archived: false,
        workspace: None,
        created_at: Timestamp(0),
        head: tally.head,
        records: tally.seq,
        nodes: tally.nodes,
        digest: Some(tally.digest),
    };
    let mut rows = rows.into_iter().map(Ok);
    store.restore(Restoring::new(header, &mut rows)).await?;
    Ok(())
}

pub(crate) fn message(node: u32) -> Message {
    let mut message = Message::user("all work and no play ".repeat(44));
    message.node = Some(NodeId::new(node));
    message
}

pub(crate) fn node(id: u32, parent: NodeId) -> Record {
    let (id, parent, message) = (NodeId::new(id), Some(parent), message(id));
    Record::Entry(Entry::Node { id, parent, at: Timestamp(0), link: Link::Next, message })
}

pub(crate) fn payload(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}
