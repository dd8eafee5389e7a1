//! The files that a run works on, as far as its verdict needs them.
//!
//! The patch set is computed from the files, never from what was proposed: commands change files too, and a revert of
//! the conversation does not restore them.

use crate::world::permit::Permit;
use async_trait::async_trait;
use trunkline_session_machine::{
    Base, Binding, BindingState, Bound, Changes, Comparison, Deciding, FileStates, KeptFile, Left,
    OwnChanges, Prepared, Span, Touched, WorkspaceFault,
};

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
    /// changes itself ([`Deciding::made`]), that commit is what is prepared.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if decisions cannot be bound here, as unless a workspace says otherwise, or it refuses.
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let _ = deciding;
        Err(WorkspaceFault::cannot_bind())
    }

    /// Returns the files of a commit that was just made of which something else is staged, by path: `git commit` would take back
    /// there what the run has done. None unless a workspace says otherwise.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if version control cannot be asked.
    async fn still_staged(&self, commit: &str) -> Result<Vec<String>, WorkspaceFault> {
        let _ = commit;
        Ok(Vec::new())
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

    /// Returns how files were before a run and how they are after it. `after` is what [`changes`](Workspace::changes) gave
    /// as the tree; of a file of which it cannot be told nothing is returned. What somebody else had changed in a file before the
    /// run first did is no change of the run's: `touched` and `spans` tell how it was then. Without `spans` it is taken to be as
    /// it was when the run began.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if nothing can be told; then a verdict cites no files and cannot be rolled back.
    async fn states(
        &self,
        base: &Base,
        after: Option<&str>,
        touched: &[Touched],
        spans: Option<&[Span]>,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        let _ = (base, after, touched, spans, paths);
        Ok(Vec::new())
    }

    /// Looks whether what a run left can be taken back, and changes nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if this workspace takes nothing back, or the files cannot be read.
    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, WorkspaceFault> {
        let (_, _) = (left, kept);
        Err(WorkspaceFault { message: "this workspace cannot take back what a run has changed".to_owned() })
    }

    /// Makes the files what they were before a run: all of them, or none. What is so already stays, so that it can be called
    /// again after a crash; what is neither as the run left it nor as it was before is somebody else's, and a fault.
    ///
    /// Before each file it is asked whether `permit` stands. If not, nothing more is written and nothing put back: what is
    /// left to do is for whoever has the session now.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if this workspace takes nothing back, or it cannot be done; says how the files are then.
    async fn restore(&self, left: &Left, kept: &[KeptFile], permit: &Permit) -> Result<(), WorkspaceFault> {
        let _ = (left, kept, permit);
        Err(WorkspaceFault { message: "this workspace cannot take back what a run has changed".to_owned() })
    }
}
