//! The tests of trunkline-decision-objects: one binary.

mod accepts;
mod canonical_form;
mod citing;
mod deciding;
mod events;
mod every_place;
mod family;
mod family_laws;
mod family_tables;
mod faults;
mod git_internal;
mod git_internal_objects;
mod given;
mod given_events;
mod given_family;
mod given_objects;
mod given_snapshots;
mod importing;
mod laws;
mod object_laws;
mod salvaged;
mod snapshots;
mod stored_decisions;
mod strict_parsing;
mod values;
mod variations;
