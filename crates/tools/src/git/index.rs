//! The user's index beside a commit that was made without it.
//!
//! A commit takes the run's files and no index. Once the branch is moved, an index that does not know of it looks as if
//! somebody had staged the opposite, and the next `git commit` would do that. So the index is told, path by path, and only
//! where nobody has staged anything: what somebody has is theirs.

use std::collections::BTreeSet;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use trunkline_agent_traits::WorkspaceFault;

use super::GitWorkspace;
use super::commit::{entry_of, put};
use super::run_git::text;
use crate::folder::fault;

/// What git keeps in its folder while something is under way that a commit would become a part of.
///
/// A bisection is not among them: nothing in it is built of commits that are made meanwhile, and git allows them too.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase, or an am,"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick, or a revert,"),
];
const DIFFER_TREES: [&str; 4] = ["diff-tree", "-r", "--no-renames", "--ignore-submodules=none"];
const STAGED: [&str; 6] =
    ["diff-index", "--cached", "--no-renames", "--ignore-submodules=none", "--name-only", "-z"];
/// Retries for the index, which an editor or a prompt may hold for a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Since when a branch has a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A moment ago, by this call: an entry as before the commit is one that nobody has staged.
    Now,
    /// By an earlier call, which may have told the index or was killed before: such an entry may also be a person's.
    Before,
}

/// A path of a commit.
struct Changed<'a> {
    path: &'a [u8],
    /// As `update-index --index-info` reads it.
    entry: String,
    /// Whether the commit's parent has it.
    was_there: bool,
}

impl GitWorkspace {
    /// Says of what is under way that nothing can be committed before its end; a person may see to that while a run goes on.
    pub(super) fn hindrance(&self) -> Option<String> {
        let folder = self.git_dir().ok()?;
        if let Some(what) = self.under_way(&folder) {
            return Some(format!(
                "{what} is under way in this repository; until it is finished or aborted nothing is committed"
            ));
        }
        let lock = folder.join("index.lock");
        lock.exists().then(|| {
            let lock = lock.display();
            format!(
                "another git process holds the index, and nothing is committed while it does; if none runs, remove {lock}"
            )
        })
    }

    /// Refuses to commit in the middle of a merge, a rebase or their like, and while another git holds the index.
    pub(super) fn admit_commit(&self) -> Result<(), WorkspaceFault> {
        let folder = self.git_dir()?;
        if let Some(what) = self.under_way(&folder) {
            return Err(fault(format!(
                "{what} is under way in this repository, and a commit would become part of it; \
                 finish or abort it (`git status` says how), then `trunkline resume`"
            )));
        }
        // A commit of which the index does not know would look taken back.
        let lock = folder.join("index.lock");
        for attempt in 1..=TRIES {
            if !lock.exists() {
                return Ok(());
            }
            std::thread::sleep(PAUSE * attempt);
        }
        let lock = lock.display();
        Err(fault(format!("another git process holds the index; if none runs, remove {lock} and resume")))
    }

    /// Tells the user's index of a commit, so that `git status` does not show its files as changed back.
    ///
    /// An entry that is as the commit's parent has it becomes as the commit has it, if `HEAD` holds the commit and still has
    /// the path so. Any other entry is somebody's and stays.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if the index cannot be read or written. The commit stands; the next call does what is left.
    pub(super) fn tell_index(&self, commit: &str, made: Made) -> Result<(), WorkspaceFault> {
        let Some(head) = self.head()? else { return Ok(()) };
        let later = match head == commit {
            true => BTreeSet::new(),
            false if self.git().run(&["merge-base", "--is-ancestor", commit, &head]).is_err() => {
                return Ok(());
            }
            false => self.names(&[&DIFFER_TREES[..], &["--name-only", "-z", commit, &head]].concat())?,
        };
        // What is under way began with an index that was as `HEAD` was, and is to end in what it has put there.
        if made == Made::Before && self.under_way(&self.git_dir()?).is_some() {
            return Ok(());
        }
        let form = [&DIFFER_TREES[..], &["--root", "--raw", "-z", "--format=%P", commit, "--", "."]].concat();
        let printed = self.git().run(&form)?;
        let (parent, changed) = read(&printed)?;
        let parent = match parent {
            Some(parent) => parent,
            None => text(&self.git().run_with(&["mktree"], Vec::new())?).trim().to_owned(),
        };
        let staged = self.staged(&parent)?;
        let mut stale: Vec<Changed<'_>> = changed
            .into_iter()
            .filter(|changed| !is_in(changed.path, &staged) && !is_in(changed.path, &later))
            .collect();
        if made == Made::Before && !stale.is_empty() {
            self.leave_undone(&mut stale)?;
        }
        if stale.is_empty() {
            return Ok(());
        }
        let entries: Vec<u8> = stale
            .iter()
            .flat_map(|stale| [stale.entry.as_bytes(), b"\t", stale.path, b"\0"].concat())
            .collect();
        self.put_told(commit, &entries)?;
        // Only looks the files up again; an answer other than 0 means that some are changed.
        let _ = self.git().run(&["update-index", "-q", "--refresh"]);
        Ok(())
    }

    /// Returns what is staged, seen from a commit or a tree.
    fn staged(&self, since: &str) -> Result<BTreeSet<Vec<u8>>, WorkspaceFault> {
        // A file that somebody means to add later is not staged. The option may go away, git-diff(1) says.
        let announced = [&STAGED[..], &["--ita-invisible-in-index", since]].concat();
        self.names(&announced).or_else(|_| self.names(&[&STAGED[..], &[since]].concat()))
    }

    /// Returns the files of a commit that is checked out of which something else is staged, as seen from the root.
    pub(super) fn staged_beside(&self, commit: &str) -> Result<Vec<String>, WorkspaceFault> {
        // What came after it is somebody's who may well have staged something.
        if self.head()?.as_deref() != Some(commit) {
            return Ok(Vec::new());
        }
        let form = ["--root", "--no-commit-id", "--name-only", "-z", "--relative", commit];
        let committed = self.names(&[&DIFFER_TREES[..], &form].concat())?;
        let staged = self.names(&[&STAGED[..], &["--relative", commit]].concat())?;
        Ok(committed.intersection(&staged).map(|path| text(path)).collect())
    }

    fn put_told(&self, commit: &str, entries: &[u8]) -> Result<(), WorkspaceFault> {
        let mut attempt = 1;
        while let Err(why) = put(&self.git(), entries) {
            if attempt == TRIES {
                return Err(fault(format!(
                    "the commit {commit} is made, but the index cannot be told of it: {}; \
                     `trunkline resume` tries again",
                    why.message
                )));
            }
            std::thread::sleep(PAUSE * attempt);
            attempt += 1;
        }
        Ok(())
    }

    /// Leaves out what somebody has undone: their file, too, is as it was before the commit.
    fn leave_undone(&self, stale: &mut Vec<Changed<'_>>) -> Result<(), WorkspaceFault> {
        let changed = self.names(&["ls-files", "--modified", "--full-name", "-z"])?;
        let mut up = self.git().run(&["rev-parse", "--show-cdup"])?;
        up.pop(); // the line end
        let top = self.root.join(std::ffi::OsStr::from_bytes(&up));
        let is_there = |path: &[u8]| top.join(std::ffi::OsStr::from_bytes(path)).symlink_metadata().is_ok();
        stale.retain(|stale| match stale.was_there {
            true => changed.contains(stale.path),
            false => is_there(stale.path),
        });
        Ok(())
    }

    /// Returns the paths in the folder that a command lists, as git names them: from the top of the worktree, unless the command
    /// says otherwise.
    fn names(&self, command: &[&str]) -> Result<BTreeSet<Vec<u8>>, WorkspaceFault> {
        let printed = self.git().run(&[command, &["--", "."]].concat())?;
        Ok(printed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }

    /// Returns the folder that git keeps for this worktree.
    pub(super) fn git_dir(&self) -> Result<PathBuf, WorkspaceFault> {
        let mut printed = self.git().run(&["rev-parse", "--absolute-git-dir"])?;
        printed.pop(); // the line end
        Ok(PathBuf::from(std::ffi::OsString::from_vec(printed)))
    }

    fn under_way(&self, folder: &std::path::Path) -> Option<&'static str> {
        // Where refs are tables, so are some of these.
        let tables = folder.join("reftable").exists();
        let in_tables = |name: &str| {
            tables
                && name.ends_with("_HEAD")
                && self.git().run(&["rev-parse", "--quiet", "--verify", name]).is_ok()
        };
        let found = UNDER_WAY.iter().find(|(name, _)| folder.join(name).exists() || in_tables(name));
        found.map(|(_, what)| *what)
    }
}

/// Reads the parent of a commit and what it changed: `b4c1…`, a zero byte, a line end before the first path, then
/// `:100644 100644 8ab6… 6d1c… M`, a zero byte, the path, a zero byte. Of a commit with several parents git says nothing.
fn read(printed: &[u8]) -> Result<(Option<String>, Vec<Changed<'_>>), WorkspaceFault> {
    let mut fields = printed.split(|byte| *byte == 0);
    let parent = fields.next().map(text).filter(|parent| !parent.is_empty());
    let mut changed = Vec::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let (entry, was_there) = entry_of(status.strip_prefix(b"\n").unwrap_or(status))?;
        changed.push(Changed { path, entry, was_there });
    }
    Ok((parent, changed))
}

/// Whether a path is one of these, below one of them, or the folder of one.
fn is_in(path: &[u8], paths: &BTreeSet<Vec<u8>>) -> bool {
    let folder = [path, b"/"].concat();
    let below = paths.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder));
    let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    below || paths.contains(path) || ends.any(|end| paths.contains(&path[..end]))
}
