//! What git-internal lets pass and our rules do not.

use super::Kind;
use crate::{GitOid, Invalid, VerdictKind};

/// One way in which an imported object departs from our rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The value of a field cannot be a value of ours.
    #[error("{field}: {why}")]
    Field {
        /// The key, with those of the objects around it: `created_by.id`, `steps[2].description`.
        field: String,
        /// Why not.
        why: Invalid,
    },
    /// The object says that it is something else.
    #[error("object_type: {found:?} stands in a {kind}")]
    ObjectType {
        /// What it says.
        found: &'static str,
        /// What it was read as.
        kind: Kind,
    },
    /// The version of the header is not 1.
    #[error("version: {found} is not known")]
    Version {
        /// The version.
        found: u64,
    },
    /// The verdict needs a field that is not there.
    #[error("{field}: missing, the verdict `{verdict}` needs it")]
    Needs {
        /// The verdict.
        verdict: VerdictKind,
        /// The missing key; `rationale` holds the reason of an abandon, a retry or another verdict.
        field: &'static str,
    },
    /// The verdict has no use for a field that is there.
    #[error("{field}: the verdict `{verdict}` has no use for it")]
    Forbids {
        /// The verdict.
        verdict: VerdictKind,
        /// The key.
        field: &'static str,
    },
    /// A rollback cannot say here which decision it undoes.
    #[error("decision_type: a rollback does not say which decision it undoes")]
    RollbackOfNothing,
    /// The commit's name ends in 24 zeros, and was taken for a SHA-1 name that was filled up.
    #[error("{field}: taken for the sha-1 name {commit}, filled up with zeros")]
    PaddedSha1 {
        /// The key.
        field: String,
        /// The name without them.
        commit: GitOid,
    },
    /// There is a rationale that says nothing.
    #[error("rationale: the text is blank")]
    BlankRationale,
    /// Our form cannot say what stands there.
    #[error("{field}: {why}")]
    Unfit {
        /// The key, with those of the objects around it.
        field: String,
        /// Why not.
        why: &'static str,
    },
    /// Our form has no place for what stands there; the original bytes keep it.
    #[error("{field}: our form has no place for it")]
    Dropped {
        /// The key, with those of the objects around it.
        field: String,
    },
    /// A time has a second 60, which no time of ours has.
    #[error("{field}: {found} is a leap second, which no time of ours is")]
    LeapSecond {
        /// The key.
        field: String,
        /// The time.
        found: String,
    },
    /// A number was none (such as NaN) when git-internal wrote it; its own reader takes it for absent.
    #[error("{field}: null stands where a number was none; git-internal reads it as absent")]
    NotANumber {
        /// The key.
        field: String,
    },
    /// A JSON value was `null` when git-internal wrote it; its own reader takes it for absent.
    #[error("{field}: the JSON value null stands here; git-internal writes that, and reads it as absent")]
    NullValue {
        /// The key, with those of the objects around it: `steps[2].inputs`.
        field: String,
    },
    /// A key that git-internal writes and refuses to read.
    #[error("{field}: git-internal writes this key and its own reader refuses it")]
    Unreadable {
        /// The key.
        field: String,
    },
    /// Printing gives other bytes than came in: other white space, order, escapes, explicit nulls, spelling of an id or a time.
    #[error("the spelling is not the one that git-internal writes")]
    Respelled,
}

impl Violation {
    /// Whether our object stands all the same: what it says is what was said, if not all of it.
    #[must_use]
    pub const fn is_harmless(&self) -> bool {
        matches!(
            self,
            Self::PaddedSha1 { .. }
                | Self::BlankRationale
                | Self::Respelled
                | Self::Dropped { .. }
                | Self::NullValue { .. }
        )
    }
}
