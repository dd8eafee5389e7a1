//! Leaving a branch: what was asked for in a turn, and what that does.
//!
//! Requests are not run like other calls. They are read again from the stored message when the turn is settled, so a
//! kill between the two loses none.

use trunkline_message_tree::{Author, Message, MessageTree, NodeId, Timestamp, ToolSpec};
use trunkline_revert::{Mover, Note, Outcome, Plan};
use trunkline_session_store::{Note as StoredNote, Record};

use crate::{Event, RuntimeError, journal};

mod compact;

pub(crate) use compact::{
    CompactPlan, CompactSetting, cache_break, compaction_due, compaction_failed, delayed, room, set_window,
    window,
};

pub(crate) const LAYER: &str = "revert";
const NOTE: &str = "note";
const DRAINED: &str = "drained";

/// Whether and how an agent's model may revert.
pub(crate) type Setting = Option<Box<crate::Reverts>>;

/// What the log holds of this layer.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) notes: Vec<Note>,
    pub(crate) drained: Vec<trunkline_revert::Record>,
    pub(crate) breaks: Vec<trunkline_revert::Break>,
    /// The latest compaction that came to nothing.
    failed: Option<compact::Failed>,
}

impl Part {
    pub(crate) fn record(&mut self, note: &StoredNote) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            NOTE => self.notes.push(journal::read(note)?),
            DRAINED => self.drained.push(journal::read(note)?),
            compact::BREAK => self.breaks.push(journal::read(note)?),
            compact::FAILED => self.failed = Some(journal::read(note)?),
            _ => {}
        }
        Ok(())
    }
}

/// The answers to the revert calls of one turn.
#[derive(Default)]
pub(crate) struct Drained {
    /// For each revert call its index, what the model is told, and whether that is a refusal.
    pub(crate) answers: Vec<(u32, String, bool)>,
    plan: Option<Plan>,
    refused: Vec<trunkline_revert::Record>,
}

/// The move that a turn ends in, ready to be recorded after its result nodes.
pub(crate) struct Leaving {
    outcome: Outcome,
}

pub(crate) fn is_call(setting: &Setting, name: &str) -> bool {
    setting.is_some() && name == trunkline_revert::TOOL_NAME
}

pub(crate) fn spec(setting: &Setting) -> Option<ToolSpec> {
    setting.as_ref().map(|_| trunkline_revert::tool_spec())
}

/// Returns the trunk with notes and marks, as a model is sent it; without them if the model may not revert. Summaries
/// stand in place of what they cover in both.
pub(crate) fn rendered(setting: &Setting, tree: &MessageTree, part: &Part) -> Vec<Message> {
    match setting {
        Some(reverts) => {
            let clock = trunkline_revert::Clock::new(trunkline_revert::turn(tree)).with_breaks(&part.breaks);
            let rendered = trunkline_revert::render_at(tree, &part.notes, &reverts.render, &clock);
            trunkline_revert::mark(rendered.messages)
        }
        None => tree.trunk().items().map(|item| item.message().clone()).collect(),
    }
}

/// Decides the revert calls of a turn, but for those that have their result. Changes nothing.
pub(crate) fn drain(
    setting: &Setting,
    tree: &MessageTree,
    node: NodeId,
    message: &Message,
    finished: impl Fn(u32) -> bool,
) -> Drained {
    let mut drained = Drained::default();
    let Some(reverts) = setting else { return drained };
    let mover = Mover { author: Author::Model, prompts: reverts.prompts };
    let mut requests = Vec::new();
    for (place, request) in trunkline_revert::requests(node, message) {
        if finished(place.index as u32) {
            continue;
        }
        match request {
            Ok(request) => requests.push(request),
            Err(fault) => drained.answers.push((place.index as u32, fault.to_string(), true)),
        }
    }
    let answers = trunkline_revert::drain(tree, &requests, mover);
    for (request, answer) in requests.iter().zip(answers) {
        let index = request.call.as_ref().map_or(0, |call| call.index as u32);
        match answer {
            Ok(plan) => {
                let plan = match reverts.window_tokens {
                    Some(window) => plan.in_window(window),
                    None => plan,
                };
                drained.answers.push((index, plan.result_text(), false));
                drained.plan = Some(plan);
            }
            Err(refusal) => {
                drained.answers.push((index, refusal.to_string(), true));
                drained.refused.push(trunkline_revert::Record::refused(request, &refusal, mover));
            }
        }
    }
    drained
}

impl Drained {
    /// Returns whether the turn ends in a move of the head.
    pub(crate) fn leaves(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns the records of refusals, and the move if there is one.
    pub(crate) fn finish(
        self,
        tree: &MessageTree,
        results: &[NodeId],
        at: Timestamp,
    ) -> (Vec<Record>, Option<Leaving>) {
        let refused = self.refused.iter().map(|record| journal::note(LAYER, DRAINED, at, record)).collect();
        let turn = trunkline_revert::turn(tree);
        (refused, self.plan.map(|plan| Leaving { outcome: plan.outcome(results, at, turn) }))
    }
}

impl Leaving {
    pub(crate) fn head_move(&self) -> trunkline_message_tree::HeadMove {
        self.outcome.head_move.clone()
    }

    /// Returns the name of the move, for whoever wants to know which one put something aside.
    pub(crate) fn move_name(&self) -> String {
        self.outcome.note.made_by.to_string()
    }

    /// Returns the nodes that leave the trunk.
    pub(crate) fn left(&self) -> &[NodeId] {
        &self.outcome.record.abandoned
    }

    pub(crate) fn records(&self, at: Timestamp) -> [Record; 2] {
        [
            journal::note(LAYER, NOTE, at, &self.outcome.note),
            journal::note(LAYER, DRAINED, at, &self.outcome.record),
        ]
    }
}

/// Returns what observers are told of a recorded note.
pub(crate) fn event(note: &StoredNote) -> Option<Event> {
    let drained =
        (note.layer == LAYER && note.kind == DRAINED).then(|| serde_json::from_str(&note.body).ok());
    drained.flatten().map(Event::Reverted).or_else(|| compact::event(note))
}

/// Plans a person's own revert, which may cross prompts.
pub(crate) fn plan_by_person(
    tree: &MessageTree,
    to: NodeId,
    lesson: Option<&str>,
) -> Result<Planned, RuntimeError> {
    let request = trunkline_revert::Request::new(trunkline_revert::Category::Failure, to, lesson);
    trunkline_revert::plan(tree, &request, Mover::PERSON)
        .map(|plan| Planned { plan })
        .map_err(|refusal| RuntimeError::Refused { reason: refusal.to_string() })
}

/// A person's revert, before the nodes are known that still come before it.
pub(crate) struct Planned {
    plan: Plan,
}

impl Planned {
    /// Says how many tokens a prompt may have.
    pub(crate) fn in_window(self, window: Option<u64>) -> Self {
        match window {
            Some(window) => Planned { plan: self.plan.in_window(window) },
            None => self,
        }
    }

    pub(crate) fn leaving(self, tree: &MessageTree, results: &[NodeId], at: Timestamp) -> Leaving {
        Leaving { outcome: self.plan.outcome(results, at, trunkline_revert::turn(tree)) }
    }
}

/// Returns the note that an undo leaves at the head that it restores.
pub(crate) fn undone(
    tree: &MessageTree,
    undo: &trunkline_message_tree::HeadMove,
    at: Timestamp,
) -> Option<Record> {
    let note = Note::undone(tree, undo, trunkline_revert::turn(tree))?;
    Some(journal::note(LAYER, NOTE, at, &note))
}

/// Returns one line for each branch that was left after `since` and is still left.
#[cfg(feature = "decision-objects")]
pub(crate) fn lessons(part: &Part, tree: &MessageTree, since: NodeId) -> Vec<String> {
    let ours = part.notes.iter().filter(|note| note.anchor >= since && note.is_in_force(tree));
    ours.map(Note::text).collect()
}
