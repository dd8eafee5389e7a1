//! The tests of trunkline-message-tree: one binary.

mod faults;
mod ids;
mod json;
mod landing;
mod laws;
mod links;
mod lists;
mod names;
mod notation;
mod outcomes;
mod tree;
