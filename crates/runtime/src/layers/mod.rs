//! What each optional layer adds to a session, or the nothing that stands in its place.
//!
//! Both forms have the same functions, so the machine and the driver read as if every layer were there.

#[cfg_attr(not(feature = "decision-objects"), path = "decision_absent.rs")]
pub(crate) mod decision;
#[cfg_attr(not(feature = "resolve-queue"), path = "resolve_absent.rs")]
pub(crate) mod resolve;
#[cfg_attr(not(feature = "revert"), path = "revert_absent.rs")]
pub(crate) mod revert;
