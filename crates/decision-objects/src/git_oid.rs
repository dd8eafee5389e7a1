//! Names of git objects, under either hash of git.
//!
//! A SHA-1 name is never stretched to the length of a SHA-256 one here;
//! only [`git_internal`](crate::git_internal) does that, because its readers know no other way.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::digest::{decode_hex, hex};
use crate::invalid::excerpt;
use crate::json::{Place, Spelled, place};

/// The name of a git object: a commit, in this crate.
///
/// The name of all zeros, by which git says that there is no object, is none: it is not read, and whatever is sealed
/// with it is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "git has two object formats; a third one must break every reader"
)]
pub enum GitOid {
    /// In a repository of git's first object format.
    Sha1([u8; 20]),
    /// In a repository that was made with `--object-format=sha256`.
    Sha256([u8; 32]),
}

impl GitOid {
    /// Refuses the name of no object.
    pub(crate) fn checked(self) -> Result<Self, Invalid> {
        let bytes: &[u8] = match &self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        };
        if bytes.iter().any(|byte| *byte != 0) { Ok(self) } else { Err(Invalid::NilGitOid) }
    }
}

impl fmt::Display for GitOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spelling(&mut place()))
    }
}

impl fmt::Debug for GitOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha1(_) => write!(f, "Sha1({self})"),
            Self::Sha256(_) => write!(f, "Sha256({self})"),
        }
    }
}

impl Spelled for GitOid {
    fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str {
        match self {
            Self::Sha1(bytes) => hex(bytes, place),
            Self::Sha256(bytes) => hex(bytes, place),
        }
    }
}

impl FromStr for GitOid {
    type Err = Invalid;

    /// Reads 40 or 64 hexadecimal digits of either case; abbreviations are refused, and so are zeros alone.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let sha1 = decode_hex(text).map(Self::Sha1);
        sha1.or_else(|| decode_hex(text).map(Self::Sha256))
            .ok_or_else(|| Invalid::GitOid { text: excerpt(text) })?
            .checked()
    }
}
