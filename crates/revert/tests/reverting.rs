//! What a revert does, and when it is refused.

use expect_test::expect;
use trunkline_message_tree::{NodeId, notation};
use trunkline_revert::{
    Category, Mover, Prompts, Reason, RenderPolicy, Request, plan, render, targets, turn,
};

use crate::story::{AT, arguments, check};

/// A prompt, one look at a file, one command that failed.
const DEAD_END: &str = r#"
    n0 system: be brief
    n1 user: fix the test
    n2 assistant:
       + call c1 read_file {"path":"a.rs"}
    n3 result c1: fn a() {}
    n4 assistant: a mutex, then
       + call c2 write_file {}
       + call c3 run_command {}
    n5 result c2: written
    n6 result c3!: deadlock
"#;

#[test]
fn the_branch_leaves_and_its_lesson_stands_after_the_target() {
    check(
        DEAD_END,
        "revert failure n3 a mutex deadlocks here, use a channel
         show",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there
            system: be brief
            user: fix the test
            assistant:
            + call c1 read_file {"path":"a.rs"}
            result c1: fn a() {}
            harness: [revert-lesson] a mutex deadlocks here, use a channel — left 5 messages (write_file, run_command)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn the_conversation_goes_on_after_the_note() {
    check(
        DEAD_END,
        "revert tangent n3
         assistant a channel, then
         show",
        expect![[r#"
            < revert applied (tangent): the conversation goes on from n3; what came after it was left, and a note (finding) stands there
            system: be brief
            user: fix the test
            assistant:
            + call c1 read_file {"path":"a.rs"}
            result c1: fn a() {}
            harness: [revert-finding] left 5 messages (write_file, run_command)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here with the task itself.
            assistant: a channel, then
        "#]],
    );
}

#[test]
fn a_target_inside_a_group_stands_for_the_end_of_the_group() {
    check(
        DEAD_END,
        "tools list_files search
         revert completion n5 the state is known
         show",
        expect![[r#"
            < revert applied (completion): the conversation goes on from n6 (n5 belongs to a group of calls that ends there); what came after it was left, and a note (outcome) stands there
            system: be brief
            user: fix the test
            assistant:
            + call c1 read_file {"path":"a.rs"}
            result c1: fn a() {}
            assistant: a mutex, then
            + call c2 write_file {}
            + call c3 run_command {}
            result c2: written
            result c3!: deadlock
            harness: [revert-outcome] the state is known — left 5 messages (list_files, search)\nWhat tools changed there, files included, was not undone. That work is done and need not be repeated; go on from here with what comes next.
        "#]],
    );
}

#[test]
fn the_prompt_itself_can_be_the_last_node_to_keep() {
    check(
        DEAD_END,
        "revert failure n1 neither works\nshow",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there
            system: be brief
            user: fix the test
            harness: [revert-lesson] neither works — left 7 messages (read_file, write_file, run_command)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn an_unknown_target_is_answered_with_targets_that_would_work() {
    check(
        DEAD_END,
        "revert failure n99\nshow",
        expect![[r#"
        ! revert target n99 not found; targets that would work: n1, n3, n6 (newest last)
        system: be brief
        user: fix the test
        assistant:
        + call c1 read_file {"path":"a.rs"}
        result c1: fn a() {}
        assistant: a mutex, then
        + call c2 write_file {}
        + call c3 run_command {}
        result c2: written
        result c3!: deadlock
        assistant:
        + call c101 revert_to_state {"category":"failure","step":"n99"}
        result c101!: revert target n99 not found; targets that would work: n1, n3, n6 (newest last)
    "#]],
    );
}

#[test]
fn a_model_may_not_leave_a_prompt_behind() {
    check(
        DEAD_END,
        "user and the docs
         assistant they are fine
         user and the tests
         tools run_command
         revert failure n1
         revert failure n6",
        expect![[r#"
            ! revert refused: abandoned span contains a user message (n7, n9); targets that would work: n9, n11 (newest last)
            ! revert refused: abandoned span contains a user message (n7, n9); targets that would work: n9, n11, n13 (newest last)
        "#]],
    );
}

#[test]
fn a_person_may_leave_prompts_behind() {
    check(
        DEAD_END,
        "user and the docs
         assistant they are fine
         person tangent n1 start over
         show",
        expect![[r#"
            < revert applied (tangent): the conversation goes on from n1; what came after it was left, and a note (finding) stands there
            system: be brief
            user: fix the test
            harness: [revert-finding] the user went back here: start over — left 7 messages (read_file, write_file, run_command)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here with the task itself.
        "#]],
    );
}

#[test]
fn a_person_may_start_from_the_root() {
    check(
        DEAD_END,
        "person failure n0 all wrong\nshow",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n0; what came after it was left, and a note (lesson) stands there
            system: be brief
            harness: [revert-lesson] the user went back here: all wrong — left 6 messages (read_file, write_file, run_command)\nWhat tools changed there, files included, was not undone. This step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn a_policy_may_let_a_model_leave_prompts_behind() {
    let tree = notation::parse_tree(&format!("{DEAD_END}\nn7 user: and the docs")).unwrap();
    let request = Request::parse(&arguments("failure n3")).unwrap();
    assert!(plan(&tree, &request, Mover::MODEL).is_err());
    let mover = Mover { prompts: Prompts::Leave, ..Mover::MODEL };
    let plan = plan(&tree, &request, mover).unwrap();
    assert_eq!(plan.prompts, ["n7".parse().unwrap()]);
}

#[test]
fn a_revert_that_would_leave_nothing_is_refused() {
    check(
        DEAD_END,
        "person failure n6\nperson failure n4\nperson failure n5",
        expect![[r#"
        ! revert refused: nothing comes after n6; targets that would work: n0, n1, n3 (newest last)
        ! revert refused: nothing comes after n4; targets that would work: n0, n1, n3 (newest last)
        ! revert refused: nothing comes after n5; targets that would work: n0, n1, n3 (newest last)
    "#]],
    );
}

#[test]
fn refused_requests_leave_the_turn_as_it_was() {
    check(
        DEAD_END,
        "revert failure n7\nrevert failure n9\nshow",
        expect![[r#"
        ! revert target n7 is not older than the call that names it; targets that would work: n1, n3, n6 (newest last)
        ! revert target n9 is not older than the call that names it; targets that would work: n1, n3, n6, n8 (newest last)
        system: be brief
        user: fix the test
        assistant:
        + call c1 read_file {"path":"a.rs"}
        result c1: fn a() {}
        assistant: a mutex, then
        + call c2 write_file {}
        + call c3 run_command {}
        result c2: written
        result c3!: deadlock
        assistant:
        + call c101 revert_to_state {"category":"failure","step":"n7"}
        result c101!: revert target n7 is not older than the call that names it; targets that would work: n1, n3, n6 (newest last)
        assistant:
        + call c102 revert_to_state {"category":"failure","step":"n9"}
        result c102!: revert target n9 is not older than the call that names it; targets that would work: n1, n3, n6, n8 (newest last)
    "#]],
    );
}

#[test]
fn when_no_target_would_work_the_refusal_says_so() {
    check(
        "n0 system: be brief",
        "revert failure n5",
        expect![[r#"
        ! revert target n5 not found; targets that would work: n0 (newest last)
    "#]],
    );
    check(
        "n0 system: be brief",
        "person failure n0",
        expect![[r#"
        ! revert refused: nothing comes after n0; no target would work now
    "#]],
    );
}

#[test]
fn a_refusal_lists_the_newest_eight_targets() {
    let script = "tools a\n".repeat(12) + "revert failure n999";
    check(
        "n0 system: s\nn1 user: go",
        &script,
        expect![[r#"
        ! revert target n999 not found; targets that would work: n11, n13, n15, n17, n19, n21, n23, n25 (newest last)
    "#]],
    );
}

#[test]
fn a_group_that_a_crash_cut_short_ends_at_its_last_result() {
    check(
        "n0 system: s
         n1 user: go
         n2 assistant:
            + call c1 a {}
            + call c2 b {}
         n3 result c1: one
         n4 harness: go on",
        "revert failure n2 try again
         show",
        expect![[r#"
            < revert applied (failure): the conversation goes on from n3 (n2 belongs to a group of calls that ends there); what came after it was left, and a note (lesson) stands there
            system: s
            user: go
            assistant:
            + call c1 a {}
            + call c2 b {}
            result c1: one
            harness: [revert-lesson] try again — left 3 messages\nThis step back is complete; go on from here by another way.
        "#]],
    );
}

#[test]
fn a_request_whose_call_was_left_is_out_of_date() {
    let tree = notation::parse_tree(
        "n0 system: s
         n1 user: go
         n2 assistant:
            + call c1 revert_to_state {\"category\":\"failure\",\"step\":\"n1\"}
         n3 < n1 assistant: another way",
    )
    .unwrap();
    let node = "n2".parse().unwrap();
    let message = tree.node(node).unwrap().message();
    let (_, request) = trunkline_revert::requests(node, message).next().unwrap();
    let refusal = plan(&tree, &request.unwrap(), Mover::MODEL).unwrap_err();
    expect!["revert refused: n2, whose call asked for it, is not on the current branch"]
        .assert_eq(&refusal.to_string());
}

#[test]
fn a_plan_made_after_the_results_were_appended_comes_to_the_same() {
    let before = r#"
        n0 system: s
        n1 user: go
        n2 assistant:
           + call c1 revert_to_state {"category":"failure","step":"n1"}
           + call c2 run_command {}"#;
    let after = format!("{before}\nn3 result c1: asked\nn4 result c2: ran");
    let outcome = |tree: &str, appended: &[&str]| {
        let tree = notation::parse_tree(tree).unwrap();
        let node = "n2".parse().unwrap();
        let (_, request) =
            trunkline_revert::requests(node, tree.node(node).unwrap().message()).next().unwrap();
        let plan = plan(&tree, &request.unwrap(), Mover::MODEL).unwrap();
        let appended: Vec<_> = appended.iter().map(|id| id.parse().unwrap()).collect();
        plan.outcome(&appended, AT, 1)
    };
    assert_eq!(outcome(before, &["n3", "n4"]), outcome(&after, &[]));
}

#[test]
fn results_in_a_user_message_are_no_prompt() {
    check(
        "n0 system: s
         n1 user: go
         n2 assistant:
            + call c1 a {}
         n3 user:
            + result c1: imported
         n4 assistant: done",
        "revert step-summary n2 seen
         show",
        expect![[r#"
            < revert applied (step-summary): the conversation goes on from n3 (n2 belongs to a group of calls that ends there); what came after it was left, and a note (checkpoint) stands there
            system: s
            user: go
            assistant:
            + call c1 a {}
            user:
            + result c1: imported
            harness: [revert-checkpoint] seen — left 3 messages\nThat step is done and need not be repeated; go on from here with the next step.
        "#]],
    );
}

#[test]
fn words_of_a_person_follow_onto_the_new_branch() {
    let mut tree = notation::parse_tree(
        "n0 system: s\nn1 user: a\nn2 assistant: b\nn3 user: and c too\nn4 assistant: d\nn5 user: e\nn6 assistant: f",
    )
    .unwrap();
    let mover = Mover { prompts: Prompts::Rebase, ..Mover::MODEL };
    let plan = plan(&tree, &Request::new(Category::Failure, NodeId::new(1), Some("no")), mover).unwrap();
    expect!["revert applied (failure): the conversation goes on from n1; what came after it was left, and a note (lesson) stands there, followed by copies of the 2 user messages that were left"]
        .assert_eq(&plan.result_text());
    let outcome = plan.outcome(&[], AT, turn(&tree));
    let mut draft = tree.draft();
    draft.move_head(outcome.head_move.clone()).unwrap();
    let mut copies = Vec::new();
    for copy in &outcome.copies {
        copies.push(draft.append(copy.message.clone(), AT).unwrap());
    }
    let entries = draft.into_entries();
    entries.into_iter().for_each(|entry| tree.record(entry).unwrap());
    let outcome = outcome.with_copies(&copies);
    let links: Vec<String> =
        outcome.record.rebased.iter().map(|link| format!("{}→{}", link.original, link.copy)).collect();
    assert_eq!(links, ["n3→n7", "n5→n8"]);
    let sent = render(&tree, &[outcome.note], &RenderPolicy::default(), turn(&tree));
    expect![[r#"
        system: s
        user: a
        harness: [revert-lesson] no — left 5 messages\nThis step back is complete; go on from here by another way.
        user: and c too
        user: e
    "#]]
    .assert_eq(&notation::print(&sent));
}

#[test]
fn a_person_is_asked_where_the_policy_says_so() {
    let tree = notation::parse_tree("n0 system: s\nn1 user: a\nn2 assistant: b\nn3 user: c\nn4 assistant: d")
        .unwrap();
    let mover = Mover { prompts: Prompts::Ask, ..Mover::MODEL };
    let refusal = plan(&tree, &Request::new(Category::Tangent, NodeId::new(1), None), mover).unwrap_err();
    expect!["revert to n1 not made yet: it would leave words of the user (n3), who is asked first; targets that would work: n3 (newest last)"]
        .assert_eq(&refusal.to_string());
}

#[test]
fn a_rebase_that_would_bring_everything_back_is_refused() {
    let tree = notation::parse_tree("n0 system: s\nn1 user: a\nn2 assistant: b\nn3 user: c").unwrap();
    let mover = Mover { prompts: Prompts::Rebase, ..Mover::PERSON };
    let refusal = plan(&tree, &Request::new(Category::Tangent, NodeId::new(2), None), mover).unwrap_err();
    assert_eq!(refusal.reason, Reason::AllComesBack { target: NodeId::new(2) });
    expect!["revert refused: after n2 there are only words of the user, which would follow it again; targets that would work: n0, n1 (newest last)"]
        .assert_eq(&refusal.to_string());
    let only = notation::parse_tree("n0 system: s\nn1 user: a\nn2 user: c").unwrap();
    let refusal = plan(&only, &Request::new(Category::Tangent, NodeId::new(0), None), mover).unwrap_err();
    assert!(refusal.works.is_empty(), "{refusal}");
    for target in targets(&tree, mover, None) {
        assert!(plan(&tree, &Request::new(Category::Tangent, target.node, None), mover).is_ok());
    }
}

#[test]
fn results_of_the_branch_do_not_follow_with_the_words_of_a_person() {
    let tree = notation::parse_tree(
        "n0 system: s
         n1 user: go
         n2 assistant:
            + call c1 a {}
         n3 user:
            + result c1: secret of the branch
            + text: and be quick
         n4 assistant:
            + call c2 a {}
         n5 user:
            + result c2: only a result
         n6 assistant: f",
    )
    .unwrap();
    let mover = Mover { prompts: Prompts::Rebase, ..Mover::MODEL };
    let plan = plan(&tree, &Request::new(Category::Failure, NodeId::new(1), Some("no")), mover).unwrap();
    assert!(plan.result_text().contains("a copy of the user message"), "{}", plan.result_text());
    let copies = plan.outcome(&[], AT, turn(&tree)).copies;
    let followed: Vec<_> = copies.iter().map(|copy| (copy.original, copy.message.text())).collect();
    assert_eq!(followed, [(NodeId::new(3), "and be quick".to_owned())]);
    assert_eq!(copies[0].message.results().count(), 0);
}
