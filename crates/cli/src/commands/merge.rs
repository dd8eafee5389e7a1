//! `trunkline merge`: what came of other branches is carried into this one.

use trunkline_runtime::revert;

use crate::args::moves::Merge;
use crate::desk::place::Place;
use crate::desk::store;
use crate::live::moving::{Wanted, carry_out, targets, unknown_node};
use crate::reading::session::Reading;
use crate::shown::moves::carried;
use crate::shown::nodes::listed;
use crate::term::fault::{Exit, Fault};
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::{out, screen};

/// `trunkline merge`.
pub(crate) async fn run(args: &Merge, place: &Place) -> Result<Exit, Fault> {
    if !args.dry_run {
        let wanted = Wanted::Merge { tips: &args.nodes };
        return carry_out(args.session.as_deref(), wanted, args.wait, place).await;
    }
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let tips = targets(&args.nodes, &reading)?;
    let planned = revert::merge(reading.tree(), reading.notes(), &tips)
        .map_err(|refusal| unknown_node(&tips, reading.tree(), refusal.to_string()))?;
    let heading = format!("would merge {} after {}", listed(&planned.with), planned.into);
    out::print(&carried(&heading, &planned.sentences, planned.left_out, screen::width()))?;
    tell(&paint(DIM, "nothing was changed\n"));
    Ok(Exit::Done)
}
