//! How a run's changes of files are taken back.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use trunkline_session_machine::{
    Base, Comparison, FileStates, KeptFile, Left, Span, Touched, WorkspaceFault,
};

/// Takes back what a run has done to the files: a rollback.
#[async_trait]
pub trait Restore: Send + Sync {
    /// Returns how files were before a run and how they are after it. `after` is what [`Workspace::changes`](crate::Workspace::changes) gave
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
    ) -> Result<Vec<FileStates>, WorkspaceFault>;

    /// Looks whether what a run left can be taken back, and changes nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if the files cannot be read.
    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, WorkspaceFault>;

    /// Makes the files what they were before a run: all of them, or none. What is so already stays, so that it can be called
    /// again after a crash; what is neither as the run left it nor as it was before is somebody else's, and a fault.
    ///
    /// Before each file it is asked whether `permit` stands. If not, nothing more is written and nothing put back: what is
    /// left to do is for whoever has the session now.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if it cannot be done; says how the files are then.
    async fn restore(&self, left: &Left, kept: &[KeptFile], permit: &Permit) -> Result<(), WorkspaceFault>;
}

/// Leave to write the files of a session: it ends when its time is over, or when the session was taken over. Clones share it.
///
/// It is asked by whoever writes, right before each file: a process that was stopped and goes on later finds its time over before
/// anybody can tell it so.
#[derive(Clone)]
pub struct Permit {
    may: Arc<dyn Fn() -> bool + Send + Sync>,
    over: Arc<AtomicBool>,
}

impl Permit {
    /// Returns one that stands as long as `may` says so and nobody takes it back.
    pub fn new(may: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Permit { may: Arc::new(may), over: Arc::default() }
    }

    /// Takes it back, for good.
    pub fn revoke(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Returns whether files may be written now. Once it was not so, it never is again.
    pub fn stands(&self) -> bool {
        if !self.over.load(Ordering::SeqCst) && !(self.may)() {
            self.revoke();
        }
        !self.over.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nobody is asked: that could end it.
        let over = self.over.load(Ordering::SeqCst);
        f.debug_struct("Permit").field("over", &over).finish()
    }
}
