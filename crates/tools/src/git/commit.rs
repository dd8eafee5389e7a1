//! Commits what a run changed, once.
//!
//! The commit is built from trees, beside the user's index and files. It names its run and its patch set in trailers, and
//! the patch set is looked for before anything is made: a crash between the commit and its record in the session must
//! not give two.

use trunkline_runtime::{Deciding, WorkspaceFault};

use super::run_git::{Git, text};
use super::{GitWorkspace, Index, diff};
use crate::folder::fault;

/// What is to be committed of what a run changed.
pub(super) enum Planned {
    /// No file that git follows is other than it was.
    Nothing,
    /// The run has committed its changes itself, with a command.
    Done(String),
    /// The head's tree with the run's paths in it.
    Tree(String),
}

/// How far back a run's commit is looked for if the commit that it began from is not known any more.
const RECENT: &str = "50";
/// Retries for the index, which an editor or a prompt may hold for a moment.
const INDEX_TRIES: u32 = 5;

impl GitWorkspace {
    pub(super) fn commit_once(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        for name in [&deciding.run, &deciding.patch_set] {
            if name.is_empty() || !name.chars().all(|character| character.is_ascii_graphic()) {
                return Err(fault(format!("{name:?} cannot name anything in a commit")));
            }
        }
        let head = self.head()?;
        if let Some(head) = &head
            && let Some(done) = self.find(deciding)?
        {
            if done == *head {
                // A crash may have come between the commit and the index.
                self.refresh_index(&self.paths(deciding)?);
            }
            return Ok(Some(done));
        }
        let paths = self.paths(deciding)?;
        let tree = match self.plan(deciding, head.as_deref(), &paths)? {
            Planned::Nothing => return Ok(None),
            Planned::Done(commit) => return Ok(Some(commit)),
            Planned::Tree(tree) => tree,
        };
        self.wait_for_index()?;
        let commit = self.write_commit(deciding, &tree, head.as_deref())?;
        // Only if nobody else has committed meanwhile; the empty text means "must not exist".
        let note = format!("trunkline: run {}", deciding.run);
        self.git().run(&["update-ref", "-m", &note, "HEAD", &commit, head.as_deref().unwrap_or("")])?;
        self.refresh_index(&paths);
        Ok(Some(commit))
    }

    /// Finds the commit that an earlier call made for this patch set.
    pub(super) fn find(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
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
        let tree = self.tree(head, paths)?;
        let before = match head {
            Some(head) => {
                Some(text(&self.git().run(&["rev-parse", &format!("{head}^{{tree}}")])?).trim().to_owned())
            }
            None => None,
        };
        Ok(match head {
            Some(head)
                if !paths.is_empty()
                    && before.as_ref() == Some(&tree)
                    && deciding.base.commit.as_deref() != Some(head) =>
            {
                Planned::Done(head.to_owned())
            }
            _ if paths.is_empty() || before.as_ref() == Some(&tree) => Planned::Nothing,
            _ => Planned::Tree(tree),
        })
    }

    /// Returns what the run changed, in the form that `update-index --index-info` reads.
    pub(super) fn paths(&self, deciding: &Deciding) -> Result<Vec<u8>, WorkspaceFault> {
        match &deciding.base.tree {
            Some(before) => {
                self.keep_tree(&deciding.tree)?;
                self.entries(before, &deciding.tree)
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
        let raw = self.git().run(&diff(&["--raw", "-z"], before, after))?;
        let mut entries = Vec::new();
        let mut fields = raw.split(|byte| *byte == 0);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            // `:100644 100644 8ab6… 6d1c… M` becomes `100644 6d1c…`, a tab, the path. Mode 0 deletes.
            let status = text(status);
            let words: Vec<&str> = status.split(' ').collect();
            let [_, mode, _, id, _] = words.as_slice() else {
                return Err(fault(format!("git diff-tree said something unknown: {status}")));
            };
            let mode = if *mode == "000000" { "0" } else { mode };
            entries.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            entries.extend_from_slice(path);
            entries.push(0);
        }
        Ok(entries)
    }

    /// Returns the head's tree with the run's paths in it.
    fn tree(&self, head: Option<&str>, paths: &[u8]) -> Result<String, WorkspaceFault> {
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

    /// Waits a moment for a locked index: a commit of which the index does not know would look taken back.
    pub(super) fn wait_for_index(&self) -> Result<(), WorkspaceFault> {
        let lock = text(&self.git().run(&["rev-parse", "--git-path", "index.lock"])?).trim().to_owned();
        let lock = self.root.join(lock);
        for attempt in 1..=INDEX_TRIES {
            if !lock.exists() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(20) * attempt);
        }
        let lock = lock.display();
        Err(fault(format!("another git process holds the index; if none runs, remove {lock} and resume")))
    }

    /// Tells the user's index of the committed paths, so that `git status` does not show them as changed back.
    ///
    /// The commit stands whether this succeeds or not; `git reset -- PATH` does the same by hand.
    pub(super) fn refresh_index(&self, paths: &[u8]) {
        for attempt in 1..=INDEX_TRIES {
            if put(&self.git(), paths).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20) * attempt);
        }
        // Only looks the files up again; an answer other than 0 means that some are changed.
        let _ = self.git().run(&["update-index", "-q", "--refresh"]);
    }
}

fn put(git: &Git, paths: &[u8]) -> Result<(), WorkspaceFault> {
    git.run_with(&["update-index", "-z", "--index-info"], paths.to_vec()).map(drop)
}
