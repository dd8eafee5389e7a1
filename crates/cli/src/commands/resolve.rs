//! `trunkline resolve`: what waits for a decision, and the decision.

mod decision;
mod drift;
mod found;
mod listing;
mod planned;
mod results;
mod several;
mod shown;
mod undo;

use serde_json::{Map, Value, json};
use trunkline_runtime::Said;
use trunkline_runtime::resolve_queue::{Effect, Entry, State, Verdict};

use self::decision::{Came, Outcome, Wish, carry_out};
use self::found::{Group, groups, proposal, session_of};
use self::results::{as_json, exit_of, places};
use crate::args::resolve::{Action, Resolve};
use crate::desk::person::user;
use crate::desk::place::Place;
use crate::reading::session::Reading;
use crate::shown::close_request::needs_its_name;
use crate::shown::parts::{chosen, left_out, parts};
use crate::shown::plan;
use crate::shown::proposal::{extra_line, state_style};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// What means every proposal that waits.
const ALL: &str = "all";

/// Lists, shows or decides.
pub(crate) async fn run(args: &Resolve, place: &Place) -> Result<Exit, Fault> {
    place.in_folder(args.cwd.as_deref());
    let store = place.open_existing().await?;
    let within = args.session.is_some() || args.proposal.as_ref().is_some_and(|named| named != ALL);
    if args.cwd.is_some() && !within {
        return Err(Fault::usage("-C names the folder of one session; say which with -s"));
    }
    let Some(named) = &args.proposal else { return listing::run(args, store.as_ref(), place).await };
    if named == ALL {
        let Some(action) = args.action else { return listing::run(args, store.as_ref(), place).await };
        let verdict = match action {
            Action::Apply => Verdict::Approve,
            Action::Discard => Verdict::Discard,
            Action::Undo => return Err(Fault::usage("undo takes back one proposal; name it")),
        };
        if args.edit.is_some() {
            return Err(Fault::usage("--edit changes the text of one plan; name it in place of `all`"));
        }
        return several::run(args, &said(args, verdict)?, &store, place).await;
    }
    let rest = match args.action {
        None => "",
        Some(Action::Apply) => " apply",
        Some(Action::Discard) => " discard",
        Some(Action::Undo) => " undo",
    };
    let info = session_of(store.as_ref(), named, args.session.as_deref(), (place, rest)).await?;
    let group = groups(store.as_ref(), Some(info.id.as_str()), true, args.cwd.as_deref()).await?.groups.pop();
    let Some(group) = group else { return Err(Fault::new("the session is gone")) };
    let entry = proposal(&group.reading, named)?;
    let Some(action) = args.action else { return shown::run(args, &group, entry, place) };

    let verdict = match action {
        Action::Apply => Verdict::Approve,
        Action::Discard => Verdict::Discard,
        Action::Undo if !args.extra.is_empty() => {
            return Err(Fault::usage("--extra goes with apply or discard; undo only proposes"));
        }
        Action::Undo => return undo::run(args, (entry.id, &group.name), &info, &store, place).await,
    };
    let word = match verdict {
        Verdict::Approve => "apply",
        Verdict::Discard => "discard",
    };
    let (name, resume) = (&group.name, place.command(&format!("resume {}", group.name)));
    match entry.state {
        // It would be done as a whole: that was decided before it was put aside.
        State::Stale if is_approved(entry) && !args.only.is_empty() => {
            return Err(Fault::usage(format!("{} is approved already, and not by its parts", entry.id)));
        }
        State::Superseded => {
            return Err(Fault::new(format!("{} was put aside and cannot be decided any more", entry.id))
                .hint(format!("the model can propose it again: {resume}")));
        }
        State::Discarded if verdict == Verdict::Discard && !args.reason.is_empty() => {
            tell("it was discarded before this; what was said then stands\n");
        }
        _ => {}
    }
    let mut said = said(args, verdict)?;
    if let Some(file) = &args.edit {
        said = planned::with_text(args, file, (&group, entry), (verdict, place), said)?;
    }
    if !args.only.is_empty() {
        if verdict == Verdict::Discard {
            return Err(Fault::usage("a part cannot be discarded; apply the others with --only"));
        }
        if !entry.proposal.divisible {
            return Err(Fault::usage(format!("{} is applied as a whole or not at all", entry.id)));
        }
        let parts = parts(entry);
        let (taken, left) = chosen(&parts, args.only.iter().map(String::as_str))?;
        if !left.is_empty() {
            tell(&left_out(&left));
        }
        said = said.only(taken);
    }
    if let Some(extra) = &said.extra {
        tell(&handed(word, extra));
    }
    let wish = Wish::on(entry, said);
    let again = format!("resolve {} {word} -s {name}", entry.id);
    let Outcome { came, in_person } =
        carry_out(&store, &info, std::slice::from_ref(&wish), &places(args, place, &again)).await?;
    let Some(came) = came.first() else { return Err(Fault::new(format!("{} is gone", wish.id))) };
    if args.json {
        out::print_json(&json!({ "version": 1, "results": [as_json(&info, &wish, came)] }))?;
        return Ok(exit_of(&wish, came, in_person));
    }
    let look = place.command(&format!("resolve {} -s {name}", wish.id));
    match came {
        Came::Refused(reason) if group.is_void => {
            return Err(Fault::new(reason.clone()).hint(format!(
                "what came with an import is void; the model can propose it again: {resume}"
            )));
        }
        Came::Refused(reason) if in_person && verdict == Verdict::Discard && can_be_undone(&group, entry) => {
            let undo = place.command(&format!("resolve {} undo -s {name}", entry.id));
            let fault = Fault::new(reason.clone());
            return Err(match entry.state {
                State::Applied => fault.hint(format!("take it back with `{undo}`")),
                // No process is carrying it out: one has died before it.
                State::Approved => {
                    fault.hint(format!("carry it out with `{resume}`, then take it back with `{undo}`"))
                }
                _ => fault,
            });
        }
        Came::Refused(reason) => return Err(Fault::new(reason.clone())),
        Came::Left => tell(&paint(DIM, &format!("  not read yet; see what becomes of it: {look}\n"))),
        Came::Stands(state, why) => {
            let word = if needs_its_name(entry) { plan::word(*state) } else { state.to_string() };
            out::print(&format!("{} {}\n", wish.id, paint(state_style(*state), &word)))?;
            if !why.is_empty() {
                tell(&format!("{why}\n"));
            }
            if in_person {
                let reading = Reading::load(store.as_ref(), &store.info(&info.id).await?).await?;
                let next = match reading.proposals().pending().next() {
                    Some(next) => place.command(&format!("resolve {} -s {name}", next.id)),
                    None => resume,
                };
                tell(&paint(DIM, &format!("  go on:  {next}\n")));
            } else if *state == State::Approved {
                tell(&paint(DIM, &format!("  not done yet; see what becomes of it: {look}\n")));
            }
        }
    }
    Ok(exit_of(&wish, came, in_person))
}

/// Whether it is an edit that can be taken back once it is applied: no command, no plan, no end of a run.
fn can_be_undone(group: &Group, entry: &Entry<Value>) -> bool {
    let is_word = needs_its_name(entry) || group.reading.is_command(entry.id);
    !is_word && entry.proposal.effect == Effect::Reversible
}

fn is_approved<P>(entry: &Entry<P>) -> bool {
    entry.decision.as_ref().is_some_and(|decision| decision.verdict == Verdict::Approve)
}

fn said(args: &Resolve, verdict: Verdict) -> Result<Said, Fault> {
    let mut said = Said::new(verdict, &args.reason);
    said.name = user();
    let mut extra = Map::new();
    for (key, value) in &args.extra {
        if extra.insert(key.clone(), value.clone()).is_some() {
            return Err(Fault::usage(format!("--extra gives {} twice", one_line(key, 60))));
        }
    }
    Ok(if extra.is_empty() { said } else { said.handing(extra) })
}

/// Says what is handed to the tool: it came after the preview, and is part of what is decided.
fn handed(word: &str, extra: &Map<String, Value>) -> String {
    paint(DIM, &format!("{word} with {}\n", extra_line(extra)))
}
