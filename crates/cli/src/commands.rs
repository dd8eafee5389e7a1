//! What people type: a file for each verb.
//!
//! None imports another; what two of them need stands in a room below.

pub(crate) mod archive;
pub(crate) mod cancel;
pub(crate) mod compact;
pub(crate) mod decide;
pub(crate) mod decisions;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod go;
pub(crate) mod import;
pub(crate) mod merge;
pub(crate) mod name;
pub(crate) mod prune;
pub(crate) mod redo;
pub(crate) mod reflog;
pub(crate) mod resolve;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod tag;
pub(crate) mod title;
pub(crate) mod tools;
pub(crate) mod tree;
pub(crate) mod undo;
