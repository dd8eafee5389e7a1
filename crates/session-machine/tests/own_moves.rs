//! What a model may do with branches that it has left itself, and with results that it no longer needs.

use expect_test::expect;

use crate::play::check;

#[test]
fn a_model_merges_a_branch_that_it_left_and_the_tree_has_both_parents() {
    check(
        r#"
        reverts told
        may merge
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"a has no [n9] answer"}
        model: read c {"path":"c"}
        model: merge_left_branch d {"branches":["n3"]}
        model: Done.
        > look
        show sent
        "#,
        expect![[r#"
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read a
              run read a
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: a: done
                + revert/turn
              request
                + n4 under n3 model: revert_to_state b
              settle
                + n5 under n4 harness: b: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + head to n1
                + revert/turn
                + revert/note
                + revert/drained
              request
                + n6 under n1 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n7 under n6 tool: c: done
                + revert/turn
              request
                + n8 under n7 model: merge_left_branch d
              settle
                + n9 under n8 harness: d: merge applied: what came of n5 follows, 1 line
                + head to n9
                + n10 under n9 harness: Merged from a branch of this conversation: n5. Each line ends in the nodes that it comes from. / - lesson: a has no {n9} answer (n4) / What tools changed there, files included, was neither undone nor done again.
                + revert/merge
                + revert/turn
              request
                + n11 under n10 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: look
                harness: [revert-lesson] a has no (n9) answer — left 4 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
                assistant:
                + call c read {"path":"c"}
                + origin made-up parrot
                + stop end_turn
                result c: [n7]
                ++ text: done
                assistant:
                + call d merge_left_branch {"branches":["n3"]}
                + origin made-up parrot
                + stop end_turn
                result d: [n9]
                ++ text: merge applied: what came of n5 follows, 1 line
                + author harness
                harness: [n10]
                + text: Merged from a branch of this conversation: n5. Each line ends in the nodes that it comes from.\n- lesson: a has no {n9} answer (n4)\nWhat tools changed there, files included, was neither undone nor done again.
        "#]],
    );
}

#[test]
fn a_model_goes_back_to_a_branch_that_it_left_and_the_other_one_can_be_gone_back_to() {
    check(
        r#"
        reverts told
        may go
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"a is wrong"}
        model: read c {"path":"c"}
        model: return_to_branch d {"branch":"[n3]","category":"tangent","summary":"c is worse"}
        model: list_revert_targets e {}
        model: Done.
        > look
        show sent
        show results
        "#,
        expect![[r#"
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read a
              run read a
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: a: done
                + revert/turn
              request
                + n4 under n3 model: revert_to_state b
              settle
                + n5 under n4 harness: b: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + head to n1
                + revert/turn
                + revert/note
                + revert/drained
              request
                + n6 under n1 model: read c
              run read c
                + runtime/call_started
                + runtime/call_finished
              settle
                + n7 under n6 tool: c: done
                + revert/turn
              request
                + n8 under n7 model: return_to_branch d
              settle
                + n9 under n8 harness: d: return applied (tangent): the conversation goes on from n5, the end of the branch that begins with n2; what came after n1 was left, and a note (finding) stands behind n5
                + head to n5
                + revert/turn
                + revert/note
                + revert/drained
              request
                + n10 under n5 model: list_revert_targets e
              settle
                + n11 under n10 harness: e: nodes that you can go back to, with what each would leave: / n1 user: look (leaves 5 messages) / n3 results: done (leaves 3 messages) / n5 results: revert applied (failure): the conversation goes on from n1; what came after it … (leaves 1 message) / branches that you left, each by its last node: / n9 (4 messages after n1): c is worse
                + revert/turn
              request
                + n12 under n11 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: look
                assistant:
                + call a read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result a: [n3]
                ++ text: done
                assistant:
                + call b revert_to_state {"category":"failure","step":"n1","summary":"a is wrong"}
                + origin made-up parrot
                + stop end_turn
                result b: [n5]
                ++ text: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + author harness
                harness: [revert-finding] you came back to this branch: the messages from n2 on stand again; what was left for it: c is worse — left 4 messages (read)\nReads: c\nGo on from here.
                assistant:
                + call e list_revert_targets {}
                + origin made-up parrot
                + stop end_turn
                result e: [n11]
                ++ text: nodes that you can go back to, with what each would leave:\nn1 user: look (leaves 5 messages)\nn3 results: done (leaves 3 messages)\nn5 results: revert applied (failure): the conversation goes on from n1; what came after it … (leaves 1 message)\nbranches that you left, each by its last node:\nn9 (4 messages after n1): c is worse
                + author harness
            show results
                done
                revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                nodes that you can go back to, with what each would leave: / n1 user: look (leaves 5 messages) / n3 results: done (leaves 3 messages) / n5 results: revert applied (failure): the conversation goes on from n1; what came after it … (leaves 1 message) / branches that you left, each by its last node: / n9 (4 messages after n1): c is worse
        "#]],
    );
}

#[test]
fn a_result_that_is_no_longer_needed_is_left_out_and_can_be_had_again() {
    let long = "0123456789".repeat(50);
    check(
        &format!(
            r#"
        reverts told
        may prune
        result a = {long}
        model: read a {{"path":"a"}}
        model: prune_result b {{"results":["n3"]}}
        model: recall_result c {{"result":"n3"}}
        model: prune_result d {{"results":["n3","n7"]}}
        model: prune_result e {{"results":"7"}}
        model: Done.
        > look
        show sent
        "#
        ),
        expect![[r#"
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read a
              run read a
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: a: 01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
                + revert/turn
              request
                + n4 under n3 model: prune_result b
              settle
                + n5 under n4 harness: b: left out from now on: n3 (500 bytes of read); recall_result returns one again
                + revert/turn
                + revert/pruned
              request
                + n6 under n5 model: recall_result c
              settle
                + n7 under n6 harness: c: what read returned then: / 01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
                + revert/turn
              request
                + n8 under n7 model: prune_result d
              settle
                + n9 under n8 harness: d: pruning refused: n3 is left out already; results that could be left out: n7 (524 bytes)
                + revert/turn
                + revert/pruned
              request
                + n10 under n9 model: prune_result e
              settle
                + n11 under n10 harness: e: left out from now on: n7 (524 bytes of recall_result); recall_result returns one again
                + n12 under n11 harness: [revert-proposal] 4 turns in a row brought only what was known. / You may go back with revert_to_state (category failure, step "n3") and take another way, or go on if you expect something new. Nothing was stopped.
                + revert/turn
                + revert/pruned
                + revert/proposal
              request
                + n13 under n12 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show sent
                system: Be short.
                user: [n1]
                + text: look
                assistant:
                + call a read {"path":"a"}
                + origin made-up parrot
                + stop end_turn
                result a: [n3]
                ++ text: [pruned] 500 bytes that read returned are left out here; the call itself was answered.
                assistant:
                + call b prune_result {"results":["n3"]}
                + origin made-up parrot
                + stop end_turn
                result b: [n5]
                ++ text: left out from now on: n3 (500 bytes of read); recall_result returns one again
                + author harness
                assistant:
                + call c recall_result {"result":"n3"}
                + origin made-up parrot
                + stop end_turn
                result c: [n7]
                ++ text: [pruned] 524 bytes that recall_result returned are left out here; the call itself was answered.
                + author harness
                assistant:
                + call d prune_result {"results":["n3","n7"]}
                + origin made-up parrot
                + stop end_turn
                result d!: [n9]
                ++ text: pruning refused: n3 is left out already; results that could be left out: n7 (524 bytes)
                + author harness
                assistant:
                + call e prune_result {"results":"7"}
                + origin made-up parrot
                + stop end_turn
                result e: [n11]
                ++ text: left out from now on: n7 (524 bytes of recall_result); recall_result returns one again
                + author harness
                harness: [n12]
                + text: [revert-proposal] 4 turns in a row brought only what was known.\nYou may go back with revert_to_state (category failure, step "n3") and take another way, or go on if you expect something new. Nothing was stopped.
        "#]],
    );
}

#[test]
fn what_waited_on_a_branch_comes_back_stale_with_it_and_what_waits_on_the_other_is_put_aside() {
    check(
        r#"
        reverts off
        may go
        approval model
        hush
        model: edit a {"path":"a"}
        propose a a = one
        model: revert_to_state b {"category":"failure","step":"n1","summary":"no"}
        model: edit c {"path":"b"}
        propose c b = two
        tell
        model: return_to_branch d {"branch":"n3","category":"failure"}
        model: Done.
        > change it
        "#,
        expect![[r#"
            > change it
                + n1 under n0 person: change it
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit a
              run edit a
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: a: done / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
              request
                + resolve/choices
                + n4 under n3 model: revert_to_state b
                + resolve/choices
              settle
                + n5 under n4 harness: b: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + head to n1
                + revert/note
                + revert/drained
                + resolve/event p1 superseded
              request
                + resolve/choices
                + n6 under n1 model: edit c
              run edit c
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
              settle
                + n7 under n6 tool: c: done / Staged as p2. Nothing is written yet: call `resolve` with action apply or discard and id "p2".
              request
                + resolve/choices
                + n8 under n7 model: return_to_branch d
                + resolve/choices
              settle
                + n9 under n8 harness: d: return applied (failure): the conversation goes on from n5, the end of the branch that begins with n2; what came after n1 was left, and a note (lesson) stands behind n5
                + head to n5
                + revert/note
                + revert/drained
                + resolve/event p2 superseded
                + resolve/event p1 stale
              check p1
                + resolve/event p1 pending
              request
                + resolve/choices
                + n10 under n5 model: Done.
                + resolve/choices
              request
                + n11 under n10 harness: Not done yet, and waiting for you: p1. Call `resolve` with action apply or discard, a reason, and the id.
                + resolve/choices
                the model has no more answers
        "#]],
    );
}

#[test]
fn a_branch_that_a_person_left_is_refused_and_the_refusal_is_recorded() {
    check(
        r#"
        reverts off
        may merge
        may go
        hush
        model: read a {"path":"a"}
        model: One.
        > look
        back n1 not so
        tell
        model: merge_left_branch b {"branches":["n3"]}; return_to_branch c {"branch":"n3","category":"failure"}; merge_left_branch d {}
        model: revert_to_state e {"category":"failure","step":"n1"}; merge_left_branch f {"branches":["n3"]}; return_to_branch g {"branch":3}
        model: Done.
        resume
        show results
        "#,
        expect![[r#"
            resume
              open a run
                + decision/opened
                + decision/run
              request
                + n5 under n1 model: merge_left_branch b return_to_branch c merge_left_branch d
              settle
                + n6 under n5 harness: b: merge refused: you did not leave the branch of n3; the user did; there is no branch that could be merged now
                + n7 under n6 harness: c: return refused: you did not leave the branch of n3; the user did; there is no branch that you could go back to now
                + n8 under n7 harness: d: branches is required: name a node such as "n12"
                + revert/merge_refused
                + revert/drained
                + revert/merge_refused
              request
                + n9 under n8 model: revert_to_state e merge_left_branch f return_to_branch g
              settle
                + n10 under n9 harness: e: revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
                + n11 under n10 harness: f: merge refused: another request of this turn changed the conversation first
                + n12 under n11 harness: g: category is required
                + head to n1
                + revert/merge_refused
                + revert/unread
                + revert/note
                + revert/drained
              request
                + n13 under n1 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show results
        "#]],
    );
}

#[test]
fn what_tells_of_a_decision_or_a_refusal_is_not_left_out() {
    let long = "0123456789".repeat(50);
    check(
        &format!(
            r#"
        reverts off
        may prune
        approval model
        hush
        result a = {long}
        model: edit a {{"path":"a"}}
        propose a a = one
        result r = {long}
        model: resolve b {{"action":"apply","reason":"{long}"}}; nothing c {{"x":"{long}"}}
        model: prune_result d {{"results":["n3"]}}; prune_result e {{"results":["n5"]}}; prune_result f {{"results":["n6"]}}; prune_result g {{"results":["n99"]}}
        model: Done.
        > look
        show results
        "#
        ),
        expect![[r#"
            show results
                01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789 / Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
                Applied p1. written
                not run: there is no tool "nothing"; there are: edit, read, shell, resolve, revert_to_state, list_revert_targets, prune_result, recall_result
                pruning refused: n3 belongs to a proposal or a decision; such results cannot be left out; there is no result that could be left out now
                pruning refused: n5 belongs to a proposal or a decision; such results cannot be left out; there is no result that could be left out now
                pruning refused: n6 reports a call that was refused or did not run; such results cannot be left out; there is no result that could be left out now
                pruning refused: n99 not found; there is no result that could be left out now
        "#]],
    );
}

#[test]
fn each_has_its_price_in_its_result_where_it_is_known_what_tokens_cost() {
    let long = "0123456789".repeat(50);
    check(
        &format!(
            r#"
        reverts off
        rates
        may merge
        may go
        may prune
        hush
        result a = {long}
        result c = {long}
        model: read a {{"path":"a"}}
        model: prune_result b {{"results":["n3"]}}
        model: revert_to_state c {{"category":"failure","step":"n1","summary":"no"}}
        model: read c {{"path":"c"}}; read d {{"path":"d"}}
        model: merge_left_branch e {{"branches":[3]}}; prune_result f {{"results":["n9"]}}
        model: return_to_branch g {{"branch":"n3","category":"failure","summary":"again"}}; prune_result h {{"results":["n9"]}}
        model: Done.
        > look
        tell
        show results
        go n16
        show results
        "#
        ),
        expect![[r#"
            show results
                01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
                left out from now on: n3 (500 bytes of read); recall_result returns one again; ~103 prompt tokens leave, ~8 stay (~8 of them cached), ~29 are read anew; pays from turn 3
                revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there; ~194 prompt tokens leave, ~4 stay (~4 of them cached), ~29 are read anew; pays from the first turn
            go n16
                + head to n17
                + revert/note
            show results
                01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
                done
                merge applied: what came of n7 follows, 1 line; ~0 prompt tokens leave, ~153 stay (~138 of them cached), ~63 are read anew; does not pay by its tokens alone
                left out from now on: n9 (500 bytes of read); recall_result returns one again; ~103 prompt tokens leave, ~12 stay (~12 of them cached), ~38 are read anew; pays from turn 3
                return applied (failure): the conversation goes on from n7, the end of the branch that begins with n2; what came after n1 was left, and a note (lesson) stands behind n7; ~303 prompt tokens leave, ~4 stay (~4 of them cached), ~292 are read anew; pays from turn 280
                pruning refused: another request of this turn left this branch first
        "#]],
    );
}

#[test]
fn a_model_that_goes_to_and_fro_is_told_so() {
    check(
        r#"
        reverts told
        may go
        hush
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"one"}
        model: read c {"path":"c"}
        model: return_to_branch d {"branch":"n3","category":"failure","summary":"two"}
        model: read e {"path":"e"}
        model: return_to_branch f {"branch":"n7","category":"failure","summary":"three"}
        model: Done.
        > look
        show steps
        show notes
        "#,
        expect![[r#"
            show steps
                p0: 2 moves went to and fro between the same branches; proposed: go back to n7
            show notes
                [revert-lesson] one — left 4 messages (read)
                Reads: a
                This step back is complete; go on from here by another way.
                [revert-lesson] you came back to this branch: the messages from n6 on stand again; what was left for it: three — left 8 messages (read)
                Reads: a; e
                Go on from here.
        "#]],
    );
}

/// The move before a merging node is of a kind that persons make.
#[test]
fn a_merge_of_the_model_is_no_word_of_a_person() {
    check(
        r#"
        reverts told
        may merge
        hush
        model: read a {"path":"a"}
        model: revert_to_state b {"category":"failure","step":"n1","summary":"one"}
        2 times model: read c {"path":"c"}
        model: merge_left_branch d {"branches":["n3"]}
        2 times model: read c {"path":"c"}
        model: Done.
        > look
        show steps
        "#,
        expect![[r#"
            show steps
                p0: 4 turns in a row brought only what was known (read); proposed: go back to n7
        "#]],
    );
}

/// Nothing of this is offered, or understood, unless it was asked for.
#[test]
fn without_its_own_call_none_of_them_is_there() {
    check(
        r#"
        reverts off
        hush
        model: prune_result a {"results":["n1"]}; merge_left_branch b {"branches":["n1"]}; return_to_branch c {"branch":"n1"}; recall_result d {"result":"n1"}
        model: Done.
        > look
        show tools
        show results
        reverts off
        may prune
        model: Done.
        > again
        show tools
        reverts off
        may merge
        may go
        model: Done.
        > again
        show tools
        "#,
        expect![[r#"
            show tools
                edit, read, shell, revert_to_state, list_revert_targets
            show results
                not run: there is no tool "prune_result"; there are: edit, read, shell, revert_to_state, list_revert_targets
                not run: there is no tool "merge_left_branch"; there are: edit, read, shell, revert_to_state, list_revert_targets
                not run: there is no tool "return_to_branch"; there are: edit, read, shell, revert_to_state, list_revert_targets
                not run: there is no tool "recall_result"; there are: edit, read, shell, revert_to_state, list_revert_targets
            show tools
                edit, read, shell, revert_to_state, list_revert_targets, prune_result, recall_result
            show tools
                edit, read, shell, revert_to_state, list_revert_targets, merge_left_branch, return_to_branch
        "#]],
    );
}
