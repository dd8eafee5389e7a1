//! What a resolution is about when it names nothing, and what is told of it.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::json;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, ChoiceQueue, Directive, Forcing, NOTHING_TO_DISCARD, Offer, Outcome, Place,
    Policy, Proposal, ProposalId, Queue, ResolutionDetails, Ruling, STORE_UNAVAILABLE, Scene,
    StandingHandler, Step, Target, TurnEnd, Verdict, Wire, discard_text,
    resolve_tool::{Action, Resolution, parse_arguments},
};

/// Stages something that the model may decide on, or only a person.
fn stage(queue: &mut Queue<u8>, label: &str, model: bool) -> ProposalId {
    let mut proposal = Proposal::new(label, "edit", 7);
    if model {
        proposal.deciders = BTreeSet::from([ActorKind::Model, ActorKind::Person]);
    }
    let Ok(Offer::Staged { id, events }) = queue.offer(proposal, 1) else {
        unreachable!("it does something")
    };
    for event in events {
        queue.record(event).expect("it is legal");
    }
    id
}

/// Approves, begins and fails.
fn fail(queue: &mut Queue<u8>, id: ProposalId) {
    let by = Actor::new(ActorKind::Model, "");
    let Ok(Answer::New(event)) = queue.decide(id, Verdict::Approve, by, "fine", 2) else {
        unreachable!("it waits")
    };
    queue.record(event).expect("it is legal");
    let Ok(Step::Apply { attempt, event }) = queue.begin(id, &[], 3) else { unreachable!("it is approved") };
    queue.record(event).expect("it is legal");
    let outcome = Outcome::Failed { reason: "disk full".to_owned() };
    let event = queue.finish(attempt, outcome, 4).expect("it is applying");
    queue.record(event).expect("it is legal");
}

fn asked(text: &str) -> Resolution {
    parse_arguments(text).expect("it reads")
}

fn apply() -> Resolution {
    asked(r#"{"action":"apply","reason":"fine"}"#)
}

fn discard() -> Resolution {
    asked(r#"{"action":"discard","reason":"wrong"}"#)
}

fn told(target: Result<Target<'_>, trunkline_resolve_queue::QueueError>) -> String {
    match target {
        Ok(Target::Proposal(id)) => id.to_string(),
        Ok(Target::Standing(standing)) => format!("the handler {}", standing.name),
        Ok(Target::Nothing) => NOTHING_TO_DISCARD.to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn the_order_is_what_is_in_flight_then_the_queue_then_the_standing_handler() {
    let mut queue = Queue::new();
    let standing = StandingHandler::new("plan", "the plan");
    let model = ActorKind::Model;
    let mut choices = ChoiceQueue::new(Policy::AtOnce { turns: 3 });
    let at = |queue: &Queue<u8>, choices: &ChoiceQueue| {
        told(queue.target(&apply(), model, Some(choices), Some(&standing)))
    };

    assert_eq!(at(&queue, &choices), "the handler plan");
    let persons = stage(&mut queue, "for a person", false);
    assert_eq!(at(&queue, &choices), "the handler plan");
    let first = stage(&mut queue, "first", true);
    let second = stage(&mut queue, "second", true);
    assert_eq!(at(&queue, &choices), first.to_string(), "the oldest that the model may decide on");

    // A turn that is held to the second alone, because the first came after it was planned.
    let gate = queue.gate(5);
    let mut scene = Scene::new(Wire::new(Forcing::Named), &["resolve"]);
    scene.gate = gate.as_ref();
    choices.plan(&scene).expect("nothing is in flight");
    assert_eq!(choices.proposal_in_flight(), Some(first));
    fail(&mut queue, first);
    assert_eq!(at(&queue, &choices), first.to_string(), "in flight, also after its apply has failed");
    choices.end_turn(TurnEnd::Done { called: &["resolve"] });
    assert_eq!(
        at(&queue, &choices),
        second.to_string(),
        "what waits for a first decision comes before what failed"
    );
    let by = Actor::new(ActorKind::Model, "");
    let Ok(Answer::New(event)) = queue.decide(second, Verdict::Discard, by, "", 6) else {
        unreachable!("it waits")
    };
    queue.record(event).expect("it is legal");
    assert_eq!(at(&queue, &choices), first.to_string());

    // A person may decide on all of them, so the oldest of all is meant.
    assert_eq!(told(queue.target(&apply(), ActorKind::Person, None, None)), persons.to_string());
    // A name is a name, and nothing else is meant by it.
    let named = |id: &str| asked(&format!(r#"{{"action":"apply","reason":"x","id":"{id}"}}"#));
    assert_eq!(told(queue.target(&named("p3"), model, Some(&choices), Some(&standing))), "p3");
    expect!["error: no proposal p9; open: p1, p2"].assert_eq(&told(queue.target(
        &named("p9"),
        model,
        Some(&choices),
        Some(&standing),
    )));
}

#[test]
fn what_is_in_flight_and_settled_meanwhile_is_not_meant() {
    let mut queue = Queue::new();
    let first = stage(&mut queue, "first", true);
    let second = stage(&mut queue, "second", true);
    let gate = queue.gate(5);
    let mut scene = Scene::new(Wire::new(Forcing::Named), &["resolve"]);
    scene.gate = gate.as_ref();
    let mut choices = ChoiceQueue::new(Policy::AtOnce { turns: 3 });
    choices.plan(&scene).expect("nothing is in flight");
    let anna = Actor::new(ActorKind::Person, "anna");
    let Ok(Answer::New(event)) = queue.decide(first, Verdict::Discard, anna, "", 6) else {
        unreachable!("it waits")
    };
    queue.record(event).expect("it is legal");
    assert_eq!(told(queue.target(&apply(), ActorKind::Model, Some(&choices), None)), second.to_string());
    // A directive is about no proposal.
    let mut choices = ChoiceQueue::default();
    choices.push(Directive::once("look", trunkline_resolve_queue::Choice::Auto), Place::First);
    choices.plan(&Scene::new(Wire::new(Forcing::No), &[])).expect("nothing is in flight");
    assert_eq!(choices.proposal_in_flight(), None);
}

#[test]
fn where_nothing_waits_the_texts_are_the_seeds() {
    let queue: Queue<u8> = Queue::new();
    let none = |resolution: &Resolution| told(queue.target(resolution, ActorKind::Model, None, None));
    expect!["error: No pending action to resolve. Nothing to apply or discard."].assert_eq(&none(&apply()));
    expect!["Nothing to discard; no pending action remains."].assert_eq(&none(&discard()));
    expect!["Pending action store unavailable for custom tools in this runtime."]
        .assert_eq(STORE_UNAVAILABLE);
    expect!["Discarded: edit a. Reason: wrong"].assert_eq(&discard_text("edit a", "wrong"));
}

#[test]
fn what_only_others_may_decide_on_is_named_rather_than_nothing() {
    let mut queue = Queue::new();
    let id = stage(&mut queue, "for a person", false);
    assert_eq!(told(queue.target(&apply(), ActorKind::Model, None, None)), id.to_string());
    let by = Actor::new(ActorKind::Model, "");
    let error = queue.decide(id, Verdict::Approve, by, "", 2).expect_err("only a person may");
    expect!["model may not approve p1; may: person"].assert_eq(&error.to_string());
}

#[test]
fn a_standing_handler_authorises_nobody_by_default_but_a_person() {
    let standing = StandingHandler::new("plan", "the plan");
    let permits = |kind| standing.permits(Action::Apply, &Actor::new(kind, ""));
    assert!(permits(ActorKind::Person));
    assert!(!permits(ActorKind::Model) && !permits(ActorKind::Policy) && !permits(ActorKind::Harness));
    let mut open = standing.clone();
    open.deciders.push(ActorKind::Harness);
    assert!(!open.permits(Action::Apply, &Actor::new(ActorKind::Harness, "")));
    assert!(standing.permits(Action::Discard, &Actor::new(ActorKind::Harness, "")));
}

#[test]
fn everything_that_was_said_and_given_is_told_beside_the_result() {
    let mut queue = Queue::new();
    let mut proposal = Proposal::new("rotate the key", "custom_tool", 7_u8);
    proposal.details = Some(json!({"key": "k7"}));
    let staged = queue.stage(proposal, 1).expect("it makes sense");
    let id = staged.proposal;
    queue.record(staged).expect("it is legal");
    let resolution = asked(r#"{"action":"apply","reason":"it is old","extra":{"grace":3}}"#);
    let entry = queue.get(id).expect("it was staged");
    let details = ResolutionDetails::of(&resolution, entry);
    let text = serde_json::to_string(&details).expect("it prints");
    expect![[r#"{"action":"apply","reason":"it is old","extra":{"grace":3},"proposal":"p1","source_tool":"custom_tool","label":"rotate the key","details":{"key":"k7"}}"#]].assert_eq(&text);
    assert_eq!(serde_json::from_str::<ResolutionDetails>(&text).ok(), Some(details));
    let standing = StandingHandler::new("plan", "the plan");
    expect![[r#"{"action":"discard","reason":"wrong","source_tool":"plan","label":"the plan"}"#]].assert_eq(
        &serde_json::to_string(&ResolutionDetails::of_standing(&discard(), &standing)).expect("it prints"),
    );
}

#[test]
fn what_is_handed_to_the_executor_is_in_the_log() {
    let mut queue = Queue::new();
    let id = stage(&mut queue, "rotate the key", true);
    let resolution = asked(r#"{"action":"apply","reason":"it is old","extra":{"grace":3}}"#);
    let ruling = Ruling::of(resolution, Actor::new(ActorKind::Model, ""));
    let Ok(Answer::New(event)) = queue.decide_with(id, ruling, 2) else { unreachable!("it waits") };
    let text = serde_json::to_string(&event).expect("it prints");
    expect![[r#"{"proposal":"p1","at":2,"change":{"decided":{"verdict":"approve","by":{"kind":"model"},"reason":"it is old","extra":{"grace":3}}}}"#]].assert_eq(&text);
    queue.record(serde_json::from_str(&text).expect("it reads")).expect("it is legal");
    let decision = queue.get(id).and_then(|entry| entry.decision.clone()).expect("it was decided");
    assert_eq!(decision.extra.and_then(|extra| extra.get("grace").cloned()), Some(json!(3)));
}

#[test]
fn several_are_decided_at_once_and_each_has_its_own_answer() {
    let mut queue = Queue::new();
    let first = stage(&mut queue, "first", true);
    let persons = stage(&mut queue, "for a person", false);
    let ruling = Ruling::new(Verdict::Approve, Actor::new(ActorKind::Model, ""), "all fine");
    let answers: Vec<String> = queue
        .decide_each([persons, first, first, ProposalId(9)], &ruling, 2)
        .into_iter()
        .map(|(id, answer)| match answer {
            Ok(Answer::New(_)) => format!("{id}: approved"),
            Ok(Answer::Already(_)) => format!("{id}: already"),
            Err(error) => format!("{id}: {error}"),
        })
        .collect();
    expect![[r#"
        p1: approved
        p2: model may not approve p2; may: person
        p9: no proposal p9; open: p1, p2"#]]
    .assert_eq(&answers.join("\n"));
}
