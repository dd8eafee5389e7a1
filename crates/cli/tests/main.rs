//! The tests of trunkline-cli: one binary, which runs the command as people do.

mod approval;
mod asking;
mod auditing;
mod branches;
mod corpora;
mod fake;
mod keeping;
mod kills;
mod logs;
mod mending;
mod notes;
mod piping;
mod running;
mod speaking;
mod taping;
