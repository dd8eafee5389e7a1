//! Messages and blocks as the Anthropic Messages API has them.
//!
//! Claude Code keeps the very same shapes in its records, so both formats read and write blocks here.

mod read;
mod write;

pub(crate) use read::{Body, body, stop_reason, usage};
pub(crate) use write::{blocks, encode, stop_word};

/// The name of the wire, for blocks that only it understands.
pub(crate) const WIRE: &str = "anthropic";
