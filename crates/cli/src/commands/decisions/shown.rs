//! One decision, with all that it rests on.

use trunkline_runtime::decision_objects::{
    Alternative, Decision, Digest, Object, PatchSet, Predecessor, RunId, TaskId, Verdict,
};
use trunkline_runtime::{DecidedRun, FoundEvidence, candidates, projected_objects, selections};

use crate::args::decisions::Decisions;
use crate::commands::decisions::found::Book;
use crate::commands::decisions::lines;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::repository;
use crate::shown::candidate::candidate;
use crate::shown::checkpoint;
use crate::shown::decision::{actor, cited, cost, goal, kind, letter, size, state, when, words};
use crate::shown::verdict::{short_commit, verdict};
use crate::term::fault::{Exit, Fault};
use crate::term::style::{self, BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::{count, first_lines, one_line, safe};
use crate::term::{out, tell};

/// How much of each part is shown unless all of it is asked for.
const LINES: usize = 12;
const DIFF_LINES: usize = 200;
const ITEMS: usize = 20;
/// In characters, of one line.
const LINE_LENGTH: usize = 1_000;
/// How much of a digest is shown.
const DIGITS: usize = 12;

/// `trunkline decisions ID`.
pub(super) fn run(args: &Decisions, book: &Book, id: RunId, place: &Place) -> Result<Exit, Fault> {
    let Some(run) = book.run(id) else {
        let list = place.command(&format!("decisions -s {}", book.name));
        return Err(Fault::new("the run is gone").hint(format!("`{list}` lists what is there")));
    };
    if args.json {
        out::print_lines(lines::of_run(book, run).as_bytes())?;
        return Ok(Exit::Done);
    }
    let limit = |usual: usize| if args.full { usize::MAX } else { usual };
    let mut page = Page { shown: String::new(), items: limit(ITEMS), lines: limit(LINES) };
    page.head(book, run);
    page.links(book, run);
    if let Some(patch_set) = run.patch_set() {
        page.changes(patch_set);
        if args.diff {
            page.diff(patch_set, limit(DIFF_LINES));
        }
    }
    page.candidates(book, run, args.diff.then(|| limit(DIFF_LINES)));
    page.evidence(&run.evidence);
    if let Some(decision) = run.decision() {
        page.considered(decision, run);
    }
    page.cites(book, run);
    if let Some(decision) = run.decision() {
        page.part("digest", &format!("{}  of the canonical text", decision.digest()));
    }
    out::print_page(&page.shown)?;
    for (what, command) in next(args, book, run) {
        tell::tell_command(&format!("{what:<10} "), &place.command(&command));
    }
    let state = run.decision().and_then(|decision| decision.verdict().checkpoint_state());
    let folder = repository::elsewhere(book.info.workspace.as_deref());
    if let Some(look) = state.and_then(|state| checkpoint::look(state, folder)) {
        tell::tell_command(&format!("{:<10} ", "the files:"), &look);
    }
    Ok(Exit::Done)
}

/// What can be typed next.
fn next(args: &Decisions, book: &Book, run: &DecidedRun) -> Vec<(&'static str, String)> {
    let (name, id) = (&book.name, book.name_of(run));
    let mut next = Vec::new();
    let has_diff = |patch_set: &PatchSet| patch_set.diff().text().is_some_and(|text| !text.is_empty());
    let of_others =
        || candidates(&book.log).iter().any(|one| one.patch_set.run() == run.id && has_diff(&one.patch_set));
    if !args.diff && (run.patch_set().is_some_and(has_diff) || of_others()) {
        next.push(("the diff:", format!("decisions {id} --diff")));
    }
    if let Some((node, _)) = cited(run).last() {
        next.push(("a node:", format!("show {name} --node {node}")));
    }
    match run.decision() {
        None => next.push(("go on:", format!("resume {name}"))),
        Some(decision) if decision.has_changes() && book.since(run).is_none() => {
            next.push(("take back:", format!("decide rollback {id} -s {name} --dry-run")));
        }
        Some(_) => {}
    }
    if let Some(by) = book.since(run).and_then(|since| book.run(since.first)) {
        next.push(("undone by:", format!("decisions {}", book.name_of(by))));
    }
    next
}

/// Returns what a task is called, and how it stands.
fn task_of(book: &Book, id: TaskId) -> String {
    let (mut title, mut state) = (None, None);
    for (_, object) in projected_objects(&book.log) {
        match object {
            Object::Task(task) if task.id() == id => title = Some(task.content().title.clone()),
            Object::TaskEvent(event) if event.content().task == id => state = Some(event.content().state),
            _ => {}
        }
    }
    let title = title.map_or_else(|| id.to_string(), |title| one_line(title.as_str(), 80));
    let state = match state {
        Some(state) if state.is_terminal() => state.as_str(),
        _ => "open",
    };
    format!("{title}  {}", paint(DIM, state))
}

/// A page that is written part by part.
struct Page {
    shown: String,
    /// How many things of a kind are shown, and how many lines of a text.
    items: usize,
    lines: usize,
}

impl Page {
    /// Adds a line with its name before it.
    fn part(&mut self, name: &str, text: &str) {
        self.shown.push_str(&format!("{}{text}\n", paint(DIM, &format!("{name:<11}"))));
    }

    fn indented(&mut self, text: &str) {
        self.shown.push_str(&format!("  {text}\n"));
    }

    /// Adds a text of several lines, the first of them beside its name.
    fn text(&mut self, name: &str, text: &str) {
        let (lines, more) = first_lines(text.trim(), self.lines);
        for (place, line) in lines.into_iter().enumerate() {
            let name = if place == 0 { name } else { "" };
            let end = line.char_indices().nth(LINE_LENGTH).map(|(end, _)| end);
            let end = end.filter(|_| self.lines != usize::MAX);
            let (line, rest) = line.split_at(end.unwrap_or(line.len()));
            self.part(name, &safe(line));
            self.more(rest.chars().count(), "character");
        }
        self.more(more, "line");
    }

    /// Says that not all was shown.
    fn more(&mut self, more: usize, word: &str) {
        if more > 0 {
            self.indented(&paint(DIM, &format!("… {} more; --full shows all", count(more, word))));
        }
    }

    /// What was decided, by whom, and why.
    fn head(&mut self, book: &Book, run: &DecidedRun) {
        match run.decision() {
            Some(decision) => {
                self.shown.push_str(&format!("{}\n", verdict(decision)));
                self.part("decision", &decision.id().to_string());
            }
            None => {
                let (style, state) = state(run);
                self.shown.push_str(&format!("{} {}\n", paint(style, "◇"), paint(style.bold(), &state)));
            }
        }
        self.part("run", &run.id.to_string());
        let title = one_line(&book.info.title, 80);
        let record = run.verdict.as_ref().map(|given| format!(", record {}", given.seq));
        self.part("session", &format!("{}  {title}{}", book.name, paint(DIM, &record.unwrap_or_default())));
        match &run.opened {
            Some(opened) => {
                let opening = opened.record.opening();
                self.text("for", &opening.goal);
                if let Some(task) = opening.task {
                    self.part("task", &task_of(book, task));
                }
                self.part("opened by", &format!("{}, {}", actor(&opening.actor), when(opening.at, now())));
                if let Some(commit) = &opening.base.commit {
                    self.part("base", &commit.to_string());
                }
            }
            None => self.part("opened", &paint(YELLOW, "how this run was opened cannot be read")),
        }
        if let Some(decision) = run.decision() {
            let by = format!("{}, {}", actor(decision.decided_by()), when(decision.at(), now()));
            self.part("decided by", &by);
            if let Some(approver) = decision.approved_by() {
                self.part("approved by", &format!(" {}", actor(approver)));
            }
            if let Some(reason) = decision.verdict().reason() {
                self.text("reason", reason.as_str());
            }
            if let Verdict::Checkpoint { checkpoint, .. } = decision.verdict() {
                self.text("checkpoint", checkpoint.as_str());
            }
            if let Some(state) = decision.verdict().checkpoint_state() {
                self.part("at node", &one_line(state.node.as_str(), 40));
                for (place, line) in checkpoint::files(state).into_iter().enumerate() {
                    self.part(if place == 0 { "files" } else { "" }, &line);
                }
            }
            if let Some(rationale) = decision.rationale() {
                self.text("rationale", rationale.as_str());
            }
        }
    }

    /// Which runs it follows, and which follow it.
    fn links(&mut self, book: &Book, run: &DecidedRun) {
        let named = |id: RunId| match book.run(id) {
            Some(run) => format!("{}  {}", book.name_of(run), goal(run, 60)),
            None => format!("{id}  {}", paint(DIM, "not in this session")),
        };
        match run.opened.as_ref().and_then(|opened| opened.record.opening().predecessor) {
            Some(Predecessor::RetryOf(first)) => self.part("retries", &named(first)),
            Some(Predecessor::Continues(first)) => self.part("continues", &named(first)),
            None => {}
        }
        for successor in book.decided.successors(run.id) {
            self.part("followed by", &format!(" {}", named(successor.id)));
        }
        let Some(decision) = run.decision() else { return };
        if let Verdict::Rollback { of, .. } = decision.verdict() {
            let undone = book.decided.of_decision(*of);
            self.part("undoes", &undone.map_or_else(|| of.to_string(), |run| named(run.id)));
        }
        let Some(since) = book.since(run) else { return };
        self.part("undone by", &named(since.first));
        if since.last != since.first {
            // A rollback was rolled back.
            let word = if since.is_applied { "applied again" } else { "rolled back again" };
            self.part("now", &format!("{word} by {}", named(since.last)));
        }
    }

    fn changes(&mut self, patch_set: &PatchSet) {
        let base = patch_set.base().map(|base| format!("  on {}", short_commit(&base)));
        let told = format!("{}{}", size(patch_set), paint(DIM, &base.unwrap_or_default()));
        self.part("changes", &told);
        let diff = patch_set.diff().text().unwrap_or_default();
        for file in patch_set.files().iter().take(self.items) {
            let from = match &file.change {
                trunkline_runtime::decision_objects::Change::Renamed { from } => {
                    format!("{} → ", one_line(from.as_str(), 120))
                }
                _ => String::new(),
            };
            let lines = match (file.added_lines, file.deleted_lines) {
                // Git says so of what is no text; of what it was not asked about nobody has counted lines.
                (None, None) if is_binary(diff, file.path.as_str()) => paint(DIM, "  not text"),
                (None, None) => paint(DIM, "  lines not counted"),
                (added, deleted) => format!(
                    "  {} {}",
                    paint(GREEN, &format!("+{}", added.unwrap_or(0))),
                    paint(RED, &format!("−{}", deleted.unwrap_or(0)))
                ),
            };
            let path = one_line(file.path.as_str(), 120);
            self.indented(&format!("{} {from}{path}{lines}", letter(&file.change)));
        }
        self.more(patch_set.files().len().saturating_sub(self.items), "file");
    }

    fn diff(&mut self, patch_set: &PatchSet, limit: usize) {
        match patch_set.diff().text() {
            Some(text) => {
                let (painted, more) = style::diff(text, "  ", limit);
                self.shown.push_str(&painted);
                self.more(more, "line");
            }
            None => {
                let digest = digits(&patch_set.diff().digest());
                self.indented(&paint(
                    DIM,
                    &format!("the diff is too long to be kept; its digest is {digest}"),
                ));
            }
        }
    }

    /// What else was proposed or done, where there was a choice.
    fn candidates(&mut self, book: &Book, run: &DecidedRun, diffs: Option<usize>) {
        let all = candidates(&book.log);
        let of_run: Vec<_> = all.iter().filter(|one| one.patch_set.run() == run.id).collect();
        let chosen = selections(&book.log).into_iter().find(|chosen| chosen.run == run.id.to_string());
        if of_run.len() < 2 && chosen.is_none() {
            return;
        }
        self.part("candidates", &format!(" {}", of_run.len()));
        for one in of_run.iter().take(self.items) {
            let selected =
                chosen.as_ref().filter(|chosen| chosen.patch_set == one.patch_set.id().to_string());
            let mark = selected.map(|chosen| match one_line(&chosen.reason, 100) {
                reason if reason.is_empty() => paint(GREEN, "  ← selected"),
                reason => paint(GREEN, &format!("  ← selected: {reason}")),
            });
            self.indented(&format!("{}{}", candidate(one), mark.unwrap_or_default()));
            // The one of the decision has been shown already, with the changes of the run.
            let is_shown = run.patch_set().is_some_and(|shown| shown.id() == one.patch_set.id());
            if let Some(limit) = diffs.filter(|_| !is_shown) {
                self.diff(&one.patch_set, limit);
            }
        }
        self.more(of_run.len().saturating_sub(self.items), "candidate");
    }

    fn evidence(&mut self, evidence: &[FoundEvidence]) {
        if evidence.is_empty() {
            return;
        }
        self.part("evidence", &count(evidence.len(), "finding"));
        for found in evidence.iter().take(self.items) {
            let finding = found.evidence.finding();
            let (mark, ended) = match finding.exit_code {
                Some(0) => (paint(GREEN, "✓"), "exit 0".to_owned()),
                Some(code) => (paint(RED, "✗"), format!("exit {code}")),
                None => (paint(YELLOW, "!"), "cut off".to_owned()),
            };
            let command = match finding.command.as_deref() {
                Some(command) => one_line(command, 100),
                None => one_line(finding.tool.as_str(), 60),
            };
            let node = found.call.as_ref().map(|call| format!("  {}", call.node)).unwrap_or_default();
            let kind = kind(&finding.kind);
            self.indented(&format!("{mark} {kind}  {}  {ended}{}", paint(BOLD, &command), paint(DIM, &node)));
            if let Some(summary) = finding.summary.as_deref().filter(|summary| !summary.trim().is_empty()) {
                self.indented(&format!("  {}", paint(DIM, &one_line(summary, 160))));
            }
            if let Some(output) = &finding.output {
                self.indented(&format!("  {}", paint(DIM, &format!("output {}", digits(output)))));
            }
        }
        self.more(evidence.len().saturating_sub(self.items), "finding");
    }

    fn considered(&mut self, decision: &Decision, run: &DecidedRun) {
        let considered = decision.considered();
        if considered.is_empty() {
            return;
        }
        let verb = if considered.len() == 1 { "was" } else { "were" };
        self.part("considered", &format!("{} that {verb} not taken", count(considered.len(), "way")));
        for one in considered.iter().take(self.items) {
            let what = match &one.alternative {
                Alternative::Named(name) => one_line(name.as_str(), 80),
                Alternative::Branch(node) => format!("the branch at {}", one_line(node.as_str(), 40)),
                Alternative::PatchSet(id) => match run.patch_set_named(*id) {
                    Some(patch_set) => format!("patch set {id}: {}", size(patch_set)),
                    None => format!("patch set {id}"),
                },
            };
            self.indented(&format!("{what}: {}", one_line(one.reason.as_str(), 200)));
        }
        self.more(considered.len().saturating_sub(self.items), "way");
    }

    /// What it points at: nodes with their first words, proposals, files, the bill.
    fn cites(&mut self, book: &Book, run: &DecidedRun) {
        let nodes = cited(run);
        if !nodes.is_empty() {
            self.part("points at", &count(nodes.len(), "node"));
        }
        for (node, what) in nodes.iter().take(self.items) {
            let words = words(book.tree.as_ref(), *node, 80);
            let what = paint(DIM, &format!("{what:<8}"));
            self.indented(&format!("{:<5} {what}  {words}", node.to_string()));
        }
        self.more(nodes.len().saturating_sub(self.items), "node");
        let Some(cites) = run.decision().map(Decision::cites) else { return };
        let foreign: Vec<String> = cites
            .nodes
            .iter()
            .filter(|name| name.as_str().parse::<trunkline_message_tree::NodeId>().is_err())
            .take(self.items)
            .map(|name| one_line(name.as_str(), 40))
            .collect();
        if !foreign.is_empty() {
            self.part("also", &foreign.join(", "));
        }
        if !cites.proposals.is_empty() {
            let named = cites.proposals.iter().take(self.items).map(|name| one_line(name.as_str(), 20));
            self.part("applied", &named.collect::<Vec<_>>().join(", "));
            self.more(cites.proposals.len().saturating_sub(self.items), "proposal");
        }
        if !cites.files.is_empty() {
            self.part("files", "before → after");
            for file in cites.files.iter().take(self.items) {
                let state = |digest: &Option<Digest>| match digest {
                    Some(digest) => digits(digest),
                    None => format!("{:<DIGITS$}", "no file"),
                };
                let states = format!("{} → {}", state(&file.before), state(&file.after));
                self.indented(&format!("{}  {}", paint(DIM, &states), one_line(file.path.as_str(), 120)));
            }
            self.more(cites.files.len().saturating_sub(self.items), "file");
        }
        if let Some(spent) = &cites.cost {
            self.part("cost", &cost(spent));
        }
    }
}

/// Returns as much of a digest as people compare.
fn digits(digest: &Digest) -> String {
    digest.to_string().chars().take(DIGITS).collect()
}

/// Whether a diff says of a file that it is no text.
fn is_binary(diff: &str, path: &str) -> bool {
    diff.lines()
        .filter_map(|line| line.strip_prefix("Binary files ")?.strip_suffix(" differ"))
        .any(|names| names.ends_with(&format!(" b/{path}")) || names.starts_with(&format!("a/{path} ")))
}
