//! What is about to be bound, and what is not bound yet.
//!
//! The batch that closes a run is recorded first, inside a note: what git was told and what the log says are then the same
//! bytes, whoever writes them.

use trunkline_decision_objects::{Decision, RunId};
use trunkline_session_store::{Note, Record};

use crate::layers::decision::{Looks, OPENED, OpenRun, Part};
use crate::notes::binding::{self, TO_BIND, WANTED, is_about};
use crate::notes::decision::{DECIDED, LAYER};
use crate::words::bound::Binding;

/// A decision that is recorded and was to be bound, and is not yet.
#[derive(Clone)]
pub struct Unbound {
    pub run: RunId,
    pub(crate) decision: String,
    pub(crate) binding: Binding,
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
            run.base = crate::words::files::Base::default();
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
                OPENED if binds => marks.push(binding::wanted(&key.key, note.at)),
                DECIDED if wanted && !done() => marks.push(binding::to_bind(&key.key, note.at)),
                _ => {}
            }
        }
        records.extend(marks);
    }
}

fn note_of_layer(record: &Record) -> Option<&Note> {
    match record {
        Record::Note(note) if note.layer == LAYER => Some(note),
        _ => None,
    }
}
