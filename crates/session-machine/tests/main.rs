//! What an agent session does next, tried as text: without a task and without a store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod approvals;
mod attempts;
mod choices;
mod close_requests;
mod close_requests_held;
mod discard_hooks;
mod ends;
mod facts;
mod families;
mod family_laws;
mod going_back;
mod guarded;
mod handing_over;
mod hook_ends;
mod in_time;
mod late;
mod laws;
mod leaving;
mod ledgers;
mod left_out;
mod left_twice;
mod no_stalls;
mod outlines;
mod own_moves;
mod plan_texts;
mod plans;
mod play;
mod play_acts;
mod play_lines;
mod play_shown;
mod play_world;
mod put_aside;
mod retries;
mod rules_of_calls;
mod rules_of_files;
mod spines;
mod staged_edits;
mod stalls;
mod tasks;
mod turns;
mod unasked;
mod verdicts;
mod waiting_commands;
