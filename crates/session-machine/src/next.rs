//! The turn machine: what happens next, as a function of what is recorded.
//!
//! No IO and no memory of its own. A process that was killed and one that was not ask the same question of the same
//! log, so there is no separate path for recovery.

use std::borrow::Cow;
use std::collections::HashMap;

use trunkline_message_tree::{CallOutcome, NodeId, Role, StopReason, Timestamp, ToolCall};
use trunkline_revert::CompactPlan;

use crate::acts::asked::Asked as Questions;
use crate::acts::leaving::drain;
use crate::acts::question::{Pause, Wanted};
use crate::acts::view::View;
use crate::rules::answers::brought_nothing;
use crate::rules::calls::{OUTCOME_UNKNOWN, is_exclusive, may_have_worked, only_looks};
use crate::rules::gates::{self, Gated};
use crate::rules::{choices, compaction, waiting};
use crate::setup::Setup;
use crate::setup::catalogue::TRUNCATED;
use crate::state::{CallStatus, OpenTurn, State};
use crate::words::call::{CallPlace, Declared};
use crate::words::runnable::{self, Runnable};
use crate::words::work::{Id, Work};

/// How often in a row a model is asked to go on before the run stops.
const NUDGES: usize = 3;

const GO_ON_WINDOW: &str =
    "Your reply ended because the context window was full. Go on exactly where it ended, in few words.";
const GO_ON_LIMIT: &str = "Your reply ended at its output limit. Go on exactly where it ended.";
const CUT_OFF: &str =
    "cut off: the program ended while this ran, and the turn was cancelled before it was run again";
const GO_ON_EMPTY: &str =
    "Your reply above had no words and no tool call in it. Call a tool, or say in words how it stands.";
const GO_ON_CUT: &str = "Your reply above was cut off before it was complete. Go on from there.";

/// What happens next.
pub enum Step {
    /// These calls end without running; the text says why.
    Answer(Vec<(CallPlace, String)>),
    /// This call needs a decision before it may run: stage it.
    Gate(CallPlace, Box<runnable::Asked>),
    /// These calls run now, side by side.
    Run(Vec<Runnable>),
    /// The model decides on a proposal.
    Resolve(CallPlace, String),
    /// Nothing can go on before a person decides on one of these.
    Ask(Vec<Id>),
    /// Every call of the turn has its result: write them, and carry out what the turn asked for.
    Settle,
    /// A proposal has to be moved on.
    Work(Work),
    /// The model is told something by the harness.
    Nudge(String),
    /// A run has to be opened before the model is asked.
    OpenRun,
    /// A summary has to take the place of older messages before the model is asked.
    Compact(CompactPlan),
    /// The model is asked.
    Request,
    /// The model is asked again, and not before this.
    Wait(Timestamp),
    /// The run is over and gets its verdict.
    Conclude,
    /// There is nothing to do.
    Rest,
}

/// What of a drive is not in the log.
#[derive(Copy, Clone, Debug, Default)]
pub struct Facts {
    /// Nothing new is begun, and the open turn is closed.
    pub cancelled: bool,
    /// How often in a row the model was asked to go on.
    pub nudged: usize,
    /// The wait that it has waited out.
    pub waited: Option<Timestamp>,
}

/// Returns what happens next.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn next(view: &View<'_>, asked: &mut Questions<'_>, facts: &Facts) -> Result<Step, Pause> {
    if let Some(turn) = view.state.open_turn() {
        return next_in_turn(view, asked, &turn, facts.cancelled);
    }
    Ok(next_between(view.state, view.setup, facts, view.at))
}

fn next_between(state: &State, setup: &Setup, facts: &Facts, at: Timestamp) -> Step {
    let Facts { cancelled, nudged, waited } = *facts;
    if cancelled {
        return Step::Rest;
    }
    if let Some(work) = waiting::work(&setup.resolve, &state.resolve, at) {
        return step_of(work, state.decision.is_open());
    }
    let head = state.head_message();
    if head.role != Role::Assistant {
        return match (state.tree.head(), state.decision.is_open()) {
            (NodeId::ROOT, _) => Step::Rest,
            (_, true) => ask(state, setup, waited, at),
            (head, false) if state.decision.rests(head) => Step::Rest,
            (_, false) => Step::OpenRun,
        };
    }
    if !state.decision.is_open() {
        // What came back with its branch waits although no run is open: whoever drives has to hear of it.
        let waiting = waiting::undecided(&state.resolve);
        return if waiting.is_empty() { Step::Rest } else { Step::Ask(waiting) };
    }
    if head.stop == Some(StopReason::ContextWindow)
        && let Some(plan) = compaction::compaction_due(&setup.compaction, &state.tree, &state.revert)
    {
        return Step::Compact(plan);
    }
    match head.stop {
        Some(StopReason::Cancelled | StopReason::Cut) => Step::Nudge(GO_ON_CUT.to_owned()),
        Some(StopReason::MaxTokens | StopReason::Pause | StopReason::ContextWindow) => {
            let words = match head.stop {
                Some(StopReason::ContextWindow) => GO_ON_WINDOW,
                _ => GO_ON_LIMIT,
            };
            if nudged < NUDGES { Step::Nudge(words.to_owned()) } else { Step::Rest }
        }
        // Earlier versions put such an answer on the trunk; that it is the last one is no end of a run.
        _ if brought_nothing(head).is_some() && nudged < NUDGES => Step::Nudge(GO_ON_EMPTY.to_owned()),
        _ => match choices::left(setup, &state.resolve, at) {
            choices::Left::Nothing => Step::Conclude,
            choices::Left::Model => ask(state, setup, waited, at),
            // The model was told and went away all the same: a person has to look.
            choices::Left::Person(waiting) => Step::Ask(waiting),
        },
    }
}

/// The model is asked, as soon as it may be; for a summary as well, which the same service writes.
fn ask(state: &State, setup: &Setup, waited: Option<Timestamp>, at: Timestamp) -> Step {
    let until = state.tries.until(&setup.model.origin);
    if let Some(until) = until.filter(|until| *until > at && waited != Some(*until)) {
        return Step::Wait(until);
    }
    match compaction::compaction_due(&setup.compaction, &state.tree, &state.revert) {
        Some(plan) => Step::Compact(plan),
        None => Step::Request,
    }
}

fn next_in_turn(
    view: &View<'_>,
    asked: &mut Questions<'_>,
    turn: &OpenTurn<'_>,
    cancelled: bool,
) -> Result<Step, Pause> {
    let (state, setup, at) = (view.state, view.setup, view.at);
    let known = asked.known_calls().into_iter().flatten();
    let declared = known.map(|(wanted, answer)| (&wanted.place, (wanted, answer))).collect();
    let mut gates = Gates { declared, wanted: Vec::new(), is_one_unknown: false };
    let mut answers = Vec::new();
    let mut runnable: Vec<Runnable> = Vec::new();
    let mut gate = None;
    let mut waiting = Vec::new();
    let mut resolutions = Vec::new();
    let (mut ahead, mut held) = (Vec::new(), Vec::new());
    for ((place, call), (_, outcome)) in turn.calls().zip(turn.message.call_outcomes()) {
        let status = state.call(&place);
        if matches!(status, Some(CallStatus::Finished { .. })) {
            ahead.extend(waiting::ahead(&setup.resolve, &state.resolve, &place, at));
            continue;
        }
        // The model means what it wrote in the order in which it wrote it.
        let in_order = ahead.is_empty() && resolutions.is_empty();
        if turn.was_cut() {
            answers.push((place, "not run: the reply was cut off while it was being written".to_owned()));
            continue;
        }
        let own = setup.is_revert_call(&call.name) || setup.is_resolve_call(&call.name);
        if own && outcome == CallOutcome::Truncated {
            answers.push((place, TRUNCATED.to_owned()));
            continue;
        }
        if setup.is_revert_call(&call.name) {
            continue;
        }
        if setup.is_resolve_call(&call.name) {
            resolutions.push((place, call.arguments.clone()));
            continue;
        }
        match judge(view, &mut gates, outcome, &place, call) {
            _ if cancelled && status.is_none() => {
                answers.push((place, "not run: the turn was cancelled before this call began".to_owned()));
            }
            Judged::Answer(text) => answers.push((place, text)),
            // It had begun in a process that is gone, and only looks; whoever cancels does not wait for it again.
            Judged::Free(_) if cancelled => answers.push((place, CUT_OFF.to_owned())),
            Judged::Ask(_) if !in_order => held.push(place),
            Judged::Ask(asked) => gate = gate.or(Some((place, asked))),
            Judged::Waiting(id) => waiting.push((place, id)),
            Judged::Approve(step) => return Ok(*step),
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
    if drain(state, &setup.revert, turn).leaves() {
        // What still waits stands on a branch that is about to be left: nobody needs to decide it.
        let left = waiting.into_iter().map(|(place, _)| place).chain(gate.map(|(place, _)| place));
        let left = left.chain(resolutions.into_iter().map(|(place, _)| place)).chain(held);
        let text = "not run: a revert of the same turn left this branch first";
        let left: Vec<_> = left.map(|place| (place, text.to_owned())).collect();
        return Ok(if left.is_empty() { Step::Settle } else { Step::Answer(left) });
    }
    if let Some((place, asked)) = gate {
        return Ok(Step::Gate(place, asked));
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
        Some(work) if !held.is_empty() => step_of(work, true),
        _ => Step::Settle,
    })
}

/// Returns the step that a proposal needs, given whether a run is open: what is written to files belongs to one.
fn step_of(work: Work, run_is_open: bool) -> Step {
    match work {
        Work::Apply(_) | Work::Approve(_) if !run_is_open => Step::OpenRun,
        Work::Ask(waiting) => Step::Ask(waiting),
        work => Step::Work(work),
    }
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
    Approve(Box<Step>),
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
    let arguments = match setup.catalogue.arguments(call, outcome) {
        Ok(arguments) => arguments,
        Err(text) => return Judged::Answer(text),
    };
    let Some(access) = setup.catalogue.access(&call.name) else {
        return Judged::Answer(format!("not run: there is no tool {:?}", call.name));
    };
    let asks_gate = gates::asks_the_tool(&setup.resolve, &state.resolve, place, at);
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
        Gated::Approve(id) => Judged::Approve(Box::new(Step::Work(Work::Approve(id)))),
        Gated::Refused(text) => Judged::Answer(text),
    }
}

/// Takes the first call, and with it every read-only one that directly follows a read-only one.
fn side_by_side(setup: &Setup, runnable: Vec<Runnable>) -> Vec<Runnable> {
    let together = runnable.iter().take_while(|call| only_looks(setup, call)).count().max(1);
    runnable.into_iter().take(together).collect()
}
