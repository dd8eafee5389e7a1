//! The tests of trunkline-cli: one binary, which runs the command as people do.

mod approval;
mod asking;
mod auditing;
mod branches;
mod compacting;
mod corpora;
mod damage;
mod decisions;
mod fake;
mod finding;
mod following;
mod keeping;
mod kills;
mod logs;
mod made;
mod mending;
mod notes;
mod piping;
mod removing;
mod running;
mod server;
mod speaking;
mod stuck;
mod taping;
mod urls;
mod walking;
