//! `trunkline audit`: which sessions and message lists a provider would refuse.
//!
//! Reads only, and sends nothing. Files are read by several threads and told of in order, each as soon as it is known.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_sanitize::{Account, FieldFact, Violation, WireRules};
use trunkline_transcripts::{Conversation, Fault as Flaw, FaultKind, Format, Kind, Transcript};

use crate::args::foreign::{ALL_WIRES, Audit, SortBy};
use crate::files::findings::{
    damaged, fault_note, faults_json, halves, kinds, orphans, problems, repeated, violation_lines,
    violations_json,
};
use crate::files::history::{History, end_of, facts, is_own, own_wire, rules_for_files};
use crate::files::in_order::in_order;
use crate::files::overview::{Facts, Row};
use crate::files::search::{Candidate, Taken, of_agents, search};
use crate::files::{agents, beside, overview};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::shell::{program, quoted};
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line, safe};

/// How often progress is told.
const BEAT: Duration = Duration::from_millis(100);

/// Judges everything under the paths.
pub(crate) fn run(args: &Audit) -> Result<Exit, Fault> {
    let is_overview = args.paths.is_empty();
    let found = if is_overview { of_agents() } else { search(&args.paths) };
    // Without a path people look at a list, and the newest is what they look for.
    let sort = args.sort.or(is_overview.then_some(SortBy::Age));
    let mut rows = Vec::new();
    let mut progress = Progress::new(found.files.len());
    let mut tally = Tally { skipped: found.skipped, ..Tally::default() };
    for (path, why) in &found.unreadable {
        tally.unreadable(path, why, args)?;
    }
    in_order(
        &found.files,
        |file| judge(file, args),
        |file, judged| {
            match judged {
                Judged::Foreign(None) => tally.skipped += 1,
                Judged::Foreign(Some(agent)) => *tally.agents.entry(agent).or_default() += 1,
                Judged::Unreadable(why) => {
                    progress.clear();
                    tally.unreadable(&file.path, &why, args)?;
                }
                Judged::Read(sessions) => {
                    for session in &sessions {
                        tally.count(&file.path, session);
                    }
                    let told = sessions.iter().map(|session| session.row(&file.path, args, is_overview));
                    let told = told.filter(|row| !row.text.is_empty());
                    match sort {
                        Some(_) => rows.extend(told),
                        None => {
                            let text: String = told.map(|row| row.text).collect();
                            progress.clear_before(&text);
                            print(&text, args)?;
                        }
                    }
                }
            }
            progress.step();
            Ok(())
        },
    )?;
    progress.clear();
    if let Some(by) = sort {
        overview::sort(&mut rows, by);
        print(&rows.into_iter().map(|row| row.text).collect::<String>(), args)?;
    }
    if is_overview && found.files.is_empty() && !args.json {
        tell(&format!("looked where these agents keep their sessions: {}\n", agents::names()));
    }
    if !args.json {
        out::print(&tally.summary())?;
        tell(&tally.next());
    }
    Ok(tally.exit())
}

fn print(text: &str, args: &Audit) -> Result<(), Fault> {
    match args.json {
        _ if text.is_empty() => Ok(()),
        true => out::print_foreign(text.as_bytes()),
        false => out::print(text),
    }
}

/// A conversation under the rules of some wires.
struct Session {
    id: String,
    kind: Kind,
    title: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    format: Format,
    messages: usize,
    /// What a list shows of it.
    facts: Facts,
    /// What is wrong with its file; many conversations may be of one.
    faults: Arc<[Flaw]>,
    verdicts: Vec<Verdict>,
}

/// What one wire says to it. Where nobody will see more than how many problems there are, no more is kept: a file may
/// hold thousands of conversations that have them in common.
struct Verdict {
    wire: String,
    problems: String,
    violations: Vec<Violation>,
    /// What a conversion to this wire drops anyway, how many and in words; nothing is wrong with it where it came from.
    conversions: Vec<Violation>,
    left_behind: String,
    account: Option<Account>,
    is_broken: bool,
    /// How many problems there are.
    count: usize,
}

enum Judged {
    Foreign(Option<&'static str>),
    Unreadable(String),
    Read(Vec<Session>),
}

fn judge(file: &Candidate, args: &Audit) -> Judged {
    match file.take() {
        Taken::Foreign(agent) => Judged::Foreign(agent),
        Taken::Unreadable(why) => Judged::Unreadable(why),
        Taken::Read(transcript) => {
            let faults: Arc<[Flaw]> = Arc::from(transcript.faults.as_slice());
            let of_file = about(file, &transcript);
            let listed = transcript.listed().iter().enumerate();
            let meant = listed.filter(|(_, listed)| args.all || listed.kind == Kind::Main);
            let conversations = meant.filter_map(|(index, _)| transcript.conversation(index));
            let fields = beside::fields(&transcript);
            let judged = conversations.map(|one| {
                session(one, &fields, transcript.format, of_file.clone(), Arc::clone(&faults), args)
            });
            Judged::Read(judged.collect())
        }
    }
}

/// Returns what a list shows of a file.
fn about(file: &Candidate, transcript: &Transcript) -> Facts {
    let about = file.path.metadata().ok();
    let usage = transcript.usage();
    Facts {
        agent: file.agent.unwrap_or_else(|| transcript.format.name()),
        at: about.as_ref().and_then(overview::written),
        branches: transcript.listed().iter().filter(|listed| listed.kind == Kind::Branch).count(),
        tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        bytes: about.map_or(0, |about| about.len()),
    }
}

fn session(
    conversation: Conversation,
    fields: &[FieldFact],
    format: Format,
    of_file: Facts,
    faults: Arc<[Flaw]>,
    args: &Audit,
) -> Session {
    let end = args.end.unwrap_or_else(|| end_of(format));
    let own = own_wire(format, &conversation.messages);
    let halves = halves(&faults).len();
    let verdict = |rules: WireRules| {
        let mut facts = facts(own, &rules);
        if is_own(own, &rules) {
            facts.fields = fields.to_vec();
        }
        let history = History::new(&conversation.messages, format, &rules, &facts, end);
        let is_shown = args.json || args.verbose;
        let found = history.violations();
        let account = is_shown.then(|| match found.as_slice() {
            [] => Account::default(),
            _ => Account::of(&history.mended().repairs),
        });
        let (mut conversions, mut violations): (Vec<_>, Vec<_>) =
            found.into_iter().partition(Violation::is_conversion);
        let problems = problems(&violations, halves);
        let left_behind = kinds(&conversions, 0);
        let is_broken = !violations.is_empty() || halves > 0;
        let count = violations.len() + halves;
        for found in [&mut violations, &mut conversions] {
            found.truncate(if is_shown { usize::MAX } else { 0 });
            found.shrink_to_fit();
        }
        let wire = rules.name.to_string();
        Verdict { wire, problems, violations, conversions, left_behind, account, is_broken, count }
    };
    Session {
        verdicts: wires(args, own).into_iter().map(verdict).collect(),
        messages: conversation.messages.len(),
        facts: Facts { at: conversation.ended.or(of_file.at), ..of_file },
        id: conversation.id,
        kind: conversation.kind,
        title: conversation.title,
        cwd: conversation.cwd,
        model: conversation.model,
        format,
        faults,
    }
}

impl Session {
    fn row(&self, path: &Path, args: &Audit, is_overview: bool) -> Row {
        let problems = self.verdicts.iter().map(|verdict| verdict.count).max().unwrap_or(0);
        Row {
            facts: self.facts.clone(),
            messages: self.messages,
            problems: problems + self.damaged(),
            text: shown(path, self, args, is_overview),
        }
    }

    /// Counts the lines that cost text, and those that their own client does not read.
    fn damaged(&self) -> usize {
        damaged(&self.faults)
    }
}

fn wires(args: &Audit, own: &str) -> Vec<WireRules> {
    let named: Vec<&str> = match args.wire.as_slice() {
        [] => vec![own],
        names if names.iter().any(|name| name == ALL_WIRES) => WireRules::NAMES.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    named.into_iter().filter_map(rules_for_files).collect()
}

/// Returns how wide the names of the wires get, so that lines can be told one by one and still stand in columns.
fn widest(named: &[String]) -> usize {
    let is_all = named.iter().any(|name| name == ALL_WIRES);
    let names: Vec<&str> = match named {
        // What files are mostly of, so that their lines keep the width that they had.
        [] => vec!["openai-chat"],
        _ if is_all => WireRules::NAMES.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    names.iter().map(|name| name.len()).max().unwrap_or(0)
}

/// Prints a session: a line for each wire, and in an overview one for all.
fn shown(path: &Path, session: &Session, args: &Audit, is_overview: bool) -> String {
    let mut lines = String::new();
    let is_listed = !args.broken || session.verdicts.iter().any(|verdict| verdict.is_broken);
    if is_overview && !args.json && is_listed {
        let columns = overview::columns(&session.facts, session.messages, session.title.as_deref());
        lines.push_str(&format!("{columns}  {}\n", overview::path(&path.display().to_string())));
    }
    let is_told = |fault: &&Flaw| {
        fault.kind.is_damage()
            || matches!(fault.kind, FaultKind::MissingParent { .. } | FaultKind::RepeatedId { .. })
    };
    let mut damage = session.faults.iter().filter(is_told);
    for verdict in session.verdicts.iter().filter(|verdict| !args.broken || verdict.is_broken) {
        if args.json {
            lines.push_str(&format!("{}\n", as_json(path, session, verdict)));
            continue;
        }
        let width = widest(&args.wire);
        match is_overview {
            true => lines.push_str(&format!("  {}\n", verdict_of(session, verdict, width))),
            false => lines.push_str(&line(path, session, verdict, width)),
        }
        if args.verbose {
            for violation in &verdict.violations {
                lines.push_str(&violation_lines(violation, "    "));
            }
            if let Some(account) = verdict.account.as_ref().filter(|_| verdict.is_broken) {
                lines.push_str(&format!("    {}\n", paint(DIM, &format!("a repair would take {account}"))));
            }
            // They are the file's, not the wire's.
            for fault in damage.by_ref() {
                lines.push_str(&format!("    {}\n", paint(YELLOW, &fault_note(fault))));
            }
        }
    }
    lines
}

/// Returns what a wire says in an overview.
fn verdict_of(session: &Session, verdict: &Verdict, width: usize) -> String {
    let (mark, state) = mark_and_state(session, verdict);
    let damaged = match session.damaged() {
        0 => String::new(),
        lines => paint(YELLOW, &format!(" · {}", count(lines, "damaged line"))),
    };
    let left_behind = match verdict.left_behind.as_str() {
        "" => String::new(),
        told => paint(DIM, &format!(" · left behind on the way: {told}")),
    };
    format!("{mark} {:<width$}  {state}{damaged}{left_behind}", verdict.wire)
}

fn mark_and_state(session: &Session, verdict: &Verdict) -> (String, String) {
    // What lost text is not called good, also where a service would take what is left.
    match (verdict.is_broken, session.damaged()) {
        (true, _) => (paint(RED, "✗"), paint(RED, &verdict.problems)),
        (false, 0) => (paint(GREEN, "✓"), paint(GREEN, "ok")),
        (false, _) => (paint(YELLOW, "!"), paint(YELLOW, "damaged")),
    }
}

fn line(path: &Path, session: &Session, verdict: &Verdict, width: usize) -> String {
    let (mark, state) = mark_and_state(session, verdict);
    let who = match &session.kind {
        Kind::Main => String::new(),
        other => format!(" {} {}", word(other), one_line(&session.id, 40)),
    };
    let damaged = match session.damaged() {
        0 => String::new(),
        lines => paint(YELLOW, &format!(" · {}", count(lines, "damaged line"))),
    };
    let orphans = match orphans(&session.faults) {
        0 => String::new(),
        parents => paint(YELLOW, &format!(" · {}", count(parents, "missing parent"))),
    };
    let left_behind = match verdict.left_behind.as_str() {
        "" => String::new(),
        told => paint(DIM, &format!(" · left behind on the way: {told}")),
    };
    let repeated = match repeated(&session.faults) {
        0 => String::new(),
        ids => paint(YELLOW, &format!(" · {}", count(ids, "repeated id"))),
    };
    let title = session.title.as_deref().map(|title| one_line(title, 50)).filter(|title| !title.is_empty());
    let title = title.map(|title| paint(DIM, &format!("  “{title}”"))).unwrap_or_default();
    format!(
        "{mark} {:<width$} {:>14}  {}{who}  {state}{left_behind}{damaged}{orphans}{repeated}{title}\n",
        verdict.wire,
        count(session.messages, "message"),
        paint(BOLD, &one_line(&path.display().to_string(), usize::MAX)),
    )
}

fn as_json(path: &Path, session: &Session, verdict: &Verdict) -> serde_json::Value {
    json!({
        "version": 1,
        "path": path.to_string_lossy(),
        "format": session.format.name(),
        "agent": session.facts.agent,
        "session": session.id,
        "kind": word(&session.kind),
        "title": session.title,
        "cwd": session.cwd,
        "model": session.model,
        "wire": verdict.wire,
        "messages": session.messages,
        "branches": session.facts.branches,
        "tokens": session.facts.tokens,
        "bytes": session.facts.bytes,
        "at": session.facts.at.map(|at| at.0),
        "broken": verdict.is_broken,
        "damaged": session.damaged() > 0,
        "violations": violations_json(&verdict.violations, &halves(&session.faults)),
        "conversions": violations_json(&verdict.conversions, &[]),
        "repairs": verdict.account,
        "faults": faults_json(&session.faults),
    })
}

fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Main => "main",
        Kind::Sidechain { .. } => "sub-agent",
        Kind::Branch => "branch",
        _ => "other",
    }
}

/// What was seen so far.
#[derive(Default)]
struct Tally {
    sessions: usize,
    broken: usize,
    /// Those that no wire refuses and that lost text.
    damaged: usize,
    wires: usize,
    skipped: usize,
    /// How many sessions of agents that are known by name and not read.
    agents: BTreeMap<&'static str, usize>,
    unreadable: usize,
    /// The first that is broken or damaged, and the wire that says so.
    first: Option<(String, String)>,
}

impl Tally {
    fn count(&mut self, path: &Path, session: &Session) {
        self.sessions += 1;
        self.wires = self.wires.max(session.verdicts.len());
        let broken = session.verdicts.iter().find(|verdict| verdict.is_broken);
        let damaged = session.verdicts.first().filter(|_| broken.is_none() && session.damaged() > 0);
        self.broken += usize::from(broken.is_some());
        self.damaged += usize::from(damaged.is_some());
        if let Some(verdict) = broken.or(damaged) {
            // Only what can be typed as it is shown is worth showing; a branch is not repaired by the path alone.
            let typed = path.to_str().filter(|path| safe(path) == *path && !path.contains(['\n', '\t']));
            if let (None, Some(path), Kind::Main) = (&self.first, typed, &session.kind) {
                self.first = Some((path.to_owned(), verdict.wire.clone()));
            }
        }
    }

    fn unreadable(&mut self, path: &Path, why: &str, args: &Audit) -> Result<(), Fault> {
        self.unreadable += 1;
        if args.json {
            let told = json!({ "version": 1, "path": path.to_string_lossy(), "error": why });
            return out::print_foreign(format!("{told}\n").as_bytes());
        }
        let path = one_line(&path.display().to_string(), usize::MAX);
        tell(&format!("{} {path}: {}\n", paint(RED.bold(), "cannot read"), one_line(why, 300)));
        Ok(())
    }

    fn summary(&self) -> String {
        let wires = if self.wires > 1 { format!(" for {} wires", self.wires) } else { String::new() };
        let refused = match (self.broken, self.wires) {
            (0, _) => paint(GREEN, "nothing would be refused"),
            (broken, 0 | 1) => paint(RED, &format!("{broken} would be refused")),
            (broken, _) => paint(RED, &format!("{broken} would be refused by one or more")),
        };
        let mut summary = match self.sessions {
            0 => "no session and no message list found".to_owned(),
            sessions => format!("{} judged{wires}: {refused}", count(sessions, "conversation")),
        };
        if self.damaged > 0 {
            summary.push_str(&paint(YELLOW, &format!("; {} damaged", self.damaged)));
        }
        for (agent, sessions) in &self.agents {
            summary.push_str(&format!("; {} of {agent}, not read", count(*sessions, "session")));
        }
        if self.skipped > 0 {
            summary.push_str(&format!("; {} skipped", count(self.skipped, "other file")));
        }
        if self.unreadable > 0 {
            summary.push_str(&format!("; {} could not be read", self.unreadable));
        }
        summary + "\n"
    }

    /// Says what to type next.
    fn next(&self) -> String {
        let Some((path, wire)) = &self.first else { return String::new() };
        format!(
            "{} {} repair {} --for {wire}\n",
            paint(DIM, "what a repair would do:"),
            program(),
            quoted(path)
        )
    }

    fn exit(&self) -> Exit {
        match (self.broken + self.damaged, self.unreadable) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Failure,
            _ => Exit::Broken,
        }
    }
}

/// Tells how far a long audit is, to somebody who watches.
struct Progress {
    total: usize,
    done: usize,
    next: Option<Instant>,
    /// How wide the line is that stands there now.
    shown: usize,
}

impl Progress {
    fn new(total: usize) -> Self {
        let next = std::io::stderr().is_terminal().then(|| Instant::now() + BEAT);
        Progress { total, done: 0, next, shown: 0 }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.next.is_some_and(|next| Instant::now() >= next) {
            let line = format!("{} of {}", self.done, count(self.total, "file"));
            let _ = write!(std::io::stderr(), "\r{line}");
            self.shown = line.len();
            self.next = Some(Instant::now() + BEAT);
        }
    }

    /// Makes room for what is about to be printed.
    fn clear_before(&mut self, text: &str) {
        if !text.is_empty() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        if self.shown > 0 {
            let _ = write!(std::io::stderr(), "\r{:width$}\r", "", width = self.shown);
            self.shown = 0;
        }
    }
}
