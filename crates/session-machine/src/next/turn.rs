//! What happens to an open turn: its calls are answered, gated, run, held, resolved; at last it is settled.

use std::borrow::Cow;
use std::collections::HashMap;

use trunkline_message_tree::{CallOutcome, ToolCall};

use crate::acts::asked::Asked;
use crate::acts::drained::leaves;
use crate::acts::question::{Pause, Wanted};
use crate::acts::view::View;
use crate::next::facts::Facts;
use crate::next::step::Step;
use crate::next::work;
use crate::rules::calls::{OUTCOME_UNKNOWN, is_exclusive, may_have_worked, only_looks};
use crate::rules::close_requests::{self, Requested};
use crate::rules::gates::{self, Gated};
use crate::rules::plans::{self, Planned};
use crate::rules::{choices, waiting};
use crate::setup::Setup;
use crate::setup::catalogue::TRUNCATED;
use crate::state::{CallStatus, OpenTurn};
use crate::words::call::{CallPlace, Declared};
use crate::words::runnable::{self, Runnable};
use crate::words::work::Id;

const CANCELLED: &str = "not run: the turn was cancelled before this call began";

const CUT_OFF: &str =
    "cut off: the program ended while this ran, and the turn was cancelled before it was run again";

/// Returns what happens next to an open turn.
pub(super) fn next_in_turn(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    turn: &OpenTurn<'_>,
    facts: &Facts,
) -> Result<Step, Pause> {
    let (state, setup, at) = (view.state, view.setup, view.at);
    let cancelled = facts.cancelled;
    let known = asked.known_calls().into_iter().flatten();
    let declared = known.map(|(wanted, answer)| (&wanted.place, (wanted, answer))).collect();
    let mut gates = Gates { declared, wanted: Vec::new(), is_one_unknown: false };
    let mut answers = Vec::new();
    let mut runnable: Vec<Runnable> = Vec::new();
    let mut gate = None;
    let mut waiting = Vec::new();
    let mut resolutions = Vec::new();
    let (mut ahead, mut held) = (Vec::new(), Vec::new());
    let (mut plan, mut has_plan) = (None, false);
    // Once the end of the run is asked for, nothing behind that begins before it is decided.
    let (mut close, mut asks_to_close) = (None, false);
    for ((place, call), (_, outcome)) in turn.calls().zip(turn.message.call_outcomes()) {
        let status = state.call(&place);
        if matches!(status, Some(CallStatus::Finished { .. })) {
            ahead.extend(waiting::ahead(&setup.resolve, &state.resolve, &place, at));
            asks_to_close |= close_requests::is_approved(state, &place);
            continue;
        }
        // The model means what it wrote in the order in which it wrote it.
        let in_order = ahead.is_empty() && resolutions.is_empty();
        if turn.was_cut() {
            answers.push((place, "not run: the reply was cut off while it was being written".to_owned()));
            continue;
        }
        let plans_now = plans::is_plan_call(state, setup, &call.name);
        let closes_now = close_requests::is_call(state, setup, &place, &call.name);
        let own = setup.is_revert_call(&call.name) || setup.is_resolve_call(&call.name);
        let own = own || plans_now || closes_now;
        if own && outcome == CallOutcome::Truncated {
            answers.push((place, TRUNCATED.to_owned()));
            continue;
        }
        if setup.is_revert_call(&call.name) {
            continue;
        }
        if asks_to_close && !cancelled {
            match closes_now {
                true => answers.push((place, close_requests::ONE_AT_A_TIME.to_owned())),
                false => held.push(place),
            }
            continue;
        }
        if closes_now {
            // What was called ahead of it comes first, with all that is asked about it.
            let first =
                !in_order || gate.is_some() || plan.is_some() || !waiting.is_empty() || !held.is_empty();
            let first = first || !runnable.is_empty() || gates.is_one_unknown;
            asks_to_close = !cancelled;
            match close_requests::judge(state, setup, outcome, (&place, call), at) {
                _ if cancelled => answers.push((place, CANCELLED.to_owned())),
                _ if first => held.push(place),
                Requested::Answer(text) => {
                    asks_to_close = false;
                    answers.push((place, text));
                }
                Requested::Propose(asked) => close = Some((place, asked)),
                Requested::Waiting(id) => waiting.push((place, id)),
                Requested::Rule(id) => return Ok(Step::Approve(id)),
            }
            continue;
        }
        if setup.is_resolve_call(&call.name) {
            resolutions.push((place, call.arguments.clone()));
            continue;
        }
        if plans_now {
            match plans::judge(state, setup, outcome, &place, call) {
                _ if cancelled => answers.push((place, CANCELLED.to_owned())),
                Planned::Answer(text) => answers.push((place, text)),
                _ if std::mem::replace(&mut has_plan, true) => {
                    answers.push((place, plans::ONE_AT_A_TIME.to_owned()));
                }
                Planned::Propose(text) => plan = Some((place, text)),
                Planned::Waiting(id) => waiting.push((place, id)),
            }
            continue;
        }
        match judge(view, &mut gates, outcome, &place, call) {
            _ if cancelled && status.is_none() => {
                answers.push((place, CANCELLED.to_owned()));
            }
            Judged::Answer(text) => answers.push((place, text)),
            // It had begun in a process that is gone, and only looks; whoever cancels does not wait for it again.
            Judged::Free(_) if cancelled => answers.push((place, CUT_OFF.to_owned())),
            Judged::Ask(_) if !in_order => held.push(place),
            Judged::Ask(asked) => gate = gate.or(Some((place, asked))),
            Judged::Waiting(id) => waiting.push((place, id)),
            Judged::Approve(id) => return Ok(Step::Approve(id)),
            Judged::Unknown => {}
            // What may change something waits for its turn; what only looks need not.
            Judged::Free(free) if is_exclusive(setup, &free) && (gate.is_some() || !waiting.is_empty()) => {}
            Judged::Free(free) if is_exclusive(setup, &free) && !in_order => held.push(place),
            // Computed from what a call that is held may change.
            Judged::Free(free) if !held.is_empty() && !only_looks(setup, &free) => held.push(place),
            Judged::Free(free) => runnable.push(*free),
        }
    }

    if gates.is_one_unknown {
        asked.calls(gates.wanted.into_iter().map(Cow::into_owned).collect())?;
    }
    if !answers.is_empty() {
        return Ok(Step::Answer(answers));
    }
    if !runnable.is_empty() {
        return Ok(Step::Run(side_by_side(setup, runnable)));
    }
    if leaves(view, turn) {
        // What still waits stands on a branch that is about to be left: nobody needs to decide it.
        let left = waiting.into_iter().map(|(place, _)| place).chain(gate.map(|(place, _)| place));
        let left = left.chain(plan.map(|(place, _)| place)).chain(close.map(|(place, _)| place));
        let left = left.chain(resolutions.into_iter().map(|(place, _)| place)).chain(held);
        let text = "not run: a revert of the same turn left this branch first";
        let left: Vec<_> = left.map(|place| (place, text.to_owned())).collect();
        return Ok(if left.is_empty() { Step::Settle } else { Step::Answer(left) });
    }
    if let Some((place, asked)) = gate {
        return Ok(Step::Gate(place, asked));
    }
    if let Some((place, text)) = plan {
        return Ok(Step::ProposePlan(place, text));
    }
    if let Some((place, asked)) = close {
        return Ok(Step::AskToClose(place, asked));
    }
    if !waiting.is_empty() {
        return Ok(Step::Ask(waiting.into_iter().map(|(_, id)| id).collect()));
    }
    if let Some((place, arguments)) = resolutions.into_iter().next() {
        // What was decided before a kill is answered with what came of it.
        return Ok(match cancelled && !choices::is_carried_out(&state.resolve, &place) {
            true => Step::Answer(vec![(place, "not done: the turn was cancelled first".to_owned())]),
            false => Step::Resolve(place, arguments),
        });
    }
    Ok(match waiting::work_ahead(&setup.resolve, &state.resolve, &ahead, at) {
        Some(work) if !held.is_empty() => work::step_of(view, facts, work).unwrap_or(Step::Settle),
        _ => Step::Settle,
    })
}

/// What is known of the calls of this turn from outside: whether their arguments fit, and what has to be approved.
struct Gates<'a> {
    declared: HashMap<&'a CallPlace, (&'a Wanted, &'a Declared)>,
    /// The calls of which that has to be known.
    wanted: Vec<Cow<'a, Wanted>>,
    is_one_unknown: bool,
}

enum Judged {
    Answer(String),
    Ask(Box<runnable::Asked>),
    Waiting(Id),
    Approve(Id),
    Free(Box<Runnable>),
    Unknown,
}

/// Decides whether a call that has no result may run.
fn judge(
    view: &View<'_>,
    gates: &mut Gates<'_>,
    outcome: CallOutcome,
    place: &CallPlace,
    call: &ToolCall,
) -> Judged {
    let (state, setup, at) = (view.state, view.setup, view.at);
    if may_have_worked(state, setup, place, call) {
        return Judged::Answer(OUTCOME_UNKNOWN.to_owned());
    }
    let arguments = match setup.catalogue.arguments(call, outcome, &setup.tools) {
        Ok(arguments) => arguments,
        Err(text) => return Judged::Answer(text),
    };
    let Some(access) = setup.catalogue.access(&call.name) else {
        return Judged::Answer(format!("not run: there is no tool {:?}", call.name));
    };
    // Before anybody is asked about it, and whatever was decided on it before a plan was asked for.
    if let Some(text) = plans::refused(&state.resolve, &call.name, access) {
        return Judged::Answer(text);
    }
    let asks_gate = gates::asks_the_tool(&setup.resolve, &state.resolve, (access, &arguments), place, at);
    // A gate that was not asked for says nothing, also if the rules count again by now, as after a clock was set back.
    let answer = match gates.declared.get(place) {
        Some(&(wanted, answer)) if wanted.asks_gate || !asks_gate => {
            gates.wanted.push(Cow::Borrowed(wanted));
            answer
        }
        _ => {
            let (place, tool) = (place.clone(), call.name.clone());
            gates.wanted.push(Cow::Owned(Wanted { place, tool, arguments, asks_gate }));
            gates.is_one_unknown = true;
            return Judged::Unknown;
        }
    };
    let gate = match answer {
        Err(text) => return Judged::Answer(text.clone()),
        Ok(gate) => gate.as_ref(),
    };
    let named = (call.name.as_str(), access, gate);
    match gates::gate(&setup.resolve, &state.resolve, named, &arguments, place, at) {
        Gated::Free(approved) => Judged::Free(Box::new(Runnable {
            place: place.clone(),
            tool: call.name.clone(),
            arguments,
            approved,
        })),
        Gated::Ask(asked) => Judged::Ask(asked),
        Gated::Waiting(id) => Judged::Waiting(id),
        Gated::Approve(id) => Judged::Approve(id),
        Gated::Refused(text) => Judged::Answer(text),
    }
}

/// Takes the first call, and with it every read-only one that directly follows a read-only one.
fn side_by_side(setup: &Setup, runnable: Vec<Runnable>) -> Vec<Runnable> {
    let together = runnable.iter().take_while(|call| only_looks(setup, call)).count().max(1);
    runnable.into_iter().take(together).collect()
}
