//! `trunkline decisions --git` and `--commit`: what a repository holds of decisions, beside what this store knows.
//!
//! Reads both, and writes neither. A repository is open to whoever may write to it, so what its refs say is compared with
//! the store where that has the run, and said to be unknown where it has not.

mod checkpoints;
mod known;
mod lines;
mod unbound;

use serde::Serialize;
use trunkline_git_binding::{BoundDecision, By, Found, Held, Repository};

use self::known::{Known, Standing, TO_BIND, line};
use self::lines::as_line;
use crate::args::decisions::Decisions;
use crate::desk::place::Place;
use crate::desk::repository::{open, unbound};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::shell::quoted;
use crate::term::style::{RED, YELLOW, paint};
use crate::term::tell::{self, tell_page};
use crate::term::text::{count, one_line};

/// How many names of a commit's message are told of.
const NAMED: usize = 5;

#[derive(Serialize)]
struct Lost<'a> {
    version: u32,
    reference: &'a str,
    unreadable: &'a str,
}

/// A run whose decision should have a ref here and has none.
#[derive(Serialize)]
struct Missing<'a> {
    version: u32,
    reference: Option<&'a str>,
    run_id: &'a str,
    /// `to_bind` if it was never bound, `gone` if its ref was taken away.
    missing: &'a str,
    session: &'a str,
}

/// Lists what the refs of a folder's repository hold.
pub(super) async fn list(args: &Decisions, place: &Place) -> Result<Exit, Fault> {
    let repository = open(&args.cwd)?;
    let all = repository.all().map_err(unbound)?;
    let known = Known::of(place).await?;
    let mut printed = String::new();
    let mut differ = 0;
    let held = held(&repository, &all.decisions.iter().collect::<Vec<_>>());
    for (bound, held) in all.decisions.iter().zip(&held) {
        let standing = known.standing(&bound.decision);
        differ += usize::from(matches!(standing, Standing::Differs(_)));
        printed.push_str(&match args.json {
            true => line(bound, None, held.as_ref(), &standing),
            false => known.told(bound, None, held.as_ref(), &standing, place),
        });
    }
    if args.json {
        for lost in &all.unreadable {
            printed.push_str(&as_line(&Lost {
                version: 1,
                reference: &lost.reference,
                unreadable: &lost.why,
            }));
        }
    } else {
        out::print(&printed)?;
        for lost in &all.unreadable {
            let (name, why) = (one_line(&lost.reference, 120), one_line(&lost.why, 200));
            tell_page(&format!("{} {name}: {why}\n", paint(YELLOW, "holds no decision:")));
        }
        if all.decisions.is_empty() {
            tell_page("no decision is bound to this repository\n");
            tell::tell_command("bind:  ", &place.command(&there("run \"…\" --commit --bind", args)));
        }
    }
    let missing = known.missing(&all.decisions, &repository);
    for (run, note) in &missing {
        if args.json {
            let state = if note.key.state == TO_BIND { "to_bind" } else { "gone" };
            let session = note.session.as_str();
            printed.push_str(&as_line(&Missing {
                version: 1,
                reference: None,
                run_id: run,
                missing: state,
                session,
            }));
            continue;
        }
        let session = known.name(note);
        // A session knows its own folder, which need not be the one that was named here.
        let (what, label, next) = match note.key.state.as_str() {
            TO_BIND => ("is not bound yet", "bind:  ", format!("resume {session} --bind")),
            _ => ("was bound, and its ref is gone", "look:  ", format!("decisions {run}")),
        };
        tell_page(&format!("{} the decision of run {run} {what}\n", paint(YELLOW, "only in this store:")));
        tell::tell_command(label, &place.command(&next));
    }
    if args.json {
        out::print_lines(printed.as_bytes())?;
    }
    if differ > 0 {
        let refs = count(differ, "ref");
        tell_page(&format!("{} {refs} and this store name different decisions\n", paint(RED, "broken:")));
    }
    let folder = Some(args.cwd.to_string_lossy()).filter(|folder| folder != ".");
    let states_broken = checkpoints::list(&known, &repository, args.json, (place, folder.as_deref()))?;
    let broken = states_broken || differ > 0 || !all.unreadable.is_empty() || !missing.is_empty();
    Ok(if broken { Exit::Broken } else { Exit::Done })
}

/// Finds the decisions behind a commit.
pub(super) async fn find(args: &Decisions, revision: &str, place: &Place) -> Result<Exit, Fault> {
    let repository = open(&args.cwd)?;
    let found = repository.find(revision).map_err(unbound)?;
    let all = repository.all().map_err(unbound)?;
    let known = Known::of(place).await?;
    let of = |found: &Found| all.decisions.iter().find(|bound| bound.decision.run() == found.run);
    // One may have gone since it was found.
    let bound: Vec<(&BoundDecision, By)> =
        found.iter().filter_map(|found| Some((of(found)?, found.by))).collect();
    let held = held(&repository, &bound.iter().map(|(bound, _)| *bound).collect::<Vec<_>>());
    let mut printed = String::new();
    for ((bound, by), held) in bound.iter().zip(&held) {
        let standing = known.standing(&bound.decision);
        printed.push_str(&match args.json {
            true => line(bound, Some(*by), held.as_ref(), &standing),
            false => known.told(bound, Some(*by), held.as_ref(), &standing, place),
        });
    }
    let named = repository.named_commit(revision).map_err(unbound)?;
    let only_here = unbound::of(&known, &named, &all.decisions);
    for one in &only_here {
        printed.push_str(&match args.json {
            true => one.line(),
            false => one.told(&known, place),
        });
    }
    match args.json {
        true => out::print_lines(printed.as_bytes())?,
        false => out::print(&printed)?,
    }
    if found.is_empty() && only_here.is_empty() {
        let revision = one_line(revision, 60);
        let mut fault = Fault::new(format!("no decision is known to stand behind {revision}"));
        for name in named.trailers.iter().take(NAMED) {
            let name = one_line(name, 40);
            fault = fault
                .line(format!("its message names {name}, which is neither bound here nor in this store"));
        }
        return Err(fault.hint(format!(
            "found are: its id, a line Trunkline-Decision or Trunkline-Run in its message, the same change, the same \
             files; `{}` lists all that are bound",
            place.command(&there("decisions --git", args))
        )));
    }
    Ok(Exit::Done)
}

/// Names the folder that was named, so that a command works from where it is pasted.
pub(super) fn there(command: &str, args: &Decisions) -> String {
    match args.cwd.to_str().filter(|folder| *folder != ".") {
        Some(folder) => format!("{command} -C {}", quoted(folder)),
        None => command.to_owned(),
    }
}

/// Asks git where the commits of decisions stand now. What it cannot tell is not told: the list is worth more.
pub(super) fn held(repository: &Repository, bound: &[&BoundDecision]) -> Vec<Option<Held>> {
    let asked: Vec<_> =
        bound.iter().filter_map(|bound| Some((bound.link.commit?, bound.link.branch.as_deref()))).collect();
    let mut answers = repository.held(&asked).unwrap_or_default().into_iter();
    bound.iter().map(|bound| bound.link.commit.and_then(|_| answers.next())).collect()
}
