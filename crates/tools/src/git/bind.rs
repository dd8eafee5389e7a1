//! Decisions bound to the repository: a commit that is only prepared, then one step that moves the branch and keeps the
//! decision.
//!
//! The refs are `git-binding`'s business. What is added here is what belongs to a folder that somebody works in: which
//! files the commit takes, which branch is checked out, and the index, which must not show what is committed as taken back.

use trunkline_agent_traits::decision_objects::{Decision, Evidence, GitOid, PatchSet, RunRecord, Verdict};
use trunkline_agent_traits::{Binding, BindingState, Bound, Deciding, Prepared, WorkspaceFault};
use trunkline_git_binding::{
    self as git_binding, BindError, Branch, BranchMove, CommitPlan, Head, State, Trailer,
};

use super::GitWorkspace;
use super::commit::Planned;
use super::index::Made;
use super::run_git::text;
use crate::folder::fault;

/// How often a branch that another git holds locked is tried, with pauses that grow.
const LOCK_TRIES: u32 = 5;

impl GitWorkspace {
    /// Checks that decisions can be bound here.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] with what to do: git is missing or too old, it refuses the repository, what is checked out has a
    /// name that cannot be bound to, or git is told a name that no commit can hold.
    pub fn check_binding(&self) -> Result<(), WorkspaceFault> {
        let repository = self.repository()?;
        repository.head().map_err(told)?;
        repository.configured_committer().map_err(told).map(drop)
    }

    pub(super) fn prepare_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let repository = self.repository()?;
        let (branch, from) = match repository.head().map_err(told)? {
            Head::Branch { name, at } => (Some(name), at),
            Head::Detached { at } => (None, Some(at)),
            _ => return Err(fault("what is checked out here is of a kind that this release does not know")),
        };
        let head = from.map(|from| from.to_string());
        let prepared = |commit: String| Prepared { commit, branch, from: head.clone() };
        let tree = match self.plan(deciding, head.as_deref(), &self.paths(deciding)?)? {
            Planned::Nothing => return Ok(None),
            // Nothing has to move; the decision is bound to what the run has committed itself.
            Planned::Done(commit) => return Ok(Some(prepared(commit))),
            Planned::Tree(tree) => tree,
        };
        self.admit_commit()?;
        let at = i64::try_from(deciding.at / 1000).map_err(|_| fault("the clock is off"))?;
        let plan = CommitPlan {
            tree: oid(&tree)?,
            parents: from.into_iter().collect(),
            message: message(deciding),
            author: None,
            committer: None,
            at,
            offset_minutes: 0,
            trailer: deciding.decision.as_deref().map(parsed).transpose()?.map(Trailer::Decision),
        };
        let commit = repository.write_commit(&plan).map_err(told)?;
        Ok(Some(prepared(commit.to_string())))
    }

    pub(super) fn bind_now(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let repository = self.repository()?;
        let mut parts = self.parts(binding)?;
        let renamed = self.follow_branch(&repository, binding, &mut parts)?;
        let state = match repository.state(&parts) {
            Ok(state) => state,
            Err(BindError::AlreadyBound { first, .. }) => {
                return Ok(Bound::OtherDecision { first: first.to_string() });
            }
            Err(error) => return Err(told(error)),
        };
        let reference = parts.reference();
        if let State::Elsewhere { bound: true, .. } = state {
            self.tell_prepared(binding, Made::Before)?;
            return Ok(Bound::Done { reference });
        }
        let gone_elsewhere = match state {
            State::Neither if !renamed => self.gone_elsewhere(&repository, binding)?,
            _ => None,
        };
        if matches!(state, State::Elsewhere { .. }) || gone_elsewhere.is_some() {
            // What was there and was taken off is not carried to another place either.
            if let Some(why) = self.taken_back(&repository, binding, &parts)? {
                return Ok(Bound::TakenBack { why });
            }
        }
        if let Some(why) = gone_elsewhere {
            return Ok(Bound::Overtaken { why });
        }
        let moves = matches!(state, State::Neither | State::RefOnly)
            && parts.move_branch.as_ref().is_some_and(|moved| moved.from != Some(moved.to));
        if moves {
            self.admit_commit()?;
        }
        let mut made = Made::Before;
        for attempt in 1.. {
            match repository.recover(&parts) {
                Ok(State::Neither) if !renamed => {
                    made = Made::Now;
                    break;
                }
                Ok(_) => break,
                Err(error @ (BindError::BranchMoved { .. } | BindError::NoSuchObject { .. })) => {
                    return Ok(match self.taken_back(&repository, binding, &parts)? {
                        Some(why) => Bound::TakenBack { why },
                        None => Bound::Overtaken { why: error.to_string() },
                    });
                }
                Err(BindError::BranchElsewhere { .. }) => break,
                Err(BindError::AlreadyBound { first, .. }) => {
                    return Ok(Bound::OtherDecision { first: first.to_string() });
                }
                Err(BindError::Locked { .. }) if attempt < LOCK_TRIES => {
                    std::thread::sleep(std::time::Duration::from_millis(50) * attempt);
                }
                Err(error) => return Err(told(error)),
            }
        }
        self.tell_prepared(binding, made)?;
        // Packing is housekeeping: what fails here fails again with the next decision.
        let _ = repository.pack_if_due();
        Ok(Bound::Done { reference })
    }

    pub(super) fn state_of(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        let repository = self.repository()?;
        let mut parts = self.parts(binding)?;
        let renamed = self.follow_branch(&repository, binding, &mut parts)?;
        let reference = || parts.reference();
        let state = repository.state(&parts);
        if !renamed
            && matches!(state, Ok(State::Neither | State::Elsewhere { bound: false, .. }))
            && let Some(why) = self.taken_back(&repository, binding, &parts)?
        {
            return Ok(BindingState::TakenBack { why });
        }
        Ok(match state {
            Ok(State::Neither) if renamed => BindingState::BranchOnly,
            Ok(State::Neither) => match self.gone_elsewhere(&repository, binding)? {
                Some(_) => BindingState::Elsewhere,
                None => BindingState::Neither,
            },
            Ok(State::Both) => BindingState::Both,
            Ok(State::RefOnly) => BindingState::RefOnly,
            Ok(State::BranchOnly) => BindingState::BranchOnly,
            Ok(State::Elsewhere { bound: true, .. }) => {
                BindingState::BoundElsewhere { reference: reference() }
            }
            Ok(_) => BindingState::Elsewhere,
            Err(BindError::AlreadyBound { first, .. }) => {
                BindingState::OtherDecision { first: first.to_string() }
            }
            Err(error) => return Err(told(error)),
        })
    }

    /// Of a branch that has another name by now, or was deleted, says what is checked out instead, if that holds the commit: a
    /// kill came between the branch and the decision, and nothing has to move any more.
    fn follow_branch(
        &self,
        repository: &git_binding::Repository,
        binding: &Binding,
        parts: &mut git_binding::Binding,
    ) -> Result<bool, WorkspaceFault> {
        let Some(Prepared { commit, branch: Some(branch), from }) = &binding.prepared else {
            return Ok(false);
        };
        // What the run has committed itself was there before. What is no branch is refused later.
        if from.as_ref() == Some(commit) || !branch.starts_with("refs/heads/") {
            return Ok(false);
        }
        let at = match repository.head().map_err(told)? {
            Head::Branch { name, at: Some(at) } if name != *branch => at,
            Head::Detached { at } => at,
            _ => return Ok(false),
        };
        let is_there =
            self.git().find(&["show-ref", "--verify", "--quiet", "--", branch], Vec::new())?.is_some();
        if is_there || self.git().run(&["merge-base", "--is-ancestor", commit, &at.to_string()]).is_err() {
            return Ok(false);
        }
        parts.move_branch =
            Some(BranchMove { branch: Branch::Head, from: Some(oid(commit)?), to: oid(commit)? });
        Ok(true)
    }

    pub(super) fn repository(&self) -> Result<git_binding::Repository, WorkspaceFault> {
        if let Some(known) = self.repository.get() {
            return Ok(known.clone());
        }
        let found = git_binding::Repository::open(&self.root).map_err(told)?;
        let gone = || fault(format!("{} is not in a git repository any more", self.root.display()));
        let found = found.ok_or_else(gone)?;
        Ok(self.repository.get_or_init(|| found).clone())
    }

    /// Tells that a commit was taken off its branch, if it was there.
    fn taken_back(
        &self,
        repository: &git_binding::Repository,
        binding: &Binding,
        parts: &git_binding::Binding,
    ) -> Result<Option<String>, WorkspaceFault> {
        let Some(prepared) = &binding.prepared else { return Ok(None) };
        if !repository.was_taken_off(parts).map_err(told)? {
            return Ok(None);
        }
        let branch = prepared.branch.as_deref().unwrap_or("HEAD");
        let now = self.git().run(&["rev-parse", "--verify", "-q", branch]);
        let now = now.map_or_else(|_| "gone".to_owned(), |now| format!("at {}", text(&now).trim()));
        let commit = &prepared.commit;
        Ok(Some(format!(
            "the commit {commit} was on {branch}, and somebody has taken it off; {branch} is {now}"
        )))
    }

    /// Tells what else is checked out than the branch for which a commit was prepared.
    fn gone_elsewhere(
        &self,
        repository: &git_binding::Repository,
        binding: &Binding,
    ) -> Result<Option<String>, WorkspaceFault> {
        let Some(prepared) = &binding.prepared else { return Ok(None) };
        let now = match repository.head().map_err(told)? {
            Head::Branch { name, .. } => Some(name),
            _ => None,
        };
        let named = |branch: Option<&str>| branch.unwrap_or("no branch").to_owned();
        let (now, then) = (named(now.as_deref()), named(prepared.branch.as_deref()));
        Ok((now != then).then(|| format!("{now} is checked out; the commit was prepared for {then}")))
    }

    /// Reads what is to be bound. All of it may come from a log that somebody else has written.
    fn parts(&self, binding: &Binding) -> Result<git_binding::Binding, WorkspaceFault> {
        let run = RunRecord::parse(binding.run.as_bytes()).map_err(unreadable)?;
        let decision = Decision::parse(binding.decision.as_bytes()).map_err(unreadable)?;
        let mut parts = git_binding::Binding::new(run, decision);
        for text in &binding.patch_sets {
            parts.patch_sets.push(PatchSet::parse(text.as_bytes()).map_err(unreadable)?);
        }
        for text in &binding.evidence {
            parts.evidence.push(Evidence::parse(text.as_bytes()).map_err(unreadable)?);
        }
        if let Some(Prepared { commit, branch, from }) = &binding.prepared {
            // The verdict of a rollback need not name what it has committed.
            if !matches!(parts.decision.verdict(), Verdict::Commit { .. }) {
                parts.commit = Some(oid(commit)?);
            }
            parts.move_branch = Some(BranchMove {
                branch: branch.clone().map_or(Branch::Head, Branch::Named),
                from: from.as_deref().map(oid).transpose()?,
                to: oid(commit)?,
            });
        }
        Ok(parts)
    }

    /// Tells the index of a commit whose branch was moved, also where a kill came between the two.
    fn tell_prepared(&self, binding: &Binding, made: Made) -> Result<(), WorkspaceFault> {
        match &binding.prepared {
            // What the run has committed itself its git has told the index.
            Some(prepared) if prepared.from.as_ref() != Some(&prepared.commit) => {
                self.tell_index(&prepared.commit, made)
            }
            _ => Ok(()),
        }
    }
}

/// The message, without what git cannot hold. It never names a run: who wants a name in it asks for the decision's.
fn message(deciding: &Deciding) -> String {
    let message = deciding.message.replace('\0', "");
    if message.trim().is_empty() { "Changes of a run".to_owned() } else { message.trim().to_owned() }
}

fn oid(text: &str) -> Result<GitOid, WorkspaceFault> {
    parsed(text)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, WorkspaceFault> {
    text.parse().map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> WorkspaceFault {
    fault(format!("what is to be bound cannot be read: {error}"))
}

fn told(error: BindError) -> WorkspaceFault {
    let mut message = format!("the decision cannot be bound: {error}");
    if let BindError::NotADecision { reference, .. } = &error {
        message.push_str(&format!(
            "; if nobody needs it, `git update-ref --no-deref -d {reference}` removes it"
        ));
    }
    fault(message)
}
