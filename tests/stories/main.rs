//! Stories and laws across crates.

mod encodes;
mod walk;
