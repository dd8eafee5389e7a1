//! Decision objects in the form of another system: written, read back, and how they stand.

use serde_json::Value;
use trunkline_runtime::decision_objects::Object;
use trunkline_runtime::decision_objects::git_internal::import;

use crate::deciding_runs::rolled_back;
use crate::fake::Scene;

/// A family of eight runs in our form.
const OURS: &str = include_str!("families/ours.jsonl");
/// The same as the command writes it for git-internal; `cargo xtask test git-internal` has the real one read it.
const THEIRS: &str = include_str!("families/git-internal.jsonl");

/// Takes a text in, and gives the name of the session that holds it.
fn taken_in(scene: &Scene, text: &str) -> String {
    let file = scene.path("objects.jsonl");
    std::fs::write(&file, text).expect("written");
    let said = scene.command(&["import", file.to_str().expect("plain")]).output().expect("it runs");
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).expect("UTF-8").trim().to_owned()
}

fn exported(scene: &Scene, session: &str) -> (Option<i32>, String, String) {
    let arguments = ["decisions", "--export", "git-internal", "-s", session];
    let said = scene.command(&arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (said.status.code(), text(said.stdout), text(said.stderr))
}

#[test]
fn a_family_goes_there_and_comes_back_byte_for_byte() {
    let scene = Scene::new();
    let ours = taken_in(&scene, OURS);
    let (exit, text, told) = exported(&scene, &ours);
    // A selection has no form there, and that is told.
    assert_eq!(exit, Some(1), "{told}");
    assert!(told.contains("left out: selection "), "{told}");
    assert!(told.contains("has no place there: decision: evidence, in "), "{told}");
    assert_eq!(text, THEIRS);
    let theirs = taken_in(&scene, THEIRS);
    let (exit, text, told) = exported(&scene, &theirs);
    assert_eq!((exit, text.as_str()), (Some(0), THEIRS), "{told}");
    // Nothing is taken in twice.
    assert_eq!(taken_in(&scene, THEIRS), "");
    assert_eq!(scene.ok(&["sessions"]).lines().count(), 2);
}

#[test]
fn what_was_taken_in_is_shown_and_checked() {
    let scene = Scene::new();
    let session = taken_in(&scene, THEIRS);
    let shown = scene.ok(&["decisions", "-s", &session]);
    assert!(shown.contains("intent ID  completed  fix it  by intent_event ID"), "{shown}");
    assert!(shown.contains("task ID  failed  fix it  by task_event ID"), "{shown}");
    let checked = scene.run(&["decisions", "--check", "-s", &session]);
    // A rollback does not say there what it undoes.
    assert_eq!(checked.exit, Some(3), "{}", checked.err);
    assert!(checked.out.contains("a rollback does not say which decision it undoes"), "{}", checked.out);
    assert!(checked.err.contains(", 1 with violations"), "{}", checked.err);
    // There is no conversation in it, and none is begun among what came from elsewhere.
    let said = scene.run(&["resume", &session, "-p", "go on"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("holds imported decision objects, and no conversation"), "{}", said.err);
    // It is a session like any other: whole, and moved as one.
    assert_eq!(scene.run(&["doctor"]).exit, Some(0));
    let file = scene.path("session.jsonl");
    let file = file.to_str().expect("plain");
    scene.ok(&["export", &session, "-o", file]);
    let other = Scene::new();
    assert_eq!(other.run(&["import", file]).exit, Some(0));
    assert_eq!(exported(&other, &session).1, THEIRS);
}

#[test]
fn how_things_stand_is_told_of_a_file_and_of_a_session() {
    let scene = Scene::new();
    let file = scene.path("objects.jsonl");
    std::fs::write(&file, OURS).expect("written");
    let file = file.to_str().expect("plain");
    let lines: Vec<Value> = scene
        .ok(&["decisions", "--json", "--status", file])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let states = |kind: &str| -> Vec<&str> {
        lines
            .iter()
            .filter(|line| line["kind"] == kind)
            .map(|line| line["state"].as_str().unwrap_or("-"))
            .collect()
    };
    assert_eq!(states("intent"), ["completed", "-"]);
    assert_eq!(states("task"), ["done", "done", "done", "done", "failed", "running"]);
    let runs = states("run");
    assert_eq!(
        runs,
        [
            "completed",
            "failed",
            "checkpointed",
            "completed",
            "completed",
            "completed",
            "failed",
            "validating"
        ]
    );
    let last = lines.iter().rfind(|line| line["kind"] == "run").expect("there is one");
    assert!(last["candidates"].as_array().is_some_and(|all| all.len() == 2), "{last}");
    assert!(last["patch_set"].as_str().is_some_and(|chosen| last["candidates"][1] == chosen), "{last}");
    let page = scene.ok(&["decisions", "--status", file]);
    assert!(page.contains("selected  ID of 2 candidates"), "{page}");
    std::fs::write(file, "{}\n").expect("written");
    assert_eq!(scene.run(&["decisions", "--status", file]).exit, Some(2));
}

#[test]
fn what_a_session_has_done_is_written_as_far_as_there_is_a_form_for_it() {
    let (scene, _endpoint) = rolled_back();
    assert_eq!(scene.run(&["decide", "rollback", "last", "--yes"]).exit, Some(0));
    let file = scene.path("out.jsonl");
    let file = file.to_str().expect("plain");
    let all = ["decisions", "--export", "git-internal", "--all", "-o", file];
    scene.run(&all);
    let text = std::fs::read_to_string(file).expect("written");
    let read: Vec<Option<Object>> =
        text.lines().map(|line| import(line.as_bytes()).expect("it can be read").object).collect();
    let kinds: Vec<&str> = read.iter().flatten().map(|object| object.kind().as_str()).collect();
    assert!(kinds.contains(&"patch_set") && kinds.contains(&"decision"), "{kinds:?}");
    // An existing file stays as it is.
    let again = scene.run(&all);
    assert_eq!(again.exit, Some(2), "{}", again.err);
    assert!(again.err.contains("exists already"), "{}", again.err);
    let one = scene.run(&["decisions", "last", "--export", "git-internal"]);
    assert!(one.out.lines().count() < text.lines().count(), "{}", one.out);
    assert!(one.out.contains("rollback"), "{}", one.out);
    let status = scene.ok(&["decisions", "--status"]);
    assert_eq!(status.lines().filter(|line| line.starts_with("run ID  completed")).count(), 2, "{status}");
    assert!(status.contains("undone by  ID"), "{status}");
}

#[test]
fn nothing_is_taken_in_of_a_file_with_a_line_that_is_no_object() {
    let scene = Scene::new();
    let file = scene.path("objects.jsonl");
    let good = THEIRS.lines().next().expect("there is one");
    let bad = [
        format!("{good}\n{{}}\n"),
        format!("{good}\nnot JSON\n"),
        format!("{good}\n{}\n", good.replace("\"version\":1", "\"version\":\"1\"")),
        format!("{good}\n{}\n", OURS.lines().next().expect("one").replace("\"version\":1", "\"version\":9")),
    ];
    for text in bad {
        std::fs::write(&file, &text).expect("written");
        let said = scene.run(&["import", file.to_str().expect("plain")]);
        assert_eq!(said.exit, Some(1), "{}", said.err);
        assert!(said.err.contains("line 2 is no decision object: "), "{}", said.err);
        assert!(said.err.contains("nothing was taken in"), "{}", said.err);
    }
    let mut bytes = good.as_bytes().to_vec();
    bytes.extend(b"\n\xff\n");
    std::fs::write(&file, bytes).expect("written");
    assert_eq!(scene.run(&["import", file.to_str().expect("plain")]).exit, Some(1));
    assert_eq!(scene.run(&["sessions"]).out, "");
}
