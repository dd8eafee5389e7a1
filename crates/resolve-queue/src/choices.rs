//! The tool-choice queue: what the next turn is held to, and what became of what earlier turns were held to.
//!
//! One thing is in flight at a time. It is never overwritten: a turn has to be reported before the next is planned.
//! What waits in the queue comes first, in its order; only then are proposals asked for that wait for the model.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::choice::{
    Choice, Directive, Forcing, Heard, Notice, Place, Plan, Policy, Reject, Scene, TurnEnd, TurnUnreported,
    Wire,
};
use crate::gate::reminder;
use crate::{Attempt, Gate, ProposalId};

/// Directives that wait, the one in flight, and how often the model was asked for each proposal.
///
/// Serialisable: what is in flight when a process ends is reported by the next as [`TurnEnd::Error`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChoiceQueue {
    policy: Policy,
    #[serde(default)]
    waiting: VecDeque<Waiting>,
    #[serde(default)]
    in_flight: Option<InFlight>,
    #[serde(default)]
    last_resolved: Option<String>,
    // Only proposals that wait for the model, each at its last attempt: `plan` forgets all others.
    #[serde(default)]
    asked: BTreeMap<ProposalId, Asked>,
    #[serde(default)]
    pushed: u64,
}

/// A directive in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    number: u64,
    // Its choices are those that are left.
    directive: Directive,
    rejected: u32,
}

/// What the turn at hand is held to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InFlight {
    /// The directive's label, or the name of the tool that proposals wait for.
    pub label: String,
    /// What is wanted; whether it could be demanded is another matter.
    pub wanted: Choice,
    /// The proposals that it is for, oldest first; none for a directive.
    #[serde(default)]
    pub about: Vec<Attempt>,
    /// Whether the tool was called.
    #[serde(default)]
    pub invoked: bool,
    // What goes back into the queue; `None` if it did not come from there.
    #[serde(default)]
    from: Option<Waiting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Asked {
    attempt: u32,
    /// Turns that called other tools instead.
    declined: u32,
    /// Turns that called nothing.
    spoke: u32,
    /// Turns that were held to it.
    pressed: u32,
    given_up: bool,
}

impl ChoiceQueue {
    /// An empty queue.
    pub fn new(policy: Policy) -> Self {
        ChoiceQueue { policy, ..ChoiceQueue::default() }
    }

    /// The same queue under another policy: of what was asked before, nothing is forgotten.
    #[must_use]
    pub fn under(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How the model is brought to decide.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// What the turn at hand is held to.
    pub fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// The proposal that the turn at hand is held to: what a resolution means that names none.
    pub fn proposal_in_flight(&self) -> Option<ProposalId> {
        self.in_flight.as_ref()?.about.first().map(|attempt| attempt.proposal)
    }

    /// The labels of what waits, in the order in which it will be asked.
    pub fn waiting(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().map(|one| one.directive.label.as_str())
    }

    /// Returns the label of the directive that was done last, once.
    pub fn take_last_resolved(&mut self) -> Option<String> {
        self.last_resolved.take()
    }

    /// Puts a directive into the queue. One without choices asks for nothing and is not kept.
    pub fn push(&mut self, directive: Directive, place: Place) {
        if directive.choices.is_empty() {
            return;
        }
        self.pushed = self.pushed.saturating_add(1);
        let one = Waiting { number: self.pushed, directive, rejected: 0 };
        match place {
            Place::Last => self.waiting.push_back(one),
            Place::First => self.waiting.push_front(one),
        }
    }

    /// Takes every directive of this label out, also from flight; none of them is asked again.
    pub fn remove(&mut self, label: &str) -> Vec<Notice> {
        let (gone, stay): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|one| one.directive.label == label);
        self.waiting = stay;
        let flying = self.in_flight.take_if(|flying| flying.from.is_some() && flying.label == label);
        dropped(flying, gone, Reject::Removed)
    }

    /// Empties the queue. What is in flight is over, and nothing is asked again, whatever it was promised.
    pub fn clear(&mut self) -> Vec<Notice> {
        dropped(self.in_flight.take(), std::mem::take(&mut self.waiting), Reject::Cleared)
    }

    /// Notes that the turn at hand called a tool, before it is known how that ends.
    pub fn invoked(&mut self, tool: &str) {
        if let Some(flying) = &mut self.in_flight {
            flying.invoked |= is_met_by(&flying.wanted, tool);
        }
    }

    /// Says what the next turn is held to, and takes that into flight.
    ///
    /// Each directive is tried at most once: one that cannot be asked now keeps its place, if it may be asked again, and
    /// the next one gets its chance. If none is asked, proposals are that wait for the model.
    ///
    /// # Errors
    ///
    /// [`TurnUnreported`] if something is in flight.
    pub fn plan(&mut self, scene: &Scene<'_>) -> Result<Plan, TurnUnreported> {
        if let Some(flying) = &self.in_flight {
            return Err(TurnUnreported { label: flying.label.clone() });
        }
        let mut plan = Plan::default();
        self.forget_but(scene.gate);
        if self.serve(scene, &mut plan) {
            return Ok(plan);
        }
        if let Some(gate) = scene.gate.filter(|gate| leaves_room(scene.own, &gate.tool)) {
            self.ask(gate, scene, &mut plan);
        }
        Ok(plan)
    }

    /// Takes in how the turn at hand ended.
    pub fn end_turn(&mut self, end: TurnEnd<'_>) -> Heard {
        let Some(mut flying) = self.in_flight.take() else { return Heard::NothingAsked };
        let called: &[&str] = match end {
            TurnEnd::Done { called } => called,
            TurnEnd::Aborted | TurnEnd::Error => &[],
        };
        flying.invoked |= called.iter().any(|tool| is_met_by(&flying.wanted, tool));
        let lost = match end {
            TurnEnd::Aborted => Some(Reject::Aborted),
            TurnEnd::Error => Some(Reject::Error),
            TurnEnd::Done { .. } => None,
        };
        match flying.from.take() {
            Some(from) => Heard::Directive(self.end_directive(flying, from, lost)),
            None => self.end_asked(&flying, lost, called),
        }
    }

    /// Finds the first directive that can be asked now.
    fn serve(&mut self, scene: &Scene<'_>, plan: &mut Plan) -> bool {
        let mut place = 0;
        while let Some(one) = self.waiting.get_mut(place) {
            let Some(wanted) = one.directive.choices.first().cloned() else {
                self.waiting.remove(place);
                continue;
            };
            let reason = match (&wanted, on_wire(&wanted, scene.wire)) {
                (Choice::Tool(tool), _) if !scene.offers(tool) => Reject::Unavailable,
                (_, None) => Reject::Impossible,
                (_, Some((choice, only))) => {
                    (plan.choice, plan.only) = (choice, only);
                    one.directive.choices.remove(0);
                    let mut from = one.clone();
                    if from.directive.choices.is_empty() {
                        self.waiting.remove(place);
                    }
                    from.directive.choices.clear();
                    let label = from.directive.label.clone();
                    let (about, invoked, from) = (Vec::new(), false, Some(from));
                    self.in_flight = Some(InFlight { label, wanted, about, invoked, from });
                    return true;
                }
            };
            let requeued = one.rejected < one.directive.requeue;
            one.rejected = one.rejected.saturating_add(1);
            let label = one.directive.label.clone();
            plan.notices.push(Notice::Rejected { label, choice: wanted, reason, requeued });
            if requeued {
                place += 1;
            } else {
                self.waiting.remove(place);
            }
        }
        false
    }

    fn end_directive(&mut self, flying: InFlight, mut from: Waiting, lost: Option<Reject>) -> Notice {
        let InFlight { label, wanted: choice, invoked, .. } = flying;
        let ignored =
            from.directive.must_invoke && !invoked && !matches!(choice, Choice::Auto | Choice::None);
        let Some(reason) = lost.or(ignored.then_some(Reject::NotInvoked)) else {
            self.last_resolved = Some(label.clone());
            return Notice::Resolved { label, choice };
        };
        let left = self.waiting.iter().position(|one| one.number == from.number);
        let left = left.and_then(|place| self.waiting.remove(place));
        let requeued = from.rejected < from.directive.requeue;
        if requeued {
            // What was lost comes first, and what was to follow it follows it.
            from.rejected = from.rejected.saturating_add(1);
            from.directive.choices.push(choice.clone());
            from.directive.choices.extend(left.into_iter().flat_map(|left| left.directive.choices));
            self.waiting.push_front(from);
        }
        Notice::Rejected { label, choice, reason, requeued }
    }

    /// Forgets proposals that do not wait any more, and starts anew with those of which another attempt has failed.
    fn forget_but(&mut self, gate: Option<&Gate>) {
        let waiting = gate.map_or(&[][..], |gate| &gate.waiting);
        self.asked.retain(|id, asked| waiting.contains(&Attempt { proposal: *id, number: asked.attempt }));
        for attempt in waiting {
            let asked = Asked { attempt: attempt.number, ..Asked::default() };
            self.asked.entry(attempt.proposal).or_insert(asked);
        }
    }

    /// Asks for proposals: in words, and with what the wire has once words were not enough.
    fn ask(&mut self, gate: &Gate, scene: &Scene<'_>, plan: &mut Plan) {
        let wanted = Choice::Tool(gate.tool.clone());
        if !scene.offers(&gate.tool) {
            let (label, reason) = (gate.tool.clone(), Reject::Unavailable);
            plan.notices.push(Notice::Rejected { label, choice: wanted, reason, requeued: true });
            return;
        }
        // Who never asks has not given up asking either: under another policy it may be asked still.
        if self.policy == Policy::NEVER {
            return;
        }
        let patience = self.policy.patience();
        let press = self.asked.values().any(|asked| !asked.given_up && asked.declined >= patience);
        let limit = self.policy.turns();
        let (mut open, mut tired) = (Vec::new(), Vec::new());
        for attempt in &gate.waiting {
            let Some(asked) = self.asked.get_mut(&attempt.proposal).filter(|asked| !asked.given_up) else {
                continue;
            };
            if asked.spoke >= limit.max(1) || (press && asked.pressed >= limit) {
                asked.given_up = true;
                tired.push(*attempt);
                continue;
            }
            asked.pressed = asked.pressed.saturating_add(u32::from(press));
            open.push(*attempt);
        }
        if !tired.is_empty() {
            plan.notices.push(Notice::GaveUp { about: tired });
        }
        if open.is_empty() {
            return;
        }
        let demanded = press.then(|| on_wire(&wanted, scene.wire)).flatten();
        let only_words = press && demanded.is_none();
        if let Some((choice, only)) = demanded {
            (plan.choice, plan.only) = (choice, only);
        }
        // One that is still before the model's eyes is not repeated, unless words are all there is.
        if only_words || !open.iter().all(|attempt| scene.reminded.contains(attempt)) {
            plan.reminder = Some(reminder(&gate.tool, &open));
        }
        let (label, about) = (gate.tool.clone(), open);
        self.in_flight = Some(InFlight { label, wanted, about, invoked: false, from: None });
    }

    fn end_asked(&mut self, flying: &InFlight, lost: Option<Reject>, called: &[&str]) -> Heard {
        if let Some(reason) = lost {
            return Heard::Lost(reason);
        }
        if flying.invoked {
            return Heard::Complied;
        }
        let mut again = false;
        let limit = self.policy.turns().max(1);
        for attempt in &flying.about {
            let Some(asked) = self.asked.get_mut(&attempt.proposal) else { continue };
            match called.is_empty() {
                true => asked.spoke = asked.spoke.saturating_add(1),
                false => asked.declined = asked.declined.saturating_add(1),
            }
            again |= asked.spoke < limit;
        }
        match called.is_empty() {
            true => Heard::Spoke { again },
            false => Heard::Declined,
        }
    }
}

/// Whether the caller's own choice can be given up for a call of `tool`.
fn leaves_room(own: Option<&Choice>, tool: &str) -> bool {
    match own {
        None | Some(Choice::Auto | Choice::Any) => true,
        Some(Choice::None) => false,
        Some(Choice::Tool(own)) => own == tool,
    }
}

fn is_met_by(wanted: &Choice, tool: &str) -> bool {
    match wanted {
        Choice::Tool(wanted) => wanted == tool,
        Choice::Any => true,
        Choice::Auto | Choice::None => false,
    }
}

/// How a choice is put on a wire: as a demand, by offering less, both, or not at all.
fn on_wire(wanted: &Choice, wire: Wire) -> Option<(Option<Choice>, Option<Vec<String>>)> {
    match (wanted, wire.demands()) {
        (Choice::Auto | Choice::None, _) | (Choice::Any, Forcing::Any | Forcing::Named) => {
            Some((Some(wanted.clone()), None))
        }
        (Choice::Tool(_), Forcing::Named) => Some((Some(wanted.clone()), None)),
        // A call of some tool, where there is only one.
        (Choice::Tool(tool), Forcing::Any) if wire.narrowing => {
            Some((Some(Choice::Any), Some(vec![tool.clone()])))
        }
        (Choice::Tool(tool), _) if wire.narrowing => Some((None, Some(vec![tool.clone()]))),
        (Choice::Tool(_) | Choice::Any, _) => None,
    }
}

fn dropped(flying: Option<InFlight>, waiting: VecDeque<Waiting>, reason: Reject) -> Vec<Notice> {
    let flying = flying.filter(|flying| flying.from.is_some()).map(|flying| (flying.label, flying.wanted));
    let waiting = waiting.into_iter().filter_map(|one| {
        let choice = one.directive.choices.into_iter().next()?;
        Some((one.directive.label, choice))
    });
    let all = flying.into_iter().chain(waiting);
    all.map(|(label, choice)| Notice::Rejected { label, choice, reason, requeued: false }).collect()
}
