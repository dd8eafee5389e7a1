//! Leaving a branch: what was asked for in a turn, and what that does.
//!
//! Requests are not run like other calls. They are read again from the stored message when the turn is settled, so a
//! kill between the two loses none.

use trunkline_message_tree::{Author, Draft, HeadMove, Message, MessageTree, NodeId, Timestamp};
use trunkline_revert::{Mover, Note, Outcome, Plan, Rates, Reason, SummaryBy};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::ledger;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes;
use crate::setup::revert::Setting;
use crate::state::{OpenTurn, State};
use crate::words::call::CallPlace;
use crate::words::error::RuntimeError;

/// The answers to the revert calls of one turn.
#[derive(Default)]
pub(crate) struct Drained {
    /// For each revert call its index, what the model is told, and whether that is a refusal.
    pub(crate) answers: Vec<(u32, String, bool)>,
    plan: Option<Plan>,
    /// What is recorded of the requests that move nothing, each with the index of its call.
    declined: Vec<(usize, Declined)>,
    /// What needs a person, with their words that would leave.
    asked: Option<(trunkline_revert::Request, Vec<NodeId>)>,
}

/// A request that moves nothing.
enum Declined {
    /// It was read and refused.
    Refused(Box<trunkline_revert::Record>),
    /// Its arguments could not be read.
    Unread(trunkline_revert::UnreadRequest),
}

/// The move that a turn ends in, ready to be recorded after its result nodes.
pub(crate) struct Leaving {
    pub(crate) outcome: Outcome,
    /// Whether somebody is to be asked what the branch came to.
    pub(crate) asks: bool,
}

/// Decides the revert calls of a turn, but for those that have their result. Changes nothing.
pub(crate) fn drain(state: &State, setting: &Setting, turn: &OpenTurn<'_>) -> Drained {
    let (tree, node, message) = (&state.tree, turn.node, turn.message);
    let finished = |index: u32| state.is_finished(&CallPlace { node, index, id: String::new() });
    let mut drained = Drained::default();
    let Some(reverts) = setting else { return drained };
    let mover = Mover { author: Author::Model, prompts: reverts.prompts };
    for (index, call) in message.calls().enumerate() {
        if call.name == trunkline_revert::OUTLINE_TOOL_NAME && !finished(index as u32) {
            // Of the tree as it is: what a request of the same turn does comes after.
            let place = trunkline_revert::CallPlace { node, index, call_id: call.id.clone() };
            let outline = trunkline_revert::outline(tree, mover, Some(&place));
            drained.answers.push((index as u32, outline, false));
        }
    }
    let mut requests = Vec::new();
    for (place, request) in trunkline_revert::requests(node, message) {
        if finished(place.index as u32) {
            continue;
        }
        match request {
            Ok(request) => requests.push(request),
            Err(fault) => {
                let (index, fault) = (place.index, fault.to_string());
                let arguments = message.calls().nth(index).map_or("", |call| call.arguments.as_str());
                let unread = trunkline_revert::UnreadRequest::new(place, &fault, arguments);
                drained.answers.push((index as u32, fault, true));
                drained.declined.push((index, Declined::Unread(unread)));
            }
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
                if let Reason::NeedsPerson { prompts, .. } = &refusal.reason {
                    drained.asked.get_or_insert((request.clone(), prompts.clone()));
                }
                let refused = trunkline_revert::Record::refused(request, &refusal, mover);
                drained.declined.push((index as usize, Declined::Refused(Box::new(refused))));
            }
        }
    }
    // The log tells of them in the order of their calls.
    drained.declined.sort_by_key(|(index, _)| *index);
    drained
}

/// Returns the record of a request of which the reply has only a part; nothing if the call is none.
pub(crate) fn cut_short(view: &View<'_>, place: &CallPlace, fault: &str) -> Option<Record> {
    let message = view.state.tree.node(place.node).ok()?.message();
    let call = message.calls().nth(place.index as usize)?;
    let asks = view.setup.revert.is_some() && call.name == trunkline_revert::TOOL_NAME;
    let (node, index, call_id) = (place.node, place.index as usize, call.id.clone());
    let place = trunkline_revert::CallPlace { node, index, call_id };
    let unread = trunkline_revert::UnreadRequest::new(place, fault, &call.arguments);
    asks.then(|| notes::revert::unread(&unread, view.at))
}

impl Drained {
    /// Returns whether the turn ends in a move of the head.
    pub(crate) fn leaves(&self) -> bool {
        self.plan.is_some()
    }

    /// Lets the call's own result state the price, if it is known what tokens cost.
    pub(crate) fn priced(mut self, view: &View<'_>, asked: &mut Asked<'_>) -> Result<Self, Pause> {
        let rates = view.setup.revert.as_ref().and_then(|reverts| reverts.rates.as_ref());
        let (Some(plan), Some(rates)) = (&mut self.plan, rates) else { return Ok(self) };
        let unpriced = plan.result_text();
        let tree = &view.state.tree;
        let ledger = ledger::of((view, tree), asked, &tree.draft(), plan.target, &plan.leaving)?;
        let outcome = plan.clone().outcome(&[], Timestamp(0), 0).with_ledger(ledger);
        plan.price = outcome.with_price(tree, [], rates).record.price;
        // One request of a turn at most is granted; what else is no error is an outline.
        let granted = self.answers.iter_mut().find(|(_, answer, is_error)| !is_error && *answer == unpriced);
        if let Some((_, answer, _)) = granted {
            *answer = plan.result_text();
        }
        Ok(self)
    }

    /// Returns the first request that needs a person, with their words that would leave.
    pub(crate) fn asked(&self) -> Option<(&trunkline_revert::Request, &[NodeId])> {
        self.asked.as_ref().map(|(request, prompts)| (request, prompts.as_slice()))
    }

    /// Returns the records of the requests that move nothing, and the move if there is one.
    pub(crate) fn finish(
        &mut self,
        tree: &MessageTree,
        results: &[NodeId],
        at: Timestamp,
    ) -> (Vec<Record>, Option<Leaving>) {
        let record = |(_, declined): &(usize, Declined)| match declined {
            Declined::Refused(record) => notes::revert::drained(record, at),
            Declined::Unread(request) => notes::revert::unread(request, at),
        };
        let declined = self.declined.iter().map(record).collect();
        let leaving = self.plan.take().map(|plan| {
            // Counted only where something leaves: it is a step for each node.
            let turn = trunkline_revert::turn(tree);
            Leaving { outcome: plan.outcome(results, at, turn), asks: false }
        });
        (declined, leaving)
    }
}

impl Leaving {
    /// Adds what was already done on the branch and what leaving it costs. The draft holds what else leaves with it.
    pub(crate) fn told(
        mut self,
        (view, tree): (&View<'_>, &MessageTree),
        asked: &mut Asked<'_>,
        draft: &Draft<'_>,
    ) -> Result<Self, Pause> {
        let left = &self.outcome.record.abandoned;
        let ledger = ledger::of((view, tree), asked, draft, self.outcome.head_move.to, left)?;
        let drafted = ledger::drafted(draft);
        let appended: Vec<&Message> = left.iter().filter_map(|id| drafted.get(id).copied()).collect();
        let reverts = view.setup.revert.as_deref();
        let rates = reverts.and_then(|reverts| reverts.rates.clone()).unwrap_or_else(Rates::uncached);
        self.outcome = self.outcome.with_ledger(ledger).with_price(tree, appended, &rates);
        let note = &self.outcome.note;
        let unsaid = note.summary.is_none() || note.by == SummaryBy::Mechanical;
        self.asks = unsaid && reverts.is_some() && view.setup.summarizes;
        Ok(self)
    }

    /// Makes the move, and copies words of a person after it.
    pub(crate) fn move_head(
        &mut self,
        _: &MessageTree,
        draft: &mut Draft<'_>,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        draft.move_head(self.head_move())?;
        let mut copies = Vec::new();
        for copy in &self.outcome.copies {
            copies.push(draft.append(copy.message.clone(), at)?);
        }
        self.outcome = self.outcome.clone().with_copies(&copies);
        Ok(())
    }

    pub(crate) fn head_move(&self) -> HeadMove {
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

    /// Returns the copies that the move has made of words of a person, after their originals.
    pub(crate) fn copies(&self) -> Vec<(NodeId, NodeId)> {
        self.outcome.record.rebased.iter().map(|link| (link.original, link.copy)).collect()
    }

    pub(crate) fn records(&self, at: Timestamp) -> Vec<Record> {
        let mut records = vec![
            notes::revert::told(&self.outcome.note, at),
            notes::revert::drained(&self.outcome.record, at),
        ];
        if self.asks {
            records.push(notes::revert::summary_asked(self.outcome.note.made_by, at));
        }
        records
    }
}

/// Plans a person's own revert, which may cross prompts.
pub(crate) fn plan_by_person(
    tree: &MessageTree,
    to: NodeId,
    lesson: Option<&str>,
) -> Result<Planned, RuntimeError> {
    plan_request(tree, &trunkline_revert::Request::new(trunkline_revert::Category::Failure, to, lesson))
}

/// Plans what a person has agreed to.
pub(crate) fn plan_request(
    tree: &MessageTree,
    request: &trunkline_revert::Request,
) -> Result<Planned, RuntimeError> {
    trunkline_revert::plan(tree, request, Mover::PERSON)
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
        Leaving { outcome: self.plan.outcome(results, at, trunkline_revert::turn(tree)), asks: false }
    }
}

/// Returns the note that an undo leaves at the head that it restores. The draft holds what else leaves with the move.
pub(crate) fn undone(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    undo: &HeadMove,
    draft: &Draft<'_>,
) -> Result<Option<Record>, Pause> {
    let tree = &view.state.tree;
    let note = Note::undone(tree, undo, trunkline_revert::turn(tree));
    let (Some(mut note), Ok(shared)) = (note, tree.fork_of(undo.to)) else { return Ok(None) };
    let mut appended: Vec<NodeId> = ledger::drafted(draft).into_keys().collect();
    appended.sort_unstable();
    note.abandoned.extend(appended);
    let ledger = ledger::of((view, tree), asked, draft, shared, &note.abandoned)?;
    Ok(Some(notes::revert::told(&note.with_ledger(ledger), view.at)))
}
