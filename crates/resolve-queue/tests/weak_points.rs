//! The weak points of the seed, by number, as far as this crate can answer for them.
//!
//! For the runtime remain: that a cancelled turn does not leave an apply running unseen (R16; here: such an apply is never
//! taken for done), that a reminder stands where a wire accepts it (R19; here: it is text, and a message of its own), and
//! that files are looked at as late as possible and written all or none (R6 and R20; here: compared before, and known after).

use std::collections::BTreeSet;

use serde_json::json;
use serde_json::value::RawValue;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Attempt, Choice, ChoiceQueue, Directive, Event, FAILED_ATTEMPTS, Fingerprint,
    Forcing, Heard, Lease, Notice, Observation, Offer, Outcome, Place, Policy, Proposal, ProposalId, Queue,
    QueueError, Reject, ResolutionDetails, Ruling, STORE_UNAVAILABLE, Scene, Start, State, Step, Target,
    TurnEnd, Verdict, Wire, resolve_tool::parse_arguments,
};

const TOOLS: [&str; 2] = ["read", "resolve"];

/// A queue and its log, both of which every event goes into.
#[derive(Default)]
struct House {
    queue: Queue<String>,
    log: Vec<String>,
    at: u64,
}

impl House {
    fn keep(&mut self, event: Event<String>) -> State {
        self.at += 1;
        self.log.push(serde_json::to_string(&event).expect("it prints"));
        self.queue.record(event).expect("it is legal")
    }

    /// Offers a write of some files that are all `old`, which the model may decide on.
    fn offer(&mut self, files: &[&str]) -> ProposalId {
        let mut proposal = Proposal::new(format!("edit {}", files.join(" ")), "edit", "new".to_owned());
        proposal.fingerprints = files.iter().map(|file| Fingerprint::digest(*file, "old")).collect();
        proposal.after = files.iter().map(|file| Fingerprint::digest(*file, "new")).collect();
        proposal.effect = trunkline_resolve_queue::Effect::Reversible;
        proposal.deciders = BTreeSet::from([ActorKind::Model, ActorKind::Person]);
        proposal.divisible = true;
        self.offer_of(proposal)
    }

    fn offer_of(&mut self, proposal: Proposal<String>) -> ProposalId {
        let Ok(Offer::Staged { id, events }) = self.queue.offer(proposal, self.at) else {
            unreachable!("it changes something")
        };
        for event in events {
            self.keep(event);
        }
        id
    }

    fn decide(&mut self, id: ProposalId, verdict: Verdict) -> Result<bool, QueueError> {
        match self.queue.decide(id, verdict, model(), "fine", self.at)? {
            Answer::New(event) => {
                self.keep(event);
                Ok(true)
            }
            Answer::Already(_) => Ok(false),
        }
    }

    /// Begins in a world in which every file has this text.
    fn begin(&mut self, id: ProposalId, text: &str) -> Result<Option<Attempt>, QueueError> {
        let files: Vec<Fingerprint> =
            ["a", "b"].iter().map(|file| Fingerprint::digest(*file, text)).collect();
        Ok(match self.queue.begin(id, &files, self.at)? {
            Step::Apply { attempt, event } => {
                self.keep(event);
                Some(attempt)
            }
            Step::Stale { event, .. } => {
                self.keep(event);
                None
            }
        })
    }

    fn fail(&mut self, id: ProposalId) {
        self.decide(id, Verdict::Approve).expect("it waits");
        let attempt = self.begin(id, "old").expect("it is approved").expect("nothing has changed");
        let outcome = Outcome::Failed { reason: "disk full".to_owned() };
        let event = self.queue.finish(attempt, outcome, self.at).expect("it is applying");
        self.keep(event);
    }

    fn state(&self, id: ProposalId) -> State {
        self.queue.get(id).expect("it was staged").state
    }

    /// What the next process finds.
    fn restarted(&self) -> House {
        let events = self.log.iter().map(|line| serde_json::from_str(line).expect("it reads"));
        let queue = Queue::replay(events.collect::<Vec<Event<String>>>()).expect("it was legal");
        House { queue, log: self.log.clone(), at: self.at }
    }

    fn plan(
        &self,
        choices: &mut ChoiceQueue,
        wire: Wire,
        reminded: &[Attempt],
    ) -> trunkline_resolve_queue::Plan {
        let gate = self.queue.gate(self.at);
        let mut scene = Scene::new(wire, &TOOLS);
        scene.gate = gate.as_ref();
        scene.reminded = reminded;
        choices.plan(&scene).expect("nothing is in flight")
    }
}

fn model() -> Actor {
    Actor::new(ActorKind::Model, "m")
}

fn named() -> Wire {
    Wire::new(Forcing::Named)
}

fn at_once() -> ChoiceQueue {
    ChoiceQueue::new(Policy::AtOnce { turns: 3 })
}

#[test]
fn r01_what_waits_and_what_is_in_flight_survives_its_process() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    house.decide(id, Verdict::Approve).expect("it waits");
    let mut choices = at_once();
    choices.push(Directive::once("look", Choice::Any), Place::Last);
    choices.plan(&Scene::new(named(), &TOOLS)).expect("nothing is in flight");
    let kept = serde_json::to_string(&choices).expect("it prints");

    let mut house = house.restarted();
    assert!(house.begin(id, "old").expect("it is approved").is_some());
    let choices: ChoiceQueue = serde_json::from_str(&kept).expect("it reads");
    assert_eq!(choices.in_flight().map(|flying| flying.label.as_str()), Some("look"));
}

#[test]
fn r02_a_resolution_hits_what_it_names_or_the_oldest_never_the_newest() {
    let mut house = House::default();
    let (first, second) = (house.offer(&["a"]), house.offer(&["b"]));
    let target = |text: &str| {
        let asked = parse_arguments(text).expect("it reads");
        house.queue.target(&asked, ActorKind::Model, None, None)
    };
    assert_eq!(target(r#"{"action":"apply","reason":"x","id":"p2"}"#), Ok(Target::Proposal(second)));
    assert_eq!(target(r#"{"action":"apply","reason":"x"}"#), Ok(Target::Proposal(first)));
    assert!(matches!(
        target(r#"{"action":"apply","reason":"x","id":"p7"}"#),
        Err(QueueError::UnknownProposal { .. })
    ));
}

#[test]
fn r03_nothing_is_applied_twice_however_often_it_is_said() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    assert_eq!(house.decide(id, Verdict::Approve), Ok(true));
    assert_eq!(house.decide(id, Verdict::Approve), Ok(false));
    let attempt = house.begin(id, "old").expect("it is approved").expect("nothing has changed");
    assert_eq!(attempt.to_string(), "p1-1");
    assert!(matches!(house.begin(id, "old"), Err(QueueError::IllegalMove { .. })));
    let done = house.queue.finish(attempt, Outcome::Applied, 9).expect("it is applying");
    house.keep(done.clone());
    assert!(house.queue.record(done).is_err());
    assert!(house.begin(id, "old").is_err());
}

#[test]
fn r04_a_newer_preview_takes_the_place_of_the_older_and_none_lives_for_ever() {
    let mut house = House::default();
    let first = house.offer(&["a"]);
    let second = house.offer(&["a", "b"]);
    assert_eq!((house.state(first), house.state(second)), (State::Superseded, State::Proposed));
    let mut proposal = Proposal::new("edit c", "edit", String::new());
    proposal.expires_at = Some(100);
    proposal.deciders.insert(ActorKind::Model);
    let third = house.offer_of(proposal);
    let asked =
        |at| house.queue.gate(at).is_some_and(|gate| gate.waiting.iter().any(|one| one.proposal == third));
    assert!(asked(99) && !asked(100), "nor is anybody asked about it then");
    house.at = 100;
    assert!(matches!(house.decide(third, Verdict::Discard), Err(QueueError::Expired { .. })));
    let event = house.queue.expire(third, 100).expect("it is due");
    assert_eq!(house.keep(event), State::Expired);
}

#[test]
fn r05_and_r20_a_change_is_seen_before_the_first_byte_whoever_made_it() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    house.decide(id, Verdict::Approve).expect("it waits");
    // As many lines, as many files: only the content is another.
    assert_eq!(house.begin(id, "odd"), Ok(None));
    assert_eq!(house.state(id), State::Stale);
}

#[test]
fn r06_half_of_it_is_known_as_half_and_all_of_it_can_be_taken_back() {
    let mut house = House::default();
    let id = house.offer(&["a", "b"]);
    house.decide(id, Verdict::Approve).expect("it waits");
    let old = [Fingerprint::digest("a", "old"), Fingerprint::digest("b", "old")];
    let start = Start::leased("one", 100).keeping(old.to_vec());
    let Ok(Step::Apply { attempt, event }) = house.queue.begin_with(id, &old, start, house.at) else {
        unreachable!("nothing has changed")
    };
    house.keep(event);
    let half = [Fingerprint::digest("a", "new"), Fingerprint::digest("b", "old")];
    let entry = house.queue.get(id).expect("it was staged");
    assert_eq!(entry.observe(&half), Observation::Unclear);
    assert_eq!(entry.preimages, old, "what to put back is in the log");
    let event = house.queue.finish(attempt, Outcome::Applied, house.at).expect("it is applying");
    house.keep(event);
    let undo = house.restarted().queue.undo(id, "old".to_owned()).expect("everything was kept");
    assert_eq!((undo.undo_of, undo.after), (Some(id), old.to_vec()));
}

#[test]
fn r07_what_is_applied_is_what_was_approved_byte_for_byte() {
    let bytes = r#"{ "b":1.50,  "a": [ ] }"#;
    let payload = RawValue::from_string(bytes.to_owned()).expect("it is JSON");
    let event = Queue::new().stage(Proposal::new("edit", "edit", payload), 1).expect("it makes sense");
    let text = serde_json::to_string(&event).expect("it prints");
    let mut queue: Queue<Box<RawValue>> = Queue::new();
    queue.record(serde_json::from_str(&text).expect("it reads")).expect("it is legal");
    assert_eq!(queue.get(ProposalId(1)).map(|entry| entry.proposal.payload.get()), Some(bytes));
}

#[test]
fn r08_the_proposer_does_not_approve_itself_unless_somebody_let_it_and_every_decision_says_whose_it_is() {
    let mut house = House::default();
    let persons = house.offer_of(Proposal::new("send it", "mail", String::new()));
    assert!(matches!(house.decide(persons, Verdict::Approve), Err(QueueError::NotPermitted { .. })));
    assert!(house.queue.gate(0).is_none(), "and it is not even asked to");
    let own = house.offer(&["a"]);
    house.at = 7;
    house.decide(own, Verdict::Approve).expect("it may");
    let decision =
        house.restarted().queue.get(own).and_then(|entry| entry.decision.clone()).expect("it was decided");
    assert_eq!((decision.by, decision.reason.as_str(), decision.at), (model(), "fine", 7));
}

#[test]
fn r09_neither_reads_nor_words_are_held_up_and_nothing_is_aborted() {
    let mut house = House::default();
    house.offer(&["a"]);
    let mut choices = ChoiceQueue::default();
    let plan = house.plan(&mut choices, named(), &[]);
    assert_eq!((plan.choice, plan.only), (None, None));
    assert_eq!(choices.end_turn(TurnEnd::Done { called: &["read"] }), Heard::Declined);
    for _ in 0..3 {
        assert!(house.plan(&mut choices, named(), &[]).choice.is_some());
        choices.end_turn(TurnEnd::Done { called: &["read"] });
    }
    let plan = house.plan(&mut choices, named(), &[]);
    assert!(matches!(plan.notices.as_slice(), [Notice::GaveUp { .. }]));
    assert!(choices.in_flight().is_none());
    assert_eq!(house.queue.pending().count(), 1, "it waits as before");
}

#[test]
fn r10_where_a_tool_cannot_be_named_there_is_only_that_tool() {
    let mut house = House::default();
    house.offer(&["a"]);
    let plan = house.plan(&mut at_once(), Wire::new(Forcing::Any), &[]);
    assert_eq!((plan.choice, plan.only), (Some(Choice::Any), Some(vec!["resolve".to_owned()])));
    let plan = house.plan(&mut at_once(), Wire::new(Forcing::No), &[]);
    assert_eq!((plan.choice, plan.only), (None, Some(vec!["resolve".to_owned()])));
}

#[test]
fn r11_nothing_is_demanded_beside_thinking() {
    let mut house = House::default();
    house.offer(&["a"]);
    let mut wire = named();
    (wire.thinking, wire.narrowing) = (true, false);
    let plan = house.plan(&mut at_once(), wire, &[]);
    assert_eq!((plan.choice, plan.only), (None, None));
    assert!(plan.reminder.is_some());
}

#[test]
fn r12_a_tool_that_is_not_there_is_told_and_starves_nobody() {
    let mut choices = at_once();
    let mut wanted = Directive::once("look", Choice::Tool("missing".to_owned()));
    wanted.requeue = 1;
    choices.push(wanted, Place::Last);
    choices.push(Directive::once("read", Choice::Tool("read".to_owned())), Place::Last);
    let plan = choices.plan(&Scene::new(named(), &TOOLS)).expect("nothing is in flight");
    let unavailable = Notice::Rejected {
        label: "look".to_owned(),
        choice: Choice::Tool("missing".to_owned()),
        reason: Reject::Unavailable,
        requeued: true,
    };
    assert_eq!((plan.choice, plan.notices), (Some(Choice::Tool("read".to_owned())), vec![unavailable]));
    assert_eq!(choices.waiting().collect::<Vec<_>>(), ["look"]);
}

#[test]
fn r13_and_r14_asking_again_has_an_end_and_a_label_stays_what_it_is() {
    let mut choices = at_once();
    let mut wanted = Directive::once("look", Choice::Any);
    wanted.requeue = 2;
    choices.push(wanted, Place::Last);
    for requeued in [true, true, false] {
        choices.plan(&Scene::new(named(), &TOOLS)).expect("nothing is in flight");
        let Heard::Directive(Notice::Rejected { label, requeued: again, .. }) =
            choices.end_turn(TurnEnd::Aborted)
        else {
            unreachable!("it was aborted")
        };
        assert_eq!((label.as_str(), again), ("look", requeued));
    }
    assert_eq!(choices.waiting().count(), 0);
}

#[test]
fn r15_a_failed_apply_is_a_failure_and_what_failed_waits_again() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    let mut choices = at_once();
    let reminder = house.plan(&mut choices, named(), &[]).reminder.expect("it waits");
    choices.end_turn(TurnEnd::Done { called: &["resolve"] });
    house.fail(id);
    assert_eq!(house.state(id), State::Failed);
    // Reminder and demand are due again, although the old reminder is still before the model's eyes.
    let again = house.plan(&mut choices, named(), &reminder.about);
    assert!(again.choice.is_some());
    assert_eq!(
        again.reminder.map(|reminder| reminder.about),
        Some(vec![Attempt { proposal: id, number: 1 }])
    );
    choices.end_turn(TurnEnd::Done { called: &["resolve"] });
    for _ in 1..FAILED_ATTEMPTS {
        house.fail(id);
    }
    assert!(house.queue.gate(house.at).is_none(), "not for ever");
    assert_eq!(house.decide(id, Verdict::Discard), Ok(true), "and it can still be dropped");
}

#[test]
fn r15_to_tidy_up_after_a_failure_is_no_try() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    for tries in 1..FAILED_ATTEMPTS {
        house.decide(id, Verdict::Approve).expect("it waits");
        house.begin(id, "old").expect("it is approved").expect("nothing has changed");
        let lease = Lease { holder: "another".to_owned(), until: u64::MAX };
        let event = house.queue.take_over_fenced(id, lease, house.at).expect("it is applying");
        house.keep(event);
        let attempt = house.queue.get(id).expect("it is there").attempt();
        let outcome = Outcome::Failed { reason: "the disk is full".to_owned() };
        let event = house.queue.finish(attempt, outcome, house.at).expect("it is applying");
        assert_eq!(house.keep(event), State::Failed);
        assert_eq!((attempt.number, house.queue.get(id).map(|entry| entry.begun)), (2 * tries, Some(tries)));
        assert!(house.queue.gate(house.at).is_some(), "it is asked about again");
    }
    house.fail(id);
    assert!(house.queue.gate(house.at).is_none());
}

#[test]
fn r16_an_apply_that_was_cut_off_is_never_taken_for_done_nor_for_undone() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    house.decide(id, Verdict::Approve).expect("it waits");
    let attempt = house.begin(id, "old").expect("it is approved").expect("nothing has changed");
    let outcome = Outcome::Unknown { reason: "cancelled".to_owned() };
    let event = house.queue.finish(attempt, outcome, house.at).expect("it is applying");
    assert_eq!(house.keep(event), State::Unknown);
    assert!(house.begin(id, "old").is_err());
}

#[test]
fn r17_what_cannot_be_done_is_said() {
    assert_eq!(STORE_UNAVAILABLE, "Pending action store unavailable for custom tools in this runtime.");
    let mut choices = at_once();
    choices.push(Directive::once("look", Choice::Any), Place::Last);
    let plan = choices.plan(&Scene::new(Wire::new(Forcing::No), &TOOLS)).expect("nothing is in flight");
    assert!(matches!(plan.notices.as_slice(), [Notice::Rejected { reason: Reject::Impossible, .. }]));
}

#[test]
fn r18_some_of_it_several_at_once_and_another_version_of_it() {
    let mut house = House::default();
    let both = house.offer(&["a", "b"]);
    let mut ruling = Ruling::new(Verdict::Approve, model(), "only file 2");
    ruling.only = BTreeSet::from(["b".to_owned()]);
    let Ok(Answer::New(event)) = house.queue.decide_with(both, ruling, 1) else { unreachable!("it waits") };
    house.keep(event);
    assert_eq!(house.queue.get(both).expect("it was staged").part().collect::<Vec<_>>(), ["b"]);

    let edited = house.offer(&["b"]);
    assert_eq!(house.queue.get(edited).expect("it was staged").proposal.supersedes, [both]);
    let other = house.offer(&["a"]);
    let all = Ruling::new(Verdict::Discard, model(), "start over");
    let answers = house.queue.decide_each([edited, other], &all, 1);
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Ok(Answer::New(_)))));
}

#[test]
fn r19_a_reminder_is_text_of_its_own() {
    let mut house = House::default();
    house.offer(&["a"]);
    let plan = house.plan(&mut ChoiceQueue::default(), named(), &[]);
    assert!(
        plan.reminder
            .is_some_and(|reminder| reminder.text.contains("p1") && !reminder.text.contains("edit a"))
    );
}

#[test]
fn r21_a_resolve_beside_other_calls_is_a_resolve() {
    let mut house = House::default();
    house.offer(&["a"]);
    let mut choices = at_once();
    house.plan(&mut choices, named(), &[]);
    assert_eq!(choices.end_turn(TurnEnd::Done { called: &["read", "resolve", "read"] }), Heard::Complied);
}

#[test]
fn r22_the_order_is_what_the_tool_says_it_is() {
    let mut house = House::default();
    let first = house.offer(&["a"]);
    house.offer(&["b"]);
    assert!(
        trunkline_resolve_queue::resolve_tool::DESCRIPTION
            .contains("without it the oldest one that waits for you is meant")
    );
    assert_eq!(house.queue.default_target(), Ok(first));
}

#[test]
fn r23_what_a_tool_gives_along_is_in_what_is_told_of_the_resolution() {
    let mut house = House::default();
    let mut proposal = Proposal::new("rotate", "custom_tool", String::new());
    proposal.details = Some(json!({"key": 7}));
    let id = house.offer_of(proposal);
    let asked = parse_arguments(r#"{"action":"discard","reason":"x"}"#).expect("it reads");
    let restarted = house.restarted();
    let entry = restarted.queue.get(id).expect("it was staged");
    assert_eq!(ResolutionDetails::of(&asked, entry).details, Some(json!({"key": 7})));
}

#[test]
fn r24_what_is_in_flight_is_not_overwritten() {
    let mut choices = at_once();
    choices.push(Directive::once("one", Choice::Any), Place::Last);
    choices.push(Directive::once("two", Choice::Any), Place::Last);
    choices.plan(&Scene::new(named(), &TOOLS)).expect("nothing is in flight");
    let refused = choices.plan(&Scene::new(named(), &TOOLS)).expect_err("something is");
    assert_eq!(refused.label, "one");
    assert_eq!(choices.waiting().collect::<Vec<_>>(), ["two"]);
}

#[test]
fn r25_nothing_waits_for_a_proposal_that_is_gone() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    let mut choices = at_once();
    house.plan(&mut choices, named(), &[]);
    choices.end_turn(TurnEnd::Aborted);
    house.decide(id, Verdict::Discard).expect("it waits");
    let plan = house.plan(&mut choices, named(), &[]);
    assert_eq!((plan.choice, plan.only, plan.reminder), (None, None, None));
    assert!(choices.in_flight().is_none());
}

#[test]
fn r26_a_reminder_that_was_lost_is_said_again() {
    let mut house = House::default();
    house.offer(&["a"]);
    let mut choices = ChoiceQueue::new(Policy::SoftFirst { patience: 9, turns: 3 });
    let reminder = house.plan(&mut choices, named(), &[]).reminder.expect("it waits");
    choices.end_turn(TurnEnd::Done { called: &["read"] });
    assert!(house.plan(&mut choices, named(), &reminder.about).reminder.is_none());
    choices.end_turn(TurnEnd::Done { called: &["read"] });
    assert_eq!(house.plan(&mut choices, named(), &[]).reminder, Some(reminder));
}

#[test]
fn an_answer_from_an_abandoned_branch_decides_nothing_on_another() {
    let mut house = House::default();
    let id = house.offer(&["a"]);
    let seen = house.queue.get(id).expect("it was staged").put_aside;
    let cause = trunkline_resolve_queue::Supersession::BranchLeft { by: "m1".to_owned() };
    let event = house.queue.supersede(id, cause, 2).expect("it waits");
    house.keep(event);
    let event = house.queue.restore(id, 3).expect("it was put aside");
    house.keep(event);
    let old = [Fingerprint::digest("a", "old")];
    let Ok(trunkline_resolve_queue::Check::Returns(event)) = house.queue.check(id, &old, 4) else {
        unreachable!("nothing has changed")
    };
    assert_eq!(house.keep(event), State::Proposed);
    let mut late = Ruling::new(Verdict::Approve, Actor::new(ActorKind::Person, "anna"), "fine");
    late.seen = Some(seen);
    assert!(matches!(house.queue.decide_with(id, late.clone(), 5), Err(QueueError::AnswerTooOld { .. })));
    late.seen = Some(seen + 1);
    assert!(matches!(house.queue.decide_with(id, late, 5), Ok(Answer::New(_))));
}
