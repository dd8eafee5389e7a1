//! What can be typed about verdicts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) const AFTER_DECISIONS: &str = "\
Every run ends in one decision: its verdict, who gave it, what it rests on. What cannot be read is said, and hides nothing
else. In the lines of --json the records stand as canonical texts: the SHA-256 of that under `decision` is `digest`.
--check takes one record, or a line for each, in our form or in git-internal's, and names what is wrong with each and what
does not fit between them; what may only be missing is a remark. A hundred with a fault are shown, all with --full or --json.
--status names the object that says how a thing stands. --export git-internal writes what git-internal reads, and tells what
has no place there; `trunkline import FILE` takes it in as a session of its own, and --export gives the same lines again.
Exit codes: 0 done, nothing is wrong · 3 something is, or a ref is missing, not made yet, or not what this store says · 1
something could not be read, has no form there, or was not found for --commit · 2 wrong usage, or there is no such thing

Examples:
  trunkline decisions                              those of the last session, the newest first
  trunkline decisions last --diff                  the newest, with what it rests on and what it changed
  trunkline decisions --check records.jsonl
  trunkline decisions --status                     how intents, plans, tasks and runs stand
  trunkline decisions --export git-internal -o objects.jsonl
  trunkline decisions --commit HEAD                which decisions stand behind a commit, and by what it is known
  trunkline decisions --git                        what `run --commit --bind` has kept in this repository";

/// The forms in which objects can be written.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    // Without words of its own here: they would make each option of the help three lines.
    GitInternal,
}

#[derive(Debug, Args)]
pub(crate) struct Decisions {
    /// A decision or its run, to be shown, or a session, to be listed: the beginning of an id; `last` is the newest decision
    #[arg(value_name = "ID")]
    pub(crate) named: Option<String>,
    /// The session: id, the beginning of one, or `last` [default: where ID is, else last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// List those of all sessions
    #[arg(long, short, conflicts_with_all = ["named", "session", "node"])]
    pub(crate) all: bool,
    /// Only those that point at this node, such as n12, or a name
    #[arg(long, short, value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// Show the diff too, and that of each candidate
    #[arg(long, requires = "named")]
    pub(crate) diff: bool,
    /// Don't shorten what is shown, or checked
    #[arg(long, conflicts_with_all = ["all", "node", "commit", "git"])]
    pub(crate) full: bool,
    /// Check the records in this file, `-` for stdin, or those of the session
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["all", "node", "diff"])]
    pub(crate) check: Option<Option<PathBuf>>,
    /// Print all objects that the session's log says, a line of JSON each: intents, tasks, events, calls, usages, candidates
    #[arg(long, conflicts_with_all = ["all", "node", "diff", "full", "check", "status", "export", "commit", "git"])]
    pub(crate) family: bool,
    /// How intents, plans, tasks and runs stand, in this file, `-` for stdin, or in the session
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["all", "node", "diff", "full", "check"])]
    pub(crate) status: Option<Option<PathBuf>>,
    /// Write the objects of the session, of one run, or with --all of every session, in this form
    #[arg(long, value_name = "FORM", conflicts_with_all = ["node", "diff", "full", "check", "status", "json"])]
    pub(crate) export: Option<Form>,
    /// The file for --export; stdout if none is named. An existing file is not replaced
    #[arg(long, short, value_name = "FILE", requires = "export")]
    pub(crate) output: Option<PathBuf>,
    /// Find the decisions behind a commit of the folder's git repository, also after a rebase or a squash
    #[arg(long, value_name = "REV", conflicts_with_all = ["named", "session", "all", "node", "check", "status", "export"])]
    pub(crate) commit: Option<String>,
    /// List what the refs of the folder's git repository hold, and compare it with this store
    #[arg(long, conflicts_with_all = ["named", "session", "all", "node", "check", "status", "export", "commit"])]
    pub(crate) git: bool,
    /// The folder for --commit and --git
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,
    /// Print a line of JSON for each
    #[arg(long)]
    pub(crate) json: bool,
}
