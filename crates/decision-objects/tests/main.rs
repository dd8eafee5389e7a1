//! The tests of trunkline-decision-objects: one binary.

mod canonical_form;
mod deciding;
mod events;
mod git_internal;
mod git_internal_objects;
mod given;
mod given_events;
mod given_objects;
mod given_snapshots;
mod laws;
mod object_laws;
mod salvaged;
mod stored_decisions;
mod strict_parsing;
mod values;
