//! The tests of trunkline-runtime: one binary.

#![expect(
    clippy::unwrap_used,
    reason = "helpers beside the tests, which the exception for tests does not cover"
)]

mod applying;
mod approvals;
mod asked_for;
mod asked_to_close;
mod asking_again;
mod binding;
mod binding_by_hand;
mod binding_scene;
mod bound_laws;
mod bound_reasoning;
mod calls;
mod checkpoints;
mod children;
mod choice_laws;
mod choices;
mod closing;
mod compacting_again;
mod compaction;
mod counting;
mod crashes;
mod decided;
mod deciding;
mod discard_hooks;
mod disturbed;
mod events;
mod expiring;
mod fake_folder;
mod fake_git;
mod faults;
mod folders;
mod idle;
mod kills;
mod labels;
mod late;
mod laws;
mod letters;
mod logs;
mod looking;
mod loose_ends;
mod many;
mod moves;
mod notes_ledger;
mod nothing_came;
mod observing;
mod old_folder;
mod old_logs;
mod old_rare;
mod old_scenes;
mod opt_in;
mod own_moves;
mod pictures;
mod planned;
mod prices;
mod proposals;
mod rebase;
mod recovering;
mod replies;
mod resolving;
mod rolling_back;
mod rolling_back_bound;
mod rolling_back_together;
mod rules;
mod rules_kept;
mod rules_laws;
mod schemas;
mod seed;
mod seed_answers;
mod seed_requests;
mod sends;
mod snapshots;
#[cfg(feature = "tracing")]
mod spans;
mod spent_beside;
mod staging;
mod stall;
mod story;
mod strict_service;
mod summaries;
mod takeovers;
mod tasks;
mod told_whole;
#[cfg(feature = "typed")]
mod typed;
mod undoing;
mod unread_reverts;
mod unseen;
mod verdicts;
mod wants;
mod weak_points;
mod wires;
