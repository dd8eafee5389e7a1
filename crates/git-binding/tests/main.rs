//! The tests of trunkline-git-binding: one binary.

mod binding;
mod commits;
mod faulty;
mod finding;
mod given;
mod hostile;
mod kills;
mod laws;
mod other_gits;
mod plain_git;
mod racing;
mod repositories;
mod surroundings;
