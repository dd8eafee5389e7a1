//! What can be typed about the store as a whole.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::term::limits::{bytes, milliseconds, seconds_or_wait};

pub(crate) const AFTER_STORE: &str = "\
Opening a store on a server never changes its schema: `migrate` does, once no older program has it open to write. It names those that
do; end them, or let it --wait. From then on an older program is refused. A file is brought up to date when it is opened alone.

--json prints {\"version\":1,\"kind\",\"place\",\"sessions\",\"records\",\"bytes\",…}; of a server also \"schema\",\"schema_version\",
\"newest\",\"owners\":[{\"name\",\"knows\",\"sessions\",\"expires_in_ms\"}],\"tables\",\"settings\",\"warnings\".
Environment: TRUNKLINE_STORE, TRUNKLINE_STORE_PASSWORD_FILE or TRUNKLINE_STORE_PASSWORD_COMMAND, which give a server's password
Exit codes: 0 done · 1 failed, not agreed to, or older programs still write · 2 wrong usage · 3 damaged

Examples:
  trunkline store
  trunkline store path
  trunkline store migrate --dry-run
  trunkline store migrate --wait 10m --yes
  trunkline store distribute
  trunkline store grant red --quota 5GB --password-file red.password
  trunkline store vacuum";

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) act: Option<StoreAct>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreAct {
    /// Show what the store is like, who writes it, and what should be changed; so does `store` alone
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print where the store is, without anything secret
    Path,
    /// Bring the store to the newest version, or make it; shows what it does first
    Migrate(MigrateArgs),
    /// Distribute the store over the servers of a Citus, by session; done again, it does what is left
    Distribute(DistributeArgs),
    /// Make the room of what was deleted usable again; others may go on
    Vacuum,
    /// Make a team: a schema and a role of its own, which others cannot see; or give it other limits
    Grant(GrantArgs),
    /// List the teams of the database, with what they use of their limits
    Teams {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete the sessions whose time has come by the rule of their team
    Prune(TeamPruneArgs),
    /// Remove a team with its sessions and its role; shows first what goes
    Revoke(RevokeArgs),
}

const AFTER_GRANT: &str = "\
The team logs in with the role that is named like it, and its sessions are in the schema of that name. What is not said here stays as it
is; `none` takes a limit away. Over the quota nothing can be added: reading and deleting go on, also for `psql`. One program takes 2
or 3 connections; for many, put PgBouncer before the server, or raise --connections. See \"Teams\" in docs/postgres.md.

Examples:
  trunkline store grant red --quota 5GB --password-file red.password
  trunkline store grant red --quota none --connections 8 --older-than 90d --keep-tag law";

#[derive(Debug, Args)]
#[command(after_help = AFTER_GRANT)]
pub(crate) struct GrantArgs {
    /// Its name: a-z, 0-9 and _
    pub(crate) team: String,
    /// How much its tables and indexes may take on the disk, such as 500MB or 5GB [default: none]
    #[arg(long, value_name = "SIZE|none", value_parser = size_or_none)]
    pub(crate) quota: Option<Bound>,
    /// How many sessions it may have [default: none]
    #[arg(long, value_name = "N|none", value_parser = number_or_none)]
    pub(crate) sessions: Option<Bound>,
    /// How many connections it may have open at once [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: Option<u32>,
    /// Which of its sessions `store prune` deletes: those in which nothing happened for so long [default: none]
    #[arg(long, value_name = "TIME|none", value_parser = time_or_none)]
    pub(crate) older_than: Option<Bound>,
    /// But not those with this tag; can be given more than once
    #[arg(long, value_name = "TAG")]
    pub(crate) keep_tag: Vec<String>,
    /// Give the role the password in this file; a file that is not there is made, with a new password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TeamPruneArgs {
    /// The team; all that have a rule if none is named
    pub(crate) team: Option<String>,
    /// Only say how many would go
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do it unasked
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The team
    pub(crate) team: String,
    /// Do it unasked
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// A limit, or that there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound(pub(crate) Option<u64>);

fn bound(text: &str, read: impl Fn(&str) -> Result<u64, String>) -> Result<Bound, String> {
    match text {
        "none" => Ok(Bound(None)),
        text => read(text).map(|number| Bound(Some(number))).map_err(|words| format!("{words}, or none")),
    }
}

fn size_or_none(text: &str) -> Result<Bound, String> {
    bound(text, bytes)
}

fn time_or_none(text: &str) -> Result<Bound, String> {
    bound(text, milliseconds)
}

fn number_or_none(text: &str) -> Result<Bound, String> {
    bound(text, |text| text.parse().map_err(|_| "write a number".to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// How long to wait for older programs to end, such as 600, 30s or 10m [default: not at all]
    #[arg(long, value_name = "SECONDS", value_parser = seconds_or_wait)]
    pub(crate) wait: Option<u64>,
    /// Only say what would be done, and who hinders it
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do it unasked
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DistributeArgs {
    /// Do it unasked
    #[arg(long, short)]
    pub(crate) yes: bool,
}
