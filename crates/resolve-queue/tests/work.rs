//! What has to happen next to what is not settled, and who decides on what waits.

use std::collections::BTreeSet;

use expect_test::expect;
use proptest::prelude::*;
use trunkline_resolve_queue::{
    ActorKind, Approval, Authority, CUSTOM_TOOL, Effect, Entry, FAILED_ATTEMPTS, Judgement, NextDecision,
    Proposal, RuleVerdict, Rules, State, Work, next_work,
};

use crate::rules::rule;
use crate::script::check;

#[test]
fn without_a_rule_the_policy_says_who_decides() {
    check(
        "stage a=2 for person,policy,model
         work person
         work model
         work always
         work model call
         stage b=2
         work always",
        expect![[r#"
            stage a=2 for person,policy,model
                p1 is proposed
            work person
                ask about [p1]
            work model
                nothing
            work always
                approve p1
            work model call
                approve p1
            stage b=2
                p2 is proposed
            work always
                approve p1
        "#]],
    );
}

#[test]
fn what_was_staged_for_persons_alone_is_decided_by_one_whatever_the_policy_is() {
    check(
        "stage a=2
         work model
         work always
         rule allow path a
         work always
         rule ask any by model
         work person tool",
        expect![[r#"
            stage a=2
                p1 is proposed
            work model
                ask about [p1]
            work always
                ask about [p1]
            work always
                ask about [p1]
            work person tool
                ask about [p1]
        "#]],
    );
}

#[test]
fn rules_come_before_the_policy() {
    check(
        "stage a=2 for person,policy,model
         rule ask path a by model
         work person
         work person tool
         work always tool
         rule allow tool edit
         work person
         rule deny path a
         work always",
        expect![[r#"
            stage a=2 for person,policy,model
                p1 is proposed
            work person
                ask about [p1]
            work person tool
                nothing
            work always tool
                nothing
            work person
                ask about [p1]
            work always
                forbid p1
        "#]],
    );
}

#[test]
fn what_rules_allow_is_tried_once_by_their_word() {
    check(
        "rule allow tool edit
         stage a=2 for person,policy,model
         work person
         approve p1 policy
         work person
         begin p1
         work person
         finish p1-1 failed: disk full
         work person
         work always
         work model
         approve p1
         begin p1
         finish p1-2 failed: disk full
         approve p1
         begin p1
         finish p1-3 failed: disk full
         work model
         discard p1
         work model",
        expect![[r#"
            stage a=2 for person,policy,model
                p1 is proposed
            work person
                approve p1
            approve p1 policy
                p1 is approved
            work person
                apply p1
            begin p1
                p1 is applying, key p1-1
            work person
                look up p1
            finish p1-1 failed: disk full
                p1 is failed
            work person
                ask about [p1]
            work always
                give p1 up
            work model
                nothing
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-2
            finish p1-2 failed: disk full
                p1 is failed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-3
            finish p1-3 failed: disk full
                p1 is failed
            work model
                give p1 up
            discard p1
                p1 is discarded
            work model
                nothing
        "#]],
    );
}

#[test]
fn the_oldest_for_which_something_can_be_done_comes_first_and_persons_are_asked_together() {
    check(
        "file a 1
         stage a=2
         stage b=2
         stage c=2
         work person
         approve p3
         work person
         begin p3
         work person
         finish p3-1 unknown: no answer
         work person
         recover p3
         work person
         supersede p2 left
         restore p2
         work person
         supersede p2 left
         discard p1
         work person",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            stage c=2
                p3 is proposed
            work person
                ask about [p1 p2 p3]
            approve p3
                p3 is approved
            work person
                apply p3
            begin p3
                p3 is applying, key p3-1
            work person
                look up p3
            finish p3-1 unknown: no answer
                p3 is unknown
            work person
                look up p3
            recover p3
                Before: p3 is failed
            work person
                ask about [p1 p2 p3]
            supersede p2 left
                p2 is superseded
            restore p2
                p2 is stale
            work person
                check p2
            supersede p2 left
                p2 is superseded
            discard p1
                p1 is discarded
            work person
                ask about [p3]
        "#]],
    );
}

#[test]
fn a_tool_cannot_do_by_the_name_of_another_what_it_may_not_do() {
    let judged = |source: &str, staged_by: Option<&str>, rules: &[&str]| {
        let mut all = Rules::new();
        for text in rules {
            let event = all.add(rule(text), 1).expect("a person gives it");
            all.record(event).expect("it is legal");
        }
        let mut proposal = Proposal::new("edit a", source, ());
        proposal.effect = Effect::Reversible;
        proposal.staged_by = staged_by.map(str::to_owned);
        all.judge_proposal(&proposal, &["a"], 1).verdict
    };
    let rules = ["allow tool edit", "deny tool fetch"];
    assert_eq!(judged("edit", None, &rules), RuleVerdict::Allow);
    assert_eq!(judged("edit", Some("fetch"), &rules), RuleVerdict::Deny);
    assert_eq!(judged("fetch", Some("edit"), &rules), RuleVerdict::Deny);
    // A rule for one of two does not speak for the other.
    assert_eq!(judged("edit", Some("patch"), &rules), RuleVerdict::Ask);
    // A source that names nobody is whoever staged it.
    assert_eq!(judged(CUSTOM_TOOL, Some("edit"), &rules), RuleVerdict::Allow);
    assert_eq!(judged(CUSTOM_TOOL, Some("patch"), &rules), RuleVerdict::Ask);
}

fn judgement() -> impl Strategy<Value = Judgement> {
    let texts = vec!["allow any", "deny any", "ask any", "ask any by model", ""];
    prop::sample::select(texts).prop_map(|text| {
        let mut rules = Rules::new();
        if !text.is_empty() {
            let event = rules.add(rule(text), 1).expect("a person gives it");
            rules.record(event).expect("it is legal");
        }
        rules.judge_proposal(&Proposal::new("edit", "edit", ()), &["a"], 1)
    })
}

fn entry() -> impl Strategy<Value = Entry<()>> {
    let kinds = vec![ActorKind::Person, ActorKind::Model, ActorKind::Policy];
    let states = vec![State::Proposed, State::Failed];
    let deciders = prop::sample::subsequence(kinds, 1..=3);
    (deciders, prop::sample::select(states), 0..5_u32).prop_map(|(deciders, state, begun)| {
        let mut proposal = Proposal::new("edit", "edit", ());
        proposal.deciders = deciders.into_iter().collect::<BTreeSet<_>>();
        let mut entry = Entry::in_attempt(proposal);
        (entry.state, entry.begun) = (state, begun);
        entry
    })
}

fn authority() -> impl Strategy<Value = Authority> {
    let policies = vec![Approval::Person, Approval::Model, Approval::Always];
    (prop::sample::select(policies), any::<bool>(), any::<bool>()).prop_map(|(approval, tool, call)| {
        let mut authority = Authority::new(approval);
        (authority.model_has_tool, authority.call_waits) = (tool, call);
        authority
    })
}

proptest! {
    #[test]
    fn what_forbids_wins_over_everything(entry in entry(), judgement in judgement(), authority in authority()) {
        let next = entry.next_decision(&judgement, authority);
        prop_assert_eq!(next == NextDecision::Forbid, judgement.verdict == RuleVerdict::Deny);
    }

    #[test]
    fn nothing_is_approved_that_was_staged_for_others(
        entry in entry(), judgement in judgement(), authority in authority()
    ) {
        let next = entry.next_decision(&judgement, authority);
        prop_assert!(next != NextDecision::Approve || entry.may_approve(ActorKind::Policy));
        prop_assert!(next != NextDecision::Model || entry.may_approve(ActorKind::Model));
        // Nobody is asked who cannot answer.
        prop_assert!(next != NextDecision::Model || (authority.model_has_tool && !authority.call_waits));
    }

    #[test]
    fn what_failed_is_never_approved_again_and_given_up_in_the_end(
        entry in entry(), judgement in judgement(), authority in authority()
    ) {
        let next = entry.next_decision(&judgement, authority);
        let failed = entry.state == State::Failed;
        // Of a command the policy of the model says the same before and after a failure.
        let command = authority.approval == Approval::Model && authority.call_waits;
        prop_assert!(!failed || command || next != NextDecision::Approve);
        let often = failed && entry.begun >= FAILED_ATTEMPTS && judgement.verdict != RuleVerdict::Deny;
        prop_assert!(!often || next == NextDecision::GiveUp);
    }

    #[test]
    fn a_question_to_a_person_holds_back_no_other_work(entry in entry()) {
        let mut second = entry.clone();
        second.state = State::Approved;
        let work = next_work([&entry, &second], |_| NextDecision::Person);
        prop_assert_eq!(work, Some(Work::Apply(second.id)));
        prop_assert_eq!(next_work([&entry], |_| NextDecision::Person), Some(Work::Ask(vec![entry.id])));
    }
}
