//! The tests of trunkline-runtime: one binary.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests, which the exception for tests does not cover"
)]

mod calls;
mod kills;
mod laws;
mod letters;
mod proposals;
mod replies;
mod reverts;
mod seed;
mod story;
mod verdicts;
