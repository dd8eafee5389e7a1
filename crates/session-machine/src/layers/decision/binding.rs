//! What is about to be bound, and what is not bound yet.
//!
//! The batch that closes a run is recorded first, inside a note: what git was told and what the log says are then the same
//! bytes, whoever writes them.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, RunId};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{Note, NoteKey, Record};

use super::{DECIDED, EVIDENCE, LAYER, Looks, OPENED, OpenRun, PATCH_SET, Part, unfit};
use crate::{Binding, Event, Prepared, RuntimeError, journal};

pub(super) const BINDING: &str = "binding";
/// How a run stands with the repository; its states follow.
pub(crate) const BOUND: &str = "bound";
/// The run was begun by somebody who wants its decision bound.
const WANTED: &str = "wanted";
/// It has its decision, and that is not bound yet.
const TO_BIND: &str = "to_bind";
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

/// A decision that is recorded and was to be bound, and is not yet.
#[derive(Clone)]
pub struct Unbound {
    pub run: RunId,
    pub(crate) decision: String,
    pub(crate) binding: Binding,
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
        journal::note(LAYER, BINDING, at, self)
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

    /// Returns what the repository is told.
    pub(crate) fn binding(&self, run: &OpenRun) -> Result<Binding, RuntimeError> {
        let announced = run.patch_sets.iter().map(|set| set.print());
        Ok(Binding {
            run: run.record.print(),
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

impl Unbound {
    /// Takes over what a run that has just got its decision is bound with.
    pub(crate) fn of(run: &OpenRun, decision: &Decision) -> Self {
        let binding = Binding {
            run: run.record.print(),
            decision: decision.print(),
            patch_sets: run.patch_sets.iter().map(|set| set.print()).collect(),
            evidence: run.evidence.clone(),
            prepared: None,
        };
        Unbound { run: decision.run(), decision: decision.id().to_string(), binding }
    }
}

impl Part {
    /// Takes in how a run stands with the repository.
    pub(crate) fn bound(&mut self, note: &Note) {
        let Some(key) = &note.key else { return };
        match key.state.as_str() {
            WANTED => {
                let meant = self.run.as_mut().filter(|run| run.record.id().to_string() == key.key);
                if let Some(run) = meant {
                    run.binds = true;
                }
            }
            TO_BIND => {
                let meant = self.closed.take().filter(|closed| closed.run.to_string() == key.key);
                self.to_bind.extend(meant.map(|closed| *closed));
            }
            _ => self.to_bind.retain(|unbound| unbound.run.to_string() != key.key),
        }
    }

    /// Forgets everything that was to be done in a repository or to files, or could be: it was said elsewhere.
    pub(crate) fn distrust(&mut self) {
        self.to_bind.clear();
        self.left.clear();
        self.closed = None;
        if let Some(run) = &mut self.run {
            (run.binds, run.deciding, run.restoring) = (false, None, None);
            // The files of another machine; and what is said of them would be handed to git.
            run.base = crate::Base::default();
            run.looks = Looks::new(false, run.base.clone());
            run.started.clear();
            run.bindings.clear();
            run.patch_sets.clear();
            run.findings.clear();
            run.evidence.clear();
        }
    }

    /// Adds to a batch what has to be kept for binding: that a run that begins in it is to be bound, and that one that ends
    /// in it is not yet.
    pub fn complete(&self, records: &mut Vec<Record>, binds: bool) {
        let mut marks = Vec::new();
        for note in records.iter().filter_map(note_of_layer) {
            let Some(key) = &note.key else { continue };
            let wanted = binds || self.run.as_ref().is_some_and(|run| run.binds);
            let done = || records.iter().filter_map(note_of_layer).any(|other| is_about(other, &key.key));
            match note.kind.as_str() {
                OPENED if binds => marks.push(mark(&key.key, WANTED, None, None, note.at)),
                DECIDED if wanted && !done() => marks.push(mark(&key.key, TO_BIND, None, None, note.at)),
                _ => {}
            }
        }
        records.extend(marks);
    }
}

/// Returns the record that a decision is bound.
pub(crate) fn bound(decision: &Decision, reference: &str, at: Timestamp) -> Record {
    mark(&decision.run().to_string(), IS_BOUND, Some(decision.id().to_string()), Some(reference), at)
}

/// Likewise, for one that was left over.
pub(crate) fn bound_later(unbound: &Unbound, reference: &str, at: Timestamp) -> Record {
    mark(&unbound.run.to_string(), IS_BOUND, Some(unbound.decision.clone()), Some(reference), at)
}

/// Returns what observers are told of it.
pub(super) fn event(note: &Note) -> Option<Event> {
    let key = note.key.as_ref().filter(|key| note.kind == BOUND && key.state == IS_BOUND)?;
    let BoundNote { reference, .. } = journal::read(note).ok()?;
    Some(Event::Bound { run: key.key.clone(), reference: reference.unwrap_or_default() })
}

fn mark(run: &str, state: &str, decision: Option<String>, reference: Option<&str>, at: Timestamp) -> Record {
    let body = BoundNote { decision, reference: reference.map(str::to_owned) };
    Record::Note(Note::new(LAYER, BOUND, at, journal::json(&body)).about(run, state))
}

fn note_of_layer(record: &Record) -> Option<&Note> {
    match record {
        Record::Note(note) if note.layer == LAYER => Some(note),
        _ => None,
    }
}

fn is_about(note: &Note, run: &str) -> bool {
    note.kind == BOUND && note.key.as_ref().is_some_and(|key| key.key == run && key.state != WANTED)
}
