//! A rollback that was cut off, brought to its end.

use trunkline_runtime::decision_objects::{Decision, Verdict};
use trunkline_runtime::{Event, Stop};
use trunkline_session_store::{Claim, SessionInfo};

use crate::args::Resume;
use crate::args::terms::policy_of;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::{Place, Store};
use crate::desk::setup::{self, Folder};
use crate::desk::store;
use crate::live::drive::Drive;
use crate::live::progress::AWAITING_ROLLBACK;
use crate::shown::files::still_staged;
use crate::shown::verdict::verdict;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::tell::{tell, tell_page};

/// Says what became of a rollback that was cut off.
pub(crate) fn finished(ended: &Decision) -> &'static str {
    match ended.verdict() {
        Verdict::Rollback { .. } => "a rollback that was cut off is finished\n",
        _ => "a rollback that was cut off could not be finished and was given up\n",
    }
}

/// Returns how the program ends with that.
pub(crate) fn exit_of(ended: &Decision) -> Exit {
    match ended.verdict() {
        Verdict::Rollback { .. } => Exit::Done,
        _ => Exit::Failure,
    }
}

/// Says that a rollback was cut off and cannot be brought to its end now.
pub(crate) fn stuck(fault: Fault, place: &Place, name: &str) -> Fault {
    let give_up = place.command(&format!("decide abandon \"…\" -s {name}"));
    fault
        .line("a rollback was cut off, and this stands in the way of its rest")
        .hint(format!("mend that and try again, or give it up with `{give_up}`"))
}

/// Brings a rollback that was cut off to its end, for `resume`: that needs no model. `None` if somebody else does it.
pub(crate) async fn finish_rollback(
    args: &Resume,
    place: &Place,
    store: &Store,
    info: &SessionInfo,
) -> Result<Option<Exit>, Fault> {
    let name = store::short_name(store.as_ref(), &info.id).await;
    let again = place.command(&format!("resume {name} -C DIR"));
    let folder = Folder::of(info, args.cwd.as_deref(), Some(&again))?;
    let terms = &args.terms;
    setup::check_terms(terms)?;
    if terms.bind {
        folder.check_binding()?;
    }
    let commits = terms.commit && folder.as_str().is_some();
    let agent = setup::without_model(&folder)?.commits(commits).binds(terms.bind);
    let quiet = terms.quiet;
    let told = move |event: &Event| {
        // What has to be mended is said all the same.
        if !quiet || matches!(event, Event::StillStaged { .. }) {
            tell_event(event);
        }
    };
    let agent = agent.names_decisions(terms.trailer).on_event(told).build()?;
    let claim = if args.take_over { Claim::TakeOver } else { Claim::IfFree };
    let Entrance::Mine(mut session) = letters::enter(&agent, store, info, claim).await? else {
        return Ok(None);
    };
    let Some(ended) = session.finish_rollback().await.map_err(|fault| stuck(fault.into(), place, &name))?
    else {
        return Ok(None);
    };
    if !terms.quiet {
        tell_page(finished(&ended));
        tell_page(&format!("{}\n", verdict(&ended)));
    }
    if terms.json && args.prompt.is_none() {
        let exit = exit_of(&ended);
        let drive = Drive::new(place, &args.model, terms, policy_of(terms));
        out::print_json(&drive.as_json(&session, &Ok(Stop::Decided(Box::new(ended))), &[]))?;
        return Ok(Some(exit));
    }
    Ok(Some(exit_of(&ended)))
}

/// Tells what is waited for, and what a person has to mend.
pub(crate) fn tell_event(event: &Event) {
    match event {
        Event::AwaitingRollback { .. } => tell(&format!("{AWAITING_ROLLBACK}\n")),
        Event::StillStaged { files } => tell_page(&still_staged(files)),
        _ => {}
    }
}
