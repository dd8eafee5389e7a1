//! The decisions of a session, or of all, the newest first.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use trunkline_message_tree::NodeId;
use trunkline_runtime::DecidedRun;
use trunkline_session_store::{SessionId, SessionStore, StoreError};

use crate::args::decisions::Decisions;
use crate::commands::decisions::found::{Book, Known};
use crate::commands::decisions::lines;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::shown::decision::{actor, changed, cited, cost, goal, state, tally, when};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::{self, tell, tell_page};
use crate::term::text::{count, one_line};

/// What is over sooner needs no telling, and how often more is told.
const PATIENCE: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(250);

/// `trunkline decisions`, of one session.
pub(super) fn one(args: &Decisions, book: &Book, node: Option<NodeId>, place: &Place) -> Result<Exit, Fault> {
    let runs: Vec<&DecidedRun> =
        book.newest_first().into_iter().filter(|run| node.is_none_or(|node| points_at(run, node))).collect();
    if args.json {
        let mut printed: String = runs.iter().map(|run| lines::of_run(book, run)).collect();
        if node.is_none() {
            printed.extend(book.decided.unreadable.iter().map(|record| lines::of_unreadable(book, record)));
        }
        out::print_lines(printed.as_bytes())?;
        return Ok(Exit::Done);
    }
    out::print_page(&section(book, &runs, node))?;
    if node.is_none() {
        unreadable(book, place);
    }
    let Some(first) = runs.iter().find(|run| run.verdict.is_some()).or_else(|| runs.first()) else {
        tell_page(&match node {
            Some(node) => format!("no decision of session {} points at {node}\n", book.name),
            None => format!("no run has begun in session {}\n", book.name),
        });
        return Ok(Exit::Done);
    };
    tell::tell_command("look:  ", &place.command(&format!("decisions {}", book.name_of(first))));
    Ok(Exit::Done)
}

/// `trunkline decisions --all`.
pub(super) async fn all(
    args: &Decisions,
    store: &dyn SessionStore,
    known: &Known,
    place: &Place,
) -> Result<Exit, Fault> {
    let with: BTreeSet<&SessionId> = known.runs.iter().map(|run| &run.session).collect();
    let sessions = known.sessions.iter().filter(|info| with.contains(&info.id));
    let mut progress = Progress::new(with.len());
    let (mut exit, mut is_first, mut newest) = (Exit::Done, true, None);
    for info in sessions {
        let book = match Book::load(store, known, info).await {
            Ok(book) => book,
            // Deleted meanwhile.
            Err(_) if matches!(store.info(&info.id).await, Err(StoreError::UnknownSession { .. })) => {
                continue;
            }
            // It does not hide the others.
            Err(fault) => {
                progress.clear();
                let name = crate::shown::session::short(&info.id, &known.sessions);
                tell_page(&format!("{} {name}: {}\n", paint(YELLOW, "cannot be read:"), fault.as_line()));
                exit = fault.exit();
                continue;
            }
        };
        let runs = book.newest_first();
        progress.clear();
        if args.json {
            let mut printed: String = runs.iter().map(|run| lines::of_run(&book, run)).collect();
            printed.extend(book.decided.unreadable.iter().map(|record| lines::of_unreadable(&book, record)));
            out::print_lines(printed.as_bytes())?;
        } else {
            let gap = if is_first { "" } else { "\n" };
            out::print_page(&format!("{gap}{}", section(&book, &runs, None)))?;
            unreadable(&book, place);
            let decided = runs.iter().find(|run| run.verdict.is_some());
            newest = newest.or_else(|| decided.map(|run| book.name_of(run)));
        }
        is_first = false;
        progress.step();
    }
    progress.clear();
    match newest {
        Some(name) => {
            tell::tell_command("look:  ", &place.command(&format!("decisions {name}")));
        }
        None if is_first => tell_page("no run has begun in this store\n"),
        None => {}
    }
    Ok(exit)
}

fn points_at(run: &DecidedRun, node: NodeId) -> bool {
    cited(run).iter().any(|(cited, _)| *cited == node)
}

/// Says which records cannot be read, and what tells more of them.
fn unreadable(book: &Book, place: &Place) {
    let records = &book.decided.unreadable;
    if records.is_empty() {
        return;
    }
    let verb = if records.len() == 1 {
        "cannot be read and is kept as it is"
    } else {
        "cannot be read and are kept"
    };
    tell_page(&paint(YELLOW, &format!("{} {verb}\n", count(records.len(), "record"))));
    let check = place.command(&format!("decisions --check -s {}", book.name));
    tell::tell_command("what is wrong:  ", &check);
}

/// Returns a session and what is listed of it.
fn section(book: &Book, runs: &[&DecidedRun], node: Option<NodeId>) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let title = match book.info.title.as_str() {
        "" => "(no title)".to_owned(),
        title => one_line(title, 80),
    };
    let archived = if book.info.archived { paint(DIM, "  archived") } else { String::new() };
    let mut section = format!("{}  {title}{archived}\n", paint(BOLD, &book.name));
    let names: Vec<String> = runs.iter().map(|run| book.name_of(run)).collect();
    let states: Vec<_> = runs.iter().map(|run| state(run)).collect();
    let name_width = names.iter().map(String::len).max().unwrap_or(0);
    let state_width = states.iter().map(|(_, state)| state.chars().count()).max().unwrap_or(0);
    for ((run, name), (style, state)) in runs.iter().zip(names).zip(states) {
        let at = match (run.decision(), &run.opened) {
            (Some(decision), _) => when(decision.at(), now()),
            (None, Some(opened)) => format!("begun {}", when(opened.record.opening().at, now())),
            (None, None) => String::new(),
        };
        section.push_str(&format!(
            "  {}  {}  {}  {}\n",
            paint(BOLD, &format!("{name:<name_width$}")),
            paint(style, &format!("{state:<state_width$}")),
            goal(run, 60),
            paint(DIM, &at)
        ));
        let more = second(book, run, node);
        if !more.is_empty() {
            section.push_str(&format!("  {:<name_width$}  {more}\n", ""));
        }
    }
    section
}

/// Returns the second line: what became of it, who, what, what it rests on, what it cost.
fn second(book: &Book, run: &DecidedRun, node: Option<NodeId>) -> String {
    let mut parts = Vec::new();
    if let Some(node) = node {
        let reasons = cited(run).into_iter().filter(|(cited, _)| *cited == node);
        parts.extend(reasons.map(|(node, what)| format!("{node}: {what}")));
    }
    if let Some(since) = book.since(run) {
        let word = if since.is_applied { "applied again by" } else { "rolled back by" };
        parts.push(paint(YELLOW, &format!("{word} {}", book.short(since.by))));
    }
    if let Some(decision) = run.decision() {
        let approved = decision.approved_by().map(|by| format!(", approved by {}", actor(by)));
        let who = format!("by {}{}", actor(decision.decided_by()), approved.unwrap_or_default());
        parts.push(paint(DIM, &who));
    }
    parts.extend(changed(run));
    parts.extend(Some(tally(&run.evidence)).filter(|tally| !tally.is_empty()));
    let spent = run.decision().and_then(|decision| decision.cites().cost.as_ref());
    parts.extend(spent.map(|spent| paint(DIM, &cost(spent))));
    parts.join(&paint(DIM, " · "))
}

/// Tells how many sessions were read, to somebody who watches.
struct Progress {
    total: usize,
    done: usize,
    next: Option<Instant>,
    told: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        let watched = std::io::stderr().is_terminal();
        Progress { total, done: 0, next: watched.then(|| Instant::now() + PATIENCE), told: false }
    }

    fn step(&mut self) {
        self.done += 1;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            (self.next, self.told) = (Some(now + EVERY), true);
            tell(&format!(
                "\r{}",
                paint(DIM, &format!("{} of {} sessions read\u{1b}[K", self.done, self.total))
            ));
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.told) {
            tell("\r\u{1b}[K");
        }
    }
}
