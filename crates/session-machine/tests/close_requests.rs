//! A model asks for the end of its run: a person decides, or a rule that names the tool.

use expect_test::expect;

use crate::play::check;

/// A call that asks for the end of the run.
macro_rules! ask {
    ($decision:literal, $call:literal) => {
        concat!("request_decision ", $call, r#" {"decision":""#, $decision, r#"","words":"because of this"}"#)
    };
}

pub(crate) use ask;

#[test]
fn a_checkpoint_that_a_person_approves_ends_the_run_and_the_model_has_decided_it() {
    check(
        concat!(
            "closes\ntask Clean up\n",
            r#"model: request_decision c1 {"decision":"checkpoint","words":"half is done"}; shell c2 {"command":"make"}"#,
            "\nmodel: done\n> do it\nresume\napprove p1\nresume\nshow verdict\nshow decisions\nresume\nshow sent"
        ),
        expect![[r#"
            task Clean up
                + decision/intent
                + decision/task
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: request_decision c1 shell c2
              ask to checkpoint c1
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/close_approved
                + runtime/call_finished
            resume
              close as asked
                + n3 under n2 tool: c1: A person approved it: the run is put down here.
                + n4 under n3 harness: c2: not run: the run was ended first, as you asked
                + decision/decided checkpoint
                + decision/run
            show verdict
                checkpoint: half is done
                by made-up/parrot
                approved by human
                evidence 0
            show decisions
                p1 applied, decided by person:
            resume
              open a run
                + decision/opened
                + decision/run
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c1 request_decision {"decision":"checkpoint","words":"half is done"}
                + call c2 shell {"command":"make"}
                + origin made-up parrot
                + stop end_turn
                result c1: [n3]
                ++ text: A person approved it: the run is put down here.
                result c2!: [n4]
                ++ text: not run: the run was ended first, as you asked
                + author harness
        "#]],
    );
}

#[test]
fn a_retry_goes_on_at_once_and_its_words_are_quoted() {
    check(
        concat!(
            "closes\n",
            r#"model: read c0 {"path":"a"}; request_decision c1 {"decision":"retry","words":"use sed\ninstead"}"#,
            "\nmodel: request_decision c2 {\"decision\":\"abandon\",\"words\":\"it cannot be done\"}\n",
            "> do it\nreword p1 use awk\nresume\nshow sent\ndiscard p2 go on\nresume\nshow verdict\nshow family"
        ),
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c0 request_decision c1
              run read c0
                + runtime/call_started
                + runtime/call_finished
              ask to retry c1
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            reword p1 use awk
                + resolve/event p1 approved
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/close_approved
                + runtime/call_finished
            resume
              close as asked
                + n3 under n2 tool: c0: done
                + n4 under n3 tool: c1: A person approved it in other words, which count: another run tries again. /  / use awk
                + n5 under n4 harness: Try again from here: you asked for it, and a person approved that. Their words on what to do otherwise: / > use awk
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
              request
                + n6 under n5 model: request_decision c2
              ask to abandon c2
                + resolve/event p2 pending
                + resolve/gated
              ask about p2
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call c0 read {"path":"a"}
                + call c1 request_decision {"decision":"retry","words":"use sed\\ninstead"}
                + origin made-up parrot
                + stop end_turn
                result c0: [n3]
                ++ text: done
                result c1: [n4]
                ++ text: A person approved it in other words, which count: another run tries again.\n\nuse awk
                harness: [n5]
                + text: Try again from here: you asked for it, and a person approved that. Their words on what to do otherwise:\n> use awk
            discard p2 go on
                + resolve/event p2 discarded
            resume
              answer c2 "refused: a person does not want that: go on\nThe run goes on: work on, or say in words how it stands."
                + runtime/call_finished
              settle
                + n7 under n6 harness: c2: refused: a person does not want that: go on / The run goes on: work on, or say in words how it stands.
              request
                the model has no more answers
            show verdict
                retry: use awk
                by made-up/parrot
                approved by human
                evidence 0
            show family
                  3 run 1: goal=do it version=1
                  3 run_event 1: run=run 1 state=created version=1
                  5 provenance 1: model=parrot provider=made-up run=run 1 version=1
                 15 tool_invocation 1: args={"path":"a"} artifacts=[] call=c0 ended=2023-11-14T22:13:20.005Z reads=[] run=run 1 started=2023-11-14T22:13:20.004Z status=ok summary=done tool=read version=1 writes=[]
                 16 tool_invocation 2: args={"decision":"retry","words":"use sed\ninstead"} artifacts=[] call=c1 reads=[] run=run 1 status=ok summary=A person approved it in other words, which count: another run tries again. /  / use awk tool=request_decision version=1 writes=[]
                 18 decision 1: considered=[] evidence=[] run=run 1 verdict={"kind":"retry","reason":"use awk"} version=1
                 18 run_event 2: reason=use awk run=run 1 state=failed version=1
                 20 run 2: goal=do it retry_of=run 1 version=1
                 20 run_event 3: run=run 2 state=created version=1
                 22 provenance 2: model=parrot provider=made-up run=run 2 version=1
                 27 tool_invocation 3: args={"decision":"abandon","words":"it cannot be done"} artifacts=[] call=c2 reads=[] run=run 2 status=denied summary=refused: a person does not want that: go on / The run goes on: work on, or say in words how it stands. tool=request_decision version=1 writes=[]
        "#]],
    );
}

#[test]
fn neither_a_policy_nor_a_rule_for_all_nor_the_model_approves_it() {
    for approval in ["always", "model"] {
        check(
            &format!(
                "{}{approval}\n{}",
                "approval ",
                concat!(
                    "closes\nhush\nrule allow tool *\nrule allow tool request_*\ngive allow\nrule ask model tool *\n",
                    "model: ",
                    ask!("abandon", "c1"),
                    r#"; resolve c2 {"action":"apply","reason":"r","id":"p1"}"#,
                    "\n> do it\nresume\nclose abandon it is over\nshow decisions\nshow verdict\nshow rules"
                )
            ),
            expect![[r#"
                show decisions
                    p1 proposed
                show verdict
                show rules
                    r1 allow used 0
                    r2 allow used 0
                    r3 allow used 0
                    r4 ask used 0
            "#]],
        );
    }
}

#[test]
fn a_rule_that_names_the_tool_decides_and_stands_in_the_verdict() {
    check(
        concat!(
            "closes\nrule allow tool request_decision\n",
            "model: ",
            ask!("retry", "c1"),
            "\nmodel: ",
            ask!("checkpoint", "c2"),
            "\n> do it\nshow decisions\nshow verdict\nshow rules"
        ),
        expect![[r#"
            rule allow tool request_decision
                + resolve/rule
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: request_decision c1
              ask to retry c1
                + resolve/event p1 pending
                + resolve/gated
              approve p1
                + resolve/event p1 approved
                + resolve/rule
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/close_approved
                + runtime/call_finished
              close as asked
                + n3 under n2 tool: c1: A rule of the person you work for approved it: another run tries again.
                + n4 under n3 harness: Try again from here: you asked for it, and a rule of the person you work for allows that. Your words on what to do otherwise: / > because of this
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
              request
                + n5 under n4 model: request_decision c2
              ask to checkpoint c2
                + resolve/event p2 pending
                + resolve/gated
              approve p2
                + resolve/event p2 approved
                + resolve/rule
                + resolve/event p2 applying
                + resolve/event p2 applied
                + resolve/close_approved
                + runtime/call_finished
              close as asked
                + n6 under n5 tool: c2: A rule of the person you work for approved it: the run is put down here.
                + decision/decided checkpoint
                + decision/run
            show decisions
                p1 applied, decided by policy r1: allowed by r1
                p2 applied, decided by policy r1: allowed by r1
            show verdict
                checkpoint: because of this
                by made-up/parrot
                approved by system
                evidence 0
            show rules
                r1 allow used 2
        "#]],
    );
}

#[test]
fn a_rule_that_forbids_it_or_asks_about_it_counts_as_well() {
    check(
        concat!(
            "closes\nhush\nrule deny tool request_decision because no\n",
            "model: ",
            ask!("abandon", "c1"),
            "\nmodel: done\n> do it\nshow results\nshow decisions\nshow verdict"
        ),
        expect![[r#"
            show results
                refused: forbidden by r1 (no) / The run goes on: work on, or say in words how it stands.
            show decisions
                p1 discarded, decided by policy r1: forbidden by r1 (no)
            show verdict
                other: answered
                by made-up/parrot
                because done
                evidence 0
        "#]],
    );
    check(
        concat!(
            "closes\napproval always\nhush\nrule allow tool request_decision\nrule ask model tool request_decision\n",
            "model: ",
            ask!("abandon", "c1"),
            "\n> do it\nshow decisions\napprove p1\nshow decisions\nresume\nshow verdict\nshow rules"
        ),
        expect![[r#"
            show decisions
                p1 proposed
            show decisions
                p1 applied, decided by person:
            show verdict
                abandon: because of this
                by made-up/parrot
                approved by human
                evidence 0
            show rules
                r1 allow used 0
                r2 ask used 0
        "#]],
    );
}

#[test]
fn what_was_called_ahead_comes_first_and_what_is_not_settled_stands_in_its_way() {
    check(
        concat!(
            "closes\nfolder\npropose c1 a = new\nmodel: edit c1 {\"path\":\"a\"}; shell c2 {\"command\":\"make\"}; ",
            ask!("checkpoint", "c3"),
            "; read c4 {\"path\":\"a\"}\nmodel: done\n> do it\nhush\napprove p1\nresume\napprove p2\ntell\nresume\napprove p3\nresume\nshow results\nshow verdict\nshow decisions"
        ),
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 shell c2 request_decision c3 read c4
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              ask about p1
            resume
              run shell c2
                + runtime/call_started
                + resolve/event p2 applying
                + runtime/call_finished
                + resolve/event p2 applied
              ask to checkpoint c3
                + resolve/event p3 pending
                + resolve/gated
              ask about p3
            approve p3
                + resolve/event p3 approved
                + resolve/event p3 applying
                + resolve/event p3 applied
                + resolve/close_approved
                + runtime/call_finished
            resume
              close as asked
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 tool: c2: done
                + n5 under n4 tool: c3: A person approved it: the run is put down here.
                + n6 under n5 harness: c4: not run: the run was ended first, as you asked
                + n7 under n6 harness: A person approved p1, and it was applied. written
                + resolve/told
                + decision/patch_set
                + decision/left
                + decision/decided checkpoint
                + decision/run
            show results
                done / Staged as p1. Nothing is written before it is approved; you will be told.
                done
                A person approved it: the run is put down here.
                not run: the run was ended first, as you asked
            show verdict
                checkpoint: because of this
                by made-up/parrot
                approved by human
                evidence 0
            show decisions
                p1 applied, decided by person:
                p2 applied, decided by person:
                p3 applied, decided by person:
        "#]],
    );
    check(
        concat!(
            "closes\napproval model\nhush\npropose c1 a = new\nmodel: edit c1 {\"path\":\"a\"}; ",
            ask!("checkpoint", "c3"),
            "\nmodel: ",
            ask!("checkpoint", "c4"),
            "\n> do it\nshow results\nshow decisions"
        ),
        expect![[r#"
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                not asked: p1 is unsettled in this run: decide on what is proposed, or discard it, first
                not asked: p1 is unsettled in this run: decide on what is proposed, or discard it, first
            show decisions
                p1 proposed
        "#]],
    );
}

#[test]
fn one_that_cannot_be_read_or_comes_second_is_answered_at_once() {
    check(
        concat!(
            "closes\nhush\n",
            r#"model: request_decision c1 {}; request_decision c2 {"decision":"commit","words":"w"}; "#,
            r#"request_decision c3 {"decision":"retry","words":" "}; request_decision c4 {"decision":"retry","words":"w","run":"x"}; "#,
            r#"request_decision c5 {"decision":"retry"}; "#,
            ask!("retry", "c6"),
            "; ",
            ask!("abandon", "c7"),
            "\n> do it\ndiscard p1 no\nresume\nshow results\nshow decisions"
        ),
        expect![[r#"
            show results
                not asked: `decision` is one of checkpoint, retry, abandon
                not asked: `decision` is one of checkpoint, retry, abandon
                not asked: `words` says what to do otherwise
                not asked: there is no argument "run"; there are decision and words
                not asked: `words` says what to do otherwise
                refused: a person does not want that: no / The run goes on: work on, or say in words how it stands.
                not asked: another request of this turn comes first; a run has one end
            show decisions
                p1 discarded, decided by person: no
        "#]],
    );
}
