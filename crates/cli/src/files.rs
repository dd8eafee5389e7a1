//! Sessions and message lists of other agents, which lie in files: judged, repaired, made legal in a pipe.
//!
//! Nothing here needs a store or tokio, so Ctrl-C ends it at once.

pub(crate) mod agents;
pub(crate) mod audit;
pub(crate) mod beside;
pub(crate) mod findings;
pub(crate) mod history;
pub(crate) mod in_order;
pub(crate) mod new_file;
pub(crate) mod opencode_db;
pub(crate) mod overview;
pub(crate) mod repair;
pub(crate) mod sanitize;
pub(crate) mod search;
pub(crate) mod second_look;
