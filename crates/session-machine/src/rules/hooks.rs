//! Which tool is to be told that its proposal has ended without having been applied.

use trunkline_resolve_queue::resolve_tool::Action;

use crate::rules::executors::executor_of;
use crate::setup::Setup;
use crate::state::State;
use crate::words::call::Proposal;
use crate::words::work::Id;

/// Returns whether the tool that would apply a proposal has a discard hook.
pub(crate) fn hears_end(state: &State, setup: &Setup, proposal: &Proposal) -> bool {
    executor_of(state, &setup.catalogue, proposal).is_some_and(|tool| setup.catalogue.has_hook(tool))
}

/// Returns the first proposal that has ended and whose hook can be called now, apart from those that a call of the open turn has
/// discarded: what their hooks say is its result.
pub fn due(state: &State, setup: &Setup) -> Option<Id> {
    let mut open = state.resolve.hooks.open();
    open.find(|id| can_be_called(state, setup, *id) && !is_answered_by_turn(state, setup, *id))
}

/// Returns whether a hook has not ended, and its tool is here. One whose tool is not waits for a process that has it.
pub(crate) fn can_be_called(state: &State, setup: &Setup, id: Id) -> bool {
    let part = &state.resolve;
    // What waits to be run was not prepared by anybody.
    let stages = part.hooks.is_open(id) && part.gated_call(id).is_none();
    let proposal = part.queue.get(id).map(|entry| &entry.proposal);
    stages && proposal.is_some_and(|proposal| executor_of(state, &setup.catalogue, proposal).is_some())
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
