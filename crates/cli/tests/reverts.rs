//! How a model goes back: what of it is told, what is set for it.

use serde_json::Value;

use crate::fake::{Scene, calls, calls_all, says};

fn asks(arguments: &str) -> (&'static str, String) {
    ("revert_to_state", arguments.to_owned())
}

#[test]
fn every_request_to_go_back_has_a_line_also_one_that_could_not_be_read() {
    let all = [
        asks(r#"{"step":"n1"}"#),
        asks(r#"{"category":"failure","step":"n99","summary":"no"}"#),
        asks(r#"{"category":"wrong","step":"n1"}"#),
    ];
    let (scene, _endpoint) = Scene::with(vec![
        calls("list_files", "{}"),
        calls_all(&all),
        calls("revert_to_state", "[1]"),
        says("Well."),
    ]);
    let said = scene.run(&["run", "go back"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let lines = [
        r#"⤺ not read: category is required; the model wrote: {"step":"n1"}"#,
        "⤺ not left: revert target n99 not found; targets that would work: n1, n3 (newest last)",
        r#"⤺ not read: category must be one of failure | tangent | completion | step-summary; got "wrong"; the model wrote: {"category":"wrong","step":"n1"}"#,
        "⤺ not read: arguments must be a JSON object: invalid type: sequence, expected a map at line 1 column 0; the model wrote: [1]",
    ];
    for line in lines {
        assert_eq!(said.err.matches(line).count(), 1, "{line}: {}", said.err);
    }
    // In the order of the calls, and so in the log.
    let shown = scene.ok(&["show"]);
    let places: Vec<usize> = lines.iter().map(|line| shown.find(line).expect("it is shown")).collect();
    assert!(places.is_sorted(), "{shown}");
    let listed = scene.run(&["reflog"]);
    let listed: Vec<&str> = listed.out.lines().collect();
    let expected = [("n8", lines[3]), ("n4", lines[2]), ("n4", lines[1]), ("n4", lines[0])];
    assert_eq!(listed, expected.map(|(node, line)| format!("{node}  {line}")));
    for command in ["show", "reflog"] {
        let json: Value = serde_json::from_str(&scene.ok(&[command, "--json"])).expect("JSON");
        let unread = json["unread_reverts"].as_array().expect("a list");
        let places: Vec<String> =
            unread.iter().map(|one| format!("{} {}", one["call"]["node"], one["call"]["index"])).collect();
        assert_eq!(places, [r#""n4" 0"#, r#""n4" 2"#, r#""n8" 0"#], "{command}");
        assert_eq!(json["refused_reverts"][0]["target"], "n99");
    }
}
