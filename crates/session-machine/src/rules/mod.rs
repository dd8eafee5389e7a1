//! Questions: what follows from what is recorded and from what the agent is set up to do.
//!
//! Nothing here asks the world, and nothing here is an act: some of it makes records that acts put into their plans.

pub mod answers;
pub(crate) mod branches;
pub mod calls;
pub(crate) mod checkpoint;
pub(crate) mod choices;
pub(crate) mod citing;
pub(crate) mod close_requests;
pub(crate) mod closing;
pub(crate) mod commit_message;
pub(crate) mod compaction;
pub mod executors;
pub(crate) mod gates;
pub(crate) mod guarded;
pub mod hooks;
pub mod judging;
pub mod opening;
pub(crate) mod patch;
pub(crate) mod plans;
pub(crate) mod price;
pub(crate) mod rejected;
pub(crate) mod spending;
pub mod staged;
pub(crate) mod waiting;
pub(crate) mod written;
