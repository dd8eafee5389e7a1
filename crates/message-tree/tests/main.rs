//! The tests of trunkline-message-tree: one binary.

mod ids;
mod json;
mod laws;
mod notation;
mod outcomes;
mod tree;
