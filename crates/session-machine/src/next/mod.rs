//! The turn machine: what happens next, as a function of what is recorded.
//!
//! No IO and no memory of its own. A process that was killed and one that was not ask the same question of the same
//! log, so there is no separate path for recovery. What of a drive is not in the log is one struct, [`Facts`].

mod facts;
mod step;
mod turn;
mod work;

use trunkline_message_tree::{NodeId, Role, StopReason};
use trunkline_revert::CompactPlan;

use crate::acts::asked::Asked;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::acts::{bind, compact};
use crate::rules::answers::brought_nothing;
use crate::rules::{choices, close_requests, compaction, hooks, plans, spending, waiting};
use crate::words::stop::{Limit, Stop};

pub use facts::{Facts, Spent};
pub use step::Step;

/// How often in a row a model is asked to go on before the run stops.
const NUDGES: usize = 3;

const GO_ON_WINDOW: &str =
    "Your reply ended because the context window was full. Go on exactly where it ended, in few words.";
const GO_ON_LIMIT: &str = "Your reply ended at its output limit. Go on exactly where it ended.";
const GO_ON_EMPTY: &str =
    "Your reply above had no words and no tool call in it. Call a tool, or say in words how it stands.";
const GO_ON_CUT: &str = "Your reply above was cut off before it was complete. Go on from there.";

/// Returns what happens next.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn next(view: &View<'_>, asked: &mut Asked<'_>, facts: &Facts) -> Result<Step, Pause> {
    if let Some(step) = before_all(view, facts) {
        return Ok(step);
    }
    // Also in a drive that was cancelled: what comes after it is said to another run.
    if close_requests::due(view.state).is_some() {
        return Ok(Step::CloseAsAsked);
    }
    let step = match view.state.open_turn() {
        Some(turn) => turn::next_in_turn(view, asked, &turn, facts)?,
        None => next_between(view, facts),
    };
    Ok(within_limits(view, facts, step))
}

/// Returns what has to be done whatever the conversation needs: what others have said comes first, and then what is owed.
fn before_all(view: &View<'_>, facts: &Facts) -> Option<Step> {
    let (state, setup) = (view.state, view.setup);
    if let Some(decision) = &facts.closed {
        return Some(Step::Stop(Stop::Decided(decision.clone())));
    }
    if facts.spent.time >= setup.limits.time {
        return Some(Step::Stop(Stop::Limit(Limit::Time)));
    }
    if facts.unread {
        return Some(Step::ReadInbox { closing: facts.cancelled });
    }
    if facts.unsure {
        return Some(Step::AskGit);
    }
    // Before anything of an open turn runs: it may have been begun under other terms.
    if plans::is_due(state, setup) {
        return Some(Step::AskForPlan);
    }
    let queue = &state.resolve.queue;
    if queue.due(view.at.0).next().is_some() {
        return Some(Step::Expire);
    }
    // Nothing new is begun in a drive that was cancelled: the next one does it.
    if let Some(id) = hooks::due(state, setup).filter(|_| !facts.cancelled) {
        return Some(Step::CallHook(id));
    }
    let has_place = state.open_turn().is_none() && !state.decision.rests(state.tree.head());
    if !state.resolve.untold.is_empty() && has_place {
        return Some(Step::TellUntold);
    }
    // What a gated call began, its turn settles.
    let cut_off = queue.interrupted().filter(|entry| state.resolve.gated_call(entry.id).is_none());
    if let Some(step) = cut_off.filter_map(|entry| work::look_up(view, facts, entry)).next() {
        return Some(step);
    }
    Some(bind::due(view, facts.unbindable)).filter(|unbound| !unbound.is_empty()).map(Step::Bind)
}

fn next_between(view: &View<'_>, facts: &Facts) -> Step {
    let (state, setup, at) = (view.state, view.setup, view.at);
    if facts.cancelled {
        return rest(view, facts);
    }
    if let Some(work) = waiting::work(&setup.resolve, &state.resolve, at) {
        return work::step_of(view, facts, work).unwrap_or_else(|| rest(view, facts));
    }
    let head = state.head_message();
    if head.role != Role::Assistant {
        return match (state.tree.head(), state.decision.is_open()) {
            (NodeId::ROOT, _) => rest(view, facts),
            (_, true) => ask(view, facts),
            (head, false) if state.decision.rests(head) => rest(view, facts),
            (_, false) => Step::OpenRun,
        };
    }
    if !state.decision.is_open() {
        // What came back with its branch waits although no run is open: whoever drives has to hear of it.
        let waiting = waiting::undecided(&state.resolve);
        return if waiting.is_empty() { rest(view, facts) } else { Step::Ask(waiting) };
    }
    if head.stop == Some(StopReason::ContextWindow)
        && let Some(plan) = compaction_due(view)
    {
        return Step::Compact(plan);
    }
    match head.stop {
        Some(StopReason::Cancelled | StopReason::Cut) => Step::Nudge(GO_ON_CUT.to_owned()),
        Some(StopReason::ContextWindow) if facts.nudged < NUDGES => {
            let first = facts.nudged == 0 && !facts.made_room;
            match first.then(|| compact::room(view)).flatten() {
                Some(plan) => Step::MakeRoom(plan),
                None => Step::Nudge(GO_ON_WINDOW.to_owned()),
            }
        }
        Some(StopReason::MaxTokens | StopReason::Pause) if facts.nudged < NUDGES => {
            Step::Nudge(GO_ON_LIMIT.to_owned())
        }
        Some(StopReason::MaxTokens | StopReason::Pause | StopReason::ContextWindow) => rest(view, facts),
        // Earlier versions put such an answer on the trunk; that it is the last one is no end of a run.
        _ if brought_nothing(head).is_some() && facts.nudged < NUDGES => Step::Nudge(GO_ON_EMPTY.to_owned()),
        _ => match choices::left(setup, &state.resolve, at) {
            choices::Left::Nothing => Step::Conclude,
            choices::Left::Model => ask(view, facts),
            // The model was told and went away all the same: a person has to look.
            choices::Left::Person(waiting) => Step::Ask(waiting),
        },
    }
}

fn compaction_due(view: &View<'_>) -> Option<CompactPlan> {
    let (state, setup) = (view.state, view.setup);
    compaction::compaction_due((&setup.compaction, &setup.revert), &state.tree, &state.revert)
}

/// The model is asked, as soon as it may be; for a summary as well, which the same service writes.
fn ask(view: &View<'_>, facts: &Facts) -> Step {
    let (state, setup) = (view.state, view.setup);
    let until = state.tries.until(&setup.model.origin);
    if let Some(until) = until.filter(|until| *until > view.at && facts.waited != Some(*until)) {
        return Step::Wait(until);
    }
    match compaction_due(view) {
        Some(plan) => Step::Compact(plan),
        None => Step::Request,
    }
}

/// Ends the drive instead of a step that it may not pay for any more.
fn within_limits(view: &View<'_>, facts: &Facts, step: Step) -> Step {
    let limits = &view.setup.limits;
    let limit = match step {
        // What is asked again is the same turn.
        Step::Request if !facts.is_first(view.state) => None,
        Step::Request | Step::Compact(_) if facts.spent.turns >= limits.turns => Some(Limit::Turns),
        _ => None,
    };
    let costs = matches!(step, Step::Request | Step::Compact(_));
    let limit = limit.or_else(|| (costs && facts.spent.tokens >= limits.tokens).then_some(Limit::Tokens));
    let limit = limit.or_else(|| spending::used_up(view.state).filter(|_| costs));
    limit.map_or(step, |limit| Step::Stop(Stop::Limit(limit)))
}

/// There is nothing to do: the drive ends.
fn rest(view: &View<'_>, facts: &Facts) -> Step {
    let ended_early = matches!(
        view.state.head_message().stop,
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Pause)
    );
    Step::Stop(match facts.cancelled {
        true => Stop::Cancelled,
        false if ended_early && view.state.decision.is_open() => Stop::Limit(Limit::Output),
        false => Stop::Idle,
    })
}
