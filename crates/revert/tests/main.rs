//! The tests of trunkline-revert: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod arguments;
mod compaction;
mod compaction_pruned;
mod faults;
mod forging;
mod late_notes;
mod laws;
mod ledger;
mod ledger_laws;
mod live;
mod marks;
mod merge;
mod merge_laws;
mod notes;
mod notes_ledger;
mod own_branches;
mod price;
mod proposals;
mod pruning;
mod pruning_asked;
mod recorded;
mod records;
mod rendering;
mod reverting;
mod stall;
mod stall_failures;
mod stall_hidden;
mod stall_moves;
mod story;
mod targets;
mod tool;
