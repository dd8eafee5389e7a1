//! How the model is brought to decide: what the next request is held to, and what came of it.
//!
//! The tool-choice queue is stored whole whenever it has changed, in one batch with what it says: the reminder before a
//! request, the reply after it. Which proposals wait is found anew each time, so nothing here can wait for what is gone.

use trunkline_message_tree::{Author, Content, Message, Timestamp, ToolChoice};
use trunkline_providers::Thinking;
use trunkline_resolve_queue::resolve_tool;
use trunkline_resolve_queue::{
    ActorKind, Attempt, Choice, ChoiceQueue, Forcing, Gate, ProposalId, Scene, State as At, Wire,
};

use crate::rules::judging;
use crate::setup::{AskedModel, Setup};
use crate::state::State;
use crate::state::resolve::Part;
use crate::words::call::CallPlace;

/// What is left to do when the model has said its last words.
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// It is asked once more.
    Model,
    /// A person has to look.
    Person(Vec<ProposalId>),
}

/// Returns what the reminders are about that are still before the model's eyes.
pub(crate) fn reminded(state: &State, rendered: &[Message]) -> Vec<Attempt> {
    let said = |text: &str| {
        let mut harness = rendered.iter().filter(|message| message.author == Author::Harness);
        // Only a mark may stand before it: a summary that quotes it is about what is over.
        harness.any(|message| message.text().ends_with(text))
    };
    let shown = state.resolve.choices.reminders.iter().filter(|one| {
        let words = state.tree.node(one.node).map(|node| node.message().text());
        state.tree.is_on_trunk(one.node) && words.is_ok_and(|words| said(&words))
    });
    let mut reminded: Vec<Attempt> = shown.flat_map(|one| one.about.iter().copied()).collect();
    // The result that says that it is staged says how to resolve it.
    for entry in state.resolve.queue.pending() {
        let (dot, comma) = (format!("Staged as {}.", entry.id), format!("Staged as {},", entry.id));
        let Some(call) = &entry.proposal.call else { continue };
        let mut results = rendered.iter().flat_map(Message::results);
        let staged = results.any(|result| {
            // Its text is made only where it is asked for: there are many results, and each may be long.
            let says = |words: String| words.contains(&dot) || words.contains(&comma);
            result.call_id == call.call_id && says(result.text())
        });
        if staged {
            reminded.push(entry.attempt());
        }
    }
    reminded
}

/// Returns proposals that wait for the model by the rules of now, if it is offered the tool for them; `since` is when those were
/// looked for whose time is not over.
pub(crate) fn gate(setup: &Setup, part: &Part, since: u64, at: Timestamp) -> Option<Gate> {
    let mut gate =
        part.queue.gate(since).filter(|gate| setup.offers_resolve() && gate.tool == resolve_tool::NAME)?;
    // A rule that came later may have taken it from the model, or given it to somebody else.
    gate.waiting.retain(|attempt| {
        let entry = part.queue.get(attempt.proposal);
        entry.is_some_and(|entry| judging::may_model(&setup.resolve, part, entry, at))
    });
    (!gate.waiting.is_empty()).then_some(gate)
}

/// Returns the tool-choice queue as it counts now: under the policy that the agent was told, else under the one that a person has stored with
/// the session. The one that the queue was recorded with may be that of an agent that is gone.
pub(crate) fn queue(setup: &Setup, part: &Part) -> ChoiceQueue {
    let queue = part.choices.queue.clone().unwrap_or_default();
    queue.under(setup.choices.policy.or(part.choices.policy).unwrap_or_default())
}

/// Returns what is left to do for a model that has said its last words.
pub(crate) fn left(setup: &Setup, part: &Part, at: Timestamp) -> Left {
    if !setup.offers_resolve() {
        return Left::Nothing;
    }
    // Whatever is past its time was noted by then, or is in a moment: asked about once more it does no harm.
    if let Some(gate) = gate(setup, part, 0, at) {
        let mut queue = queue(setup, part);
        // Directives are for turns that come by themselves.
        queue.clear();
        let mut wire = Wire::new(Forcing::No);
        wire.narrowing = false;
        let tools = [gate.tool.as_str()];
        let mut scene = Scene::new(wire, &tools);
        scene.gate = Some(&gate);
        if queue.plan(&scene).is_ok() && queue.proposal_in_flight().is_some() {
            return Left::Model;
        }
    }
    let open: Vec<ProposalId> = part.queue.unsettled().map(|entry| entry.id).collect();
    if open.is_empty() { Left::Nothing } else { Left::Person(open) }
}

/// Says what a wire can be made to demand.
///
/// Only what it has itself counts. `Near` is words in its place: the name of the tool beside `required` on llama.cpp, all of
/// it on Ollama. Those we have too, and offering one tool alone is more.
///
/// A model whose reasoning is bound to what stands before it is offered the same tools each time. Unless it is asked not to reason,
/// nothing is demanded of it either: it is held by words alone.
pub(crate) fn wire(model: &AskedModel, asked: Thinking, thinks: bool, binds: bool) -> Wire {
    let mut wire = Wire::new(match (model.can_name_a_tool, model.can_demand_a_call) {
        (true, _) => Forcing::Named,
        (false, true) => Forcing::Any,
        (false, false) => Forcing::No,
    });
    wire.thinking = thinks || (binds && asked != Thinking::Off);
    wire.narrowing = !binds;
    wire
}

/// Returns whether the model will think: it is asked to, or nothing is said and it did when it was last heard.
pub(crate) fn thinks(asked: Thinking, state: &State, model: &AskedModel) -> bool {
    let mut replies = state.tree.trunk().messages().rev();
    let ours =
        |message: &&Message| message.origin.as_ref().is_some_and(|origin| origin.agrees_with(&model.origin));
    let mut last = || replies.find(ours);
    match asked {
        Thinking::Off => false,
        Thinking::Unsaid => last()
            .is_some_and(|reply| reply.content.iter().any(|one| matches!(one, Content::Thinking { .. }))),
        _ => true,
    }
}

/// Returns what a stored list of choices means to a request.
pub(crate) fn tool_choice(choice: Choice) -> ToolChoice {
    match choice {
        Choice::Auto => ToolChoice::Auto,
        Choice::None => ToolChoice::None,
        Choice::Any => ToolChoice::Any,
        Choice::Tool(name) => ToolChoice::Named(name),
    }
}

/// Whether proposals of this session may wait for the model at all.
pub(crate) fn may_wait(part: &Part, id: ProposalId) -> bool {
    part.queue.get(id).is_some_and(|entry| entry.awaits_decision() && entry.may_approve(ActorKind::Model))
}

/// Returns whether a call has been decided in a process that is gone, and nothing is left to be done for it.
pub(crate) fn is_carried_out(part: &Part, place: &CallPlace) -> bool {
    let meant = part.choices.meant(place).and_then(|meant| part.queue.get(meant.proposal?));
    meant.is_some_and(|entry| entry.state != At::Approved)
}
