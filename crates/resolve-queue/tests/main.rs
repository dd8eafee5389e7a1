//! The tests of trunkline-resolve-queue: one binary.

mod choice_laws;
mod choice_script;
mod choices;
mod deciding;
mod diagram;
mod expiring;
mod fingerprints;
mod ids;
mod interleavings;
mod json;
mod laws;
mod leases;
mod moves;
mod offering;
mod other_words;
mod parts;
mod patterns;
mod recovering;
mod resolve_arguments;
mod resolving;
mod rules;
mod script;
mod staging;
mod undoing;
mod upstream;
mod weak_points;
