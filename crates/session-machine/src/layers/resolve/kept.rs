//! What applies keep of what they write over: the bytes as blobs, and a note that ties them to the attempt.
//!
//! The fingerprints stand in the event that begins the attempt; this says where the bytes of each are. All of it travels in
//! one batch, before the first byte is written.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Attempt, Entry, Fingerprint, ProposalId};
use trunkline_session_store::{Blob, Digest, Note, Record};

use super::LAYER;
use crate::{Kept, RuntimeError, journal};

/// What a blob of bytes that an apply wrote over is called.
const PREIMAGE: &str = "preimage";
/// What the note is called that says which bytes belong to an attempt.
pub(crate) const KEPT: &str = "kept";

/// How much of what an apply writes over is kept, in bytes. Of more nothing is kept, so that apply can neither be taken back
/// nor be put back after a crash; a log holds every byte for ever.
pub(crate) const MOST_KEPT: usize = 64 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct KeptNote {
    proposal: ProposalId,
    attempt: u32,
    kept: Vec<Piece>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Piece {
    fingerprint: Fingerprint,
    /// The bytes; none if nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

/// Where the bytes are that the newest attempt at each proposal wrote over.
#[derive(Default)]
pub(crate) struct Preimages {
    pieces: HashMap<ProposalId, Vec<Piece>>,
}

impl Preimages {
    pub(crate) fn record(&mut self, note: &Note) -> Result<(), RuntimeError> {
        let KeptNote { proposal, kept, .. } = journal::read(note)?;
        self.pieces.insert(proposal, kept);
        Ok(())
    }

    /// Returns each pre-image of the latest attempt with the name of its bytes; `None` if the log does not name one.
    pub(crate) fn of(&self, entry: &Entry<Value>) -> Option<Vec<(Fingerprint, Option<Digest>)>> {
        let pieces = self.pieces.get(&entry.id).map(Vec::as_slice).unwrap_or_default();
        let named = entry.preimages.iter().map(|wanted| {
            // A piece of an earlier attempt serves as well if it says the same of the same place.
            let piece = pieces.iter().find(|piece| piece.fingerprint == *wanted)?;
            let digest = match &piece.blob {
                Some(digest) => Some(Digest::parse(digest).ok()?),
                None => None,
            };
            Some((wanted.clone(), digest))
        });
        named.collect()
    }
}

/// Returns the records of what an attempt keeps; none if it keeps nothing.
pub(crate) fn records(attempt: Attempt, kept: Vec<Kept>, at: Timestamp) -> Vec<Record> {
    if kept.is_empty() {
        return Vec::new();
    }
    let mut records = Vec::new();
    let mut pieces = Vec::new();
    let mut stored = BTreeSet::new();
    for Kept { fingerprint, bytes } in kept {
        let blob = bytes.map(|bytes| {
            let blob = Blob { layer: LAYER.to_owned(), kind: PREIMAGE.to_owned(), at, bytes };
            let digest = blob.digest();
            if stored.insert(digest) {
                records.push(Record::Blob(blob));
            }
            digest.to_string()
        });
        pieces.push(Piece { fingerprint, blob });
    }
    let note = KeptNote { proposal: attempt.proposal, attempt: attempt.number, kept: pieces };
    records.push(journal::note(LAYER, KEPT, at, &note));
    records
}
