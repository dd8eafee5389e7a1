//! `trunkline resolve p3 undo`: what was applied is proposed to be taken back.

use serde_json::{Value, json};
use trunkline_runtime::RuntimeError;
use trunkline_runtime::orders::{Order, Settled};
use trunkline_runtime::resolve_queue::{Entry, ProposalId};
use trunkline_session_store::SessionInfo;

use crate::args::resolve::Resolve;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::{Place, Store};
use crate::desk::setup::{self, Folder};
use crate::reading::session::Reading;
use crate::shown::proposal::preview;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// Offers the undo, and shows what it would do.
pub(super) async fn run(
    args: &Resolve,
    (id, name): (ProposalId, &str),
    info: &SessionInfo,
    store: &Store,
    place: &Place,
) -> Result<Exit, Fault> {
    if !args.only.is_empty() {
        return Err(Fault::usage("an undo is proposed as a whole; choose with --only when you apply it"));
    }
    let agent = async {
        let again = place.command(&format!("resolve {id} undo -s {name} -C DIR"));
        let folder = Folder::of(info, args.cwd.as_deref(), Some(&again))?;
        Ok(setup::without_model(&folder)?.build()?)
    };
    match letters::enter_free(store, info, agent).await? {
        Entrance::Mine(mut session) => match session.take_back(id).await {
            Ok(_) => {}
            Err(RuntimeError::Refused { reason }) => return refused(args, info, id, &reason),
            Err(fault @ RuntimeError::Proposal(_)) => return refused(args, info, id, &fault.to_string()),
            Err(fault) => return Err(fault.into()),
        },
        Entrance::Theirs(holder) => {
            let request = Order::TakeBack { proposal: id };
            match letters::ask(place, store.as_ref(), info, &holder, &request, args.wait).await? {
                Some(Settled::Refused { reason }) => return refused(args, info, id, &reason),
                Some(_) => {}
                None => {
                    if args.json {
                        out::print_json(&as_json(info, id, None, None))?;
                    }
                    return Ok(Exit::Done);
                }
            }
        }
    }
    let reading = Reading::load(store.as_ref(), &store.info(&info.id).await?).await?;
    let of = |undo: &Option<ProposalId>| *undo == Some(id);
    let offered = reading.waiting().filter(|entry| of(&entry.proposal.undo_of)).last();
    let Some(entry) = offered else { return Err(Fault::new(format!("nothing takes {id} back"))) };
    if args.json {
        out::print_json(&as_json(info, id, Some(entry), None))?;
        return Ok(Exit::Done);
    }
    out::print(&preview(entry, usize::MAX).0)?;
    let undo = entry.id;
    tell(&format!("{undo} takes back what {id} did, once it is applied\n"));
    for command in [format!("resolve {undo} apply -s {name}"), format!("resolve {undo} discard -s {name}")] {
        tell(&paint(DIM, &format!("  {}\n", place.command(&command))));
    }
    Ok(Exit::Done)
}

fn refused(args: &Resolve, info: &SessionInfo, id: ProposalId, reason: &str) -> Result<Exit, Fault> {
    let reason = one_line(reason, 300);
    if !args.json {
        return Err(Fault::new(reason));
    }
    out::print_json(&as_json(info, id, None, Some(&reason)))?;
    Ok(Exit::Failure)
}

/// Returns what was proposed, in the form of a decision's result.
fn as_json(
    info: &SessionInfo,
    undone: ProposalId,
    offered: Option<&Entry<Value>>,
    error: Option<&str>,
) -> Value {
    let (id, state) = (offered.map(|entry| entry.id), offered.map(|entry| entry.state));
    let result =
        json!({ "session": info.id, "proposal": id, "state": state, "error": error, "undo_of": undone });
    json!({ "version": 1, "results": [result] })
}
