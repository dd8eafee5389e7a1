//! What is about to be bound to a repository, and how a run stands with it.
//!
//! The batch that closes a run is recorded first, inside a note: what git was told and what the log says are then the same
//! bytes, whoever writes them.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, PatchSet, RunRecord};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{Note, NoteKey, Record};

use crate::notes::decision::{DECIDED, EVIDENCE, LAYER, PATCH_SET, unfit};
use crate::notes::record::{json, note, read};
use crate::words::bound::{Binding, Prepared};
use crate::words::error::RuntimeError;
use crate::words::event::Event;

pub(crate) const BINDING: &str = "binding";
/// How a run stands with the repository; its states follow.
pub(crate) const BOUND: &str = "bound";
/// The run was begun by somebody who wants its decision bound.
pub(crate) const WANTED: &str = "wanted";
/// It has its decision, and that is not bound yet.
pub(crate) const TO_BIND: &str = "to_bind";
/// Its decision is bound.
const IS_BOUND: &str = "bound";

/// What is about to be bound: the commit, and the records that close the run once it is done.
#[derive(Clone, Serialize, Deserialize)]
pub struct BindingNote {
    /// Where the head was; nothing is begun anew once it is elsewhere.
    pub(crate) head: NodeId,
    prepared: Prepared,
    records: Vec<KeptNote>,
}

/// A note of this layer, to be written later, byte for byte.
#[derive(Clone, Serialize, Deserialize)]
struct KeptNote {
    kind: String,
    at: Timestamp,
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<NoteKey>,
}

#[derive(Serialize, Deserialize)]
struct BoundNote {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl BindingNote {
    /// Keeps what closes a run until it is bound.
    pub(crate) fn new(head: NodeId, prepared: Prepared, closing: Vec<Record>) -> Result<Self, RuntimeError> {
        let kept = closing.into_iter().map(|record| match record {
            Record::Note(note) if note.layer == LAYER => {
                let Note { kind, at, body, key, .. } = note;
                Ok(KeptNote { kind, at, body, key })
            }
            _ => Err(unfit("the end of a run that is bound holds more than its verdict")),
        });
        Ok(BindingNote { head, prepared, records: kept.collect::<Result<_, _>>()? })
    }

    /// Returns whether it says of this commit, at this head, what a decision says that was made just now.
    pub(crate) fn is_of(&self, head: NodeId, prepared: &Prepared, decision: &Decision) -> bool {
        let same = |own: Decision| own.verdict() == decision.verdict();
        self.head == head && self.prepared == *prepared && self.decision().is_ok_and(same)
    }

    pub(crate) fn record(&self, at: Timestamp) -> Record {
        note(LAYER, BINDING, at, self)
    }

    /// Returns what closes the run, as it was recorded.
    pub(crate) fn closing(&self) -> Vec<Record> {
        let note = |kept: &KeptNote| {
            let mut note = Note::new(LAYER, &kept.kind, kept.at, &kept.body);
            note.key.clone_from(&kept.key);
            Record::Note(note)
        };
        self.records.iter().map(note).collect()
    }

    /// Returns the decision in it.
    pub(crate) fn decision(&self) -> Result<Decision, RuntimeError> {
        let decided = self.bodies(DECIDED).next().ok_or_else(|| unfit("a binding has no decision"))?;
        Decision::parse(decided.as_bytes()).map_err(unfit)
    }

    /// Returns what the repository is told of its run, for which these patch sets were recorded before.
    pub(crate) fn binding(&self, run: &RunRecord, announced: &[PatchSet]) -> Result<Binding, RuntimeError> {
        let announced = announced.iter().map(|set| set.print());
        Ok(Binding {
            run: run.print(),
            decision: self.decision()?.print(),
            patch_sets: announced.chain(self.bodies(PATCH_SET).map(str::to_owned)).collect(),
            evidence: self.bodies(EVIDENCE).map(str::to_owned).collect(),
            prepared: Some(self.prepared.clone()),
        })
    }

    fn bodies(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.records.iter().filter(move |kept| kept.kind == kind).map(|kept| kept.body.as_str())
    }
}

/// Returns the record that a run is to be bound.
pub(crate) fn wanted(run: &str, at: Timestamp) -> Record {
    mark(run, WANTED, None, None, at)
}

/// Returns the record that a run has its decision and is not bound yet.
pub(crate) fn to_bind(run: &str, at: Timestamp) -> Record {
    mark(run, TO_BIND, None, None, at)
}

/// Returns the record that the decision of a run is bound.
pub(crate) fn bound(run: &str, decision: String, reference: &str, at: Timestamp) -> Record {
    mark(run, IS_BOUND, Some(decision), Some(reference), at)
}

fn mark(run: &str, state: &str, decision: Option<String>, reference: Option<&str>, at: Timestamp) -> Record {
    let body = BoundNote { decision, reference: reference.map(str::to_owned) };
    Record::Note(Note::new(LAYER, BOUND, at, json(&body)).about(run, state))
}

/// Returns whether a note says that a run is bound, or is not bound yet.
pub(crate) fn is_about(note: &Note, run: &str) -> bool {
    note.kind == BOUND && note.key.as_ref().is_some_and(|key| key.key == run && key.state != WANTED)
}

/// Returns what observers are told of a recorded note.
pub fn event(note: &Note) -> Option<Event> {
    let is_bound = |key: &&NoteKey| note.layer == LAYER && note.kind == BOUND && key.state == IS_BOUND;
    let key = note.key.as_ref().filter(is_bound)?;
    let BoundNote { reference, .. } = read(note).ok()?;
    Some(Event::Bound { run: key.key.clone(), reference: reference.unwrap_or_default() })
}
