//! The tests of trunkline-disk: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cuts;
mod faults;
mod settings;
