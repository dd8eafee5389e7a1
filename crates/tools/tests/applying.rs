//! Applying writes exactly what was approved, or nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use trunkline_agent_traits::Cancel;
use trunkline_agent_traits::resolve_queue::{Entry, Observation, Outcome, observe};

use crate::scene::{Scene, block_on, context, names};

#[test]
fn the_approved_bytes_are_written_and_seen_afterwards() {
    let scene = Scene::new();
    scene.write("a.rs", "one\ntwo\n");
    let proposal = scene.stage("edit_file", json!({"path": "a.rs", "old_text": "two", "new_text": "2"}));
    assert_eq!(observe(&proposal, &scene.observe("a.rs")), Observation::Before);
    assert_eq!(scene.apply(&proposal), "Done: edit a.rs (+1 −1).");
    assert_eq!(scene.read("a.rs").as_deref(), Some("one\n2\n"));
    assert_eq!(observe(&proposal, &scene.observe("a.rs")), Observation::After);
    assert_eq!(names(&scene.root()), ["a.rs"], "no temporary file stays");
}

#[test]
fn what_a_dead_writer_left_is_cleared_away_and_what_a_living_one_holds_is_not() {
    let scene = Scene::new();
    scene.write("a.rs", "one\n");
    let proposal = scene.stage("edit_file", json!({"path": "a.rs", "old_text": "one", "new_text": "two"}));
    scene.write(".trunkline-00000000000000aa.tmp", "half");
    scene.write(".trunkline-00000000000000bb.tmp", "half");
    scene.write(".trunkline-mine.tmp", "somebody's own");
    let living = fs::File::open(scene.root().join(".trunkline-00000000000000bb.tmp")).unwrap();
    living.lock().unwrap();
    scene.apply(&proposal);
    assert_eq!(
        names(&scene.root()),
        [".trunkline-00000000000000bb.tmp", ".trunkline-mine.tmp", "a.rs"],
        "the dead writer's file is gone, and only that"
    );
}

#[test]
fn missing_folders_are_made() {
    let scene = Scene::new();
    let proposal = scene.stage("write_file", json!({"path": "a/b/c.txt", "content": "new\n"}));
    assert_eq!(scene.apply(&proposal), "Done: create a/b/c.txt (+1).");
    assert_eq!(scene.read("a/b/c.txt").as_deref(), Some("new\n"));
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    let scene = Scene::new();
    scene.write("a.rs", "one\n");
    let proposal = scene.stage("edit_file", json!({"path": "a.rs", "old_text": "one", "new_text": "two"}));
    scene.write("a.rs", "one and a half\n");
    assert_eq!(
        scene.apply(&proposal),
        "error: Not applied: edit a.rs (+1 −1): a.rs has changed since the proposal was made\n"
    );
    assert_eq!(scene.read("a.rs").as_deref(), Some("one and a half\n"));
    assert_eq!(names(&scene.root()), ["a.rs"]);
}

#[test]
fn a_file_that_appeared_meanwhile_is_not_overwritten() {
    let scene = Scene::new();
    let proposal = scene.stage("write_file", json!({"path": "a/b.txt", "content": "mine\n"}));
    scene.write("a/b.txt", "theirs\n");
    assert_eq!(scene.apply(&proposal), "error: Not applied: create a/b.txt (+1): a/b.txt exists now\n");
    assert_eq!(scene.read("a/b.txt").as_deref(), Some("theirs\n"));
    assert_eq!(names(&scene.root().join("a")), ["b.txt"]);
}

#[test]
fn a_file_that_went_away_is_not_made_again() {
    let scene = Scene::new();
    scene.write("a/b.txt", "old\n");
    let proposal = scene.stage("write_file", json!({"path": "a/b.txt", "content": "new\n"}));
    fs::remove_dir_all(scene.root().join("a")).unwrap();
    let said = scene.apply(&proposal);
    assert!(said.starts_with("error: Not applied: overwrite a/b.txt (+1 −1): a/b.txt is gone"), "{said}");
    assert!(names(&scene.root()).is_empty());
}

#[test]
fn folders_that_were_made_in_vain_are_removed() {
    let scene = Scene::new();
    let proposal = scene.stage("write_file", json!({"path": "a/b/c.txt", "content": "new\n"}));
    let mut long = proposal;
    let name = format!("a/b/{}", "x".repeat(300));
    long.payload["files"][0]["path"] = json!(name);
    long.fingerprints[0].subject.clone_from(&name);
    long.after[0].subject.clone_from(&name);
    let said = scene.apply(&long);
    assert!(said.starts_with("error: Not applied"), "{said}");
    assert!(names(&scene.root()).is_empty(), "{:?}", names(&scene.root()));
}

#[test]
fn applying_twice_fails_the_second_time() {
    let scene = Scene::new();
    let proposal = scene.stage("write_file", json!({"path": "a.txt", "content": "new\n"}));
    assert_eq!(scene.apply(&proposal), "Done: create a.txt (+1).");
    assert_eq!(scene.apply(&proposal), "error: Not applied: create a.txt (+1): a.txt exists now\n");
}

#[test]
fn the_mode_of_the_file_is_kept() {
    let scene = Scene::new();
    scene.write("run.sh", "echo one\n");
    fs::set_permissions(scene.root().join("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    let proposal = scene.stage("edit_file", json!({"path": "run.sh", "old_text": "one", "new_text": "two"}));
    scene.apply(&proposal);
    let mode = fs::metadata(scene.root().join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);
}

#[test]
fn a_payload_cannot_name_a_place_outside() {
    let scene = Scene::new();
    let mut proposal = scene.stage("write_file", json!({"path": "a.txt", "content": "new\n"}));
    for (path, why) in [
        ("../b.txt", "../b.txt leads out of the workspace /folder"),
        ("./b.txt", "./b.txt leads to b.txt now"),
        (".git/config", ".git/config lies in .git, where file tools do not write"),
    ] {
        proposal.payload["files"][0]["path"] = json!(path);
        assert_eq!(scene.apply(&proposal), format!("error: Not applied: create a.txt (+1): {why}\n"));
    }
    proposal.payload = json!({"something": "else"});
    let said = scene.apply(&proposal);
    assert!(said.contains("the payload is not one of this tool"), "{said}");
    assert!(names(&scene.root()).is_empty());
    assert_eq!(names(&scene.outside("")), ["folder"]);
}

#[test]
fn a_cancelled_apply_writes_nothing() {
    let scene = Scene::new();
    let proposal = scene.stage("write_file", json!({"path": "a.txt", "content": "new\n"}));
    let cancel = Cancel::new();
    cancel.cancel();
    let (outcome, output) = block_on(
        scene
            .tool("write_file")
            .as_executor()
            .unwrap()
            .apply(&Entry::in_attempt(proposal), &context(&cancel)),
    );
    assert_eq!(outcome, Outcome::Failed { reason: "cancelled before anything was written".to_owned() });
    assert!(output.is_error);
    assert!(names(&scene.root()).is_empty());
}
