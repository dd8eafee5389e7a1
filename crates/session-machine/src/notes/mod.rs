//! Every shape that the log keeps in a note, with its layer and its kind, what writes it and what reads it.
//!
//! Nothing else knows how a note is written. What folds them is above, in [`state`](crate::state).

pub mod answer;
pub mod binding;
pub mod choice;
pub mod close_request;
pub mod decision;
pub(crate) mod discard_hook;
pub mod family;
pub mod journal;
pub mod look;
pub(crate) mod partial;
pub mod plan;
pub mod preimage;
pub mod record;
pub mod resolve;
pub mod revert;
pub mod service;
pub mod task;
pub mod tree;
