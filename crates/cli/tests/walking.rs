//! A person walks through a session: goes anywhere, merges, names, and sees where everything was.

use expect_test::expect;

use crate::fake::{Answer, Endpoint, Scene, begins, calls, says};
use crate::made;

/// Two answers to one prompt: n2–n4 were left at n1, n5 stands on the trunk.
fn two_answers(more: Vec<Answer>) -> (Scene, Endpoint) {
    let mut answers = vec![
        calls("list_files", "{}"),
        says("A parser by hand is fast. It needs 300 lines."),
        says("A generated one is slow."),
    ];
    answers.extend(more);
    let (scene, endpoint) = Scene::with(answers);
    assert_eq!(scene.run(&["run", "which parser?", "-q", "--system", "/dev/null"]).exit, Some(0));
    scene.ok(&["name", "by-hand"]);
    scene.ok(&["go", "n1"]);
    scene.ok(&["resume", "-q"]);
    (scene, endpoint)
}

/// Leaves out when each move was made.
fn without_times(reflog: &str) -> String {
    let lines = reflog.lines().map(|line| {
        let cells = line.split("  ").filter(|cell| !cell.trim().is_empty()).map(str::trim);
        cells
            .enumerate()
            .filter(|(place, _)| *place != 3)
            .map(|(_, cell)| cell)
            .collect::<Vec<_>>()
            .join("  ")
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_person_goes_to_any_node_and_takes_it_back() {
    let (scene, _endpoint) = two_answers(Vec::new());
    let said = scene.run(&["go", "[n2]"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    expect![[r#"
        ⤺ left n5 (1 node), n2–n3 on the trunk again, head at n3
          n2 belongs to a group of calls that ends at n3
    "#]]
    .assert_eq(&said.out);
    expect![[r#"
        files are not changed by this
          take it back     trunkline undo ID
          see it           trunkline tree ID
          go on from here  trunkline resume ID
    "#]]
    .assert_eq(&said.err);
    assert_eq!(scene.ok(&["go", "by-hand"]), "⤺ n4 on the trunk again, head at n4\n");
    assert_eq!(scene.ok(&["undo"]), "⤺ left n4 (1 node), head at n3\n");
    let there = scene.run(&["go", "3"]);
    assert_eq!((there.exit, there.err.as_str()), (Some(1), "error: the head is at n3 already\n"));
    let none = scene.run(&["go", "n99"]);
    assert_eq!(
        (none.exit, none.err.as_str()),
        (Some(2), "error: n99 does not exist; the newest node is n5\n")
    );
    let none = scene.run(&["go", "by-foot"]);
    expect![[r#"
        error: there is no node and no name "by-foot"
          hint: a node is named like n12; names: by-hand
    "#]]
    .assert_eq(&none.err);
    assert_eq!(none.exit, Some(2));
    let off = scene.run(&["revert", "n5"]);
    assert!(off.err.contains("hint: `trunkline go n5 -s ID` puts the head there"), "{}", off.err);
}

#[test]
fn a_merge_is_shown_first_then_made_and_taken_back() {
    let (scene, endpoint) = two_answers(vec![says("By hand, then.")]);
    let planned = scene.run(&["merge", "by-hand", "--dry-run"]);
    expect![[r#"
        ⤺ would merge n4 after n5
          - A parser by hand is fast. (n4)
          - It needs 300 lines. (n4)
    "#]]
    .assert_eq(&planned.out);
    assert_eq!(planned.err, "nothing was changed\n");
    expect![[r#"
        ⤺ merged n4, head at n6
          - A parser by hand is fast. (n4)
          - It needs 300 lines. (n4)
    "#]]
    .assert_eq(&scene.ok(&["merge", "by-hand"]));
    scene.ok(&["resume", "-q"]);
    let sent = endpoint.requests().pop().expect("it was asked");
    assert!(sent.contains("It needs 300 lines. (n4)"), "{sent}");
    expect![[r#"
        which parser?
        ID

        ● n0 system  (no words)
        ● n1 you     which parser?
        ├─╮
        │ ○ n2 model   → List files
        │ ┊ n3   ✓ List files  [no files]
        │ ○ n4 model   A parser by hand is fast. It needs 300 lines.  merged by n6  ⟂ by-hand
        │ ⤺ a person went to n1
        │ ◆ other: answered — the model answered and no file was changed
        ● n5 model   A generated one is slow.
        ◆ other: answered — the model answered and no file was changed
        ● n6 merge   A parser by hand is fast. It needs 300 lines.  merges n4
        ◉ n7 model   By hand, then.  ← head
        ◆ other: answered — the model answered and no file was changed

        5 nodes on the trunk, 3 beside it on 1 branch
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    let shown = scene.ok(&["show", "--node", "n6"]);
    assert!(shown.contains("\n  ↳ merges n4\n  Merged from a branch"), "{shown}");
    let shown = scene.ok(&["show", "--node", "by-hand"]);
    assert!(shown.contains("\n  ↳ ⟂ by-hand\n  ↳ merged by n6\n"), "{shown}");
    let again = scene.run(&["merge", "n4"]);
    assert_eq!(again.exit, Some(1));
    assert!(again.err.contains("n4 was merged before, by n6"), "{}", again.err);

    assert_eq!(scene.ok(&["undo"]), "⤺ left n6–n7 (2 nodes), head at n5\n");
    let tree = scene.ok(&["tree"]);
    assert!(
        tree.contains(
            "⤺ undo “the merge made here was undone by the user: what it brought is gone”  left n6–n7\n"
        ),
        "{tree}"
    );
    expect![[r#"
        m2  undo of m1  n7 → n5  in force
        m1  merge  n4 → n6  taken back by m2
        m0  go  n4 → n1  in force
    "#]]
    .assert_eq(&without_times(&scene.ok(&["reflog"])));
    scene.ok(&["redo"]);
    let reflog = scene.run(&["reflog"]);
    expect![[r#"
        m3  redo of m1  n5 → n7  in force
        m2  undo of m1  n7 → n5  taken back by m3
        m1  merge  n4 → n6  in force, made again
        m0  go  n4 → n1  in force
    "#]]
    .assert_eq(&without_times(&reflog.out));
    assert_eq!(reflog.err, "  take back m1     trunkline undo ID\n");
    let json: serde_json::Value = serde_json::from_str(&scene.ok(&["reflog", "--json"])).expect("JSON");
    assert_eq!((&json["moves"][1]["id"], &json["moves"][1]["in_force"]), (&"m2".into(), &false.into()));
    let json: serde_json::Value = serde_json::from_str(&scene.ok(&["tree", "--json"])).expect("JSON");
    assert_eq!(json["nodes"][6]["merges"], serde_json::json!(["n4"]));
}

#[test]
fn a_branch_name_follows_the_head_and_a_bookmark_stays() {
    let (scene, _endpoint) = two_answers(vec![says("Well.")]);
    assert_eq!(scene.ok(&["name", "generated"]), "generated is a branch at n5 now\n");
    assert_eq!(scene.ok(&["name", "start", "1", "--bookmark"]), "start is a bookmark at n1 now\n");
    scene.ok(&["resume", "-q", "-p", "sure?"]);
    expect![[r#"
        ⟂ by-hand    branch n4  beside the trunk, 3 nodes after n1
        ⟂ generated  branch n7  ← head
        ⚑ start      bookmark n1
    "#]]
    .assert_eq(&scene.ok(&["name"]));
    assert_eq!(
        scene.ok(&["name", "start", "by-hand"]),
        "start is a branch at n4 now; it was a bookmark at n1\n"
    );
    assert_eq!(
        scene.ok(&["name", "start", "--delete"]),
        "nothing is called start any more; it was a branch at n4\n"
    );
    let gone = scene.run(&["name", "start", "--delete"]);
    assert_eq!((gone.exit, gone.err.as_str()), (Some(1), "error: nothing is called \"start\"\n"));
    for bad in ["n12", "12", "two words", "-x", "é"] {
        let said = scene.run(&["name", "--", bad]);
        assert_eq!(said.exit, Some(2), "{bad}: {}", said.err);
    }
    let json: serde_json::Value = serde_json::from_str(&scene.ok(&["name", "--json"])).expect("JSON");
    assert_eq!(json["names"][1]["leads_to"], "n7");
}

#[test]
fn whoever_writes_the_session_makes_the_move_and_gives_the_name() {
    let (scene, endpoint) = two_answers(vec![begins("Let me"), says("Done.")]);
    let child = scene.command(&["resume", "-p", "sure?"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || endpoint.requests().len() == 4);
    for asked in [vec!["name", "here", "n5"], vec!["merge", "by-hand"], vec!["go", "n4"]] {
        let said = scene.run(&asked);
        assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
        assert!(said.err.contains("left a note, it will be read before its next step"), "{}", said.err);
    }
    scene.ok(&["cancel"]);
    child.wait_with_output().expect("it ends");
    // The head had moved on when the letters were read, but a name has no place in time.
    let resumed = scene.run(&["resume"]);
    assert_eq!(resumed.exit, Some(0), "{}", resumed.err);
    assert!(scene.ok(&["name"]).contains("⟂ here     branch n"), "{}", scene.ok(&["name"]));
}

#[test]
fn what_is_covered_is_folded() {
    let scene = Scene::new();
    let tree = "n0 system: Speak of the weather.
        n1 user: rain?
        n2 assistant: no
        n3 user: and now?
        n4 assistant: no
        n5 # n1..n4 harness: they asked twice, and there was none
        n6 user: and now?
        n7 assistant: a little";
    scene.import(&made::of_tree(1, "the weather", 5, tree));
    expect![[r#"
        the weather
        ID

        ● n0 system  Speak of the weather.
        ┊ … 4 messages covered by n5
        ├ n5 stands for n1–n4  they asked twice, and there was none
        ● n6 you     and now?
        ◉ n7 model   a little  ← head

        7 nodes on the trunk, 1 that stands for others
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    expect![[r#"
        the weather
        ID

        ● n0 system  Speak of the weather.
        ● n1 you     rain?
        ● n2 model   no
        ● n3 you     and now?
        ● n4 model   no
        ├ n5 stands for n1–n4  they asked twice, and there was none
        ● n6 you     and now?
        ◉ n7 model   a little  ← head

        7 nodes on the trunk, 1 that stands for others
    "#]]
    .assert_eq(&scene.ok(&["tree", "--all"]));
    scene.ok(&["go", "n4"]);
    expect![[r#"
        the weather
        ID

        ● n0 system  Speak of the weather.
        ● n1 you     rain?
        ● n2 model   no
        ● n3 you     and now?
        ◉ n4 model   no  ← head
        ╰ n5 stood for n1–n4, not now  they asked twice, and there was none
        ╰─╮
          ○ n6 you     and now?
          ○ n7 model   a little
          ⤺ a person went to n4

        5 nodes on the trunk, 2 beside it on 1 branch, 1 that stands for others
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    let filed = scene.run(&["go", "n5"]);
    expect![[r#"
        error: n5 stands for n1 to n4, and nothing follows it; go to n4
    "#]]
    .assert_eq(&filed.err);
    let shown = scene.ok(&["show", "--node", "n5"]);
    assert!(
        shown.contains("\n  ↳ stands for n1 to n4, 4 messages, not on this trunk\n  they asked"),
        "{shown}"
    );
}

#[test]
fn names_and_merges_are_whole_in_a_narrow_terminal() {
    let (mut scene, _endpoint) = two_answers(Vec::new());
    scene.set("COLUMNS", "40");
    scene.ok(&["name", "a-name-that-is-quite-long-for-so-few-columns", "n4", "--bookmark"]);
    scene.ok(&["name", "other", "n4"]);
    scene.ok(&["merge", "n4"]);
    expect![[r#"
        which parser?
        ID

        ● n0 system  (no words)
        ● n1 you     which parser?
        ├─╮
        │ ○ n2 model   → List files
        │ ┊ n3   ✓ List files  [no files]
        │ ○ n4 model   A parser by hand is fast…
        │     merged by n6
        │     ⚑ a-name-that-is-quite-long-for-so
        │     -few-columns
        │     ⟂ by-hand
        │     ⟂ other
        │ ⤺ a person went to n1
        │ ◆ other: answered — the model answered and no file was changed
        ● n5 model   A generated one is slow.
        ◆ other: answered — the model answered and no file was changed
        ◉ n6 merge   A parse…  merges n4  ← head

        4 nodes on the trunk, 3 beside it on 1 branch
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
}

#[test]
fn nobody_goes_where_no_conversation_can_go_on() {
    let scene = Scene::new();
    let tree = "n0 system: Speak of the weather.
        n1 user: rain?
        n2 assistant:
        + call c1 look {}
        head n1
        n3 assistant: no
        n4 * n2 result c1: a little";
    scene.import(&made::of_tree(1, "the weather", 5, tree));
    let late = scene.run(&["go", "n4"]);
    assert_eq!(
        (late.exit, late.err.as_str()),
        (Some(1), "error: n4 was only filed under n2, and nothing follows it; go to n1\n")
    );
    let open = scene.run(&["go", "n2"]);
    assert_eq!(
        (open.exit, open.err.as_str()),
        (Some(1), "error: the calls of n2 never got their results; go to n1\n")
    );
    let named = scene.run(&["name", "late", "n4"]);
    assert_eq!(named.exit, Some(1));
    assert!(named.err.contains("a bookmark can name it"), "{}", named.err);
    scene.ok(&["name", "late", "n4", "--bookmark"]);
    assert!(scene.ok(&["tree"]).contains("came late  ⚑ late\n"), "{}", scene.ok(&["tree"]));
}
