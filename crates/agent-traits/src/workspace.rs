//! The files that a run works on, as far as its verdict needs them.
//!
//! The patch set is computed from the files, never from what was proposed: commands change files too, and a revert of
//! the conversation does not restore them.

use async_trait::async_trait;
use trunkline_session_machine::{Base, Changes, OwnChanges, Span, Touched, WorkspaceFault};

use crate::checkpoints::Checkpoints;
use crate::git::{Commits, GitBinding};
use crate::restore::Restore;

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

    /// Looks how the files are, as [`base`](Workspace::base) does, around calls that may change some; `None`, as unless a
    /// workspace says otherwise, if it cannot tell afterwards what has changed between two looks.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if they cannot be read. The calls run all the same, and what became different between the last
    /// look before that and the next one counts as the run's.
    async fn look(&self) -> Result<Option<Base>, WorkspaceFault> {
        Ok(None)
    }

    /// Returns what a run itself has changed: of what is different now, what proposals wrote (`touched`) and what became
    /// different in one of `spans`. All of [`changes`](Workspace::changes) unless a workspace says otherwise.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if the files cannot be read.
    async fn own_changes(
        &self,
        base: &Base,
        touched: &[Touched],
        spans: &[Span],
    ) -> Result<OwnChanges, WorkspaceFault> {
        let _ = spans;
        let changes = self.changes(base, touched).await?;
        Ok(OwnChanges { changes, ..OwnChanges::default() })
    }

    /// Returns what takes back what a run has done to the files. Nothing does, unless told: then verdicts cite no files
    /// and cannot be rolled back.
    fn as_restore(&self) -> Option<&dyn Restore> {
        None
    }

    /// Returns what keeps the files of a checkpoint. Nothing does, unless told: then a checkpoint says so.
    fn as_checkpoints(&self) -> Option<&dyn Checkpoints> {
        None
    }

    /// Returns what commits for the run. Nothing does, unless told.
    fn as_commits(&self) -> Option<&dyn Commits> {
        None
    }

    /// Returns what binds decisions to commits of git. Nothing does, unless told.
    fn as_git_binding(&self) -> Option<&dyn GitBinding> {
        None
    }
}
