//! The JSON form of git-internal's `Decision` object (0.8 to 0.10, read 2026-11).
//!
//! That form is a projection: it has no place for evidence, considered alternatives, who approved, or which decision a
//! rollback undoes, and it refuses unknown keys, so nothing of ours can ride along. Keep our own form beside it.
//!
//! A commit's name must have 64 digits there. The name of a SHA-1 commit is filled up with 24 zeros, here and nowhere else.
//!
//! ```
//! use trunkline_decision_objects::git_internal;
//!
//! let bytes = br#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"Commit"}"#;
//! let imported = git_internal::import(bytes)?;
//!
//! // Its own reader takes "Commit" for a word of somebody else's, and so for a verdict that is no commit.
//! assert!(imported.decision.is_none());
//! let violation = imported.violations[0].to_string();
//! assert_eq!(violation, r#"decision_type: "Commit" is not a label: it reads like the reserved word `commit`"#);
//! // It is not ours to correct: it goes out as it came in.
//! assert_eq!(imported.print().as_bytes(), bytes);
//! # Ok::<(), trunkline_decision_objects::ParseError>(())
//! ```

mod flat;
mod violation;

pub use violation::Violation;

use crate::{Decision, Digest, ParseError};
use flat::Flat;

/// A decision that came from outside, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The decision, if it keeps our rules: each violation [is harmless](Violation::is_harmless).
    ///
    /// That its patch set is of its own run cannot be seen here; ask [`Decision::check_grounds`].
    pub decision: Option<Decision>,
    /// Everything that is wrong with it; the header comes first.
    pub violations: Vec<Violation>,
    /// The bytes that came in.
    pub original: Vec<u8>,
    /// What was read, whether it keeps our rules or not.
    flat: Flat,
}

impl Imported {
    /// Prints what was read, as git-internal would: not an echo of the bytes that came in.
    ///
    /// The two are the same unless [`Violation::Respelled`] is listed.
    #[must_use]
    pub fn print(&self) -> String {
        self.flat.print()
    }
}

/// Reads a decision at least as leniently as git-internal itself does, and lists what it let pass.
///
/// # Errors
///
/// [`ParseError`] for what git-internal refuses too: not JSON, unknown, duplicate and missing keys, wrong types,
/// malformed ids, times and hashes.
pub fn import(json: &[u8]) -> Result<Imported, ParseError> {
    let flat = Flat::parse(json)?;
    let (decision, mut violations) = violation::judge(&flat);
    if flat.print().as_bytes() != json {
        violations.push(Violation::Respelled);
    }
    Ok(Imported { decision, violations, original: json.to_vec(), flat })
}

/// Prints a decision in git-internal's form.
///
/// The verdict's reason and the decision's rationale share one field there; if both are given, a blank line parts them.
#[must_use]
pub fn print(decision: &Decision) -> String {
    Flat::of(decision).print()
}

/// The SHA-256 that git-internal calls the object hash: over `decision`, a space, the length, NUL and the JSON.
#[must_use]
pub fn object_hash(json: &str) -> Digest {
    Digest::of(format!("decision {}\0{json}", json.len()).as_bytes())
}
