//! What an agent session does next, tried as text: without a task and without a store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod approvals;
mod ends;
mod facts;
mod laws;
mod leaving;
mod play;
mod turns;
