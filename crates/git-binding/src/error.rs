//! Why something could not be bound, read or found.

use trunkline_decision_objects::{DecisionId, GitOid, GroundsError, RunId};

use crate::GitFault;

/// Why a repository did not do what was asked.
///
/// Unless a variant says otherwise, nothing was changed but for objects that no ref names; git's own clean-up takes them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Git gave no answer. What it did by then is not known: ask [`Repository::state`](crate::Repository::state).
    #[error(transparent)]
    Git(#[from] GitFault),
    /// The installed git is too old.
    #[error("git {found} is too old; {needed} or later is needed: install a newer git")]
    TooOld {
        /// What is installed.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// Git answered in a form that this release does not know.
    #[error("git {command} answered in an unknown form: {answer:?}")]
    Answer {
        /// The subcommand.
        command: &'static str,
        /// The beginning of the answer.
        answer: String,
    },
    /// The parts of a binding are of different runs.
    #[error("{what} belongs to run {owner}, the decision to run {run}")]
    OtherRun {
        /// The part.
        what: String,
        /// The run that it is of.
        owner: RunId,
        /// The run that is decided.
        run: RunId,
    },
    /// The decision rests on something that was not handed over in [`Binding::patch_sets`](crate::Binding::patch_sets) or
    /// [`Binding::evidence`](crate::Binding::evidence).
    #[error("{}{}", field(.0), .0)]
    Grounds(GroundsError),
    /// The binding names two commits: its verdict, its own field, and the place that its branch would move to must agree.
    #[error("the decision is about commit {commit}, and the binding names commit {other} as well")]
    OtherCommit {
        /// The verdict's, or the binding's own.
        commit: GitOid,
        /// The binding's own, or where its branch would move.
        other: GitOid,
    },
    /// Two parts of a binding have one name and differ; one of them would be lost.
    #[error("there are two different parts of the name {name}")]
    TwoOfOneName {
        /// Where they would stand.
        name: String,
    },
    /// The binding could be written, and not be read again. Bind patch sets whose diff is kept elsewhere, or less evidence.
    #[error("the binding has {what}; at most {limit} can be read again")]
    TooLarge {
        /// How much it has of what.
        what: String,
        /// How much is read.
        limit: u64,
    },
    /// The run is bound to another decision already. That one stays.
    #[error("run {run} is bound to decision {first} already; a run has one decision")]
    AlreadyBound {
        /// The run.
        run: RunId,
        /// The decision that was first.
        first: DecisionId,
    },
    /// The branch is not where the binding expects it, or is there again after somebody took the move back. Make the commit
    /// again on top of what is there now. If it is where the binding would have moved it, a
    /// [`bind`](crate::Repository::bind) was perhaps cut off: [`recover`](crate::Repository::recover) brings it to its end.
    #[error("{}; nothing was bound", moved(branch, expected, found))]
    BranchMoved {
        /// The branch.
        branch: String,
        /// Where it was expected; `None` is nowhere, an unborn branch.
        expected: Option<GitOid>,
        /// Where it is.
        found: Option<GitOid>,
    },
    /// The decision is bound, but its branch does not hold the commit: somebody moved it elsewhere, or back. Whether it shall
    /// hold it, only a person can tell; `git merge`, `git cherry-pick` and `git update-ref` are theirs.
    #[error(
        "the decision of run {run} is bound, but {branch} is at {}, which does not hold {to}",
        place(found)
    )]
    BranchElsewhere {
        /// The run.
        run: RunId,
        /// The branch.
        branch: String,
        /// Where the binding would have moved it.
        to: GitOid,
        /// Where it is.
        found: Option<GitOid>,
    },
    /// The name cannot be that of a branch, or is one that is not handled here: no UTF-8, a control character, or over 1,000 bytes.
    #[error(
        "{name:?} is not the full name of a branch, such as refs/heads/main, or not one that can be bound to"
    )]
    BranchName {
        /// The beginning of the name.
        name: String,
    },
    /// A named object is not there, or of another type.
    #[error("{oid} is not a {expected} of this repository")]
    NoSuchObject {
        /// The object.
        oid: GitOid,
        /// What it should be: `commit` or `tree`.
        expected: &'static str,
    },
    /// The text names no commit.
    #[error("{revision:?} names no commit of this repository")]
    NoSuchRevision {
        /// The beginning of the text.
        revision: String,
    },
    /// Somebody else holds a lock, or a git that was killed has left one.
    #[error(
        "a ref is locked ({said}); try again, and if no other git runs in this repository, remove that file"
    )]
    Locked {
        /// What git says, with the file, or the folder that it is in.
        said: String,
    },
    /// A commit cannot be written like this.
    #[error("the commit cannot be written: {why}")]
    CommitText {
        /// What is wrong with the plan.
        why: &'static str,
    },
    /// What stands under the run's ref is not what this crate writes there.
    #[error("{reference} does not hold a decision: {why}")]
    NotADecision {
        /// The ref.
        reference: String,
        /// What is wrong.
        why: String,
    },
    /// The refs of the repository could not be counted.
    #[error("the folder of the refs cannot be read")]
    Refs(#[source] std::io::Error),
}

impl From<GroundsError> for BindError {
    fn from(error: GroundsError) -> Self {
        Self::Grounds(error)
    }
}

/// Where what is missing belongs.
fn field(error: &GroundsError) -> &'static str {
    match error {
        GroundsError::MissingPatchSet { .. } => "the binding's `patch_sets` lack something: ",
        GroundsError::MissingEvidence { .. } => "the binding's `evidence` lacks something: ",
        _ => "",
    }
}

fn moved(branch: &str, expected: &Option<GitOid>, found: &Option<GitOid>) -> String {
    if expected == found {
        format!("{branch} was moved by this decision and put back to {} since", place(found))
    } else {
        format!("{branch} was expected at {}, it is at {}", place(expected), place(found))
    }
}

fn place(oid: &Option<GitOid>) -> String {
    oid.map_or_else(|| "nowhere".to_owned(), |oid| oid.to_string())
}

/// The beginning of a foreign text, without what a terminal would obey.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 100;
    harmless(&String::from_utf8_lossy(text.get(..4 * MOST).unwrap_or(text))).chars().take(MOST).collect()
}

/// A sentence that may quote foreign text, without what a terminal would obey, and not without end.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(1_000).collect()
}
