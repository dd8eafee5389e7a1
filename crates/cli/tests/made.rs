//! Sessions made for a test, as the lines of JSON that `import` reads.

use trunkline_message_tree::{Entry, Link, Message, NodeId, Timestamp};
use trunkline_session_store::{
    Blob, Digest, Header, Kept, Note, Record, SessionId, Tally, write_header, write_record,
};

/// A day in the times of records.
pub(crate) const DAY: u64 = 86_400_000;

/// The name of the `number`th session; their beginnings are all different.
pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}-0000-7000-8000-000000000000")
}

/// The `number`th session, begun and ended at a time, in which a person said these things.
pub(crate) fn session(number: u32, title: &str, at: u64, said: &[&str]) -> String {
    let records = (1..).zip(said).map(|(node, text)| {
        let mut message = Message::user(*text);
        let id = NodeId::new(node);
        message.node = Some(id);
        let parent = Some(NodeId::new(node - 1));
        Record::Entry(Entry::Node { id, parent, at: Timestamp(at), link: Link::Next, message })
    });
    with(number, title, at, records)
}

/// A session in which there is something of every kind, and some of it large.
pub(crate) fn rich(number: u32, at: u64) -> String {
    let large = "a line that comes again\n".repeat(2_000);
    let mut records = Vec::new();
    for node in 1..=200 {
        let mut message = match node % 3 {
            0 => Message::assistant(format!("{node} \u{1f327} \"quoted\" \\ \u{7f} {large}")),
            1 => Message::user(format!("{node} żółw")),
            _ => Message::tool_result("c1", large.as_str(), node % 2 == 0),
        };
        let id = NodeId::new(node);
        message.node = Some(id);
        let parent = Some(NodeId::new(node - 1));
        records.push(Record::Entry(Entry::Node { id, parent, at: Timestamp(at), link: Link::Next, message }));
        let body = format!(r#"{{"mm":1.50,"n":{node},"big":12345678901234567890.10}}"#);
        let note = Note::new("weather", "rain", Timestamp(at), body);
        records.push(Record::Note(note.about(format!("gauge {}", node % 7), "wet")));
    }
    let bytes = (0..=255).cycle().take(100_000).collect();
    records.push(Record::Blob(Blob {
        layer: "weather".into(),
        kind: "photo".into(),
        at: Timestamp(at),
        bytes,
    }));
    with(number, "something of \"everything\"", at, records.into_iter())
}

/// A session whose newest proposal-like note stands in a state.
pub(crate) fn with_note(number: u32, at: u64, note: Note) -> String {
    with(number, "with a note", at, std::iter::once(Record::Note(note)))
}

/// A session with the tree that a text in notation describes, its root included.
pub(crate) fn of_tree(number: u32, title: &str, at: u64, tree: &str) -> String {
    let tree = trunkline_message_tree::notation::parse_tree(tree).expect("it is a tree");
    // The root is that of every session here.
    with(number, title, at, tree.entries().skip(1).map(Record::Entry))
}

fn with(number: u32, title: &str, at: u64, records: impl Iterator<Item = Record>) -> String {
    let id = SessionId::parse(&id(number)).expect("it is a UUID");
    let mut tally = Tally::new(&id, Timestamp(at));
    let mut root = Message::system("Speak of the weather.");
    root.node = Some(NodeId::ROOT);
    let root =
        Entry::Node { id: NodeId::ROOT, parent: None, at: Timestamp(at), link: Link::Next, message: root };
    let all = std::iter::once(Record::Entry(root)).chain(records);
    let kept: Vec<Kept> = all.map(|record| tally.add(&id, record).expect("it fits")).collect();
    let digest: Digest = tally.digest;
    let header = Header {
        id,
        title: title.to_owned(),
        tags: Default::default(),
        archived: false,
        workspace: None,
        created_at: Timestamp(at),
        head: tally.head,
        records: tally.seq,
        nodes: tally.nodes,
        digest: Some(digest),
    };
    let mut lines = Vec::new();
    write_header(&header, &mut lines).expect("written");
    kept.iter().for_each(|kept| write_record(kept, &mut lines).expect("written"));
    String::from_utf8(lines).expect("UTF-8")
}
