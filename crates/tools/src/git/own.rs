//! What a run itself has changed, of all that is different in the folder.
//!
//! A path is the run's if a proposal wrote it, or if it became different between two looks around calls that may change
//! something. The tree of the run is that of its beginning with those paths as they are now, so that a commit and a rollback
//! that go by this tree leave everything else alone.

use std::collections::{HashMap, HashSet, hash_map};

use trunkline_agent_traits::{Base, OwnChanges, Span, Touched, WorkspaceFault};

use super::commit::{Entry, sides};
use super::ignored::has_rules;
use super::run_git::text;
use super::{GitWorkspace, check_ids, commit, diff};
use crate::folder;

/// Paths, relative to the folder, in bytes.
pub(super) type Paths = HashSet<Vec<u8>>;
/// The paths of a run, each with what it last made of it, where somebody has looked then.
type Ours = HashMap<Vec<u8>, Option<String>>;
/// What became of paths.
type Differences = HashMap<Vec<u8>, Became>;

/// A path in two trees: mode and object in each, as `update-index --index-info` reads them.
struct Became {
    from: String,
    to: String,
}

/// How spans found the paths that they changed.
#[derive(Default)]
pub(super) struct Found {
    /// As they were when the run began.
    pub(super) as_before: Paths,
    /// Changed by something else before.
    pub(super) otherwise: Paths,
}

impl GitWorkspace {
    pub(super) fn own_since(
        &self,
        base: &Base,
        touched: &[Touched],
        spans: &[Span],
    ) -> Result<OwnChanges, WorkspaceFault> {
        check_ids([&base.commit, &base.tree])?;
        let Some(before) = &base.tree else {
            // The folder became a repository after the run began.
            let changes = folder::changes(&self.root, touched)?;
            return Ok(OwnChanges { changes, ..OwnChanges::default() });
        };
        let (head, now) = (self.head()?, self.snapshot()?);
        // Of what came after a look that nothing followed nobody knows whose it is.
        let moved = spans.iter().filter_map(|span| {
            let to = &span.to.as_ref()?.commit;
            to.clone().filter(|_| *to != span.from.commit)
        });
        let made: Vec<String> = moved.collect();
        // Where the run has committed by itself, its own commits are what is different.
        let theirs = head.as_deref().filter(|head| made.is_empty() && base.commit.as_deref() != Some(head));
        let mut touched = touched.to_vec();
        let unfollowed = self.unfollowed(before, &now).map_err(|error| self.or_thrown_away(before, error))?;
        let (mut ours, known): (Ours, bool) = match self.written_in(spans, &now) {
            Some(written) => {
                // What the run has put back itself is not its change, whoever writes there later.
                let written = written.into_iter().filter(|(_, became)| became.from != became.to);
                (written.map(|(path, became)| (path, Some(became.to))).collect(), true)
            }
            // Git has thrown away how the files were: nobody can tell any more what was whose.
            None => (self.differing(before, &now)?.into_iter().map(|path| (path, None)).collect(), false),
        };
        for touch in &touched {
            // A proposal may have come after the command, and nobody has looked.
            ours.insert(touch.path.clone().into_bytes(), None);
        }
        // Of these only what a proposal made is as git tells it: new.
        let first: HashMap<&[u8], &Touched> =
            touched.iter().rev().map(|touch| (touch.path.as_bytes(), touch)).collect();
        let is_new = |path: &[u8]| first.get(path).is_some_and(|touch| touch.before.is_none());
        let hidden: Paths = unfollowed.iter().filter(|path| !is_new(path)).cloned().collect();
        ours.retain(|path, _| !hidden.contains(path));
        let (before, rebased) = match known {
            true => self.meanwhile(base, before, theirs, &now, &mut ours)?,
            false => (before.clone(), Vec::new()),
        };
        touched.retain(|touch| {
            let path = touch.path.as_bytes();
            ours.contains_key(path) || hidden.contains(path)
        });
        let tree = self.only(&before, &now, &ours)?;
        let committed = self.committed_since(&made, head.as_deref())?;
        let mut mixed: Vec<String> =
            committed.iter().filter(|path| ours.contains_key(*path)).map(|path| text(path)).collect();
        mixed.sort_unstable();
        let mut others = Vec::new();
        if tree != now {
            let ours = self.differing(&before, &tree)?;
            let mut all = self.differing(&before, &now)?;
            if let Some(head) = theirs {
                // What is committed needs no word.
                let left = self.differing(head, &now)?;
                all.retain(|path| left.contains(path));
            } else if let (Some(head), false) = (&head, committed.is_empty()) {
                let left = self.differing(head, &now)?;
                all.retain(|path| left.contains(path) || !committed.contains(path));
            }
            let theirs = all.difference(&ours).filter(|path| !unfollowed.contains(*path));
            others = theirs.map(|path| text(path)).collect();
            others.sort_unstable();
        }
        let changes = self.changes_between(&before, &tree, &touched)?;
        let holder = match &head {
            Some(head) if tree != before && base.commit.as_ref() != Some(head) => {
                self.holder(head, &before, &tree, &made)?
            }
            _ => None,
        };
        let before = Some(before).filter(|before| base.tree.as_ref() != Some(before));
        let rebased = rebased.iter().map(|path| text(path)).collect();
        Ok(OwnChanges { changes, before, rebased, mixed, others, made: Some(made), holder })
    }

    /// Returns what is otherwise in the commit that is checked out than in the last that the run has made.
    fn committed_since(&self, made: &[String], head: Option<&str>) -> Result<Paths, WorkspaceFault> {
        let (Some(last), Some(head)) = (made.last(), head) else { return Ok(Paths::new()) };
        check_ids([&Some(last.clone())])?;
        // What git has thrown away since is on no branch any more.
        match last == head {
            true => Ok(Paths::new()),
            false => Ok(self.differing(last, head).unwrap_or_default()),
        }
    }

    /// Returns what the run's changes are counted from, where somebody else has committed to its files meanwhile, as by
    /// `git pull` or `git switch`: what they have committed is theirs. Where that is all that is left of such a file, nothing is
    /// the run's.
    ///
    /// A file that was changed and not committed when the run began has a state that no commit has: it stays as it is.
    fn meanwhile(
        &self,
        base: &Base,
        before: &str,
        theirs: Option<&str>,
        now: &str,
        ours: &mut Ours,
    ) -> Result<(String, Vec<Vec<u8>>), WorkspaceFault> {
        let as_it_was = || Ok((before.to_owned(), Vec::new()));
        let (Some(began), Some(head)) = (&base.commit, theirs) else { return as_it_was() };
        // The commit that the run began from may be gone.
        let (Ok(committed), Ok(dirty)) = (self.differences(began, head), self.differing(began, before))
        else {
            return as_it_was();
        };
        let left = self.differing(head, now)?;
        let on_top = self.git().run(&["merge-base", "--is-ancestor", began, head]).is_ok();
        let prefix = self.prefix()?;
        let (mut entries, mut rebased) = (Vec::new(), Vec::new());
        for (path, became) in committed {
            let Some(made) = ours.get(&path).filter(|_| !dirty.contains(&path)) else { continue };
            if left.contains(&path) {
                entries.push(Entry { object: became.to, path: [prefix.as_slice(), &path].concat() });
                rebased.push(path);
            } else if !on_top || made.as_ref().is_some_and(|made| *made != became.to) {
                ours.remove(&path);
            }
        }
        if entries.is_empty() {
            return as_it_was();
        }
        Ok((self.tree(Some(before), &commit::lines(&entries))?, rebased))
    }

    /// Returns what became different in some spans, from the first to the last of them; `None` if git cannot tell any more.
    fn written_in(&self, spans: &[Span], now: &str) -> Option<Differences> {
        let mut written = Differences::new();
        for Span { from, to } in spans {
            check_ids([&from.tree, &to.as_ref().and_then(|to| to.tree.clone())]).ok()?;
            let from = from.tree.as_deref()?;
            let to = match to {
                Some(to) => to.tree.as_deref()?,
                None => now,
            };
            // Most commands change nothing.
            if from == to {
                continue;
            }
            let mut other = self.differences(from, to).ok()?;
            if has_rules(other.keys().map(Vec::as_slice)) {
                let unfollowed = self.unfollowed(from, to).ok()?;
                other.retain(|path, _| !unfollowed.contains(path));
            }
            for (path, became) in other {
                match written.entry(path) {
                    hash_map::Entry::Occupied(mut earlier) => earlier.get_mut().to = became.to,
                    hash_map::Entry::Vacant(first) => drop(first.insert(became)),
                }
            }
        }
        Some(written)
    }

    /// Returns what is different in two trees.
    fn differences(&self, from: &str, to: &str) -> Result<Differences, WorkspaceFault> {
        let raw = self.git().run(&diff(&["--raw", "-z", "--relative"], from, to))?;
        let mut found = Differences::new();
        let mut fields = raw.split(|byte| *byte == 0);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let (from, to) = sides(status)?;
            found.insert(path.to_vec(), Became { from, to });
        }
        Ok(found)
    }

    /// Returns what became different in some spans, by how the first of them that changed it found it: as it was when the run
    /// began, or otherwise. `None` if git cannot tell any more.
    pub(super) fn found_by(&self, before: &str, after: &str, spans: &[Span]) -> Option<Found> {
        let mut found = Found::default();
        for Span { from, to } in spans {
            check_ids([&from.tree, &to.as_ref().and_then(|to| to.tree.clone())]).ok()?;
            let from = from.tree.as_deref()?;
            let to = match to {
                Some(to) => to.tree.as_deref()?,
                None => after,
            };
            if from == to {
                continue;
            }
            let otherwise = if from == before { Paths::new() } else { self.differing(before, from).ok()? };
            for path in self.differing(from, to).ok()? {
                if found.as_before.contains(&path) || found.otherwise.contains(&path) {
                    continue;
                }
                match otherwise.contains(&path) {
                    true => found.otherwise.insert(path),
                    false => found.as_before.insert(path),
                };
            }
        }
        Some(found)
    }

    /// Returns the paths that are different in two trees.
    fn differing(&self, from: &str, to: &str) -> Result<Paths, WorkspaceFault> {
        let listed = self.git().run(&diff(&["--name-only", "-z", "--relative"], from, to))?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// Returns the tree `before` with some paths as they are in `now`.
    fn only(&self, before: &str, now: &str, ours: &Ours) -> Result<String, WorkspaceFault> {
        let entries = self.listed_entries(before, now)?;
        let prefix = self.prefix()?;
        let is_ours =
            |path: &[u8]| path.strip_prefix(prefix.as_slice()).is_some_and(|path| ours.contains_key(path));
        let all = entries.len();
        let entries: Vec<_> = entries.into_iter().filter(|entry| is_ours(&entry.path)).collect();
        // In all of the repository more may be other than in the folder.
        if entries.is_empty() {
            return Ok(before.to_owned());
        }
        if entries.len() == all {
            return Ok(now.to_owned());
        }
        self.tree(Some(before), &commit::lines(&entries))
    }

    /// Returns the folder's own name from the top of the repository: empty there, else with a slash at its end.
    pub(super) fn prefix(&self) -> Result<Vec<u8>, WorkspaceFault> {
        let mut prefix = self.git().run(&["rev-parse", "--show-prefix"])?;
        prefix.pop(); // the line end
        Ok(prefix)
    }

    /// Returns the commit that has the changes, if they stand where the branch is: the newest of the run's own that has, also
    /// if somebody has committed on top of it.
    fn holder(
        &self,
        head: &str,
        before: &str,
        tree: &str,
        made: &[String],
    ) -> Result<Option<String>, WorkspaceFault> {
        if !self.holds(head, before, tree)? {
            return Ok(None);
        }
        for own in made.iter().rev() {
            check_ids([&Some(own.clone())])?;
            // What git has thrown away since holds nothing.
            let below = self.git().run(&["merge-base", "--is-ancestor", own, head]).is_ok();
            if below && self.holds(own, before, tree).unwrap_or(false) {
                return Ok(Some(own.clone()));
            }
        }
        Ok(Some(head.to_owned()))
    }

    /// Returns whether a commit has everything that is different in `after`, and so would gain nothing from it.
    fn holds(&self, commit: &str, before: &str, after: &str) -> Result<bool, WorkspaceFault> {
        let with = self.tree(Some(commit), &self.entries(before, after)?)?;
        Ok(with == self.tree_of(commit)?)
    }
}
