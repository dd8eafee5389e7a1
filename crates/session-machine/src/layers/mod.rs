//! What each layer adds to a session.

pub mod decision;
pub mod resolve;
pub mod revert;
