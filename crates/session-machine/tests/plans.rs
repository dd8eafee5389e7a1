//! Runs that need a plan: nothing but reading is done before a person approves one.

use expect_test::expect;

use crate::play::check;

/// A call that proposes a plan of one step.
macro_rules! plan {
    ($call:literal) => {
        concat!(
            "propose_plan ",
            $call,
            r#" {"title":"Greet","steps":[{"text":"write a","done_when":"it is there"}]}"#
        )
    };
}

#[test]
fn what_may_change_something_is_refused_until_a_plan_is_approved_and_then_all_is_as_without() {
    check(
        concat!(
            "plans\n",
            r#"model: read c1 {"path":"a"}; edit c2 {"path":"a"}; shell c3 {"command":"make"}"#,
            "\npropose c2 a = new\n",
            "model: ",
            plan!("c4"),
            "\n",
            r#"model: edit c2 {"path":"a"}; shell c6 {"command":"make"}"#,
            "\n> do it\nresume\napprove p1\nresume\nshow results\nshow plans"
        ),
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
                + resolve/plan_mode
              request
                + n2 under n1 model: read c1 edit c2 shell c3
              answer c2 "not run: a plan has to be approved first, and edit may change something. Look with tools that only read, and propose a plan with `propose_plan`.", c3 "not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`."
                + runtime/call_finished
                + runtime/call_finished
              run read c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 harness: c2: not run: a plan has to be approved first, and edit may change something. Look with tools that only read, and propose a plan with `propose_plan`.
                + n5 under n4 harness: c3: not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
              request
                + n6 under n5 model: propose_plan c4
              propose c4 Greet
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/plan_approved
                + runtime/call_finished
            resume
              settle
                + n7 under n6 tool: c4: A person approved the plan as you proposed it. / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
              request
                + n8 under n7 model: edit c2 shell c6
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
              ask about p2
            show results
                done
                not run: a plan has to be approved first, and edit may change something. Look with tools that only read, and propose a plan with `propose_plan`.
                not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
                A person approved the plan as you proposed it. / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
            show plans
                off
                p1 applied 2: Greet [3: write a until it is there]
        "#]],
    );
}

#[test]
fn a_plan_that_is_refused_is_proposed_again_and_the_edited_text_is_told() {
    check(
        concat!(
            "plans\n",
            "model: ",
            plan!("c1"),
            "\n",
            "model: ",
            plan!("c2"),
            "\n",
            "model: done\n",
            "> do it\ndiscard p1 greet in French\nresume\n",
            "edit p2 Greet in French\\n1. write a\\ndone when: it is there\\n2. read it\n",
            "resume\nshow results\nshow plans\nshow decisions"
        ),
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
                + resolve/plan_mode
              request
                + n2 under n1 model: propose_plan c1
              propose c1 Greet
                + resolve/event p1 pending
                + resolve/gated
              ask about p1
            discard p1 greet in French
                + resolve/event p1 discarded
            resume
              answer c1 "refused: a person does not want this plan: greet in French\nNothing may be changed yet: look again, and propose another plan with `propose_plan`."
                + runtime/call_finished
              settle
                + n3 under n2 harness: c1: refused: a person does not want this plan: greet in French / Nothing may be changed yet: look again, and propose another plan with `propose_plan`.
              request
                + n4 under n3 model: propose_plan c2
              propose c2 Greet
                + resolve/event p2 pending
                + resolve/gated
              ask about p2
            edit p2 Greet in French\n1. write a\ndone when: it is there\n2. read it
                + resolve/event p2 approved
                + resolve/event p2 applying
                + resolve/event p2 applied
                + resolve/plan_approved
                + runtime/call_finished
            resume
              settle
                + n5 under n4 tool: c2: A person approved the plan and changed it: this text counts, and not the one that you proposed. /  / Greet in French /  / 1. write a /    done when: it is there / 2. read it /  / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show results
                refused: a person does not want this plan: greet in French / Nothing may be changed yet: look again, and propose another plan with `propose_plan`.
                A person approved the plan and changed it: this text counts, and not the one that you proposed. /  / Greet in French /  / 1. write a /    done when: it is there / 2. read it /  / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
            show plans
                off
                p1 discarded 2: Greet [3: write a until it is there]
                p2 applied 4: Greet [5: write a until it is there]
                    edited 6 instead of 4: Greet in French [5: write a until it is there; 8: read it]
            show decisions
                p1 discarded, decided by person: greet in French
                p2 applied, decided by person:
        "#]],
    );
}

#[test]
fn neither_a_policy_nor_a_rule_nor_the_model_approves_a_plan() {
    check(
        concat!(
            "approval always\nplans\nhush\n",
            r#"model: shell c1 {"command":"make"}; "#,
            plan!("c2"),
            r#"; resolve c3 {"action":"apply","reason":"I like it","id":"p1"}"#,
            "\n> do it\ngive allow tool propose_plan\ngive deny tool *\nresume\n",
            "approval model\nresume\nshow decisions\napprove p1\nresume\nshow decisions\nshow results"
        ),
        expect![[r#"
            show decisions
                p1 proposed
            show decisions
                p1 applied, decided by person:
            show results
                not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
                A person approved the plan as you proposed it. / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
                not run: there is no tool "resolve"; there are: edit, read, shell
        "#]],
    );
}

#[test]
fn an_approval_does_not_hold_on_another_branch() {
    check(
        concat!(
            "plans\nhush\nmodel: ",
            plan!("c1"),
            "\n",
            r#"model: shell c2 {"command":"make"}"#,
            "\n> do it\napprove p1\nresume\nshow plans\nback n1 another way\nshow plans\n",
            r#"model: shell c3 {"command":"make"}"#,
            "\nmodel: done\ntell\nresume\nhush\nundo\nshow plans"
        ),
        expect![[r#"
            show plans
                off
                p1 applied 2: Greet [3: write a until it is there]
            show plans
                on
                p1 applied 2: Greet [3: write a until it is there]
            resume
              request
                + n6 under n1 model: shell c3
              answer c3 "not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`."
                + runtime/call_finished
              settle
                + n7 under n6 harness: c3: not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
              request
                + n8 under n7 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show plans
                off
                p1 applied 2: Greet [3: write a until it is there]
        "#]],
    );
}

#[test]
fn a_model_that_goes_back_before_its_plan_needs_another_one() {
    check(
        concat!(
            "approval always\nreverts\nplans\nhush\nmodel: ",
            plan!("c1"),
            "\n> do it\napprove p1\n",
            r#"model: revert_to_state r1 {"category":"failure","step":"n1","lesson":"no"}"#,
            "\n",
            r#"model: shell c3 {"command":"make"}"#,
            "\nmodel: done\nresume\nshow results\nshow plans"
        ),
        expect![[r#"
            show results
                not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
            show plans
                on
                p1 applied 2: Greet [3: write a until it is there]
        "#]],
    );
}

#[test]
fn what_goes_on_without_the_demand_is_held_to_it_all_the_same() {
    check(
        concat!(
            "plans\nhush\nmodel: words alone\n> look\nplans off\napproval always\n",
            r#"model: shell c1 {"command":"make"}"#,
            "\nmodel: done\ntell\n> and now do it\nshow tools"
        ),
        expect![[r#"
            > and now do it
                + n3 under n2 person: and now do it
                + decision/opened
                + decision/run
              request
                + n4 under n3 model: shell c1
              answer c1 "not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`."
                + runtime/call_finished
              settle
                + n5 under n4 harness: c1: not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
              request
                + n6 under n5 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show tools
                edit, read, shell, propose_plan
        "#]],
    );
}

#[test]
fn a_demand_that_comes_in_the_middle_stops_a_command_that_waits_and_an_edit_that_a_policy_would_apply() {
    check(
        concat!(
            r#"model: edit c1 {"path":"a"}; shell c2 {"command":"make"}"#,
            "\npropose c1 a = new\nmodel: done\nhush\n> do it\nplans\napproval always\ntell\nresume\nshow decisions\nshow files"
        ),
        expect![[r#"
            resume
              ask for a plan
                + resolve/plan_mode
              answer c2 "not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`."
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before it is approved; you will be told.
                + n4 under n3 harness: c2: not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
              ask about p1
            show decisions
                p1 proposed
            show files
        "#]],
    );
}

#[test]
fn what_a_rule_has_approved_before_a_plan_was_asked_for_waits_for_a_person_again() {
    check(
        concat!(
            r#"model: edit c1 {"path":"a"}"#,
            "\npropose c1 a = new\ngive allow tool edit\nhush\nkill apply\n> do it\nplans\nmodel: done\ntell\n",
            "> go on\nresume\napprove p1\nresume\nshow decisions\nshow files"
        ),
        expect![[r#"
            give allow tool edit
                + resolve/rule
            > go on
                + n4 under n3 person: go on
                + resolve/plan_mode
              apply p1
                + resolve/event p1 superseded
                + resolve/event p1 stale
                + n5 under n4 harness: p1 was not applied: a plan has to be approved first, and no person has approved p1. It waits for a person to decide on it.
              check p1
                + resolve/event p1 pending
              ask about p1
            resume
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n6 under n5 harness: A person approved p1, and it was applied. written
              request
                + n7 under n6 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person:
            show files
                a = new
        "#]],
    );
}

#[test]
fn what_a_policy_or_the_model_has_approved_before_a_plan_was_asked_for_waits_for_a_person_again() {
    // Whether the apply had not begun, was cut off before it wrote, or was about to begin for a call that is open.
    check(
        concat!(
            "approval always\n",
            r#"model: edit c1 {"path":"a"}"#,
            "\npropose c1 a = new\nhush\nkill apply\n> do it\ncrash p1\nplans\ntell\nresume\nshow decisions\nshow files"
        ),
        expect![[r#"
            resume
              ask for a plan
                + resolve/plan_mode
                + resolve/event p1 approved
              apply p1
                + resolve/event p1 superseded
                + resolve/event p1 stale
                + n4 under n3 harness: p1 was not applied: a plan has to be approved first, and no person has approved p1. It waits for a person to decide on it.
              check p1
                + resolve/event p1 pending
              ask about p1
            show decisions
                p1 proposed
            show files
        "#]],
    );
    check(
        concat!(
            "approval model\n",
            r#"model: edit c1 {"path":"a"}"#,
            "\npropose c1 a = new\n",
            r#"model: resolve c2 {"action":"apply","reason":"it is good"}"#,
            "\nmodel: done\nhush\nkill apply\n> do it\nplans\ntell\nresume\nshow decisions\nshow results\nshow files"
        ),
        expect![[r#"
            resume
              ask for a plan
                + resolve/plan_mode
              resolve c2
                + resolve/event p1 superseded
                + resolve/event p1 stale
                + runtime/call_finished
              settle
                + n5 under n4 tool: c2: p1 was not applied: a plan has to be approved first, and no person has approved p1. It waits for a person to decide on it.
              check p1
                + resolve/event p1 pending
              ask about p1
            show decisions
                p1 proposed
            show results
                done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                p1 was not applied: a plan has to be approved first, and no person has approved p1. It waits for a person to decide on it.
            show files
        "#]],
    );
}

#[test]
fn what_a_person_has_approved_before_a_plan_was_asked_for_is_done() {
    check(
        concat!(
            r#"model: edit c1 {"path":"a"}"#,
            "\npropose c1 a = new\nmodel: done\nhush\n> do it\napprove p1\nplans\nresume\nshow decisions\nshow files"
        ),
        expect![[r#"
            show decisions
                p1 applied, decided by person:
            show files
                a = new
        "#]],
    );
}

#[test]
fn one_plan_is_proposed_at_a_time_and_no_plan_where_none_is_asked_for() {
    check(
        concat!(
            "plans\nhush\nmodel: ",
            r#"propose_plan c0 {"title":"","steps":[]}; "#,
            plan!("c1"),
            "; ",
            plan!("c2"),
            "\nmodel: ",
            plan!("c3"),
            "\nmodel: done\n> do it\napprove p1 be quick\nresume\nshow results\nshow plans"
        ),
        expect![[r#"
            show results
                not proposed: the plan has no title: say on one line what it is for
                A person approved the plan as you proposed it. / They say: be quick / Carry it out. The plan permits no call by itself: commands and edits are decided on as always.
                not proposed: another plan of this turn comes first; a person decides on one plan at a time
                not proposed: no plan is asked for now; go on with what was approved, or say what has changed
            show plans
                off
                p1 applied 2: Greet [3: write a until it is there]
        "#]],
    );
}

#[test]
fn what_a_tool_that_reads_has_staged_is_not_staged() {
    check(
        concat!(
            "approval always\nplans\nhush\npropose c1 a = sly\n",
            r#"model: read c1 {"path":"a"}"#,
            "\nmodel: done\n> look\nshow results\nshow decisions\nshow files"
        ),
        expect![[r#"
            show results
                done / Not staged: write a: a plan has to be approved first; propose one with `propose_plan`.
            show decisions
            show files
        "#]],
    );
}

#[test]
fn a_plan_that_is_past_its_time_or_cancelled_is_told_so() {
    check(
        concat!(
            "plans\noffers 10 s\nhush\nmodel: ",
            plan!("c1"),
            "\nmodel: ",
            plan!("c2"),
            "\nmodel: done\n> do it\npass 11 s\nresume\napprove p1\ncancel\nresume\nshow results\nshow plans"
        ),
        expect![[r#"
            show results
                not approved: nobody decided on it in time / Nothing may be changed yet: look again, and propose another plan with `propose_plan`.
                not run: the turn was cancelled before this call began
            show plans
                on
                p1 expired 2: Greet [3: write a until it is there]
                p2 superseded 4: Greet [5: write a until it is there]
        "#]],
    );
}

#[test]
fn an_answer_to_a_plan_is_taken_once_and_another_text_only_of_a_plan() {
    check(
        concat!(
            "plans\nmodel: ",
            plan!("c1"),
            "\n",
            r#"model: shell c2 {"command":"make"}"#,
            "\nhush\n> do it\ntell\nedit p1 Greet\\n1. loudly\nedit p1 Greet\\n1. loudly\nedit p1 Greet\\n1. softly\napprove p1\n",
            "discard p1 no\nhush\nresume\ntell\nedit p2 Greet\\n1. loudly\nclose abandon it is over\nhush\nshow decisions"
        ),
        expect![[r#"
            edit p1 Greet\n1. loudly
                + resolve/event p1 approved
                + resolve/event p1 applying
                + resolve/event p1 applied
                + resolve/plan_approved
                + runtime/call_finished
            edit p1 Greet\n1. loudly
            edit p1 Greet\n1. softly
                p1 was approved already, with another text
            approve p1
                p1 was approved already, with another text
            discard p1 no
                p1 was already approved by person; it is applied
            edit p2 Greet\n1. loudly
                a changed text can only be given when approving a plan; p2 was not changed
            close abandon it is over
                p2 is unsettled in this run: decide on what is proposed, or discard it, first
            show decisions
                p1 applied, decided by person:
                p2 proposed
        "#]],
    );
}

#[test]
fn a_session_that_never_asked_for_a_plan_has_no_tool_for_one() {
    check(
        concat!("hush\nmodel: ", plan!("c1"), "\nmodel: done\n> do it\nshow tools\nshow results"),
        expect![[r#"
            show tools
                edit, read, shell
            show results
                not run: there is no tool "propose_plan"; there are: edit, read, shell
        "#]],
    );
}

#[test]
fn a_demand_that_comes_with_words_to_an_open_run_is_in_one_batch_with_them() {
    check(
        concat!(
            "unauthorized:\nhush\n> do it\nplans\n",
            r#"model: shell c1 {"command":"make"}"#,
            "\nmodel: done\ntell\n> with a plan"
        ),
        expect![[r#"
            > with a plan
                + n2 under n1 person: with a plan
                + resolve/plan_mode
              request
                + n3 under n2 model: shell c1
              answer c1 "not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`."
                + runtime/call_finished
              settle
                + n4 under n3 harness: c1: not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
              request
                + n5 under n4 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_run_that_is_tried_again_needs_a_plan_from_its_first_record_on() {
    // The process ends before its next step, and nobody asks for a plan in the one that goes on.
    check(
        concat!(
            "folder\nhush\nmodel: read c0 {\"path\":\"a\"}\n> look\nplans\ntell\nclose retry once more\nplans off\napproval always\nhush\n",
            r#"model: shell c1 {"command":"make"}"#,
            "\nmodel: done\nresume\ntell\nshow results\nshow plans"
        ),
        expect![[r#"
            close retry once more
                + n4 under n3 person: once more
                + decision/decided retry
                + decision/run
                + decision/opened
                + decision/run
                + resolve/plan_mode
            show results
                done
                not run: a plan has to be approved first, and shell may change something. Look with tools that only read, and propose a plan with `propose_plan`.
            show plans
                on
        "#]],
    );
}
