//! The laws of the tool-choice queue, over any sequence of turns.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trunkline_resolve_queue::{
    Attempt, Choice, ChoiceQueue, Directive, FAILED_ATTEMPTS, Forcing, Gate, Heard, Notice, Place, Policy,
    ProposalId, Scene, TurnEnd, Wire,
};

use crate::choice_script::gate;

#[derive(Debug, Clone)]
enum Act {
    Push { label: u8, choices: Vec<Choice>, requeue: u32, must: bool, first: bool },
    Waits { proposals: Vec<u32>, failed: u32 },
    Turn { wire: (u8, bool, bool), tools: Vec<&'static str>, forgotten: bool, end: End },
    Remove { label: u8 },
    Clear,
}

#[derive(Debug, Clone)]
enum End {
    Aborted,
    Error,
    Called(Vec<&'static str>),
    /// The process ends: what is in flight is found by the next.
    Lost,
}

const TOOLS: [&str; 3] = ["read", "edit", "resolve"];

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Auto),
        Just(Choice::None),
        Just(Choice::Any),
        prop::sample::select(TOOLS.as_slice()).prop_map(|tool| Choice::Tool(tool.to_owned())),
        Just(Choice::Tool("missing".to_owned())),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let tools = || prop::sample::subsequence(TOOLS.as_slice(), 0..=3);
    let end = prop_oneof![
        1 => Just(End::Aborted),
        1 => Just(End::Error),
        1 => Just(End::Lost),
        6 => tools().prop_map(End::Called),
    ];
    let wire = (0..3_u8, prop::bool::weighted(0.2), prop::bool::weighted(0.8));
    prop_oneof![
        2 => (0..3_u8, prop::collection::vec(choice(), 0..3), 0..3_u32, any::<bool>(), any::<bool>())
            .prop_map(|(label, choices, requeue, must, first)| Act::Push { label, choices, requeue, must, first }),
        1 => (prop::collection::btree_set(1..4_u32, 0..3), 0..4_u32)
            .prop_map(|(proposals, failed)| Act::Waits { proposals: proposals.into_iter().collect(), failed }),
        8 => (wire, tools(), any::<bool>(), end)
            .prop_map(|(wire, tools, forgotten, end)| Act::Turn { wire, tools, forgotten, end }),
        1 => (0..3_u8).prop_map(|label| Act::Remove { label }),
        1 => Just(Act::Clear),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        (0..4_u32).prop_map(|turns| Policy::AtOnce { turns }),
        (0..3_u32, 0..4_u32).prop_map(|(patience, turns)| Policy::SoftFirst { patience, turns }),
    ]
}

fn wire((forcing, thinking, narrowing): (u8, bool, bool)) -> Wire {
    let mut wire = Wire::new(match forcing {
        0 => Forcing::No,
        1 => Forcing::Any,
        _ => Forcing::Named,
    });
    (wire.thinking, wire.narrowing) = (thinking, narrowing);
    wire
}

/// Runs everything, and holds every plan against what a wire takes.
fn run(policy: Policy, acts: &[Act]) -> Result<(), TestCaseError> {
    let mut choices = ChoiceQueue::new(policy);
    let mut waiting: Option<Gate> = None;
    // How often each proposal was pressed for, since it last began to wait at this attempt.
    let mut pressed: BTreeMap<Attempt, u32> = BTreeMap::new();
    let mut pushed = 0_usize;
    let mut given = 0_usize;
    let (AtMost { turns, soft }, mut done) = (AtMost::of(policy), 0_usize);
    for act in acts {
        match act.clone() {
            Act::Push { label, choices: asked, requeue, must, first } => {
                given += asked.len();
                pushed += asked.len() * (requeue as usize + 1);
                let mut directive = Directive::sequence(format!("d{label}"), asked);
                (directive.requeue, directive.must_invoke) = (requeue, must);
                choices.push(directive, if first { Place::First } else { Place::Last });
            }
            Act::Waits { proposals, failed } => {
                let all: Vec<Attempt> = proposals
                    .iter()
                    .map(|number| Attempt { proposal: ProposalId(*number), number: failed })
                    .collect();
                waiting = gate(&all);
                prop_assert!(failed < FAILED_ATTEMPTS || waiting.is_none());
                let here = waiting.as_ref().map_or(&[][..], |gate| &gate.waiting);
                pressed.retain(|attempt, _| here.contains(attempt));
            }
            Act::Remove { label } => {
                let label = format!("d{label}");
                choices.remove(&label);
                prop_assert!(choices.waiting().all(|other| other != label));
                prop_assert!(choices.in_flight().is_none_or(|flying| flying.label != label));
            }
            Act::Clear => {
                choices.clear();
                prop_assert_eq!(choices.waiting().count(), 0);
                prop_assert!(choices.in_flight().is_none());
            }
            Act::Turn { wire: parts, tools, forgotten, end } => {
                let wire = wire(parts);
                let known: Vec<Attempt> = waiting.iter().flat_map(|gate| gate.waiting.clone()).collect();
                let mut scene = Scene::new(wire, &tools);
                scene.gate = waiting.as_ref();
                scene.reminded = if forgotten { &[] } else { &known };
                if choices.in_flight().is_some() {
                    let before = choices.clone();
                    prop_assert!(choices.plan(&scene).is_err());
                    prop_assert_eq!(&choices, &before);
                    choices.end_turn(TurnEnd::Error);
                    continue;
                }
                let plan = choices.plan(&scene).expect("nothing is in flight");
                // What no wire refuses.
                match &plan.choice {
                    Some(Choice::Tool(tool)) => {
                        prop_assert!(wire.forcing == Forcing::Named && !wire.thinking);
                        prop_assert!(tools.contains(&tool.as_str()));
                    }
                    Some(Choice::Any) => prop_assert!(wire.forcing != Forcing::No && !wire.thinking),
                    Some(Choice::Auto | Choice::None) | None => {}
                }
                if let Some(only) = &plan.only {
                    prop_assert!(wire.narrowing && only.len() == 1);
                    prop_assert!(only.iter().all(|tool| tools.contains(&tool.as_str())));
                }
                // What is never asked, and how often what is.
                if let Some(flying) = choices.in_flight() {
                    let gone = flying.about.iter().find(|attempt| !known.contains(attempt));
                    prop_assert_eq!(gone, None, "asked for what does not wait");
                    let held = plan.choice.is_some() || plan.only.is_some();
                    for attempt in flying.about.iter().filter(|_| held) {
                        let times = pressed.entry(*attempt).or_default();
                        *times += 1;
                        prop_assert!(*times <= turns, "{} was pressed for {} times", attempt, times);
                    }
                    done += usize::from(flying.about.is_empty());
                } else {
                    prop_assert_eq!((&plan.choice, &plan.only, &plan.reminder), (&None, &None, &None));
                }
                for notice in &plan.notices {
                    if let Notice::GaveUp { about } = notice {
                        prop_assert!(about.iter().all(|attempt| known.contains(attempt)));
                    }
                }
                prop_assert!(done <= pushed, "{} turns for {} choices", done, given);
                choices = restarted(&choices);
                match end {
                    End::Aborted => drop(choices.end_turn(TurnEnd::Aborted)),
                    End::Error => drop(choices.end_turn(TurnEnd::Error)),
                    End::Lost => {}
                    End::Called(called) => {
                        let about = choices.in_flight().map(|flying| flying.about.len());
                        let heard = choices.end_turn(TurnEnd::Done { called: &called });
                        if about.is_some_and(|about| about > 0) && called.contains(&"resolve") {
                            prop_assert_eq!(heard, Heard::Complied);
                        } else if soft && called.is_empty() && about.is_some_and(|about| about > 0) {
                            let spoke = matches!(heard, Heard::Spoke { .. });
                            prop_assert!(spoke);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

struct AtMost {
    turns: u32,
    soft: bool,
}

impl AtMost {
    fn of(policy: Policy) -> Self {
        match policy {
            Policy::AtOnce { turns } => AtMost { turns, soft: false },
            Policy::SoftFirst { turns, .. } => AtMost { turns, soft: true },
            other => unreachable!("there is no {other:?}"),
        }
    }
}

fn restarted(choices: &ChoiceQueue) -> ChoiceQueue {
    let text = serde_json::to_string(choices).expect("it prints");
    let read: ChoiceQueue = serde_json::from_str(&text).expect("it reads");
    assert_eq!(&read, choices);
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_asks_what_a_wire_refuses_or_more_often_than_was_said(
        policy in policy(),
        acts in prop::collection::vec(act(), 0..60),
    ) {
        run(policy, &acts)?;
    }

    #[test]
    fn a_model_that_never_complies_is_left_alone(policy in policy(), calls in any::<bool>(), named in any::<bool>()) {
        let mut choices = ChoiceQueue::new(policy);
        let waiting = gate(&[Attempt { proposal: ProposalId(1), number: 0 }]);
        let mut scene = Scene::new(Wire::new(if named { Forcing::Named } else { Forcing::No }), &TOOLS);
        scene.gate = waiting.as_ref();
        let called: &[&str] = if calls { &["read"] } else { &[] };
        let mut asked = 0;
        while asked < 20 {
            choices.plan(&scene).expect("nothing is in flight");
            if choices.end_turn(TurnEnd::Done { called }) == Heard::NothingAsked {
                break;
            }
            asked += 1;
        }
        // Patience, then pressure; or as many turns that only talk.
        prop_assert!(asked <= 3 + 3, "{} turns", asked);
    }
}
