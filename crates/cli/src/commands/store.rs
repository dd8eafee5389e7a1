//! `trunkline store`: the store as a whole, for the one who looks after it.

mod agreement;
mod distribute;
mod migrate;
mod status;
mod teams;
mod vacuum;

use crate::args::store::{StoreAct, StoreArgs};
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::text::one_line;

/// `trunkline store`.
pub(crate) async fn run(args: &StoreArgs, place: &Place) -> Result<Exit, Fault> {
    match &args.act {
        None => status::run(args.json, place).await,
        Some(StoreAct::Status { json }) => status::run(*json || args.json, place).await,
        Some(StoreAct::Teams { json }) => teams::list(*json || args.json, place).await,
        Some(_) if args.json => Err(Fault::usage("only the status and the teams can be printed as JSON")
            .hint(place.command("store status --json"))),
        Some(StoreAct::Path) => {
            out::print(&format!("{}\n", one_line(&place.to_string(), status::LONGEST)))?;
            Ok(Exit::Done)
        }
        Some(StoreAct::Migrate(args)) => migrate::run(args, place).await,
        Some(StoreAct::Distribute(args)) => distribute::run(args, place).await,
        Some(StoreAct::Vacuum) => vacuum::run(place).await,
        Some(StoreAct::Grant(args)) => teams::grant(args, place).await,
        Some(StoreAct::Prune(args)) => teams::prune(args, place).await,
        Some(StoreAct::Revoke(args)) => teams::revoke(args, place).await,
    }
}
