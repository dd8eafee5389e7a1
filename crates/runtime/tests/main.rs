//! The tests of trunkline-runtime: one binary.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests, which the exception for tests does not cover"
)]

mod calls;
mod compaction;
mod crashes;
mod kills;
mod laws;
mod letters;
mod logs;
mod proposals;
mod replies;
mod reverts;
mod seed;
mod seed_answers;
mod seed_requests;
mod sends;
mod story;
mod takeovers;
mod verdicts;
