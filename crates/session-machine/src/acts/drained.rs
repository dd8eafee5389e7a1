//! What the calls of a turn ask of the conversation itself, and what is answered to them.
//!
//! They are not run like other calls. They are read again from the stored message when the turn is settled, so a kill between
//! the two loses none.

use std::cell::LazyCell;

use trunkline_message_tree::{Author, MessageTree, NodeId, Timestamp, ToolCall};
use trunkline_revert::{
    Ask, AskRefusal, CallPlace as Place, Granted, MERGE_TOOL_NAME, Merge, MergeRefused, Mover,
    OUTLINE_TOOL_NAME, OwnBranches, PRUNE_TOOL_NAME, Plan, Price, PrunePlan, PruneRecord, PruneRefusal,
    PruneRequest, Pruned, RECALL_TOOL_NAME, RETURN_TOOL_NAME, Rates, Reason, Stays, TOOL_NAME, UnreadRequest,
    drain_asks, outline_branches, parse_recalled, plan_pruning,
};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::leaving::Leaving;
use crate::acts::ledger;
use crate::acts::question::Pause;
use crate::acts::turn::CallAnswer;
use crate::acts::view::View;
use crate::notes;
use crate::rules::staged;
use crate::setup::revert::is_offered;
use crate::state::OpenTurn;
use crate::words::call::{Access, CallPlace};
use crate::words::reverts::Reverts;

/// The answers to the calls of one turn that are about the conversation.
#[derive(Default)]
pub(crate) struct Drained {
    answers: Vec<CallAnswer>,
    moving: Option<(u32, Plan)>,
    merging: Option<(u32, Merge)>,
    pruning: Vec<(u32, PrunePlan, Price)>,
    /// What is recorded of requests that came to nothing, each with the index of its call.
    refused: Vec<(u32, Refused)>,
    /// What needs a person, with their words that would leave.
    asked: Option<(trunkline_revert::Request, Vec<NodeId>)>,
}

enum Refused {
    Revert(Box<trunkline_revert::Record>),
    /// Its arguments could not be read.
    Unread(UnreadRequest),
    Merge(MergeRefused),
    Pruning(PruneRecord),
}

/// Returns whether the turn ends in a move that leaves its branch.
pub(crate) fn leaves(view: &View<'_>, turn: &OpenTurn<'_>) -> bool {
    let Some(reverts) = &view.setup.revert else { return false };
    let mut drained = Drained::default();
    drained.moves(view, reverts, turn);
    drained.moving.is_some()
}

/// Returns whether the open turn names a branch: then what was said there has to be known before it is settled.
pub fn names_branches(view: &View<'_>) -> bool {
    let Some(turn) = view.state.open_turn() else { return false };
    let offered = |call: &&ToolCall| is_offered(&view.setup.revert, &call.name);
    let mut calls = turn.message.calls().filter(offered);
    calls.any(|call| [MERGE_TOOL_NAME, RETURN_TOOL_NAME].contains(&call.name.as_str()))
}

/// Decides the calls of a turn that are about the conversation, but for those that have their result. Changes nothing.
pub(crate) fn drain(view: &View<'_>, turn: &OpenTurn<'_>) -> Drained {
    let mut drained = Drained::default();
    let Some(reverts) = &view.setup.revert else { return drained };
    drained.outlines(view, reverts, turn);
    drained.moves(view, reverts, turn);
    drained.prunings(view, reverts, turn);
    drained.recalls(view, reverts, turn);
    // The log tells of them in the order of their calls.
    drained.refused.sort_by_key(|(index, _)| *index);
    drained
}

/// Returns the record of a request of which the reply has only a part; nothing if the call is none of those that are recorded.
pub(crate) fn cut_short(view: &View<'_>, place: &CallPlace, fault: &str) -> Option<Record> {
    let message = view.state.tree.node(place.node).ok()?.message();
    let call = message.calls().nth(place.index as usize)?;
    let place = Place { node: place.node, index: place.index as usize, call_id: call.id.clone() };
    let refused = match call.name.as_str() {
        name if !is_offered(&view.setup.revert, name) => return None,
        PRUNE_TOOL_NAME => Refused::Pruning(PruneRecord::refused(place, fault.to_owned())),
        TOOL_NAME | MERGE_TOOL_NAME | RETURN_TOOL_NAME => Refused::unread(place, call, fault),
        _ => return None,
    };
    Some(refused.record(view.at))
}

impl Refused {
    /// Returns what is recorded of a request to go elsewhere, or for what stands there, that could not be read.
    fn unread(place: Place, call: &ToolCall, fault: &str) -> Self {
        match call.name == MERGE_TOOL_NAME {
            true => Refused::Merge(MergeRefused::new(Vec::new(), fault.to_owned(), place)),
            false => Refused::Unread(UnreadRequest::new(place, fault, &call.arguments)),
        }
    }

    fn record(&self, at: Timestamp) -> Record {
        match self {
            Refused::Unread(request) => notes::revert::unread(request, at),
            Refused::Revert(record) => notes::revert::drained(record, at),
            Refused::Merge(record) => notes::revert::merge_refused(record, at),
            Refused::Pruning(record) => notes::revert::pruned(record, at),
        }
    }
}

/// Returns the calls of one name that have no result yet, each with its place.
fn open_calls<'a>(
    view: &View<'a>,
    turn: &OpenTurn<'a>,
    name: &'static str,
) -> impl Iterator<Item = (Place, &'a ToolCall)> {
    let (state, node) = (view.state, turn.node);
    let offered = is_offered(&view.setup.revert, name);
    let calls = turn.message.calls().enumerate().filter(move |(_, call)| offered && call.name == name);
    let open = calls.filter(move |(index, _)| !state.is_finished(&place_of(node, *index)));
    open.map(move |(index, call)| (Place { node, index, call_id: call.id.clone() }, call))
}

fn place_of(node: NodeId, index: usize) -> CallPlace {
    CallPlace { node, index: index as u32, id: String::new() }
}

impl Drained {
    fn outlines(&mut self, view: &View<'_>, reverts: &Reverts, turn: &OpenTurn<'_>) {
        let (tree, part) = (&view.state.tree, &view.state.revert);
        // The same for all calls of the turn, and not to be had without looking through all moves.
        let branches = LazyCell::new(|| {
            let own = OwnBranches::of(tree, &part.notes, &part.drained);
            outline_branches(&own, &part.notes)
        });
        for (place, _) in open_calls(view, turn, OUTLINE_TOOL_NAME) {
            // Of the tree as it is: what a request of the same turn does comes after.
            let mut outline = trunkline_revert::outline(tree, mover(reverts), Some(&place));
            if reverts.merge || reverts.go {
                outline = format!("{outline}\n{}", *branches);
            }
            self.answers.push(CallAnswer::said(place.index as u32, outline));
        }
    }

    /// Decides what asks for another place, or for what stands at one.
    fn moves(&mut self, view: &View<'_>, reverts: &Reverts, turn: &OpenTurn<'_>) {
        let (tree, part) = (&view.state.tree, &view.state.revert);
        let mut asks = Vec::new();
        let calls: Vec<&ToolCall> = turn.message.calls().collect();
        for (place, ask) in Ask::of(turn.node, turn.message) {
            let offered = is_offered(&view.setup.revert, &calls[place.index].name);
            if !offered || view.state.is_finished(&place_of(place.node, place.index)) {
                continue;
            }
            match ask {
                Ok(ask) => asks.push((place.index as u32, ask)),
                Err(fault) => {
                    let (index, fault) = (place.index as u32, fault.to_string());
                    let call = calls[place.index];
                    self.refused.push((index, Refused::unread(place, call, &fault)));
                    self.answers.push(CallAnswer::refused(index, fault));
                }
            }
        }
        let mover = mover(reverts);
        let (indexes, asks): (Vec<u32>, Vec<Ask>) = asks.into_iter().unzip();
        let answers = drain_asks(tree, (&part.notes, &part.drained), &asks, mover);
        for ((index, ask), answer) in indexes.into_iter().zip(&asks).zip(answers) {
            match answer {
                Ok(Granted::Move(plan)) => {
                    let plan = match reverts.window_tokens {
                        Some(window) => plan.in_window(window),
                        None => *plan,
                    };
                    self.moving = Some((index, plan));
                }
                Ok(Granted::Merge(merge)) => {
                    let call_id = calls[index as usize].id.clone();
                    let call = Place { node: turn.node, index: index as usize, call_id };
                    self.merging = Some((index, merge.asked_by(call, tree, &rates(reverts))));
                }
                Err(refusal) => {
                    self.answers.push(CallAnswer::refused(index, refusal.to_string()));
                    self.refuse((index, ask), &refusal, mover);
                }
            }
        }
    }

    fn refuse(&mut self, (index, ask): (u32, &Ask), refusal: &AskRefusal, mover: Mover) {
        let record = match (ask, refusal) {
            (Ask::Revert(request), AskRefusal::Revert(refusal)) => {
                if let Reason::NeedsPerson { prompts, .. } = &refusal.reason {
                    self.asked.get_or_insert((request.clone(), prompts.clone()));
                }
                Refused::Revert(Box::new(trunkline_revert::Record::refused(request, refusal, mover)))
            }
            (Ask::Return(request), AskRefusal::Return(refusal)) => {
                Refused::Revert(Box::new(trunkline_revert::Record::not_returned(request, refusal, mover)))
            }
            (Ask::Merge { branches, call }, refusal) => {
                Refused::Merge(MergeRefused::new(branches.clone(), refusal.to_string(), call.clone()))
            }
            _ => return,
        };
        self.refused.push((index, record));
    }

    /// Decides which results are left out. What the same turn leaves out before counts as left out already.
    fn prunings(&mut self, view: &View<'_>, reverts: &Reverts, turn: &OpenTurn<'_>) {
        let tree = &view.state.tree;
        let mut prunings = view.state.revert.prunings.clone();
        let mut all: Vec<Pruned> = Vec::new();
        for (place, call) in open_calls(view, turn, PRUNE_TOOL_NAME) {
            let index = place.index as u32;
            let request =
                PruneRequest::parse(&call.arguments, place.clone()).map_err(|fault| fault.to_string());
            let planned = request.and_then(|request| match self.moving {
                Some(_) => Err(PruneRefusal::other_move().to_string()),
                None => {
                    let stays = |node: NodeId, call: &ToolCall| stays(view, node, call);
                    plan_pruning(tree, &prunings, &request, stays).map_err(|refusal| refusal.to_string())
                }
            });
            match planned {
                Ok(plan) => {
                    all.extend(plan.results.iter().cloned());
                    let price = Price::of_pruning(tree, &all, &rates(reverts));
                    prunings.record(&plan.clone().record(turn.node, None));
                    self.pruning.push((index, plan, price));
                }
                Err(reason) => {
                    self.answers.push(CallAnswer::refused(index, reason.clone()));
                    self.refused.push((index, Refused::Pruning(PruneRecord::refused(place, reason))));
                }
            }
        }
    }

    fn recalls(&mut self, view: &View<'_>, reverts: &Reverts, turn: &OpenTurn<'_>) {
        let (tree, part) = (&view.state.tree, &view.state.revert);
        let by_rule = LazyCell::new(|| {
            let rule = reverts.render.prune;
            rule.map_or_else(Vec::new, |rule| rule.left_out_of(tree, trunkline_revert::turn(tree)))
        });
        for (place, call) in open_calls(view, turn, RECALL_TOOL_NAME) {
            let index = place.index as u32;
            let recalled =
                parse_recalled(&call.arguments).map_err(|fault| fault.to_string()).and_then(|node| {
                    trunkline_revert::recall(tree, &part.prunings, &by_rule, node)
                        .map_err(|refusal| refusal.to_string())
                });
            self.answers.push(match recalled {
                Ok(content) => CallAnswer { index, content, is_error: false },
                Err(reason) => CallAnswer::refused(index, reason),
            });
        }
    }

    /// Lets the call's own result state the price of a move, if it is known what tokens cost.
    pub(crate) fn priced(mut self, view: &View<'_>, asked: &mut Asked<'_>) -> Result<Self, Pause> {
        let Some(rates) = told_rates(view) else { return Ok(self) };
        for (_, plan, price) in &mut self.pruning {
            plan.price = Some(price.clone());
        }
        let Some((_, plan)) = &mut self.moving else { return Ok(self) };
        let tree = &view.state.tree;
        let ledger =
            ledger::of((view, tree), asked, &tree.draft(), plan.stays(), (&plan.leaving, &plan.back))?;
        let outcome = plan.clone().outcome(&[], Timestamp(0), 0).with_ledger(ledger);
        plan.price = outcome.with_price(tree, [], rates).record.price;
        Ok(self)
    }

    /// Returns what is answered to each of the calls.
    pub(crate) fn answers(&self, view: &View<'_>) -> Vec<CallAnswer> {
        let mut answers = self.answers.clone();
        let moving = self.moving.iter().map(|(index, plan)| CallAnswer::said(*index, plan.result_text()));
        let priced = told_rates(view).is_some();
        let merging = self.merging.iter();
        let merging = merging.map(|(index, merge)| CallAnswer::said(*index, merge.result_text(priced)));
        let pruning =
            self.pruning.iter().map(|(index, plan, _)| CallAnswer::said(*index, plan.result_text()));
        answers.extend(moving.chain(merging).chain(pruning));
        answers
    }

    /// Returns the first request that needs a person, with their words that would leave.
    pub(crate) fn asked(&self) -> Option<(&trunkline_revert::Request, &[NodeId])> {
        self.asked.as_ref().map(|(request, prompts)| (request, prompts.as_slice()))
    }

    /// Returns the merge that was asked for.
    pub(crate) fn take_merge(&mut self) -> Option<Merge> {
        self.merging.take().map(|(_, merge)| merge)
    }

    /// Returns the records of refusals and of what is left out, and the move if there is one.
    pub(crate) fn finish(
        &mut self,
        tree: &MessageTree,
        results: &[NodeId],
        at: Timestamp,
    ) -> (Vec<Record>, Option<Leaving>) {
        let mut records: Vec<Record> = self.refused.iter().map(|(_, refused)| refused.record(at)).collect();
        let since = results.last().copied().unwrap_or(tree.head());
        let pruned = std::mem::take(&mut self.pruning).into_iter();
        records.extend(
            pruned.map(|(_, plan, price)| notes::revert::pruned(&plan.record(since, Some(price)), at)),
        );
        let leaving = self.moving.take().map(|(_, plan)| {
            // Counted only where something leaves: it is a step for each node.
            let turn = trunkline_revert::turn(tree);
            Leaving { outcome: plan.outcome(results, at, turn), asks: false }
        });
        (records, leaving)
    }
}

fn mover(reverts: &Reverts) -> Mover {
    Mover { author: Author::Model, prompts: reverts.prompts }
}

fn rates(reverts: &Reverts) -> Rates {
    reverts.rates.clone().unwrap_or_else(Rates::uncached)
}

/// Returns what tokens cost, if somebody said so.
fn told_rates<'a>(view: &View<'a>) -> Option<&'a Rates> {
    view.setup.revert.as_ref().and_then(|reverts| reverts.rates.as_ref())
}

/// Returns why the result of a call stays before the model's eyes, if it does: it tells of something that was proposed or decided, or
/// its tool is gone, so that it is not known what it did.
fn stays(view: &View<'_>, node: NodeId, call: &ToolCall) -> Option<Stays> {
    if trunkline_revert::is_conversation_tool(&call.name) {
        return (call.name != RECALL_TOOL_NAME).then_some(Stays::Decision);
    }
    // Both wait for a person as what is staged does, and are no tools of the agent's own.
    if view.setup.catalogue.access(&call.name).is_none()
        && [notes::plan::TOOL, notes::close_request::TOOL].contains(&call.name.as_str())
    {
        return Some(Stays::Decision);
    }
    if view.setup.is_resolve_call(&call.name) || staged::has_staged(&view.state.resolve, node, &call.id) {
        return Some(Stays::Decision);
    }
    match view.setup.catalogue.access(&call.name) {
        None => Some(Stays::ToolGone),
        Some(Access::Proposes) => Some(Stays::Decision),
        Some(_) => None,
    }
}
