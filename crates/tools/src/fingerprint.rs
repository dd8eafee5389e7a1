//! How files looked, as the queue compares it.

use sha2::{Digest, Sha256};
use trunkline_agent_traits::resolve_queue::Fingerprint;

use crate::root::Root;

/// Returns the digest of a file's bytes as fingerprints have it: `sha256:` and 64 hex digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Looks how a file is now.
///
/// What cannot be read gets a fingerprint that equals no other, so that it is stale and the reason is seen.
pub(crate) fn observe(root: &Root, subject: &str) -> Fingerprint {
    match root.place(subject).and_then(|inside| root.read(&inside)) {
        Ok(Some(read)) => Fingerprint::digest(subject, digest(&read.bytes)),
        Ok(None) => Fingerprint::absent(subject),
        Err(error) => Fingerprint::digest(subject, format!("unreadable: {error}")),
    }
}
