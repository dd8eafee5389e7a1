//! The tests of trunkline-decision-objects: one binary.

mod canonical_form;
mod deciding;
mod git_internal;
mod given;
mod given_snapshots;
mod laws;
mod stored_decisions;
mod strict_parsing;
mod values;
