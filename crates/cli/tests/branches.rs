//! The tree of a session, and moves of its head.

use expect_test::expect;

use crate::fake::{Answer, Endpoint, Scene, calls, says};

fn dead_end() -> Vec<Answer> {
    vec![
        calls("list_files", "{}"),
        calls("read_file", r#"{"path":"missing.txt"}"#),
        calls(
            "revert_to_state",
            r#"{"category":"failure","step":"n3","summary":"missing.txt is not there"}"#,
        ),
        says("There is nothing to read."),
    ]
}

fn scene() -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(dead_end());
    let said = scene.run(&["run", "read it", "--system", "/dev/null"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.contains("⤺ left n4–n7, back at n3 (failure): missing.txt is not there"),
        "{}",
        said.err
    );
    (scene, endpoint)
}

#[test]
fn a_branch_that_was_left_stands_beside_the_trunk_with_its_lesson() {
    let (scene, _endpoint) = scene();
    expect![[r#"
        read it
        ID

        ● n0 system  (no words)
        ● n1 you     read it
        ● n2 model   → List files
        │ n3   ✓ List files  [no files]
        ├─╮
        │ ○ n4 model   → Read file missing.txt
        │ ┊ n5   ✗ Read file missing.txt  there is no missing.txt in the workspace
        │ ○ n6 model   → Revert to State (revert_to_state) n3
        │ ┊ n7   ✓ Revert to State (revert_to_state) n3  revert applied (failure): the conversation goes on…
        ⤺ lesson “missing.txt is not there”  left n4–n7
        ◉ n8 model   There is nothing to read.  ← head
        ◆ other: answered — the model answered and no file was changed

        5 nodes on the trunk, 4 beside it on 1 branch
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
}

#[test]
fn undo_and_redo_take_back_and_make_again() {
    let (scene, _endpoint) = scene();
    assert_eq!(scene.ok(&["undo"]), "⤺ left n8 (1 node), n4–n7 on the trunk again, head at n7\n");
    assert!(scene.ok(&["tree"]).contains("lesson “missing.txt is not there”  left n4–n7, taken back"));
    assert_eq!(scene.ok(&["redo"]), "⤺ left n4–n7 (4 nodes), n8 on the trunk again, head at n8\n");
    assert!(scene.ok(&["tree"]).contains("⤺ undo, taken back by redo\n"));
    let again = scene.run(&["redo"]);
    assert_eq!(again.exit, Some(1));
    assert_eq!(again.err, "error: there is no move of the head to make again\n");
}

#[test]
fn a_person_may_leave_a_prompt_and_take_a_lesson_along() {
    let (scene, _endpoint) = scene();
    let said = scene.run(&["revert", "n0", "--lesson", "ask otherwise"]);
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Some(0), "⤺ left n1–n3, n8 (4 nodes), head at n0\n"),
        "{}",
        said.err
    );
    assert_eq!(
        said.err,
        "files are not changed by this\n  take it back     trunkline undo ID\n  see it           trunkline tree ID\n  go on from here  trunkline resume ID\n"
    );
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("╰─╮\n  ○ n1 you") && tree.contains("“ask otherwise”"), "{tree}");
}

#[test]
fn a_node_that_is_not_there_is_wrong_usage_and_says_what_would_work() {
    let (scene, _endpoint) = scene();
    let said = scene.run(&["revert", "n99"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: revert target n99 not found; targets that would work: n0, n1, n3 (newest last)
    "#]]
    .assert_eq(&said.err);
    let said = scene.run(&["revert", "n5"]);
    assert_eq!(said.exit, Some(1), "n5 exists, but it was left: {}", said.err);
    assert_eq!(scene.run(&["show", "--node", "x"]).exit, Some(2));
}

#[test]
fn a_long_lesson_is_drawn_in_full() {
    let (scene, _endpoint) = scene();
    let lesson = "the file that everybody looks for has never been there, so ask the person who wrote the ticket first";
    assert_eq!(scene.run(&["revert", "n1", "--lesson", lesson]).exit, Some(0));
    let tree = scene.ok(&["tree"]);
    let end = tree.split_once("\n⤺ lesson left n2").map_or("", |(_, end)| end);
    expect![[r#"
        –n3, n8
            “the file that everybody looks for has never been there, so ask the person who wrote the ticket
            first”

        2 nodes on the trunk, 7 beside it on 2 branches
    "#]]
    .assert_eq(end);
    assert!(tree.lines().all(|line| line.chars().count() <= 100), "{tree}");
}

#[test]
fn a_session_can_be_moved_when_its_folder_is_gone() {
    let (scene, _endpoint) = scene();
    let moved = scene.path("elsewhere");
    std::fs::rename(scene.work(), &moved).expect("renamed");
    let run = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        scene.said(command.current_dir(&moved).output().expect("it runs"))
    };
    assert_eq!(run(&["revert", "n1"]).exit, Some(0));
    let said = run(&["resume"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.err.starts_with("error: the session's folder TMP/work is not there\n"), "{}", said.err);
}

#[test]
fn a_long_straight_stretch_is_drawn_by_its_ends() {
    let mut answers: Vec<Answer> = (0..16).map(|_| calls("list_files", "{}")).collect();
    answers.push(says("Done."));
    let (scene, _endpoint) = Scene::with(answers);
    // Nobody is told that this gets nowhere.
    assert_eq!(scene.run(&["run", "look", "-q", "--no-revert"]).exit, Some(0));
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("┊ … 14 nodes more; --all draws them\n"), "{tree}");
    assert!(scene.ok(&["tree", "--all"]).contains("n17"));
}
