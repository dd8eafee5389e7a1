//! The words of the tool-choice queue: what is asked of a turn, what a wire can do, and what came of it.
//!
//! Nothing here knows a wire's syntax. The caller says what the next request can carry, and gets back what it should.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Attempt, Gate};

/// What a turn may call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the choices that wires have; each caller has to put all of them on its wire"
)]
pub enum Choice {
    /// Whatever it wants.
    Auto,
    /// Nothing.
    None,
    /// Something, whatever it is.
    Any,
    /// This tool.
    Tool(String),
}

/// What is asked of one or more turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Directive {
    /// How it is called, here and in every notice. It never changes, however often it is tried.
    pub label: String,
    /// What is asked, one turn after another.
    pub choices: Vec<Choice>,
    /// How often what came to nothing is asked again. After that, the whole directive is dropped.
    #[serde(default)]
    pub requeue: u32,
    /// Whether a turn that ended well without a call of the tool came to nothing.
    #[serde(default)]
    pub must_invoke: bool,
}

impl Directive {
    /// Asks for one thing, once.
    pub fn once(label: impl Into<String>, choice: Choice) -> Self {
        Self::sequence(label, vec![choice])
    }

    /// Asks for one thing after another, such as a call and then no call.
    pub fn sequence(label: impl Into<String>, choices: Vec<Choice>) -> Self {
        Directive { label: label.into(), choices, requeue: 0, must_invoke: false }
    }
}

/// Where a directive gets into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a queue has two ends")]
pub enum Place {
    /// Behind all others.
    Last,
    /// Before all others: for what belongs to the very next turn.
    First,
}

/// How the model is brought to decide on proposals that it may decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// The very next turn is held to it.
    AtOnce {
        /// After so many turns that were held to it, a proposal is left alone.
        turns: u32,
    },
    /// It is reminded, and held to it only after turns that called other tools instead.
    SoftFirst {
        /// How many turns may do something else before.
        patience: u32,
        /// After so many turns that were held to it, a proposal is left alone.
        turns: u32,
    },
}

impl Policy {
    /// It is neither reminded nor held to anything: what waits is left alone, for a person to look at.
    pub const NEVER: Policy = Policy::AtOnce { turns: 0 };

    pub(crate) fn patience(self) -> u32 {
        match self {
            Policy::AtOnce { .. } => 0,
            // Without a single turn to decline in, it would not be soft.
            Policy::SoftFirst { patience, .. } => patience.max(1),
        }
    }

    pub(crate) fn turns(self) -> u32 {
        match self {
            Policy::AtOnce { turns } | Policy::SoftFirst { turns, .. } => turns,
        }
    }
}

impl Default for Policy {
    /// Soft, with one turn of patience and three turns under pressure.
    fn default() -> Self {
        Policy::SoftFirst { patience: 1, turns: 3 }
    }
}

/// What a wire can be made to demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that overlooks one sends what its provider refuses")]
pub enum Forcing {
    /// Nothing.
    No,
    /// A call, but not of which tool.
    Any,
    /// A call of a named tool.
    Named,
}

/// What the next request can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wire {
    /// What can be demanded.
    pub forcing: Forcing,
    /// Whether the model thinks in this request. Nothing is ever demanded beside it: several providers answer that with
    /// an error.
    pub thinking: bool,
    /// Whether fewer tools may be offered where nothing can be demanded.
    pub narrowing: bool,
}

impl Wire {
    /// A wire on which the model does not think, and on which tools may be narrowed.
    pub fn new(forcing: Forcing) -> Self {
        Wire { forcing, thinking: false, narrowing: true }
    }

    pub(crate) fn demands(self) -> Forcing {
        if self.thinking { Forcing::No } else { self.forcing }
    }
}

/// What the next turn finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scene<'a> {
    /// What its wire can do.
    pub wire: Wire,
    /// The tools that could be offered, by name.
    pub tools: &'a [&'a str],
    /// Proposals that wait for the model, as [`Queue::gate`](crate::Queue::gate) finds them now.
    pub gate: Option<&'a Gate>,
    /// What the reminders that are still before the model's eyes are about.
    pub reminded: &'a [Attempt],
    /// What the caller itself wants of the turn. If it wants no call, or another tool, nothing is asked for proposals.
    pub own: Option<&'a Choice>,
}

impl<'a> Scene<'a> {
    /// A turn in which nothing waits and nobody wants anything.
    pub fn new(wire: Wire, tools: &'a [&'a str]) -> Self {
        Scene { wire, tools, gate: None, reminded: &[], own: None }
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }
}

/// What the next request should carry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The choice; `None` leaves it to the caller.
    pub choice: Option<Choice>,
    /// Offer these tools alone; `None` leaves them as they are.
    pub only: Option<Vec<String>>,
    /// Say this to the model first, as a message of its own after everything else.
    pub reminder: Option<Reminder>,
    /// What happened to directives and proposals on the way here.
    pub notices: Vec<Notice>,
}

/// What the model is told of proposals that wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reminder {
    /// Which proposals, each with its last attempt: after one that failed, a new reminder is due.
    pub about: Vec<Attempt>,
    /// The words.
    pub text: String,
}

/// What happened to a directive, or to proposals that the model was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A turn did what was asked.
    Resolved {
        /// Of which directive.
        label: String,
        /// What was asked.
        choice: Choice,
    },
    /// It came to nothing.
    Rejected {
        /// Of which directive.
        label: String,
        /// What was asked.
        choice: Choice,
        /// Why.
        reason: Reject,
        /// Whether it is asked again; if not, what was left of the directive is dropped.
        requeued: bool,
    },
    /// The model was asked often enough. The proposals wait as before, and nothing is held up by them any more.
    GaveUp {
        /// Which proposals.
        about: Vec<Attempt>,
    },
}

/// Why what was asked came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reject {
    /// The turn was cancelled.
    Aborted,
    /// The turn ended in an error.
    Error,
    /// The whole queue was cleared.
    Cleared,
    /// The directive was taken out.
    Removed,
    /// The tool is not there, or was not offered.
    Unavailable,
    /// The wire can neither demand it nor offer less.
    Impossible,
    /// The turn ended well and did not call the tool.
    NotInvoked,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnEnd<'a> {
    /// Somebody cancelled it.
    Aborted,
    /// It failed.
    Error,
    /// It came to its end.
    Done {
        /// The tools that it called, by name.
        called: &'a [&'a str],
    },
}

/// What a turn said to what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard {
    /// Nothing was asked.
    NothingAsked,
    /// A directive was tried, and this came of it.
    Directive(Notice),
    /// It called the tool, whatever else it called beside it.
    Complied,
    /// It called other tools instead. They run; the next turn may be held to it.
    Declined,
    /// It said something, and called nothing. Whoever it speaks to should hear it before anything else is asked.
    Spoke {
        /// Whether another turn may be asked, if nobody answers.
        again: bool,
    },
    /// The turn did not come to its end.
    Lost(Reject),
}

/// A turn was planned before the one before had been reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the turn that was asked for {label} has not ended; report its end before the next is planned")]
pub struct TurnUnreported {
    /// What it was asked for.
    pub label: String,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reject::Aborted => "aborted",
            Reject::Error => "error",
            Reject::Cleared => "cleared",
            Reject::Removed => "removed",
            Reject::Unavailable => "unavailable",
            Reject::Impossible => "impossible",
            Reject::NotInvoked => "not invoked",
        })
    }
}
