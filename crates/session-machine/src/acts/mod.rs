//! What is done, as functions of what is known: an act returns what to record, or what it has to know first.
//!
//! An act gets the session as its log tells it, and the answers that it has had. Where one is missing it returns the question,
//! and is called again from its beginning when that is answered. So nothing is kept of an act that waits but its answers, and
//! an act reads as if it did not wait. An answer counts only while the log stands where it stood when the question was asked.
//! The time is another one in each call, so no question holds it: it would be asked without end.
//!
//! Nothing here waits, reads a clock, or runs code of others: whoever drives a session does.

pub mod apply;
pub mod asked;
pub mod bind;
pub mod calls;
pub mod chain;
pub mod changes;
pub mod close;
pub mod close_request;
pub mod closing;
pub mod compact;
pub mod decide;
pub mod discard_hook;
pub mod drained;
pub mod expire;
pub mod hold;
pub mod late;
pub(crate) mod leaving;
pub(crate) mod ledger;
pub mod look;
pub mod moves;
pub(crate) mod named;
pub mod open;
pub mod plan;
pub mod propose;
pub mod question;
pub mod recorded;
pub mod recover;
pub mod reply;
pub mod resolve;
pub mod roll_back;
pub mod service;
pub mod settle;
pub mod stage;
pub mod summaries;
pub mod take_back;
pub mod task;
pub mod turn;
pub mod view;
