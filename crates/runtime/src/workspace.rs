//! The files that a run works on, as far as its verdict needs them.
//!
//! The patch set is computed from the files, never from what was proposed: commands change files too, and a revert of
//! the conversation does not restore them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Binding, BindingState, Bound, Prepared};

/// The folder that a run works in.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Returns how the files are before the run.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if they cannot be read.
    async fn base(&self) -> Result<Base, WorkspaceFault>;

    /// Returns what is different now. `touched` names what was applied, for folders without version control.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if the files cannot be read.
    async fn changes(&self, base: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault>;

    /// Commits what `deciding` names and returns the commit's id; `None` if there is nothing to commit.
    ///
    /// Called again after a crash with the same `deciding`: looks for its own commit before it makes one.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if there is no version control, or it refuses.
    async fn commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault>;

    /// Looks for the commit that an earlier [`commit`](Workspace::commit) made, and makes none.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if version control cannot be asked.
    async fn find_commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault>;

    /// Writes the commit of what `deciding` names, without moving a branch to it; `None` if there is nothing to commit.
    ///
    /// The same `deciding` gives the same commit as long as the same commit is checked out. Where the run has committed its
    /// changes itself, that commit is what is prepared.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if decisions cannot be bound here, as unless a workspace says otherwise, or it refuses.
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let _ = deciding;
        Err(WorkspaceFault::cannot_bind())
    }

    /// Binds a decision and moves the branch to its commit, both or neither.
    ///
    /// Called again after a crash with the same binding: what was cut off is brought to its end, and nothing is done twice.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if decisions cannot be bound here, as unless a workspace says otherwise, or it refuses; then
    /// [`bound`](Workspace::bound) tells how far it came.
    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let _ = binding;
        Err(WorkspaceFault::cannot_bind())
    }

    /// Tells how far a binding has come. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if version control cannot be asked, as unless a workspace says otherwise.
    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        let _ = binding;
        Err(WorkspaceFault::cannot_bind())
    }
}

/// How the files were when a run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The commit that was checked out, in hex; `None` without version control or before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree of all files as they really were, in hex; `None` without version control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// A file that an applied proposal wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// The digest before the run's first write, as fingerprints have it; `None` if there was no file.
    pub before: Option<String>,
}

/// What a run changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The files, by path.
    pub files: Vec<ChangedFile>,
    /// A unified diff; may be empty where the old content is not known.
    pub diff: String,
    /// The tree of all files as they are now, in hex; `None` without version control.
    pub tree: Option<String>,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// What happened to it.
    pub change: FileChange,
    /// Lines added; `None` for binary files and where it is not known.
    pub added: Option<u32>,
    /// Lines deleted; `None` likewise.
    pub deleted: Option<u32>,
}

/// What happened to a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileChange {
    /// It is new.
    Added,
    /// It has other content.
    Modified,
    /// It is gone.
    Deleted,
}

/// What is about to be committed; recorded before, so that a crash in between can be mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// The run; written into the commit, so that it can be found.
    pub run: String,
    /// The patch set that the verdict will name.
    pub patch_set: String,
    /// How the files were when the run began.
    pub base: Base,
    /// The tree of all files with the run's changes, in hex.
    pub tree: String,
    /// The commit message, without trailers.
    pub message: String,
    /// When that was, in milliseconds since 1970; the time of a commit that is bound. 0 in records from before.
    #[serde(default)]
    pub at: u64,
    /// The decision that the message of a commit that is bound shall name; `None` if it shall name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// Why the files could not be read or committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WorkspaceFault {
    /// What went wrong and what to do, on one line.
    pub message: String,
}

impl WorkspaceFault {
    fn cannot_bind() -> Self {
        let message = "decisions cannot be bound here: this workspace has no git repository; go on without binding";
        WorkspaceFault { message: message.to_owned() }
    }
}
