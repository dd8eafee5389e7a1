//! A folder without version control: what changed is known only of the files that proposals wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use trunkline_agent_traits::resolve_queue::SubjectState;
use trunkline_agent_traits::{
    Base, Binding, BindingState, Bound, ChangedFile, Changes, Checkpoint, Checkpoints, Commits, Comparison,
    Deciding, FileChange, FileStates, GitBinding, KeptFile, KeptFiles, Left, Permit, Prepared, Restore, Span,
    Touched, Workspace, WorkspaceFault,
};

use crate::root::Root;
use crate::{fingerprint, restoring};

/// A folder that is not a git repository.
///
/// Its changes are those of files that applied proposals wrote, without line counts and without a diff; what commands
/// changed is not seen. It cannot commit.
#[derive(Clone, Debug)]
pub struct FolderWorkspace {
    root: PathBuf,
    /// Why there is no version control.
    why: String,
    /// Whether there may be one that cannot be used.
    hidden: bool,
}

impl FolderWorkspace {
    /// Takes a folder; it is opened with each call.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let why = format!("{} is not in a git repository; `git init` makes it one", root.display());
        FolderWorkspace { root, why, hidden: false }
    }

    /// Takes a folder whose version control cannot be used, and says why.
    pub(crate) fn without(root: &Path, why: WorkspaceFault) -> Self {
        FolderWorkspace { root: root.to_owned(), why: why.message, hidden: true }
    }
}

#[async_trait]
impl Workspace for FolderWorkspace {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        Ok(Base::default())
    }

    async fn changes(&self, _base: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
        let (root, touched) = (self.root.clone(), touched.to_vec());
        blocking(move || changes(&root, &touched)).await
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
impl Checkpoints for FolderWorkspace {
    async fn keep_files(&self, _checkpoint: &Checkpoint) -> Result<KeptFiles, WorkspaceFault> {
        match self.hidden {
            true => Err(fault(self.why.clone())),
            // Without the folder: a verdict travels, and that is nobody else's business.
            false => Err(fault("the folder is in no worktree of git, and nothing else keeps its files")),
        }
    }
}

#[async_trait]
impl Commits for FolderWorkspace {
    async fn commit(&self, _deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        Err(fault(format!("nothing can be committed: {}", self.why)))
    }

    async fn find_commit(&self, _deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        Ok(None)
    }
}

#[async_trait]
impl GitBinding for FolderWorkspace {
    async fn write_commit(&self, _deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        Err(fault(format!("nothing can be committed: {}", self.why)))
    }

    async fn bind(&self, _binding: &Binding) -> Result<Bound, WorkspaceFault> {
        Err(fault(format!("no decision can be bound: {}", self.why)))
    }

    async fn bound(&self, _binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        match self.hidden {
            true => Err(fault(format!("it cannot be seen what is bound: {}", self.why))),
            // What was in a repository that is gone is gone with it.
            false => Ok(BindingState::Elsewhere),
        }
    }
}

#[async_trait]
impl Restore for FolderWorkspace {
    async fn states(
        &self,
        _base: &Base,
        _after: Option<&str>,
        touched: &[Touched],
        _spans: Option<&[Span]>,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        let (root, touched, paths) = (self.root.clone(), touched.to_vec(), paths.to_vec());
        blocking(move || restoring::states(&root, &touched, &paths)).await
    }

    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, WorkspaceFault> {
        let (root, left, olds) = (self.root.clone(), left.clone(), restoring::olds(kept));
        blocking(move || restoring::compare(&root, &left, &olds)).await
    }

    async fn restore(&self, left: &Left, kept: &[KeptFile], permit: &Permit) -> Result<(), WorkspaceFault> {
        let (root, left, olds) = (self.root.clone(), left.clone(), restoring::olds(kept));
        let permit = permit.clone();
        blocking(move || restoring::restore(&root, &left, &olds, &permit)).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceFault> + Send + 'static,
) -> Result<T, WorkspaceFault> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(fault(error.to_string())))
}

/// Compares files with what they were before the run's first write.
pub(crate) fn changes(folder: &Path, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
    let root = Root::open(folder).map_err(|error| fault(error.to_string()))?;
    let mut first: BTreeMap<&str, &Touched> = BTreeMap::new();
    for touch in touched {
        first.entry(&touch.path).or_insert(touch);
    }
    let mut changes = Changes::default();
    for (path, touch) in first {
        let now = match fingerprint::observe(&root, path).state {
            SubjectState::Absent => None,
            SubjectState::Digest(_) if makes_way(&folder.join(path)) => None,
            SubjectState::Digest(digest) => Some(digest),
        };
        let change = match (&touch.before, now) {
            (None, None) => continue,
            (None, Some(_)) => FileChange::Added,
            (Some(_), None) => FileChange::Deleted,
            (Some(before), Some(now)) if *before == now => continue,
            (Some(_), Some(_)) => FileChange::Modified,
        };
        changes.files.push(ChangedFile { path: path.to_owned(), change, added: None, deleted: None });
    }
    Ok(changes)
}

/// Whether a file is gone because a folder stands in its place, or a file in that of one of its folders.
fn makes_way(file: &Path) -> bool {
    match file.symlink_metadata() {
        Ok(found) => found.is_dir(),
        Err(error) => error.kind() == std::io::ErrorKind::NotADirectory,
    }
}

pub(crate) fn fault(message: impl Into<String>) -> WorkspaceFault {
    WorkspaceFault { message: message.into() }
}
