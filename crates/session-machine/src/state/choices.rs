//! What the log holds of what the model is held to: the tool-choice queue, and what calls of the tool `resolve` mean.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline_message_tree::NodeId;
use trunkline_resolve_queue::{ChoiceQueue, Policy, ProposalId, ResolutionDetails};
use trunkline_session_store::Note;

use crate::notes::choice::{CHOICES, ChoicesNote, HeldTurn, RESOLVING, Reminded, ResolvingNote};
use crate::notes::journal::CallFinished;
use crate::notes::record;
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;

/// What the log holds of it.
#[derive(Default)]
pub struct Part {
    /// The queue as it was recorded last; `None` if it never was.
    pub queue: Option<ChoiceQueue>,
    /// How the model is brought to decide, if a person has stored that with the session.
    pub policy: Option<Policy>,
    pub(crate) reminders: Vec<Reminded>,
    held: Option<HeldTurn>,
    meant: BTreeMap<(NodeId, u32), ResolutionDetails>,
    resolved: BTreeMap<CallPlace, ResolutionDetails>,
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            CHOICES => {
                let ChoicesNote { queue, reminder, held, policy } = record::read(note)?;
                self.queue = Some(queue);
                self.policy = policy.or(self.policy);
                self.reminders.extend(reminder);
                self.held = held.or(self.held.take());
            }
            RESOLVING => {
                let ResolvingNote { call, details } = record::read(note)?;
                self.meant.insert((call.node, call.index), details);
            }
            _ => {}
        }
        Ok(())
    }

    /// Forgets what was asked in another place: a session that was brought here is not held to it.
    pub(crate) fn distrust(&mut self) {
        self.queue = None;
        self.policy = None;
        self.held = None;
    }

    /// Takes in what was told of a call beside its result.
    pub(crate) fn finished(&mut self, finished: &CallFinished) {
        // Told by a later version in words of its own: the result stands for itself.
        let told = finished.details.as_ref().and_then(|told| ResolutionDetails::deserialize(told).ok());
        if let Some(details) = told {
            self.resolved.insert(finished.call.clone(), details);
        }
    }

    /// Returns what a call means, if that is settled.
    pub(crate) fn meant(&self, place: &CallPlace) -> Option<&ResolutionDetails> {
        self.meant.get(&(place.node, place.index))
    }

    /// Returns what the reply was held to that a call stands in.
    pub(crate) fn held(&self, place: &CallPlace) -> Option<ProposalId> {
        self.held.as_ref().filter(|held| held.node == place.node).map(|held| held.proposal)
    }

    /// Returns every resolution that the model made, by call.
    pub fn resolved(&self) -> impl Iterator<Item = (&CallPlace, &ResolutionDetails)> {
        self.resolved.iter()
    }
}
