//! What became of decisions since: what was put down or given up is counted, and what was rolled back is marked.

use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::Note;

use crate::deciding_runs::{at_the_limit, rolled_back};
use crate::decisions_shown::write;
use crate::fake::{Scene, begins, says};

/// The decided runs of the last session as lines of JSON, the newest first.
fn decided(scene: &Scene) -> Vec<Value> {
    let output = scene.command(&["decisions", "--json"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| !line["decision"].is_null()).collect()
}

/// What is said of each decision, the oldest first: by which later one it is taken back, or there again.
fn standing(scene: &Scene) -> Vec<String> {
    let mut lines = decided(scene);
    lines.reverse();
    let ids: Vec<Value> = lines.iter().map(|line| line["decision"]["id"].clone()).collect();
    let by = |line: &Value, field: &str| ids.iter().position(|id| *id == line[field]);
    let told = |line: &Value| match (by(line, "rolled_back_by"), by(line, "applied_again_by")) {
        (Some(by), None) => format!("rolled back by {by}"),
        (None, Some(by)) => format!("applied again by {by}"),
        (None, None) => String::new(),
        both => panic!("not both: {both:?}"),
    };
    lines.iter().map(told).collect()
}

#[test]
fn the_files_of_a_run_that_was_put_down_or_given_up_are_counted() {
    for word in ["checkpoint", "abandon", "retry"] {
        let (scene, _endpoint) = at_the_limit(Vec::new());
        assert_eq!(scene.run(&["decide", word, "half of it"]).exit, Some(0));
        let listed = scene.ok(&["decisions"]);
        assert!(listed.contains(" · 1 file +1 −1 · "), "{word}: {listed}");
        let shown = scene.run(&["decisions", "last"]);
        assert!(shown.out.contains("\nchanges    1 file +1 −1"), "{word}: {}", shown.out);
        assert!(shown.out.contains("\n  M a.txt  +1 −1\n"), "{word}: {}", shown.out);
        assert!(shown.err.contains("take back: trunkline decide rollback ID"), "{word}: {}", shown.err);
        assert!(scene.ok(&["decisions", "last", "--diff"]).contains("\n  -old\n"), "{word}");
        let line = &decided(&scene)[0];
        let set = &line["changed"]["patch_set"];
        assert_eq!(line["changed"], json!({ "patch_set": set, "files": 1, "added": 1, "deleted": 1 }));
        let sets = line["patch_sets"].as_array().expect("a list");
        assert!(sets.iter().any(|one| one["id"] == *set), "{word}: {line}");
    }
}

#[test]
fn of_a_run_that_was_put_down_and_changed_nothing_nothing_is_counted() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), begins("And")]);
    scene.ok(&["run", "say something", "-q"]);
    scene.run(&["resume", "-p", "and more", "--max-turns", "0"]);
    scene.ok(&["decide", "checkpoint", "later"]);
    assert_eq!(decided(&scene)[0]["changed"], Value::Null);
    assert!(!scene.ok(&["decisions"]).contains(" file"));
}

#[test]
fn what_was_rolled_back_says_so_and_by_what_also_where_that_was_rolled_back() {
    let (scene, _endpoint) = rolled_back();
    let has = || std::fs::read_to_string(scene.work().join("a.txt")).expect("there") == "new\n";
    assert_eq!(standing(&scene), [""]);
    let mut shown = Vec::new();
    for _ in 0..3 {
        // The newest one that changed files: the rollback before.
        scene.ok(&["decide", "rollback", "last", "--yes"]);
        let lines = decided(&scene);
        let first = lines.last().expect("the run")["decision"]["id"].as_str().expect("an id").to_owned();
        shown.push((standing(&scene), has(), scene.ok(&["decisions"]), scene.run(&["decisions", &first])));
    }
    let [once, twice, thrice] = &shown[..] else { panic!("three times") };
    assert_eq!((&once.0[..], once.1), (&["rolled back by 1", ""].map(String::from)[..], false));
    let now = ["applied again by 2", "rolled back by 2", ""].map(String::from);
    assert_eq!((&twice.0[..], twice.1), (&now[..], true));
    let now = ["rolled back by 3", "applied again by 3", "rolled back by 3", ""].map(String::from);
    assert_eq!((&thrice.0[..], thrice.1), (&now[..], false));

    let rows = |listed: &str, words: &str| listed.matches(words).count();
    assert_eq!(
        (rows(&once.2, "rolled back by ID · by "), rows(&once.2, "applied again")),
        (1, 0),
        "{}",
        once.2
    );
    let told = (rows(&twice.2, "rolled back by ID · by "), rows(&twice.2, "applied again by ID · by "));
    assert_eq!(told, (1, 1), "{}", twice.2);

    for (_, _, _, said) in &shown {
        assert!(said.out.contains("\nundone by  ID  roll back ID\n"), "{}", said.out);
        assert!(said.err.contains("  undone by: trunkline decisions ID\n"), "{}", said.err);
        assert!(!said.err.contains("take back"), "it cannot be rolled back twice: {}", said.err);
    }
    assert!(!once.3.out.contains("\nnow "), "{}", once.3.out);
    assert!(twice.3.out.contains("\nnow        applied again by ID  roll back ID\n"), "{}", twice.3.out);
    assert!(
        thrice.3.out.contains("\nnow        rolled back again by ID  roll back ID\n"),
        "{}",
        thrice.3.out
    );
    // The rollback that holds can be taken back, and says what it undoes.
    let last = scene.run(&["decisions", "last"]);
    assert!(last.out.contains("\nundoes     ID  roll back ID\n"), "{}", last.out);
    assert!(last.err.contains("take back: ") && !last.err.contains("undone by: "), "{}", last.err);
}

#[test]
fn rollbacks_that_undo_one_another_in_a_circle_are_listed() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    scene.ok(&["run", "say something", "-q"]);
    let id = |number: u8| format!("01a1ffdf-0c36-7662-806b-85dcbc1f1c3{number}");
    for (this, other) in [(1, 2), (2, 1)] {
        let run = format!("01900000-0000-7000-8000-00000000000{this}");
        let text = format!(
            r#"{{"type":"decision","version":1,"id":"{}","run":"{run}","at":"2026-11-21T20:49:30Z","decided_by":{{"kind":"human","id":"ann"}},"verdict":{{"kind":"rollback","of":"{}"}},"evidence":[],"considered":[]}}"#,
            id(this),
            id(other),
        );
        write(&scene, Note::new("decision", "decided", Timestamp(1), text).once(run, "rollback"));
    }
    // Only what came later can have undone something.
    assert_eq!(standing(&scene), ["", "rolled back by 2", ""]);
    assert_eq!(scene.ok(&["decisions"]).matches("rolled back by ID").count(), 1);
}
