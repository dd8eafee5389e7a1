//! What was made of a log so far, and how it is named.

use trunkline_decision_objects::{Actor, ActorKind, Digest, Header, Invalid, Object, Timestamp as RunTime};
use trunkline_message_tree::{Origin, Timestamp};
use uuid::{Builder, Uuid, Version};

/// The objects, each with the number of the record that it stands in or follows from.
#[derive(Default)]
pub(super) struct Made {
    pub(super) objects: Vec<(u64, Object)>,
    /// The number of the record at hand.
    pub(super) seq: u64,
}

impl Made {
    /// Adds an object that stands in the record at hand.
    pub(super) fn recorded(&mut self, object: Object) {
        self.objects.push((self.seq, object));
    }

    /// Adds an object that follows from the record at hand, if it is one at all.
    pub(super) fn push<O: Into<Object>>(&mut self, object: Result<O, Invalid>) {
        self.push_of(self.seq, object);
    }

    /// Adds an object that follows from an earlier record.
    pub(super) fn push_of<O: Into<Object>>(&mut self, seq: u64, object: Result<O, Invalid>) {
        if let Ok(object) = object {
            self.objects.push((seq, object.into()));
        }
    }
}

/// Returns the name of what follows from a record: a UUID of version 8, whose 122 bits are the beginning of the SHA-256 of these words.
pub(super) fn name(kind: &str, of: Uuid, seq: u64, place: u32) -> Uuid {
    let words = format!("trunkline family 1\n{kind}\n{}\n{seq}\n{place}", of.as_hyphenated());
    let digest = Digest::of(words.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(digest.as_bytes().first_chunk::<16>().expect("a SHA-256 has 32 bytes"));
    Builder::from_bytes(bytes).with_version(Version::Custom).with_variant(uuid::Variant::RFC4122).into_uuid()
}

/// Returns a header; nothing that follows from a run is older than the run, whatever the clock said.
pub(super) fn header<Id>(id: Result<Id, Invalid>, at: RunTime, by: Actor) -> Result<Header<Id>, Invalid> {
    Ok(Header { id: id?, at, by })
}

/// Returns a moment, not before another one.
pub(super) fn not_before(since: RunTime, at: Timestamp) -> RunTime {
    let at = i64::try_from(at.0).ok().and_then(|at| RunTime::from_milliseconds(at).ok());
    at.map_or(since, |at| at.max(since))
}

pub(super) fn harness() -> Result<Actor, Invalid> {
    Actor::new(ActorKind::System, "trunkline")
}

pub(super) fn person() -> Result<Actor, Invalid> {
    Actor::new(ActorKind::Human, "user")
}

/// Returns who answered.
pub(super) fn model(origin: &Origin) -> Result<Actor, Invalid> {
    Actor::new(ActorKind::Agent, format!("{}/{}", origin.provider, origin.model))
}
