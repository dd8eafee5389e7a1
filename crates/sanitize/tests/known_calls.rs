//! What is known of a call without a result is what the model is told (row A25).

use expect_test::expect;
use trunkline_message_tree::{NodeId, notation};
use trunkline_sanitize::{CallFact, Fate, RepairKind, RequestFacts, WireRules, sanitize};

use crate::check::check_with;

#[test]
fn a25_a_result_says_what_is_known_and_no_more() {
    let fates = [
        Fate::Unknown,
        Fate::NotStarted,
        Fate::StartedOutcomeUnknown,
        Fate::Denied { reason: None },
        Fate::Denied { reason: Some("not in this folder".into()) },
        Fate::Skipped { reason: Some("the run was cancelled".into()) },
        Fate::Superseded { by: "a revert to n3".into() },
        Fate::AwaitingApproval,
    ];
    let texts: Vec<String> = fates.iter().map(|fate| fate.text() + "\n").collect();
    expect![[r#"
        tool call interrupted; no result was recorded
        tool call was never started; it had no effect
        tool call was started and then interrupted; whether it took effect is not known
        tool call was denied and did not run
        tool call was denied and did not run: not in this folder
        tool call was skipped and did not run: the run was cancelled
        tool call was superseded by a revert to n3 and did not run
        tool call is waiting for approval and has not run yet
    "#]]
    .assert_eq(&texts.concat());
}

#[test]
fn a25_each_call_is_told_its_own() {
    let mut facts = RequestFacts::default();
    facts.calls.push(CallFact::new("c2", Fate::NotStarted));
    facts.calls.push(CallFact::new("c1", Fate::StartedOutcomeUnknown));
    check_with(
        &WireRules::anthropic(),
        &facts,
        "user: hi
         assistant:
         + call c1 run {}
         + call c2 run {}
         + call c3 run {}",
        expect![[r#"
            ?? message 1: the list ends with an assistant message
            ?? message 1 block 0: call "c1" has no result next to it
            ?? message 1 block 1: call "c2" has no result next to it
            ?? message 1 block 2: call "c3" has no result next to it
            user: hi
            assistant:
            + call c1 run {}
            + call c2 run {}
            + call c3 run {}
            result c1!: tool call was started and then interrupted; whether it took effect is not known
            + author harness
            result c2!: tool call was never started; it had no effect
            + author harness
            result c3!: tool call interrupted; no result was recorded
            + author harness
            -- answered call c1: no result
            -- answered call c2: no result
            -- answered call c3: no result
        "#]],
    );
}

#[test]
fn what_was_said_is_repeated_to_the_letter() {
    let mut facts = RequestFacts::default();
    let mut fact = CallFact::new("c1", Fate::Denied { reason: None });
    fact.said = Some("tool call is waiting for approval and has not run yet".into());
    facts.calls.push(fact);
    check_with(
        &WireRules::anthropic(),
        &facts,
        "user: hi
         assistant:
         + call c1 run {}
         user: well?",
        expect![[r#"
            ?? message 1 block 0: call "c1" has no result next to it
            user: hi
            assistant:
            + call c1 run {}
            result c1!: tool call is waiting for approval and has not run yet
            + author harness
            user: well?
            -- answered call c1: no result
        "#]],
    );
}

#[test]
fn a_repair_carries_what_must_be_repeated() {
    let list = notation::parse(
        "user: hi
         assistant:
         + call c1 run {}",
    )
    .expect("the input of a test is notation");
    let sanitized = sanitize(&list, &WireRules::anthropic(), &RequestFacts::default());
    let [repair] = &sanitized.repairs[..] else { panic!("{:?}", sanitized.repairs) };
    let said = "tool call interrupted; no result was recorded".to_owned();
    assert_eq!(repair.kind, RepairKind::Answered { call_id: "c1".into(), fate: Fate::Unknown, said });
}

#[test]
fn a_fact_may_name_the_node_and_the_position() {
    let mut list = notation::parse(
        r#"user: hi
         assistant:
         + call c1 run {"n":1}
         + call c1 run {"n":2}
         user: and again
         assistant:
         + call c1 run {"n":3}"#,
    )
    .expect("the input of a test is notation");
    for (index, message) in list.iter_mut().enumerate() {
        message.node = Some(NodeId::new(index as u32));
    }
    let mut facts = RequestFacts::default();
    let mut second = CallFact::new("c1", Fate::NotStarted).at(NodeId::new(1));
    second.position = Some(1);
    facts.calls = vec![CallFact::new("c1", Fate::AwaitingApproval).at(NodeId::new(3)), second];
    let sanitized = sanitize(&list, &WireRules::openai_chat(), &facts);
    let said = |repair: &trunkline_sanitize::Repair| match &repair.kind {
        RepairKind::Answered { fate, .. } => Some(fate.clone()),
        _ => None,
    };
    let fates: Vec<Fate> = sanitized.repairs.iter().filter_map(said).collect();
    assert_eq!(fates, [Fate::Unknown, Fate::NotStarted, Fate::AwaitingApproval]);
}
