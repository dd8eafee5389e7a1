//! The tests of trunkline-git-binding: one binary.

mod binding;
mod faulty;
mod given;
mod kills;
mod plain_git;
mod repositories;
mod surroundings;
