//! What can be typed about the terms of a run: who decides, what is allowed, how it tells of it.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use trunkline_runtime::resolve_queue::Policy as ChoicePolicy;

use crate::args::going_back::{GoingBack, HEADING};

/// What a run may do, and how it tells of it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Approval and limits")]
pub(crate) struct Terms {
    /// Who decides on edits and commands: `person`, which is you; `model`, on its own edits, commands run unasked; `always`,
    /// everything is approved; or a file of rules, and you where they say nothing [default: person]
    #[arg(long, value_name = "WHO|FILE", value_parser = OsStringValueParser::new().map(|named| Policy::named(&named)))]
    pub(crate) policy: Option<Policy>,
    /// Approve everything: the same as --policy always
    #[arg(long, short, conflicts_with = "policy")]
    pub(crate) yes: bool,
    /// Let nothing be done but reading before you have approved a plan that the model proposes; under every policy, also --yes
    #[arg(long)]
    pub(crate) plan: bool,
    /// Never ask at the terminal: what needs you stops the run, and waits for `trunkline resolve`
    #[arg(long)]
    pub(crate) non_interactive: bool,
    /// Commit what the run changed when it ends
    #[arg(long)]
    pub(crate) commit: bool,
    /// Keep each decision in the folder's git repository too, below refs/trunkline, with or without a commit; nothing is pushed
    #[arg(long, overrides_with = "no_bind")]
    pub(crate) bind: bool,
    /// Bind nothing, also after --bind
    #[arg(long, overrides_with = "bind")]
    pub(crate) no_bind: bool,
    /// Name the decision in the last line of the commit's message; needs --commit and --bind
    #[arg(long)]
    pub(crate) trailer: bool,
    /// Don't let the model go back to an earlier state
    #[arg(long, help_heading = HEADING)]
    pub(crate) no_revert: bool,
    /// What happens if the model wants to leave a prompt of yours behind [default: refuse]
    #[arg(long, value_name = "HOW", conflicts_with = "no_revert", help_heading = HEADING)]
    pub(crate) left_prompts: Option<LeftPrompts>,
    /// Who decides on the step back that is proposed when the run gets nowhere [default: model]
    #[arg(long, value_name = "WHO", conflicts_with = "no_revert", help_heading = HEADING)]
    pub(crate) on_stall: Option<OnStall>,
    /// What else the model may do with its conversation, separated by commas: merge what came of branches that it left, go back to
    /// them, prune results of tools, decide: ask you to end its run [default: none of it]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with = "no_revert", help_heading = HEADING)]
    pub(crate) moves: Vec<Moves>,
    /// How a model that decides on its own edits is brought to it; the session keeps this [default: remind]
    #[arg(long, value_name = "HOW")]
    pub(crate) tool_choice: Option<ToolChoice>,
    /// For how many tokens prompts are meant: older messages are summed up before one is full, and a result longer than that is cut.
    /// Newest results that are too long together go out as they are
    #[arg(long, value_name = "N")]
    pub(crate) window: Option<u64>,
    /// Stop after N requests to the model; with a task, after N answers in all its runs [default: 50 requests]
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Stop after N tokens, prompt and output together; with a task, in all its runs [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Print one JSON object instead of the answer
    #[arg(long)]
    pub(crate) json: bool,
    /// Don't report progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) going_back: GoingBack,
    /// The file of settings that was read.
    #[arg(skip)]
    pub(crate) settings: Option<PathBuf>,
    /// Which of the terms that can bound a task come from there: to print them would make them typed.
    #[arg(skip)]
    pub(crate) usual: UsualBounds,
}

/// Which bounds come from a file of settings.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct UsualBounds {
    pub(crate) turns: bool,
    pub(crate) tokens: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// You are asked; without a terminal the run stops and waits.
    Person,
    /// The model decides on its own edits; commands run without asking.
    Model,
    /// Everything is approved at once.
    Always,
    /// Rules decide what they decide, and you the rest.
    Rules(PathBuf),
}

impl Policy {
    /// Whatever is not one of the words is a file; `./model` is one too.
    fn named(named: &OsStr) -> Self {
        match named.to_str() {
            Some("person") => Policy::Person,
            Some("model") => Policy::Model,
            Some("always") => Policy::Always,
            _ => Policy::Rules(named.into()),
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolChoice {
    /// It is reminded, and held to the decision after it did other things instead
    Remind,
    /// The next turn is held to it, as far as the service can demand that
    AtOnce,
    /// It is neither reminded nor held to it: what it leaves waits for you
    Never,
}

impl ToolChoice {
    pub(crate) fn policy(self) -> ChoicePolicy {
        match self {
            ToolChoice::Remind => ChoicePolicy::default(),
            ToolChoice::AtOnce => ChoicePolicy::AtOnce { turns: 3 },
            ToolChoice::Never => ChoicePolicy::NEVER,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeftPrompts {
    /// The model cannot leave it
    Refuse,
    /// A copy of it follows onto the new branch
    Rebase,
    /// It waits for you: `trunkline revert --accept`
    Ask,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnStall {
    /// The model is told, and may go on
    Model,
    /// You: `trunkline revert --accept`; the run goes on meanwhile
    Person,
    /// Nobody: it is taken at once
    Accept,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Moves {
    /// Bring back what came of branches that it left itself
    Merge,
    /// Go back to branches that it left itself
    Go,
    /// Leave results of tools out of later requests; they stay in the log, and it can ask for them again
    Prune,
    /// Ask you for the end of its run: put it down, try it again, or give it up
    Decide,
    /// Nothing of it, whatever settings say
    None,
}

/// Returns who decides under these terms.
pub(crate) fn policy_of(terms: &Terms) -> Policy {
    if terms.yes { Policy::Always } else { terms.policy.clone().unwrap_or(Policy::Person) }
}
