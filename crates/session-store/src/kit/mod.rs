//! Tries whether a store of your own keeps the promises that others rely on.
//!
//! [`run`] asks every method for every answer that it documents, compares long lists of random operations with
//! [`MemoryStore`](crate::MemoryStore), lets writers fight, moves sessions to and fro, and, where the [`Subject`] has the
//! means, kills writers, fills the disk, lets it fail, and opens what past versions wrote. It gives a [`Report`]; nothing
//! here fails a test by itself, panics, or prints.
//!
//! ```
//! use trunkline_session_store::kit::{self, Handle, Options, Place, Subject};
//! use trunkline_session_store::{Durability, MemoryStore, StoreError};
//!
//! struct InMemory;
//!
//! impl Subject for InMemory {
//!     fn name(&self) -> String {
//!         "memory".to_owned()
//!     }
//!     fn place(&self) -> Result<Box<dyn Place>, String> {
//!         Ok(Box::new(Sessions(MemoryStore::new())))
//!     }
//!     fn reaches(&self) -> Durability {
//!         Durability::Buffered
//!     }
//! }
//!
//! struct Sessions(MemoryStore);
//!
//! #[async_trait::async_trait]
//! impl Place for Sessions {
//!     async fn open(&self) -> Result<Handle, StoreError> {
//!         Ok(Handle::new(self.0.clone()))
//!     }
//! }
//!
//! let mut options = Options::new(7);
//! options.cases = 4;
//! let report = kit::run(&InMemory, &options);
//! assert!(report.is_ok(), "{report}");
//! // Memory does not outlive its process, so there was nothing to kill.
//! assert!(report.unchecked().any(|promise| promise == kit::Promise::Killed));
//! ```
//!
//! A list of operations that found something is made shorter as long as it still does, and stands in the report with its
//! seed.

#[macro_use]
mod verdict;

mod chance;
mod contract;
pub mod engine;
mod faults;
mod fight;
mod kill;
mod made;
mod older;
mod random;
mod report;
mod subject;
mod waiting;

use std::time::Duration;

pub use kill::write_for_ever;
pub use report::{Figures, Finding, Promise, Report};
pub use subject::{Fault, Handle, OldPlace, Place, Subject};

use verdict::{Broken, guard};

/// How much is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What all that is random follows from.
    pub seed: u64,
    /// How many lists of random operations are compared with memory.
    pub cases: u32,
    /// How long each of them is.
    pub steps: u32,
    /// How often a list that found something is played again to make it shorter.
    pub tries: u32,
    /// How many threads fight for a session.
    pub threads: u32,
    /// How many batches each of them writes.
    pub batches: u32,
    /// How many writers are killed at random; beyond that, one at each write where that can be arranged.
    pub kills: u32,
    /// How many writes a medium lets through at most before it fails: one run for each number of them.
    pub writes: u32,
    /// How long a single check may take before it counts as one that never ends. A store that keeps its thread to
    /// itself without ever giving way is not found by that.
    pub patience: Duration,
}

impl Options {
    /// Returns what takes some seconds on a store with a fast disk.
    pub fn new(seed: u64) -> Self {
        Options {
            seed,
            cases: 48,
            steps: 60,
            tries: 400,
            threads: 4,
            batches: 25,
            kills: 20,
            writes: 200,
            patience: Duration::from_secs(60),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::new(1)
    }
}

/// Tries everything that the subject has the means for.
pub fn run(subject: &dyn Subject, options: &Options) -> Report {
    let mut report = Report::new(subject.name());
    contract::check(subject, options, &mut report);
    random::check(subject, options, &mut report);
    fight::check(subject, options, &mut report);
    kill::check(subject, options, &mut report);
    faults::check(subject, options, &mut report);
    older::check(subject, options, &mut report);
    report
}

/// Runs a check under the subject's executor; what panics or does not end is a finding.
fn run_within<T>(
    subject: &dyn Subject,
    patience: Duration,
    what: impl Future<Output = T>,
) -> Result<T, Broken> {
    guard(|| {
        let mut result = None;
        let slot = &mut result;
        subject.block_on(Box::pin(async move {
            *slot = waiting::within(patience, what).await;
        }));
        result
    })?
    .ok_or_else(|| Broken(format!("it did not end within {patience:?}")))
}
