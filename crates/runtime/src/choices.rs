//! How the model is brought to decide: what the next request is held to, and what came of it.
//!
//! The tool-choice queue is stored whole whenever it has changed, in one batch with what it says: the reminder before a
//! request, the reply after it. Which proposals wait is found anew each time, so nothing here can wait for what is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Author, Content, Message, NodeId, Role, StopReason, Timestamp, ToolChoice, ToolSpec,
};
use trunkline_providers::{Feature, Provider, Support, Thinking};
use trunkline_resolve_queue::resolve_tool::{self, Resolution};
use trunkline_resolve_queue::{
    ActorKind, Attempt, Choice, ChoiceQueue, Directive, Forcing, Gate, Heard, Place, Policy, ProposalId,
    ResolutionDetails, Scene, StandingHandler, State as At, TurnEnd, Wire,
};
use trunkline_session_store::{Note, Record};

use crate::acts::turn::GO_ON_FROM_HERE;
use crate::journal::CallFinished;
use crate::journal::entries;
use crate::layers::resolve::{self, LAYER, rules};
use crate::prompt::Held;
use crate::state::State;
use crate::turn::Setup;
use crate::{CallPlace, Event, RuntimeError, Session, ToolContext, ToolOutput, journal};

pub(crate) const CHOICES: &str = "choices";
pub(crate) const RESOLVING: &str = "resolving";

/// What resolutions go to while no proposal waits for the model: the executor of a
/// [`StandingHandler`], such as the approval of a plan.
#[async_trait]
pub trait Standing: Send + Sync {
    /// Carries a resolution out, and returns what the model is told.
    ///
    /// Runs once for a call: if the process ends in the middle, the model is told that the outcome is unknown. When
    /// `context.cancel` is given it returns soon; one that does not is dropped.
    async fn resolve(&self, resolution: &Resolution, context: &ToolContext) -> ToolOutput;
}

/// What an agent is set up to do about it.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) policy: Policy,
    pub(crate) standing: Option<(StandingHandler, Arc<dyn Standing>)>,
}

/// What the log holds of it.
#[derive(Default)]
pub(crate) struct Part {
    queue: Option<ChoiceQueue>,
    reminders: Vec<Reminded>,
    held: Option<HeldTurn>,
    meant: BTreeMap<(NodeId, u32), ResolutionDetails>,
    resolved: BTreeMap<CallPlace, ResolutionDetails>,
}

/// The queue as it became, with what belongs to that.
#[derive(Serialize, Deserialize)]
struct ChoicesNote {
    queue: ChoiceQueue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reminder: Option<Reminded>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<HeldTurn>,
}

/// The message that reminded of these.
#[derive(Serialize, Deserialize)]
struct Reminded {
    node: NodeId,
    about: Vec<Attempt>,
}

/// What the reply at this node was held to: what a call in it means that names no proposal.
#[derive(Serialize, Deserialize)]
struct HeldTurn {
    node: NodeId,
    proposal: ProposalId,
}

/// What a call of the tool means, settled before anything is done for it: a process that carries it on after a kill
/// must not find another proposal to be the oldest by then.
#[derive(Serialize, Deserialize)]
struct ResolvingNote {
    call: CallPlace,
    details: ResolutionDetails,
}

/// What is left to do when the model has said its last words.
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// It is asked once more.
    Model,
    /// A person has to look.
    Person(Vec<ProposalId>),
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            CHOICES => {
                let ChoicesNote { queue, reminder, held } = journal::read(note)?;
                self.queue = Some(queue);
                self.reminders.extend(reminder);
                self.held = held.or(self.held.take());
            }
            RESOLVING => {
                let ResolvingNote { call, details } = journal::read(note)?;
                self.meant.insert((call.node, call.index), details);
            }
            _ => {}
        }
        Ok(())
    }

    /// Forgets what was asked in another place: a session that was brought here is not held to it.
    pub(crate) fn distrust(&mut self) {
        self.queue = None;
        self.held = None;
    }

    /// Takes in what was told of a call beside its result.
    pub(crate) fn finished(&mut self, finished: &CallFinished) {
        // Told by a later version in words of its own: the result stands for itself.
        let told = finished.details.as_ref().and_then(|told| ResolutionDetails::deserialize(told).ok());
        if let Some(details) = told {
            self.resolved.insert(finished.call.clone(), details);
        }
    }

    /// Returns what a call means, if that is settled.
    pub(crate) fn meant(&self, place: &CallPlace) -> Option<&ResolutionDetails> {
        self.meant.get(&(place.node, place.index))
    }

    /// Returns what the reply was held to that a call stands in.
    pub(crate) fn held(&self, place: &CallPlace) -> Option<ProposalId> {
        self.held.as_ref().filter(|held| held.node == place.node).map(|held| held.proposal)
    }

    /// Returns every resolution that the model made, by call.
    pub(crate) fn resolved(&self) -> impl Iterator<Item = (&CallPlace, &ResolutionDetails)> {
        self.resolved.iter()
    }

    /// Returns what the reminders are about that are still before the model's eyes.
    fn reminded(&self, state: &State, rendered: &[Message]) -> Vec<Attempt> {
        let said = |text: &str| {
            let mut harness = rendered.iter().filter(|message| message.author == Author::Harness);
            // Only a mark may stand before it: a summary that quotes it is about what is over.
            harness.any(|message| message.text().ends_with(text))
        };
        let shown = self.reminders.iter().filter(|one| {
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
}

/// Returns the name that no tool of an agent may have that can offer this one.
pub(crate) fn reserved(setup: &Setup) -> Option<String> {
    let asks = resolve::offers(&setup.resolve) || setup.choices.standing.is_some();
    asks.then(|| resolve_tool::NAME.to_owned())
}

/// Returns whether the tool is on offer. It depends on who may decide and never on what waits: a tool that comes and goes
/// would cost the cached prompt each time.
pub(crate) fn offers(setup: &Setup) -> bool {
    let asks = resolve::offers(&setup.resolve) || setup.choices.standing.is_some();
    // A tool of the agent's own that is called so keeps its name.
    asks && !setup.catalogue.has(resolve_tool::NAME)
}

/// Returns the tool as the model is offered it.
pub(crate) fn spec(setup: &Setup) -> Option<ToolSpec> {
    offers(setup).then(|| ToolSpec {
        name: resolve_tool::NAME.to_owned(),
        description: resolve_tool::DESCRIPTION.to_owned(),
        input_schema: serde_json::from_str(resolve_tool::SCHEMA)
            .expect("the schema is a constant that a test reads"),
        strict: None,
    })
}

pub(crate) fn is_call(setup: &Setup, name: &str) -> bool {
    name == resolve_tool::NAME && offers(setup)
}

/// Returns proposals that wait for the model by the rules of now, if it is offered the tool for them; `since` is when those were
/// looked for whose time is not over.
fn gate(setup: &Setup, part: &resolve::Part, since: u64, at: Timestamp) -> Option<Gate> {
    let mut gate = part.queue.gate(since).filter(|gate| offers(setup) && gate.tool == resolve_tool::NAME)?;
    // A rule that came later may have taken it from the model, or given it to somebody else.
    gate.waiting.retain(|attempt| {
        let entry = part.queue.get(attempt.proposal);
        entry.is_some_and(|entry| rules::may_model(&setup.resolve, part, entry, at))
    });
    (!gate.waiting.is_empty()).then_some(gate)
}

/// Returns what is left to do for a model that has said its last words.
pub(crate) fn left(setup: &Setup, part: &resolve::Part, at: Timestamp) -> Left {
    if !offers(setup) {
        return Left::Nothing;
    }
    // Whatever is past its time was noted by then, or is in a moment: asked about once more it does no harm.
    if let Some(gate) = gate(setup, part, 0, at) {
        let mut queue = part.choices.queue.clone().unwrap_or_default().under(setup.choices.policy);
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
fn wire(provider: &dyn Provider, asked: Thinking, thinks: bool, binds: bool) -> Wire {
    let has = |feature| provider.support(feature) == Support::Native;
    let mut wire = Wire::new(match (has(Feature::ChoiceNamed), has(Feature::ChoiceAny)) {
        (true, _) => Forcing::Named,
        (false, true) => Forcing::Any,
        (false, false) => Forcing::No,
    });
    wire.thinking = thinks || (binds && asked != Thinking::Off);
    wire.narrowing = !binds;
    wire
}

/// Returns whether the model will think: it is asked to, or nothing is said and it did when it was last heard.
fn thinks(asked: Thinking, state: &State, provider: &dyn Provider) -> bool {
    let mut replies = state.tree.trunk().messages().rev();
    let ours = |message: &&Message| {
        message.origin.as_ref().is_some_and(|origin| origin.agrees_with(provider.origin()))
    };
    let mut last = || replies.find(ours);
    match asked {
        Thinking::Off => false,
        Thinking::Unsaid => last()
            .is_some_and(|reply| reply.content.iter().any(|one| matches!(one, Content::Thinking { .. }))),
        _ => true,
    }
}

/// Returns what a stored list of choices means to a request.
fn tool_choice(choice: Choice) -> ToolChoice {
    match choice {
        Choice::Auto => ToolChoice::Auto,
        Choice::None => ToolChoice::None,
        Choice::Any => ToolChoice::Any,
        Choice::Tool(name) => ToolChoice::Named(name),
    }
}

impl Session {
    /// Puts a directive of the caller's own into the tool-choice queue: what one of the next turns is held to.
    ///
    /// It is stored, and asked in the next drive, before any proposal is. What became of it is told by
    /// [`Event::Choice`].
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn direct(&mut self, directive: Directive, place: Place) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        let mut queue = self.choices();
        queue.push(directive, place);
        let at = self.settings().now();
        let note = ChoicesNote { queue, reminder: None, held: None };
        self.commit(vec![journal::note(LAYER, CHOICES, at, &note)], None).await
    }

    /// Returns what the next turns are held to, and what was asked of earlier ones.
    pub fn choices(&self) -> ChoiceQueue {
        let queue = self.state.resolve.choices.queue.clone();
        queue.unwrap_or_default().under(self.settings().setup.choices.policy)
    }

    /// Says what the next request is held to, and records that, with the reminder, before it is sent.
    pub(crate) async fn hold(&mut self) -> Result<Held, RuntimeError> {
        let setup = &self.settings().setup;
        let part = &self.state.resolve;
        let at = self.settings().now();
        let head = self.state.head_message();
        let spoke = head.role == Role::Assistant;
        // A rule by which the model was to be asked may just be over: it is told to go on all the same, or its own words would
        // come last.
        let chosen = spoke && offers(setup);
        if part.choices.queue.is_none() && !chosen && gate(setup, part, 0, at).is_none() {
            return Ok(Held::default());
        }
        let before = self.choices();
        let mut queue = before.clone();
        let mut notices = Vec::new();
        // The process ended before it could report, or the report could not be written.
        if let Heard::Directive(notice) = queue.end_turn(TurnEnd::Error) {
            notices.push(notice);
        }
        // As the machine saw it when it chose to ask, or nobody would be reminded and it would choose so again.
        let gate = gate(setup, part, if spoke { 0 } else { at.0 }, at);
        let rendered = gate.as_ref().filter(|_| !spoke).map(|_| self.rendered()).unwrap_or_default();
        let reminded = part.choices.reminded(&self.state, &rendered);
        let tools: Vec<&str> = self.settings().tools.iter().map(|spec| spec.name.as_str()).collect();
        let provider = self.settings().provider.as_ref();
        let thinks = thinks(self.settings().thinking, &self.state, provider);
        let mut scene =
            Scene::new(wire(provider, self.settings().thinking, thinks, self.binds_reasoning()), &tools);
        scene.gate = gate.as_ref();
        scene.reminded = &reminded;
        let mut planned = queue.clone();
        let mut plan = planned.plan(&scene).map_err(unreported)?;
        let soft = matches!(setup.choices.policy, Policy::SoftFirst { .. });
        let demands = plan.choice.is_some() || plan.only.is_some();
        if soft
            && demands
            && planned.proposal_in_flight().is_some()
            && (spoke || head.author == Author::Person)
        {
            // Where words to a person, or a person's, come last, words are all that is asked with.
            planned = queue;
            scene.wire.forcing = Forcing::No;
            scene.wire.narrowing = false;
            plan = planned.plan(&scene).map_err(unreported)?;
        }
        notices.append(&mut plan.notices);

        let mut draft = self.state.tree.draft();
        let mut reminder = None;
        if let Some(due) = plan.reminder {
            let node = draft.append(Message::harness(due.text), at)?;
            reminder = Some(Reminded { node, about: due.about });
        } else if spoke {
            draft.append(Message::harness(GO_ON_FROM_HERE), at)?;
        }
        let mut records = entries(draft);
        if planned != before {
            let note = ChoicesNote { queue: planned, reminder, held: None };
            records.push(journal::note(LAYER, CHOICES, at, &note));
        }
        self.commit(records, None).await?;
        for notice in notices {
            self.tell(&Event::Choice(notice));
        }
        Ok(Held { choice: plan.choice.map(tool_choice), only: plan.only })
    }

    /// Returns what a turn came to, for the batch of its reply, and what observers are told once that is stored.
    pub(crate) fn heard(
        &self,
        reply: Option<&Message>,
        cancelled: bool,
        at: impl FnOnce() -> Timestamp,
    ) -> (Vec<Record>, Vec<Event>) {
        let mut queue = self.choices();
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
        let node = reply.and_then(|_| self.state.tree.next_id());
        let held = node.zip(queue.proposal_in_flight()).map(|(node, proposal)| HeldTurn { node, proposal });
        let told = match queue.end_turn(end) {
            Heard::Directive(notice) => vec![Event::Choice(notice)],
            _ => Vec::new(),
        };
        let note = ChoicesNote { queue, reminder: None, held };
        (vec![journal::note(LAYER, CHOICES, at(), &note)], told)
    }
}

/// Returns the record of what a call means.
pub(crate) fn resolving(call: &CallPlace, details: ResolutionDetails, at: Timestamp) -> Record {
    journal::note(LAYER, RESOLVING, at, &ResolvingNote { call: call.clone(), details })
}

/// Whether proposals of this session may wait for the model at all.
pub(crate) fn may_wait(part: &resolve::Part, id: ProposalId) -> bool {
    part.queue.get(id).is_some_and(|entry| entry.awaits_decision() && entry.may_approve(ActorKind::Model))
}

fn unreported(fault: trunkline_resolve_queue::TurnUnreported) -> RuntimeError {
    RuntimeError::Refused { reason: fault.to_string() }
}

/// Returns whether a call has been decided in a process that is gone, and nothing is left to be done for it.
pub(crate) fn is_carried_out(part: &resolve::Part, place: &CallPlace) -> bool {
    let meant = part.choices.meant(place).and_then(|meant| part.queue.get(meant.proposal?));
    meant.is_some_and(|entry| entry.state != At::Approved)
}
