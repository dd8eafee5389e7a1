//! `trunkline resolve all`: what it will do is shown first, and somebody has to agree.

use serde_json::{Value, json};
use trunkline_runtime::Said;
use trunkline_runtime::resolve_queue::Verdict;

use crate::args::resolve::Resolve;
use crate::commands::resolve::decision::{Came, Outcome, Wish, carry_out};
use crate::commands::resolve::found::{Group, Groups, groups};
use crate::commands::resolve::listing::{heading, line};
use crate::commands::resolve::results::{as_json, exit_of, is_done, places};
use crate::desk::place::{Place, Store};
use crate::shown::close_request::{kind, needs_its_name};
use crate::shown::proposal::{extra_line, state_style};
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::count;

/// Applies or discards all that wait, each with a line of its own.
pub(super) async fn run(args: &Resolve, said: &Said, store: &Store, place: &Place) -> Result<Exit, Fault> {
    if !args.only.is_empty() {
        return Err(Fault::usage("--only chooses from one proposal; name it in place of `all`"));
    }
    let Groups { groups, unread } =
        groups(store.as_ref(), args.session.as_deref(), false, args.cwd.as_deref()).await?;
    for fault in &unread {
        tell(&format!("{} {fault}\n", paint(YELLOW, "cannot be read:")));
    }
    let meant: Vec<(&Group, Vec<Wish>)> = groups
        .iter()
        .map(|group| {
            let waits = group.listed(false).filter(|entry| entry.awaits_decision() && !needs_its_name(entry));
            (group, waits.map(|entry| Wish::on(entry, said.clone())).collect::<Vec<_>>())
        })
        .filter(|(_, wishes)| !wishes.is_empty())
        .collect();
    let number: usize = meant.iter().map(|(_, wishes)| wishes.len()).sum();
    tell(&plan(&groups));
    if let Some(extra) = said.extra.as_ref().filter(|_| number > 0) {
        tell(&format!("each with {}\n", extra_line(extra)));
    }
    if number == 0 {
        let named = groups.iter().flat_map(|group| group.listed(false)).any(needs_its_name);
        tell(if named { "nothing else waits for a decision\n" } else { "nothing waits for a decision\n" });
        if args.json {
            out::print_json(&json!({ "version": 1, "results": [] }))?;
        }
        let others = groups.iter().any(|group| group.listed(false).next().is_some());
        return Ok(if unread.is_empty() && !others { Exit::Done } else { Exit::Failure });
    }
    let (word, past) = match said.verdict {
        Verdict::Approve => ("apply", "applied"),
        Verdict::Discard => ("discard", "discarded"),
    };
    let these = if number == 1 { "it".to_owned() } else { format!("these {number}") };
    match agreed(args.yes, &format!("{word} {these}?")) {
        Answer::Yes => {}
        Answer::No => {
            tell("nothing was decided\n");
            return Ok(Exit::Failure);
        }
        Answer::Nobody => {
            let within =
                args.session.as_ref().map(|named| format!(" -s {}", crate::term::shell::quoted(named)));
            let command = place.command(&format!("resolve all {word}{} --yes", within.unwrap_or_default()));
            return Err(Fault::usage("nothing was decided: nobody can be asked here")
                .hint(format!("if all of them are meant: {command}")));
        }
    }
    let (alone, again) = (meant.len() == 1, |name: &str| format!("resolve all {word} -s {name}"));
    let (mut results, mut acts) = (Vec::new(), out::Acts::default());
    let (mut done, mut left, mut failed) = (0_usize, 0_usize, unread.len());
    for (group, wishes) in &meant {
        let again = again(&group.name);
        let carried_out = carry_out(store, &group.reading.info, wishes, &places(args, place, &again)).await;
        let Outcome { came, in_person } = carried_out.unwrap_or_else(|fault| Outcome {
            // It does not stand in the way of the other sessions.
            came: wishes.iter().map(|_| Came::Refused(fault.as_line())).collect(),
            in_person: true,
        });
        for (wish, came) in wishes.iter().zip(&came) {
            match exit_of(wish, came, in_person) {
                Exit::Done if is_done(wish, came) => done += 1,
                Exit::Done => left += 1,
                _ => failed += 1,
            }
            results.push(as_json(&group.reading.info, wish, came));
            if !args.json {
                let name = if alone { String::new() } else { format!("{}  ", group.name) };
                acts.print(&format!("{name}{}\n", told(wish, came)));
            }
        }
    }
    if args.json {
        out::print_json(&json!({ "version": 1, "results": Value::from(results) }))?;
    }
    let mut sum = format!("{done} {past}");
    if left > 0 {
        sum.push_str(&format!(", {left} left to whoever writes the session"));
    }
    if failed > 0 {
        sum.push_str(&format!(", {failed} not"));
    }
    tell(&format!("{sum}\n"));
    acts.end()?;
    Ok(if failed > 0 { Exit::Failure } else { Exit::Done })
}

/// Shows what is meant, and what is not because it cannot be decided now.
fn plan(groups: &[Group]) -> String {
    let mut plan = String::new();
    let mut other = 0;
    for group in groups {
        let (named, listed): (Vec<_>, Vec<_>) = group.listed(false).partition(|entry| needs_its_name(entry));
        for entry in named.into_iter().filter(|entry| entry.awaits_decision()) {
            let told = format!(
                "passed over: {} of {} is {}, which is decided on by its name\n",
                entry.id,
                group.name,
                kind(entry)
            );
            plan.push_str(&paint(YELLOW, &told));
        }
        let waits: Vec<_> = listed.iter().filter(|entry| entry.awaits_decision()).collect();
        other += listed.len() - waits.len();
        if !waits.is_empty() {
            plan.push_str(&format!("{}\n", heading(group)));
            waits.iter().for_each(|entry| plan.push_str(&line(group, entry, "  ")));
        }
    }
    if other > 0 {
        let told = format!(
            "{} decided already, or has to be compared with the files first\n",
            count(other, "other")
        );
        plan.push_str(&paint(YELLOW, &told));
    }
    plan
}

/// Returns what became of a wish on one line.
fn told(wish: &Wish, came: &Came) -> String {
    match came {
        Came::Stands(state, why) => {
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            format!("{} {}{why}", wish.id, paint(state_style(*state), &state.to_string()))
        }
        Came::Refused(reason) => format!("{} {}: {reason}", wish.id, paint(RED, "not decided")),
        Came::Left => format!("{} {}", wish.id, paint(YELLOW, "left to whoever writes the session")),
    }
}
