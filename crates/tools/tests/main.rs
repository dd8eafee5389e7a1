//! The tests of trunkline-tools: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod applying;
mod containment;
mod effects;
mod evidence;
mod folder_workspace;
mod git_binding;
mod git_workspace;
mod landlock;
mod laws;
mod listing;
mod reading;
mod restoring;
mod running;
mod scene;
mod searching;
mod several;
mod several_laws;
mod staging;
#[cfg(feature = "steps")]
mod torn;
mod undoing;
