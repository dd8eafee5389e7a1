//! How what a run has done is committed, and its verdict bound to the commit.

use async_trait::async_trait;
use trunkline_session_machine::{Binding, BindingState, Bound, Deciding, Prepared, WorkspaceFault};

/// Commits what a run has done, in whatever version control there is.
#[async_trait]
pub trait Commits: Send + Sync {
    /// Commits what `deciding` names and returns the commit's id; `None` if there is nothing to commit.
    ///
    /// Called again after a crash with the same `deciding`: looks for its own commit before it makes one.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if there is no version control, or it refuses.
    async fn commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault>;

    /// Looks for the commit that an earlier [`commit`](Commits::commit) made, and makes none.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if version control cannot be asked.
    async fn find_commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault>;
}

/// Binds decisions to commits of git: a commit is prepared, and then the branch moves to it together with the decision.
#[async_trait]
pub trait GitBinding: Send + Sync {
    /// Writes the commit of what `deciding` names, without moving a branch to it; `None` if there is nothing to commit.
    ///
    /// The same `deciding` gives the same commit as long as the same commit is checked out. Where the run has committed its
    /// changes itself ([`Deciding::made`]), that commit is what is prepared.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if decisions cannot be bound here, or it refuses.
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault>;

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
    /// [`WorkspaceFault`] if decisions cannot be bound here, or it refuses; then
    /// [`bound`](GitBinding::bound) tells how far it came.
    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault>;

    /// Tells how far a binding has come. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if version control cannot be asked.
    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault>;
}
