//! `trunkline resume`: a session goes on from where it stands.

use trunkline_runtime::objects_taken_in;
use trunkline_runtime::orders::Order;
use trunkline_session_store::{Claim, SessionInfo, SessionStore};

use crate::args::Resume;
use crate::args::terms::{Terms, policy_of};
use crate::desk::letters::{self, Entrance};
use crate::desk::model::{self, Asked, variable};
use crate::desk::place::Place;
use crate::desk::setup::{self, Folder};
use crate::desk::summaries::with_summaries;
use crate::desk::{playback, store};
use crate::live::drive::Drive;
use crate::live::rollback;
use crate::reading::session::Reading;
use crate::term::fault::{Exit, Fault};
use crate::term::stdin::read_stdin;
use crate::term::style::{DIM, paint};
use crate::term::text;

/// `trunkline resume`.
pub(crate) async fn run(args: &Resume, place: &Place) -> Result<Exit, Fault> {
    place.in_folder(args.cwd.as_deref());
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let mut prompt = match args.prompt.as_deref() {
        Some("-") => Some(read_stdin()?),
        typed => typed.map(str::to_owned),
    };
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(Fault::usage("the prompt is empty"));
    }
    if let Some(prompt) = &prompt
        && !args.take_over
        && let Some(holder) = letters::writer(store.as_ref(), &info).await?
    {
        if !args.typed.is_empty() {
            return Err(goes_by_its_own(
                place,
                &store::short_name(store.as_ref(), &info.id).await,
                &holder,
                &args.typed,
            ));
        }
        let request = Order::Prompt { text: prompt.clone() };
        return letters::leave(place, store.as_ref(), &info, "another process", &request, args.wait).await;
    }
    let mut terms = args.terms.clone();
    let mut reading = Reading::load(store.as_ref(), &info).await?;
    // Nothing in it was said to a model, and what is said now would stand among what came from elsewhere.
    if reading.tree().nodes().nth(1).is_none() && holds_objects(store.as_ref(), &info).await? {
        let name = store::short_name(store.as_ref(), &info.id).await;
        let look = place.command(&format!("decisions --status -s {name}"));
        return Err(Fault::usage(format!(
            "session {name} holds imported decision objects, and no conversation to go on with"
        ))
        .hint(format!(
            "see how they stand with `{look}`; begin a session of your own with `trunkline run`"
        )));
    }
    if reading.has_open_rollback() {
        // That needs no model; what stands in the way of going on is told afterwards.
        let ended = rollback::finish_rollback(args, place, &store, &info).await?;
        if let (Some(exit), None) = (ended, &prompt) {
            return Ok(exit);
        }
        reading = Reading::load(store.as_ref(), &store.info(&info.id).await?).await?;
    }
    let played = playback::part_of(&reading);
    let draws = played.is_some();
    let asked = match played {
        // The demo's own terms: its model decides, and its run ends in a commit.
        Some(part) => {
            terms = Terms { json: terms.json, quiet: terms.quiet, ..part.terms };
            prompt = prompt.or(part.prompt.map(str::to_owned));
            Asked::scripted(part.provider, part.words)
        }
        None => {
            let before = model::before(store.as_ref(), &reading).await?;
            let asked = model::open(&args.model, &before, variable)?;
            with_summaries(asked, &args.model, &before, &terms.going_back, variable)?
        }
    };
    let name = store::short_name(store.as_ref(), &info.id).await;
    let again = place.command(&format!("resume {name} -C DIR"));
    let folder = Folder::of(&info, args.cwd.as_deref(), Some(&again))?;
    let drive = Drive::new(place, &args.model, &terms, policy_of(&terms)).beside(asked.tape.clone());
    let drive = drive.asking_about_plans(reading.view().staged().plans.is_on());
    let drive = if draws && !terms.json { drive.drawing() } else { drive };
    drive.progress.begin_with(&going_on(&reading, &name));
    if !folder.is_there() && !draws {
        drive.progress.begin_with(&without_folder(place, &name));
    }
    let agent = drive.agent(asked, &folder, None)?;
    let claim = if args.take_over { Claim::TakeOver } else { Claim::IfFree };
    match letters::enter(&agent, &store, &info, claim).await? {
        Entrance::Mine(mut session) => {
            let bounds = setup::typed_bounds(&terms, &args.typed);
            if !bounds.is_empty() && reading.task().is_some_and(|task| !task.has_ended()) {
                session.order(Order::BoundTask { bounds }).await?;
            }
            drive.go(*session, store.as_ref(), prompt.as_deref()).await
        }
        Entrance::Theirs(holder) => Err(Fault::new(format!("session {name} is being written by {holder}"))
            .hint(format!(
                "stop it with `{}`, say something to it with `{}`, or if it hangs, `{}`",
                place.command(&format!("cancel {name}")),
                place.command(&format!("resume {name} -p \"…\"")),
                place.command(&format!("resume {name} --take-over"))
            ))),
    }
}

/// Returns whether a session is an import of decision objects.
async fn holds_objects(store: &dyn SessionStore, info: &SessionInfo) -> Result<bool, Fault> {
    Ok(objects_taken_in(&store.load(&info.id).await?).next().is_some())
}

/// Refuses to leave words for a run that goes by other terms than those that were typed with them: a plan that was asked for would not
/// be, and nobody would say so.
fn goes_by_its_own(place: &Place, name: &str, holder: &str, typed: &[String]) -> Fault {
    let flags = typed.join(", ");
    let what = format!(
        "session {name} is being written by {holder}, whose run goes by its own terms: {flags} would be ignored"
    );
    let hint = format!(
        "say it without that: `{}`; or become the writer: `{}`",
        place.command(&format!("resume {name} -p \"…\"")),
        place.command(&format!("resume {name} --take-over"))
    );
    Fault::new(what).hint(hint)
}

/// Says what a session cannot do that has no folder, as one that was taken over.
fn without_folder(place: &Place, name: &str) -> String {
    let again = place.command(&format!("resume {name} -C DIR"));
    paint(
        DIM,
        &format!("it has no folder here, so the model has no tools for files; this gives it one: {again}\n"),
    )
}

/// Says what is taken up, and where.
fn going_on(reading: &Reading, name: &str) -> String {
    let info = &reading.info;
    let title = match info.title.is_empty() {
        true => String::new(),
        false => format!(" “{}”", text::one_line(&info.title, 60)),
    };
    paint(DIM, &format!("going on with {name}{title} at {}\n", reading.tree().head()))
}
