//! What is bound, and what came of it.

use trunkline_decision_objects::{Decision, Evidence, GitOid, PatchSet, RunRecord, Verdict};

use crate::{BindError, BranchMove, Link, State, layout};

/// A decision with all that it rests on, to be bound to a repository.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The run.
    pub run: RunRecord,
    /// Its decision.
    pub decision: Decision,
    /// The patch sets that the decision names; more of the same run do no harm.
    pub patch_sets: Vec<PatchSet>,
    /// The evidence that the decision names; more of the same run does no harm.
    pub evidence: Vec<Evidence>,
    /// The commit that belongs to a decision whose verdict names none; without it, the one that the branch moves to. For a
    /// rollback, the one that it made; without any, the one whose content it restored.
    pub commit: Option<GitOid>,
    /// The branch that moves with it, to that commit and no other.
    pub move_branch: Option<BranchMove>,
}

/// What came of binding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The decision is bound now, and the branch was moved.
    Now {
        /// The run's ref.
        reference: String,
        /// What ties it to the history.
        link: Link,
    },
    /// The same decision was bound already; nothing was changed, and the branch was not moved again. The other parts are
    /// those of the first time, and are not compared.
    Already {
        /// The run's ref.
        reference: String,
        /// How it stands. With [`State::RefOnly`] and [`State::Elsewhere`] somebody has moved the branch since.
        state: State,
    },
}

impl Binding {
    /// A decision with its run, and nothing more; the other fields are there to be filled.
    #[must_use]
    pub const fn new(run: RunRecord, decision: Decision) -> Self {
        Self { run, decision, patch_sets: Vec::new(), evidence: Vec::new(), commit: None, move_branch: None }
    }

    /// Returns the name of the run's ref, whether it is there or not.
    #[must_use]
    pub fn reference(&self) -> String {
        layout::reference(self.run.id())
    }

    /// Checks that all parts are of one run and that all is there, and returns the commit.
    pub(crate) fn check(&self) -> Result<Option<GitOid>, BindError> {
        let run = self.decision.run();
        let own = std::iter::once(("the record".to_owned(), self.run.id()));
        let patch_sets = self.patch_sets.iter().map(|set| (format!("patch set {}", set.id()), set.run()));
        let evidence = self.evidence.iter().map(|found| (format!("evidence {}", found.id()), found.run()));
        for (what, owner) in own.chain(patch_sets).chain(evidence) {
            if owner != run {
                return Err(BindError::OtherRun { what, owner, run });
            }
        }
        self.decision.check_grounds(&self.patch_sets, &self.evidence)?;
        let verdict = match self.decision.verdict() {
            Verdict::Commit { commit, .. } => Some(*commit),
            _ => None,
        };
        let goes_to = self.move_branch.as_ref().map(|wanted| wanted.to);
        let Some(commit) = verdict.or(self.commit).or(goes_to) else {
            return Ok(match self.decision.verdict() {
                Verdict::Rollback { reverted_to, .. } => *reverted_to,
                _ => None,
            });
        };
        match [self.commit, goes_to].into_iter().flatten().find(|other| *other != commit) {
            Some(other) => Err(BindError::OtherCommit { commit, other }),
            None => Ok(Some(commit)),
        }
    }
}
