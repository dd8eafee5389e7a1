//! The whole family of a session: the objects that its log holds, and those that follow from the rest of it.
//!
//! Recorded are intents, tasks, runs, patch sets, evidence and decisions, and how a person ended a task. Calls of tools, usages, what
//! was learned, the model that answered, candidates, and what happened to intents, tasks and runs are said by the log already, so
//! they are made of it each time somebody asks, and never written a second time. Their names are derived from the run (or the task, or
//! the intent) and the number of the record that they follow from, so that each reading of a log gives the same objects, and a longer
//! log the same and more.
//!
//! For who only looks: nothing in a log can make it fail. What cannot be read, and what no object can say, is left out.

mod calls;
mod candidates;
mod made;
mod pieces;
mod plans;
mod purposes;
mod runs;

use trunkline_decision_objects::{
    Choice, EventId, Family, NonBlank, Object, RunId, Selection, SelectionContent,
};
use trunkline_message_tree::Entry;
use trunkline_session_store::{Log, Note, Record};

use self::calls::Calls;
use self::candidates::{Came, Candidates};
pub use self::candidates::{Candidate, CandidateOf};
use self::made::{Made, header, name, not_before, person};
use self::plans::Plans;
use self::purposes::Purposes;
use self::runs::Runs;
use crate::notes::decision::{FINDING, LAYER};
use crate::notes::task::{SELECTION, SelectionNote};
use crate::notes::{journal, resolve, revert};
use crate::reading::decided::object;

/// Returns the family of a session, so that its [violations](Family::violations) and how things stand can be asked for.
///
/// Costs one step per record, and what a move of the head left and brought back for each move.
pub fn family_of(log: &Log) -> Family {
    projected_objects(log).into_iter().map(|(_, object)| object).collect()
}

/// Returns the objects of [`family_of`] with the numbers of the records that they stand in, or follow from, in the order of the log.
pub fn projected_objects(log: &Log) -> Vec<(u64, Object)> {
    let mut objects = walk(log).made.objects;
    // What a run has used is only known to fit when it ends, and stands where it was used all the same.
    objects.sort_by_key(|(seq, _)| *seq);
    objects
}

/// Returns what was changed or to be changed in the runs of a session and could be chosen, in the order of the log.
pub fn candidates(log: &Log) -> Vec<Candidate> {
    walk(log).candidates.found
}

/// What a person chose among the candidates of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected {
    /// The number of the record.
    pub seq: u64,
    /// The run.
    pub run: String,
    /// The patch set.
    pub patch_set: String,
    /// Why; may be empty.
    pub reason: String,
}

/// Returns what a person chose, the newest choice of each run, in the order of the log.
pub fn selections(log: &Log) -> Vec<Selected> {
    let mut chosen: Vec<Selected> = Vec::new();
    for (seq, record) in &log.records {
        let Record::Note(note) = record else { continue };
        if (note.layer.as_str(), note.kind.as_str()) != (LAYER, SELECTION) {
            continue;
        }
        let Ok(SelectionNote { run, patch_set, reason }) = serde_json::from_str(&note.body) else { continue };
        chosen.push(Selected { seq: *seq, run, patch_set, reason });
    }
    let mut newest = std::collections::HashSet::new();
    let mut kept: Vec<Selected> =
        chosen.into_iter().rev().filter(|one| newest.insert(one.run.clone())).collect();
    kept.reverse();
    kept
}

fn walk(log: &Log) -> Walk {
    let mut walk = Walk::default();
    for (seq, record) in &log.records {
        walk.made.seq = *seq;
        match record {
            Record::Entry(entry) => walk.entry(entry),
            Record::Note(note) => walk.note(note),
            Record::Blob(_) => {}
        }
    }
    walk.runs.end(&mut walk.made);
    walk
}

#[derive(Default)]
struct Walk {
    made: Made,
    runs: Runs,
    calls: Calls,
    plans: Plans,
    purposes: Purposes,
    candidates: Candidates,
}

impl Walk {
    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Node { id, parent, at, link, message } => {
                self.candidates.node(&mut self.made, *id, *parent, link.is_filed());
                self.runs.node(&mut self.made, (*id, *at), link, message);
                let candidates = &self.candidates;
                let denied = |place: &_| candidates.is_denied(*place);
                self.calls.node(&mut self.made, self.runs.open(), (*id, *at), (link, message), denied);
            }
            Entry::Move(head_move) => self.candidates.moved(&mut self.made, self.runs.open(), head_move),
        }
    }

    /// Takes in that a person chose among the candidates of a run.
    fn selected(&mut self, note: &Note) {
        let Ok(SelectionNote { run, patch_set, reason }) = serde_json::from_str(&note.body) else { return };
        let (Ok(run), Ok(patch_set)) = (run.parse::<RunId>(), patch_set.parse()) else { return };
        let id = EventId::new(name("selection", run.uuid(), self.made.seq, 0));
        // A choice in a run that the log does not know is no object.
        let Some(since) = self.runs.record(run).map(|record| record.opening().at) else { return };
        let selection = person().and_then(|by| {
            let choice = Choice::PatchSet { run, patch_set };
            let content = SelectionContent { choice, reason: NonBlank::new(reason).ok() };
            Selection::new(header(id, not_before(since, note.at), by)?, content)
        });
        self.made.push(selection);
    }

    /// Takes in a note. What follows from further kinds of notes is added here.
    fn note(&mut self, note: &Note) {
        match (note.layer.as_str(), note.kind.as_str()) {
            (LAYER, FINDING) => self.runs.validates(&mut self.made, note.at),
            (LAYER, SELECTION) => self.selected(note),
            (LAYER, _) => {
                let Ok(Some(object)) = object(note) else { return };
                self.made.recorded(object.clone());
                self.runs.object(&mut self.made, &object, note.at);
                self.purposes.object(&mut self.made, &object, &self.runs, note.at);
                match object {
                    Object::PatchSet(patch_set) => {
                        self.candidates.recorded(self.made.seq, patch_set, note.at)
                    }
                    Object::Run(record) => self.candidates.opened(record.id(), note),
                    Object::Decision(decision) => self.candidates.decided(decision.run()),
                    _ => {}
                }
            }
            (journal::LAYER, _) => self.calls.note(note),
            (revert::LAYER, revert::NOTE) => self.runs.learned(&mut self.made, note),
            (revert::LAYER, revert::DRAINED) => self.candidates.copied(note),
            (resolve::LAYER, _) => {
                self.plans.note(&mut self.made, self.runs.open(), note);
                match self.candidates.note(&mut self.made, self.runs.open(), note) {
                    Some(Came::Applied(id)) => self.runs.patches(&mut self.made, note.at, id),
                    Some(Came::Refused(id)) => {
                        let refusal = self.candidates.refusal(id);
                        self.plans.refused(&mut self.made, self.runs.open(), (id, refusal), note.at);
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }
}
