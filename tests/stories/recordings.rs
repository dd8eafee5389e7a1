//! Where the recorded exchanges are.

use std::path::PathBuf;

/// Returns the folder of the recordings, or says on stderr that there is none.
#[expect(clippy::print_stderr, reason = "a test that read nothing must not look like one that did")]
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TRUNKLINE_CORPORA").map(|folder| PathBuf::from(folder).join("wires"));
    if folder.is_none() {
        eprintln!("SKIPPED: TRUNKLINE_CORPORA is not set, no recorded exchange was read");
    }
    folder
}
