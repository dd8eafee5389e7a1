//! What each layer adds to a session.

pub mod revert;
