//! `move_file` and `delete_file`: staged, applied as approved, and taken back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::resolve_queue::{Entry, Observation, Outcome};

use crate::scene::{Scene, block_on, framed, part_of};

/// What somebody does meanwhile.
type Disturb = fn(&Scene);

/// What is no text.
const BYTES: &[u8] = b"\x89PNG\xff\x00";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("a.rs", "fn a() {}\n");
    scene.write("sub/b.rs", "fn b() {}\n");
    scene.write("logo.png", BYTES);
    fs::set_permissions(scene.root().join("a.rs"), fs::Permissions::from_mode(0o4751)).unwrap();
    scene
}

fn check(tool: &str, arguments: Value, said: Expect) {
    let scene = scene();
    scene.write(".git/config", "");
    symlink("a.rs", scene.root().join("link")).unwrap();
    symlink("/etc", scene.root().join("out")).unwrap();
    fs::hard_link(scene.root().join("a.rs"), scene.root().join("hard.rs")).unwrap();
    let before = fs::read_dir(scene.root()).unwrap().count();
    said.assert_eq(&framed(&scene.said(tool, arguments)));
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), before, "staging wrote");
}

fn moves(from: &str, to: &str, said: Expect) {
    check("move_file", json!({"from": from, "to": to}), said);
}

fn deletes(path: &str, said: Expect) {
    check("delete_file", json!({ "path": path }), said);
}

#[test]
fn a_move_names_both_ends() {
    moves(
        "a.rs",
        "new/deep/c.rs",
        expect![[r#"
        |Staged: move a.rs to new/deep/c.rs. This is a proposal; nothing is written yet.|
        |rename from a.rs|
        |rename to new/deep/c.rs|
    "#]],
    );
    // Case is a name like any other where the file system has it so.
    moves(
        "a.rs",
        "A.rs",
        expect![[r#"
        |Staged: move a.rs to A.rs. This is a proposal; nothing is written yet.|
        |rename from a.rs|
        |rename to A.rs|
    "#]],
    );
    moves(
        "logo.png",
        "sub/logo.png",
        expect![[r#"
        |Staged: move logo.png to sub/logo.png. This is a proposal; nothing is written yet.|
        |rename from logo.png|
        |rename to sub/logo.png|
    "#]],
    );
    moves(
        "a.rs",
        "b\n+evil\u{202e}.rs",
        expect![[r#"
        |Staged: move a.rs to b\n+evil\u{202e}.rs. This is a proposal; nothing is written yet.|
        |rename from a.rs|
        |rename to b\n+evil\u{202e}.rs|
    "#]],
    );
}

#[test]
fn a_move_that_cannot_be_made_is_refused_with_what_to_do() {
    moves(
        "none.rs",
        "c.rs",
        expect![[r#"
        |error: there is no none.rs in the workspace|
    "#]],
    );
    moves(
        "a.rs",
        "sub/b.rs",
        expect![[r#"
        |error: sub/b.rs exists already; choose another path, or delete it first with delete_file|
    "#]],
    );
    moves(
        "a.rs",
        "hard.rs",
        expect![[r#"
        |error: hard.rs exists already; choose another path, or delete it first with delete_file|
    "#]],
    );
    moves(
        "a.rs",
        "./sub/../a.rs",
        expect![[r#"
        |error: a.rs is where it is already|
    "#]],
    );
    moves(
        "a.rs",
        "sub",
        expect![[r#"
        |error: sub is a folder, not a file; give the whole new path, with the name of the file|
    "#]],
    );
    moves(
        "a.rs",
        "sub/",
        expect![[r#"
        |error: sub/ is a folder, not a file; give the whole new path, with the name of the file|
    "#]],
    );
    moves(
        "sub",
        "other",
        expect![[r#"
        |error: sub is a folder, not a file; move its files one by one|
    "#]],
    );
    moves(
        "link",
        "c.rs",
        expect![[r#"
        |error: link is a symbolic link; name the file that it points to|
    "#]],
    );
    moves(
        "a.rs",
        "link",
        expect![[r#"
        |error: link is a symbolic link; name the file that it points to|
    "#]],
    );
    moves(
        "a.rs",
        "a.rs/c.rs",
        expect![[r#"
        |error: a.rs/c.rs cannot be used: Not a directory (os error 20)|
    "#]],
    );
    moves(
        "a.rs",
        "../c.rs",
        expect![[r#"
        |error: ../c.rs leads out of the workspace /folder|
    "#]],
    );
    moves(
        "../a.rs",
        "c.rs",
        expect![[r#"
        |error: ../a.rs leads out of the workspace /folder|
    "#]],
    );
    moves(
        "a.rs",
        "out/c.rs",
        expect![[r#"
        |error: out/c.rs leads out of the workspace /folder|
    "#]],
    );
    moves(
        "a.rs",
        ".git/hooks/post-commit",
        expect![[r#"
        |error: .git/hooks/post-commit lies in .git, where file tools do not write|
    "#]],
    );
    moves(
        ".git/config",
        "c.rs",
        expect![[r#"
        |error: .git/config lies in .git, where file tools do not write|
    "#]],
    );
    moves(
        "",
        "c.rs",
        expect![[r#"
        |error: the path is empty|
    "#]],
    );
}

#[test]
fn a_deletion_shows_what_goes() {
    deletes(
        "a.rs",
        expect![[r#"
        |Staged: delete a.rs (−1). This is a proposal; nothing is written yet.|
        |--- a/a.rs|
        |+++ /dev/null|
        |@@ -1 +0,0 @@|
        |-fn a() {}|
    "#]],
    );
    deletes(
        "logo.png",
        expect![[r#"
        |Staged: delete logo.png (not text, 6 bytes). This is a proposal; nothing is written yet.|
        |Binary files a/logo.png and /dev/null differ|
    "#]],
    );
    deletes(
        "none.rs",
        expect![[r#"
        |error: there is no none.rs in the workspace|
    "#]],
    );
    deletes(
        "sub",
        expect![[r#"
        |error: sub is a folder, not a file; delete its files one by one|
    "#]],
    );
    deletes(
        "link",
        expect![[r#"
        |error: link is a symbolic link; name the file that it points to|
    "#]],
    );
    deletes(
        "out/passwd",
        expect![[r#"
        |error: out/passwd leads out of the workspace /folder|
    "#]],
    );
    deletes(
        ".git/config",
        expect![[r#"
        |error: .git/config lies in .git, where file tools do not write|
    "#]],
    );
}

#[test]
fn a_move_is_applied_undone_and_done_again_with_all_of_its_mode() {
    for path in ["a.rs", "logo.png"] {
        let scene = scene();
        let before = scene.files();
        let entry = Entry::in_attempt(scene.stage("move_file", json!({"from": path, "to": "new/deep/c.x"})));
        assert!(!entry.proposal.payload.to_string().contains("content"), "the bytes are not in it");
        let kept = scene.keep(&entry);
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let after = scene.files();
        assert_eq!(after.get("new/deep/c.x"), before.get(path));
        assert!(!after.contains_key(path));

        let undo = scene.undo(&entry, &kept).unwrap();
        assert_eq!(undo.preview.text, format!("move new/deep/c.x to {path}"));
        let undo = Entry::in_attempt(undo);
        let kept = scene.keep(&undo);
        assert_eq!(scene.apply_entry(&undo), Outcome::Applied);
        assert_eq!(scene.files(), before, "the folders that were made are gone too");

        let again = scene.undo(&undo, &kept).unwrap();
        assert_eq!(again.preview.text, format!("move {path} to new/deep/c.x"));
        assert_eq!(scene.apply_entry(&Entry::in_attempt(again)), Outcome::Applied);
        let mut moved = scene.files();
        assert_eq!(moved.remove("new/deep/c.x"), before.get(path).cloned());
        assert!(!moved.contains_key(path));
    }
}

#[test]
fn a_deletion_is_applied_undone_and_done_again() {
    for path in ["sub/b.rs", "logo.png"] {
        let scene = scene();
        fs::set_permissions(scene.root().join(path), fs::Permissions::from_mode(0o640)).unwrap();
        let before = scene.files();
        let entry = Entry::in_attempt(scene.stage("delete_file", json!({ "path": path })));
        let kept = scene.keep(&entry);
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let after = scene.files();
        assert!(!after.contains_key(path) && after.contains_key("sub/"), "the folder stays");

        let undo = Entry::in_attempt(scene.undo(&entry, &kept).unwrap());
        let kept = scene.keep(&undo);
        assert_eq!(scene.apply_entry(&undo), Outcome::Applied);
        assert_eq!(scene.files(), before);
        let again = Entry::in_attempt(scene.undo(&undo, &kept).unwrap());
        assert_eq!(scene.apply_entry(&again), Outcome::Applied);
        assert_eq!(scene.files(), after);
    }
}

#[test]
fn what_an_undo_of_bytes_shows() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("delete_file", json!({"path": "logo.png"})));
    let kept = scene.keep(&entry);
    scene.apply_entry(&entry);
    let undo = scene.undo(&entry, &kept).unwrap();
    expect![[r#"
        create logo.png (not text, 6 bytes)
        Binary files /dev/null and b/logo.png differ
    "#]]
    .assert_eq(&format!("{}\n{}", undo.preview.text, undo.preview.diff.clone().unwrap()));
    let undo = Entry::in_attempt(undo);
    let kept = scene.keep(&undo);
    scene.apply_entry(&undo);
    let again = scene.undo(&undo, &kept).unwrap();
    expect![[r#"
        remove logo.png (not text, 6 bytes)
        Binary files a/logo.png and /dev/null differ
    "#]]
    .assert_eq(&format!("{}\n{}", again.preview.text, again.preview.diff.clone().unwrap()));
}

#[test]
fn drift_at_either_end_is_seen_and_nothing_is_done() {
    let cases: [(Disturb, &str); 4] = [
        (|scene| scene.write("a.rs", "changed\n"), "a.rs has changed since the proposal was made"),
        (|scene| fs::remove_file(scene.root().join("a.rs")).unwrap(), "a.rs is gone"),
        (|scene| scene.write("new/c.rs", "theirs\n"), "new/c.rs: new/c.rs exists now"),
        (|scene| symlink("sub", scene.root().join("new")).unwrap(), "new/c.rs leads to sub/c.rs now"),
    ];
    for (disturb, why) in cases {
        let scene = scene();
        let entry = Entry::in_attempt(scene.stage("move_file", json!({"from": "a.rs", "to": "new/c.rs"})));
        let executor = scene.tool("move_file").as_executor().unwrap();
        let subjects: Vec<String> = entry.part().map(str::to_owned).collect();
        assert_eq!(entry.observe(&block_on(executor.observe(&subjects))), Observation::Before);
        disturb(&scene);
        let seen = entry.observe(&block_on(executor.observe(&subjects)));
        // A link that leads to a place where nothing is looks like nothing; applying finds it.
        assert_eq!(seen == Observation::Before, why.contains("leads to"), "{why}");
        let before = scene.files_but_links();
        let Outcome::Failed { reason } = scene.apply_entry(&entry) else { panic!("{why}") };
        assert!(why.ends_with(&reason), "{reason}, not {why}");
        assert_eq!(scene.files_but_links(), before, "{why}");
    }
}

#[test]
fn one_end_of_a_move_is_never_approved_alone() {
    for only in ["a.rs", "c.rs"] {
        let scene = scene();
        let before = scene.files();
        let proposal = scene.stage("move_file", json!({"from": "a.rs", "to": "c.rs"}));
        assert!(!proposal.divisible);
        let entry = part_of(proposal, &[only]);
        let reason = "a.rs and c.rs are the two ends of one move, and only one was approved".to_owned();
        assert_eq!(scene.apply_entry(&entry), Outcome::Failed { reason });
        assert_eq!(scene.files(), before);
    }
}

#[test]
fn a_payload_that_was_changed_moves_nothing() {
    let tampered: [fn(&mut Value); 6] = [
        |files| files[0]["from"] = json!("sub/b.rs"),
        |files| files[0]["content"] = json!("fn a() {}\n"),
        |files| files[0]["base64"] = json!("bm8="),
        |files| files[1]["content"] = json!("left\n"),
        |files| files[0]["path"] = json!("/etc/x"),
        |files| drop(files.as_array_mut().unwrap().pop()),
    ];
    for (number, tamper) in tampered.into_iter().enumerate() {
        let scene = scene();
        let before = scene.files();
        let mut proposal = scene.stage("move_file", json!({"from": "a.rs", "to": "c.rs"}));
        tamper(&mut proposal.payload["files"]);
        let outcome = scene.apply_entry(&Entry::in_attempt(proposal));
        assert!(matches!(outcome, Outcome::Failed { .. }), "{number}: {outcome:?}");
        assert_eq!(scene.files(), before, "{number}");
    }
}

#[test]
fn a_hard_link_is_moved_by_its_name_and_the_other_name_stays() {
    let scene = scene();
    fs::hard_link(scene.root().join("a.rs"), scene.root().join("other.rs")).unwrap();
    let said = scene.apply(&scene.stage("move_file", json!({"from": "a.rs", "to": "c.rs"})));
    assert_eq!(said, "Done: move a.rs to c.rs.");
    assert_eq!(fs::metadata(scene.root().join("other.rs")).unwrap().nlink(), 1);
    assert_eq!(scene.read("other.rs"), scene.read("c.rs"));
}
