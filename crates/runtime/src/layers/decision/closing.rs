//! How a run ends: its evidence, its verdict, and the mark that it is over.

use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, Closing, Considered, DecisionId, Decisions, Evidence, EvidenceId,
    EvidenceKind, Finding as Found, Label, NonBlank, PatchSet, PatchSetId, Run, RunId, Verdict,
};
use trunkline_message_tree::{Author, Origin, Timestamp};
use trunkline_session_store::{Note, Record};
use uuid::Uuid;

use super::patch::patch_set;
use super::{DECIDED, EVIDENCE, LAYER, Mark, OpenRun, PATCH_SET, canonical, harness, mark, time, unfit};
use crate::{Changes, Deciding, RuntimeError};

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
            alternative: Alternative::Named(reason("a branch that was left")?),
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

/// Returns how a verdict is called in the key of a note.
fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Other { .. } => verdict.to_string(),
        told => told.kind().to_string(),
    }
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
        };
        // Which changes a command saw is only certain for the last state, and that has no name before the end.
        let id = EvidenceId::new((ending.new_id)()).map_err(unfit)?;
        Ok(Evidence::new(id, run_id, time(note.at)?, None, finding))
    });
    sealed.collect()
}

/// Returns a tool's word for what it found, or `command` for a word that cannot stand in a verdict.
///
/// The end of a run must not fail on what somebody called something.
fn label(word: &str) -> Result<Label, RuntimeError> {
    Label::new(word).or_else(|_| Label::new("command")).map_err(unfit)
}

/// Keeps a rationale to a length that a record can carry.
fn clip(text: &str) -> String {
    text.trim().chars().take(4000).collect()
}
