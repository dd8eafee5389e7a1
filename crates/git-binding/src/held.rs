//! Where a commit that was bound stands now: people rebase, reset and delete branches, and git takes what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use trunkline_decision_objects::GitOid;

use crate::{BindError, GitFault, Repository};

const BRANCHES: &str = "refs/heads";
/// Of more branches than this it is not asked one by one: that is a process each.
const ASKED_BRANCHES: usize = 50;
/// So many names fit on a command line anywhere.
const NAMED_AT_ONCE: usize = 200;

/// What holds a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held {
    /// This branch, by its full name; there may be others.
    Branch(String),
    /// A branch of which git does not tell the name.
    SomeBranch,
    /// No branch. A detached `HEAD`, a tag or a reflog may, until git takes it.
    NoBranch,
    /// There is no such commit in the repository, or not any more.
    Gone,
}

/// As the end of a sentence about a commit, such as "it is".
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "on {name}"),
            Self::SomeBranch => f.write_str("on a branch"),
            Self::NoBranch => f.write_str("on no branch"),
            Self::Gone => f.write_str("not in this repository"),
        }
    }
}

impl Repository {
    /// Says of each commit which branch holds it now: the one that is named beside it, by its full name, if that does.
    ///
    /// Starts a process for each named branch that goes on behind such a commit, and a few for all. If there are more than 50
    /// of them, any branch that holds the commit is told in their place.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`].
    pub fn held(&self, commits: &[(GitOid, Option<&str>)]) -> Result<Vec<Held>, BindError> {
        let all: BTreeSet<GitOid> = commits.iter().map(|(commit, _)| *commit).collect();
        let all: Vec<GitOid> = all.into_iter().collect();
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        let known = self.known(&names)?;
        // A link can name anything.
        let there = all
            .iter()
            .zip(known)
            .filter_map(|(commit, known)| known.filter(|known| known.kind == "commit").map(|_| *commit));
        let there: BTreeSet<GitOid> = there.collect();
        let on_none = self.outside(&there, &["--not", "--branches"], "")?;
        let branches: BTreeMap<String, GitOid> =
            self.refs_under(&[BRANCHES])?.into_iter().map(|found| (found.name, found.oid)).collect();
        let mut by_branch: BTreeMap<&str, BTreeSet<GitOid>> = BTreeMap::new();
        for (commit, branch) in commits {
            if let Some(branch) = branch.filter(|branch| branches.contains_key(*branch))
                && there.contains(commit)
                && !on_none.contains(commit)
            {
                by_branch.entry(branch).or_default().insert(*commit);
            }
        }
        let mut outside: BTreeMap<&str, BTreeSet<GitOid>> = BTreeMap::new();
        // What a branch points at is on it.
        let is_end = |branch: &str, of: &BTreeSet<GitOid>| {
            branches.get(branch).is_some_and(|end| of.iter().all(|commit| commit == end))
        };
        let (ends, inner): (Vec<_>, Vec<_>) = by_branch.iter().partition(|(branch, of)| is_end(branch, of));
        outside.extend(ends.into_iter().map(|(branch, _)| (*branch, BTreeSet::new())));
        let asked = if inner.len() > ASKED_BRANCHES { Vec::new() } else { inner };
        for (branch, of) in asked {
            outside.insert(branch, self.outside(of, &[], &format!("^{branch}\n"))?);
        }
        let stayed = |commit: &GitOid, branch: &str| {
            by_branch.get(branch).is_some_and(|of| of.contains(commit))
                && outside.get(branch).is_some_and(|outside| !outside.contains(commit))
        };
        let elsewhere = commits.iter().filter(|(commit, branch)| {
            there.contains(commit)
                && !on_none.contains(commit)
                && !branch.is_some_and(|branch| stayed(commit, branch))
        });
        let elsewhere: BTreeSet<GitOid> = elsewhere.map(|(commit, _)| *commit).collect();
        let named = self.branches_of(&elsewhere, &branches)?;
        let held = commits.iter().map(|(commit, branch)| match branch {
            _ if !there.contains(commit) => Held::Gone,
            _ if on_none.contains(commit) => Held::NoBranch,
            Some(branch) if stayed(commit, branch) => Held::Branch((*branch).to_owned()),
            _ => named.get(commit).map_or(Held::SomeBranch, |name| Held::Branch(name.clone())),
        });
        Ok(held.collect())
    }

    /// Those of some commits that nothing of what is excluded leads to.
    fn outside(
        &self,
        commits: &BTreeSet<GitOid>,
        options: &[&str],
        excluded: &str,
    ) -> Result<BTreeSet<GitOid>, BindError> {
        if commits.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut input: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        input.push_str(excluded);
        let question = [&["rev-list", "--ignore-missing", "--stdin"], options].concat();
        let printed = match self.git.run(&question, input.as_bytes()) {
            Ok(printed) => printed,
            // Behind one of them something is missing: the others are told of all the same.
            Err(fault) => return self.outside_by_halves(commits, options, excluded, fault),
        };
        let text = String::from_utf8_lossy(&printed);
        let listed = text.lines().filter_map(|line| line.parse().ok());
        Ok(listed.filter(|commit| commits.contains(commit)).collect())
    }

    /// As `outside`, of commits among which one has no whole history. Of that one nothing is known to lead to it.
    fn outside_by_halves(
        &self,
        commits: &BTreeSet<GitOid>,
        options: &[&str],
        excluded: &str,
        fault: GitFault,
    ) -> Result<BTreeSet<GitOid>, BindError> {
        if let (1, Some(only)) = (commits.len(), commits.first()) {
            // Unless it is the branches that are damaged.
            let question = [&["rev-list", "--ignore-missing", "--max-count=1", "--stdin"], options].concat();
            return match self.git.run(&question, excluded.as_bytes()) {
                Ok(_) => Ok(BTreeSet::from([*only])),
                Err(_) => Err(fault.into()),
            };
        }
        let mut first = commits.clone();
        let middle = commits.iter().nth(commits.len() / 2);
        let second = middle.map(|middle| first.split_off(middle)).unwrap_or_default();
        let mut outside = self.outside(&first, options, excluded)?;
        outside.extend(self.outside(&second, options, excluded)?);
        Ok(outside)
    }

    /// A branch for each commit that is on one.
    fn branches_of(
        &self,
        commits: &BTreeSet<GitOid>,
        branches: &BTreeMap<String, GitOid>,
    ) -> Result<BTreeMap<GitOid, String>, BindError> {
        let names: Vec<String> = commits.iter().map(ToString::to_string).collect();
        let mut found = BTreeMap::new();
        for names in names.chunks(NAMED_AT_ONCE) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let question = [&["name-rev", "--refs=refs/heads/*"], names.as_slice()].concat();
            let printed = self.git.run(&question, b"")?;
            for line in String::from_utf8_lossy(&printed).lines() {
                let Some((commit, place)) = line.split_once(' ') else { continue };
                // `main~3^2`: none of these signs can be in a name. Who could be on no branch was asked before.
                let name = place.split(['~', '^']).next().unwrap_or_default();
                if let Ok(commit) = commit.parse()
                    && let Some(name) = branch_called(name, place, commit, branches)
                {
                    found.insert(commit, name);
                }
            }
        }
        Ok(found)
    }
}

/// The branch that git means by a name, if that can mean only one. Releases differ in whether they leave `heads/` in front
/// of a name that is also a tag's.
fn branch_called(
    name: &str,
    place: &str,
    commit: GitOid,
    branches: &BTreeMap<String, GitOid>,
) -> Option<String> {
    let literal = format!("{BRANCHES}/{name}");
    // Git also says so of what it does not find.
    if place == "undefined" && branches.get(&literal) != Some(&commit) {
        return None;
    }
    let shorter = name.strip_prefix("heads/").map(|name| format!("{BRANCHES}/{name}"));
    let mut there = [Some(literal), shorter].into_iter().flatten().filter(|name| branches.contains_key(name));
    there.next().filter(|_| there.next().is_none())
}
