//! `edit_files`: several files, one proposal.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_agent_traits::Cancel;
use trunkline_agent_traits::resolve_queue::{Entry, Observation, Outcome};

use crate::scene::{Scene, block_on, context, framed, names, part_of};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("a.rs", "fn a() {}\n");
    scene.write("sub/b.rs", "fn b() {}\n");
    scene
}

fn check(edits: Value, said: Expect) {
    let scene = scene();
    let before = scene.files();
    said.assert_eq(&framed(&scene.said("edit_files", json!({ "edits": edits }))));
    assert_eq!(scene.files(), before, "staging wrote");
}

#[test]
fn edits_of_several_files_are_one_proposal_with_one_diff() {
    check(
        json!([
            {"path": "a.rs", "old_text": "a()", "new_text": "one()"},
            {"path": "sub/new.rs", "content": "fn new() {}\n"},
            {"path": "sub/b.rs", "old_text": "{}", "new_text": "{\n    one()\n}"},
        ]),
        expect![[r#"
            |Staged: edit 3 files (+5 −2): a.rs, sub/new.rs, sub/b.rs. This is a proposal; nothing is written yet.|
            |--- a/a.rs|
            |+++ b/a.rs|
            |@@ -1 +1 @@|
            |-fn a() {}|
            |+fn one() {}|
            |--- /dev/null|
            |+++ b/sub/new.rs|
            |@@ -0,0 +1 @@|
            |+fn new() {}|
            |--- a/sub/b.rs|
            |+++ b/sub/b.rs|
            |@@ -1 +1,3 @@|
            |-fn b() {}|
            |+fn b() {|
            |+    one()|
            |+}|
        "#]],
    );
}

#[test]
fn what_a_decider_sees_names_every_file_and_the_label_as_many_as_fit() {
    let scene = Scene::new();
    let edits: Vec<Value> =
        (0..9).map(|one| json!({"path": format!("folder/file-{one}.txt"), "content": "new\n"})).collect();
    let proposal = scene.stage("edit_files", json!({ "edits": edits }));
    assert!(proposal.divisible);
    assert_eq!(
        proposal.label,
        "edit 9 files (+9): folder/file-0.txt, folder/file-1.txt, folder/file-2.txt, …"
    );
    assert!(proposal.preview.text.ends_with("\ncreate folder/file-8.txt (+1)"), "{}", proposal.preview.text);
    assert_eq!(proposal.preview.text.lines().count(), 10);
}

#[test]
fn two_spellings_of_one_file_are_one_file_and_its_edits_follow_each_other() {
    let scene = scene();
    symlink("sub", scene.root().join("link")).unwrap();
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [
            {"path": "sub/b.rs", "old_text": "b()", "new_text": "two()"},
            {"path": "./link/../sub/b.rs", "old_text": "two()", "new_text": "three()"},
            {"path": "link/b.rs", "old_text": "three()", "new_text": "four()"},
        ]}),
    );
    assert_eq!(proposal.label, "edit sub/b.rs (+1 −1)");
    assert!(!proposal.divisible);
    assert_eq!(scene.apply(&proposal), "Done: edit sub/b.rs (+1 −1).");
    assert_eq!(scene.read("sub/b.rs").as_deref(), Some("fn four() {}\n"));
}

#[test]
fn a_new_file_can_be_edited_in_the_same_proposal() {
    let scene = Scene::new();
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [
            {"path": "a", "content": "one one\n"},
            {"path": "a", "old_text": "one", "new_text": "two", "replace_all": true},
        ]}),
    );
    assert_eq!(proposal.label, "create a (+1)");
    scene.apply(&proposal);
    assert_eq!(scene.read("a").as_deref(), Some("two two\n"));
}

#[test]
fn every_edit_that_is_refused_is_named() {
    check(
        json!([
            {"path": "a.rs", "old_text": "a()", "new_text": "one()"},
            {"path": "a.rs", "old_text": "a()", "new_text": "two()"},
            {"path": "a.rs", "content": ""},
            {"path": "sub/b.rs", "old_text": "", "new_text": "x"},
            {"path": "../c.rs", "content": ""},
            {"path": "d.rs", "old_text": "d", "new_text": "e"},
            {"path": "e.rs"},
            {"path": "f.rs", "content": "", "old_text": "x"},
            {"path": ".git/config", "content": ""},
            {"path": "a.rs/below", "content": ""},
            {"path": "sub", "content": ""},
        ]),
        expect![[r#"
            |error: nothing is staged, because of:|
            |edit 2 (a.rs): old_text is not in a.rs; read the file again and copy the text exactly, without line numbers|
            |edit 3 (a.rs): not tried, because an edit of the same file before it was refused|
            |edit 4 (sub/b.rs): old_text is empty; give content to write a whole file|
            |edit 5 (../c.rs): ../c.rs leads out of the workspace /folder|
            |edit 6 (d.rs): there is no d.rs in the workspace|
            |edit 7 (e.rs): give old_text and new_text, or content|
            |edit 8 (f.rs): give either content, or old_text and new_text, not both|
            |edit 9 (.git/config): .git/config lies in .git, where file tools do not write|
            |edit 10 (a.rs/below): it and a.rs cannot both be files: one would be the folder of the other|
            |edit 11 (sub): sub is a folder, not a file|
        "#]],
    );
}

#[test]
fn what_changes_nothing_is_left_out() {
    check(
        json!([
            {"path": "a.rs", "content": "fn a() {}\n"},
            {"path": "sub/b.rs", "old_text": "b()", "new_text": "b()"},
        ]),
        expect![[r#"
            |nothing staged: a.rs, sub/b.rs already have this content|
        "#]],
    );
    let scene = scene();
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [
            {"path": "a.rs", "content": "fn a() {}\n"},
            {"path": "sub/b.rs", "content": ""},
        ]}),
    );
    assert_eq!(proposal.label, "edit sub/b.rs (−1)");
}

#[test]
fn no_edits_and_too_many_of_them_are_refused() {
    check(
        json!([]),
        expect![[r#"
        |error: there are no edits|
    "#]],
    );
    let edit = json!({"path": "a.rs", "content": "x"});
    check(
        json!(vec![edit; 101]),
        expect![[r#"
        |error: there are 101 edits; the limit is 100, so propose them in parts|
    "#]],
    );
    let scene = Scene::new();
    let files: Vec<Value> = (0..66).map(|one| json!({"path": format!("f{one}"), "content": "x"})).collect();
    expect![[r#"
        error: nothing is staged, because of:
        edit 65 (f64): it is one file too many; the limit is 64
        edit 66 (f65): it is one file too many; the limit is 64
    "#]]
    .assert_eq(&scene.said("edit_files", json!({ "edits": files })));
    assert_eq!(scene.call("edit_files", json!({ "edits": files[..64] })).proposals.len(), 1);
}

#[test]
fn what_is_too_much_together_is_refused() {
    let scene = Scene::new();
    let large = "x".repeat(6_000_000);
    let edits = json!([{"path": "a", "content": large}, {"path": "b", "content": large}]);
    expect![[r#"
        error: nothing is staged, because of:
        edit 2 (b): with it, the files would have 12000000 bytes together; the limit is 10000000, so propose them in parts
    "#]].assert_eq(&scene.said("edit_files", json!({ "edits": edits })));
    scene.write("a", &large);
    scene.write("b", &large);
    let edits = json!([{"path": "a", "content": "x"}, {"path": "b", "content": "x"}]);
    expect![[r#"
        error: nothing is staged, because of:
        edit 2 (b): with it, the files have 12000000 bytes together; the limit is 10000000, so propose them in parts
    "#]].assert_eq(&scene.said("edit_files", json!({ "edits": edits })));
}

#[test]
fn a_file_and_its_folder_cannot_both_be_files() {
    check(
        json!([{"path": "x/y", "content": "1"}, {"path": "x", "content": "2"}]),
        expect![[r#"
            |error: nothing is staged, because of:|
            |edit 2 (x): it and x/y cannot both be files: one would be the folder of the other|
        "#]],
    );
}

#[test]
fn all_files_are_written_and_seen_afterwards() {
    let scene = scene();
    let proposal = scene.stage("edit_files", three());
    let entry = Entry::in_attempt(proposal);
    let subjects: Vec<String> = entry.part().map(String::from).collect();
    let look = || block_on(scene.tool("edit_files").as_executor().unwrap().observe(&subjects));
    assert_eq!(entry.observe(&look()), Observation::Before);
    assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
    assert_eq!(entry.observe(&look()), Observation::After);
    assert_eq!(names(&scene.root()), ["a.rs", "sub"]);
    assert_eq!(names(&scene.root().join("sub")), ["b.rs", "deep"], "no temporary file stays");
    assert_eq!(scene.read("sub/deep/new.rs").as_deref(), Some("new\n"));
}

/// Two files that are there, and one in a folder that is not.
pub(crate) fn three() -> Value {
    json!({"edits": [
        {"path": "a.rs", "old_text": "a()", "new_text": "one()"},
        {"path": "sub/deep/new.rs", "content": "new\n"},
        {"path": "sub/b.rs", "old_text": "b()", "new_text": "two()"},
    ]})
}

#[test]
fn only_the_part_that_was_approved_is_written() {
    let scene = scene();
    let proposal = scene.stage("edit_files", three());
    let entry = part_of(proposal, &["sub/b.rs"]);
    let kept = scene.keep(&entry);
    assert_eq!(kept.iter().map(|kept| kept.fingerprint.subject.as_str()).collect::<Vec<_>>(), ["sub/b.rs"]);
    // That another file has changed does not matter to this part.
    scene.write("a.rs", "somebody else\n");
    assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
    assert_eq!(scene.read("a.rs").as_deref(), Some("somebody else\n"));
    assert_eq!(scene.read("sub/b.rs").as_deref(), Some("fn two() {}\n"));
    assert_eq!(names(&scene.root().join("sub")), ["b.rs"]);
}

#[test]
fn one_file_that_changed_meanwhile_keeps_all_from_being_written() {
    for path in ["a.rs", "sub/deep/new.rs", "sub/b.rs"] {
        let scene = scene();
        let proposal = scene.stage("edit_files", three());
        scene.write(path, "somebody else\n");
        let before = scene.files();
        let Outcome::Failed { reason } = scene.apply_entry(&Entry::in_attempt(proposal)) else {
            panic!("written")
        };
        assert!(reason.starts_with(path), "{reason}");
        assert_eq!(scene.files(), before);
    }
}

#[test]
fn a_cancelled_apply_of_several_files_writes_nothing() {
    let scene = scene();
    let before = scene.files();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let cancel = Cancel::new();
    cancel.cancel();
    let (outcome, _) =
        block_on(scene.tool("edit_files").as_executor().unwrap().apply(&entry, &context(&cancel)));
    assert_eq!(outcome, Outcome::Failed { reason: "cancelled before anything was written".to_owned() });
    assert_eq!(scene.files(), before);
}

#[test]
fn links_and_swapped_folders_stand_in_the_way_of_all() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    fs::rename(scene.root().join("sub"), scene.outside("sub")).unwrap();
    symlink(scene.outside("sub"), scene.root().join("sub")).unwrap();
    assert_eq!(
        scene.apply_entry(&entry),
        Outcome::Failed {
            reason: format!("sub/deep/new.rs leads out of the workspace {}", scene.root().display())
        }
    );
    assert_eq!(scene.read("a.rs").as_deref(), Some("fn a() {}\n"));
    assert_eq!(names(&scene.outside("sub")), ["b.rs"]);
    assert!(scene.keep(&entry).is_empty(), "all of it is kept, or nothing");
    // A link that stays inside leads to another place than the one that was approved.
    fs::remove_file(scene.root().join("sub")).unwrap();
    scene.write("other/b.rs", "fn b() {}\n");
    symlink("other", scene.root().join("sub")).unwrap();
    assert_eq!(
        scene.apply_entry(&entry),
        Outcome::Failed { reason: "sub/deep/new.rs leads to other/deep/new.rs now".to_owned() }
    );
}

#[test]
fn two_names_of_one_file_are_cut_from_each_other() {
    let scene = scene();
    fs::hard_link(scene.root().join("a.rs"), scene.root().join("b.rs")).unwrap();
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [
            {"path": "a.rs", "content": "one\n"},
            {"path": "b.rs", "content": "two\n"},
        ]}),
    );
    scene.apply(&proposal);
    assert_eq!((scene.read("a.rs").unwrap(), scene.read("b.rs").unwrap()), ("one\n".into(), "two\n".into()));
    assert_eq!(fs::metadata(scene.root().join("a.rs")).unwrap().nlink(), 1);
}

#[test]
fn payloads_of_earlier_logs_are_still_read() {
    let scene = scene();
    for (path, content) in [("a.rs", "one\n"), ("new.rs", "new\n")] {
        let mut proposal = scene.stage("write_file", json!({"path": path, "content": content}));
        proposal.payload = proposal.payload["files"][0].clone();
        let entry = Entry::in_attempt(proposal);
        let kept = scene.keep(&entry);
        let before = scene.files();
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        assert_eq!(scene.read(path).as_deref(), Some(content));
        let undo = scene.undo(&entry, &kept).unwrap();
        assert_eq!(scene.apply_entry(&Entry::in_attempt(undo)), Outcome::Applied);
        assert_eq!(scene.files(), before);
    }
}

#[test]
fn a_payload_that_is_not_what_was_approved_is_not_written() {
    let scene = scene();
    let proposal = scene.stage("edit_files", three());
    let before = scene.files();
    let mut said = String::new();
    for (change, value) in [
        ("/files/0/content", json!("evil\n")),
        ("/files/0/before_digest", json!("sha256:0")),
        ("/files/0/path", json!("sub/b.rs")),
        ("/files/0/path", json!("c.rs")),
        ("/files/0/path", json!("../c.rs")),
        ("/files/0", json!({"path": "a.rs", "extra": 1})),
        ("/files/1", json!({"path": "sub/deep/new.rs"})),
        ("/files", json!([])),
        ("/files", json!(7)),
        ("", json!({"path": "a.rs"})),
    ] {
        let mut changed = proposal.clone();
        *changed.payload.pointer_mut(change).unwrap() = value;
        let line = scene.apply(&changed).replace(&proposal.label, "…");
        said.push_str(&line);
        assert_eq!(scene.files(), before);
    }
    expect![[r#"
        error: Not applied: …: the payload for a.rs is not the one that was proposed
        error: Not applied: …: the payload for a.rs is not the one that was proposed
        error: Not applied: …: the payload for sub/b.rs is not the one that was proposed
        error: Not applied: …: the payload holds c.rs, which is not in the proposal
        error: Not applied: …: ../c.rs leads out of the workspace /folder
        error: Not applied: …: the payload is not one of this tool: unknown field `extra`, expected one of `path`, `before_digest`, `content`, `base64`, `from`, `mode`, `folders`
        error: Not applied: …: the payload for sub/deep/new.rs is not the one that was proposed
        error: Not applied: …: the payload does not hold a.rs
        error: Not applied: …: the payload is not one of this tool: invalid type: integer `7`, expected a sequence
        error: Not applied: …: the payload is not one of this tool: missing field `content`
    "#]].assert_eq(&said);
}

#[test]
fn a_file_that_has_grown_beyond_the_limit_keeps_all_from_being_written() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    scene.write("sub/b.rs", "x".repeat(10_000_001));
    let before = scene.files();
    assert_eq!(
        scene.apply_entry(&entry),
        Outcome::Failed { reason: "sub/b.rs has 10000001 bytes; the limit is 10000000".to_owned() }
    );
    assert!(scene.keep(&entry).is_empty());
    assert!(scene.files() == before);
}

#[test]
fn files_in_the_place_of_folders_and_pipes_keep_all_from_being_written() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    scene.write("sub/deep", "a file where a folder should be made");
    let before = scene.files();
    let Outcome::Failed { reason } = scene.apply_entry(&entry) else { panic!("written") };
    assert!(reason.contains("sub/deep/new.rs"), "{reason}");
    assert_eq!(scene.files(), before);
    fs::remove_file(scene.root().join("sub/deep")).unwrap();
    fs::create_dir_all(scene.root().join("sub/deep/new.rs")).unwrap();
    let Outcome::Failed { reason } = scene.apply_entry(&entry) else { panic!("written") };
    assert_eq!(reason, "sub/deep/new.rs is a folder, not a file");
    fs::remove_dir(scene.root().join("sub/deep/new.rs")).unwrap();
    fs::remove_file(scene.root().join("sub/b.rs")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(scene.root().join("sub/b.rs")).status().unwrap();
    assert!(made.success());
    let Outcome::Failed { reason } = scene.apply_entry(&entry) else { panic!("written") };
    assert_eq!(reason, "sub/b.rs is a named pipe, not a file");
    assert_eq!(scene.read("a.rs").as_deref(), Some("fn a() {}\n"));
}

#[test]
fn a_preview_of_several_files_cannot_forge_another_file() {
    let scene = scene();
    let proposal = scene.stage(
        "edit_files",
        json!({"edits": [
            {"path": "x\n--- a/harmless\n+++ b/harmless", "content": "1\n"},
            {"path": "a.rs", "content": "\u{1b}[2K--- a/b\n"},
        ]}),
    );
    assert_eq!(proposal.preview.text.lines().count(), 3);
    let diff = proposal.preview.diff.unwrap();
    assert_eq!(diff.lines().filter(|line| line.starts_with("+++ ")).count(), 2, "{diff}");
    assert!(!diff.contains('\u{1b}'));
}
