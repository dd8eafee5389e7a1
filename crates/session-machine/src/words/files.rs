//! The files that a run works on, as plain data.

use serde::{Deserialize, Serialize};

/// How a file was before a run, and is after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStates {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// The digest of its bytes before, as fingerprints have it: `sha256:` and 64 digits. `None` if there was no file.
    pub before: Option<String>,
    /// The digest after; `None` if there is no such file any more.
    pub after: Option<String>,
    /// Whether it could be executed before; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_executable: Option<bool>,
    /// Whether it can be executed after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_executable: Option<bool>,
}

/// How a run left the files that it changed: what is needed to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The run.
    pub run: String,
    /// How the files were when it began.
    pub base: Base,
    /// The tree of all files at its end; `None` without version control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The changed files of which is known how they were and are.
    pub files: Vec<FileStates>,
    /// The others. Where there are any the run cannot be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// What a session keeps of a file from before a run, where version control has it not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// Its bytes; `None` if there was no file.
    pub bytes: Option<Vec<u8>>,
}

/// What taking a run back would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The files that would be written or removed, by path.
    pub files: Vec<ChangedFile>,
    /// What stands in the way, one line for each file; nothing is done unless this is empty.
    pub conflicts: Vec<String>,
    /// What would change, as a unified diff; for showing, and cut where it is too long.
    pub diff: String,
}

/// How the files were when a run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The commit that was checked out, in hex; `None` without version control or before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The tree of all files as they really were, in hex; `None` without version control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// A file that an applied proposal wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// The digest before the run's first write, as fingerprints have it; `None` if there was no file.
    pub before: Option<String>,
}

/// A time in which calls of a run could change files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// How the files were before the first of them.
    pub from: Base,
    /// How they were after the last; `None` if nobody has looked since.
    pub to: Option<Base>,
}

/// What a run itself has changed, and what else is different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnChanges {
    /// Its changes. The tree has those, and is otherwise the one that they are counted from.
    pub changes: Changes,
    /// The tree that they are counted from, in hex, if that is not the base's: somebody else has committed to the same files
    /// meanwhile.
    pub before: Option<String>,
    /// These files, by path.
    pub rebased: Vec<String>,
    /// Files of the run, by path, to which somebody else has committed after a command of the run had: what is whose in
    /// them cannot be told, and a rollback would take both.
    pub mixed: Vec<String>,
    /// The files that somebody else has changed meanwhile, by path.
    pub others: Vec<String>,
    /// The commits that came to be checked out in its spans, in hex; `None` if that is not known.
    pub made: Option<Vec<String>>,
    /// The commit that is checked out, if it is another than when the run began and has all of the changes already.
    pub holder: Option<String>,
}

/// What a run changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The files, by path.
    pub files: Vec<ChangedFile>,
    /// A unified diff; may be empty where the old content is not known.
    pub diff: String,
    /// The tree of all files with these changes, in hex; `None` without version control.
    pub tree: Option<String>,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// What happened to it.
    pub change: FileChange,
    /// Lines added; `None` for binary files and where it is not known.
    pub added: Option<u32>,
    /// Lines deleted; `None` likewise.
    pub deleted: Option<u32>,
}

/// What happened to a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileChange {
    /// It is new.
    Added,
    /// It has other content.
    Modified,
    /// It is gone.
    Deleted,
}

/// What is about to be committed; recorded before, so that a crash in between can be mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// The run; written into the commit, so that it can be found.
    pub run: String,
    /// The patch set that the verdict will name.
    pub patch_set: String,
    /// How the files were when the run began.
    pub base: Base,
    /// The tree of all files with the run's changes, in hex.
    pub tree: String,
    /// The commit message, without trailers.
    pub message: String,
    /// When that was, in milliseconds since 1970; the time of a commit that is bound. 0 in records from before.
    #[serde(default)]
    pub at: u64,
    /// The decision that the message of a commit that is bound shall name; `None` if it shall name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The commits that the run has made itself, with a command, in hex. `None` if that is not known: then one that is
    /// checked out and has the changes is taken for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Vec<String>>,
}

/// Why the files could not be read or committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WorkspaceFault {
    /// What went wrong and what to do, on one line.
    pub message: String,
}

impl WorkspaceFault {
    /// Returns the fault of a workspace that takes nothing back.
    pub fn cannot_restore() -> Self {
        WorkspaceFault { message: "this workspace cannot take back what a run has changed".to_owned() }
    }

    /// Returns the fault of a workspace that keeps no files.
    pub fn cannot_keep() -> Self {
        WorkspaceFault { message: "this workspace keeps no files: it has no version control".to_owned() }
    }

    /// Returns the fault of a workspace that commits nothing.
    pub fn cannot_commit() -> Self {
        WorkspaceFault {
            message: "nothing can be committed: this workspace has no version control".to_owned(),
        }
    }

    /// Returns the fault of a workspace that binds no decisions.
    pub fn cannot_bind() -> Self {
        let message =
            "decisions cannot be bound here: this workspace has no git repository; go on without binding";
        WorkspaceFault { message: message.to_owned() }
    }
}
