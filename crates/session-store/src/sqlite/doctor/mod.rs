//! Looks at databases that may be damaged, and mends them.
//!
//! Digests decide what is whole: a log is what it was if its chain verifies, however its bytes were found. Nothing is
//! deleted: what a mended database does not take over stays beside it under another name.

mod finding;
mod report;

use std::path::Path;

pub use finding::{Finding, Remedy, Severity};
pub use report::{Examination, Mended, Saved};

use crate::StoreError;

/// Looks at a whole database without changing it: its pages, its write-ahead log, each session by its chain of digests,
/// and everything that is derived from the logs.
///
/// Reads all of it, so it takes about as long as verifying every session. Others may have it open.
///
/// # Errors
///
/// [`StoreError::Io`] if there is no such file or it cannot be opened; [`StoreError::NotAStore`]; [`StoreError::Newer`];
/// [`StoreError::Busy`]. Damage is a finding and no error.
pub async fn examine(path: impl AsRef<Path>) -> Result<Examination, StoreError> {
    Err(StoreError::Database { place: path.as_ref().display().to_string(), reason: "not built".to_owned() })
}

/// Examines a database and does what is needed: nothing, or what can be made anew in place, or a new database that takes
/// over whatever proves to be as it was written, while the old one is kept under another name.
///
/// Of a session whose log does not verify to its end, the longest beginning that verifies is taken over.
///
/// # Errors
///
/// Those of [`examine`]; [`StoreError::InUse`] if anybody has the database open; [`StoreError::Full`] and
/// [`StoreError::Io`] if the copy cannot be written: then the database is as it was.
pub async fn mend(path: impl AsRef<Path>) -> Result<Mended, StoreError> {
    Err(StoreError::Database { place: path.as_ref().display().to_string(), reason: "not built".to_owned() })
}
