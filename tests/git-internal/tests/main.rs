//! Our decision objects beside git-internal's: one binary.

mod accepts;
mod every_field;
mod families;
#[expect(dead_code, reason = "the crate's own tests use more of it")]
#[path = "../../../crates/decision-objects/tests/given.rs"]
mod given;
#[expect(dead_code, reason = "the crate's own tests use more of it")]
#[path = "../../../crates/decision-objects/tests/given_events.rs"]
mod given_events;
#[allow(dead_code, reason = "the crate's own tests use more of it")]
#[path = "../../../crates/decision-objects/tests/given_family.rs"]
mod given_family;
#[path = "../../../crates/decision-objects/tests/given_objects.rs"]
mod given_objects;
#[allow(dead_code, reason = "the crate's own tests use more of it")]
#[path = "../../../crates/decision-objects/tests/given_snapshots.rs"]
mod given_snapshots;
mod grammar;
mod keys;
mod laws;
mod ours;
#[path = "../../../crates/decision-objects/tests/variations.rs"]
mod variations;
mod written;
