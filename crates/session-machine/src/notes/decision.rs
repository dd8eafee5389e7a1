//! What is recorded of a run: how it was opened, what its calls have proved, what it was about to do, and its verdict.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, DecisionId, Evidence, PatchSet, RunId, RunRecord};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{Note, Record};

use crate::notes::record::{json, note};
use crate::words::call::{CallPlace, Finding};
use crate::words::error::RuntimeError;
use crate::words::event::Event;
use crate::words::files::{Base, Deciding, Left};
use crate::words::start::Start;

/// The layer of the notes in this module.
pub const LAYER: &str = "decision";
pub(crate) const OPENED: &str = "opened";
/// How the files were when a run that was brought here went on.
pub(crate) const BASED: &str = "based";
pub(crate) const FINDING: &str = "finding";
pub(crate) const DECIDING: &str = "deciding";
/// What is about to be taken back.
pub(crate) const RESTORING: &str = "restoring";
/// Who takes it back, and until when they may.
pub(crate) const LEASED: &str = "leased";
pub(crate) const PATCH_SET: &str = "patch_set";
pub(crate) const EVIDENCE: &str = "evidence";
/// How a run left the files: what is needed to take it back.
pub(crate) const LEFT: &str = "left";
/// The kind of a verdict, whose body is the decision in its canonical text.
pub const DECIDED: &str = "decided";
/// How a run stands: a mark beside `opened` and `decided`, each of which is written once and so cannot tell.
pub(crate) const RUN: &str = "run";
/// The state of a run without a verdict.
pub(crate) const OPEN: &str = "open";

#[derive(Serialize, Deserialize)]
pub(crate) struct OpenedNote {
    /// The run's own canonical text.
    pub(crate) run: String,
    pub(crate) prompt: NodeId,
    pub(crate) base: Base,
    /// Whether the files are looked at around calls that may change some. Older runs were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) looks: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Mark {
    Open {
        prompt: NodeId,
    },
    Decided {
        decision: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        rests: Option<NodeId>,
    },
}

/// What is read back of a mark.
#[derive(Deserialize)]
pub(crate) struct Rest {
    #[serde(default)]
    pub(crate) rests: Option<NodeId>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RestoringNote {
    pub(crate) of: String,
    /// Older ones don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commits: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<String>,
    /// Why it is taken back, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// Who may write the files of a rollback, and until when.
#[derive(Copy, Clone, Serialize, Deserialize)]
pub struct RestoringLease {
    /// The token with which they write the session.
    pub writer: u64,
    /// In milliseconds, as [`Timestamp`] has them.
    pub until: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct DecidingNote {
    pub(crate) head: NodeId,
    pub(crate) deciding: Deciding,
    /// The files as they are called in the folder, if the patch set has to write some of the names otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FindingNote {
    pub(crate) call: CallPlace,
    pub(crate) tool: String,
    pub(crate) at: Timestamp,
    pub(crate) finding: Finding,
}

/// Returns whether a look at a session tells what notes of a kind say; the others are for the writer.
pub fn is_told(kind: &str) -> bool {
    [OPENED, RESTORING, DECIDED].contains(&kind)
}

/// Returns the records that a run was opened: the note, and the mark that it is open.
pub(crate) fn opened(run: &RunRecord, prompt: NodeId, start: Start, at: Timestamp) -> [Record; 2] {
    let (id, Start { base, looks }) = (run.id(), start);
    let opened = OpenedNote { run: run.print(), prompt, base, looks };
    let opened = Note::new(LAYER, OPENED, at, json(&opened)).once(id.to_string(), "");
    [Record::Note(opened), mark(id, OPEN, &Mark::Open { prompt }, at)]
}

/// Returns the records that a run has its verdict, which the key calls so: the note, which a store refuses if the run has one, and
/// the mark that it is over. At `rests` nothing goes on by itself.
pub(crate) fn decided(decision: &Decision, word: &str, rests: Option<NodeId>, at: Timestamp) -> [Record; 2] {
    let run = decision.run();
    let decided = Note::new(LAYER, DECIDED, at, decision.print()).once(run.to_string(), word);
    let over = Mark::Decided { decision: decision.id().to_string(), rests };
    [Record::Note(decided), mark(run, word, &over, at)]
}

fn mark(run: RunId, state: &str, mark: &Mark, at: Timestamp) -> Record {
    Record::Note(Note::new(LAYER, RUN, at, json(mark)).about(run.to_string(), state))
}

/// Returns the record of how the files are where a run that was brought here goes on.
pub(crate) fn based(start: &Start, at: Timestamp) -> Record {
    note(LAYER, BASED, at, start)
}

/// Returns the record of what a call proved.
pub(crate) fn finding(
    place: &CallPlace,
    tool: &str,
    finding: Option<Finding>,
    at: Timestamp,
) -> Option<Record> {
    let proved = FindingNote { call: place.clone(), tool: tool.to_owned(), at, finding: finding? };
    Some(note(LAYER, FINDING, at, &proved))
}

/// Returns the record of what is about to be committed.
pub(crate) fn deciding(deciding: &DecidingNote, at: Timestamp) -> Record {
    note(LAYER, DECIDING, at, deciding)
}

/// Returns the record of what the run that was opened before it is about to take back.
pub(crate) fn restoring(
    of: DecisionId,
    commits: Option<bool>,
    files: Vec<String>,
    reason: Option<String>,
    at: Timestamp,
) -> Record {
    note(LAYER, RESTORING, at, &RestoringNote { of: of.to_string(), commits, files, reason })
}

/// Returns the record of who puts files back for the open run, from now on.
pub fn leased(lease: RestoringLease, at: Timestamp) -> Record {
    note(LAYER, LEASED, at, &lease)
}

/// Returns the record of how a run left the files.
pub(crate) fn left(left: &Left, at: Timestamp) -> Record {
    note(LAYER, LEFT, at, left)
}

/// Returns the record of a patch set.
pub(crate) fn patch_set(set: &PatchSet, at: Timestamp) -> Record {
    canonical(PATCH_SET, at, set.print())
}

/// Returns the record of a piece of evidence.
pub(crate) fn evidence(evidence: &Evidence, at: Timestamp) -> Record {
    canonical(EVIDENCE, at, evidence.print())
}

/// Makes a record whose body is the object's canonical text, byte for byte.
fn canonical(kind: &str, at: Timestamp, body: String) -> Record {
    Record::Note(Note::new(LAYER, kind, at, body))
}

/// Returns what observers are told of a recorded note.
pub fn event(note: &Note) -> Option<Event> {
    let body = note.body.as_bytes();
    match (note.layer.as_str(), note.kind.as_str()) {
        (LAYER, OPENED) => Some(Event::RunOpened),
        (LAYER, DECIDED) => Decision::parse(body).ok().map(|decision| Event::Decided(Box::new(decision))),
        _ => None,
    }
}

/// Says that a record of a verdict cannot be made.
pub(crate) fn unfit(fault: impl ToString) -> RuntimeError {
    RuntimeError::Verdict { fault: fault.to_string() }
}
