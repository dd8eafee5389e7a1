//! The tests of trunkline-runtime: one binary.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests, which the exception for tests does not cover"
)]

// All but one need the layers; that one holds what is sent without them, and is built without them too.
#[cfg(feature = "default")]
mod applying;
#[cfg(feature = "default")]
mod approvals;
#[cfg(feature = "default")]
mod asking_again;
#[cfg(feature = "default")]
mod binding;
#[cfg(feature = "default")]
mod binding_by_hand;
#[cfg(feature = "default")]
mod binding_scene;
#[cfg(feature = "default")]
mod bound_laws;
#[cfg(feature = "default")]
mod bound_reasoning;
#[cfg(feature = "default")]
mod calls;
#[cfg(feature = "default")]
mod choice_laws;
#[cfg(feature = "default")]
mod choices;
#[cfg(feature = "default")]
mod closing;
#[cfg(feature = "default")]
mod compacting_again;
#[cfg(feature = "default")]
mod compaction;
#[cfg(feature = "default")]
mod counting;
#[cfg(feature = "default")]
mod crashes;
#[cfg(feature = "default")]
mod decided;
#[cfg(feature = "default")]
mod deciding;
#[cfg(feature = "default")]
mod disturbed;
#[cfg(feature = "default")]
mod expiring;
#[cfg(feature = "default")]
mod faults;
#[cfg(feature = "default")]
mod folders;
#[cfg(feature = "default")]
mod idle;
#[cfg(feature = "default")]
mod kills;
#[cfg(feature = "default")]
mod late;
#[cfg(feature = "default")]
mod laws;
#[cfg(feature = "default")]
mod letters;
#[cfg(feature = "default")]
mod logs;
#[cfg(feature = "default")]
mod looking;
#[cfg(feature = "default")]
mod loose_ends;
#[cfg(feature = "default")]
mod many;
#[cfg(feature = "default")]
mod moves;
#[cfg(feature = "default")]
mod notes_ledger;
#[cfg(feature = "default")]
mod nothing_came;
#[cfg(feature = "default")]
mod observing;
#[cfg(feature = "default")]
mod old_folder;
#[cfg(feature = "default")]
mod old_logs;
#[cfg(feature = "default")]
mod old_scenes;
mod opt_in;
#[cfg(feature = "default")]
mod prices;
#[cfg(feature = "default")]
mod proposals;
#[cfg(feature = "default")]
mod rebase;
#[cfg(feature = "default")]
mod recovering;
#[cfg(feature = "default")]
mod replies;
#[cfg(feature = "default")]
mod resolving;
#[cfg(feature = "default")]
mod retries;
#[cfg(feature = "default")]
mod reverts;
#[cfg(feature = "default")]
mod rolling_back;
#[cfg(feature = "default")]
mod rolling_back_bound;
#[cfg(feature = "default")]
mod rolling_back_together;
#[cfg(feature = "default")]
mod rules;
#[cfg(feature = "default")]
mod rules_kept;
#[cfg(feature = "default")]
mod rules_laws;
#[cfg(feature = "default")]
mod seed;
#[cfg(feature = "default")]
mod seed_answers;
#[cfg(feature = "default")]
mod seed_requests;
#[cfg(feature = "default")]
mod sends;
#[cfg(feature = "default")]
mod snapshots;
#[cfg(feature = "default")]
mod staging;
#[cfg(feature = "default")]
mod stall;
#[cfg(feature = "default")]
mod story;
#[cfg(feature = "default")]
mod strict_service;
#[cfg(feature = "default")]
mod summaries;
#[cfg(feature = "default")]
mod takeovers;
#[cfg(feature = "default")]
mod told_whole;
#[cfg(feature = "default")]
mod undoing;
#[cfg(feature = "default")]
mod unseen;
#[cfg(feature = "default")]
mod verdicts;
#[cfg(feature = "default")]
mod wants;
#[cfg(feature = "default")]
mod weak_points;
#[cfg(feature = "default")]
mod wires;
