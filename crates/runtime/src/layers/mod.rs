//! What each layer adds to a session.

pub(crate) mod decision;
pub(crate) mod resolve;
pub(crate) mod revert;
