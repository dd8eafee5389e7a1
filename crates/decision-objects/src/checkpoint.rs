//! What a checkpoint names beside its words: where the conversation was, and where the files are kept.
//!
//! Names only. Nothing is looked up: that a commit is there, and a reference holds it, is for version control to say.

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::sealed::Faults;
use crate::{GitOid, NonBlank};

/// The state that a checkpoint names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointState {
    /// The node of the conversation at which the work was put down, by its name, such as `n12`.
    pub node: NonBlank,
    /// Where all files are as they were at that moment.
    pub files: CheckpointFiles,
}

/// Where the files of a checkpoint are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "files are kept or they are not")]
pub enum CheckpointFiles {
    /// Git keeps them.
    Kept {
        /// The tree of all files.
        tree: GitOid,
        /// A commit that holds the tree, and that no branch needs to hold.
        commit: GitOid,
        /// The full name of the reference that keeps the commit from git's pruning.
        reference: NonBlank,
    },
    /// Nothing keeps them.
    NotKept {
        /// Why.
        reason: NonBlank,
    },
}

impl CheckpointState {
    pub(crate) fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        if let CheckpointFiles::Kept { tree, commit, .. } = &self.files {
            faults.check(&["verdict"], tree.checked());
            faults.check(&["verdict"], commit.checked());
        }
        faults
    }

    pub(crate) fn print(&self) -> Object {
        let object = Object::new().text("node", self.node.as_str());
        match &self.files {
            CheckpointFiles::Kept { tree, commit, reference } => {
                let kept = Object::new().show("tree", tree).show("commit", commit);
                object.object("kept", kept.text("ref", reference.as_str()))
            }
            CheckpointFiles::NotKept { reason } => object.text("not_kept", reason.as_str()),
        }
    }

    pub(crate) fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let node = fields.required("node", read::canonical)?;
        // Beside the first of the two the other one is not asked for, and so it is an unknown key.
        let files = match fields.optional("kept", read_kept)? {
            Some(kept) => kept,
            None => CheckpointFiles::NotKept { reason: fields.required("not_kept", read::canonical)? },
        };
        fields.close()?;
        Ok(Self { node, files })
    }
}

fn read_kept(raw: Raw<'_>) -> Result<CheckpointFiles, ParseError> {
    let mut fields = Fields::open(raw)?;
    let kept = CheckpointFiles::Kept {
        tree: fields.required("tree", read::canonical)?,
        commit: fields.required("commit", read::canonical)?,
        reference: fields.required("ref", read::canonical)?,
    };
    fields.close()?;
    Ok(kept)
}
