//! What is shown of something that waits: whether it still fits the files, what can be done with it, and where.

use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, calls, calls_all, says};

fn writes(name: &str, content: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": content }).to_string())
}

fn one_waiting() -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(vec![writes("a.txt", "one\n"), says("Done.")]);
    std::fs::write(scene.work().join("a.txt"), "before\n").expect("written");
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    (scene, endpoint)
}

fn json_of(scene: &Scene, arguments: &[&str]) -> Value {
    let out = scene.command(arguments).output().expect("the binary runs").stdout;
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn a_file_that_has_changed_since_is_named_where_somebody_decides() {
    let (scene, _endpoint) = one_waiting();
    assert!(!scene.ok(&["resolve"]).contains("since") && !scene.ok(&["resolve", "p1"]).contains("since"));
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    assert!(scene.ok(&["resolve"]).contains("  a.txt has changed since"));
    assert!(scene.ok(&["resolve", "p1"]).ends_with("proposed\na.txt has changed since\n"));
    assert_eq!(json_of(&scene, &["resolve", "p1", "--json"])["changed"], json!(["a.txt has changed since"]));
    std::fs::remove_file(scene.work().join("a.txt")).expect("removed");
    assert!(scene.ok(&["resolve", "p1"]).contains("a.txt is gone since"));
}

#[test]
fn in_a_folder_that_has_moved_it_is_done_where_the_person_says() {
    let (scene, _endpoint) = one_waiting();
    let moved = scene.path("moved");
    let named = moved.to_str().expect("UTF-8");
    std::fs::rename(scene.work(), &moved).expect("moved");
    let said = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        scene.said(command.current_dir(&moved).output().expect("it runs"))
    };
    assert!(!said(&["resolve", "p1"]).out.contains("since"));
    let refused = said(&["resolve", "p1", "apply"]);
    assert_eq!(refused.exit, Some(2), "{}", refused.err);
    assert!(refused.err.contains("name it: trunkline resolve p1 apply -s ID -C DIR\n"), "{}", refused.err);
    let undone = said(&["resolve", "p1", "apply", "-C", named]);
    assert_eq!((undone.exit, undone.out.as_str()), (Some(0), "p1 applied\n"), "{}", undone.err);
    assert_eq!(std::fs::read_to_string(moved.join("a.txt")).expect("there"), "one\n");
    let refused = said(&["resolve", "p1", "undo"]);
    assert!(refused.err.contains("name it: trunkline resolve p1 undo -s ID -C DIR\n"), "{}", refused.err);
    assert_eq!(said(&["resolve", "p1", "undo", "-C", named]).exit, Some(0));
    assert_eq!(said(&["resolve", "-C", named]).exit, Some(2), "which session is not said");
}

#[test]
fn what_came_back_is_compared_and_decided_in_one_go() {
    for (act, file, told) in [
        ("apply", "before\n", "p1 applied\n"),
        ("discard", "before\n", "p1 discarded\n"),
        ("discard", "mine\n", "p1 discarded\n"),
    ] {
        let (scene, endpoint) = one_waiting();
        scene.ok(&["revert", "n1"]);
        scene.ok(&["undo"]);
        std::fs::write(scene.work().join("a.txt"), file).expect("written");
        let shown = scene.run(&["resolve", "p1"]);
        assert!(shown.out.contains("\nstale\n"), "{}", shown.out);
        assert!(shown.err.contains("resolve p1 apply -s ID\n"), "{}", shown.err);
        let said = scene.run(&["resolve", "p1", act]);
        assert_eq!((said.exit, said.out.as_str()), (Some(0), told), "{act}: {}", said.err);
        let now = std::fs::read_to_string(scene.work().join("a.txt")).expect("there");
        assert_eq!(now, if act == "apply" { "one\n" } else { file });
        assert_eq!(endpoint.requests().len(), 1, "deciding asks no model");
    }
    let (scene, _endpoint) = one_waiting();
    scene.ok(&["revert", "n1"]);
    scene.ok(&["undo"]);
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert!(said.err.contains("p1 is discarded: the harness discarded it "), "{}", said.err);
    assert!(said.err.contains("it no longer fits the files"), "{}", said.err);
    // What ended it is said where it is listed, too.
    assert!(scene.ok(&["resolve", "-a"]).contains("  (it no longer fits the files)\n"));
    assert!(scene.ok(&["resolve", "p1"]).contains("\ndiscarded (it no longer fits the files)\n"));
}

#[test]
fn an_undo_tells_programs_what_it_proposed() {
    let (scene, _endpoint) = one_waiting();
    let id = scene.ids().remove(0);
    let early = json_of(&scene, &["resolve", "p1", "undo", "--json"]);
    assert!(early["results"][0]["error"].is_string() && early["results"][0]["proposal"].is_null(), "{early}");
    scene.ok(&["resolve", "p1", "apply"]);
    let offered =
        json!({ "session": id, "proposal": "p2", "state": "proposed", "error": null, "undo_of": "p1" });
    let told = json_of(&scene, &["resolve", "p1", "undo", "--json"]);
    assert_eq!(told, json!({ "version": 1, "results": [offered] }));
}

#[test]
fn what_an_import_voids_is_not_offered() {
    let (scene, _endpoint) = one_waiting();
    let file = scene.path("whole.jsonl");
    scene.ok(&["export", "--output", file.to_str().expect("UTF-8")]);
    let other = scene.path("other.db");
    let other = other.to_str().expect("UTF-8");
    scene.ok(&["--store", other, "import", file.to_str().expect("UTF-8")]);
    let listed = scene.run(&["--store", other, "resolve"]);
    assert_eq!((listed.exit, listed.out.as_str()), (Some(0), ""));
    assert_eq!(listed.err, "nothing waits for a decision\n");
    let listed = scene.run(&["--store", other, "resolve", "-s", "last"]);
    assert!(listed.err.contains("ID came with an import: what waited there is void\n"), "{}", listed.err);
    assert!(scene.ok(&["--store", other, "resolve", "-a"]).contains("  void: it came with an import\n"));
    let shown = scene.run(&["--store", other, "resolve", "p1"]);
    assert!(shown.err.contains("is void") && !shown.err.contains(" apply "), "{}", shown.err);
    let said = scene.run(&["--store", other, "resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert!(
        scene.ok(&["--store", other, "resolve", "p1"]).contains("it came with an import, and was dropped")
    );
}

#[test]
fn a_long_proposal_is_shown_by_its_beginning_unless_all_is_asked_for() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", &"line\n".repeat(500))]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    let shown = scene.ok(&["resolve", "p1"]);
    assert!(shown.lines().count() < 50, "{shown}");
    let more = "    … 463 more lines\n    all of it: trunkline resolve p1 -s ID --full\n";
    assert!(shown.contains(more), "{shown}");
    let all = scene.ok(&["resolve", "p1", "--full"]);
    assert_eq!(all.matches("+line\n").count(), 500);
}

#[test]
fn edits_that_wait_beside_a_command_are_named_with_it() {
    let edit = json!({ "path": "a.txt", "content": "one\n" }).to_string();
    let command = json!({ "command": "true" }).to_string();
    let answer = calls_all(&[("run_command", command), ("write_file", edit)]);
    let (scene, _endpoint) = Scene::with(vec![answer]);
    let said = scene.run(&["run", "write a.txt"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let waits = said.err.split_once("nothing of this is done yet\n").map_or("", |(_, waits)| waits);
    assert!(waits.contains("create a.txt (+1)\n") && waits.contains("run: true\n"), "{}", said.err);
}

#[test]
fn what_was_cut_off_is_not_said_to_be_applied_by_anybody() {
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", r#"{"command":"touch begun; sleep 2"}"#)]);
    assert_eq!(scene.run(&["run", "run it", "-q"]).exit, Some(1));
    let mut child = scene.command(&["resolve", "p1", "apply"]).spawn().expect("it starts");
    scene.until("it has begun", || scene.work().join("begun").exists());
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let shown = scene.run(&["resolve", "p1"]);
    assert!(shown.out.contains("\nits apply was cut off\n"), "{}", shown.out);
    assert!(shown.err.contains("it is looked up when the session goes on:\n"), "{}", shown.err);
    assert!(!shown.err.contains("discard") && !shown.err.contains("apply"), "{}", shown.err);
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!(said.exit, Some(1), "{}", said.out);
    assert!(!said.err.contains("writer"), "{}", said.err);
}

#[test]
fn what_is_shown_in_one_folder_is_not_suggested_for_another() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "one\n"), says("Done.")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    let other = scene.path("other");
    std::fs::create_dir(&other).expect("made");
    let other = other.to_str().expect("a plain path");
    for command in [&["resolve", "p1", "-C", other][..], &["resume", "last", "-C", other]] {
        let said = scene.run(command);
        assert!(said.err.contains(" -C "), "{command:?}: {}", said.err);
    }
    let said = scene.run(&["resolve", "p1", "apply", "-C", other]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("resume ") && said.err.contains(" -C "), "{}", said.err);
    assert!(std::path::Path::new(other).join("a.txt").exists() && !scene.work().join("a.txt").exists());
}
