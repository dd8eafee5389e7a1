//! The arguments of the commands for logs and lists of other agents.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use trunkline_sanitize::WireRules;
use trunkline_transcripts::Format;

/// Stands for every wire there is.
pub(crate) const ALL_WIRES: &str = "all";

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Files, and folders to search for *.jsonl, *.jsonl.zst and *.json [default: where the known agents of this machine keep theirs]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What the list is sorted by [default: as the files come; without a path, the newest first]
    #[arg(long, value_name = "BY")]
    pub(crate) sort: Option<SortBy>,
    /// Whose rules to judge by, several with commas; `all` means every one [default: that of the file]
    #[arg(long, short, value_name = "WIRE", value_delimiter = ',', value_parser = wires_and_all())]
    pub(crate) wire: Vec<String>,
    /// What a file is taken for [default: a list is a request, a session a history]
    #[arg(long = "as", value_name = "WHAT")]
    pub(crate) end: Option<End>,
    /// Also sub-agents, and branches that were left
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Only what is broken
    #[arg(long, short)]
    pub(crate) broken: bool,
    /// Every problem with its place and what the provider says
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON object a line, one for each session and wire
    #[arg(long)]
    pub(crate) json: bool,
}

/// What an audit is sorted by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// The one that was written last first
    Age,
    /// The largest file first
    Size,
    /// The one that took most tokens first
    Tokens,
    /// The longest first
    Messages,
    /// What is most broken first
    Problems,
}

/// What the end of a message list means.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// It is sent as it stands
    Request,
    /// The next prompt follows what the assistant said last
    History,
}

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// A session of an agent, or a message list in JSON
    pub(crate) file: PathBuf,
    /// Whose rules it has to meet [default: that of the file]
    #[arg(long = "for", short = 'w', value_name = "WIRE", value_parser = wires())]
    pub(crate) wire: Option<String>,
    /// Write a new file; without this nothing is written
    #[arg(long)]
    pub(crate) apply: bool,
    /// The file to write; an existing one is not replaced
    #[arg(long, short, value_name = "FILE", requires = "apply")]
    pub(crate) out: Option<PathBuf>,
    /// The conversation in the file that is meant, by its id or the beginning of it; `ID#2` is the second with that id, `#2` the second in the file [default: the main one]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// What the file is taken for [default: a list is a request, a session a history]
    #[arg(long = "as", value_name = "WHAT")]
    pub(crate) end: Option<End>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sanitize {
    /// Whose rules the list has to meet
    #[arg(long, short, value_name = "WIRE", value_parser = wires())]
    pub(crate) wire: String,
    /// What the input is [default: what all of it says, and where that leaves two, that of the wire]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<GivenFormat>,
    /// The format to write [default: that of the wire, if it is one of these; else that of the input]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ListFormat>,
    /// What is known of the request besides its messages: a JSON file, see the crate trunkline-sanitize
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// Whether the model is asked to think
    #[arg(long, value_name = "WHEN")]
    pub(crate) thinking: Option<Thinking>,
    /// The request offers no tools
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Who is asked; reasoning of others is not sent
    #[arg(long, short, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Print the account on stderr as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print no account
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What a session can be written as.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// A session that `claude --resume` takes
    ClaudeCode,
    /// A rollout that `codex resume` takes
    Codex,
    /// A session that `pi --session` takes
    Pi,
    /// What `opencode import` takes
    Opencode,
    /// A session that `gemini --session-file` takes
    GeminiCli,
    /// A message list of Anthropic Messages
    Anthropic,
    /// A message list of OpenAI Chat Completions
    OpenaiChat,
    /// A trajectory of ATIF 1.8
    Atif,
    /// Markdown, for people
    Markdown,
}

impl Target {
    /// Returns the format, if what is written can be read again.
    pub(crate) const fn format(self) -> Option<Format> {
        Some(match self {
            Target::ClaudeCode => Format::ClaudeCode,
            Target::Codex => Format::Codex,
            Target::Pi => Format::Pi,
            Target::Opencode => Format::Opencode,
            Target::GeminiCli => Format::GeminiCli,
            Target::Anthropic => Format::Anthropic,
            Target::OpenaiChat => Format::OpenAiChat,
            Target::Atif | Target::Markdown => return None,
        })
    }

    /// Returns the command that goes on with it there.
    pub(crate) fn resumes(self, id: &str) -> Option<String> {
        match self {
            Target::ClaudeCode => Some(format!("claude --resume {id}")),
            Target::Codex => Some(format!("codex resume {id}")),
            Target::Pi => Some("pi --session FILE".to_owned()),
            Target::Opencode => Some("opencode import FILE".to_owned()),
            Target::GeminiCli => Some("gemini --session-file FILE".to_owned()),
            Target::Anthropic | Target::OpenaiChat | Target::Atif | Target::Markdown => None,
        }
    }

    /// Returns where its program looks for it.
    pub(crate) fn place(self, id: &str) -> Option<String> {
        match self {
            Target::ClaudeCode => {
                Some(format!("as {id}.jsonl into the folder of your project below ~/.claude/projects"))
            }
            Target::Codex => {
                Some(format!("as rollout-TIME-{id}.jsonl below ~/.codex/sessions/YEAR/MONTH/DAY"))
            }
            Target::GeminiCli | Target::Pi | Target::Opencode => Some("where you like".to_owned()),
            Target::Anthropic | Target::OpenaiChat | Target::Atif | Target::Markdown => None,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions
    OpenaiChat,
}

/// What an input can be said to be.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GivenFormat {
    /// A list of Anthropic Messages
    Anthropic,
    /// A list of OpenAI Chat Completions, in any dialect
    OpenaiChat,
    /// A session of Claude Code
    ClaudeCode,
    /// A rollout of Codex
    Codex,
    /// A session of pi or oh-my-pi
    Pi,
    /// A session that opencode has exported
    Opencode,
    /// A session of Gemini CLI
    GeminiCli,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Thinking {
    On,
    Off,
    /// As the model sees fit
    Adaptive,
}

fn wires() -> PossibleValuesParser {
    PossibleValuesParser::new(WireRules::NAMES)
}

fn wires_and_all() -> PossibleValuesParser {
    PossibleValuesParser::new(WireRules::NAMES.iter().chain(&[ALL_WIRES]))
}
