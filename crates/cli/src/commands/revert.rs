//! `trunkline revert`: goes back to a node; without one lists the steps back that are proposed, takes one, declines one.

use trunkline_runtime::orders::{Order, StepAnswer};
use trunkline_runtime::revert::ProposalId;

use crate::args::Revert;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::Place;
use crate::desk::setup;
use crate::desk::store;
use crate::live::moving::{Wanted, carry_out, tell_given_up};
use crate::reading::session::Reading;
use crate::shown::moves::told;
use crate::shown::step_back::shown;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{MAGENTA, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// `trunkline revert`.
pub(crate) async fn run(args: &Revert, place: &Place) -> Result<Exit, Fault> {
    let Some(node) = &args.node else { return on_proposed(args, place).await };
    let wanted = Wanted::Revert { to: node, lesson: args.lesson.as_deref() };
    carry_out(args.session.as_deref(), wanted, args.wait, place).await
}

/// `trunkline revert` without a node.
async fn on_proposed(args: &Revert, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let (id, answer) = match (&args.accept, args.decline.as_slice()) {
        (Some(named), _) => (which(named, &reading)?, StepAnswer::Accept),
        (None, [named, reason @ ..]) => {
            let reason = reason.first().cloned();
            (which(named, &reading)?, StepAnswer::Decline { reason })
        }
        (None, []) => return list(&reading),
    };
    let expected_head = reading.tree().head();
    let request = Order::StepBack { proposal: id, answer: answer.clone(), expected_head };
    let agent = async { setup::for_moves(&reading) };
    let mut session = match letters::enter_free(&store, &info, agent).await? {
        Entrance::Mine(session) => session,
        Entrance::Theirs(holder) => {
            return letters::leave(place, store.as_ref(), &info, &holder, &request, args.wait).await;
        }
    };
    let before = session.tree().trunk().ids().to_vec();
    let newest = session.tree().newest();
    session.order(request).await?;
    match answer {
        StepAnswer::Decline { .. } => {
            out::print(&format!("{id} declined\n"))?;
        }
        _ => {
            out::print(&format!("{}\n", paint(MAGENTA, &told(&before, newest, session.tree()))))?;
            tell("files are not changed by this\n");
            let name = store::short_name(store.as_ref(), &info.id).await;
            tell_given_up(&reading, &session, place, &name);
        }
    }
    Ok(Exit::Done)
}

/// Finds the proposal that is meant: the newest open one if none is named.
fn which(named: &str, reading: &Reading) -> Result<ProposalId, Fault> {
    if !named.is_empty() {
        return named
            .parse()
            .map_err(|error| Fault::usage(format!("{error}; got {:?}", one_line(named, 40))));
    }
    let newest = reading.proposed_reverts().next_back().map(|open| open.id);
    newest.ok_or_else(|| Fault::new(NONE))
}

const NONE: &str = "no step back is proposed";

fn list(reading: &Reading) -> Result<Exit, Fault> {
    let lines: String = reading.proposed_reverts().map(|open| format!("{}\n", shown(open))).collect();
    if lines.is_empty() {
        tell(&format!("{NONE}; name the last node to keep, such as n5\n"));
    }
    out::print(&lines)?;
    Ok(Exit::Done)
}
