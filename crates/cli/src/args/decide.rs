//! What can be typed to end a run, or to take back what one has done.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const AFTER_DECIDE: &str = "\
A run ends by itself when the model has answered. `checkpoint`, `abandon` and `retry` end one that is open, with what it has
changed until now. Files stay as they are, not committed, and a later run commits only files that it changes itself: `git
commit` them, or roll back. If another process writes the session, it is left a note, stops its turn, and closes the run.
A checkpoint names the node, and git, where there is one, keeps all files by a ref, as `decisions` shows; the next run continues
this one. After a retry one is open already, with the reason as its prompt; what was abandoned rests until you say more.

A task of `run --task` fails when a run of it is abandoned; else it stays open, also after a commit, until you say `done` or `drop`.
`select` says which of a run's candidates is the one: what it changed, a proposal that was superseded (not one that was
discarded), or what was applied on a branch that was left. `decisions RUN --diff` shows them; nothing is applied by that.

`rollback` makes the files that a run has changed what they were before it: all of them, or none if anybody has changed one of
them since. Without -s an id is looked for in all sessions, and `last` in the last one. It is a run of its own, with a verdict
of its own, and can be rolled back too: `last` is then the rollback itself. The conversation stays.
Exit codes: 0 done, or left to the writer · 1 refused, failed, or not agreed to · 2 wrong usage, or nobody can be asked

Examples:
  trunkline decide checkpoint \"the parser works, the printer is left\"
  trunkline decide retry \"without a new dependency\" && trunkline resume
  trunkline decide done \"the tests pass here too\"
  trunkline decide rollback 0192f3a4 --dry-run     what would be restored
  trunkline decide rollback last --yes --commit --reason \"the lock is held twice\"";

#[derive(Debug, Args)]
pub(crate) struct Decide {
    #[command(subcommand)]
    pub(crate) act: DecideAct,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID", global = true)]
    pub(crate) session: Option<String>,
    /// The folder to work in, if the session's has moved
    #[arg(long, short = 'C', value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,
    /// Keep the decision in the folder's git repository too, as `run --bind` does
    #[arg(long, global = true)]
    pub(crate) bind: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DecideAct {
    /// Put the open run down, to be continued by the next one; its files stay as they are, not committed
    Checkpoint(Close),
    /// Give up what the open run is for
    Abandon(Close),
    /// End the open run and begin another one that tries it otherwise
    Retry(Retry),
    /// Say that the session's task is done
    Done(Done),
    /// Say that the session's task is not wanted any more
    Drop(Close),
    /// Choose one of a run's candidates; nothing is applied by it
    Select(Select),
    /// Make the files that a run has changed what they were before it
    Rollback(Rollback),
}

#[derive(Debug, Args)]
pub(crate) struct Close {
    /// What to go on from, why it is given up or dropped, or what to do otherwise
    pub(crate) words: String,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(crate) close: Close,
    /// The new limit on retries of the session's task, including those already made
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Done {
    /// How that was seen
    pub(crate) words: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Select {
    /// The run: the beginning of its id, or `last` for the newest that has candidates
    pub(crate) run: String,
    /// The candidate: its number, or the beginning of its patch set's id
    pub(crate) candidate: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The decision: its id or its run's, the beginning of one, or `last` for the session's newest that changed files
    pub(crate) decision: String,
    /// Why: it stands in the decision, and the model is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Only show what would be restored
    #[arg(long, short = 'n', conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Commit what was restored
    #[arg(long)]
    pub(crate) commit: bool,
    /// Don't ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
