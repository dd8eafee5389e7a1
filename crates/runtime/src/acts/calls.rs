//! The results of calls, with what came along: proposals, findings, the end of a gate.

use std::time::Duration;

use trunkline_message_tree::{Part, Timestamp, ToolResult};
use trunkline_resolve_queue::Attempt;
use trunkline_session_store::Record;

use super::stage::{finish_gate, stage};
use super::{Plan, View};
use crate::journal::{self, CallFinished};
use crate::layers::{decision, resolve};
use crate::{CallPlace, Event, Proposal, RuntimeError, ToolOutput};

/// What a call gave.
pub(crate) struct Returned {
    pub(crate) output: ToolOutput,
    /// What it staged while it ran.
    pub(crate) pushed: Vec<Proposal>,
    /// Whether it ran to its end.
    pub(crate) ran: bool,
    pub(crate) elapsed: Duration,
}

/// Records what one call gave, and everything that came with it.
pub(crate) fn finish(
    view: &View<'_>,
    (place, tool, attempt): (&CallPlace, &str, Option<Attempt>),
    returned: Returned,
) -> Result<Plan, RuntimeError> {
    let Returned { output, pushed, ran, elapsed } = returned;
    let mut proposals = output.proposals;
    proposals.extend(pushed.into_iter().filter(|_| ran));
    let (staged, told) = stage(view, proposals, place)?;
    let mut content = output.content;
    content.extend(told.map(Part::text));
    let result = ToolResult { call_id: place.id.clone(), content, is_error: output.is_error };
    let mut records = vec![finished(place, &result, ran, view.at)];
    records.extend(staged);
    if let Some(attempt) = attempt {
        records.push(finish_gate(view, attempt, ran)?);
    }
    records.extend(decision::finding(place, tool, output.finding, view.at));
    let mut plan = Plan::of(records);
    plan.events.push(Event::CallFinished { call: place.clone(), result, elapsed: Some(elapsed) });
    Ok(plan)
}

/// Records results of calls that did not run.
pub(crate) fn answer(view: &View<'_>, answers: Vec<(CallPlace, String)>) -> Plan {
    let mut plan = Plan::nothing();
    for (call, text) in answers {
        let result = ToolResult { call_id: call.id.clone(), content: vec![Part::text(text)], is_error: true };
        plan.records.push(finished(&call, &result, false, view.at));
        plan.records.extend(resolve::drop_gate(&view.state.resolve, &call, view.at));
        plan.events.push(Event::CallFinished { call, result, elapsed: None });
    }
    plan
}

/// Returns the record of a call's result.
pub(crate) fn finished(call: &CallPlace, result: &ToolResult, ran: bool, at: Timestamp) -> Record {
    let finished = CallFinished { call: call.clone(), result: result.clone(), ran, details: None };
    journal::note(journal::LAYER, journal::CALL_FINISHED, at, &finished)
}
