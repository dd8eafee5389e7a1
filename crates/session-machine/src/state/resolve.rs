//! What the log holds of staged actions: the queue, rules that were given ahead, and calls that wait for a decision.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_resolve_queue::{
    Attempt, Change, Entry, Event as QueueEvent, Queue, RuleEvent, RuleId, Rules, State as At,
};
use trunkline_session_store::{Note, NoteKey, Record};

use crate::notes::close_request::CloseRequest;
use crate::notes::plan::PlanRecord;
use crate::notes::preimage::KEPT;
use crate::notes::resolve::{
    DISCARD_HOOK, DISTRUSTED, EVENT, GATED, GatedNote, LAYER, RULE, STANDING, StandingNote, TOLD, UNTOLD,
    UntoldNote, unfit_event, unfit_rule, word,
};
use crate::notes::{journal, record};
use crate::state::hooks::Hooks;
use crate::state::plans;
use crate::state::preimages::Preimages;
use crate::state::written::Writes;
use crate::state::{choices, close_requests};
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;
use crate::words::work::Id;

/// What the log holds of this layer.
#[derive(Default)]
pub struct Part {
    /// What is staged, and what became of it.
    pub queue: Queue<Value>,
    /// Decisions that were made ahead.
    pub rules: Rules,
    pub(crate) gates: HashMap<(NodeId, u32), Id>,
    gated_calls: HashMap<Id, CallPlace>,
    /// Where in the log each applied proposal was.
    pub(crate) applied: HashMap<Id, u64>,
    /// Likewise, each that was discarded.
    pub(crate) discarded: HashMap<Id, u64>,
    /// Likewise, each that was applied or perhaps was, in part or whole.
    pub(crate) attempted: HashMap<Id, u64>,
    /// The newest message when each proposal came into its state. Clocks may stand still or go back, the log does neither.
    pub(crate) came: HashMap<Id, NodeId>,
    /// The newest proposal that was not made here. Neither it nor any before it comes back.
    pub(crate) foreign: Option<Id>,
    /// The newest rule that was not given here.
    pub(crate) foreign_rule: Option<RuleId>,
    /// Where the bytes are that applies have written over.
    pub(crate) preimages: Preimages,
    /// What applies have written.
    pub(crate) writes: Writes,
    /// The attempts whose holder may be alive although somebody else writes the session now.
    standing: HashMap<Id, u32>,
    /// What the model is held to.
    pub choices: choices::Part,
    /// What is known of plans.
    pub plans: plans::Part,
    /// What is known of requests to end a run.
    pub close_requests: close_requests::Part,
    /// What the model is told when its turn is over.
    pub untold: Vec<String>,
    /// What it is shown with that.
    pub(crate) unshown: Vec<trunkline_message_tree::Part>,
    /// The discard hooks of proposals that have ended.
    pub hooks: Hooks,
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note, seq: u64, newest: NodeId) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            EVENT => {
                let event: QueueEvent<Value> = record::read(note)?;
                let id = event.proposal;
                let before = self.queue.get(id).map(|entry| entry.state);
                let state = self.queue.record(event).map_err(|source| unfit_event(&source))?;
                match state {
                    At::Applied => {
                        self.applied.insert(id, seq);
                        if let Some(entry) = self.queue.get(id) {
                            self.writes.applied(entry);
                        }
                    }
                    At::Discarded => drop(self.discarded.insert(id, seq)),
                    _ => {}
                }
                match state {
                    At::Applying | At::Applied | At::Unknown => drop(self.attempted.insert(id, seq)),
                    // Nothing of it is there: the tool has said so, or files that would show it.
                    At::Failed | At::Approved | At::Proposed
                        if before == Some(At::Applying) || self.shows_in_fingerprints(id) =>
                    {
                        self.attempted.remove(&id);
                    }
                    // What becomes of a proposal afterwards takes back nothing that was written.
                    _ => {}
                }
                self.came.insert(id, newest);
                if let Some(entry) = self.queue.get(id) {
                    self.hooks.follow(entry);
                }
            }
            GATED => {
                let gated: GatedNote = record::read(note)?;
                self.gates.insert((gated.call.node, gated.call.index), gated.proposal);
                self.gated_calls.insert(gated.proposal, gated.call);
                if gated.plan {
                    self.plans.proposed(gated.proposal);
                }
                if gated.close {
                    self.close_requests.requested(gated.proposal);
                }
            }
            KEPT => self.preimages.record(note)?,
            STANDING => {
                let StandingNote { proposal, attempt } = record::read(note)?;
                self.standing.insert(proposal, attempt);
            }
            UNTOLD => {
                let UntoldNote { text, parts } = record::read(note)?;
                self.untold.push(text);
                self.unshown.extend(parts);
            }
            TOLD => {
                self.untold.clear();
                self.unshown.clear();
            }
            DISCARD_HOOK => self.hooks.record(note),
            RULE => {
                let event: RuleEvent = record::read(note)?;
                self.rules.record(event).map_err(|source| unfit_rule(&source))?;
            }
            // Not what the note says but where it stands tells how far this goes: it may have come along as well.
            DISTRUSTED => {
                self.foreign = self.queue.iter().next_back().map(|entry| entry.id);
                self.foreign_rule = self.rules.iter().next_back().map(|rule| rule.id);
                // The files of another machine: what it wrote there is written nowhere here.
                self.applied.clear();
                self.discarded.clear();
                self.attempted.clear();
                self.choices.distrust();
                self.hooks.distrust();
                self.plans.distrust();
                self.close_requests.distrust();
            }
            _ if self.plans.record(note)? || self.close_requests.record(note)? => {}
            _ => self.choices.record(note)?,
        }
        Ok(())
    }

    pub(crate) fn finished(&mut self, finished: &journal::CallFinished) {
        self.choices.finished(finished);
    }

    /// Checks that records could be folded, before a store keeps them for ever, and gives each event its proposal as its
    /// key: so what is pending can be found without reading the session.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] if that does not fit.
    pub fn complete(&self, records: &mut [Record]) -> Result<(), RuntimeError> {
        let mut scratch: Option<Queue<Value>> = None;
        let mut rules: Option<Rules> = None;
        for record in records {
            let Record::Note(note) = record else { continue };
            if note.layer == LAYER && note.kind == RULE {
                let event: RuleEvent = record::read(note)?;
                let rules = rules.get_or_insert_with(|| self.rules.clone());
                rules.record(event).map_err(|source| unfit_rule(&source))?;
            }
            if note.layer != LAYER || note.kind != EVENT {
                continue;
            }
            let queue = scratch.get_or_insert_with(|| self.queue.clone());
            let event: QueueEvent<Value> = record::read(note)?;
            let (key, once) = (event.proposal.to_string(), matches!(event.change, Change::Staged(_)));
            let state = queue.record(event).map_err(|source| unfit_event(&source))?;
            note.key = Some(NoteKey { key, state: word(state), once });
        }
        Ok(())
    }

    /// Returns the queue as it is once these records are folded.
    pub(crate) fn queue_after(&self, records: &[Record]) -> Result<Queue<Value>, RuntimeError> {
        let mut queue = self.queue.clone();
        for record in records {
            let Record::Note(note) = record else { continue };
            if note.layer == LAYER && note.kind == EVENT {
                queue.record(record::read(note)?).map_err(|source| unfit_event(&source))?;
            }
        }
        Ok(queue)
    }

    /// Returns the proposals that a session goes on with: those that are not settled, whose tools have yet to be told that they
    /// ended, that stand on the trunk, or of which something was written since that record.
    pub(crate) fn needed(&self, tree: &MessageTree, since: u64) -> BTreeSet<Id> {
        let last = self.queue.iter().next_back().map(|entry| entry.id);
        let lately = |id: &Id| {
            let written = [&self.applied, &self.discarded, &self.attempted].map(|at| at.get(id));
            written.into_iter().flatten().any(|at| *at > since)
        };
        let on_trunk = |entry: &Entry<Value>| {
            let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse::<NodeId>().ok());
            node.is_some_and(|node| tree.is_on_trunk(node))
        };
        let named = [last, self.foreign];
        let needed = self.queue.iter().filter(|entry| {
            let settled = entry.state.is_settled() && !self.hooks.is_open(entry.id);
            !settled || named.contains(&Some(entry.id)) || lately(&entry.id) || on_trunk(entry)
        });
        let mut ids: BTreeSet<Id> = needed.map(|entry| entry.id).collect();
        // What is taken back is older, and may have taken something back itself.
        for entry in self.queue.iter().rev() {
            if let Some(undone) = entry.proposal.undo_of.filter(|_| ids.contains(&entry.id)) {
                ids.insert(undone);
            }
        }
        ids
    }

    /// Returns whether each proposal that takes another one back has that beside it.
    pub fn knows_what_it_undoes(&self) -> bool {
        let mut undone = self.queue.iter().filter_map(|entry| entry.proposal.undo_of);
        undone.all(|id| self.queue.get(id).is_some())
    }

    /// Returns the plan that a proposal is, as it was proposed; `None` if it is none.
    pub fn plan(&self, id: Id) -> Option<PlanRecord> {
        let entry = self.queue.get(id).filter(|_| self.plans.is_plan(id))?;
        PlanRecord::of_proposal(&entry.proposal)
    }

    /// Returns the request to end a run that a proposal is, as the model made it; `None` if it is none.
    pub fn close_request(&self, id: Id) -> Option<CloseRequest> {
        let entry = self.queue.get(id).filter(|_| self.close_requests.is_request(id))?;
        CloseRequest::of_proposal(&entry.proposal)
    }

    /// Returns whether an approval of a proposal does nothing to the world by itself, as that of a plan.
    pub(crate) fn is_word(&self, id: Id) -> bool {
        self.plans.is_plan(id) || self.close_requests.is_request(id)
    }

    fn shows_in_fingerprints(&self, id: Id) -> bool {
        self.queue.get(id).is_some_and(|entry| entry.proposal.effect.shows_in_fingerprints())
    }

    /// Returns whether the holder of an attempt may be alive although nobody else writes the session.
    pub fn is_standing(&self, attempt: Attempt) -> bool {
        self.standing.get(&attempt.proposal) == Some(&attempt.number)
    }

    /// Returns whether a proposal, by its name, is none of a command that waits.
    pub(crate) fn is_edit(&self, name: &str) -> bool {
        name.parse().is_ok_and(|id| self.gated_call(id).is_none())
    }

    /// Returns the call that a proposal stands for, if it is a command that waits rather than an edit.
    pub fn gated_call(&self, id: Id) -> Option<&CallPlace> {
        self.gated_calls.get(&id)
    }
}
