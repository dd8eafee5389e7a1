//! A run that gets nowhere: who is told, and what becomes of the step back that is proposed.

use expect_test::expect;

use crate::play::check;

#[test]
fn p64_a_model_that_gets_nowhere_is_told_once_and_may_go_back() {
    check(
        r#"
        reverts told
        result b = text of b
        model: read b {"path":"b"}
        4 times model: read c {"path":"a"}
        hush
        model: read c {"path":"a"}
        > do it
        show sent
        show steps
        tell
        model: revert_to_state r {"category":"failure","step":"n3","summary":"a says nothing"}
        model: done
        resume
        show sent
        show steps
        "#,
        expect![[r#"
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call b read {"path":"b"}
                + origin made-up parrot
                + stop end_turn
                result b: [n3]
                ++ text: text of b
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n5]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n7]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n9]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n11]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n13]
                ++ text: done
                harness: [n14]
                + text: [revert-proposal] 5 turns in a row did the same with the same outcome (read).\nYou may go back with revert_to_state (category failure, step "n5") and take another way, or go on if you expect something new. Nothing was stopped.
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
            resume
              request
                + n15 under n14 model: revert_to_state r
              settle
                + n16 under n15 harness: r: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
                + head to n3
                + revert/turn
                + revert/note
                + revert/drained
                + revert/proposal
              request
                + n17 under n3 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call b read {"path":"b"}
                + origin made-up parrot
                + stop end_turn
                result b: [n3]
                ++ text: text of b
                harness: [revert-lesson] a says nothing — left 13 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 accepted by Model
        "#]],
    );
}

#[test]
fn a_proposal_is_overtaken_by_progress() {
    check(
        r#"
        reverts told
        result c6 = something else
        model: read b {"path":"b"}
        5 times model: read c {"path":"a"}
        model: read c6 {"path":"x"}
        model: done
        hush
        > do it
        show steps
        tell
        accept p0
        "#,
        expect![[r#"
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 overtaken by Harness
            accept p0
                p0 is not an open proposal of a step back; none is
        "#]],
    );
}

#[test]
fn a_proposal_is_overtaken_by_a_word_of_a_person() {
    check(
        r#"
        reverts person
        model: read b {"path":"b"}
        5 times model: read c {"path":"a"}
        model: well
        hush
        > do it
        show steps
        model: read c6 {"path":"a"}
        model: done
        > look again
        show steps
        "#,
        expect![[r#"
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 overtaken by Harness
        "#]],
    );
}

#[test]
fn work_that_repeats_itself_with_progress_is_never_told() {
    check(
        r#"
        reverts told
        approval always
        model: edit e1 {"path":"a","text":"1"}
        propose e1 a = 1
        result c1 = 1
        model: read c1 {"path":"a"}
        model: edit e2 {"path":"a","text":"2"}
        propose e2 a = 2
        result c2 = 2
        model: read c2 {"path":"a"}
        model: edit e3 {"path":"a","text":"3"}
        propose e3 a = 3
        result c3 = 3
        model: read c3 {"path":"a"}
        model: edit e4 {"path":"a","text":"4"}
        propose e4 a = 4
        result c4 = 4
        model: read c4 {"path":"a"}
        model: edit e5 {"path":"a","text":"5"}
        propose e5 a = 5
        result c5 = 5
        model: read c5 {"path":"a"}
        model: edit e6 {"path":"a","text":"6"}
        propose e6 a = 6
        result c6 = 6
        model: read c6 {"path":"a"}
        model: edit e7 {"path":"a","text":"7"}
        propose e7 a = 7
        result c7 = 7
        model: read c7 {"path":"a"}
        model: edit e8 {"path":"a","text":"8"}
        propose e8 a = 8
        result c8 = 8
        model: read c8 {"path":"a"}
        model: edit e9 {"path":"a","text":"9"}
        propose e9 a = 9
        result c9 = 9
        model: read c9 {"path":"a"}
        model: edit e10 {"path":"a","text":"10"}
        propose e10 a = 10
        result c10 = 10
        model: read c10 {"path":"a"}
        model: edit e11 {"path":"a","text":"11"}
        propose e11 a = 11
        result c11 = 11
        model: read c11 {"path":"a"}
        model: edit e12 {"path":"a","text":"12"}
        propose e12 a = 12
        result c12 = 12
        model: read c12 {"path":"a"}
        model: done
        hush
        > count
        show steps
        show verdict
        "#,
        expect![[r#"
            show steps
            show verdict
                other: answered
                by made-up/parrot
                because done
                approved by system
                evidence 0
        "#]],
    );
}

#[test]
fn a_person_is_told_and_the_run_goes_on_until_they_accept() {
    check(
        r#"
        reverts person
        model: read b {"path":"b"}
        5 times model: read c {"path":"a"}
        model: I give up
        hush
        > do it
        show sent
        tell
        accept p0
        show steps
        accept p0
        undo
        "#,
        expect![[r#"
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call b read {"path":"b"}
                + origin made-up parrot
                + stop end_turn
                result b: [n3]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n5]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n7]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n9]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n11]
                ++ text: done
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n13]
                ++ text: done
            accept p0
                + head to n5
                + revert/note
                + revert/drained
                + revert/proposal
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 accepted by Person
            accept p0
                p0 is not an open proposal of a step back; none is
            undo
                + head to n14
                + revert/note
        "#]],
    );
}

#[test]
fn a_proposal_that_a_person_leaves_behind_is_overtaken() {
    check(
        r#"
        reverts person
        model: read b {"path":"b"}
        5 times model: read c {"path":"a"}
        model: I give up
        hush
        > do it
        tell
        back n1 another way
        show steps
        accept p0
        decline p0 no need
        "#,
        expect![[r#"
            back n1 another way
                + head to n1
                + revert/note
                + revert/drained
                + revert/proposal
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 overtaken by Harness
            accept p0
                p0 is not an open proposal of a step back; none is
            decline p0 no need
                p0 is not an open proposal of a step back; none is
        "#]],
    );
}

#[test]
fn a_proposal_can_be_declined_for_a_reason_on_one_line() {
    check(
        r#"
        reverts person
        model: read b {"path":"b"}
        5 times model: read c {"path":"a"}
        model: I give up
        hush
        > do it
        tell
        decline p0 no\nneed
        show steps
        "#,
        expect![[r#"
            decline p0 no\nneed
                + revert/proposal
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 declined by Person: no need
        "#]],
    );
}

#[test]
fn a_policy_takes_the_step_in_the_batch_that_notices() {
    check(
        r#"
        reverts accept
        result b = text of b
        model: read b {"path":"b"}
        4 times model: read c {"path":"a"}
        hush
        > do it
        tell
        model: read c {"path":"a"}
        model: another way then
        resume
        show steps
        show sent
        "#,
        expect![[r#"
            resume
              request
                + n12 under n11 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n13 under n12 tool: c: done
                + head to n5
                + revert/turn
                + revert/proposal
                + revert/note
                + revert/drained
                + revert/proposal
              request
                + n14 under n5 model: another way then
              conclude
                + decision/decided other: answered
                + decision/run
            show steps
                p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
                p0 accepted by Harness
            show sent
                system: Be short.
                user: [n1]
                + text: do it
                assistant:
                + call b read {"path":"b"}
                + origin made-up parrot
                + stop end_turn
                result b: [n3]
                ++ text: text of b
                assistant:
                + call c read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result c: [n5]
                ++ text: done
                harness: [revert-lesson] the harness went back here: no progress: 5 turns in a row did the same with the same outcome (read); go on in another way — left 8 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn a_watch_that_is_off_leaves_no_trace() {
    check(
        r#"
        reverts off
        5 times model: read c {"path":"a"}
        model: done
        > do it
        show steps
        "#,
        expect![[r#"
            > do it
                + n1 under n0 person: do it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c: done
              request
                + n4 under n3 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n5 under n4 tool: c: done
              request
                + n6 under n5 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n7 under n6 tool: c: done
              request
                + n8 under n7 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n9 under n8 tool: c: done
              request
                + n10 under n9 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n11 under n10 tool: c: done
              request
                + n12 under n11 model: done
              conclude
                + decision/decided other: answered
                + decision/run
            show steps
        "#]],
    );
}

#[test]
fn what_changes_no_file_and_says_something_new_each_time_is_noticed() {
    check(
        r#"
        reverts told
        looks
        approval always
        result c1 = it was red
        result c2 = it was blue
        result c3 = it was green
        result c4 = it was grey
        result c5 = it was black
        result c6 = it was white
        result c7 = it was pink
        result c8 = it was teal
        result c9 = it was gold
        model: shell c1 {"command":"tail log"}
        model: shell c2 {"command":"tail log"}
        model: shell c3 {"command":"tail log"}
        model: shell c4 {"command":"tail log"}
        model: shell c5 {"command":"tail log"}
        model: shell c6 {"command":"tail log"}
        model: shell c7 {"command":"tail log"}
        model: shell c8 {"command":"tail log"}
        model: shell c9 {"command":"tail log"}
        model: done
        hush
        > wait for it
        show steps
        "#,
        expect![[r#"
            show steps
                p0: 8 turns in a row asked the same again without a new state of the files (shell); proposed: go back to n3
        "#]],
    );
}

#[test]
fn what_says_the_same_and_changes_files_is_never_told() {
    check(
        r#"
        reverts told
        looks
        approval always
        write c1 a = 1
        write c2 a = 2
        write c3 a = 3
        write c4 a = 4
        write c5 a = 5
        write c6 a = 6
        write c7 a = 7
        write c8 a = 8
        write c9 a = 9
        model: shell c1 {"command":"make"}
        model: shell c2 {"command":"make"}
        model: shell c3 {"command":"make"}
        model: shell c4 {"command":"make"}
        model: shell c5 {"command":"make"}
        model: shell c6 {"command":"make"}
        model: shell c7 {"command":"make"}
        model: shell c8 {"command":"make"}
        model: shell c9 {"command":"make"}
        model: done
        hush
        > build it
        show steps
        "#,
        expect![[r#"
            show steps
        "#]],
    );
}

#[test]
fn edits_that_are_applied_and_taken_back_in_turn_are_a_cycle() {
    check(
        r#"
        reverts told
        looks
        approval always
        propose e1 a = 1
        propose e2 a = 2
        propose e3 a = 1
        propose e4 a = 2
        propose e5 a = 1
        propose e6 a = 2
        propose e7 a = 1
        model: edit e1 {"path":"a","text":"1"}
        model: edit e2 {"path":"a","text":"2"}
        model: edit e3 {"path":"a","text":"1"}
        model: edit e4 {"path":"a","text":"2"}
        model: edit e5 {"path":"a","text":"1"}
        model: edit e6 {"path":"a","text":"2"}
        model: edit e7 {"path":"a","text":"1"}
        model: done
        hush
        > make it right
        show steps
        "#,
        expect![[r#"
            show steps
                p0: 4 turns in a row asked the same again without a new state of the files (edit); proposed: go back to n9
        "#]],
    );
}
