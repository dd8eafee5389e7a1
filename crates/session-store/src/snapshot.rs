//! What was made of the beginning of a log, kept beside it so that it need not be made again.
//!
//! A snapshot is a cache. It names the record up to which it goes by number and digest, and that digest covers all records
//! before it; so it is believed only beside the log that it was made from, and losing it loses nothing.

use crate::{Digest, SessionId, StoreError};

/// What a layer above has made of the records from the first to number `seq`. The store keeps it and never reads it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The number of the last record that it was made from.
    pub seq: u64,
    /// The digest of that record, and so of all before it.
    pub digest: Digest,
    /// In which form its writer wrote it; who knows another form makes a new one.
    pub form: u32,
    /// What was made.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// Returns a snapshot of the records up to `seq`, which has that digest.
    pub fn new(seq: u64, digest: Digest, form: u32, bytes: Vec<u8>) -> Self {
        Snapshot { seq, digest, form, bytes }
    }

    /// Returns the digest that a database keeps beside it: over all of it, and the session.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn seal(&self, session: &SessionId) -> Digest {
        let Snapshot { seq, digest, form, bytes } = self;
        let mut hasher = crate::digest::Hasher::default();
        hasher.bytes(format!("trunkline snapshot {session} {seq} {digest} {form} ").as_bytes());
        hasher.bytes(bytes);
        hasher.digest()
    }

    /// Refuses one that not every store could keep.
    pub(crate) fn check(&self, session: &SessionId) -> Result<(), StoreError> {
        match self.bytes.len() <= LIMIT {
            true => Ok(()),
            false => Err(StoreError::body(session, "snapshot", "it is longer than 255 MiB")),
        }
    }

    /// Returns the error for one that was made of another log than the session's.
    pub(crate) fn of_another(&self, session: &SessionId) -> StoreError {
        StoreError::Replaced { session: session.clone(), seq: self.seq }
    }
}

/// As much as a body may have.
const LIMIT: usize = 255 * 1024 * 1024;

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Snapshot { seq, digest, form, bytes } = self;
        write!(f, "Snapshot of {seq} records up to {digest}, form {form}, {} bytes", bytes.len())
    }
}
