//! What people type: a file for each verb, or for verbs that are two ends of one thing.
//!
//! None imports another; what two of them need stands in a room below.

pub(crate) mod cancel;
pub(crate) mod go;
pub(crate) mod merge;
pub(crate) mod redo;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod tree;
pub(crate) mod undo;
