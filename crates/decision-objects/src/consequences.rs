//! What follows from a decision.
//!
//! A decision changes nothing but its run, so what follows is a value: whoever keeps tasks, runs and intents records it
//! as events or opens what is to be opened, and a set of objects can be checked for it.

use crate::{Decision, GitOid, Predecessor, Verdict};

/// What one decision entails for the run's task, for the run that comes next, and for the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "it mirrors `Verdict`: a new consequence needs a new verdict")]
pub enum Consequences {
    /// Abandon: the task of the run has failed.
    TaskFails,
    /// Retry and checkpoint: the next run of the same task names this one, in this way.
    NextRun(Predecessor),
    /// Commit and rollback: the end that the intent of the run can be given by it. By itself neither ends one: a commit shows what
    /// was made, and whether that is all that was wanted is for the end of its tasks, or an event, to say.
    IntentEnds(IntentEnd),
    /// Other: its word is the caller's, and so is what follows from it.
    Nothing,
}

/// How an intent comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an intent ends by what a commit or a rollback leaves of it")]
pub enum IntentEnd {
    /// It was fulfilled, and this commit shows how.
    Completed {
        /// The commit of the decision.
        result_commit: GitOid,
    },
    /// What fulfilled it was taken back.
    ///
    /// This is about the intent of the run that was rolled back, if it has not ended before: an intent ends once, and one
    /// that was completed stays so. Who still wants it goes on with it, or opens a new one with the old as parent.
    Cancelled,
}

impl Decision {
    /// What follows from it.
    #[must_use]
    pub const fn consequences(&self) -> Consequences {
        match self.verdict() {
            Verdict::Abandon { .. } => Consequences::TaskFails,
            Verdict::Retry { .. } => Consequences::NextRun(Predecessor::RetryOf(self.run())),
            Verdict::Checkpoint { .. } => Consequences::NextRun(Predecessor::Continues(self.run())),
            Verdict::Commit { commit, .. } => {
                Consequences::IntentEnds(IntentEnd::Completed { result_commit: *commit })
            }
            Verdict::Rollback { .. } => Consequences::IntentEnds(IntentEnd::Cancelled),
            Verdict::Other { .. } => Consequences::Nothing,
        }
    }
}

impl Consequences {
    /// How the next run names the one that was decided, if it does; this is its
    /// [`Opening::predecessor`](crate::Opening::predecessor).
    #[must_use]
    pub const fn next_run(self) -> Option<Predecessor> {
        match self {
            Self::NextRun(predecessor) => Some(predecessor),
            Self::TaskFails | Self::IntentEnds(_) | Self::Nothing => None,
        }
    }

    /// The end that the intent can be given by it, if there is one.
    #[must_use]
    pub const fn intent_end(self) -> Option<IntentEnd> {
        match self {
            Self::IntentEnds(end) => Some(end),
            Self::TaskFails | Self::NextRun(_) | Self::Nothing => None,
        }
    }

    /// Whether the task of the run has failed.
    #[must_use]
    pub const fn task_fails(self) -> bool {
        matches!(self, Self::TaskFails)
    }
}
