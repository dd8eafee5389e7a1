//! What can be typed.
//!
//! The doc comments here are the help that people read. One screen for the whole command, one for each part of it.

pub(crate) mod decide;
pub(crate) mod decisions;
pub(crate) mod figures;
pub(crate) mod foreign;
pub(crate) mod going_back;
pub(crate) mod model;
pub(crate) mod moves;
pub(crate) mod resolve;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod terms;
pub(crate) mod tools;
pub(crate) mod typed;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use trunkline_session_store::Digest;

use self::decide::{AFTER_DECIDE, Decide};
use self::decisions::{AFTER_DECISIONS, Decisions};
pub(crate) use self::foreign::Target;
use self::foreign::{Audit, Repair, Sanitize};
use self::model::Model;
use self::moves::{AFTER_MERGE, AFTER_NAME, Go, Merge, Name, Reflog};
use self::resolve::{AFTER_RESOLVE, AFTER_RULES, Resolve, Rules};
use self::store::{AFTER_STORE, StoreArgs};
use self::terms::Terms;
use self::tools::{AFTER_TOOLS, Tools};
use crate::term::limits;

/// Over the options that every command takes.
const GLOBAL: &str = "Global";

/// Said of every move of the head.
const ABOUT_FILES: &str = "Files are not changed by this: what was written stays written.";

const AFTER: &str = "\
Sessions are named by their id, by the beginning of one, or `last`, which is also meant when none is named.

Environment: TRUNKLINE_STORE, TRUNKLINE_SETTINGS, TRUNKLINE_PROVIDER, TRUNKLINE_MODEL, what `help run` and `help store` name, NO_COLOR, COLUMNS
Exit codes: 0 done · 1 failed, abandoned, at a limit, or waits for you · 2 wrong usage · 3 broken · 130 interrupted

Examples:
  trunkline run \"make the failing test pass\"       on the current folder; you are asked before anything is written
  trunkline run --provider openai --base-url http://localhost:11434/v1 --model qwen3 \"explain src/\"
  trunkline audit ~/.claude/projects               which sessions of another agent would be refused, and why";

const AFTER_RUN: &str = "\
A file of rules says what is done unasked, asked, or never; what it does not speak of you are asked. docs/policy.md has all of it:
  {\"rules\": [{\"verdict\": \"allow\", \"target\": {\"path\": \"docs/**\"}},
             {\"verdict\": \"deny\", \"target\": {\"command\": {\"words\": [\"git\", \"push\"]}}, \"reason\": \"not from here\"}]}

A file of settings, ~/.config/trunkline/settings.json or that of TRUNKLINE_SETTINGS, says what need not be typed each time, such as
  {\"model\": \"claude-sonnet-5-5\", \"max_turns\": 80, \"summaries\": \"model\", \"lessons\": {\"turns\": 8, \"count\": 4}}

With --plan the model reads and proposes a plan; you approve it, change it or refuse it with a reason, here or with `trunkline resolve`.
A plan permits nothing by itself: after it you are asked as without.

Environment: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, OPENROUTER_API_KEY, GEMINI_API_KEY,
  AWS_BEARER_TOKEN_BEDROCK, AWS_REGION, OLLAMA_HOST, TRUNKLINE_PROVIDER, TRUNKLINE_MODEL";

const AFTER_AUDIT: &str = "\
Known are sessions of Claude Code, Codex, pi, oh-my-pi and Gemini CLI, exports of opencode, and message lists of Anthropic
Messages and OpenAI Chat in JSON. Nothing is written and nothing is sent.
Exit codes: 0 nothing is broken · 3 something is · 1 something could not be read · 2 wrong usage

Examples:
  trunkline audit --broken                         which sessions on this machine would be refused when they are resumed
  trunkline audit messages.json --wire all         which providers would take this list
  trunkline audit ~/.claude/projects --json | jq -r 'select(.broken) | .path'";

const AFTER_REPAIR: &str = "\
The given file is never changed. With --apply a session is written as a new session into the same folder, under the name
that its agent looks for, and messages.json becomes messages.repaired.json.
Exit codes: 0 nothing to repair, or written · 3 there is, and nothing was written · 1 failed · 2 wrong usage";

const AFTER_SANITIZE: &str = "\
A list that the wire takes comes out byte for byte as it went in, unless its format changes. Thinking, a forced tool choice
and missing tools are read from a whole request body.
Where the format changes, fields of a body that both formats have are kept; the others are named, and the exit code is 1.
Exit codes: 0 done, repaired or not · 1 cannot be read, or a field had no place · 2 wrong usage

Example:
  trunkline sanitize --wire mistral < messages.json > legal.json";

const AFTER_SESSIONS: &str = "\
A session is found if each of the words occurs in its title, in a tag, or in what was said: texts, thinking, arguments and
results, on whatever branch. Upper and lower case are the same; quotes make one word of several. Archived sessions are left out.

Examples:
  trunkline sessions \"null pointer\" parser
  trunkline sessions --tag work --all";

const AFTER_PRUNE: &str = "\
A session stays if a proposal in it waits, its run is open, somebody writes it, or a note to its writer has not been read;
`trunkline delete` takes all of them but those that somebody writes. The plan is shown first: at a terminal you are asked,
elsewhere only --yes deletes.

Examples:
  trunkline prune --older-than 90d --dry-run
  trunkline prune --max-size 2GB --keep-tag work --yes";

const AFTER_DOCTOR: &str = "\
Without a session the whole store is examined and nothing is changed; others may use it meanwhile. With one, its chain of
digests is computed anew, which proves that nothing was changed, dropped or reordered. That its end was not cut off is proven
by a receipt that you kept: the one that is printed, or the last digest of an export.
Exit codes: 0 whole, or mended without loss · 3 it is not · 1 failed · 2 wrong usage

Examples:
  trunkline doctor
  trunkline doctor --fix
  trunkline doctor last --receipt 412:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Durable agent runs: nothing acknowledged is lost, dead ends are left with a lesson, edits wait for approval.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version, after_help = AFTER, max_term_width = 120)]
pub(crate) struct Line {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Everywhere {
    /// The database of sessions: a file, or postgres://…; else TRUNKLINE_STORE, else sessions.db in the user's data folder
    #[arg(long, global = true, value_name = "PLACE", help_heading = GLOBAL)]
    pub(crate) store: Option<OsString>,
    /// Whether to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL)]
    pub(crate) color: Color,
}

#[derive(Copy, Clone, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one, for as long as the program runs")]
pub(crate) enum Command {
    #[command(flatten)]
    Session(SessionCommand),
    #[command(flatten)]
    File(FileCommand),
}

/// What works on sessions of our own.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Show a whole run with a scripted model: try, fail, go back with a lesson, succeed
    Demo(Demo),
    /// Give a model a task, in the current folder; `tools` lists those that the project brings
    #[command(after_help = AFTER_RUN)]
    Run(Run),
    /// Go on with a session where it stopped
    Resume(Resume),
    /// List the sessions, or find some by what was said
    #[command(after_help = AFTER_SESSIONS)]
    Sessions(Listing),
    /// Print a session's conversation; `decisions` lists how its runs ended, and what that rests on
    Show(Show),
    /// Show what happens in a session while it happens
    Follow(Follow),
    /// Draw a session's tree, with the branches that were left; `name` names one of them
    Tree(Tree),
    /// List how runs ended, show what a verdict rests on, check the records
    #[command(after_help = AFTER_DECISIONS, hide = true)]
    Decisions(Decisions),
    /// List what waits for a decision in all sessions, look at it, decide on it; `rules` lists what was decided ahead
    #[command(after_help = AFTER_RESOLVE)]
    Resolve(Resolve),
    /// List what was decided ahead in a session, give a rule, or take one back
    #[command(after_help = AFTER_RULES, hide = true)]
    Rules(Rules),
    /// List the tools that a project declares, look at one, trust it or no longer
    #[command(after_help = AFTER_TOOLS, hide = true)]
    Tools(Tools),
    /// Go back to a node, what came after it stays in the tree; `undo` takes that back, `redo` makes it again
    #[command(after_help = ABOUT_FILES)]
    Revert(Revert),
    /// Put the head on any node, also on a branch that was left; `merge` brings one here, `reflog` lists the moves
    #[command(after_help = ABOUT_FILES)]
    Go(Go),
    /// Carry what came of other branches into this one
    #[command(after_help = AFTER_MERGE, hide = true)]
    Merge(Merge),
    /// Give a branch or a node a name, or list the names
    #[command(after_help = AFTER_NAME, hide = true)]
    Name(Name),
    /// List every move of the head, newest first
    #[command(hide = true)]
    Reflog(Reflog),
    /// Take back the latest move of the head
    #[command(after_help = ABOUT_FILES, hide = true)]
    Undo(Sent),
    /// Make the move again that `undo` took back
    #[command(after_help = ABOUT_FILES, hide = true)]
    Redo(Sent),
    /// Let a summary take the place of older messages; they stay in the tree
    Compact(Compact),
    /// Stop the turn of a session that another process runs; `decide` ends the run itself, or takes back what one has done
    Cancel(Sent),
    /// End the open run as a checkpoint, given up, or to be tried again; or take back what an earlier one has changed
    #[command(after_help = AFTER_DECIDE, hide = true)]
    Decide(Decide),
    /// Put tags on a session, or take them off; `title` renames it, `archive` leaves it out of the list
    Tag(Tag),
    /// Give a session another title
    #[command(hide = true)]
    Title(Title),
    /// Leave sessions out of the list; `unarchive` puts them back
    #[command(hide = true)]
    Archive(Several),
    /// Put archived sessions back on the list
    #[command(hide = true)]
    Unarchive(Several),
    /// Delete sessions for good; `prune` deletes those that have had their time
    Delete(Delete),
    /// Delete the sessions that have had their time
    #[command(after_help = AFTER_PRUNE, hide = true)]
    Prune(Prune),
    /// Write sessions as lines of JSON; `import` reads them
    Export(Export),
    /// Take over sessions of other agents, or read exported sessions and decision objects
    #[command(hide = true)]
    Import(Import),
    /// Prove that the store is whole and unchanged, or mend it; `store` tells what it is like, and brings it up to date
    #[command(after_help = AFTER_DOCTOR)]
    Doctor(Doctor),
    /// Look at the store as a whole, bring it to a newer version, tidy it up
    #[command(after_help = AFTER_STORE, hide = true)]
    Store(StoreArgs),
}

/// What works on files of other agents.
#[derive(Debug, Subcommand)]
pub(crate) enum FileCommand {
    /// Tell which sessions and message lists of other agents a provider would refuse
    #[command(after_help = AFTER_AUDIT)]
    Audit(Audit),
    /// Show how such a file would be repaired, and write a new one
    #[command(after_help = AFTER_REPAIR)]
    Repair(Repair),
    /// Make a message list legal for a provider, in a pipe
    #[command(after_help = AFTER_SANITIZE)]
    Sanitize(Sanitize),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How long the scripted model pauses between two pieces, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 15)]
    pub(crate) delay: u64,
    /// Work in this folder instead of a new temporary one
    #[arg(long, value_name = "PATH")]
    pub(crate) keep_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What is to be done; `-` reads it from stdin
    #[arg(required_unless_present = "task")]
    pub(crate) prompt: Option<String>,
    /// Give it as a task, which stays open until you end it with `decide`: a title, or a file that says more
    #[arg(long, value_name = "TEXT|FILE")]
    pub(crate) task: Option<String>,
    /// How often the task may be tried again [default: 5]
    #[arg(long, value_name = "N", requires = "task")]
    pub(crate) max_retries: Option<u32>,
    /// The folder to work in
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,
    /// A file with instructions for the model, in place of ours
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: Model,
    #[command(flatten)]
    pub(crate) terms: Terms,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// Something more to say to the model
    #[arg(long, short = 'p', value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// The folder to work in, if it has moved
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Become the writer although another process is: it can write nothing more
    #[arg(long)]
    pub(crate) take_over: bool,
    /// If another process writes the session, wait until it has read the prompt
    #[arg(long, requires = "prompt", conflicts_with = "take_over")]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) model: Model,
    #[command(flatten)]
    pub(crate) terms: Terms,
    /// The flags that were typed for a run of its own.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// Only say what would be summed up
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How many tokens a prompt of the model may have; a quarter of it at most stays as it is [default: as now]
    #[arg(long, value_name = "N")]
    pub(crate) window: Option<u64>,
    #[command(flatten)]
    pub(crate) model: Model,
    /// The file of settings that was read.
    #[arg(skip)]
    pub(crate) settings: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Only sessions in which all of these occur
    pub(crate) words: Vec<String>,
    /// Only sessions with this tag; several may be given
    #[arg(long, short, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Look for the words in titles and tags only
    #[arg(long, requires = "words")]
    pub(crate) titles: bool,
    /// Only archived ones
    #[arg(long, conflicts_with = "all")]
    pub(crate) archived: bool,
    /// Archived ones too
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Follow {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// How many of the last records to begin with
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub(crate) records: u64,
    /// Print each record as the line of JSON that `export` writes
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// Also what stands on branches that were left
    #[arg(long, short)]
    pub(crate) all: bool,
    /// One node, by its name or as n5, fully
    #[arg(long, short, value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// Don't shorten results
    #[arg(long)]
    pub(crate) full: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// Don't leave out the middle of long runs
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Revert {
    /// The last node to keep, such as n5, or its name; without one the steps back that are proposed are listed
    pub(crate) node: Option<String>,
    /// Take a step back that is proposed, the newest unless named
    #[arg(long, value_name = "pN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["node", "lesson", "decline"])]
    pub(crate) accept: Option<String>,
    /// Decline one, with the reason if there is one
    #[arg(long, value_names = ["pN", "REASON"], num_args = 1..=2, conflicts_with_all = ["node", "lesson"])]
    pub(crate) decline: Vec<String>,
    /// What the model is told of the branch that is left
    #[arg(long, short, value_name = "TEXT", requires = "node")]
    pub(crate) lesson: Option<String>,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Several {
    /// Ids, the beginnings of some, or `last`
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Sent {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Title {
    /// The title
    pub(crate) title: String,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// The tags; without any, those that it has are printed
    pub(crate) tags: Vec<String>,
    /// Take them off
    #[arg(long, short, requires = "tags")]
    pub(crate) remove: bool,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Ids, the beginnings of some, or `last`
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Don't ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Delete sessions in which nothing happened for so long, such as 12h, 90d or 8w
    #[arg(long, value_name = "TIME", value_parser = limits::milliseconds)]
    pub(crate) older_than: Option<u64>,
    /// Delete the oldest until all that stay have no more than this, such as 500MB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = limits::bytes)]
    pub(crate) max_size: Option<u64>,
    /// Only archived ones
    #[arg(long)]
    pub(crate) archived: bool,
    /// Keep sessions with this tag; several may be given
    #[arg(long, value_name = "TAG")]
    pub(crate) keep_tag: Vec<String>,
    /// Only show what would be deleted
    #[arg(long, short = 'n', conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Don't ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Verify this session only: an id, the beginning of one, or `last`
    pub(crate) session: Option<String>,
    /// A receipt that was kept: the session has to be what it was then, and may have grown
    #[arg(long, value_name = "SEQ:DIGEST", requires = "session", value_parser = limits::receipt)]
    pub(crate) receipt: Option<(u64, Digest)>,
    /// Mend what can be mended; what is damaged is set aside and not thrown away
    #[arg(long, conflicts_with = "session")]
    pub(crate) fix: bool,
    /// The database, if it was moved while it was open: what it left at the place of the store is brought to it first
    #[arg(long, value_name = "FILE", requires = "fix")]
    pub(crate) database: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Ids, the beginnings of some, or `last`; with --to also a file of another agent [default: last]
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Write what a model would be sent, one session alone, as a file of another program
    #[arg(long, value_name = "FORMAT", conflicts_with = "all")]
    pub(crate) to: Option<Target>,
    /// All sessions, archived ones too, the one updated first comes first
    #[arg(long, short, conflicts_with = "sessions")]
    pub(crate) all: bool,
    /// The file to write; stdout if none is named. An existing file is not replaced
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Sessions of other agents, folders with such, or exports; `-` reads an export from stdin
    #[arg(value_name = "PATH", required_unless_present = "all")]
    pub(crate) files: Vec<PathBuf>,
    /// All sessions of the known agents on this machine
    #[arg(long, short, conflicts_with = "files")]
    pub(crate) all: bool,
    /// Only those of this agent, as `audit` names it; several with commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) agent: Vec<String>,
    /// Only files that were written within this time, such as 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = crate::term::limits::milliseconds)]
    pub(crate) since: Option<u64>,
}
