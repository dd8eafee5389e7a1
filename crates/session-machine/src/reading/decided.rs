//! The runs of a session and what each ended with, for whoever looks.
//!
//! Read apart from the fold of the writer, which refuses a whole log for one record that it cannot read. Here such a record
//! is kept, with its bytes and its fault, and the others are read all the same.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde::de::DeserializeOwned;
use trunkline_decision_objects::{
    Decision, DecisionId, Evidence, Family, Object, PatchSet, PatchSetId, Predecessor, RunId, RunRecord,
    Verdict, salvage,
};
use trunkline_message_tree::{Entry, NodeId, Timestamp};
use trunkline_session_store::{Log, Note, Record};

use crate::notes::decision::{DECIDED, EVIDENCE, FINDING, FindingNote, LAYER, LEFT, OPENED, PATCH_SET};
use crate::notes::partial;
use crate::notes::task::{ENDED, INTENT, TASK};
use crate::words::call::CallPlace;
use crate::words::close_as::PROMPT_LEFT;

/// All runs of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecidedRuns {
    /// The runs, in the order in which the log first speaks of them.
    pub runs: Vec<DecidedRun>,
    /// The records that could not be read, or that contradict one before them, in the order of the log.
    pub unreadable: Vec<Unreadable>,
}

/// A run, with everything that the log holds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecidedRun {
    /// Its name.
    pub id: RunId,
    /// How it was opened; `None` if that is not in the log, or cannot be read.
    pub opened: Option<OpenedRun>,
    /// What it changed, in the order of the log. More than one if it was about to be decided more than once.
    pub patch_sets: Vec<PatchSet>,
    /// What was found out while it was open, in the order of the log.
    pub evidence: Vec<FoundEvidence>,
    /// Its verdict; `None` while it is open.
    pub verdict: Option<GivenVerdict>,
}

/// How a run was opened, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenedRun {
    /// The number of the record.
    pub seq: u64,
    /// What was recorded.
    pub record: RunRecord,
    /// The message that it started from.
    pub prompt: NodeId,
}

/// A verdict, and where it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GivenVerdict {
    /// The number of the record.
    pub seq: u64,
    /// What was recorded.
    pub decision: Decision,
    /// The node at which its run ended: where the head was when it came, as a rule at the last answer. Of a run that was left
    /// by a move, where that began.
    pub newest: NodeId,
    /// What its run had changed by then, also where the verdict has no place for it: of what was put down, given up or is
    /// tried again. `None` if that was nothing.
    pub patch_set: Option<PatchSetId>,
}

/// Evidence, and the call that found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundEvidence {
    /// The number of the record.
    pub seq: u64,
    /// What was recorded.
    pub evidence: Evidence,
    /// The call; `None` if the log does not have it.
    pub call: Option<CallPlace>,
}

/// A record of this layer that could not be read, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// The number of the record.
    pub seq: u64,
    /// What the layer calls it: `opened`, `finding`, `patch_set`, `evidence` or `decided`.
    pub kind: String,
    /// The run that its key names. What is wrong may be the key too: it is not a run's name for certain.
    pub run: Option<String>,
    /// When it was made, as its maker says.
    pub at: Timestamp,
    /// Its body, byte for byte.
    pub body: String,
    /// What is wrong with it, all that can be found.
    pub faults: Vec<String>,
}

/// Returns the runs of a session. Costs one step per record; nothing in the log can make it fail.
///
/// Evidence carries no place; its call is that of the finding that says the same, each counted once.
pub fn decided_runs(log: &Log) -> DecidedRuns {
    let mut reader = Reader::default();
    for (seq, record) in &log.records {
        match record {
            Record::Entry(entry) => reader.heads.entry(entry),
            Record::Note(note) if note.layer == LAYER => {
                let read = object(note).and_then(|object| reader.note(note, object, *seq));
                if let Err(faults) = read {
                    reader.found.unreadable.push(Unreadable {
                        seq: *seq,
                        kind: note.kind.clone(),
                        run: note.key.as_ref().map(|key| key.key.clone()),
                        at: note.at,
                        body: note.body.clone(),
                        faults,
                    });
                }
            }
            _ => {}
        }
    }
    reader.found
}

/// Returns the objects of a log with the numbers of their records, as far as they can be read: intents, tasks, runs, patch
/// sets, evidence, decisions, and how a person ended a task, in the order of the log. What contradicts an object before it is there too.
pub fn recorded_objects(log: &Log) -> impl Iterator<Item = (u64, Object)> {
    let notes = log.records.iter().filter_map(|(seq, record)| match record {
        Record::Note(note) if note.layer == LAYER => Some((*seq, note)),
        _ => None,
    });
    notes.filter_map(|(seq, note)| Some((seq, object(note).ok()??)))
}

/// Returns the objects of a log side by side, so that its [violations](Family::violations) can be asked for.
pub fn family(log: &Log) -> Family {
    recorded_objects(log).map(|(_, object)| object).collect()
}

/// Returns the object that a note holds, if it is one that holds any, or all that is wrong with it.
pub(super) fn object(note: &Note) -> Result<Option<Object>, Vec<String>> {
    let json = match note.kind.as_str() {
        OPENED => Cow::Owned(json::<partial::Opened>(note.body.as_bytes())?.run),
        TASK => Cow::Owned(json::<partial::Given>(note.body.as_bytes())?.task),
        PATCH_SET | EVIDENCE | DECIDED | INTENT | ENDED => Cow::Borrowed(note.body.as_str()),
        _ => return Ok(None),
    };
    let Ok(object) = Object::parse(json.as_bytes()) else {
        // The parser stops at the first fault.
        return Err(salvage(json.as_bytes()).faults.iter().map(ToString::to_string).collect());
    };
    match (&object, note.kind.as_str()) {
        (Object::Run(_), OPENED)
        | (Object::Intent(_), INTENT)
        | (Object::Task(_), TASK)
        | (Object::TaskEvent(_), ENDED)
        | (Object::PatchSet(_), PATCH_SET)
        | (Object::Evidence(_), EVIDENCE)
        | (Object::Decision(_), DECIDED) => Ok(Some(object)),
        _ => Err(vec![format!("{} stands in a note of another kind", object.name())]),
    }
}

#[derive(Default)]
struct Reader {
    found: DecidedRuns,
    places: HashMap<RunId, usize>,
    /// The calls whose findings are not evidence yet, by what they found: hostile logs have many.
    findings: HashMap<Found, VecDeque<CallPlace>>,
    /// The runs that have left changes, as they say at their end.
    left: HashSet<String>,
    heads: Heads,
}

/// Where the head is.
struct Heads {
    head: NodeId,
    /// What the newest node hangs on.
    before: NodeId,
    /// Where the latest move began, if nothing came since.
    left: Option<NodeId>,
}

impl Default for Heads {
    fn default() -> Self {
        Heads { head: NodeId::ROOT, before: NodeId::ROOT, left: None }
    }
}

impl Heads {
    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Node { link, .. } if link.is_filed() => {}
            Entry::Node { id, parent, .. } => {
                *self = Heads { head: *id, before: parent.unwrap_or(NodeId::ROOT), left: None };
            }
            Entry::Move(head_move) => {
                (self.head, self.left) = (head_move.to, Some(head_move.from));
            }
        }
    }

    /// Returns where a run ended that has just got this verdict.
    fn end(&self, prompt: Option<NodeId>, verdict: &Verdict) -> NodeId {
        match (self.left, prompt, verdict) {
            // A move away from its prompt has ended it.
            (Some(from), Some(prompt), verdict) if self.head < prompt && is_of_move(verdict) => from,
            _ => self.head,
        }
    }
}

/// Returns whether a verdict may be that of a run whose prompt was left.
fn is_of_move(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Abandon { .. } => true,
        Verdict::Other { label, .. } => label.as_str() == PROMPT_LEFT,
        _ => false,
    }
}

/// What a finding and its evidence both say.
#[derive(PartialEq, Eq, Hash)]
struct Found {
    tool: String,
    command: Option<String>,
    exit_code: Option<i32>,
    at: Option<i64>,
}

impl Reader {
    fn note(&mut self, note: &Note, object: Option<Object>, seq: u64) -> Result<(), Vec<String>> {
        match object {
            Some(Object::Run(record)) => {
                let partial::Opened { prompt, .. } = json(note.body.as_bytes())?;
                self.end_before(&record);
                let run = self.run(record.id());
                if let Some(first) = &run.opened {
                    return Err(vec![format!("record {} has opened run {} already", first.seq, record.id())]);
                }
                run.opened = Some(OpenedRun { seq, record, prompt });
                self.findings.clear();
            }
            Some(Object::PatchSet(patch_set)) => self.run(patch_set.run()).patch_sets.push(patch_set),
            Some(Object::Evidence(evidence)) => {
                let call = self.call_of(&evidence);
                self.run(evidence.run()).evidence.push(FoundEvidence { seq, evidence, call });
            }
            Some(Object::Decision(decision)) => {
                let left = self.left.contains(&decision.run().to_string());
                let place = self.run(decision.run()).opened.as_ref().map(|opened| opened.prompt);
                let newest = self.heads.end(place, decision.verdict());
                let run = self.run(decision.run());
                match &run.verdict {
                    None => {
                        let patch_set = changed(&decision, left, &run.patch_sets);
                        run.verdict = Some(GivenVerdict { seq, decision, newest, patch_set });
                    }
                    // Said again it is nothing new.
                    Some(first) if first.decision == decision => {}
                    Some(first) => {
                        let (run, first) = (decision.run(), first.decision.id());
                        return Err(vec![format!("run {run} has its verdict already, decision {first}")]);
                    }
                }
            }
            None if note.kind == FINDING => {
                let FindingNote { call, tool, at, finding } = json(note.body.as_bytes())?;
                let (command, exit_code) = (Some(finding.command), finding.exit_code);
                let found = Found { tool, command, exit_code, at: i64::try_from(at.0).ok() };
                self.findings.entry(found).or_default().push_back(call);
            }
            None if note.kind == LEFT => {
                // What the others say of it is enough to show a run.
                self.left.extend(json::<partial::Left>(note.body.as_bytes()).ok().map(|left| left.run));
            }
            // Marks say nothing that is not said here.
            _ => {}
        }
        Ok(())
    }

    /// Takes in that a run was opened. One that tries another one again is opened in the batch that ends that, after its own
    /// prompt, which is no part of the other.
    fn end_before(&mut self, record: &RunRecord) {
        let (head, before) = (self.heads.head, self.heads.before);
        if let Some(Predecessor::RetryOf(last)) = record.opening().predecessor
            && let Some(given) = self.run(last).verdict.as_mut().filter(|given| given.newest == head)
        {
            given.newest = before;
        }
    }

    fn run(&mut self, id: RunId) -> &mut DecidedRun {
        let runs = &mut self.found.runs;
        let place = *self.places.entry(id).or_insert_with(|| {
            let empty =
                DecidedRun { id, opened: None, patch_sets: Vec::new(), evidence: Vec::new(), verdict: None };
            runs.push(empty);
            runs.len() - 1
        });
        &mut runs[place]
    }

    /// Finds the call behind a piece of evidence: the first of those that found the same.
    fn call_of(&mut self, evidence: &Evidence) -> Option<CallPlace> {
        let finding = evidence.finding();
        let found = Found {
            tool: finding.tool.as_str().to_owned(),
            command: finding.command.clone(),
            exit_code: finding.exit_code,
            at: Some(evidence.at().milliseconds()),
        };
        self.findings.get_mut(&found)?.pop_front()
    }
}

/// Returns the patch set that a decision is about. `left` is whether its run says that it has left changes.
fn changed(decision: &Decision, left: bool, patch_sets: &[PatchSet]) -> Option<PatchSetId> {
    match decision.verdict() {
        // They reject what was done.
        Verdict::Abandon { .. } | Verdict::Retry { .. } => {
            decision.considered().iter().find_map(|considered| considered.alternative.patch_set())
        }
        // It names none, and what was announced before may have been taken back by then.
        Verdict::Checkpoint { .. } => patch_sets.last().filter(|_| left).map(PatchSet::id),
        verdict => verdict.patch_set(),
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Vec<String>> {
    serde_json::from_slice(body).map_err(|fault| vec![fault.to_string()])
}

impl DecidedRun {
    /// Returns its decision, if it has one.
    pub fn decision(&self) -> Option<&Decision> {
        self.verdict.as_ref().map(|given| &given.decision)
    }

    /// Returns the patch set that its decision is about, or the last one while there is no decision.
    pub fn patch_set(&self) -> Option<&PatchSet> {
        match &self.verdict {
            Some(given) => self.patch_set_named(given.patch_set?),
            None => self.patch_sets.last(),
        }
    }

    /// Returns one of its patch sets by its name.
    pub fn patch_set_named(&self, id: PatchSetId) -> Option<&PatchSet> {
        self.patch_sets.iter().find(|patch_set| patch_set.id() == id)
    }
}

impl DecidedRuns {
    /// Returns the run that a decision ended.
    pub fn of_decision(&self, id: DecisionId) -> Option<&DecidedRun> {
        self.runs.iter().find(|run| run.decision().is_some_and(|decision| decision.id() == id))
    }

    /// Returns a run by its name.
    pub fn of_run(&self, id: RunId) -> Option<&DecidedRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// Returns the runs that follow another one: that try it again, or continue it.
    pub fn successors(&self, id: RunId) -> impl Iterator<Item = &DecidedRun> {
        self.runs.iter().filter(move |run| {
            let predecessor = run.opened.as_ref().and_then(|opened| opened.record.opening().predecessor);
            predecessor.is_some_and(|predecessor| predecessor.run() == id)
        })
    }
}
