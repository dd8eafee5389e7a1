//! Stories and laws across crates.

mod accepted;
mod corpora;
mod damaged;
mod encodes;
mod readme;
mod recordings;
mod refusals;
mod services;
mod validators;
mod walk;
