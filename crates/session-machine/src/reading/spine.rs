//! The compact form of a log that a snapshot keeps: bare nodes, the numbers of the records that are read, and what was spent on a task.
//!
//! The bytes come from a cache, so nothing is believed of them: what cannot be read is no spine, and the log is read whole.

use trunkline_message_tree::{Author, BareNode, Link, NodeId, Role, Timestamp};

use crate::notes::record::json;
use crate::state::task::Tally;

/// What a fold takes in at one place of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A node without its message.
    Bare(BareNode),
    /// The record of that number, read from the log.
    Read,
}

/// What a snapshot keeps of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spine {
    /// What a fold takes in, by the numbers of the records, which grow.
    pub steps: Vec<(u64, Step)>,
    /// What came of the task until there, if the session was given one.
    pub tally: Option<Tally>,
}

/// How a spine is written, and what is trimmed; another one is not read. It changes whenever a fold begins to need what older
/// versions left out.
pub const FORM: u32 = 3;

const READ: u8 = 0;
const NEXT: u8 = 1;
const FILED: u8 = 2;
const MERGE: u8 = 3;
const COVER: u8 = 4;

const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];
const AUTHORS: [Author; 4] = [Author::Person, Author::Model, Author::Tool, Author::Harness];

/// Writes a spine.
///
/// Each step is the distance to the number before, a byte of what it is, and of a node what the node before it does not say. A
/// distance of zero stands before the tally, which is JSON up to the end.
pub fn encode(Spine { steps, tally }: &Spine) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut last, mut id, mut at) = (0, 0, 0);
    for (seq, step) in steps {
        put(&mut bytes, seq - last);
        last = *seq;
        let Step::Bare(bare) = step else {
            bytes.push(READ);
            continue;
        };
        let (kind, further): (u8, &[NodeId]) = match &bare.link {
            Link::Next => (NEXT, &[]),
            Link::Filed => (FILED, &[]),
            Link::Merge { with } => (MERGE, with),
            Link::Cover { from } => (COVER, std::slice::from_ref(from)),
        };
        let role = ROLES.iter().position(|role| *role == bare.role).unwrap_or_default() as u8;
        let author = AUTHORS.iter().position(|author| *author == bare.author).unwrap_or_default() as u8;
        bytes.push(kind | role << 3 | author << 5);
        let named = bare.id.index() as u64;
        put(&mut bytes, named - id);
        put(&mut bytes, named - bare.parent.index() as u64);
        put(&mut bytes, zigzag(bare.at.0.wrapping_sub(at)));
        if !further.is_empty() {
            put(&mut bytes, further.len() as u64);
            further.iter().for_each(|node| put(&mut bytes, node.index() as u64));
        }
        (id, at) = (named, bare.at.0);
    }
    if let Some(tally) = tally {
        bytes.push(0);
        bytes.extend(json(tally).into_bytes());
    }
    bytes
}

/// Reads what [`encode`] wrote of the records up to `until`; `None` if these bytes are not that.
pub fn decode(bytes: &[u8], until: u64) -> Option<Spine> {
    let mut rest = bytes;
    let mut steps = Vec::with_capacity((bytes.len() / 5).min(usize::try_from(until).unwrap_or_default()));
    let (mut seq, mut id, mut at) = (0u64, 0u64, 0u64);
    while !rest.is_empty() {
        let distance = take(&mut rest)?;
        if distance == 0 {
            return Some(Spine { steps, tally: Some(serde_json::from_slice(rest).ok()?) });
        }
        seq = seq.checked_add(distance).filter(|seq| *seq <= until)?;
        let (kind, more) = rest.split_first()?;
        rest = more;
        if *kind == READ {
            steps.push((seq, Step::Read));
            continue;
        }
        id = id.checked_add(take(&mut rest)?)?;
        let parent = id.checked_sub(take(&mut rest)?)?;
        at = at.wrapping_add(unzigzag(take(&mut rest)?));
        let link = match kind & 7 {
            NEXT => Link::Next,
            FILED => Link::Filed,
            MERGE => {
                let count = take(&mut rest)?;
                Link::Merge { with: (0..count).map(|_| node(take(&mut rest)?)).collect::<Option<_>>()? }
            }
            COVER => Link::Cover { from: (take(&mut rest)? == 1).then_some(node(take(&mut rest)?)?)? },
            _ => return None,
        };
        steps.push((
            seq,
            Step::Bare(BareNode {
                id: node(id)?,
                parent: node(parent)?,
                at: Timestamp(at),
                link,
                role: *ROLES.get(usize::from(kind >> 3 & 3))?,
                author: *AUTHORS.get(usize::from(kind >> 5 & 3))?,
            }),
        ));
    }
    Some(Spine { steps, tally: None })
}

fn node(index: u64) -> Option<NodeId> {
    u32::try_from(index).ok().map(NodeId::new)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follows.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        number |= part.checked_shl(shift).filter(|shifted| shifted >> shift == part)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    (signed << 1 ^ signed >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}
