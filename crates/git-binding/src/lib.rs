#![doc = include_str!("../README.md")]

mod bind;
mod binding;
mod bound;
mod branch;
mod commit;
mod error;
mod find;
mod git;
mod git_command;
mod layout;
mod link;
mod objects;
mod pack;
mod pack_refs;
mod repository;
mod state;

pub use binding::{Binding, Bound};
pub use bound::{AllBound, BoundDecision, BoundRun, Unreadable};
pub use branch::{Branch, BranchMove, Head};
pub use commit::{CommitPlan, Identity, Trailer};
pub use error::BindError;
pub use find::{By, Found};
pub use git::{Git, GitFault};
pub use git_command::GitCommand;
pub use link::Link;
pub use pack_refs::Packed;
pub use repository::{Facts, ObjectFormat, RefFormat, Repository};
pub use state::State;
