//! Where the bytes are that applies have written over.
//!
//! Of each proposal counts what its newest attempt has kept.

use std::collections::HashMap;

use serde_json::Value;
use trunkline_resolve_queue::{Entry, Fingerprint, ProposalId};
use trunkline_session_store::{Digest, Note};

use crate::notes::preimage::{KeptNote, Piece};
use crate::notes::record;
use crate::words::error::RuntimeError;

/// Where the bytes are that the newest attempt at each proposal wrote over.
#[derive(Default)]
pub(crate) struct Preimages {
    pieces: HashMap<ProposalId, Vec<Piece>>,
}

impl Preimages {
    pub(crate) fn record(&mut self, note: &Note) -> Result<(), RuntimeError> {
        let KeptNote { proposal, kept, .. } = record::read(note)?;
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
