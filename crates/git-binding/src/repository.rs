//! A repository, and what it is like.

use std::path::Path;
use std::sync::Arc;

use crate::error::excerpt;
use crate::{BindError, Git, GitCommand};

/// 2.31 (2021-03): `rev-parse --path-format`, and by then all of `update-ref`'s transactions and SHA-256.
const NEEDED: (u32, u32) = (2, 31);

/// The hash that a repository names its objects by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "git has two object formats; a third one must break every reader"
)]
pub enum ObjectFormat {
    /// 40 hexadecimal digits.
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

/// How a repository keeps its refs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefFormat {
    /// A file a ref, and one file for those that were packed. A transaction over two refs is not safe against a crash:
    /// see [`Repository::recover`].
    Files,
    /// Tables; a transaction happens or does not.
    Reftable,
}

/// What a repository is like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The version of git, major and minor.
    pub git_version: (u32, u32),
    /// Its hash.
    pub object_format: ObjectFormat,
    /// How it keeps refs.
    pub ref_format: RefFormat,
    /// It has no worktree.
    pub bare: bool,
    /// It was opened by a linked worktree; its refs are those of the main one, its `HEAD` is its own.
    pub linked_worktree: bool,
    /// It is a shallow clone: where history is cut off, a commit has no base and its patch id covers all its files.
    pub shallow: bool,
    /// It is a partial clone. Nothing is fetched here, so a commit whose files are not there has no patch id.
    pub partial: bool,
}

/// A git repository that decisions can be bound to.
///
/// Cheap to clone. Nothing is kept between calls but its [`Facts`]; other processes may change the repository meanwhile.
#[derive(Clone)]
pub struct Repository {
    pub(crate) git: Arc<dyn Git>,
    pub(crate) facts: Facts,
    /// Where the refs are that all worktrees share.
    pub(crate) common_dir: std::path::PathBuf,
    /// The setting under which objects are written; none if the user has one.
    pub(crate) syncs: Option<&'static str>,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Repository {
    /// Opens the repository that `path` is in; `None` if it is in none. Starts seven processes.
    ///
    /// # Errors
    ///
    /// [`BindError::Git`], also where git refuses the repository (because somebody else owns it, for example), and
    /// [`BindError::TooOld`].
    pub fn open(path: &Path) -> Result<Option<Self>, BindError> {
        GitCommand::discover(path)?.map(Self::over).transpose()
    }

    /// Opens a repository by a git of the caller's.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn over(git: impl Git + 'static) -> Result<Self, BindError> {
        let git_version = version(&git.run(&["version"], b"")?)?;
        if git_version < NEEDED {
            let (major, minor) = git_version;
            return Err(BindError::TooOld { found: format!("{major}.{minor}"), needed: "2.31" });
        }
        let mut question =
            vec!["rev-parse", "--is-bare-repository", "--is-shallow-repository", "--show-object-format"];
        // Before 2.45 (2024-04) there was one format, and nothing to ask.
        if git_version >= (2, 45) {
            question.push("--show-ref-format");
        }
        let answer = git.run(&question, b"")?;
        let unknown = || BindError::Answer { command: "rev-parse", answer: excerpt(&answer) };
        let text = std::str::from_utf8(&answer).map_err(|_| unknown())?;
        let mut lines = text.lines();
        let bare = lines.next().ok_or_else(unknown)? == "true";
        let shallow = lines.next().ok_or_else(unknown)? == "true";
        let object_format = match lines.next() {
            Some("sha1") => ObjectFormat::Sha1,
            Some("sha256") => ObjectFormat::Sha256,
            _ => return Err(unknown()),
        };
        let ref_format = match lines.next() {
            None | Some("files") => RefFormat::Files,
            Some("reftable") => RefFormat::Reftable,
            Some(_) => return Err(unknown()),
        };
        let common_dir = git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"], b"")?;
        let common_dir = crate::git_command::path_of(common_dir);
        let own_dir = git.run(&["rev-parse", "--absolute-git-dir"], b"")?;
        let linked_worktree = crate::git_command::path_of(own_dir) != common_dir;
        let settings =
            r"^(extensions\.partialclone|remote\..*\.promisor|core\.fsync|core\.fsyncobjectfiles)$";
        // It fails if there are none.
        let settings = git.run(&["config", "--name-only", "--get-regexp", settings], b"").unwrap_or_default();
        let (told_to_sync, partial): (Vec<&[u8]>, Vec<&[u8]>) = settings
            .split(|byte| *byte == b'\n')
            .filter(|key| !key.is_empty())
            .partition(|key| key.starts_with(b"core."));
        let partial = !partial.is_empty();
        let syncs = match git_version {
            _ if !told_to_sync.is_empty() => None,
            (2, ..36) => Some("core.fsyncObjectFiles=true"),
            _ => Some("core.fsync=committed"), // release notes of 2.36, 2022-04
        };
        let facts = Facts { git_version, object_format, ref_format, bare, linked_worktree, shallow, partial };
        Ok(Self { git: Arc::new(git), facts, common_dir, syncs })
    }

    /// Whether both have the same refs, as the worktrees of one repository do.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.common_dir == other.common_dir
    }

    /// The setting under which objects reach the disk before a ref does, as `git -c` takes it, for those who write some
    /// themselves; `None` where the user has set something else.
    #[must_use]
    pub const fn sync_setting(&self) -> Option<&'static str> {
        self.syncs
    }

    /// What the repository is like.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// Reads `git version 2.47.3`, or `2.39.5 (Apple Git-154)`.
fn version(printed: &[u8]) -> Result<(u32, u32), BindError> {
    let text = String::from_utf8_lossy(printed);
    let mut numbers = text.trim().strip_prefix("git version ").unwrap_or_default().split('.');
    let mut number = || numbers.next().and_then(|number| number.parse().ok());
    match (number(), number()) {
        (Some(major), Some(minor)) => Ok((major, minor)),
        _ => Err(BindError::Answer { command: "version", answer: excerpt(printed) }),
    }
}
