//! What is other in two trees only because git ignores other files now.
//!
//! A tree has what git does not ignore. When a `.gitignore` changes, files come into the trees or go from them that nobody
//! has made or removed: they are no change, or a rollback would delete a person's file that was ignored before.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use tempfile::TempDir;
use trunkline_agent_traits::WorkspaceFault;

use super::own::Paths;
use super::{GitWorkspace, Index, diff};
use crate::folder::fault;

const RULES: &[u8] = b".gitignore";

/// Returns whether one of these says what git ignores.
pub(super) fn has_rules<'p>(mut paths: impl Iterator<Item = &'p [u8]>) -> bool {
    paths.any(|path| {
        path.strip_suffix(RULES).is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
    })
}

impl GitWorkspace {
    /// Returns those of some paths, relative to the folder, that git ignores, so that no commit has them. Of what it cannot be asked
    /// about there are none.
    pub fn ignored<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        // A name that begins with a colon would be a command to git.
        let input: Vec<u8> = paths.into_iter().flat_map(|path| format!("./{path}\0").into_bytes()).collect();
        let found = self.git().find(&["check-ignore", "-z", "--stdin"], input).ok().flatten();
        let found = found.unwrap_or_default();
        let paths = found.split(|byte| *byte == 0).filter_map(|path| path.strip_prefix(b"./"));
        paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// Returns what is new in a tree and was ignored by the rules in the one before, and what is gone from it and still
    /// stands in the folder.
    pub(super) fn unfollowed(&self, before: &str, after: &str) -> Result<Paths, WorkspaceFault> {
        let listed = self.git().run(&diff(&["--name-status", "-z", "--relative"], before, after))?;
        // `A`, a zero byte, the path, a zero byte.
        let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
        let (mut new, mut unfollowed, mut all) = (Vec::new(), Paths::new(), Vec::new());
        for field in fields.chunks_exact(2) {
            let [status, path] = *field else { continue };
            all.push(path);
            match status {
                b"A" => new.push(path),
                b"D" if self.has_file(path) => drop(unfollowed.insert(path.to_vec())),
                _ => {}
            }
        }
        if !new.is_empty() && has_rules(all.into_iter()) {
            unfollowed.extend(self.ignored_by(before, &new)?);
        }
        Ok(unfollowed)
    }

    fn has_file(&self, path: &[u8]) -> bool {
        let found = self.root.join(OsStr::from_bytes(path)).symlink_metadata();
        found.is_ok_and(|found| !found.is_dir())
    }

    /// Returns which of some paths the rules in a tree ignore. Git reads rules from files alone, so they are laid into an
    /// empty folder.
    fn ignored_by(&self, tree: &str, paths: &[&[u8]]) -> Result<Paths, WorkspaceFault> {
        let folder = TempDir::with_prefix("trunkline-")
            .map_err(|error| fault(format!("a temporary folder cannot be made: {error}")))?;
        let prefix = self.prefix()?;
        let index = Index::empty()?;
        let git = self.git().with_index(&index.path).in_worktree(folder.path(), self.git_dir()?);
        git.run(&["read-tree", tree])?;
        let rules = git.run(&["ls-files", "-z", "--", ":(glob)**/.gitignore"])?;
        git.run_with(&["checkout-index", "-q", "-z", "--stdin"], rules)?;
        // Git reads these as patterns: a name that begins with a colon would be a command to it.
        let input = paths.iter().flat_map(|path| [b"./", prefix.as_slice(), *path, b"\0"].concat()).collect();
        let ignored = git.find(&["check-ignore", "-z", "--stdin", "--no-index"], input)?.unwrap_or_default();
        let ignored = ignored
            .split(|byte| *byte == 0)
            .filter_map(|path| path.strip_prefix(b"./")?.strip_prefix(&prefix[..]));
        Ok(ignored.filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }
}
