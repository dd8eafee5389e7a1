//! What a run moved or deleted, in its verdict, in a commit, and taken back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_runtime::decision_objects::{Change, PatchSet};
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, Session, Stop, decided_runs};
use trunkline_tools::{CodingTools, workspace_for};

/// What is no text.
const BYTES: &[u8] = b"\x89PNG\xff\x00";

fn git(root: &Path, arguments: &[&str]) -> String {
    let set = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    let ran = Command::new("git").arg("-C").arg(root).args(set).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn folder(root: &Path, in_git: bool) {
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/old.sh"), "one\ntwo\nthree\n").unwrap();
    fs::set_permissions(root.join("src/old.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("src/other.txt"), "other\n").unwrap();
    fs::write(root.join("logo.png"), BYTES).unwrap();
    if in_git {
        git(root, &["init", "-q", "-b", "main"]);
        git(root, &["config", "user.name", "Ann"]);
        git(root, &["config", "user.email", "ann@example.org"]);
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "first"]);
    }
}

/// Lets a model make these calls one after another, in one run.
async fn after(root: &Path, commits: bool, calls: &[(&str, Value)]) -> (Session, Arc<MemoryStore>) {
    let calls: Vec<(String, Value)> =
        calls.iter().map(|(tool, call)| ((*tool).to_owned(), call.clone())).collect();
    let model = Scripted::new("scripted", "mover", move |request| {
        let done = request.messages.iter().flat_map(|message| message.results()).count();
        match calls.get(done) {
            Some((tool, arguments)) => Turn::new().call(format!("c{done}"), tool, arguments),
            None => Turn::say("Done."),
        }
    });
    let agent = Agent::builder(model)
        .tools(CodingTools::new(root).unwrap().into_tools())
        .workspace(workspace_for(root).into())
        .approval(Approval::Always)
        .commits(commits)
        .build()
        .unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let stop = session.prompt("tidy up", &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)), "{stop:?}");
    (session, store)
}

async fn patch_set(session: &Session, store: &MemoryStore) -> String {
    let runs = decided_runs(&store.load(session.id()).await.unwrap()).runs;
    runs.last().unwrap().patch_sets.iter().map(told).collect()
}

fn told(set: &PatchSet) -> String {
    let line = |file: &trunkline_runtime::decision_objects::TouchedFile| {
        let change = match &file.change {
            Change::Added => "A".to_owned(),
            Change::Modified => "M".to_owned(),
            Change::Deleted => "D".to_owned(),
            Change::Renamed { from } => format!("R {from} →"),
        };
        let lines = [file.added_lines, file.deleted_lines]
            .map(|lines| lines.map_or("?".to_owned(), |n| n.to_string()));
        format!("{change} {} +{} −{}\n", file.path, lines[0], lines[1])
    };
    set.files().iter().map(line).collect()
}

fn files(root: &Path) -> Vec<(String, Vec<u8>, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.push((name, fs::read(&path).unwrap(), mode));
        }
    }
    found.sort();
    found
}

fn check(calls: &[(&str, Value)], in_git: Expect, without: Expect) {
    for (is_git, said) in [(true, in_git), (false, without)] {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap();
        folder(&root, is_git);
        let before = files(&root);
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (mut session, store) = after(&root, false, calls).await;
            said.assert_eq(&patch_set(&session, &store).await);
            let after = files(&root);
            let decision = session.decisions().iter().next().unwrap().id();
            if after != before {
                let back = session.rollback(decision, None).await.unwrap().id();
                let (mut now, mut before) = (files(&root), before);
                if !is_git && calls.iter().any(|(tool, _)| *tool == "edit_file") {
                    // What is moved and edited loses that it can be executed, where only its bytes are kept.
                    now.iter_mut().chain(&mut before).for_each(|file| file.2 = 0);
                }
                assert_eq!(now, before, "in git: {is_git}");
                if is_git {
                    session.rollback(back, None).await.unwrap();
                    assert_eq!(files(&root), after, "and there again");
                }
            }
        });
    }
}

fn moves(from: &str, to: &str) -> (&'static str, Value) {
    ("move_file", json!({ "from": from, "to": to }))
}

#[test]
fn a_move_is_a_rename_in_the_verdict_and_is_taken_back_with_the_run() {
    check(
        &[moves("src/old.sh", "bin/new.sh"), ("delete_file", json!({"path": "logo.png"}))],
        expect![[r#"
            R src/old.sh → bin/new.sh +0 −0
            D logo.png +? −?
        "#]],
        expect![[r#"
            R src/old.sh → bin/new.sh +0 −0
            D logo.png +? −?
        "#]],
    );
}

#[test]
fn a_file_that_is_moved_twice_and_edited_comes_from_where_it_was_first() {
    let edit = json!({"path": "b.sh", "old_text": "two", "new_text": "zwei\ndrei"});
    check(
        &[
            moves("src/old.sh", "a.sh"),
            moves("a.sh", "b.sh"),
            ("edit_file", edit),
            moves("logo.png", "icon.png"),
        ],
        expect![[r#"
            R src/old.sh → b.sh +4 −3
            R logo.png → icon.png +0 −0
        "#]],
        expect![[r#"
            R src/old.sh → b.sh +? −?
            R logo.png → icon.png +0 −0
        "#]],
    );
}

#[test]
fn a_file_that_is_moved_there_and_back_is_no_change() {
    check(&[moves("src/old.sh", "a.sh"), moves("a.sh", "src/old.sh")], expect![[r#""#]], expect![[r#""#]]);
}

#[test]
fn two_files_that_change_places_are_two_changes() {
    check(
        &[moves("src/old.sh", "tmp"), moves("src/other.txt", "src/old.sh"), moves("tmp", "src/other.txt")],
        expect![[r#"
            M src/old.sh +1 −3
            M src/other.txt +3 −1
        "#]],
        expect![[r#"
            M src/old.sh +? −?
            M src/other.txt +? −?
        "#]],
    );
}

#[test]
fn a_commit_has_a_file_in_its_new_place_alone() {
    let home = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(home.path()).unwrap();
    folder(&root, true);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let calls = [moves("src/old.sh", "bin/new.sh"), ("delete_file", json!({"path": "logo.png"}))];
        let (session, store) = after(&root, true, &calls).await;
        assert!(patch_set(&session, &store).await.contains("R src/old.sh → bin/new.sh"));
        let shown = git(&root, &["show", "-M", "--format=", "--name-status"]);
        assert_eq!(shown, "R100\tsrc/old.sh\tbin/new.sh\nD\tlogo.png\n");
        assert_eq!(git(&root, &["status", "--porcelain"]), "");
    });
}
