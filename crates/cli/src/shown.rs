//! What people are shown: a value becomes a styled text, or JSON for programs.
//!
//! Nothing here asks a store, a place or a clock: what is needed comes in as arguments.

pub(crate) mod binding;
pub(crate) mod call;
pub(crate) mod candidate;
pub(crate) mod changes;
pub(crate) mod checkpoint;
pub(crate) mod close_request;
pub(crate) mod decision;
pub(crate) mod edited;
pub(crate) mod files;
pub(crate) mod links;
pub(crate) mod moves;
pub(crate) mod nodes;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod proposal;
pub(crate) mod purpose;
pub(crate) mod rule;
pub(crate) mod session;
pub(crate) mod standing;
pub(crate) mod step_back;
pub(crate) mod time;
pub(crate) mod tree;
pub(crate) mod tree_json;
pub(crate) mod tree_words;
pub(crate) mod usage;
pub(crate) mod verdict;
