//! The tests of trunkline-git-binding: one binary.

mod binding;
mod checkpoints;
mod commits;
mod faulty;
mod finding;
mod given;
mod held;
mod hostile;
mod kills;
mod laws;
mod odd_refs;
mod other_gits;
mod plain_git;
mod racing;
mod replaced;
mod repositories;
mod standing;
mod surroundings;
