//! A repository that is a model: commits, two branches with their reflogs, and for each run the decision that git holds.
//! What a real one does is tried in `tools`, `git-binding` and the command.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde_json::Value;
use trunkline_runtime::decision_objects::Digest;
use trunkline_runtime::{Binding, BindingState, Bound, Deciding, GitBinding, Prepared, WorkspaceFault};

use crate::fake_folder::FakeFolder;

/// How a call of git goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Before,
    After,
    /// Killed between two refs.
    BranchOnly,
}

/// What a person does with git.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Commit,
    /// Puts the branch back by one commit.
    Back,
    /// Moves the branch to something that was never there.
    Elsewhere,
    Amend,
    /// Checks out the other branch, or makes it.
    Switch,
    /// Deletes the branch, after the other one is checked out.
    Delete,
}

/// A commit: who made it is told by its run.
#[derive(Clone)]
pub(crate) struct Commit {
    pub(crate) parent: Option<String>,
    /// What it holds of a run; none in commits of a person that hold nothing of that kind.
    pub(crate) patch_set: Option<String>,
    /// The run that has made it.
    pub(crate) run: Option<String>,
}

#[derive(Default)]
pub(crate) struct Git {
    pub(crate) commits: BTreeMap<String, Commit>,
    pub(crate) branches: BTreeMap<&'static str, String>,
    pub(crate) head: &'static str,
    /// What bindings have moved a branch to, as its reflog knows it.
    pub(crate) moved: BTreeMap<&'static str, Vec<String>>,
    /// The decision of each run.
    pub(crate) refs: BTreeMap<String, String>,
    /// How many calls until one fails.
    pub(crate) fault: Option<(usize, Fault)>,
    /// How many calls until a person does something.
    pub(crate) person: Option<(usize, Act)>,
    pub(crate) calls: usize,
    /// From which call on, counted from when it is set, every one fails.
    pub(crate) broken: Option<usize>,
    /// Whether nothing that was prepared fits, for a reason that stays.
    pub(crate) unfit: bool,
    /// Whether somebody commits before everything that binds.
    pub(crate) racing: bool,
    /// The commits of runs that a person has taken off a branch, and off one that they have deleted.
    pub(crate) taken: BTreeSet<String>,
    /// Likewise, with the branch, as long as that is there.
    pub(crate) off: BTreeSet<(&'static str, String)>,
}

impl Git {
    pub(crate) fn commit(&mut self, text: &str, commit: Commit) -> String {
        let name = Digest::of(format!("{text} {:?}", commit.parent).as_bytes()).to_string()[..40].to_owned();
        self.commits.insert(name.clone(), commit);
        name
    }

    pub(crate) fn tip(&self) -> Option<String> {
        self.branches.get(self.head).cloned()
    }

    pub(crate) fn line_from(&self, at: Option<&String>) -> Vec<String> {
        let next = |at: &String| self.commits.get(at).and_then(|commit| commit.parent.clone());
        std::iter::successors(at.cloned(), next).collect()
    }

    /// The branch, newest first.
    pub(crate) fn line(&self) -> Vec<String> {
        self.line_from(self.branches.get(self.head))
    }

    /// The commits that runs have made and that a branch holds.
    pub(crate) fn made(&self) -> BTreeSet<String> {
        let all = self.branches.values().flat_map(|at| self.line_from(Some(at)));
        all.filter(|commit| self.commits[commit].run.is_some()).collect()
    }

    pub(crate) fn state(&self, binding: &Binding) -> BindingState {
        let held = self.refs.get(&run_of(binding));
        if held.is_some_and(|held| *held != binding.decision) {
            return BindingState::OtherDecision { first: "another".to_owned() };
        }
        let Some(prepared) = &binding.prepared else {
            return if held.is_some() { BindingState::Both } else { BindingState::Neither };
        };
        let branch = prepared.branch.as_deref().unwrap();
        let at = self.branches.get(branch);
        let back = self.line_from(prepared.from.as_ref()).contains(&prepared.commit);
        let moved = at == Some(&prepared.commit) || !back && self.line_from(at).contains(&prepared.commit);
        let was_moved = self.moved.get(branch).is_some_and(|moved| moved.contains(&prepared.commit));
        match (held.is_some(), moved, at == prepared.from.as_ref()) {
            (true, true, _) => BindingState::Both,
            (false, true, _) => BindingState::BranchOnly,
            (true, false, true) => BindingState::RefOnly,
            (true, false, false) => BindingState::BoundElsewhere { reference: "a ref".to_owned() },
            (false, false, _) if at.is_some() && was_moved => {
                BindingState::TakenBack { why: format!("{} was taken off", prepared.commit) }
            }
            (false, false, true) if self.head == branch => BindingState::Neither,
            (false, false, _) => BindingState::Elsewhere,
        }
    }

    /// Counts a call, lets a person do something before it, and says how it goes wrong.
    pub(crate) fn called(&mut self) -> Option<Fault> {
        self.calls += 1;
        if let Some(act) = due(&mut self.person) {
            self.disturb(act);
        }
        match &mut self.broken {
            Some(0) => return Some(Fault::Before),
            Some(left) => *left -= 1,
            None => {}
        }
        due(&mut self.fault)
    }

    /// A person does something.
    pub(crate) fn disturb(&mut self, act: Act) {
        let (branch, before) = (self.head, self.line());
        let text = format!("by hand {}", self.commits.len());
        let of = |parent: Option<String>| Commit { parent, patch_set: None, run: None };
        let parent = before.get(1).cloned();
        let root = before.last().cloned();
        let other = if branch == "refs/heads/main" { "refs/heads/other" } else { "refs/heads/main" };
        match act {
            Act::Commit => {
                let made = self.commit(&text, of(before.first().cloned()));
                self.branches.insert(branch, made);
            }
            Act::Back => drop(parent.map(|parent| self.branches.insert(branch, parent))),
            Act::Elsewhere => {
                let made = self.commit(&text, of(root));
                self.branches.insert(branch, made);
            }
            Act::Amend => {
                let patch_set = before.first().and_then(|tip| self.commits[tip].patch_set.clone());
                let made = self.commit(&text, Commit { parent, patch_set, run: None });
                self.branches.insert(branch, made);
            }
            Act::Switch => {
                self.branches.entry(other).or_insert_with(|| before[0].clone());
                self.head = other;
            }
            Act::Delete => {
                self.branches.entry(other).or_insert_with(|| root.unwrap());
                self.head = other;
                self.branches.remove(branch);
                self.moved.remove(branch);
            }
        }
        let after = self.line_from(self.branches.get(branch));
        let gone = before.into_iter().filter(|commit| !after.contains(commit));
        let ours = gone.filter(|commit| self.commits[commit].run.is_some());
        let ours: Vec<String> = ours.collect();
        match act {
            Act::Delete => self.off.retain(|(name, _)| *name != branch),
            _ => self.off.extend(ours.iter().map(|commit| (branch, commit.clone()))),
        }
        self.taken.extend(ours);
    }
}

/// Counts down to something that happens once.
pub(crate) fn due<T: Copy>(planned: &mut Option<(usize, T)>) -> Option<T> {
    match planned {
        Some((0, _)) => planned.take().map(|(_, what)| what),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    }
}

pub(crate) fn run_of(binding: &Binding) -> String {
    let run: Value = serde_json::from_str(&binding.run).unwrap();
    run["id"].as_str().unwrap().to_owned()
}

pub(crate) fn power() -> WorkspaceFault {
    WorkspaceFault { message: "the power went out".to_owned() }
}

#[async_trait]
impl GitBinding for FakeFolder {
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let mut git = self.git.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        let from = git.tip();
        let branch = Some(git.head.to_owned());
        // What stands there already is not made again.
        let holds = |commit: &String| git.commits[commit].patch_set.as_ref() == Some(&deciding.patch_set);
        let stands = git.line().iter().any(holds);
        let commit = match (&from, stands) {
            (Some(from), true) => from.clone(),
            _ => {
                let text = format!("{} {} {:?}", deciding.patch_set, deciding.at, deciding.decision);
                let (patch_set, run) = (Some(deciding.patch_set.clone()), Some(deciding.run.clone()));
                git.commit(&text, Commit { parent: from.clone(), patch_set, run })
            }
        };
        let prepared = Prepared { commit, branch, from };
        if fault.is_some() { Err(power()) } else { Ok(Some(prepared)) }
    }

    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let mut git = self.git.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        if git.racing {
            git.disturb(Act::Commit);
        }
        if git.unfit {
            return Ok(Bound::Overtaken { why: "it cannot be read".to_owned() });
        }
        let done = Ok(Bound::Done { reference: "a ref".to_owned() });
        let moves = match git.state(binding) {
            BindingState::OtherDecision { first } => return Ok(Bound::OtherDecision { first }),
            BindingState::Elsewhere => return Ok(Bound::Overtaken { why: "it was moved".to_owned() }),
            BindingState::TakenBack { why } => return Ok(Bound::TakenBack { why }),
            // A person has put it back.
            BindingState::BoundElsewhere { .. } | BindingState::RefOnly => return done,
            BindingState::Both | BindingState::BranchOnly => None,
            _ => binding.prepared.as_ref(),
        };
        if let Some(prepared) = moves {
            let branch = git.head;
            let was_off = git.off.contains(&(branch, prepared.commit.clone()));
            assert!(!was_off, "a person took {} off {branch}", prepared.commit);
            git.branches.insert(branch, prepared.commit.clone());
            git.moved.entry(branch).or_default().push(prepared.commit.clone());
        }
        if fault != Some(Fault::BranchOnly) {
            git.refs.insert(run_of(binding), binding.decision.clone());
        }
        if fault.is_some() { Err(power()) } else { done }
    }

    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        let mut git = self.git.lock().unwrap();
        match git.called() {
            None => Ok(git.state(binding)),
            Some(_) => Err(power()),
        }
    }
}
