//! What of a drive is not in the log.

use std::time::Duration;

use trunkline_decision_objects::Decision;
use trunkline_message_tree::Timestamp;
use trunkline_providers::Trait;

use crate::acts::recover::Before;
use crate::next::step::Step;
use crate::state::State;

/// What of a drive is not in the log. The same log, set-up, time and facts give the same step, also after a kill.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Nothing new is begun, and the open turn is closed.
    pub cancelled: bool,
    /// How often in a row the model was asked to go on.
    pub nudged: usize,
    /// Whether there was an attempt to make room since it was asked to go on last.
    pub made_room: bool,
    /// The wait that it has waited out.
    pub waited: Option<Timestamp>,
    /// Whether something may have been left in the inbox since it was read last.
    pub unread: bool,
    /// What was closed by a letter in this drive, which ends with that.
    pub closed: Option<Box<Decision>>,
    /// Whether git was to answer for the end of the open run, and has not.
    pub unsure: bool,
    /// Whether git gave no answer to something that was to be bound: it is not asked again in this drive.
    pub unbindable: bool,
    /// What this drive has cost so far.
    pub spent: Spent,
    /// What is known of whoever wrote the session before.
    pub before: Before,
    /// What a service was seen to want since it answered last: it is believed until it refuses that as well.
    pub on_trial: Vec<Trait>,
    /// How often in a row the window was taken for smaller since it answered last.
    pub cuts: u8,
    /// Whether the request at hand has begun a turn of its own.
    counts: bool,
}

/// What a drive has cost so far, held against [`Limits`](crate::setup::Limits).
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// How often the model was asked. What is asked again counts once.
    pub turns: u32,
    /// Tokens that providers have counted, prompt and output together.
    pub tokens: u64,
    /// How long it has gone on.
    pub time: Duration,
}

impl Facts {
    /// Begins another drive. What is known of git, of earlier writers and of the service stays. `unread` tells whether something may
    /// wait in the inbox.
    pub fn begin(&mut self, unread: bool) {
        let Facts { unsure, before, on_trial, cuts, .. } = std::mem::take(self);
        *self = Facts { unread, unsure, before, on_trial, cuts, ..Facts::default() };
    }

    /// Takes in that a step is done now, before what it brings is known.
    pub fn begun(&mut self, step: &Step, state: &State) {
        // What is left while another writer is waited for is about what that one does, and is read when it has ended.
        self.unread = !matches!(step, Step::ReadInbox { .. } | Step::AwaitApply(..));
        match step {
            Step::Settle => (self.nudged, self.made_room) = (0, false),
            Step::Nudge(_) => {
                self.nudged += 1;
                self.made_room = false;
            }
            Step::MakeRoom(_) => self.made_room = true,
            // What is asked again is the same turn.
            Step::Request => {
                self.counts = self.is_first(state);
                self.spent.turns += u32::from(self.counts);
            }
            _ => {}
        }
    }

    /// Takes in that a request was refused because of what the service wants otherwise: it is asked so, and that is the same turn.
    pub fn unasked(&mut self) {
        self.spent.turns = self.spent.turns.saturating_sub(u32::from(std::mem::take(&mut self.counts)));
    }

    /// Returns whether the next request begins a turn of its own.
    pub(super) fn is_first(&self, state: &State) -> bool {
        self.spent.turns == 0 || state.tries.is_first()
    }

    /// Takes in that the service has answered: what was believed of it held.
    pub fn answered(&mut self) {
        self.on_trial.clear();
        self.cuts = 0;
    }

    /// Takes in what a request or a summary has cost.
    pub fn cost(&mut self, tokens: u64) {
        self.spent.tokens = self.spent.tokens.saturating_add(tokens);
    }
}
