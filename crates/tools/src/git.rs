//! A git repository, or a folder in one, as the workspace of a run.
//!
//! Everything goes through the `git` command and a copy of the index, so that the user's index, worktree and hooks are
//! not touched until a commit is made, and then only for the paths that it holds.

mod bind;
mod checkpoint;
mod commit;
mod ignored;
mod index;
mod own;
mod run_git;
mod states;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tempfile::TempDir;
use trunkline_agent_traits::{
    Base, Binding, BindingState, Bound, ChangedFile, Changes, Checkpoint, Checkpoints, Commits, Comparison,
    Deciding, FileChange, FileStates, GitBinding, KeptFile, KeptFiles, Left, OwnChanges, Permit, Prepared,
    Restore, Span, Touched, Workspace, WorkspaceFault,
};
use trunkline_git_binding::Repository;

use self::run_git::{Git, text};
use crate::folder::{self, FolderWorkspace, fault};
use crate::restoring;

/// More diff than this is cut; a verdict needs the files, and a person does not read a megabyte.
const DIFF_BYTES: u64 = 1_000_000;
/// More new files than this are not copied into the repository: that is a home folder or a forgotten build.
const UNTRACKED_BYTES: u64 = 256_000_000;

/// How often the files are looked at before it is said that they cannot be.
const LOOK_TRIES: u32 = 5;

/// What a crash in the middle of a write may leave behind is no change of the run's.
const LEFTOVERS: &str = ":(exclude,glob)**/.trunkline-????????????????.tmp";

/// A folder in a git repository.
///
/// A snapshot of the files is a tree in the repository's object store: what is ignored is not in it, and git itself
/// removes it some weeks after nobody refers to it. The root may be a folder inside the repository; then only that
/// folder is looked at and committed. Linked worktrees and a detached head work.
///
/// A commit takes whole files: what the user had changed in the same file before the run goes with it. Hooks do not run
/// and commits are not signed.
#[derive(Clone, Debug)]
pub struct GitWorkspace {
    root: PathBuf,
    /// Looked up once: it takes five processes.
    repository: Arc<OnceLock<Repository>>,
    /// What switches off the hooks that are configured.
    hooks_off: Arc<OnceLock<Vec<OsString>>>,
}

/// Returns the workspace for a folder: git where it can be used, else a plain folder whose commits say why not.
pub fn workspace_for(root: impl AsRef<Path>) -> Box<dyn Workspace> {
    let root = root.as_ref();
    match GitWorkspace::open(root) {
        Ok(Some(git)) => Box::new(git),
        Ok(None) => Box::new(FolderWorkspace::new(root)),
        Err(why) => Box::new(FolderWorkspace::without(root, why)),
    }
}

impl GitWorkspace {
    /// Opens a folder; `None` if it is not in the worktree of a repository.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`] if git is missing or refuses, for example because the repository belongs to somebody else.
    pub fn open(root: impl AsRef<Path>) -> Result<Option<Self>, WorkspaceFault> {
        let cannot = |error| fault(format!("cannot open {}: {error}", root.as_ref().display()));
        let root = fs::canonicalize(root.as_ref()).map_err(cannot)?;
        match Git::new(&root).run(&["rev-parse", "--is-inside-work-tree"]) {
            Ok(answer) => Ok((text(&answer).trim() == "true").then(|| GitWorkspace {
                root,
                repository: Arc::default(),
                hooks_off: Arc::default(),
            })),
            // Without the words in brackets a linked worktree names a repository that is not there now: that is no answer.
            Err(error) if error.message.contains("not a git repository (or any") => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn git(&self) -> Git {
        let hooks_off = self.hooks_off.get_or_init(|| Git::new(&self.root).configured_hooks());
        Git::new(&self.root).without_hooks(hooks_off)
    }

    /// Returns the commit that is checked out; `None` before the first one.
    fn head(&self) -> Result<Option<String>, WorkspaceFault> {
        let id = self.git().find(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], Vec::new())?;
        Ok(id.map(|id| text(&id).trim().to_owned()))
    }

    /// Writes the files as they are into the object store and returns their tree.
    fn snapshot(&self) -> Result<String, WorkspaceFault> {
        self.snapshot_under(None)
    }

    /// Likewise, under a setting of git's.
    fn snapshot_under(&self, setting: Option<&'static str>) -> Result<String, WorkspaceFault> {
        self.admit_untracked()?;
        let index = Index::copy_of(&self.index_path()?)?;
        let git = self.git().with_index(&index.path).with_setting(setting);
        // A file that comes and goes while git looks, such as an editor's, breaks off the whole.
        let mut tried = 1;
        // Also what a sparse checkout leaves out: a run may write there.
        while let Err(error) = git.run(&["add", "--all", "--sparse", "--", ".", LEFTOVERS]) {
            if error.message.contains("unknown option `sparse'") {
                self.add_all_by_old_git(&git)?;
                break;
            }
            if tried == LOOK_TRIES {
                return Err(error);
            }
            tried += 1;
        }
        Ok(text(&git.run(&["write-tree"])?).trim().to_owned())
    }

    /// Before 2.34 (2021-11) `git add` has no `--sparse`, and leaves out what stands outside of a sparse checkout.
    fn add_all_by_old_git(&self, git: &Git) -> Result<(), WorkspaceFault> {
        let asked = ["config", "--type=bool", "--default", "false", "--get", "core.sparseCheckout"];
        if text(&self.git().run(&asked)?).trim() == "true" {
            return Err(fault(
                "this checkout is sparse, and git before 2.34 does not tell all that is written in one; \
                 install a newer git, or `git sparse-checkout disable`",
            ));
        }
        git.run(&["add", "--all", "--", ".", LEFTOVERS]).map(drop)
    }

    fn index_path(&self) -> Result<PathBuf, WorkspaceFault> {
        let mut path = self.git().run(&["rev-parse", "--git-path", "index"])?;
        path.pop(); // the line end
        // Relative to the root, or absolute: `join` does the right thing with both.
        Ok(self.root.join(OsStr::from_bytes(&path)))
    }

    /// Refuses to copy masses of files that nobody meant to be in a repository.
    fn admit_untracked(&self) -> Result<(), WorkspaceFault> {
        let listed = self.git().run(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."])?;
        let sizes = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(|path| {
            fs::symlink_metadata(self.root.join(OsStr::from_bytes(path))).map_or(0, |found| found.len())
        });
        let bytes = sizes.fold(0_u64, u64::saturating_add);
        if bytes > UNTRACKED_BYTES {
            return Err(fault(format!(
                "{} MB of files in {} are neither committed nor ignored; name them in .gitignore",
                bytes / 1_000_000,
                self.root.display()
            )));
        }
        Ok(())
    }

    fn base_now(&self) -> Result<Base, WorkspaceFault> {
        Ok(Base { commit: self.head()?, tree: Some(self.snapshot()?) })
    }

    fn changes_since(&self, base: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
        let Some(before) = &base.tree else {
            // The folder became a repository after the run began.
            return folder::changes(&self.root, touched);
        };
        let now = self.snapshot()?;
        self.changes_between(before, &now, touched).map_err(|error| self.or_thrown_away(before, error))
    }

    /// Says instead of what git says about a tree that is gone what can be done.
    fn or_thrown_away(&self, before: &str, error: WorkspaceFault) -> WorkspaceFault {
        if self.git().run(&["cat-file", "-e", &format!("{before}^{{tree}}")]).is_ok() {
            return error;
        }
        fault(format!(
            "git has thrown away how the files were when the run began, as `git gc --prune=now` does ({before}): what the run \
             has changed cannot be told any more; `trunkline decide abandon \"…\"` closes it and leaves the files as they \
             are, with --bind where its decisions are bound"
        ))
    }

    /// Returns what is different in another tree, and what was applied to files that git does not follow.
    fn changes_between(
        &self,
        before: &str,
        now: &str,
        touched: &[Touched],
    ) -> Result<Changes, WorkspaceFault> {
        let lines = self.line_counts(before, now)?;
        let raw = self.git().run(&diff(&["--raw", "-z", "--relative"], before, now))?;
        let mut files = Vec::new();
        // `:100644 100644 8ab6… 6d1c… M`, a zero byte, the path, a zero byte.
        let mut fields = raw.split(|byte| *byte == 0);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let change = match status.last() {
                Some(b'A') => FileChange::Added,
                Some(b'D') => FileChange::Deleted,
                _ => FileChange::Modified,
            };
            let (added, deleted) = lines.get(path).copied().unwrap_or_default();
            files.push(ChangedFile { path: text(path), change, added, deleted });
        }
        // What was applied to a file that git ignores is a change all the same.
        let known: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
        let applied = folder::changes(&self.root, touched)?.files;
        files.extend(applied.into_iter().filter(|file| !known.contains(&file.path)));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let patch = self.git().run_at_most(&diff(&["--patch", "--relative"], before, now), DIFF_BYTES)?;
        Ok(Changes { files, diff: patch, tree: Some(now.to_owned()) })
    }

    /// Returns lines added and deleted by path; `None` for binary files.
    fn line_counts(&self, before: &str, now: &str) -> Result<LineCounts, WorkspaceFault> {
        let listed = self.git().run(&diff(&["--numstat", "-z", "--relative"], before, now))?;
        let mut counts = HashMap::new();
        for record in listed.split(|byte| *byte == 0) {
            // `3`, a tab, `1`, a tab, the path; `-` for binary files.
            let mut fields = record.splitn(3, |byte| *byte == b'\t');
            if let (Some(added), Some(deleted), Some(path)) = (fields.next(), fields.next(), fields.next()) {
                counts.insert(path.to_vec(), (text(added).parse().ok(), text(deleted).parse().ok()));
            }
        }
        Ok(counts)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&GitWorkspace) -> Result<T, WorkspaceFault> + Send + 'static,
    ) -> Result<T, WorkspaceFault> {
        let this = self.clone();
        let worked = tokio::task::spawn_blocking(move || work(&this)).await;
        worked.unwrap_or_else(|error| Err(fault(format!("the work in the repository broke: {error}"))))
    }
}

#[async_trait]
impl Workspace for GitWorkspace {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        self.blocking(GitWorkspace::base_now).await
    }

    async fn changes(&self, base: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
        check_ids([&base.commit, &base.tree])?;
        let (base, touched) = (base.clone(), touched.to_vec());
        self.blocking(move |git| git.changes_since(&base, &touched)).await
    }

    async fn look(&self) -> Result<Option<Base>, WorkspaceFault> {
        self.base().await.map(Some)
    }

    async fn own_changes(
        &self,
        base: &Base,
        touched: &[Touched],
        spans: &[Span],
    ) -> Result<OwnChanges, WorkspaceFault> {
        let (base, touched, spans) = (base.clone(), touched.to_vec(), spans.to_vec());
        self.blocking(move |git| git.own_since(&base, &touched, &spans)).await
    }

    fn as_checkpoints(&self) -> Option<&dyn Checkpoints> {
        Some(self)
    }

    fn as_commits(&self) -> Option<&dyn Commits> {
        Some(self)
    }

    fn as_git_binding(&self) -> Option<&dyn GitBinding> {
        Some(self)
    }

    fn as_restore(&self) -> Option<&dyn Restore> {
        Some(self)
    }
}

#[async_trait]
impl Checkpoints for GitWorkspace {
    async fn keep_files(&self, checkpoint: &Checkpoint) -> Result<KeptFiles, WorkspaceFault> {
        let checkpoint = checkpoint.clone();
        self.blocking(move |git| git.keep_now(&checkpoint)).await
    }
}

#[async_trait]
impl Commits for GitWorkspace {
    async fn commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        check_ids([&deciding.base.commit, &deciding.base.tree, &Some(deciding.tree.clone())])?;
        let deciding = deciding.clone();
        self.blocking(move |git| git.commit_once(&deciding)).await
    }

    async fn find_commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        check_ids([&deciding.base.commit, &deciding.base.tree, &Some(deciding.tree.clone())])?;
        let deciding = deciding.clone();
        self.blocking(move |git| git.find_told(&deciding)).await
    }
}

#[async_trait]
impl GitBinding for GitWorkspace {
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        check_ids([&deciding.base.commit, &deciding.base.tree, &Some(deciding.tree.clone())])?;
        let deciding = deciding.clone();
        self.blocking(move |git| git.prepare_commit(&deciding)).await
    }

    async fn still_staged(&self, commit: &str) -> Result<Vec<String>, WorkspaceFault> {
        let commit = commit.to_owned();
        check_ids([&Some(commit.clone())])?;
        self.blocking(move |git| git.staged_beside(&commit)).await
    }

    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let binding = binding.clone();
        self.blocking(move |git| git.bind_now(&binding)).await
    }

    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        let binding = binding.clone();
        self.blocking(move |git| git.state_of(&binding)).await
    }
}

#[async_trait]
impl Restore for GitWorkspace {
    async fn states(
        &self,
        base: &Base,
        after: Option<&str>,
        touched: &[Touched],
        spans: Option<&[Span]>,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        let (before, after) = (base.tree.clone(), after.map(str::to_owned));
        check_ids([&before, &after])?;
        let (touched, paths, spans) = (touched.to_vec(), paths.to_vec(), spans.map(<[Span]>::to_vec));
        self.blocking(move |git| {
            let (mut states, found) = match (before, after) {
                (Some(before), Some(after)) => (
                    git.states_between(&before, &after, &paths)?,
                    spans.and_then(|spans| git.found_by(&before, &after, &spans)),
                ),
                _ => (Vec::new(), None),
            };
            let unknown = git.drop_others(&mut states, &touched, found.as_ref())?;
            // What git ignores, or keeps otherwise than it was, is known from what was applied.
            let others = restoring::states(&git.root, &touched, &paths)?;
            let known: HashSet<String> = states.iter().map(|file| file.path.clone()).collect();
            let is_new =
                |file: &FileStates| !known.contains(&file.path) && !unknown.contains(file.path.as_bytes());
            states.extend(others.into_iter().filter(is_new));
            Ok(states)
        })
        .await
    }

    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, WorkspaceFault> {
        check_ids([&left.base.commit, &left.base.tree, &left.tree])?;
        let (left, kept) = (left.clone(), kept.to_vec());
        self.blocking(move |git| restoring::compare(&git.root, &left, &git.olds(&left, &kept)?)).await
    }

    async fn restore(&self, left: &Left, kept: &[KeptFile], permit: &Permit) -> Result<(), WorkspaceFault> {
        check_ids([&left.base.commit, &left.base.tree, &left.tree])?;
        let (left, kept, permit) = (left.clone(), kept.to_vec(), permit.clone());
        self.blocking(move |git| restoring::restore(&git.root, &left, &git.olds(&left, &kept)?, &permit))
            .await
    }
}

/// Refuses what names no object: it comes out of a log, and git could take it for an option.
fn check_ids<'a>(ids: impl IntoIterator<Item = &'a Option<String>>) -> Result<(), WorkspaceFault> {
    let is_id = |id: &str| [40, 64].contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    match ids.into_iter().flatten().find(|id| !is_id(id)) {
        Some(other) => {
            Err(fault(format!("{other:?} in the record of the run is not the id of a git object")))
        }
        None => Ok(()),
    }
}

/// Lines added and deleted by path, as bytes.
type LineCounts = HashMap<Vec<u8>, (Option<u32>, Option<u32>)>;

/// Builds the arguments that compare two trees below the root. Programs that the repository names are not started, and
/// submodules count whatever it says of them.
fn diff<'a>(form: &[&'a str], before: &'a str, now: &'a str) -> Vec<&'a str> {
    let mut arguments =
        vec!["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
    arguments.push("--ignore-submodules=none");
    arguments.extend(form);
    arguments.extend([before, now, "--", "."]);
    arguments
}

/// A copy of the index in a folder of its own; gone when dropped.
struct Index {
    path: PathBuf,
    _folder: TempDir,
}

impl Index {
    fn copy_of(original: &Path) -> Result<Self, WorkspaceFault> {
        let cannot = |error| fault(format!("the index cannot be copied: {error}"));
        let index = Index::empty()?;
        match fs::metadata(original) {
            Ok(found) => {
                fs::copy(original, &index.path).map_err(cannot)?;
                // Git takes a file that is younger than the index as perhaps changed. A copy that looked younger than
                // the original would make it trust what it should look at.
                let modified = found.modified().map_err(cannot)?;
                fs::File::options()
                    .append(true)
                    .open(&index.path)
                    .and_then(|copy| copy.set_modified(modified))
                    .map_err(cannot)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
        }
        Ok(index)
    }

    fn empty() -> Result<Self, WorkspaceFault> {
        let folder = TempDir::with_prefix("trunkline-")
            .map_err(|error| fault(format!("a temporary folder cannot be made: {error}")))?;
        Ok(Index { path: folder.path().join("index"), _folder: folder })
    }
}
