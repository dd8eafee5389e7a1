//! The branch that moves with a decision.

use trunkline_decision_objects::GitOid;

use crate::error::excerpt;
use crate::{BindError, GitFault, Repository};

/// Which branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Branch {
    /// The one that is checked out in the worktree that the repository was opened by; `HEAD` itself where it is detached.
    Head,
    /// The one of this full name, such as `refs/heads/main`. Of a name that is a symbolic ref the branch that it stands for
    /// is moved, as git does.
    Named(String),
}

/// A move of a branch, which is refused if the branch is not where it is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMove {
    /// The branch.
    pub branch: Branch,
    /// Where it is; `None` if there is no such branch yet. If it is where it shall be, it is not touched.
    pub from: Option<GitOid>,
    /// Where it shall be: a commit of this repository. That it follows from `from` is not asked.
    pub to: GitOid,
}

impl BranchMove {
    /// Whether the branch is where it shall be before anything is done.
    pub(crate) fn stays(&self) -> bool {
        self.from == Some(self.to)
    }
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Head {
    /// A branch, by its full name.
    Branch {
        /// The name.
        name: String,
        /// Its commit; `None` while it is unborn.
        at: Option<GitOid>,
    },
    /// A commit, by no branch.
    Detached {
        /// The commit.
        at: GitOid,
    },
}

/// A ref that a move is about, after `HEAD` was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// `HEAD` if it is detached.
    pub(crate) name: String,
}

impl Target {
    pub(crate) fn is_detached(&self) -> bool {
        self.name == "HEAD"
    }

    pub(crate) fn branch(&self) -> Option<String> {
        (!self.is_detached()).then(|| self.name.clone())
    }
}

impl Repository {
    /// Tells what is checked out.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn head(&self) -> Result<Head, BindError> {
        let target = self.target(&Branch::Head)?;
        let at = self.place_of(&target)?;
        match at {
            Some(at) if target.is_detached() => Ok(Head::Detached { at }),
            at => Ok(Head::Branch { name: target.name, at }),
        }
    }

    /// Where it is, if anywhere.
    pub(crate) fn place_of(&self, target: &Target) -> Result<Option<GitOid>, BindError> {
        if target.is_detached() {
            // No list of refs has it; of names with this spelling, git takes this one first.
            return Ok(self
                .known(std::slice::from_ref(&target.name))?
                .pop()
                .flatten()
                .map(|known| known.oid));
        }
        Ok(self.ref_values(&[&target.name])?.pop().flatten())
    }

    pub(crate) fn target(&self, branch: &Branch) -> Result<Target, BindError> {
        let name = match branch {
            Branch::Named(name) => checked(name)?,
            Branch::Head => match self.git.run(&["symbolic-ref", "-q", "HEAD"], b"") {
                // What is no text cannot be written into the link.
                Ok(printed) => match std::str::from_utf8(&printed) {
                    Ok(name) => checked(name.trim_end_matches('\n'))?,
                    Err(_) => return Err(BindError::BranchName { name: excerpt(&printed) }),
                },
                // Quietly, this is how git says that it is detached.
                Err(GitFault::Failed { code: Some(1), .. }) => "HEAD".to_owned(),
                Err(fault) => return Err(fault.into()),
            },
        };
        Ok(Target { name })
    }
}

/// Names go into a list of commands, one a line with blanks between the words; what would end a word is refused here,
/// everything else by git. A quote means something to it only where a word begins.
fn checked(name: &str) -> Result<String, BindError> {
    let odd = |sign: char| sign == ' ' || sign.is_control() || "*?[\\^~:".contains(sign);
    let plain = !name.contains(odd) && !name.contains("..");
    if plain && name.len() <= 1_000 && name.strip_prefix("refs/heads/").is_some_and(|name| !name.is_empty()) {
        Ok(name.to_owned())
    } else {
        Err(BindError::BranchName { name: excerpt(name.as_bytes()) })
    }
}
