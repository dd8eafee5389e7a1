//! How far a binding has come, and how one that was cut off is brought to its end.
//!
//! A repository that keeps refs as files moves two of them one after the other. Who kills git between the two finds one
//! moved; what should be is known from the binding, so it can be asked and done again any number of times.

use trunkline_decision_objects::GitOid;

use crate::branch::Target;
use crate::{BindError, Binding, Bound, BranchMove, GitFault, Repository, layout};

/// How a binding stands in the repository. A binding that moves no branch is [`Neither`](Self::Neither) or
/// [`Both`](Self::Both).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// No decision is bound, and the branch is where it was.
    Neither,
    /// The decision is bound, and the branch holds the commit.
    Both,
    /// The decision is bound; the branch is where it was.
    RefOnly,
    /// The branch holds the commit; no decision is bound.
    BranchOnly,
    /// The branch is neither where it was nor does it hold the commit: somebody else moved it.
    Elsewhere {
        /// Whether the decision is bound.
        bound: bool,
        /// The branch, by its full name, or `HEAD`.
        branch: String,
        /// Where it is, if anywhere.
        found: Option<GitOid>,
    },
}

impl Repository {
    /// Tells how a binding stands. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`BindError::AlreadyBound`] if the run is bound to another decision, [`BindError::NotADecision`] if its ref holds
    /// something else, [`BindError::BranchName`], [`BindError::Git`].
    pub fn state(&self, binding: &Binding) -> Result<State, BindError> {
        let target = self.target_of(binding)?;
        self.state_at(binding, target.as_ref())
    }

    /// Brings a binding that was cut off to its end: afterwards the decision is bound and the branch holds the commit.
    /// Returns what it found. Doing it again changes nothing.
    ///
    /// A branch that stands where it was before is moved, even if a person has put it back there: so this is for a
    /// binding that did not return, not for one that did.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state) and [`bind`](Self::bind); [`BindError::BranchMoved`] and
    /// [`BindError::BranchElsewhere`] if the branch is elsewhere, which only a person can judge.
    pub fn recover(&self, binding: &Binding) -> Result<State, BindError> {
        let target = self.target_of(binding)?;
        let state = self.state_at(binding, target.as_ref())?;
        match (&state, target, &binding.move_branch) {
            (State::Both, ..) => {}
            (State::RefOnly, Some(target), Some(wanted)) => self.move_only(binding, &target, wanted)?,
            (State::BranchOnly, target, _) => self.bind_only(binding, target.as_ref())?,
            (State::Elsewhere { bound, branch, found }, _, Some(wanted)) => {
                let (branch, found) = (branch.clone(), *found);
                return Err(if *bound {
                    BindError::BranchElsewhere { run: binding.run.id(), branch, to: wanted.to, found }
                } else {
                    BindError::BranchMoved { branch, expected: wanted.from, found }
                });
            }
            _ => match self.bind(binding)? {
                Bound::Now { .. } => {}
                // Somebody else has bound it since we looked.
                Bound::Already { state, .. } => return Ok(state),
            },
        }
        Ok(state)
    }

    pub(crate) fn target_of(&self, binding: &Binding) -> Result<Option<Target>, BindError> {
        binding.move_branch.as_ref().map(|wanted| self.target(&wanted.branch)).transpose()
    }

    pub(crate) fn state_at(&self, binding: &Binding, target: Option<&Target>) -> Result<State, BindError> {
        let run = binding.run.id();
        let reference = layout::reference(run);
        let (tree, at) = match target {
            Some(target) if !target.is_detached() => {
                let mut values = self.ref_values(&[&reference, &target.name])?;
                let at = values.pop().flatten();
                (values.pop().flatten(), at)
            }
            Some(target) => (self.ref_values(&[&reference])?.pop().flatten(), self.place_of(target)?),
            None => (self.ref_values(&[&reference])?.pop().flatten(), None),
        };
        if let Some(tree) = tree {
            let first = self.decision_in(run, &reference, tree)?;
            if first != binding.decision {
                return Err(BindError::AlreadyBound { run, first: first.id() });
            }
        }
        let bound = tree.is_some();
        let (Some(target), Some(wanted)) = (target, &binding.move_branch) else {
            return Ok(if bound { State::Both } else { State::Neither });
        };
        Ok(match (self.moved(wanted, at)?, bound) {
            (Some(true), true) => State::Both,
            (Some(true), false) => State::BranchOnly,
            (Some(false), true) => State::RefOnly,
            (Some(false), false) => State::Neither,
            (None, bound) => State::Elsewhere { bound, branch: target.name.clone(), found: at },
        })
    }

    /// Whether a branch that is at `at` was moved as wanted; `None` if it is elsewhere.
    fn moved(&self, wanted: &BranchMove, at: Option<GitOid>) -> Result<Option<bool>, BindError> {
        if at == Some(wanted.to) {
            return Ok(Some(true));
        }
        if at == wanted.from {
            return Ok(Some(false));
        }
        let Some(at) = at else { return Ok(None) };
        // Whoever went on from the commit has it.
        match self.git.run(&["merge-base", "--is-ancestor", &wanted.to.to_string(), &at.to_string()], b"") {
            Ok(_) => Ok(Some(true)),
            Err(GitFault::Failed { code: Some(1 | 128), .. }) => Ok(None),
            Err(fault) => Err(fault.into()),
        }
    }
}
