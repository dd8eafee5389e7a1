//! How a run ends: its evidence, its verdict, and the mark that it is over.
//!
//! The order of writes at the end is what makes it safe: first a note of what is about to be committed, then the commit,
//! then the decision that names it. A kill in between is mended by looking for what the note names.

use trunkline_decision_objects::{
    Actor, ActorKind, Alternative, CheckpointState, Citations, Closing, Considered, Decision, DecisionId,
    Decisions, Digest, Evidence, EvidenceId, EvidenceKind, Finding as Found, Label, NonBlank, PatchSet,
    PatchSetId, Run, Timestamp as RunTime, Verdict,
};
use trunkline_message_tree::{Author, NodeId, Origin, Timestamp};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::notes;
use crate::notes::decision::unfit;
use crate::rules::opening::time;
use crate::rules::patch::{Moved, patch_set};
use crate::state::decision::OpenRun;
use crate::words::close_as::{CloseAs, PROMPT_LEFT};
use crate::words::error::RuntimeError;
use crate::words::files::{Changes, Deciding, Left, WorkspaceFault};

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

/// A commit that has the changes already.
pub(crate) struct Stands<'a> {
    /// In hex.
    pub(crate) commit: &'a str,
    /// Whether a command of the run has made it, and nobody else.
    pub(crate) by_the_run: bool,
}

/// Why nobody sees what a run changes.
#[derive(Clone, Copy)]
pub(crate) enum Unseen {
    /// The agent was not told where the files are.
    NoWorkspace {
        /// Whether proposals were applied.
        applied: bool,
    },
    /// Without version control nobody sees what commands change.
    NoVersionControl,
}

/// Who ends a run, and why.
pub(crate) enum How<'a> {
    /// The model, with its last words.
    Ended {
        /// Who answered.
        origin: Option<&'a Origin>,
        /// Whether it declined.
        refused: bool,
    },
    /// A person, before it had ended by itself.
    Closed(&'a CloseAs),
    /// A person, by taking back what this decision had brought about.
    RolledBack(DecisionId),
    /// Whoever has left the prompt that it started from.
    Left(Author),
}

/// What is known at the end of a run.
pub(crate) struct Ending<'a> {
    pub(crate) outcome: Outcome<'a>,
    /// Where the changes stand already.
    pub(crate) stands: Option<Stands<'a>>,
    /// Whether it has changed something, and nothing of it is left.
    pub(crate) gone: bool,
    /// Why nobody has seen what it may have changed.
    pub(crate) unseen: Option<Unseen>,
    /// Why it is not known what was changed.
    pub(crate) unknown: Option<&'a WorkspaceFault>,
    pub(crate) how: How<'a>,
    /// The model that asked to end it so, where that was approved.
    pub(crate) asked_by: Option<Actor>,
    /// The model's last words.
    pub(crate) answer: String,
    /// Where the head is then.
    pub(crate) head: NodeId,
    /// How the changed files were and are.
    pub(crate) left: Option<&'a Left>,
    /// Which of them were moved.
    pub(crate) moved: Moved,
    /// What it rests on beside the evidence.
    pub(crate) cites: Citations,
    /// Who approved what was applied.
    pub(crate) approved_by: Option<Actor>,
    /// That its commit was on the branch, and that somebody has taken it off.
    pub(crate) taken_back: Option<&'a str>,
    /// What was tried and left, by the last node of each branch, with the lesson from it.
    pub(crate) considered: Vec<(Option<NodeId>, String)>,
    /// What a person did not want of what was proposed, with why.
    pub(crate) rejected: Vec<(String, String)>,
    pub(crate) at: Timestamp,
    /// Names that were never used: for the decision, for each piece of evidence, and for the patch set if it needs one.
    pub(crate) ids: &'a [Uuid],
    /// What a checkpoint names beside its words.
    pub(crate) state: Option<CheckpointState>,
}

/// Returns the records that close a run (patch set, evidence, decision), and the decision in them.
pub(crate) fn close(run: &OpenRun, ending: &Ending<'_>) -> Result<(Vec<Record>, Decision), RuntimeError> {
    let id = match ending.outcome {
        // Its name stands in the commit already.
        Outcome::Committed(Deciding { decision: Some(named), .. }, _) => named.parse().map_err(unfit)?,
        _ => DecisionId::new(name(ending, 0)?).map_err(unfit)?,
    };
    let evidence = evidence(run, id, ending)?;
    let mut records: Vec<Record> = Vec::new();
    let mut sets: Vec<PatchSet> = Vec::new();
    let patch_set = match ending.outcome {
        Outcome::Unchanged => None,
        // What was announced was recorded together with its announcement.
        Outcome::Committed(deciding, _) | Outcome::Announced(deciding) => {
            let id: PatchSetId = deciding.patch_set.parse().map_err(unfit)?;
            sets.extend(run.patch_sets.iter().find(|set| set.id() == id).cloned());
            Some(id)
        }
        Outcome::Changed(changes) => {
            let set = patch_set(
                run,
                PatchSetId::new(name(ending, run.findings.len() + 1)?).map_err(unfit)?,
                changes,
                &ending.moved,
                ending.left,
            )?;
            let id = set.id();
            records.push(notes::decision::patch_set(&set, ending.at));
            sets.push(set);
            Some(id)
        }
    };
    let verdict = verdict(ending, patch_set, keeps_task(run, &ending.how))?;
    let by = ending.asked_by.clone().map_or_else(|| decided_by(&ending.how), Ok)?;
    let mut closing = Closing::new(id, time_in(run, ending.at)?, by);
    closing.rationale = match &ending.how {
        How::Ended { .. } => NonBlank::new(clip(&ending.answer)).ok(),
        // A rollback whose commit was taken off has brought the files back all the same, and has no other place for it.
        How::Closed(_) | How::RolledBack(_) | How::Left(_) => {
            let found = ending.taken_back.map(str::to_owned).or_else(|| {
                ending
                    .unknown
                    .map(|fault| format!("what the run has changed is not known: {}", fault.message))
            });
            rationale(run, found)
        }
    };
    closing.evidence = &evidence;
    closing.cites = ending.cites.clone();
    closing.approved_by = ending.approved_by.clone();
    closing.patch_sets = &sets;
    for (branch, lesson) in &ending.considered {
        let alternative = match branch {
            Some(node) => Alternative::Branch(words(&node.to_string())?),
            None => Alternative::Named(words("a branch that was left")?),
        };
        closing.considered.push(Considered { alternative, reason: words(lesson)? });
    }
    for (proposal, why) in &ending.rejected {
        let alternative = Alternative::Named(words(proposal)?);
        closing.considered.push(Considered { alternative, reason: words(why)? });
    }
    if let (Verdict::Abandon { reason } | Verdict::Retry { reason }, Some(patch_set)) = (&verdict, patch_set)
    {
        // The verdict has no place for what was done and is not wanted.
        let alternative = Alternative::PatchSet(patch_set);
        closing.considered.push(Considered { alternative, reason: reason.clone() });
    }
    let rests = matches!(ending.how, How::Closed(CloseAs::Abandon { .. }) | How::RolledBack(_))
        .then_some(ending.head);
    records.extend(ending.left.map(|left| notes::decision::left(left, ending.at)));
    records.extend(evidence.iter().map(|one| notes::decision::evidence(one, ending.at)));
    let (decided, decision) = decide(run, verdict, closing, rests, ending.at)?;
    records.extend(decided);
    Ok((records, decision))
}

/// Returns why a decision is what it is: what was found out about its run, after why a rollback was asked for.
fn rationale(run: &OpenRun, found: Option<String>) -> Option<NonBlank> {
    let asked = run.restoring.as_ref().and_then(|restoring| restoring.reason.clone());
    let said: Vec<String> = asked.into_iter().chain(found).map(|why| clip(&why)).collect();
    NonBlank::new(said.join("\n\n")).ok()
}

fn name(ending: &Ending<'_>, place: usize) -> Result<Uuid, RuntimeError> {
    ending.ids.get(place).copied().ok_or_else(|| unfit("there are not enough names"))
}

/// Returns whether a run ends without a word on its task: a person gave it, and another than a person has left the prompt.
fn keeps_task(run: &OpenRun, how: &How<'_>) -> bool {
    run.record.opening().task.is_some() && matches!(how, How::Left(by) if *by != Author::Person)
}

fn verdict(
    ending: &Ending<'_>,
    patch_set: Option<PatchSetId>,
    keeps_task: bool,
) -> Result<Verdict, RuntimeError> {
    Ok(match (&ending.how, &ending.outcome, patch_set) {
        (How::Closed(CloseAs::Checkpoint { words: said }), ..) => {
            Verdict::Checkpoint { checkpoint: words(said)?, state: ending.state.clone() }
        }
        (How::Closed(CloseAs::Abandon { reason }), ..) => Verdict::Abandon { reason: words(reason)? },
        (How::Closed(CloseAs::Retry { reason }), ..) => Verdict::Retry { reason: words(reason)? },
        (How::Left(by), _, patch_set) => {
            let reason = words(&format!("{} left the prompt that it started from", who(*by)))?;
            match keeps_task {
                true => Verdict::Other { label: Label::new(PROMPT_LEFT).map_err(unfit)?, patch_set, reason },
                false => Verdict::Abandon { reason },
            }
        }
        (How::RolledBack(of), outcome, patch_set) => {
            let reverted_to = match outcome {
                Outcome::Committed(_, commit) => Some(commit.parse().map_err(unfit)?),
                _ => None,
            };
            Verdict::Rollback { of: *of, reverted_to, patch_set }
        }
        (How::Ended { .. }, Outcome::Committed(_, commit), Some(patch_set)) => {
            Verdict::Commit { patch_set, commit: commit.parse().map_err(unfit)? }
        }
        // It is not committed again: who took it off has said what they think of it. Nor does the run stay open for that.
        // Where the same stands in a commit of theirs, that one is named.
        (How::Ended { .. }, _, patch_set) if ending.stands.is_none() && ending.taken_back.is_some() => {
            Verdict::Other {
                label: Label::new("taken_back").map_err(unfit)?,
                patch_set,
                reason: words(ending.taken_back.unwrap_or_default())?,
            }
        }
        (How::Ended { .. }, _, Some(patch_set)) => Verdict::Other {
            label: Label::new("applied").map_err(unfit)?,
            patch_set: Some(patch_set),
            reason: words(&applied(ending.stands.as_ref()))?,
        },
        (How::Ended { refused: true, .. }, ..) => Verdict::Abandon { reason: words("the model declined")? },
        (How::Ended { .. }, ..) => Verdict::Other {
            label: Label::new("answered").map_err(unfit)?,
            patch_set: None,
            reason: words(answered(ending.gone, ending.unseen))?,
        },
    })
}

/// Says how the files are after a run of which no change is known.
fn answered(gone: bool, unseen: Option<Unseen>) -> &'static str {
    match (gone, unseen) {
        (_, Some(Unseen::NoWorkspace { applied: false })) => {
            "the model answered; files were not looked at, since the agent has no workspace"
        }
        (_, Some(Unseen::NoWorkspace { applied: true })) => {
            "the model answered, and proposals were applied; files were not looked at, since the agent has no workspace"
        }
        (true, None) => "the model answered, and nothing is left of what was changed",
        (false, None) => "the model answered and no file was changed",
        (true, Some(Unseen::NoVersionControl)) => {
            "the model answered, and nothing is left of what was applied; what its commands changed was not seen: \
             the files are not under version control"
        }
        (false, Some(Unseen::NoVersionControl)) => {
            "the model answered; what its commands changed was not seen: the files are not under version control"
        }
    }
}

/// Says how files that were changed stand with version control.
fn applied(stands: Option<&Stands<'_>>) -> String {
    match stands {
        None => "files were changed and not committed".to_owned(),
        Some(Stands { commit, by_the_run: true }) => {
            format!("files were changed, and a command of the run has committed them as {commit}")
        }
        Some(Stands { commit, by_the_run: false }) => {
            format!("files were changed, and somebody else has committed the same already, in {commit}")
        }
    }
}

fn decided_by(how: &How<'_>) -> Result<Actor, RuntimeError> {
    match how {
        How::Ended { origin, .. } => model(*origin),
        How::Closed(_) | How::RolledBack(_) | How::Left(Author::Person) => {
            Actor::new(ActorKind::Human, "user").map_err(unfit)
        }
        How::Left(_) => harness(),
    }
}

/// Returns the model that has answered so, as decisions name it.
pub(crate) fn model(origin: Option<&Origin>) -> Result<Actor, RuntimeError> {
    match origin {
        Some(origin) => {
            Actor::new(ActorKind::Agent, format!("{}/{}", origin.provider, origin.model)).map_err(unfit)
        }
        None => harness(),
    }
}

fn who(by: Author) -> &'static str {
    match by {
        Author::Person => "a person",
        Author::Model => "the model",
        _ => "a step back",
    }
}

fn words(text: &str) -> Result<NonBlank, RuntimeError> {
    NonBlank::new(clip(text)).map_err(unfit)
}

/// Returns the records that end a rollback which cannot be done, and the decision in them. `left` is what it has done to the
/// files nevertheless, and `cites` names that.
pub(crate) fn give_up(
    run: &OpenRun,
    reason: &str,
    left: Option<&Left>,
    cites: Citations,
    head: NodeId,
    id: Uuid,
    at: Timestamp,
) -> Result<(Vec<Record>, Decision), RuntimeError> {
    let verdict = Verdict::Abandon { reason: words(reason)? };
    let mut closing = Closing::new(DecisionId::new(id).map_err(unfit)?, time_in(run, at)?, harness()?);
    closing.cites = cites;
    closing.rationale = rationale(run, None);
    let (decided, decision) = decide(run, verdict, closing, Some(head), at)?;
    let mut records: Vec<Record> = left.map(|left| notes::decision::left(left, at)).into_iter().collect();
    records.extend(decided);
    Ok((records, decision))
}

/// Returns the verdict, which the store refuses if the run has one, and the mark that the run is over. At `rests` nothing
/// goes on by itself.
fn decide(
    run: &OpenRun,
    verdict: Verdict,
    closing: Closing<'_>,
    rests: Option<NodeId>,
    at: Timestamp,
) -> Result<([Record; 2], Decision), RuntimeError> {
    let open = Run::reopen(run.record.clone(), &Decisions::new()).map_err(unfit)?;
    let (_, decision) = open.decide(verdict, closing).map_err(|undecided| unfit(&undecided.cause))?;
    Ok((notes::decision::decided(&decision, &word(decision.verdict()), rests, at), decision))
}

/// Returns how a verdict is called in the key of a note.
fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Other { .. } => verdict.to_string(),
        told => told.kind().to_string(),
    }
}

fn evidence(run: &OpenRun, decision: DecisionId, ending: &Ending<'_>) -> Result<Vec<Evidence>, RuntimeError> {
    let sealed = run.findings.iter().enumerate().map(|(place, note)| {
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
            output: note.finding.output.as_deref().and_then(digest),
        };
        // Which changes a command saw is only certain for the last state, and that has no name before the end.
        let id = EvidenceId::new(name(ending, place + 1)?).map_err(unfit)?;
        Ok(Evidence::new(id, run.record.id(), time_in(run, note.at)?, None, Some(decision), finding))
    });
    sealed.collect()
}

/// Returns a moment of a run. A clock may have gone back since it was opened, and nothing of a run is older than the run.
fn time_in(run: &OpenRun, at: Timestamp) -> Result<RunTime, RuntimeError> {
    Ok(time(at)?.max(run.record.opening().at))
}

/// Returns a tool's word for what it found, or `command` for a word that cannot stand in a verdict.
///
/// The end of a run must not fail on what somebody called something.
fn label(word: &str) -> Result<Label, RuntimeError> {
    Label::new(word).or_else(|_| Label::new("command")).map_err(unfit)
}

/// Keeps a rationale to a length that a record can carry.
pub(crate) fn clip(text: &str) -> String {
    text.trim().chars().take(4000).collect()
}

/// Reads a digest as fingerprints have it, `sha256:` and 64 digits, or without the word.
pub(crate) fn digest(text: &str) -> Option<Digest> {
    text.strip_prefix("sha256:").unwrap_or(text).parse().ok()
}

fn harness() -> Result<Actor, RuntimeError> {
    Actor::new(ActorKind::System, "trunkline").map_err(unfit)
}
