//! The states of a proposal and the table of legal moves.
//!
//! The table is the only place that says what may follow what; the queue looks every move up here, commands and replay alike.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Waits for a decision.
    Proposed,
    /// May be applied.
    Approved,
    /// An attempt has begun and has not reported its end. After a restart: nobody knows yet.
    Applying,
    /// Done. Nothing follows.
    Applied,
    /// An attempt reported that it failed; may be approved again.
    Failed,
    /// An attempt ended without anybody knowing how.
    Unknown,
    /// Refused. Nothing follows.
    Discarded,
    /// Another proposal took its place, or its branch was left.
    Superseded,
    /// The world it was computed from has changed, or has not been looked at since it came back.
    Stale,
    /// Its time passed before anything was done. Nothing follows.
    Expired,
}

/// What moves a proposal; each is a command of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Put it into the queue.
    Stage,
    /// Decide for it.
    Approve,
    /// Decide against it.
    Discard,
    /// Compare its fingerprints; a begin does this too.
    Check,
    /// Close the question without an answer.
    Cancel,
    /// Note that its time has passed.
    Expire,
    /// Start an attempt.
    Begin,
    /// Ask for more time for an attempt.
    Renew,
    /// Look after what an attempt left, in place of a holder that is gone.
    TakeOver,
    /// End an attempt.
    Finish,
    /// Say what an attempt left behind that never ended.
    Recover,
    /// Put it aside.
    Supersede,
    /// Bring it back.
    Restore,
}

/// One legal move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Move {
    /// Where the proposal stood.
    pub from: State,
    /// What moved it.
    pub verb: Verb,
    /// Where it stands afterwards.
    pub to: State,
}

/// All legal moves; what is not listed is refused.
///
/// An attempt in flight can neither be superseded nor expire, and nor can an unknown outcome: first somebody has to find
/// out what it left behind.
pub const MOVES: &[Move] = &[
    row(State::Proposed, Verb::Approve, State::Approved),
    row(State::Proposed, Verb::Discard, State::Discarded),
    row(State::Proposed, Verb::Check, State::Stale),
    row(State::Proposed, Verb::Supersede, State::Superseded),
    row(State::Proposed, Verb::Cancel, State::Proposed),
    row(State::Proposed, Verb::Expire, State::Expired),
    row(State::Approved, Verb::Begin, State::Applying),
    row(State::Approved, Verb::Check, State::Stale),
    row(State::Approved, Verb::Supersede, State::Superseded),
    row(State::Approved, Verb::Expire, State::Expired),
    row(State::Applying, Verb::Renew, State::Applying),
    row(State::Applying, Verb::TakeOver, State::Applying),
    row(State::Applying, Verb::Finish, State::Applied),
    row(State::Applying, Verb::Finish, State::Failed),
    row(State::Applying, Verb::Finish, State::Unknown),
    row(State::Applying, Verb::Recover, State::Approved),
    row(State::Applying, Verb::Recover, State::Applied),
    row(State::Applying, Verb::Recover, State::Unknown),
    row(State::Failed, Verb::Approve, State::Approved),
    row(State::Failed, Verb::Discard, State::Discarded),
    row(State::Failed, Verb::Supersede, State::Superseded),
    row(State::Failed, Verb::Cancel, State::Failed),
    row(State::Failed, Verb::Expire, State::Expired),
    row(State::Unknown, Verb::Recover, State::Applied),
    row(State::Unknown, Verb::Recover, State::Failed),
    row(State::Unknown, Verb::Recover, State::Stale),
    row(State::Stale, Verb::Check, State::Proposed),
    row(State::Stale, Verb::Check, State::Approved),
    row(State::Stale, Verb::Discard, State::Discarded),
    row(State::Stale, Verb::Supersede, State::Superseded),
    row(State::Stale, Verb::Expire, State::Expired),
    row(State::Superseded, Verb::Restore, State::Stale),
];

const fn row(from: State, verb: Verb, to: State) -> Move {
    Move { from, verb, to }
}

impl State {
    /// Every state.
    pub const ALL: &[State] = &[
        State::Proposed,
        State::Approved,
        State::Applying,
        State::Applied,
        State::Failed,
        State::Unknown,
        State::Discarded,
        State::Superseded,
        State::Stale,
        State::Expired,
    ];

    /// Whether nothing more is expected: applied, discarded, expired or superseded.
    ///
    /// Failed and stale are not settled although nothing was done: either can still come to be applied,
    /// behind the back of a verdict that was given too early. Discard them first.
    pub fn is_settled(self) -> bool {
        matches!(self, State::Applied | State::Discarded | State::Expired | State::Superseded)
    }

    /// Whether the table lets `verb` lead from here to `to`.
    pub(crate) fn allows(self, verb: Verb, to: State) -> bool {
        MOVES.contains(&row(self, verb, to))
    }

    /// What can be chosen from here, in the order of the table; what is only noted is no choice.
    pub(crate) fn verbs(self) -> Vec<Verb> {
        let noted = [Verb::Cancel, Verb::Expire, Verb::Renew, Verb::TakeOver];
        let mut verbs: Vec<Verb> = MOVES
            .iter()
            .filter(|legal| legal.from == self && !noted.contains(&legal.verb))
            .map(|legal| legal.verb)
            .collect();
        verbs.dedup();
        verbs
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Proposed => "proposed",
            State::Approved => "approved",
            State::Applying => "applying",
            State::Applied => "applied",
            State::Failed => "failed",
            State::Unknown => "unknown",
            State::Discarded => "discarded",
            State::Superseded => "superseded",
            State::Stale => "stale",
            State::Expired => "expired",
        })
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Stage => "stage",
            Verb::Approve => "approve",
            Verb::Discard => "discard",
            Verb::Check => "check",
            Verb::Cancel => "cancel",
            Verb::Expire => "expire",
            Verb::Begin => "begin",
            Verb::Renew => "renew",
            Verb::TakeOver => "take over",
            Verb::Finish => "finish",
            Verb::Recover => "recover",
            Verb::Supersede => "supersede",
            Verb::Restore => "restore",
        })
    }
}
