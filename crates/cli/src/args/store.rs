//! What can be typed about the store as a whole.

use clap::{Args, Subcommand};

use crate::term::limits::seconds_or_wait;

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
