//! What the model may do with its branches and results where `--moves` says so, and how that is shown.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;

use crate::fake::{Answer, Endpoint, Scene, calls, says};

/// Reads a long file, leaves its result out, leaves the branch, merges it, and goes back to it.
fn there_and_back() -> Vec<Answer> {
    vec![
        calls("read_file", r#"{"path":"long.txt"}"#),
        calls("prune_result", r#"{"results":["n3"]}"#),
        calls("revert_to_state", r#"{"category":"failure","step":"n1","summary":"long.txt has 100 lines"}"#),
        calls("merge_left_branch", r#"{"branches":["n3","n99"]}"#),
        calls("merge_left_branch", r#"{"branches":["n3"]}"#),
        calls("return_to_branch", r#"{"category":"tangent","branch":"n3","summary":"merged it as well"}"#),
        calls("recall_result", r#"{"result":"n3"}"#),
        says("It has 100 lines."),
    ]
}

fn scene() -> (Scene, Endpoint, String) {
    let (scene, endpoint) = Scene::with(there_and_back());
    std::fs::write(scene.work().join("long.txt"), "a line\n".repeat(100)).expect("a file");
    let said = scene.run(&["run", "read it", "--system", "/dev/null", "--moves", "merge,go,prune"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    (scene, endpoint, said.err)
}

#[test]
fn moves_of_the_model_are_told_while_it_runs_and_shown_afterwards() {
    let (scene, endpoint, told) = scene();
    let told: String = told
        .lines()
        .filter(|line| line.contains('⤺') || line.contains('⤓'))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        ⤓ pruned n3 (1300 bytes of read_file)
        ⤺ left n2–n7, back at n1 (failure): long.txt has 100 lines
        ⤺ not merged: merge refused: n99 not found; branches that could be merged: n7 (newest last)
        ⤺ n12 merges n7, 1 line
        ⤺ left n8–n14, n2–n7 on the trunk again (tangent): merged it as well
    "#]]
    .assert_eq(&told);
    expect![[r#"
        read it
        ID

        ● n0  system  (no words)
        ● n1  you     read it
        ├─╮
        │ ○ n8  model   → Merge left branch n3, n99
        │ ┊ n9    ✗ Merge left branch n3, n99  merge refused: n99 not found; branches that could be merged:…
        │ ○ n10 model   → Merge left branch n3
        │ ┊ n11   ✓ Merge left branch n3  merge applied: what came of n7 follows, 1 line
        │ ○ n12 merge   long.txt has 100 lines  merges n7
        │ ○ n13 model   → Return to branch n3
        │ ┊ n14   ✓ Return to branch n3  return applied (tangent): the conversation goes on from n7, the en…
        ⤺ finding “merged it as well”  left n8–n14
        ⤺ lesson “long.txt has 100 lines”  left n2–n7, which is back
        ● n2  model   → Read file long.txt
        │ n3    ✓ Read file long.txt  1 a line  pruned since n5
        ● n4  model   → Prune result n3
        │ n5    ✓ Prune result n3  left out from now on: n3 (1,300 bytes of read_file); recall_result retur…
        ● n6  model   → Revert to State (revert_to_state) n1
        │ n7    ✓ Revert to State (revert_to_state) n1  revert applied (failure): the conver…  merged by n12
        ● n15 model   → Recall result n3
        │ n16   ✓ Recall result n3  what read_file returned then:
        ◉ n17 model   It has 100 lines.  ← head
        ◆ other: answered — the model answered and no file was changed

        11 nodes on the trunk, 7 beside it on 1 branch
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    let shown = scene.ok(&["show", "-n", "n3"]);
    assert!(shown.contains("↳ pruned since n5: the model reads a line"), "{shown}");
    assert!(shown.contains("a line"), "the log has it: {shown}");
    let reflog = scene.ok(&["reflog"]);
    for kind in ["model return", "model merge", "model revert"] {
        assert!(reflog.contains(kind), "{reflog}");
    }
    for json in [scene.ok(&["tree", "--json"]), scene.ok(&["show", "--json"])] {
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let node = json["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "n3").unwrap();
        assert_eq!(node["pruned_since"], "n5");
    }
    let last = endpoint.requests().pop().unwrap();
    assert!(last.contains("[pruned] 1300 bytes") && last.contains("what read_file returned then:"), "{last}");
    let mut follower =
        scene.command(&["follow", "-n", "100"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let told = lines.any(|line| line.expect("UTF-8").contains("⤓ pruned n3"));
    follower.kill().expect("it can be killed");
    follower.wait().expect("it ends");
    assert!(told, "follow tells of it");
}

#[test]
fn nothing_of_it_is_offered_unless_it_is_asked_for_and_the_next_command_asks_again() {
    let (scene, endpoint) = Scene::with(vec![says("Hello."), says("Hello again.")]);
    scene.ok(&["run", "hi", "-q"]);
    let said = scene.run(&["run", "hi", "--moves", "go", "--moves", "prune"]);
    assert!(said.err.contains("trunkline resume ID --moves go,prune -p"), "{}", said.err);
    let requests = endpoint.requests();
    for name in ["merge_left_branch", "return_to_branch", "prune_result", "recall_result"] {
        assert!(!requests[0].contains(name), "{name}");
        // The description of one may name another: what is offered has it for its name.
        let offered = requests[1].contains(&format!("\"name\":\"{name}\""));
        assert_eq!(offered, name != "merge_left_branch", "{name}");
    }
    for wrong in [&["run", "x", "--no-revert", "--moves", "go"][..], &["run", "x", "--moves", "all"]] {
        assert_eq!(scene.run(wrong).exit, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_branch_that_a_person_left_stays_out_of_the_models_reach() {
    let (scene, endpoint) = Scene::with(vec![
        says("One."),
        calls("return_to_branch", r#"{"category":"failure","branch":"n2"}"#),
        calls("merge_left_branch", r#"{"branches":["n2"]}"#),
        says("Two."),
    ]);
    scene.ok(&["run", "hi", "-q"]);
    scene.ok(&["revert", "n1"]);
    let said = scene.run(&["resume", "--moves", "merge,go"]);
    assert!(
        said.err.contains("⤺ not merged: merge refused: you did not leave the branch of n2"),
        "{}",
        said.err
    );
    let last = endpoint.requests().pop().unwrap();
    assert!(last.contains("return refused: you did not leave the branch of n2; the user did"), "{last}");
    assert!(scene.ok(&["tree"]).contains("Two."));
}
