//! States of the files that are kept from git's pruning: a commit that no branch holds, and a ref that does.
//!
//! A ref for each run, so that who is cut off and tries again writes the same one again and leaves nothing beside it.

use trunkline_decision_objects::{GitOid, RunId};

use crate::objects::{Known, Ref};
use crate::{BindError, CommitPlan, Identity, Repository, Trailer, layout};

/// What is to be kept of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointPlan {
    /// The run that is put down there. It has one checkpoint, and its ref is named by it.
    pub run: RunId,
    /// All files, as they are to be kept.
    pub tree: GitOid,
    /// What the commit says; white space at its end is cut off.
    pub message: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub at: i64,
}

/// A state of the files that a ref keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The ref.
    pub reference: String,
    /// The commit that it points at.
    pub commit: GitOid,
    /// The files of that; `None` if the commit, or its tree, is not there any more.
    pub tree: Option<GitOid>,
}

impl CheckpointPlan {
    /// Returns the name of the ref that keeps the checkpoint of a run.
    #[must_use]
    pub fn reference(run: RunId) -> String {
        layout::checkpoint(run)
    }
}

impl Repository {
    /// Keeps a state of the files: writes a commit of it, on top of what is checked out, and points the run's ref at that.
    ///
    /// Index, worktree, branches and `HEAD` stay as they are, no hook runs, nothing is signed, and the commit is by
    /// `Trunkline <trunkline@localhost>`, so that git need not be told who somebody is. The same plan on the same `HEAD` gives
    /// the same commit. A ref that the run has already, from a try that was cut off, is written over, unless somebody
    /// writes it at the same time. Starts up to eight processes.
    ///
    /// # Errors
    ///
    /// [`BindError::NoSuchObject`] if there is no such tree, [`BindError::CommitText`], [`BindError::Locked`],
    /// [`BindError::Git`]; whichever it is, the ref is what it was, or points at the new commit.
    pub fn keep(&self, plan: &CheckpointPlan) -> Result<Checkpoint, BindError> {
        let reference = layout::checkpoint(plan.run);
        // Asked before anything is written: who writes it from here on is somebody else.
        let before = self.refs_under(&[&reference])?.pop();
        // Whatever its branch is called. There is none before the first commit.
        let parent = self.known(&["HEAD^{commit}".to_owned()])?.pop().flatten();
        let ours = Identity { name: "Trunkline".to_owned(), email: "trunkline@localhost".to_owned() };
        let commit = self.write_commit(&CommitPlan {
            tree: plan.tree,
            parents: parent.map(|parent| parent.oid).into_iter().collect(),
            message: plan.message.clone(),
            author: Some(ours.clone()),
            committer: Some(ours),
            at: plan.at,
            offset_minutes: 0,
            trailer: Some(Trailer::Run(plan.run)),
        })?;
        let kept = Checkpoint { reference, commit, tree: Some(plan.tree) };
        let points_there =
            |found: &Ref| found.name == kept.reference && found.link.is_none() && found.oid == commit;
        if before.as_ref().is_some_and(points_there) {
            return Ok(kept);
        }
        let expected = before.map(|before| before.oid);
        let note = format!("trunkline: checkpoint of run {}", plan.run);
        if let Err(error) = self.put(&kept.reference, commit, expected, &note) {
            // What a failed call did is known only by asking again.
            let found = self.refs_under(&[&kept.reference]).unwrap_or_default();
            if !found.iter().any(points_there) {
                return Err(error);
            }
        }
        Ok(kept)
    }

    /// Lists the checkpoints that are kept here, in the order of their refs. Starts two processes.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, BindError> {
        let refs = self.refs_under(&[layout::CHECKPOINTS])?;
        if refs.is_empty() {
            return Ok(Vec::new());
        }
        // A tree that is asked for by its own name is looked for; by its commit's it is only read off that.
        let names: Vec<String> = refs.iter().map(|found| format!("{}^{{tree}}", found.oid)).collect();
        let trees = self.known(&names)?;
        let checkpoint = |(found, tree): (Ref, Option<Known>)| Checkpoint {
            reference: found.name,
            commit: found.oid,
            tree: tree.filter(|tree| tree.kind == "tree").map(|tree| tree.oid),
        };
        Ok(refs.into_iter().zip(trees).map(checkpoint).collect())
    }

    /// Tells whether a commit is there, and holds a tree that is. Starts a process.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn has_state(&self, commit: GitOid, tree: GitOid) -> Result<bool, BindError> {
        let held = self.known(&[format!("{commit}^{{tree}}")])?.pop().flatten();
        Ok(held.is_some_and(|held| held.kind == "tree" && held.oid == tree))
    }
}
