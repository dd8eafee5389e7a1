//! What can be typed about proposals: which one, and what becomes of it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

pub(crate) const AFTER_RESOLVE: &str = "\
Without --session everything that waits is listed, in whatever session and whoever writes it, and a proposal is found in the
one session in which it waits. If another process writes that session, it is left a note; it reads the note before its next
step, and applies what was approved. --only names the files of a proposal that has several, by name or number, as
`resolve p3` lists them: the others count as discarded. What was applied can be taken back: `undo` proposes that. --extra is
for tools that ask for more than a yes, and part of what is approved; the tools of this command ignore it.

--json prints {\"version\":1,\"proposals\":[…]}, each with its session, title and writer, and after a decision
{\"version\":1,\"results\":[{\"session\",\"proposal\",\"state\",\"error\"}]}.
Exit codes: 0 done as wanted, or left to the writer · 1 refused, failed, or not agreed to · 2 wrong usage, or `all` where nobody
can be asked and --yes is not given

Examples:
  trunkline resolve p1 apply --edit                  a plan of `run --plan`, changed in your editor
  trunkline resolve p3 apply --only src/a.rs --only src/b.rs
  trunkline resolve p3 discard --reason \"the file is generated\"
  trunkline resolve all apply -s last --yes";

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The proposal, such as p1, or `all`; without it all that wait are listed
    pub(crate) proposal: Option<String>,
    /// What to do with it; without it the proposal is shown
    #[arg(requires = "proposal")]
    pub(crate) action: Option<Action>,
    /// Why; the model is told
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
    /// Apply this file of it, and discard the others; several may be given
    #[arg(long, value_name = "FILE", requires = "action")]
    pub(crate) only: Vec<String>,
    /// Approve another text of a plan: that of a file, of stdin with `-`, or of your editor if none is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", requires = "action")]
    pub(crate) edit: Option<String>,
    /// Hand this to the tool with the decision: VALUE is JSON, or else text; several may be given
    #[arg(long, value_name = "KEY=VALUE", requires = "action", value_parser = handed)]
    pub(crate) extra: Vec<(String, Value)>,
    /// Id, the beginning of one, or `last` [default: all; for one proposal where it waits, else last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The folder to work in, if the session's has moved
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show all of a long proposal
    #[arg(long, requires = "proposal", conflicts_with = "action")]
    pub(crate) full: bool,
    /// List settled ones too
    #[arg(long, short, conflicts_with = "action")]
    pub(crate) all: bool,
    /// If another process writes the session, wait until it has done what was decided
    #[arg(long, requires = "action")]
    pub(crate) wait: bool,
    /// Don't ask, with `all`
    #[arg(long, short, requires = "action")]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads what is handed to a tool.
fn handed(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE, as in --extra copies=2")?;
    if key.is_empty() {
        return Err("the key before `=` is empty".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Action {
    /// Approve it, and do it
    Apply,
    /// Drop it
    Discard,
    /// Propose to take back what it did, once it was applied
    Undo,
}

pub(crate) const AFTER_RULES: &str = "\
A rule decides ahead: what it allows is done unasked, what it asks somebody decides on, what it denies does not happen. What
forbids wins; what names a path or a command outranks what names a tool, and that what names neither; of equals the stricter one
wins. Without a rule the policy of the run decides. An `allow` has to be narrowed, by --path, --command, --tool or --effect.
Paths are written from the session's folder. Rules of a file (`run --policy FILE`) are listed with those of the session.

Examples:
  trunkline rules add allow --path 'src/**'
  trunkline rules add allow --command \"cargo test\" --reason \"tests change nothing\"
  trunkline rules add deny --tool run_command --command \"git push\"
  trunkline rules revoke r2 --reason \"too wide\"";

#[derive(Debug, Args)]
pub(crate) struct Rules {
    #[command(subcommand)]
    pub(crate) act: Option<RulesAct>,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID", global = true)]
    pub(crate) session: Option<String>,
    /// List those too that do not count any more
    #[arg(long, short)]
    pub(crate) all: bool,
    /// If another process writes the session, wait until it has done so
    #[arg(long, global = true)]
    pub(crate) wait: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesAct {
    /// Give a rule; it counts from the next step on, also for what waits
    Add(AddRule),
    /// Take a rule back; what it decided stays decided
    Revoke {
        /// The rule, such as r1
        rule: String,
        /// Why
        #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddRule {
    /// What it decides
    pub(crate) verdict: RuleWord,
    /// Only this tool, such as `edit_file`, `move_file` or `run_command`, or several with `*` and `?`
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only what is written there: `docs/**` is all in a folder, `*.md` a name in the project's own
    #[arg(long, value_name = "PATTERN", conflicts_with = "command")]
    pub(crate) path: Option<String>,
    /// Only commands that begin with these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) command: Option<String>,
    /// Only the command of these words and no others
    #[arg(long, requires = "command")]
    pub(crate) exactly: bool,
    /// Only what can be undone like this; several may be given
    #[arg(long, value_name = "CLASS")]
    pub(crate) effect: Vec<EffectWord>,
    /// Until it was used once
    #[arg(long)]
    pub(crate) once: bool,
    /// Until so much time has passed, such as 30m, 12h or 8d
    #[arg(long = "for", value_name = "TIME", value_parser = crate::term::limits::of_rule)]
    pub(crate) lasting: Option<u64>,
    /// Why
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleWord {
    /// It is done unasked
    Allow,
    /// You are asked, whatever the policy says
    Ask,
    /// It does not happen
    Deny,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectWord {
    /// Nothing changes
    Pure,
    /// The old bytes put back undo it
    Reversible,
    /// Another action can make up for it
    Compensable,
    /// Nothing undoes it
    Irreversible,
}
