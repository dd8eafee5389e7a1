//! What the next request is held to, and what came of that.

use trunkline_message_tree::{Author, Message, Role, StopReason, Timestamp};
use trunkline_resolve_queue::{ChoiceQueue, Directive, Forcing, Heard, Place, Policy, Scene, TurnEnd};
use trunkline_session_store::{InboxId, Record};

use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::turn::GO_ON_FROM_HERE;
use crate::acts::view::View;
use crate::notes::choice::{self, HeldTurn, Reminded};
use crate::notes::journal;
use crate::notes::record::entries;
use crate::request::prefixes::binds_reasoning;
use crate::request::prompt::Held;
use crate::rules::{choices, plans};
use crate::words::error::RuntimeError;
use crate::words::event::Event;

/// What the letter is called that sets how the model is brought to decide.
const TOOL_CHOICE: &str = "tool_choice";

/// Puts a directive of the caller's own into the tool-choice queue.
pub fn direct(view: &View<'_>, directive: Directive, place: Place) -> Plan {
    let mut queue = queue(view);
    queue.push(directive, place);
    Plan::of(vec![choice::note(queue, None, None, view.at)])
}

/// Returns what the next turns are held to, and what was asked of earlier ones.
pub fn queue(view: &View<'_>) -> ChoiceQueue {
    choices::queue(view.setup, &view.state.resolve)
}

/// Stores with the session how the model is brought to decide in it from here on, perhaps by a letter. An agent that was told otherwise
/// goes by that.
pub fn under(view: &View<'_>, policy: Policy, letter: Option<InboxId>) -> Plan {
    let choices = &view.state.resolve.choices;
    if choices.policy == Some(policy) {
        let taken = letter.map(|letter| journal::letter_taken(letter, TOOL_CHOICE, view.at));
        return Plan::of(taken.into_iter().collect());
    }
    let queue = choices.queue.clone().unwrap_or_default().under(policy);
    Plan::of(vec![choice::stored(queue, policy, view.at)])
}

/// Says what the next request is held to, and records that, with the reminder.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn hold(view: &View<'_>) -> Result<Plan<Held>, Pause> {
    let (state, setup, at) = (view.state, view.setup, view.at);
    let part = &state.resolve;
    let head = state.head_message();
    let spoke = head.role == Role::Assistant;
    // A rule by which the model was to be asked may just be over: it is told to go on all the same, or its own words would
    // come last.
    let chosen = spoke && setup.offers_resolve();
    if part.choices.queue.is_none() && !chosen && choices::gate(setup, part, 0, at).is_none() {
        return Ok(Plan::nothing().then(Held::default()));
    }
    let before = queue(view);
    let mut queue = before.clone();
    let mut notices = Vec::new();
    // The process ended before it could report, or the report could not be written.
    if let Heard::Directive(notice) = queue.end_turn(TurnEnd::Error) {
        notices.push(notice);
    }
    // As the machine saw it when it chose to ask, or nobody would be reminded and it would choose so again.
    let gate = choices::gate(setup, part, if spoke { 0 } else { at.0 }, at);
    let rendered = gate.as_ref().filter(|_| !spoke).map(|_| view.rendered()).unwrap_or_default();
    let reminded = choices::reminded(state, &rendered);
    let tools = plans::offered(state, setup);
    let tools: Vec<&str> = tools.iter().map(|spec| spec.name.as_str()).collect();
    let asked = setup.asking.thinking;
    let thinks = choices::thinks(asked, state, &setup.model);
    let wire = choices::wire(&setup.model, asked, thinks, binds_reasoning(state, setup));
    let mut scene = Scene::new(wire, &tools);
    scene.gate = gate.as_ref();
    scene.reminded = &reminded;
    let mut planned = queue.clone();
    let mut plan = planned.plan(&scene).map_err(unreported)?;
    let soft = matches!(before.policy(), Policy::SoftFirst { .. });
    let demands = plan.choice.is_some() || plan.only.is_some();
    if soft && demands && planned.proposal_in_flight().is_some() && (spoke || head.author == Author::Person) {
        // Where words to a person, or a person's, come last, words are all that is asked with.
        planned = queue;
        scene.wire.forcing = Forcing::No;
        scene.wire.narrowing = false;
        plan = planned.plan(&scene).map_err(unreported)?;
    }
    notices.append(&mut plan.notices);

    let mut draft = state.tree.draft();
    let mut reminder = None;
    if let Some(due) = plan.reminder {
        let node = draft.append(Message::harness(due.text), at)?;
        reminder = Some(Reminded { node, about: due.about });
    } else if spoke {
        draft.append(Message::harness(GO_ON_FROM_HERE), at)?;
    }
    let mut records = entries(draft);
    if planned != before {
        records.push(choice::note(planned, reminder, None, at));
    }
    let held = Held { choice: plan.choice.map(choices::tool_choice), only: plan.only };
    Ok(Plan { records, events: notices.into_iter().map(Event::Choice).collect(), then: held })
}

/// Returns what a turn came to, for the batch of its reply, and what observers are told once that is stored.
pub(crate) fn heard(
    view: &View<'_>,
    reply: Option<&Message>,
    cancelled: bool,
    at: Timestamp,
) -> (Vec<Record>, Vec<Event>) {
    let mut queue = queue(view);
    if queue.in_flight().is_none() {
        return (Vec::new(), Vec::new());
    }
    let called: Vec<&str> =
        reply.into_iter().flat_map(Message::calls).map(|call| call.name.as_str()).collect();
    let end = match reply.map(|reply| reply.stop.as_ref()) {
        _ if cancelled => TurnEnd::Aborted,
        None | Some(Some(StopReason::Cut | StopReason::Cancelled)) => TurnEnd::Error,
        // It has not come to what it was about to say.
        Some(Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Pause))
            if called.is_empty() =>
        {
            TurnEnd::Error
        }
        Some(_) => TurnEnd::Done { called: &called },
    };
    let node = reply.and_then(|_| view.state.tree.next_id());
    let held = node.zip(queue.proposal_in_flight()).map(|(node, proposal)| HeldTurn { node, proposal });
    let told = match queue.end_turn(end) {
        Heard::Directive(notice) => vec![Event::Choice(notice)],
        _ => Vec::new(),
    };
    (vec![choice::note(queue, None, held, at)], told)
}

fn unreported(fault: trunkline_resolve_queue::TurnUnreported) -> RuntimeError {
    RuntimeError::Refused { reason: fault.to_string() }
}
