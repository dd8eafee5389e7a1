//! The tests of trunkline-cli: one binary, which runs the command as people do.

mod approval;
mod branches;
mod fake;
mod keeping;
mod kills;
mod notes;
mod running;
mod speaking;
