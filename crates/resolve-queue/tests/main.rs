//! The tests of trunkline-resolve-queue: one binary.

mod deciding;
mod diagram;
mod fingerprints;
mod ids;
mod json;
mod laws;
mod moves;
mod recovering;
mod resolve_arguments;
mod script;
mod staging;
