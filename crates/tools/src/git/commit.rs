//! Commits what a run changed, once.
//!
//! The commit is built from trees, beside the user's index and files. It names its run and its patch set in trailers, and
//! the patch set is looked for before anything is made: a crash between the commit and its record in the session must
//! not give two.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use trunkline_agent_traits::{Deciding, WorkspaceFault};

use super::index::Made;
use super::run_git::{Git, text};
use super::{GitWorkspace, Index, diff};
use crate::folder::fault;

/// What is to be committed of what a run changed.
pub(super) enum Planned {
    /// No file that git follows is other than it was, or somebody else has committed the same.
    Nothing,
    /// The run has committed its changes itself, with a command.
    Done(String),
    /// The head's tree with the run's paths in it.
    Tree(String),
}

/// A path in a tree: what it is made.
pub(super) struct Entry {
    /// Its mode and its object; mode 0 removes it.
    pub(super) object: String,
    /// Its name, from the top of the repository.
    pub(super) path: Vec<u8>,
}

/// How often a commit is made anew because somebody else has committed meanwhile.
const MOVE_TRIES: u32 = 5;
/// How far back a run's commit is looked for if the commit that it began from is not known any more.
const RECENT: &str = "50";

/// Hooks that `git commit` runs.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

impl GitWorkspace {
    /// Returns what somebody should know before a run whose changes are to be committed, a line each: what is under way and in
    /// the way of it, and that commits of a run have no signature and run no hooks, where this repository wants them.
    pub fn before_commits(&self) -> Vec<String> {
        self.hindrance().into_iter().chain(self.unlike_others()).collect()
    }

    fn unlike_others(&self) -> Option<String> {
        let mut wants = Vec::new();
        let mut lack = Vec::new();
        let signs = self.git().find(&["config", "--type=bool", "--get", "commit.gpgSign"], Vec::new());
        if signs.ok().flatten().is_some_and(|said| text(&said).trim() == "true") {
            wants.push("wants signed commits (commit.gpgSign)".to_owned());
            lack.push("are not signed");
        }
        let hooks = self.hooks();
        if !hooks.is_empty() {
            wants.push(format!("has hooks ({})", hooks.join(", ")));
            lack.push("run no hooks");
        }
        let (wants, lack) = (wants.join(" and "), lack.join(" and "));
        (!lack.is_empty()).then(|| format!("this repository {wants}; commits of a run {lack}"))
    }

    /// Returns the names of the hooks that a commit by hand would run.
    fn hooks(&self) -> Vec<String> {
        let question = ["config", "-z", "--type=path", "--get-all", "core.hooksPath"];
        let set = self.git().find(&question, Vec::new()).ok().flatten().unwrap_or_default();
        let set: Vec<&[u8]> = set.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
        // The last one is ours.
        let folder = match set.split_last().and_then(|(_, set)| set.last()) {
            Some(set) => self
                .printed_path(&["rev-parse", "--show-toplevel"])
                .map(|top| top.join(OsStr::from_bytes(set))),
            None => self
                .printed_path(&["rev-parse", "--git-common-dir"])
                .map(|folder| self.root.join(folder).join("hooks")),
        };
        let runs = |name: &&str| {
            let found = folder.as_ref().and_then(|folder| std::fs::metadata(folder.join(name)).ok());
            found.is_some_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let mut hooks: Vec<String> = HOOKS.into_iter().filter(runs).map(str::to_owned).collect();
        if !Git::new(&self.root).configured_hooks().is_empty() {
            hooks.push("configured ones".to_owned());
        }
        hooks
    }

    fn printed_path(&self, question: &[&str]) -> Option<PathBuf> {
        let mut path = self.git().run(question).ok()?;
        path.pop(); // the line end
        Some(PathBuf::from(OsString::from_vec(path)))
    }

    pub(super) fn commit_once(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        for name in [&deciding.run, &deciding.patch_set] {
            if name.is_empty() || !name.chars().all(|character| character.is_ascii_graphic()) {
                return Err(fault(format!("{name:?} cannot name anything in a commit")));
            }
        }
        let mut tried = 1;
        loop {
            let head = self.head()?;
            if let Some(done) = self.find_told(deciding)? {
                return Ok(Some(done));
            }
            let paths = self.paths(deciding)?;
            let tree = match self.plan(deciding, head.as_deref(), &paths)? {
                Planned::Nothing => return Ok(None),
                Planned::Done(commit) => return Ok(Some(commit)),
                Planned::Tree(tree) => tree,
            };
            self.admit_commit()?;
            let commit = self.write_commit(deciding, &tree, head.as_deref())?;
            // Only if nobody else has committed meanwhile; the empty text means "must not exist".
            let note = format!("trunkline: run {}", deciding.run);
            let before = head.as_deref().unwrap_or("");
            match self.git().run(&["update-ref", "-m", &note, "HEAD", &commit, before]) {
                Ok(_) => {
                    self.tell_index(&commit, Made::Now)?;
                    return Ok(Some(commit));
                }
                // On what they have made the same goes.
                Err(_) if tried < MOVE_TRIES && self.head()? != head => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds the commit that an earlier call made for this patch set, and tells the index of it: a kill may have come
    /// between the two.
    pub(super) fn find_told(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        let found = self.find(deciding)?;
        if let Some(done) = &found {
            self.tell_index(done, Made::Before)?;
        }
        Ok(found)
    }

    /// Finds the commit that an earlier call made for this patch set.
    fn find(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        let form = "--format=%H %(trailers:key=Trunkline-Patch-Set,valueonly,separator=%x20)";
        let since = deciding.base.commit.as_ref().map(|base| format!("{base}..HEAD"));
        let recent = |range: &str| self.git().run(&["log", form, "-n", RECENT, range, "--"]);
        if self.head()?.is_none() {
            return Ok(None);
        }
        let listed = match since {
            // The base can be gone, for example after a fresh clone.
            Some(range) => self.git().run(&["log", form, &range, "--"]).or_else(|_| recent("HEAD"))?,
            None => recent("HEAD")?,
        };
        let named = |line: &&str| line.split(' ').skip(1).any(|name| name == deciding.patch_set);
        Ok(text(&listed).lines().find(named).and_then(|line| line.split(' ').next()).map(str::to_owned))
    }

    /// Tells what a commit of what the run changed would hold.
    pub(super) fn plan(
        &self,
        deciding: &Deciding,
        head: Option<&str>,
        paths: &[u8],
    ) -> Result<Planned, WorkspaceFault> {
        if paths.is_empty() {
            return Ok(Planned::Nothing);
        }
        let tree = self.tree(head, paths)?;
        let Some(head) = head else { return Ok(Planned::Tree(tree)) };
        if self.tree_of(head)? != tree {
            return Ok(Planned::Tree(tree));
        }
        // What is checked out has it already.
        let made = match &deciding.made {
            Some(made) => made.iter().any(|made| made == head),
            None => deciding.base.commit.as_deref() != Some(head),
        };
        Ok(if made { Planned::Done(head.to_owned()) } else { Planned::Nothing })
    }

    /// Returns the tree of a commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<String, WorkspaceFault> {
        Ok(text(&self.git().run(&["rev-parse", &format!("{commit}^{{tree}}")])?).trim().to_owned())
    }

    /// Returns what the run changed, in the form that `update-index --index-info` reads.
    pub(super) fn paths(&self, deciding: &Deciding) -> Result<Vec<u8>, WorkspaceFault> {
        match &deciding.base.tree {
            Some(before) => {
                self.keep_tree(&deciding.tree)?;
                self.entries(before, &deciding.tree).map_err(|error| self.or_thrown_away(before, error))
            }
            None => Err(fault("the files as they were before the run are not known")),
        }
    }

    /// Writes a tree again that git has thrown away since, as `git gc --prune=now` does with what no ref names.
    fn keep_tree(&self, tree: &str) -> Result<(), WorkspaceFault> {
        let is_there = || self.git().run(&["cat-file", "-e", &format!("{tree}^{{tree}}")]).is_ok();
        if is_there() || self.snapshot()? == tree {
            return Ok(());
        }
        Err(fault(format!(
            "git has thrown away the tree {tree} that was about to be committed, and the files have changed since; \
             go on with a prompt, and it is computed anew"
        )))
    }

    /// Returns what is different in another tree, in the same form.
    pub(super) fn entries(&self, before: &str, after: &str) -> Result<Vec<u8>, WorkspaceFault> {
        Ok(lines(&self.listed_entries(before, after)?))
    }

    /// Returns what is different in another tree, with names from the top of the repository.
    pub(super) fn listed_entries(&self, before: &str, after: &str) -> Result<Vec<Entry>, WorkspaceFault> {
        let raw = self.git().run(&diff(&["--raw", "-z"], before, after))?;
        let mut entries = Vec::new();
        let mut fields = raw.split(|byte| *byte == 0);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let (object, _) = entry_of(status)?;
            entries.push(Entry { object, path: path.to_vec() });
        }
        Ok(entries)
    }

    /// Returns the head's tree with the run's paths in it.
    pub(super) fn tree(&self, head: Option<&str>, paths: &[u8]) -> Result<String, WorkspaceFault> {
        let index = Index::empty()?;
        let git = self.git().with_index(&index.path);
        git.run(&["read-tree", head.unwrap_or("--empty")])?;
        put(&git, paths)?;
        Ok(text(&git.run(&["write-tree"])?).trim().to_owned())
    }

    fn write_commit(
        &self,
        deciding: &Deciding,
        tree: &str,
        head: Option<&str>,
    ) -> Result<String, WorkspaceFault> {
        let message = deciding.message.replace('\0', "");
        let message = match message.trim() {
            "" => "Changes of a run",
            message => message,
        };
        let message = format!(
            "{message}\n\nTrunkline-Run: {}\nTrunkline-Patch-Set: {}\n",
            deciding.run, deciding.patch_set
        );
        let mut arguments = vec!["commit-tree", tree];
        if let Some(head) = head {
            arguments.extend(["-p", head]);
        }
        let git = if self.knows_author() { self.git() } else { self.git().with_identity() };
        Ok(text(&git.run_with(&arguments, message.into_bytes())?).trim().to_owned())
    }

    /// Whether the user told git a name; otherwise it would make one up from the machine, or refuse.
    fn knows_author(&self) -> bool {
        let told = |ident| self.git().run(&["-c", "user.useConfigOnly=true", "var", ident]).is_ok();
        told("GIT_AUTHOR_IDENT") && told("GIT_COMMITTER_IDENT")
    }
}

/// Reads how a path changed: `:100644 100644 8ab6… 6d1c… M` becomes `100644 6d1c…`, as `update-index --index-info` reads it
/// (mode 0 deletes), and whether the path was there before.
pub(super) fn entry_of(status: &[u8]) -> Result<(String, bool), WorkspaceFault> {
    let status = text(status);
    let words: Vec<&str> = status.split(' ').collect();
    let [before, mode, _, id, _] = words.as_slice() else {
        return Err(fault(format!("git diff-tree said something unknown: {status}")));
    };
    let mode = if *mode == "000000" { "0" } else { mode };
    Ok((format!("{mode} {id}"), *before != ":000000"))
}

/// Reads what a path was and is: `:100644 100644 8ab6… 6d1c… M` becomes `100644 8ab6…` and `100644 6d1c…`.
pub(super) fn sides(status: &[u8]) -> Result<(String, String), WorkspaceFault> {
    let (to, _) = entry_of(status)?;
    let status = text(status);
    let words: Vec<&str> = status.trim_start_matches(':').split(' ').collect();
    let [mode, _, id, ..] = words.as_slice() else {
        return Err(fault("git diff-tree said something unknown"));
    };
    let mode = if *mode == "000000" { "0" } else { mode };
    Ok((format!("{mode} {id}"), to))
}

/// Writes entries in the form that `update-index --index-info` reads: the mode, the object, a tab, the path, a zero byte.
pub(super) fn lines(entries: &[Entry]) -> Vec<u8> {
    let line = |entry: &Entry| [entry.object.as_bytes(), b"\t", &entry.path, b"\0"].concat();
    entries.iter().flat_map(line).collect()
}

/// A file may stand where a folder was, and the other way round: what is in its way goes.
pub(super) fn put(git: &Git, paths: &[u8]) -> Result<(), WorkspaceFault> {
    git.run_with(&["update-index", "-z", "--replace", "--index-info"], paths.to_vec()).map(drop)
}
