//! The tests of trunkline-tools: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod applying;
#[cfg(all(
    feature = "ast-go",
    feature = "ast-javascript",
    feature = "ast-python",
    feature = "ast-rust",
    feature = "ast-typescript"
))]
mod ast_edit;
mod checkpoints;
mod command_surroundings;
mod containment;
mod declared;
mod declared_bound;
mod declared_runs;
mod effects;
mod evidence;
mod folder_workspace;
mod git_beside;
mod git_binding;
mod git_index;
mod git_index_laws;
mod git_sparse;
mod git_surroundings;
mod git_workspace;
mod hidden;
mod landlock;
mod laws;
mod line_ends;
mod listing;
mod moving;
mod own_and_ignored;
mod own_changes;
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
#[cfg(feature = "steps")]
mod torn_moves;
mod undoing;
