//! The JSON form is a promise: these lines are in somebody's log.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::value::RawValue;
use trunkline_resolve_queue::{
    Actor, ActorKind, CallRef, Change, Choice, ChoiceQueue, Difference, Directive, Effect, Event,
    Fingerprint, Forcing, Lease, Observation, Outcome, Place, Policy, Proposal, ProposalId, Queue, Scene,
    SubjectState, Supersession, Verdict, Wire,
};

#[test]
fn a_small_proposal_is_a_short_line() {
    check(
        Change::Staged(Box::new(Proposal::new("edit a", "edit", 7))),
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"staged":{"label":"edit a","source_tool":"edit","payload":7,"preview":{"text":""},"effect":"irreversible","proposed_by":{"kind":"model"},"deciders":["person"]}}}"#
        ]],
    );
}

#[test]
fn a_whole_proposal() {
    let mut proposal = Proposal::new("edit a", "edit", 7);
    proposal.preview.text = "1 -> 2".to_owned();
    proposal.preview.diff = Some("-1\n+2\n".to_owned());
    proposal.fingerprints = vec![Fingerprint::digest("a", "sha256:1"), Fingerprint::absent("b")];
    proposal.after = vec![Fingerprint::digest("a", "sha256:2")];
    proposal.call = Some(CallRef { node: "n4".to_owned(), call_id: "toolu_1".to_owned() });
    proposal.effect = Effect::Reversible;
    proposal.proposed_by = Actor::new(ActorKind::Model, "m");
    proposal.deciders = [ActorKind::Policy, ActorKind::Person].into();
    proposal.supersedes = vec![ProposalId(1)];
    check(
        Change::Staged(Box::new(proposal)),
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"staged":{"label":"edit a","source_tool":"edit","payload":7,"preview":{"text":"1 -> 2","diff":"-1\n+2\n"},"fingerprints":[{"subject":"a","state":{"digest":"sha256:1"}},{"subject":"b","state":"absent"}],"after":[{"subject":"a","state":{"digest":"sha256:2"}}],"call":{"node":"n4","call_id":"toolu_1"},"effect":"reversible","proposed_by":{"kind":"model","name":"m"},"deciders":["person","policy"],"supersedes":["p1"]}}}"#
        ]],
    );
}

#[test]
fn decisions() {
    check(
        Change::Decided {
            verdict: Verdict::Approve,
            by: Actor::new(ActorKind::Person, "anna"),
            reason: "fine".to_owned(),
            only: BTreeSet::new(),
            extra: None,
        },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"decided":{"verdict":"approve","by":{"kind":"person","name":"anna"},"reason":"fine"}}}"#
        ]],
    );
    check(
        Change::Decided {
            verdict: Verdict::Discard,
            by: Actor::new(ActorKind::Policy, ""),
            reason: String::new(),
            only: BTreeSet::new(),
            extra: None,
        },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"decided":{"verdict":"discard","by":{"kind":"policy"},"reason":""}}}"#
        ]],
    );
}

#[test]
fn attempts() {
    check(
        Change::Began { attempt: 1, leased: None, preimages: vec![] },
        expect![[r#"{"proposal":"p1","at":5,"change":{"began":{"attempt":1}}}"#]],
    );
    check(
        Change::Finished { attempt: 1, outcome: Outcome::Applied },
        expect![[r#"{"proposal":"p1","at":5,"change":{"finished":{"attempt":1,"outcome":"applied"}}}"#]],
    );
    check(
        Change::Finished { attempt: 2, outcome: Outcome::Failed { reason: "disk full".to_owned() } },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"finished":{"attempt":2,"outcome":{"failed":{"reason":"disk full"}}}}}"#
        ]],
    );
    check(
        Change::Recovered {
            attempt: 2,
            observation: Observation::Unclear,
            by: Actor::new(ActorKind::Harness, ""),
            fenced: false,
        },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"recovered":{"attempt":2,"observation":"unclear","by":{"kind":"harness"}}}}"#
        ]],
    );
}

#[test]
fn a_proposal_with_everything_that_came_later() {
    let mut proposal = Proposal::new("edit a", "edit", 7);
    proposal.expires_at = Some(9);
    proposal.divisible = true;
    proposal.undo_of = Some(ProposalId(1));
    proposal.details = Some(serde_json::json!({"key": [1.5, null]}));
    check(
        Change::Staged(Box::new(proposal)),
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"staged":{"label":"edit a","source_tool":"edit","payload":7,"preview":{"text":""},"effect":"irreversible","proposed_by":{"kind":"model"},"deciders":["person"],"expires_at":9,"divisible":true,"undo_of":"p1","details":{"key":[1.5,null]}}}}"#
        ]],
    );
}

#[test]
fn parts_and_what_is_handed_over() {
    check(
        Change::Decided {
            verdict: Verdict::Approve,
            by: Actor::new(ActorKind::Person, "anna"),
            reason: String::new(),
            only: BTreeSet::from(["b".to_owned(), "a".to_owned()]),
            extra: Some(serde_json::Map::from_iter([("n".to_owned(), 1.into())])),
        },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"decided":{"verdict":"approve","by":{"kind":"person","name":"anna"},"reason":"","only":["a","b"],"extra":{"n":1}}}}"#
        ]],
    );
}

#[test]
fn leases_time_and_questions() {
    let leased = Some(Lease { holder: "one".to_owned(), until: 30 });
    check(
        Change::Began { attempt: 1, leased, preimages: vec![Fingerprint::absent("a")] },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"began":{"attempt":1,"leased":{"holder":"one","until":30},"preimages":[{"subject":"a","state":"absent"}]}}}"#
        ]],
    );
    check(
        Change::Renewed { attempt: 1, until: 40 },
        expect![[r#"{"proposal":"p1","at":5,"change":{"renewed":{"attempt":1,"until":40}}}"#]],
    );
    let leased = Lease { holder: "two".to_owned(), until: 60 };
    check(
        Change::TakenOver { attempt: 2, leased, fenced: true },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"taken_over":{"attempt":2,"leased":{"holder":"two","until":60},"fenced":true}}}"#
        ]],
    );
    let by = Actor::new(ActorKind::Harness, "");
    check(
        Change::Recovered { attempt: 1, observation: Observation::Before, by: by.clone(), fenced: true },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"recovered":{"attempt":1,"observation":"before","by":{"kind":"harness"},"fenced":true}}}"#
        ]],
    );
    check(Change::Expired, expect![[r#"{"proposal":"p1","at":5,"change":"expired"}"#]]);
    check(
        Change::Cancelled { by, reason: "closed".to_owned() },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"cancelled":{"by":{"kind":"harness"},"reason":"closed"}}}"#
        ]],
    );
}

#[test]
fn a_tool_choice_queue() {
    let mut choices = ChoiceQueue::new(Policy::default());
    let mut wanted = Directive::sequence("look", vec![Choice::Tool("read".to_owned()), Choice::None]);
    (wanted.requeue, wanted.must_invoke) = (2, true);
    choices.push(wanted, Place::Last);
    choices.plan(&Scene::new(Wire::new(Forcing::Named), &["read"])).expect("nothing is in flight");
    let text = serde_json::to_string(&choices).expect("it prints");
    expect![[r#"{"policy":{"soft_first":{"patience":1,"turns":3}},"waiting":[{"number":1,"directive":{"label":"look","choices":["none"],"requeue":2,"must_invoke":true},"rejected":0}],"in_flight":{"label":"look","wanted":{"tool":"read"},"about":[],"invoked":false,"from":{"number":1,"directive":{"label":"look","choices":[],"requeue":2,"must_invoke":true},"rejected":0}},"last_resolved":null,"asked":{},"pushed":1}"#]].assert_eq(&text);
    assert_eq!(serde_json::from_str(&text).ok(), Some(choices));
    let least = serde_json::from_str::<ChoiceQueue>(r#"{"policy":{"at_once":{"turns":2}}}"#);
    assert_eq!(least.ok(), Some(ChoiceQueue::new(Policy::AtOnce { turns: 2 })));
}

#[test]
fn staleness_and_branches() {
    check(
        Change::WentStale {
            differing: vec![
                Difference {
                    subject: "a".to_owned(),
                    expected: SubjectState::Digest("sha256:1".to_owned()),
                    found: Some(SubjectState::Absent),
                },
                Difference { subject: "b".to_owned(), expected: SubjectState::Absent, found: None },
            ],
        },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"went_stale":{"differing":[{"subject":"a","expected":{"digest":"sha256:1"},"found":"absent"},{"subject":"b","expected":"absent"}]}}}"#
        ]],
    );
    check(Change::Rechecked, expect![[r#"{"proposal":"p1","at":5,"change":"rechecked"}"#]]);
    check(
        Change::Superseded { cause: Supersession::Replaced { by: ProposalId(2) } },
        expect![[r#"{"proposal":"p1","at":5,"change":{"superseded":{"cause":{"replaced":{"by":"p2"}}}}}"#]],
    );
    check(
        Change::Superseded { cause: Supersession::BranchLeft { by: "m3".to_owned() } },
        expect![[
            r#"{"proposal":"p1","at":5,"change":{"superseded":{"cause":{"branch_left":{"by":"m3"}}}}}"#
        ]],
    );
    check(Change::Restored, expect![[r#"{"proposal":"p1","at":5,"change":"restored"}"#]]);
}

#[test]
fn a_raw_payload_keeps_its_bytes() {
    let bytes = r#"{ "b":1.50,  "a": [ ] }"#;
    let payload = RawValue::from_string(bytes.to_owned()).expect("it is JSON");
    let event = Queue::new().stage(Proposal::new("edit", "edit", payload), 1).expect("it makes sense");
    let text = serde_json::to_string(&event).expect("it prints");
    let read: Event<Box<RawValue>> = serde_json::from_str(&text).expect("it reads");
    let Change::Staged(proposal) = read.change else { unreachable!("it was staged") };
    assert_eq!(proposal.payload.get(), bytes);
}

#[test]
fn an_entry_can_be_listed() {
    let mut queue = Queue::new();
    let staged = queue.stage(Proposal::new("edit a", "edit", 7), 1).expect("it makes sense");
    queue.record(staged).expect("it is legal");
    let lines: Vec<String> =
        queue.iter().map(|entry| serde_json::to_string(entry).expect("it prints")).collect();
    expect![[r#"{"id":"p1","staged_at":1,"changed_at":1,"state":"proposed","decision":null,"attempts":0,"differing":[],"trouble":null,"superseded":null,"proposal":{"label":"edit a","source_tool":"edit","payload":7,"preview":{"text":""},"effect":"irreversible","proposed_by":{"kind":"model"},"deciders":["person"]}}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_field_from_another_time_is_skipped_and_a_state_from_another_time_is_not() {
    let read = |text: &str| serde_json::from_str::<Event<u8>>(text).is_ok();
    assert!(read(r#"{"proposal":"p1","at":1,"change":{"began":{"attempt":1,"lease":"x"}}}"#));
    assert!(!read(r#"{"proposal":"p1","at":1,"change":{"forgotten":{}}}"#));
    assert!(!read(r#"{"proposal":"p1","at":1,"change":{}}"#));
}

#[track_caller]
fn check(change: Change<u8>, expected: Expect) {
    expected.assert_eq(&read_back(change));
}

/// Prints, reads back, compares.
#[track_caller]
fn read_back(change: Change<u8>) -> String {
    let event = Event { proposal: ProposalId(1), at: 5, change };
    let text = serde_json::to_string(&event).expect("it prints");
    assert_eq!(serde_json::from_str::<Event<u8>>(&text).ok(), Some(event));
    text
}
