//! What an agent session does next, tried as text: without a task and without a store.

mod approvals;
mod ends;
mod laws;
mod leaving;
mod play;
mod turns;
