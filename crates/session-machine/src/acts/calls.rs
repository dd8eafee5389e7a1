//! The results of calls, with what came along: proposals, findings, the end of a gate.

use std::collections::BTreeSet;
use std::time::Duration;

use trunkline_message_tree::{Part, Timestamp, ToolResult, tool_label};
use trunkline_resolve_queue::Attempt;
use trunkline_revert::Effects;
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::drained::cut_short;
use crate::acts::look;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::stage::{begin_gate, finish_gate, stage};
use crate::acts::view::View;
use crate::notes::journal::{CallFinished, call_finished, call_started};
use crate::notes::{decision, journal};
use crate::rules::{calls, gates};
use crate::setup::catalogue::TRUNCATED;
use crate::words::call::{CallPlace, Proposal, ToolOutput};
use crate::words::error::RuntimeError;
use crate::words::event::Event;
use crate::words::runnable::Runnable;

/// What a call gave.
pub struct Returned {
    /// What it gave.
    pub output: ToolOutput,
    /// What it staged while it ran.
    pub pushed: Vec<Proposal>,
    /// Whether it ran to its end.
    pub ran: bool,
    /// How long it ran.
    pub elapsed: Duration,
    /// What it did to the world, as its tool says. It is recorded, so that what is told of it later is not another thing under
    /// another version of the tool.
    pub effects: Effects,
}

/// Records that calls begin. What follows is the attempt at each gate, in the order of the calls.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    calls: &[Runnable],
) -> Result<Plan<Vec<Option<Attempt>>>, Pause> {
    let mut plan = Plan::nothing();
    if calls.iter().any(|call| calls::is_exclusive(view.setup, call)) {
        let (looked, event) = look::before(view, asked)?;
        plan.records.extend(looked);
        plan.events.extend(event);
    }
    // What was in time before the look is in time, however long that took.
    let view = &View { at: view.began, ..*view };
    let (mut attempts, mut named) = (Vec::new(), BTreeSet::new());
    for call in calls {
        let given = view.setup.catalogue.label(&call.tool);
        let is_news = given != view.state.labels.get(&call.tool).map(String::as_str);
        if let (Some(label), true) = (given, is_news && named.insert(&call.tool)) {
            plan.records.push(journal::tool_label(&call.tool, label, view.at));
        }
        plan.records.push(call_started(&call.place, &call.tool, view.at));
        attempts.push(match call.approved {
            Some(id) => {
                let (record, attempt) = begin_gate(view, id)?;
                plan.records.push(record);
                Some(attempt)
            }
            None => None,
        });
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        let label = given.map_or_else(|| tool_label(&call.tool), str::to_owned);
        let (call, tool) = (call.place.clone(), call.tool.clone());
        plan.events.push(Event::CallStarted { call, tool, label, arguments });
    }
    Ok(plan.then(attempts))
}

/// Records what one call gave, and everything that came with it.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn finish(
    view: &View<'_>,
    (place, tool, attempt): (&CallPlace, &str, Option<Attempt>),
    returned: Returned,
) -> Result<Plan, RuntimeError> {
    let Returned { output, pushed, ran, elapsed, effects } = returned;
    let mut proposals = output.proposals;
    proposals.extend(pushed.into_iter().filter(|_| ran));
    let (staged, told) = stage(view, proposals, place)?;
    let mut content = output.content;
    content.extend(told.map(Part::text));
    let result = ToolResult { call_id: place.id.clone(), content, is_error: output.is_error };
    let declared = (effects != Effects::default()).then(|| Box::new(effects));
    let (call, of_result) = (place.clone(), result.clone());
    let note = CallFinished { call, result: of_result, ran, details: None, effects: declared };
    let mut records = vec![call_finished(&note, view.at)];
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
pub fn answer(view: &View<'_>, answers: Vec<(CallPlace, String)>) -> Plan {
    let mut plan = Plan::nothing();
    for (call, text) in answers {
        let result =
            ToolResult { call_id: call.id.clone(), content: vec![Part::text(text.as_str())], is_error: true };
        plan.records.push(finished(&call, &result, false, view.at));
        plan.records.extend(gates::drop_gate(&view.state.resolve, &call, view.at));
        if text == TRUNCATED {
            plan.records.extend(cut_short(view, &call, &text));
        }
        plan.events.push(Event::CallFinished { call, result, elapsed: None });
    }
    plan
}

/// Returns the record of a call's result.
pub(crate) fn finished(call: &CallPlace, result: &ToolResult, ran: bool, at: Timestamp) -> Record {
    let (call, result) = (call.clone(), result.clone());
    call_finished(&CallFinished { call, result, ran, details: None, effects: None }, at)
}
