//! Which tool is to be told that its proposal has ended without having been applied.

use trunkline_resolve_queue::resolve_tool::Action;
use trunkline_resolve_queue::{ActorKind, EndCause};

use crate::rules::executors::executor_of;
use crate::setup::Setup;
use crate::state::State;
use crate::words::call::Proposal;
use crate::words::work::Id;

/// Returns whether the tool that would apply a proposal has a discard hook.
pub(crate) fn hears_end(state: &State, setup: &Setup, proposal: &Proposal) -> bool {
    executor_of(state, &setup.catalogue, proposal).is_some_and(|tool| setup.catalogue.has_hook(tool))
}

/// Returns the first proposal that has ended and whose hook can be called now, or of whose discard the model has to be told without
/// that; apart from those that a call of the open turn has discarded: what their hooks say is its result.
pub fn due(state: &State, setup: &Setup) -> Option<Id> {
    state.resolve.hooks.open().find(|id| is_due(state, setup, *id))
}

/// Returns whether that holds of a proposal.
pub fn is_due(state: &State, setup: &Setup, id: Id) -> bool {
    let something = can_be_called(state, setup, id) || is_untold(state, id);
    something && !is_answered_by_turn(state, setup, id)
}

/// Returns whether the model has yet to be told that a person has discarded something whose hook has not ended.
pub(crate) fn is_untold(state: &State, id: Id) -> bool {
    let part = &state.resolve;
    let told = part.hooks.of(id).is_none_or(|hook| hook.told);
    part.queue.get(id).filter(|_| part.hooks.is_open(id) && !told).is_some_and(|entry| {
        let by = entry.decision.as_ref().map(|decision| decision.by.kind);
        let cause = entry.end.as_ref().map(|end| &end.cause);
        (by, cause) == (Some(ActorKind::Person), Some(&EndCause::Discarded))
    })
}

/// Returns whether a hook has not ended, and its tool is here and has it. One whose tool is not, or has none, waits for a process
/// where it is otherwise.
pub(crate) fn can_be_called(state: &State, setup: &Setup, id: Id) -> bool {
    let part = &state.resolve;
    // What waits to be run was not prepared by anybody.
    let stages = part.hooks.is_open(id) && part.gated_call(id).is_none();
    let proposal = part.queue.get(id).map(|entry| &entry.proposal);
    stages && proposal.is_some_and(|proposal| hears_end(state, setup, proposal))
}

fn is_answered_by_turn(state: &State, setup: &Setup, id: Id) -> bool {
    let Some(turn) = state.open_turn() else { return false };
    let mut calls = turn.calls().filter(|(_, call)| setup.is_resolve_call(&call.name));
    calls.any(|(place, _)| {
        let meant = state.resolve.choices.meant(&place);
        let discards = |meant: &trunkline_resolve_queue::ResolutionDetails| {
            meant.proposal == Some(id) && meant.action == Action::Discard
        };
        !state.is_finished(&place) && meant.is_some_and(discards)
    })
}
