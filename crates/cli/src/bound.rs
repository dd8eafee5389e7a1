//! `trunkline decisions --git` and `--commit`: what a repository holds of decisions, beside what this store knows.
//!
//! Reads both, and writes neither. A repository is open to whoever may write to it, so what its refs say is compared with
//! the store where that has the run, and said to be unknown where it has not.

mod unbound;

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_git_binding::{BoundDecision, By, Found, Held, Repository};
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::{Decision, Digest, RunId};
use trunkline_session_store::{FoundNote, SessionInfo};

use crate::args::decisions::Decisions;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::repository::{open, same_repository, unbound};
use crate::shown::session::short;
use crate::shown::time::ago;
use crate::shown::verdict::{outcome, short_commit, verdict_style};
use crate::term::fault::{Exit, Fault};
use crate::term::shell::quoted;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::tell::{self, tell_page};
use crate::term::text::{count, one_line};
use crate::term::{out, screen};

/// How a run stands with a repository: its decision is to be bound, or was.
const TO_BIND: &str = "to_bind";
const IS_BOUND: &str = "bound";
/// How many names of a commit's message are told of.
const NAMED: usize = 5;

/// What this store knows of the decisions of runs.
#[derive(Default)]
pub(crate) struct Known {
    sessions: Vec<SessionInfo>,
    /// The verdicts, by their runs.
    verdicts: HashMap<String, FoundNote>,
    /// How runs stand with a repository: to be bound, or bound, by their runs.
    bindings: HashMap<String, FoundNote>,
}

/// How a ref stands to this store.
enum Standing<'a> {
    Same(&'a FoundNote),
    Differs(&'a FoundNote),
    Absent,
}

#[derive(Serialize)]
pub(crate) struct Line<'a> {
    version: u32,
    /// None of a decision that only this store has.
    reference: Option<&'a str>,
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
    decision: Option<Box<RawValue>>,
    digest: String,
    commit: Option<String>,
    tree: Option<String>,
    base: Option<String>,
    patch_id: Option<String>,
    /// Which one was moved to the commit.
    branch: Option<&'a str>,
    /// What holds the commit now: `branch`, `none`, or `gone` if there is no such commit.
    held: Option<&'static str>,
    held_by: Option<&'a str>,
    /// `same`, `differs` or `absent`.
    store: &'static str,
    session: Option<&'a str>,
}

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
pub(crate) async fn list(args: &Decisions, place: &Place) -> Result<Exit, Fault> {
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
    let broken = differ > 0 || !all.unreadable.is_empty() || !missing.is_empty();
    Ok(if broken { Exit::Broken } else { Exit::Done })
}

/// Finds the decisions behind a commit.
pub(crate) async fn find(args: &Decisions, revision: &str, place: &Place) -> Result<Exit, Fault> {
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
fn there(command: &str, args: &Decisions) -> String {
    match args.cwd.to_str().filter(|folder| *folder != ".") {
        Some(folder) => format!("{command} -C {}", quoted(folder)),
        None => command.to_owned(),
    }
}

/// Asks git where the commits of decisions stand now. What it cannot tell is not told: the list is worth more.
fn held(repository: &Repository, bound: &[&BoundDecision]) -> Vec<Option<Held>> {
    let asked: Vec<_> =
        bound.iter().filter_map(|bound| Some((bound.link.commit?, bound.link.branch.as_deref()))).collect();
    let mut answers = repository.held(&asked).unwrap_or_default().into_iter();
    bound.iter().map(|bound| bound.link.commit.and_then(|_| answers.next())).collect()
}

impl Known {
    async fn of(place: &Place) -> Result<Self, Fault> {
        // A repository can be read where no session was ever made.
        if !place.exists() {
            return Ok(Known::default());
        }
        let store = place.open().await?;
        let by_run =
            |notes: Vec<FoundNote>| notes.into_iter().map(|note| (note.key.key.clone(), note)).collect();
        Ok(Known {
            sessions: store.sessions().await?,
            verdicts: by_run(store.notes(&across::verdicts()).await?),
            bindings: by_run(store.notes(&across::bindings()).await?),
        })
    }

    fn standing(&self, decision: &Decision) -> Standing<'_> {
        match self.verdicts.get(&decision.run().to_string()) {
            None => Standing::Absent,
            Some(note) if Digest::of(note.body.as_bytes()) == decision.digest() => Standing::Same(note),
            Some(note) => Standing::Differs(note),
        }
    }

    fn name<'a>(&self, note: &'a FoundNote) -> &'a str {
        short(&note.session, &self.sessions)
    }

    /// The runs of sessions in this repository that should have a ref and have none.
    fn missing<'a>(
        &'a self,
        bound: &[BoundDecision],
        repository: &Repository,
    ) -> Vec<(&'a str, &'a FoundNote)> {
        let there: std::collections::HashSet<String> =
            bound.iter().map(|bound| bound.decision.run().to_string()).collect();
        // A store may have sessions of many folders, each of which is looked up once.
        let mut folders: HashMap<&str, bool> = HashMap::new();
        let worked_in: HashMap<&str, &str> = self
            .sessions
            .iter()
            .filter_map(|info| Some((info.id.as_str(), info.workspace.as_deref()?)))
            .collect();
        let mut missing: Vec<(&str, &FoundNote)> = Vec::new();
        for (run, note) in &self.bindings {
            if there.contains(run) || !matches!(note.key.state.as_str(), TO_BIND | IS_BOUND) {
                continue;
            }
            // An import can call a run anything, and its name becomes part of a command.
            if run.parse::<RunId>().is_err() {
                continue;
            }
            let Some(path) = worked_in.get(note.session.as_str()).copied() else { continue };
            if *folders.entry(path).or_insert_with(|| same_repository(repository, Path::new(path))) {
                missing.push((run, note));
            }
        }
        missing.sort_unstable_by_key(|(run, _)| *run);
        missing
    }

    /// Tells of one, in lines that fit the screen.
    fn told(
        &self,
        bound: &BoundDecision,
        by: Option<By>,
        held: Option<&Held>,
        standing: &Standing<'_>,
        place: &Place,
    ) -> String {
        let decision = &bound.decision;
        let mut head = first_lines(decision, by);
        if let Some(commit) = &bound.link.commit {
            let stands = stands(held, bound.link.branch.as_deref());
            head.push_str(&format!("  commit {}{stands}\n", short_commit(commit)));
        }
        head.push_str(&rationale(decision));
        let standing = match standing {
            Standing::Same(note) => {
                let show = place.command(&format!("decisions {} -s {}", decision.run(), self.name(note)));
                let line = screen::command_line(GREEN, "as in this store  ", &show);
                return format!("{}{line}", screen::page(&head));
            }
            Standing::Differs(note) => format!(
                "  {} session {} has another decision of this run, with the digest {}; this one has {}\n",
                paint(RED, "differs from this store:"),
                self.name(note),
                Digest::of(note.body.as_bytes()),
                decision.digest()
            ),
            Standing::Absent => format!("  {}\n", paint(YELLOW, "not in this store")),
        };
        screen::page(&(head + &standing)).into_owned()
    }
}

/// What is decided, and by what it was found.
pub(crate) fn first_lines(decision: &Decision, by: Option<By>) -> String {
    let at = u64::try_from(decision.at().milliseconds()).unwrap_or(0);
    let found = by.map(|by| format!("  found by {}\n", words(by))).unwrap_or_default();
    format!(
        "{}  {}  {}\n{found}",
        paint(BOLD, &decision.id().to_string()),
        paint(verdict_style(decision.verdict()), &outcome(decision)),
        paint(DIM, &ago(trunkline_message_tree::Timestamp(at), now())),
    )
}

pub(crate) fn rationale(decision: &Decision) -> String {
    let words = decision.rationale().map(|words| one_line(words.as_str(), 100));
    words.map(|words| format!("  {}\n", paint(DIM, &words))).unwrap_or_default()
}

/// Says what holds a commit now, after its name. What was moved to it when it was bound is of interest where that changed.
fn stands(held: Option<&Held>, moved: Option<&str>) -> String {
    let name = |name: &str| one_line(name.strip_prefix("refs/heads/").unwrap_or(name), 80);
    match (held, moved) {
        (Some(Held::Branch(branch)), Some(moved)) if branch != moved => {
            format!(" on {}, no longer on {}", name(branch), name(moved))
        }
        (Some(Held::Branch(branch)), _) => format!(" on {}", name(branch)),
        (Some(Held::SomeBranch), Some(moved)) => format!(", no longer on {}", name(moved)),
        (Some(Held::NoBranch), Some(moved)) => {
            format!(", made on {}: no branch holds it any more", name(moved))
        }
        (Some(Held::NoBranch), None) => ": no branch holds it".to_owned(),
        (Some(Held::Gone), Some(moved)) => {
            format!(", made on {}: it is gone from this repository", name(moved))
        }
        (Some(Held::Gone), None) => ": it is gone from this repository".to_owned(),
        _ => String::new(),
    }
}

fn words(by: By) -> &'static str {
    match by {
        By::Commit => "its id",
        By::Trailer => "the line in its message (a claim: anybody can write it)",
        By::PatchId => "the change that it makes",
        By::Tree => "the files that it has",
        By::Mention => "its message, which names it in passing (a claim: anybody can write it)",
        _ => "a way that this release does not know",
    }
}

pub(crate) fn key(by: By) -> &'static str {
    match by {
        By::Commit => "commit",
        By::Trailer => "trailer",
        By::PatchId => "patch_id",
        By::Tree => "tree",
        By::Mention => "mention",
        _ => "other",
    }
}

fn line(bound: &BoundDecision, by: Option<By>, held: Option<&Held>, standing: &Standing<'_>) -> String {
    let link = &bound.link;
    let (store, session) = match standing {
        Standing::Same(note) => ("same", Some(note.session.as_str())),
        Standing::Differs(note) => ("differs", Some(note.session.as_str())),
        Standing::Absent => ("absent", None),
    };
    as_line(&Line {
        version: 1,
        reference: Some(&bound.reference),
        run_id: bound.decision.run().to_string(),
        found_by: by.map(key),
        decision: RawValue::from_string(bound.decision.print()).ok(),
        digest: bound.decision.digest().to_string(),
        commit: link.commit.map(|oid| oid.to_string()),
        tree: link.tree.map(|oid| oid.to_string()),
        base: link.base.map(|oid| oid.to_string()),
        patch_id: link.patch_id.map(|oid| oid.to_string()),
        branch: link.branch.as_deref(),
        held: held.map(|held| match held {
            Held::NoBranch => "none",
            Held::Gone => "gone",
            _ => "branch",
        }),
        held_by: held.and_then(|held| match held {
            Held::Branch(name) => Some(name.as_str()),
            _ => None,
        }),
        store,
        session,
    })
}

pub(crate) fn as_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is plain data with text keys") + "\n"
}
