//! How far a binding has come, and how one that was cut off is brought to its end.
//!
//! A repository that keeps refs as files moves two of them one after the other, the branch first. Who kills git between the
//! two finds the branch moved and nothing bound, never the reverse. What should be is known from the binding, so it can be
//! asked and done again any number of times.

use std::fmt;

use trunkline_decision_objects::GitOid;

use crate::bind::note;
use crate::branch::Target;
use crate::{BindError, Binding, Bound, BranchMove, GitFault, Repository, layout};

/// How a binding stands in the repository. A binding that moves no branch is [`Neither`](Self::Neither) or
/// [`Both`](Self::Both); so is one whose branch shall be where it is already, unless somebody else has moved that
/// [`Elsewhere`](Self::Elsewhere).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// No decision is bound, and the branch is where it was.
    Neither,
    /// The decision is bound, and the branch holds the commit.
    Both,
    /// The decision is bound; the branch is where it was before. No kill leaves this: somebody has put the branch back.
    RefOnly,
    /// The branch holds the commit; no decision is bound. A kill may leave this.
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

/// In a sentence, without its full stop.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Neither => f.write_str("no decision is bound, and no branch was moved"),
            Self::Both => f.write_str("the decision is bound, and the branch is where it shall be"),
            Self::RefOnly => f.write_str("the decision is bound, and the branch was put back"),
            Self::BranchOnly => f.write_str("the branch holds the commit, and no decision is bound"),
            Self::Elsewhere { bound, branch, found } => {
                let decision = if *bound { "the decision is bound" } else { "no decision is bound" };
                match found {
                    Some(found) => write!(f, "{decision}, and {branch} is elsewhere, at {found}"),
                    None => write!(f, "{decision}, and there is no {branch}"),
                }
            }
        }
    }
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

    /// Binds, and brings a binding that was cut off to its end: afterwards the decision is bound and the branch holds the
    /// commit. Returns what it found. Doing it again changes nothing.
    ///
    /// This is for whoever does not know whether [`bind`](Self::bind) was called before, and never takes back what a person
    /// did since: a branch that was moved and stands where it was before stays there. That is known from the decision if it
    /// is bound, and else from the branch's reflog, if it has one; bare repositories keep none by default. The branch should
    /// be named: [`Branch::Head`](crate::Branch::Head) is looked up anew, and may be another by now.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state) and [`bind`](Self::bind). If the branch is elsewhere, or was put back,
    /// [`BindError::BranchMoved`] where no decision is bound, and [`BindError::BranchElsewhere`] where it is; which is right,
    /// only a person can judge.
    pub fn recover(&self, binding: &Binding) -> Result<State, BindError> {
        let target = self.target_of(binding)?;
        let state = self.state_at(binding, target.as_ref())?;
        let run = binding.run.id();
        match (&state, &target, &binding.move_branch) {
            (State::Both, ..) => Ok(state),
            (State::BranchOnly, target, _) => match self.bind_only(binding, target.as_ref()) {
                Ok(()) => Ok(state),
                Err(error) => match self.state_at(binding, target.as_ref())? {
                    // Somebody else was between the two when we looked.
                    State::Both => Ok(State::Both),
                    _ => Err(error),
                },
            },
            (State::RefOnly, Some(target), Some(wanted)) => {
                let branch = target.name.clone();
                Err(BindError::BranchElsewhere { run, branch, to: wanted.to, found: wanted.from })
            }
            (State::Elsewhere { bound: true, branch, found }, _, Some(wanted)) => {
                let branch = branch.clone();
                Err(BindError::BranchElsewhere { run, branch, to: wanted.to, found: *found })
            }
            (State::Neither, Some(target), Some(wanted))
                if !wanted.stays() && self.was_put_back(binding, target, wanted)? =>
            {
                let branch = target.name.clone();
                Err(BindError::BranchMoved { branch, expected: wanted.from, found: wanted.from })
            }
            _ => match self.bind(binding)? {
                Bound::Now { .. } => Ok(state),
                // Somebody else has bound it since we looked.
                Bound::Already { state, .. } => Ok(state),
            },
        }
    }

    /// Tells whether the branch has held the commit of a binding that was cut off, and somebody has taken it off since: put
    /// the branch back, or moved it to where the commit is not. Changes nothing.
    ///
    /// Known from the branch's reflog: of a branch that has none, or that was deleted, it is not known, and `false`. Also
    /// `false` once the decision is bound.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state).
    pub fn was_taken_off(&self, binding: &Binding) -> Result<bool, BindError> {
        let target = self.target_of(binding)?;
        let (Some(target), Some(wanted)) = (&target, &binding.move_branch) else { return Ok(false) };
        match self.state_at(binding, Some(target))? {
            State::Neither => self.was_put_back(binding, target, wanted),
            State::Elsewhere { bound: false, found: Some(_), .. } => self.was_moved(binding, target, wanted),
            _ => Ok(false),
        }
    }

    /// Whether a branch that is where it was has been moved by this binding once.
    fn was_put_back(
        &self,
        binding: &Binding,
        target: &Target,
        wanted: &BranchMove,
    ) -> Result<bool, BindError> {
        // A branch that is not there has no reflog.
        Ok(wanted.from.is_some() && self.was_moved(binding, target, wanted)?)
    }

    /// Whether a branch that is there and does not hold the commit has been moved by this binding once.
    fn was_moved(&self, binding: &Binding, target: &Target, wanted: &BranchMove) -> Result<bool, BindError> {
        let newest = |filter: &[&str]| -> Result<Option<GitOid>, BindError> {
            let question =
                [&["rev-list", "--walk-reflogs", "--max-count=1"], filter, &[&target.name, "--"]].concat();
            let printed = self.git.run(&question, b"")?;
            Ok(String::from_utf8_lossy(&printed).trim().parse().ok())
        };
        let ours = newest(&[&format!("--grep-reflog={}", note(binding))])?;
        // Git writes into the reflog first. If nothing came after that, it was killed before it moved the branch.
        Ok(ours == Some(wanted.to) && newest(&[])? != ours)
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
        let mut at = at;
        if bound && at == wanted.from && !wanted.stays() {
            // Refs are read one after the other, and perhaps the branch was before somebody moved both. A decision is bound
            // last, so now it tells.
            at = self.place_of(target)?;
        }
        Ok(match (self.moved(wanted, at)?, bound) {
            // Nothing is begun with a branch that is where it shall be before anything was done.
            (Some(true), false) if wanted.stays() => State::Neither,
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
        // Whoever went on from the commit has it; from one that the branch had before, that tells nothing.
        let back = match wanted.from {
            Some(from) if !wanted.stays() => self.has(from, wanted.to)?,
            _ => false,
        };
        Ok((!back && self.has(at, wanted.to)?).then_some(true))
    }

    /// Whether a commit is another one or comes after it; a commit that is not there does not.
    fn has(&self, later: GitOid, earlier: GitOid) -> Result<bool, BindError> {
        match self.git.run(&["merge-base", "--is-ancestor", &earlier.to_string(), &later.to_string()], b"") {
            Ok(_) => Ok(true),
            Err(GitFault::Failed { code: Some(1 | 128), .. }) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }
}
