//! The tests of trunkline-git-binding: one binary.

mod binding;
mod faulty;
mod given;
mod kills;
