//! What a proposal needs: a run that is open, or that an attempt of an earlier writer is looked up.

use serde_json::Value;
use trunkline_resolve_queue::Entry;

use crate::acts::recover::{Holder, Sight, holder_of};
use crate::acts::view::View;
use crate::next::facts::Facts;
use crate::next::step::Step;
use crate::words::work::Work;

/// Returns the step that moves a proposal on: what is written to files belongs to a run, which a turn
/// has or has left. `None` if it is left to another writer,
/// because this drive was cancelled.
pub(super) fn step_of(view: &View<'_>, facts: &Facts, work: Work) -> Option<Step> {
    let needs_run = !view.state.decision.is_open() && view.state.open_turn().is_none();
    Some(match work {
        Work::Apply(_) | Work::Approve(_) if needs_run => Step::OpenRun,
        Work::Ask(waiting) => Step::Ask(waiting),
        Work::LookUp(id) => return look_up(view, facts, view.state.resolve.queue.get(id)?),
        Work::Apply(id) => Step::Apply(id),
        Work::Check(id) => Step::Check(id),
        Work::Approve(id) => Step::Approve(id),
        Work::Forbid(id) => Step::Forbid(id),
        Work::GiveUp(id) => Step::GiveUp(id),
    })
}

/// Returns the step that finds out what became of an attempt: at once, or when nobody can be at it any more.
pub(super) fn look_up(view: &View<'_>, facts: &Facts, entry: &Entry<Value>) -> Option<Step> {
    Some(match holder_of(view, entry, facts.before) {
        Holder::Gone => Step::LookUp(entry.id, Sight { fenced: true, at: view.at, trusted: true }),
        Holder::Lapsed(at) => Step::LookUp(entry.id, Sight { fenced: false, at, trusted: true }),
        Holder::Alive(_) if facts.cancelled => return None,
        Holder::Alive(lease) => Step::AwaitApply(entry.attempt(), lease),
    })
}
