//! Calls of a turn that was cut off by a kill, shown as what they are, and told to the model so.

use serde_json::{Value, json};

use crate::fake::{Scene, calls_all, says};

/// A run that was killed by the second of its three calls.
fn killed() -> (Scene, crate::fake::Endpoint) {
    let calls = calls_all(&[
        ("read_file", json!({ "path": "a.txt" }).to_string()),
        ("run_command", json!({ "command": "kill -9 $PPID" }).to_string()),
        ("run_command", json!({ "command": "echo third" }).to_string()),
    ]);
    let (scene, endpoint) = Scene::with(vec![calls, says("I see.")]);
    std::fs::write(scene.work().join("a.txt"), "what a has\n").expect("a file");
    let said = scene.run(&["run", "do three things", "-y"]);
    assert_eq!(said.exit, None, "it was killed: {}", said.err);
    (scene, endpoint)
}

#[test]
fn a_killed_turn_shows_what_ended_what_began_and_what_never_did() {
    let (scene, endpoint) = killed();
    let shown = scene.ok(&["show"]);
    let of_calls: Vec<&str> = shown.lines().skip_while(|line| !line.contains("→ Read file")).collect();
    assert_eq!(
        of_calls,
        [
            "  → Read file (read_file) a.txt",
            "    ended",
            "      1\twhat a has",
            "  → Run command (run_command) kill -9 $PPID",
            "    begun, not known to have ended",
            "  → Run command (run_command) echo third",
            "    never begun",
            "",
        ]
    );
    let tree = scene.ok(&["tree"]);
    for told in ["→ Read file [ended] a.txt", "Run command [begun, end unknown] kill"] {
        assert!(tree.contains(told), "{tree}");
    }
    for command in ["show", "tree"] {
        let shown: Value = serde_json::from_str(&scene.ok(&[command, "--json"])).expect("it is JSON");
        let nodes = shown["nodes"].as_array().expect("a list");
        let states: Vec<&Value> = nodes.iter().filter_map(|node| node.get("unanswered")).collect();
        assert_eq!(states.len(), 1, "{command}");
        let words: Vec<&str> =
            states[0].as_array().into_iter().flatten().filter_map(|call| call["state"].as_str()).collect();
        assert_eq!(words, ["ended", "begun", "not_begun"], "{command}");
        let text = states[0][0]["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("what a has"), "{text}");
    }

    // What goes on tells the model the same: the result, that the outcome is unknown, and of the third what came when it ran.
    let said = scene.run(&["resume", "-y"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let request = endpoint.requests().pop().expect("a request");
    assert!(request.contains("what a has"), "{request}");
    assert!(request.contains("outcome unknown: this call had begun when the program ended"), "{request}");
    assert!(request.contains("third"), "{request}");
    let shown = scene.ok(&["show"]);
    assert!(!shown.contains("never begun") && !shown.contains("begun, not known"), "{shown}");
    assert!(!scene.ok(&["show", "--json"]).contains("unanswered"));
}

#[test]
fn a_killed_turn_that_a_person_leaves_tells_the_same() {
    let (scene, _endpoint) = killed();
    let root = scene.ok(&["go", "n1"]);
    assert!(root.contains("n1"), "{root}");
    let shown = scene.ok(&["show", "--all"]);
    assert!(shown.contains("what a has"), "{shown}");
    assert!(shown.contains("outcome unknown: this call had begun"), "{shown}");
    assert!(shown.contains("not run: "), "{shown}");
}
