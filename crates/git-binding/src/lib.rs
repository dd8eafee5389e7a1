#![doc = include_str!("../README.md")]

mod bind;
mod binding;
mod bound;
mod branch;
mod checkpoint;
mod commit;
mod error;
mod find;
mod git;
mod git_command;
mod held;
mod layout;
mod link;
mod objects;
mod pack;
mod pack_refs;
mod repository;
mod state;

/// The objects that are bound, in the version that this crate takes.
pub use trunkline_decision_objects as decision_objects;

pub use binding::{Binding, Bound};
pub use bound::{AllBound, BoundDecision, BoundRun, Unreadable};
pub use branch::{Branch, BranchMove, Head};
pub use checkpoint::{Checkpoint, CheckpointPlan};
pub use commit::{CommitPlan, Identity, Trailer};
pub use error::BindError;
pub use find::{By, Found, NamedCommit};
pub use git::{Git, GitFault};
pub use git_command::GitCommand;
pub use held::Held;
pub use link::Link;
pub use pack_refs::Packed;
pub use repository::{Facts, ObjectFormat, RefFormat, Repository};
pub use state::State;
