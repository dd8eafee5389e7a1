//! The run around the turns: opened with a prompt, closed with one verdict.
//!
//! The order of writes at the end is what makes it safe: first a note of what is about to be committed, then the commit,
//! then the decision that names it. A kill in between is mended by looking for what the note names.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{
    Actor, ActorKind, Base as RunBase, Change, Closing, Considered, Decision, DecisionId, Decisions, Diff,
    Evidence, EvidenceId, EvidenceKind, Finding as Found, GitOid, Label, NonBlank, Opening, PatchSet,
    PatchSetId, Predecessor, RelativePath, Run, RunId, RunRecord, Timestamp as RunTime, TouchedFile, Verdict,
};
use trunkline_message_tree::{Author, NodeId, Origin, Timestamp};
use trunkline_session_store::{Note, NoteQuery, Record, SessionId};
use uuid::Uuid;

use crate::{Base, CallPlace, Changes, Deciding, Event, FileChange, Finding, RuntimeError, journal};

pub(crate) const LAYER: &str = "decision";
const OPENED: &str = "opened";
const FINDING: &str = "finding";
const DECIDING: &str = "deciding";
const PATCH_SET: &str = "patch_set";
const EVIDENCE: &str = "evidence";
pub(crate) const DECIDED: &str = "decided";
/// How a run stands: a mark beside `opened` and `decided`, each of which is written once and so cannot tell.
pub(crate) const RUN: &str = "run";
/// The state of a run without a verdict.
pub(crate) const OPEN: &str = "open";

/// The longest diff that is kept in a patch set; a longer one is named by its digest.
const DIFF_KEPT_BYTES: usize = 256 * 1024;

/// A run that has no verdict yet.
pub(crate) struct OpenRun {
    pub(crate) record: RunRecord,
    /// The message that it started from; what comes later belongs to it.
    pub(crate) prompt: NodeId,
    /// The copies of that message that reverts have made.
    copies: Vec<NodeId>,
    /// Where in the log it was opened.
    pub(crate) opened: u64,
    pub(crate) base: Base,
    /// What was about to be committed, and where the head was; it means nothing once the head is elsewhere.
    deciding: Option<DecidingNote>,
    patch_sets: Vec<PatchSet>,
    findings: Vec<FindingNote>,
}

/// What the log holds of this layer.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) run: Option<OpenRun>,
    pub(crate) decisions: Decisions,
    /// The verdicts in the order of the log, each with the node that was the newest when it came.
    pub(crate) verdicts: Vec<(NodeId, Decision)>,
}

#[derive(Serialize, Deserialize)]
struct OpenedNote {
    /// The run's own canonical text.
    run: String,
    prompt: NodeId,
    base: Base,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Mark {
    Open { prompt: NodeId },
    Decided { decision: String },
}

#[derive(Clone, Serialize, Deserialize)]
struct DecidingNote {
    head: NodeId,
    deciding: Deciding,
}

#[derive(Clone, Serialize, Deserialize)]
struct FindingNote {
    call: CallPlace,
    tool: String,
    at: Timestamp,
    finding: Finding,
}

fn bad(note: &Note, fault: impl ToString) -> RuntimeError {
    RuntimeError::BadNote { layer: LAYER.to_owned(), kind: note.kind.clone(), fault: fault.to_string() }
}

fn unfit(fault: impl ToString) -> RuntimeError {
    RuntimeError::Verdict { fault: fault.to_string() }
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note, seq: u64, newest: NodeId) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            OPENED => {
                let opened: OpenedNote = journal::read(note)?;
                let record = RunRecord::parse(opened.run.as_bytes()).map_err(|fault| bad(note, fault))?;
                let OpenedNote { prompt, base, .. } = opened;
                self.run = Some(OpenRun {
                    record,
                    prompt,
                    copies: Vec::new(),
                    opened: seq,
                    base,
                    deciding: None,
                    patch_sets: Vec::new(),
                    findings: Vec::new(),
                });
            }
            FINDING => {
                let finding: FindingNote = journal::read(note)?;
                if let Some(run) = &mut self.run {
                    run.findings.push(finding);
                }
            }
            DECIDING => {
                let deciding: DecidingNote = journal::read(note)?;
                if let Some(run) = &mut self.run {
                    run.deciding = Some(deciding);
                }
            }
            PATCH_SET => {
                let patch_set = PatchSet::parse(note.body.as_bytes()).map_err(|fault| bad(note, fault))?;
                if let Some(run) = &mut self.run {
                    run.patch_sets.push(patch_set);
                }
            }
            DECIDED => {
                let decision = Decision::parse(note.body.as_bytes()).map_err(|fault| bad(note, fault))?;
                self.decisions.admit(decision.clone()).map_err(|fault| bad(note, fault))?;
                if self.run.as_ref().is_some_and(|run| run.record.id() == decision.run()) {
                    self.run = None;
                }
                self.verdicts.push((newest, decision));
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes in that words of a person were copied: a run goes on from the copy of its prompt.
    pub(crate) fn follow(&mut self, copies: &[(NodeId, NodeId)]) {
        let Some(run) = &mut self.run else { return };
        for (original, copy) in copies {
            if run.prompts().any(|prompt| prompt == *original) {
                run.copies.push(*copy);
            }
        }
    }

    /// Returns the lines in which the tests that ran in a turn are summed up.
    #[cfg(feature = "revert")]
    pub(crate) fn tests(&self, turn: NodeId) -> impl Iterator<Item = &str> {
        let findings = self.run.iter().flat_map(|run| &run.findings);
        let tests = findings.filter(move |note| note.call.node == turn && note.finding.kind == "test");
        tests.map(|note| note.finding.summary.as_str())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.run.is_some()
    }

    pub(crate) fn last(&self) -> Option<&Decision> {
        self.verdicts.last().map(|(_, decision)| decision)
    }
}

fn time(at: Timestamp) -> Result<RunTime, RuntimeError> {
    i64::try_from(at.0)
        .ok()
        .and_then(|at| RunTime::from_milliseconds(at).ok())
        .ok_or_else(|| unfit("the clock is off"))
}

fn harness() -> Result<Actor, RuntimeError> {
    Actor::new(ActorKind::System, "trunkline").map_err(unfit)
}

/// Returns the records that open a run. It follows the last one if that was decided to be tried again or continued.
pub(crate) fn open(
    part: &Part,
    id: Uuid,
    goal: &str,
    prompt: NodeId,
    base: Base,
    at: Timestamp,
) -> Result<[Record; 2], RuntimeError> {
    let predecessor = part.last().and_then(|last| match last.verdict() {
        Verdict::Retry { .. } => Some(Predecessor::RetryOf(last.run())),
        Verdict::Checkpoint { .. } => Some(Predecessor::Continues(last.run())),
        _ => None,
    });
    let run_base = RunBase {
        commit: base.commit.as_deref().map(str::parse::<GitOid>).transpose().map_err(unfit)?,
        tree: base.tree.as_deref().map(NonBlank::new).transpose().map_err(unfit)?,
    };
    let id = RunId::new(id).map_err(unfit)?;
    let actor = Actor::new(ActorKind::Human, "user").map_err(unfit)?;
    let opening = Opening { base: run_base, predecessor, ..Opening::new(id, time(at)?, actor, goal) };
    let run = Run::open(opening).map_err(unfit)?;
    let opened = OpenedNote { run: run.record().print(), prompt, base };
    let opened = Note::new(LAYER, OPENED, at, journal::json(&opened)).once(id.to_string(), "");
    Ok([Record::Note(opened), mark(id, OPEN, &Mark::Open { prompt }, at)])
}

fn mark(run: RunId, state: &str, mark: &Mark, at: Timestamp) -> Record {
    Record::Note(Note::new(LAYER, RUN, at, journal::json(mark)).about(run.to_string(), state))
}

/// Returns how a verdict is called in the key of a note.
fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Other { .. } => verdict.to_string(),
        told => told.kind().to_string(),
    }
}

/// Returns the record of what a call proved.
pub(crate) fn finding(
    place: &CallPlace,
    tool: &str,
    finding: Option<Finding>,
    at: Timestamp,
) -> Option<Record> {
    let note = FindingNote { call: place.clone(), tool: tool.to_owned(), at, finding: finding? };
    Some(journal::note(LAYER, FINDING, at, &note))
}

impl OpenRun {
    /// Returns the message that it started from, and its copies.
    pub(crate) fn prompts(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.prompt).chain(self.copies.iter().copied())
    }

    /// Returns whether it loses its prompt when these nodes leave the trunk and those come back.
    pub(crate) fn is_left(&self, left: &[NodeId], back: &[NodeId]) -> bool {
        let mut prompts = self.prompts();
        let stands = |prompt: NodeId| back.contains(&prompt);
        // Where one of them stands, no other does: a copy is made when its original leaves.
        self.prompts().any(|prompt| left.contains(&prompt)) && !prompts.any(stands)
    }

    /// Returns what was about to be committed, if nothing was said since.
    pub(crate) fn deciding(&self, head: NodeId) -> Option<&Deciding> {
        self.deciding.as_ref().filter(|note| note.head == head).map(|note| &note.deciding)
    }
}

/// Returns the records of what is about to be committed: the patch set, and the note that names it.
pub(crate) fn deciding(
    run: &OpenRun,
    deciding: &Deciding,
    changes: &Changes,
    head: NodeId,
    at: Timestamp,
) -> Result<Vec<Record>, RuntimeError> {
    let id = deciding.patch_set.parse().map_err(unfit)?;
    let patch_set = patch_set(run, id, changes)?;
    let note = DecidingNote { head, deciding: deciding.clone() };
    Ok(vec![canonical(PATCH_SET, at, patch_set.print()), journal::note(LAYER, DECIDING, at, &note)])
}

/// What became of the files.
pub(crate) enum Outcome<'a> {
    /// They are as they were.
    Unchanged,
    /// They were changed and left so.
    Changed(&'a Changes),
    /// They were changed, and there was nothing to commit or nobody to allow it.
    Announced(&'a Deciding),
    /// The changes that were about to be committed stand in this commit.
    Committed(&'a Deciding, &'a str),
}

/// What is known at the end of a run.
pub(crate) struct Ending<'a> {
    pub(crate) outcome: Outcome<'a>,
    /// The model's last words.
    pub(crate) answer: &'a str,
    pub(crate) origin: Option<&'a Origin>,
    /// What was tried and left: one line for each lesson.
    pub(crate) considered: Vec<String>,
    pub(crate) refused: bool,
    pub(crate) at: Timestamp,
    pub(crate) new_id: fn() -> Uuid,
}

/// Returns the records that close a run: patch set, evidence, decision.
pub(crate) fn close(run: &OpenRun, ending: &Ending<'_>) -> Result<Vec<Record>, RuntimeError> {
    let run_id = run.record.id();
    let evidence = evidence(run, run_id, ending)?;
    let reason = |text: &str| NonBlank::new(text).map_err(unfit);
    let mut records: Vec<Record> = Vec::new();
    let mut sets: Vec<PatchSet> = Vec::new();
    let applied = |patch_set| -> Result<Verdict, RuntimeError> {
        Ok(Verdict::Other {
            label: Label::new("applied").map_err(unfit)?,
            patch_set: Some(patch_set),
            reason: reason("files were changed and not committed")?,
        })
    };
    // What was announced was recorded together with its announcement.
    let announced = |deciding: &Deciding| -> Result<PatchSetId, RuntimeError> {
        deciding.patch_set.parse().map_err(unfit)
    };
    let verdict = match ending.outcome {
        Outcome::Committed(deciding, commit) => {
            let patch_set = announced(deciding)?;
            sets.extend(run.patch_sets.iter().find(|set| set.id() == patch_set).cloned());
            Verdict::Commit { patch_set, commit: commit.parse().map_err(unfit)? }
        }
        Outcome::Announced(deciding) => {
            let patch_set = announced(deciding)?;
            sets.extend(run.patch_sets.iter().find(|set| set.id() == patch_set).cloned());
            applied(patch_set)?
        }
        Outcome::Changed(changes) => {
            let set = patch_set(run, PatchSetId::new((ending.new_id)()).map_err(unfit)?, changes)?;
            let id = set.id();
            records.push(canonical(PATCH_SET, ending.at, set.print()));
            sets.push(set);
            applied(id)?
        }
        Outcome::Unchanged if ending.refused => Verdict::Abandon { reason: reason("the model declined")? },
        Outcome::Unchanged => Verdict::Other {
            label: Label::new("answered").map_err(unfit)?,
            patch_set: None,
            reason: reason("the model answered and no file was changed")?,
        },
    };
    let decided_by = match ending.origin {
        Some(origin) => {
            Actor::new(ActorKind::Agent, format!("{}/{}", origin.provider, origin.model)).map_err(unfit)?
        }
        None => harness()?,
    };
    let id = DecisionId::new((ending.new_id)()).map_err(unfit)?;
    let mut closing = Closing::new(id, time(ending.at)?, decided_by);
    closing.rationale = NonBlank::new(clip(ending.answer)).ok();
    closing.evidence = &evidence;
    closing.patch_sets = &sets;
    for line in &ending.considered {
        closing.considered.push(Considered {
            alternative: trunkline_decision_objects::Alternative::Named(reason("a branch that was left")?),
            reason: reason(line)?,
        });
    }
    records.extend(evidence.iter().map(|one| canonical(EVIDENCE, ending.at, one.print())));
    records.extend(decide(run, verdict, closing, ending.at)?);
    Ok(records)
}

/// Returns the records that end a run without its work having ended, because its prompt was left, and by whom.
pub(crate) fn abandon(
    run: &OpenRun,
    by: Author,
    id: Uuid,
    at: Timestamp,
) -> Result<[Record; 2], RuntimeError> {
    let (who, decided_by) = match by {
        Author::Person => ("a person", Actor::new(ActorKind::Human, "user").map_err(unfit)?),
        Author::Model => ("the model", harness()?),
        _ => ("a step back", harness()?),
    };
    let why = format!("{who} left the prompt that it started from");
    let verdict = Verdict::Abandon { reason: NonBlank::new(why).map_err(unfit)? };
    let closing = Closing::new(DecisionId::new(id).map_err(unfit)?, time(at)?, decided_by);
    decide(run, verdict, closing, at)
}

/// Returns the verdict, which the store refuses if the run has one, and the mark that the run is over.
fn decide(
    run: &OpenRun,
    verdict: Verdict,
    closing: Closing<'_>,
    at: Timestamp,
) -> Result<[Record; 2], RuntimeError> {
    let open = Run::reopen(run.record.clone(), &Decisions::new()).map_err(unfit)?;
    let (_, decision) = open.decide(verdict, closing).map_err(|undecided| unfit(&undecided.cause))?;
    let (run, word) = (decision.run(), word(decision.verdict()));
    let decided = Note::new(LAYER, DECIDED, at, decision.print()).once(run.to_string(), &word);
    let over = mark(run, &word, &Mark::Decided { decision: decision.id().to_string() }, at);
    Ok([Record::Note(decided), over])
}

/// Returns the query for the verdict that a run has.
pub(crate) fn verdict_of(session: &SessionId, run: &str) -> NoteQuery {
    NoteQuery::of(LAYER, DECIDED).in_session(session.clone()).about(run)
}

/// Makes a record whose body is the object's canonical text, byte for byte.
fn canonical(kind: &str, at: Timestamp, body: String) -> Record {
    Record::Note(Note::new(LAYER, kind, at, body))
}

fn patch_set(run: &OpenRun, id: PatchSetId, changes: &Changes) -> Result<PatchSet, RuntimeError> {
    let files = changes.files.iter().map(|file| {
        Ok(TouchedFile {
            path: path(&file.path)?,
            change: match file.change {
                FileChange::Added => Change::Added,
                FileChange::Modified => Change::Modified,
                FileChange::Deleted => Change::Deleted,
            },
            added_lines: file.added,
            deleted_lines: file.deleted,
        })
    });
    let files = files.collect::<Result<Vec<_>, RuntimeError>>()?;
    let diff = &changes.diff;
    let diff = if diff.len() <= DIFF_KEPT_BYTES {
        Diff::kept(diff.clone())
    } else {
        Diff::named(trunkline_decision_objects::Digest::of(diff.as_bytes()))
    };
    PatchSet::new(id, run.record.id(), run.record.opening().base.commit, files, diff).map_err(unfit)
}

fn evidence(run: &OpenRun, run_id: RunId, ending: &Ending<'_>) -> Result<Vec<Evidence>, RuntimeError> {
    let sealed = run.findings.iter().map(|note| {
        let finding = Found {
            kind: match note.finding.kind.as_str() {
                "test" => EvidenceKind::Test,
                "lint" => EvidenceKind::Lint,
                "build" => EvidenceKind::Build,
                other => EvidenceKind::Other(label(other)?),
            },
            tool: NonBlank::new(note.tool.clone()).map_err(unfit)?,
            command: Some(note.finding.command.clone()),
            exit_code: note.finding.exit_code,
            summary: Some(note.finding.summary.clone()),
            output: None,
        };
        // Which changes a command saw is only certain for the last state, and that has no name before the end.
        let id = EvidenceId::new((ending.new_id)()).map_err(unfit)?;
        Ok(Evidence::new(id, run_id, time(note.at)?, None, None, finding))
    });
    sealed.collect()
}

/// Returns what observers are told of a recorded note.
pub(crate) fn event(note: &Note) -> Option<Event> {
    let body = note.body.as_bytes();
    match (note.layer.as_str(), note.kind.as_str()) {
        (LAYER, OPENED) => Some(Event::RunOpened),
        (LAYER, DECIDED) => Decision::parse(body).ok().map(|decision| Event::Decided(Box::new(decision))),
        _ => None,
    }
}

/// Returns a tool's word for what it found, or `command` for a word that cannot stand in a verdict.
///
/// The end of a run must not fail on what somebody called something.
fn label(word: &str) -> Result<Label, RuntimeError> {
    Label::new(word).or_else(|_| Label::new("command")).map_err(unfit)
}

/// Returns a path as a verdict can hold it; characters that it cannot hold are written `%` and their bytes in hex.
fn path(path: &str) -> Result<RelativePath, RuntimeError> {
    let escaped = || -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        path.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    RelativePath::new(path).or_else(|_| RelativePath::new(escaped())).map_err(unfit)
}

/// Keeps a rationale to a length that a record can carry.
fn clip(text: &str) -> String {
    text.trim().chars().take(4000).collect()
}
