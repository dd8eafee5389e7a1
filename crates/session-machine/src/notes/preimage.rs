//! What applies keep of what they write over: the bytes as blobs, and a note that ties them to the attempt.
//!
//! The fingerprints stand in the event that begins the attempt; this says where the bytes of each are. All of it travels in
//! one batch, before the first byte is written.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Attempt, Fingerprint, ProposalId};
use trunkline_session_store::{Blob, Record};

use crate::notes::record::note;
use crate::notes::resolve::LAYER;
use crate::words::call::Kept;

/// What a blob of bytes that an apply wrote over is called.
const PREIMAGE: &str = "preimage";
/// What the note is called that says which bytes belong to an attempt.
pub(crate) const KEPT: &str = "kept";

#[derive(Serialize, Deserialize)]
pub(crate) struct KeptNote {
    pub(crate) proposal: ProposalId,
    attempt: u32,
    pub(crate) kept: Vec<Piece>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) fingerprint: Fingerprint,
    /// The bytes; none if nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blob: Option<String>,
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
    records.push(note(
        LAYER,
        KEPT,
        at,
        &KeptNote { proposal: attempt.proposal, attempt: attempt.number, kept: pieces },
    ));
    records
}
