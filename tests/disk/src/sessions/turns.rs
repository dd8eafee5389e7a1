//! What the turns of a session write.

use trunkline_message_tree::{Entry, HeadMove, Link, Message, MoveKind, NodeId};
use trunkline_session_store::{Blob, Note, Position, Record};

use super::AT;
use super::life::Session;
use crate::chance::Chance;

/// What a turn may write: nodes, notes, branches, bytes.
pub(super) fn records(session: &Session, chance: &mut Chance) -> Vec<Record> {
    let (mut head, mut nodes) = (session.at.head, session.nodes);
    let mut records = Vec::new();
    for _ in 0..1 + chance.below(4) {
        let most = [60, 60, 60, 60, 60, 500, 500, 12_000][chance.below(8)];
        let text = text(chance, most);
        match chance.below(12) {
            0 => records.push(Record::Note(Note::new("disk", "plain", AT, format!("\"{text}\"")))),
            1 => {
                let key = format!("key {}", chance.below(5));
                let note = Note::new("disk", "keyed", AT, format!("\"{text}\""));
                records.push(Record::Note(note.about(key, ["open", "done"][chance.below(2)])));
            }
            2 => {
                let bytes = chance.bytes(most / 3);
                records.push(Record::Blob(Blob { layer: "disk".into(), kind: "file".into(), at: AT, bytes }));
            }
            3 if nodes > 1 => {
                let to = NodeId::new(u32::try_from(chance.below(nodes as usize - 1)).unwrap_or_default());
                if to != head {
                    let kind = MoveKind::PersonRevert;
                    records.push(Record::Entry(Entry::Move(HeadMove { from: head, to, kind, at: AT })));
                    head = to;
                }
            }
            _ => {
                let id = NodeId::new(nodes);
                let mut message = Message::user(text);
                message.node = Some(id);
                records.push(Record::Entry(Entry::Node {
                    id,
                    parent: Some(head),
                    at: AT,
                    link: Link::Next,
                    message,
                }));
                (head, nodes) = (id, nodes + 1);
            }
        }
    }
    if records.is_empty() {
        records.push(Record::Note(Note::new("disk", "plain", AT, "null")));
    }
    records
}

/// Letters and digits. Now and then a large text that is the same again, which the store keeps once.
pub(super) fn text(chance: &mut Chance, most: usize) -> String {
    let mut of = if most > 10_000 && chance.comes(1, 2) { Chance::new(7) } else { chance.fork() };
    let length = 1 + of.below(most);
    of.bytes(length.div_ceil(2)).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a session is after a batch, and how many nodes it has.
pub(super) fn after(session: &Session, records: &[Record]) -> (Position, u32) {
    let (mut at, mut nodes) = (session.at, session.nodes);
    for record in records {
        at.seq += 1;
        match record {
            Record::Entry(Entry::Node { id, link, .. }) => {
                nodes += 1;
                at.head = if link.is_filed() { at.head } else { *id };
            }
            Record::Entry(Entry::Move(head_move)) => at.head = head_move.to,
            Record::Note(_) | Record::Blob(_) => {}
        }
    }
    (at, nodes)
}

pub(super) fn is_node(record: &Record) -> bool {
    matches!(record, Record::Entry(Entry::Node { .. }))
}
