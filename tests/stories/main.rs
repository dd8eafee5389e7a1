//! Stories and laws across crates.

mod encodes;
mod readme;
mod walk;
