//! Why a drive ended.

use std::fmt;

/// Why a drive ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// The run has its verdict.
    Decided(Box<trunkline_decision_objects::Decision>),
    /// Nothing goes on before somebody decides on these.
    Waiting(Vec<trunkline_resolve_queue::ProposalId>),
    /// It was cancelled. What was streamed is kept, and the run stays open.
    Cancelled,
    /// A limit was reached. The run stays open.
    Limit(Limit),
    /// There was nothing to do.
    Idle,
}

/// One line for people: `decided commit: 2d71…`, `waiting for p1, p2`.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Decided(decision) => write!(f, "decided {}", decision.verdict()),
            Stop::Waiting(waiting) => {
                let names: Vec<String> = waiting.iter().map(ToString::to_string).collect();
                write!(f, "waiting for {}", names.join(", "))
            }
            Stop::Cancelled => f.write_str("cancelled"),
            Stop::Limit(limit) => write!(f, "at the limit of {}", limit.word()),
            Stop::Idle => f.write_str("nothing to do"),
        }
    }
}

impl Limit {
    fn word(self) -> &'static str {
        match self {
            Limit::Turns => "turns",
            Limit::Tokens => "tokens",
            Limit::Time => "time",
            Limit::Output => "output",
            Limit::TaskTurns => "turns of the task",
            Limit::TaskTokens => "tokens of the task",
        }
    }
}

/// Which limit was reached.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The model was asked as often as allowed.
    Turns,
    /// As many tokens were used as allowed.
    Tokens,
    /// The time is up.
    Time,
    /// The model's replies kept running into their output limit.
    Output,
    /// The model has answered in the runs of the task as often as its bound allows.
    TaskTurns,
    /// As many tokens were used in the runs of the task as its bound allows.
    TaskTokens,
}
