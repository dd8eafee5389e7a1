//! Cuts the power under SQLite, and fails its disk.
//!
//! [`Recorder`] is a layer between SQLite and its files that notes every write and sync and fails on order. [`Disk`] does
//! what was noted once more and tells what a cut at any moment may leave. [`rows`] holds SQLite itself against both, which
//! shows that the simulation finds losses where they are known to be; [`sessions`] holds our store against them.

mod chance;
mod disk;
mod power;
mod recorder;
pub mod rows;
pub mod sessions;
mod shim;
pub mod stories;
pub mod subject;

pub use chance::Chance;
pub use disk::{Cut, Disk, Files, digest, write_files};
pub use power::{Figures, Found, Life, Wreck};
pub use recorder::{Event, Failure, Fault, FileId, Operation, Recorder};
