//! Plans: what is refused until a person has approved one, and what a call that proposes one comes to.
//!
//! The demand is in the log and not in the words to the model: whoever goes on with the session, under whatever policy, is held
//! to it.

use serde_json::Value;
use trunkline_message_tree::{CallOutcome, ToolCall, ToolSpec};
use trunkline_resolve_queue::{ActorKind, Entry, State as At};

use crate::rules::staged::because;
use crate::setup::Setup;
use crate::setup::plan::{NAME, spec};
use crate::state::State;
use crate::state::resolve::Part;
use crate::words::call::{Access, CallPlace};
use crate::words::plan_text::PlanText;
use crate::words::work::Id;

/// What is said of a call behind another one of its turn that proposes a plan.
pub(crate) const ONE_AT_A_TIME: &str =
    "not proposed: another plan of this turn comes first; a person decides on one plan at a time";

/// What a call that proposes a plan comes to.
pub(crate) enum Planned {
    /// It is not proposed; the text says why.
    Answer(String),
    /// It is proposed.
    Propose(PlanText),
    /// It was proposed, and waits for a person.
    Waiting(Id),
}

/// Returns whether a plan has to be asked for in the open run, and was not. A run that only puts files back needs none.
pub(crate) fn is_due(state: &State, setup: &Setup) -> bool {
    let run = state.decision.run.as_ref().filter(|run| setup.plans && run.restoring.is_none());
    run.is_some_and(|run| !state.resolve.plans.was_asked_in(&run.record.id().to_string()))
}

/// Returns whether the model has the tool. It has it from when a plan is asked for first, and keeps it: a tool that comes and goes
/// would cost the cached prompt each time.
pub(crate) fn is_offered(state: &State, setup: &Setup) -> bool {
    // A tool of the agent's own that is called so keeps its name.
    state.resolve.plans.was_asked() && !setup.catalogue.has(NAME)
}

/// Returns the tools that the model is offered in this session.
pub(crate) fn offered(state: &State, setup: &Setup) -> Vec<ToolSpec> {
    let mut tools = setup.tools.clone();
    tools.extend(is_offered(state, setup).then(spec));
    tools
}

pub(crate) fn is_plan_call(state: &State, setup: &Setup, name: &str) -> bool {
    name == NAME && is_offered(state, setup)
}

/// Says why a call of a tool may not run, if a plan has to be approved first. Only what is known to read is let pass.
pub(crate) fn refused(part: &Part, tool: &str, access: Access) -> Option<String> {
    (part.plans.is_on() && access != Access::ReadOnly).then(|| {
        format!(
            "not run: a plan has to be approved first, and {tool} may change something. Look with tools that only read, and \
             propose a plan with `{NAME}`."
        )
    })
}

/// What is told of something that a call has staged although a plan has to be approved first.
pub(crate) fn not_staged() -> String {
    format!("a plan has to be approved first; propose one with `{NAME}`")
}

/// What the model is told that wants to apply something although a plan has to be approved first.
pub(crate) fn not_decided() -> String {
    format!("not done: a plan has to be approved first, by a person; propose one with `{NAME}`")
}

/// Returns whether something that is approved may not be applied: a plan has to be approved first, and what was staged before it was
/// asked for is done by a person's word alone, whenever they gave it.
pub(crate) fn is_withheld(part: &Part, entry: &Entry<Value>) -> bool {
    let by_person = entry.decision.as_ref().is_some_and(|decision| decision.by.kind == ActorKind::Person);
    part.plans.is_on() && !by_person
}

/// What is told of something that is not applied for that reason.
pub(crate) fn withheld(id: Id) -> String {
    format!(
        "{id} was not applied: a plan has to be approved first, and no person has approved {id}. It waits for a person to \
         decide on it."
    )
}

/// Decides what becomes of a call that proposes a plan and has no result.
pub(crate) fn judge(
    state: &State,
    setup: &Setup,
    outcome: CallOutcome,
    place: &CallPlace,
    call: &ToolCall,
) -> Planned {
    let part = &state.resolve;
    if let Some(id) = part.gates.get(&(place.node, place.index)) {
        return match part.queue.get(*id) {
            Some(entry) => proposed(entry),
            None => Planned::Answer(format!("not approved: {id} is not known; propose the plan again")),
        };
    }
    if !part.plans.is_on() {
        return Planned::Answer(
            "not proposed: no plan is asked for now; go on with what was approved, or say what has changed"
                .to_owned(),
        );
    }
    let arguments = match setup.catalogue.read_arguments(call, outcome) {
        Ok(arguments) => arguments,
        Err(text) => return Planned::Answer(text),
    };
    match PlanText::of_arguments(&arguments) {
        Ok(text) => Planned::Propose(text),
        Err(fault) => Planned::Answer(format!("not proposed: {fault}")),
    }
}

/// Returns what becomes of a call whose plan was proposed; one that was approved has its result with that.
fn proposed(entry: &Entry<Value>) -> Planned {
    let again = format!("Nothing may be changed yet: look again, and propose another plan with `{NAME}`.");
    let told = match entry.state {
        At::Proposed => return Planned::Waiting(entry.id),
        At::Discarded => match &entry.decision {
            Some(decision) if decision.by.kind == ActorKind::Person => {
                format!("refused: a person does not want this plan{}", because(&decision.reason))
            }
            Some(decision) => format!("not approved{}", because(&decision.reason)),
            None => "not approved".to_owned(),
        },
        At::Expired => "not approved: nobody decided on it in time".to_owned(),
        _ => "not approved: it was put aside before it was decided".to_owned(),
    };
    Planned::Answer(format!("{told}\n{again}"))
}

/// Returns what a model is told whose plan was approved. What a person has made of it is told whole.
pub(crate) fn approved(edited: Option<&PlanText>, reason: &str) -> String {
    let says = if reason.is_empty() { String::new() } else { format!("\nThey say: {reason}") };
    let then =
        "Carry it out. The plan permits no call by itself: commands and edits are decided on as always.";
    match edited {
        None => format!("A person approved the plan as you proposed it.{says}\n{then}"),
        Some(text) => format!(
            "A person approved the plan and changed it: this text counts, and not the one that you proposed.{says}\n\n\
             {text}\n{then}"
        ),
    }
}
