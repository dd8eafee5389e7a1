//! What can be typed about verdicts.

use std::path::PathBuf;

use clap::Args;

pub(crate) const AFTER_DECISIONS: &str = "\
Every run ends in one decision: its verdict, who gave it, and what it rests on. An open run is listed too. What cannot be
read is said, kept as it is, and hides nothing else. --json prints a line for each run; the records stand in it as their
canonical texts, so that the SHA-256 of the text under `decision` is `digest`. `rolled_back_by` and `applied_again_by` say
by which decision it was taken back, or is there again.

--check takes one record, or a line for each, in our form or in git-internal's, and names everything that is wrong with each
and where, and what does not fit between them; what may only be missing from the file is a remark. The first hundred with a
fault are shown, all with --full or --json. Of stdin, or a pipe, 256 MiB are read at most. Without a file it checks what
the session holds.
Exit codes: 0 done, or nothing is wrong · 3 something is, or a ref is missing, not made yet, or not what this store says · 1
something could not be read, or no decision was found for --commit · 2 wrong usage, or there is no such thing

Examples:
  trunkline decisions                              those of the last session, the newest first
  trunkline decisions last --diff                  the newest, with what it rests on and what it changed
  trunkline decisions --node n12 -s 01a20496-c513  which decisions point at a node
  trunkline decisions --json | jq -r .digest
  trunkline decisions --check records.jsonl
  trunkline decisions --commit HEAD                which decisions stand behind a commit, and by what it is known
  trunkline decisions --git                        what `run --commit --bind` has kept in this repository";

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
    /// Show the diff too
    #[arg(long, requires = "named")]
    pub(crate) diff: bool,
    /// Don't shorten what is shown, or checked
    #[arg(long, conflicts_with_all = ["all", "node", "commit", "git"])]
    pub(crate) full: bool,
    /// Check the records in this file, `-` for stdin, or those of the session
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["all", "node", "diff"])]
    pub(crate) check: Option<Option<PathBuf>>,
    /// Print all objects that the session's log says, a line of JSON each: intents, tasks, events, calls, usages, candidates
    #[arg(long, conflicts_with_all = ["all", "node", "diff", "full", "check", "commit", "git"])]
    pub(crate) family: bool,
    /// Find the decisions behind a commit of the folder's git repository, also after a rebase or a squash
    #[arg(long, value_name = "REV", conflicts_with_all = ["named", "session", "all", "node", "check"])]
    pub(crate) commit: Option<String>,
    /// List what the refs of the folder's git repository hold, and compare it with this store
    #[arg(long, conflicts_with_all = ["named", "session", "all", "node", "check", "commit"])]
    pub(crate) git: bool,
    /// The folder for --commit and --git
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,
    /// Print a line of JSON for each
    #[arg(long)]
    pub(crate) json: bool,
}
