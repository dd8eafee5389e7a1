//! What ties a decision to the repository's history.
//!
//! Names of objects, not refs to them: a commit that is rebased away is taken by git in time, and what is left here,
//! its tree and its patch id, is what its successor can be known by.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::GitOid;

/// The history beside a decision; all of it may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Link {
    /// The commit that holds what was decided.
    pub commit: Option<GitOid>,
    /// Its tree: the files as they were then.
    pub tree: Option<GitOid>,
    /// Its first parent.
    pub base: Option<GitOid>,
    /// The stable patch id of what it changed against `base`; none for a merge, an empty change, or one of more than
    /// 256 MiB.
    pub patch_id: Option<GitOid>,
    /// The branch that was moved to it, by its full name; none if no branch was, or a detached `HEAD`.
    pub branch: Option<String>,
}

/// Keys in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    r#type: String,
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

const TYPE: &str = "link";
const VERSION: u32 = 1;

impl Link {
    /// The one text for it.
    pub(crate) fn print(&self) -> String {
        let text = |oid: Option<GitOid>| oid.map(|oid| oid.to_string());
        let wire = Wire {
            r#type: TYPE.to_owned(),
            version: VERSION,
            commit: text(self.commit),
            tree: text(self.tree),
            base: text(self.base),
            patch_id: text(self.patch_id),
            branch: self.branch.clone(),
        };
        serde_json::to_string(&wire).expect("texts and a number have no way to fail")
    }

    /// Reads the text, in exactly the form in which it is printed.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        let wire: Wire = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if wire.r#type != TYPE || wire.version != VERSION {
            return Err("it is no link of version 1".to_owned());
        }
        let oid = |text: Option<String>| {
            text.map(|text| text.parse()).transpose().map_err(|_| "a name of an object is none")
        };
        let link = Self {
            commit: oid(wire.commit)?,
            tree: oid(wire.tree)?,
            base: oid(wire.base)?,
            patch_id: oid(wire.patch_id)?,
            branch: wire.branch,
        };
        if link.print().as_bytes() == json {
            Ok(link)
        } else {
            Err("it is not in its canonical form".to_owned())
        }
    }
}
