//! What can be typed to move the head, to merge and to name.

use clap::Args;

pub(crate) const AFTER_MERGE: &str = "\
What is carried over are the notes of a branch and the last words of its model, each with the nodes that it comes from.
Files are not changed by this. `trunkline undo` takes it back.

Examples:
  trunkline merge n12 --dry-run                    what the model would read
  trunkline merge parser n31                       two branches, one of them by its name";

pub(crate) const AFTER_NAME: &str = "\
A branch follows the head as long as the head is on that line, and stays where the head leaves it. A bookmark stays at its
node. A name that is taken moves. Wherever a node is named, its name is understood as well.

Examples:
  trunkline name parser                            the line that goes on here
  trunkline name before-tests n12 --bookmark
  trunkline name parser --delete";

#[derive(Debug, Args)]
pub(crate) struct Go {
    /// The node, such as n5, or a name; inside a group of calls their last result is meant
    pub(crate) node: String,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The ends of the branches: nodes, such as n5, or names
    #[arg(required = true, value_name = "NODE")]
    pub(crate) nodes: Vec<String>,
    /// Only show what the model would read
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Name {
    /// The name; without one, all are listed
    pub(crate) name: Option<String>,
    /// What it names: a node, such as n5, or what has another name [default: the head]
    #[arg(conflicts_with = "delete")]
    pub(crate) node: Option<String>,
    /// Name the node for ever, and not the line that goes through it
    #[arg(long, short, requires = "name")]
    pub(crate) bookmark: bool,
    /// Take the name away
    #[arg(long, short, requires = "name", conflicts_with = "bookmark")]
    pub(crate) delete: bool,
    /// Id, the beginning of one, or `last` [default: last]
    #[arg(long, short, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// If another process writes the session, wait until it has done so
    #[arg(long, requires = "name")]
    pub(crate) wait: bool,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Reflog {
    /// Id, the beginning of one, or `last` [default: last]
    pub(crate) session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
