//! The tests of trunkline-decision-objects: one binary.

mod accepts;
mod canonical_form;
mod citing;
mod deciding;
mod git_internal;
mod given;
mod given_snapshots;
mod laws;
mod snapshots;
mod stored_decisions;
mod strict_parsing;
mod values;
