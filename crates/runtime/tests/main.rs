//! The tests of trunkline-runtime: one binary.

mod calls;
mod kills;
mod letters;
mod proposals;
mod replies;
mod reverts;
mod story;
mod verdicts;
