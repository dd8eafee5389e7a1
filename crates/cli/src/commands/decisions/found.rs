//! Which session and which run are meant, and by what names they are shown.
//!
//! The verdicts of a store are found by the keys of notes. Those of a session that was written before notes had keys are
//! found with `-s`.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use trunkline_message_tree::MessageTree;
use trunkline_runtime::decision_objects::{DecisionId, RunId};
use trunkline_runtime::{DecidedRun, DecidedRuns, across, decided_runs};
use trunkline_session_store::{Log, SessionId, SessionInfo, SessionStore};

use crate::args::decisions::Decisions;
use crate::commands::decisions::undone::{Since, undone};
use crate::desk::place::Place;
use crate::desk::store;
use crate::shown::session::short;
use crate::term::fault::Fault;
use crate::term::text::{count, one_line};

/// How many are named where one was looked for.
const CANDIDATES: usize = 5;
/// Fewer characters of an id are never shown: the time in it and the dash, as with sessions.
const SHORTEST_ID: usize = 13;
/// The name of the newest decision.
const LAST: &str = "last";

/// A session, read.
pub(super) struct Book {
    pub(super) info: SessionInfo,
    /// The beginning of its id that people are shown.
    pub(super) name: String,
    pub(super) log: Log,
    pub(super) decided: DecidedRuns,
    /// What was said; nothing if its entries do not fit together.
    pub(super) tree: Option<MessageTree>,
    /// What rollbacks have made of decisions since.
    undone: HashMap<DecisionId, Since>,
    /// All ids of the store that have keys, and those of this session, each sorted.
    ids: [Arc<Vec<String>>; 2],
}

/// What is meant.
pub(super) enum Meant {
    /// The decisions of a session.
    Session(Box<Book>),
    /// One run of it.
    Run(Box<Book>, RunId),
}

/// All runs of a store that have keys, and all sessions.
pub(super) struct Known {
    pub(super) sessions: Vec<SessionInfo>,
    pub(super) runs: Vec<KnownRun>,
    /// The ids of both, sorted: shared, since every session is named among them.
    ids: Arc<Vec<String>>,
}

/// A run, as its notes tell it.
pub(super) struct KnownRun {
    pub(super) session: SessionId,
    run: String,
    decision: Option<String>,
    /// When it was decided; an open one counts as the newest.
    at: u64,
    state: String,
}

impl Known {
    pub(super) async fn of(store: &dyn SessionStore) -> Result<Self, Fault> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let mut runs = Vec::new();
        for note in store.notes(&across::verdicts()).await? {
            // What cannot be read has its run's name still.
            let named = serde_json::from_str::<Named>(&note.body).ok().map(|named| named.id);
            runs.push(KnownRun {
                session: note.session,
                run: note.key.key,
                decision: named,
                at: note.at.0,
                state: note.key.state,
            });
        }
        for note in store.notes(&across::open_runs()).await? {
            runs.push(KnownRun {
                session: note.session,
                run: note.key.key,
                decision: None,
                at: u64::MAX,
                state: note.key.state,
            });
        }
        let sessions = store.sessions().await?;
        let named = runs.iter().flat_map(|known| [Some(known.run.clone()), known.decision.clone()]);
        let ids = sessions.iter().map(|info| info.id.as_str().to_owned()).chain(named.flatten());
        let ids = sorted(ids);
        Ok(Known { sessions, runs, ids })
    }
}

fn sorted(ids: impl Iterator<Item = String>) -> Arc<Vec<String>> {
    let mut ids: Vec<String> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    Arc::new(ids)
}

impl Book {
    pub(super) async fn load(
        store: &dyn SessionStore,
        known: &Known,
        info: &SessionInfo,
    ) -> Result<Self, Fault> {
        let log = store.load(&info.id).await?;
        let decided = decided_runs(&log);
        let own = decided.runs.iter().flat_map(|run| {
            [Some(run.id.to_string()), run.decision().map(|decision| decision.id().to_string())]
        });
        let ids = [Arc::clone(&known.ids), sorted(own.flatten())];
        let tree = MessageTree::replay(log.entries().cloned()).ok();
        let name = short(&info.id, &known.sessions).to_owned();
        let undone = undone(&decided);
        Ok(Book { info: log.info.clone(), name, log, decided, tree, undone, ids })
    }

    /// Returns what rollbacks have made of the decision of a run since, if there were any.
    pub(super) fn since(&self, run: &DecidedRun) -> Option<&Since> {
        self.undone.get(&run.decision()?.id())
    }

    /// Returns the shortest beginning of an id that nothing else in the store has.
    pub(super) fn short(&self, id: impl ToString) -> String {
        let id = id.to_string();
        let shared = self.ids.iter().filter_map(|ids| {
            let place = ids.partition_point(|other| *other < id);
            // Whoever shares most with it stands beside it.
            let beside = [place.checked_sub(1), Some(place), Some(place + 1)];
            let others = beside.into_iter().flatten().filter_map(|place| ids.get(place));
            others.filter(|other| **other != id).map(|other| shared(&id, other) + 1).max()
        });
        let shared = shared.max();
        let length = shared.unwrap_or(0).max(SHORTEST_ID);
        let beginning = id.get(..length).unwrap_or(&id);
        // A beginning that ends in a dash looks cut off.
        if beginning.ends_with('-') { id.get(..length + 1).unwrap_or(&id) } else { beginning }.to_owned()
    }

    /// Returns the name under which a run is shown and asked for: its decision's, or its own while it has none.
    pub(super) fn name_of(&self, run: &DecidedRun) -> String {
        match run.decision() {
            Some(decision) => self.short(decision.id()),
            None => self.short(run.id),
        }
    }

    pub(super) fn run(&self, id: RunId) -> Option<&DecidedRun> {
        self.decided.of_run(id)
    }

    /// Returns the runs to be listed, the newest first; an open one is newer than all that were decided.
    pub(super) fn newest_first(&self) -> Vec<&DecidedRun> {
        let mut runs: Vec<&DecidedRun> = self.decided.runs.iter().collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.verdict.as_ref().map_or(u64::MAX, |given| given.seq)));
        runs
    }
}

fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Finds what is meant by what was typed.
pub(super) async fn meant(
    store: &dyn SessionStore,
    known: &Known,
    args: &Decisions,
    place: &Place,
) -> Result<Meant, Fault> {
    let Some(named) = args.named.as_deref().map(str::trim) else {
        let info = store::find(store, args.session.as_deref()).await?;
        return Ok(Meant::Session(Box::new(Book::load(store, known, &info).await?)));
    };
    if args.session.is_some() || named == LAST {
        let info = store::find(store, args.session.as_deref()).await?;
        let book = Book::load(store, known, &info).await?;
        let run = within(&book, named, place)?;
        return Ok(Meant::Run(Box::new(book), run));
    }
    let lower = named.to_ascii_lowercase();
    let fits = |id: &str| !lower.is_empty() && id.starts_with(&lower);
    let sessions: Vec<&SessionInfo> = known.sessions.iter().filter(|info| fits(info.id.as_str())).collect();
    let runs: Vec<&KnownRun> = known
        .runs
        .iter()
        .filter(|known| fits(&known.run) || known.decision.as_deref().is_some_and(fits))
        .collect();
    match (sessions.as_slice(), runs.as_slice()) {
        // A session and its first run may begin with the same time; its list has them all.
        ([info], runs) if runs.iter().all(|run| run.session == info.id) => {
            Ok(Meant::Session(Box::new(Book::load(store, known, info).await?)))
        }
        ([], [one]) => {
            let book = Book::load(store, known, &store.info(&one.session).await?).await?;
            let run = within(&book, &lower, place)?;
            Ok(Meant::Run(Box::new(book), run))
        }
        ([], []) => Err(unknown(known, named, place)),
        (sessions, runs) => Err(several(known, named, sessions, runs, place)),
    }
}

/// Finds a run of a session: the one that was decided last, or by the beginning of its id or its decision's.
fn within(book: &Book, named: &str, place: &Place) -> Result<RunId, Fault> {
    let list = || format!("`{}` lists them", place.command(&format!("decisions -s {}", book.name)));
    if named == LAST {
        let decided = |run: &&&DecidedRun| run.verdict.is_some();
        return match book.newest_first().iter().find(decided) {
            Some(run) => Ok(run.id),
            None => Err(Fault::usage(format!("no run of session {} has a verdict", book.name)).hint(list())),
        };
    }
    let lower = named.to_ascii_lowercase();
    let fits = |run: &&DecidedRun| {
        let decision = run.decision().map(|decision| decision.id().to_string());
        !lower.is_empty()
            && [Some(run.id.to_string()), decision].iter().flatten().any(|id| id.starts_with(&lower))
    };
    let found: Vec<&DecidedRun> = book.decided.runs.iter().filter(fits).collect();
    let shown = one_line(named, 60);
    match found.as_slice() {
        [one] => Ok(one.id),
        [] => {
            // Its verdict may be the one that cannot be read.
            let lost = book.decided.unreadable.iter().find(|record| {
                record.run.as_deref().is_some_and(|run| !lower.is_empty() && run.starts_with(&lower))
            });
            match lost {
                Some(record) => {
                    let fault = Fault::new(format!("record {} cannot be read", record.seq)).hint(format!(
                        "`{}` tells what is wrong",
                        place.command(&format!("decisions --check -s {}", book.name))
                    ));
                    let faults = record.faults.iter().take(CANDIDATES);
                    Err(faults.fold(fault, |fault, line| fault.line(one_line(line, 200))))
                }
                None => Err(Fault::usage(format!("there is no decision {shown:?} in session {}", book.name))
                    .hint(list())),
            }
        }
        found => Err(found.iter().take(CANDIDATES).fold(
            Fault::usage(format!("{shown:?} is the beginning of {}", count(found.len(), "decision"))),
            |fault, run| fault.command("", place.command(&format!("decisions {}", book.name_of(run)))),
        )),
    }
}

/// Says that there is no such thing, and what there is.
fn unknown(known: &Known, named: &str, place: &Place) -> Fault {
    let shown = one_line(named, 60);
    if known.runs.is_empty() {
        return Fault::usage(format!("there is no decision {shown:?}: no run has ended in this store"))
            .hint("`trunkline run` gives a model a task; its end is a decision");
    }
    let mut newest: Vec<&KnownRun> = known.runs.iter().collect();
    newest.sort_by_key(|run| std::cmp::Reverse(run.at));
    let fault =
        Fault::usage(format!("there is no decision, no run and no session {shown:?}; the newest are"));
    let fault = newest.iter().take(CANDIDATES).fold(fault, |fault, run| fault.line(told(run)));
    fault.hint(format!("`{}` lists them all", place.command("decisions --all")))
}

fn several(
    known: &Known,
    named: &str,
    sessions: &[&SessionInfo],
    runs: &[&KnownRun],
    place: &Place,
) -> Fault {
    let shown = one_line(named, 60);
    let found = count(sessions.len() + runs.len(), "id");
    let mut fault = Fault::usage(format!("{shown:?} is the beginning of {found}"));
    for info in sessions.iter().take(CANDIDATES) {
        let name = short(&info.id, &known.sessions);
        fault = fault.command("session   ", place.command(&format!("decisions -s {name}")));
    }
    for run in runs.iter().take(CANDIDATES) {
        fault = fault.line(told(run));
    }
    let more = sessions.len().saturating_sub(CANDIDATES) + runs.len().saturating_sub(CANDIDATES);
    if more > 0 { fault.line(format!("… and {more} more")) } else { fault }
}

fn told(run: &KnownRun) -> String {
    let id = run.decision.as_deref().unwrap_or(&run.run);
    format!("{}  {}", one_line(id, 40), one_line(&run.state, 40))
}
