//! Stories and laws across crates.

mod accepted;
mod damaged;
mod encodes;
mod readme;
mod refusals;
mod services;
mod validators;
mod walk;
