//! What version control is told of a decision, as plain data.
//!
//! A workspace that can bind keeps the decision beside the history, in the same step that moves the branch. What that
//! looks like there is its own business: here a binding is texts and names.

use serde::{Deserialize, Serialize};

/// A decision with everything that it rests on, each in its canonical text, and the commit that is to be moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The run.
    pub run: String,
    /// Its decision.
    pub decision: String,
    /// The patch sets of the run.
    pub patch_sets: Vec<String>,
    /// Its evidence.
    pub evidence: Vec<String>,
    /// The commit that the branch moves to; `None` where no branch moves.
    pub prepared: Option<Prepared>,
}

/// A commit that is written and that no branch holds yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Its name, in hex.
    pub commit: String,
    /// The full name of the branch that is to hold it, such as `refs/heads/main`; `None` if none is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where the branch was, in hex; `None` before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// What came of binding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The decision is bound, and the branch holds its commit.
    Done {
        /// Where it stands.
        reference: String,
    },
    /// Nothing was done, because what was prepared does not fit any more: the branch was moved meanwhile, another one is
    /// checked out, or the commit is gone.
    Overtaken {
        /// What is otherwise, on one line.
        why: String,
    },
    /// Nothing was done: the branch has held the commit already, and somebody has taken it off. It is not put back.
    TakenBack {
        /// Which commit, and where its branch is now, on one line.
        why: String,
    },
    /// The run is bound to another decision. Nothing was done.
    OtherDecision {
        /// The name of the other one.
        first: String,
    },
}

/// How far a binding has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindingState {
    /// No decision is bound, and the branch is where it was.
    Neither,
    /// The decision is bound, and the branch holds the commit, or none was to be moved.
    Both,
    /// The decision is bound, and the branch is where it was.
    RefOnly,
    /// The branch holds the commit, and no decision is bound.
    BranchOnly,
    /// No decision is bound, and somebody has moved the branch elsewhere.
    Elsewhere,
    /// No decision is bound. The branch has held the commit already, and somebody has taken it off.
    TakenBack {
        /// Which commit, and where its branch is now, on one line.
        why: String,
    },
    /// The decision is bound, and the branch is neither where it was nor does it hold the commit.
    BoundElsewhere {
        /// Where the decision stands.
        reference: String,
    },
    /// The run is bound to another decision.
    OtherDecision {
        /// The name of the other one.
        first: String,
    },
}
