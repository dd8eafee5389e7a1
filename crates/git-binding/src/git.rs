//! The one door to git.
//!
//! Everything that this crate asks or changes goes through [`Git::run`], one process a call. Tests put a git there that
//! fails or dies at a chosen call; nothing else in the crate starts a process.

use std::borrow::Cow;
use std::io;

/// Something that runs git commands in one repository.
///
/// [`GitCommand`](crate::GitCommand) is the real one.
pub trait Git: Send + Sync {
    /// Runs `git` with these arguments and this input to its end, and returns what it printed.
    ///
    /// Arguments and input never hold a path of the caller's, only object ids, ref names and options.
    ///
    /// # Errors
    ///
    /// [`GitFault`]; [`GitFault::Failed`] if git ended with another exit code than 0. What git did by then is not known.
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault>;
}

impl<G: Git + ?Sized> Git for std::sync::Arc<G> {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        (**self).run(arguments, input)
    }
}

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitFault {
    /// There is no `git` on the search path.
    #[error("git is not installed, or not on the search path")]
    NotInstalled,
    /// The operating system would not start it, or the pipes to it broke.
    #[error("git {command} could not be run")]
    Io {
        /// The subcommand.
        command: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// It ended with another exit code than 0, or was killed.
    #[error("git {command}: {}", with_advice(said))]
    Failed {
        /// The subcommand.
        command: String,
        /// The exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// What it said on the way, on one line, without control characters, at most 2,000 characters.
        said: String,
    },
    /// It printed more than anything that this crate asks for.
    #[error("git {command} printed more than {limit} bytes; it was stopped")]
    TooMuch {
        /// The subcommand.
        command: String,
        /// How many bytes are read at most.
        limit: u64,
    },
}

/// Says what to do where git only says what went wrong, in many words for one thing.
fn with_advice(said: &str) -> Cow<'_, str> {
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    // The last one is what git makes of a write that failed for a reason that it does not tell.
    let advice = if says(&["No space left", "Disk quota", "Out of diskspace", "couldn't write '"]) {
        "the disk is full, or a quota is; make room and try again"
    } else if says(&["Read-only file system"]) {
        "the file system is read-only; make it writable and try again"
    } else if says(&["insufficient permission for adding", "unable to create directory for"])
        || (says(&["nable to create '"]) && says(&["Permission denied"]))
    {
        "this user may not write there; see to the permissions and try again"
    } else {
        return Cow::Borrowed(said);
    };
    Cow::Owned(format!("{advice} ({said})"))
}

impl GitFault {
    /// Whether git itself refused, and says so in these words.
    pub(crate) fn says(&self, words: &str) -> bool {
        matches!(self, Self::Failed { said, .. } if said.contains(words))
    }
}
