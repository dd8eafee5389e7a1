//! The files that a run works on, as far as its verdict needs them.
//!
//! The patch set is computed from the files, never from what was proposed: commands change files too, and a revert of
//! the conversation does not restore them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

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
}

/// Why the files could not be read or committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WorkspaceFault {
    /// What went wrong and what to do, on one line.
    pub message: String,
}
