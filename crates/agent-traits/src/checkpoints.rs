//! How the files of a checkpoint are kept.

use async_trait::async_trait;
use trunkline_session_machine::{Checkpoint, KeptFiles, WorkspaceFault};

/// Keeps all files as they are now, in whatever version control there is.
#[async_trait]
pub trait Checkpoints: Send + Sync {
    /// Keeps the files, and changes nothing that a person sees: neither files, nor what is staged, nor a branch.
    ///
    /// Called again after a crash, for the same run and at another time: what was kept then is written over.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if they cannot be kept. The checkpoint is recorded all the same, and says why.
    async fn keep_files(&self, checkpoint: &Checkpoint) -> Result<KeptFiles, WorkspaceFault>;
}
