//! What can be typed about the tools that a project declares.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const AFTER_TOOLS: &str = "\
A project declares tools in .trunkline/tools/NAME.json; docs/tools.md has the format. A model is offered those that you have
trusted, as they are now: any change of the definition, of its program or of a file of the project that it stands on ends that. --yes
of a run trusts nothing. What you trusted is kept in trunkline/trusted_tools.json in your data folder.

--json prints {\"version\":1,\"folder\",\"tools\":[{\"name\",\"trust\",\"access\",\"description\",\"digest\",\"changed\"}],\"refused\":[{\"file\",\"why\"}]}.
Exit codes: 0 done · 1 not agreed to, or it cannot be · 2 wrong usage, or nobody can be asked and --digest is not given

Examples:
  trunkline tools -C ~/project
  trunkline tools show lint
  trunkline tools trust lint
  trunkline tools forget lint";

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) act: Option<ToolsAct>,
    /// The folder of the project
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".", global = true)]
    pub(crate) cwd: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsAct {
    /// Show a tool's definition, and what trusting it means
    Show {
        /// The tool
        name: String,
    },
    /// Show a tool, and trust it if you agree
    Trust {
        /// The tool
        name: String,
        /// Trust it unasked if this is its digest, as `show` prints it
        #[arg(long, value_name = "DIGEST")]
        digest: Option<String>,
    },
    /// Take the trust in a tool back; a run that goes on does not start it again
    Forget {
        /// The tool
        name: String,
    },
}
