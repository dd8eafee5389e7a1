//! Sessions of opencode, as its export prints them.
//!
//! What it says of the client was read in the program of opencode 1.18.33, 2026-11.

mod around;
mod fresh;
mod mend;
mod part;
mod read;
mod session;
mod step;
mod word;
mod write;

pub(crate) use read::{begins, read};
pub(crate) use write::write;
