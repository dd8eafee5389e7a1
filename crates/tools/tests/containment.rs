//! File tools stay inside the workspace.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::scene::Scene;

/// Tries a path with every file tool; the workspace has links out and in.
fn check(path: &str, said: Expect) {
    let scene = Scene::new();
    scene.write("inside/file", "inside\n");
    fs::create_dir(scene.outside("vault")).unwrap();
    fs::write(scene.outside("vault/key"), "secret").unwrap();
    fs::create_dir(scene.outside("folder-2")).unwrap();
    fs::write(scene.outside("folder-2/key"), "secret").unwrap();
    symlink(scene.outside("vault"), scene.root().join("folder-link")).unwrap();
    symlink(scene.outside("vault/key"), scene.root().join("file-link")).unwrap();
    symlink("../vault/key", scene.root().join("relative-link")).unwrap();
    symlink(scene.outside("vault/not-yet"), scene.root().join("dangling-link")).unwrap();
    symlink("inside", scene.root().join("inner-folder-link")).unwrap();
    symlink("inside/file", scene.root().join("inner-file-link")).unwrap();

    let path = path.replace("$", &scene.outside("").display().to_string());
    let mut tried = String::new();
    for (tool, arguments) in [
        ("read_file", json!({"path": path})),
        ("list_files", json!({"path": path})),
        ("search_text", json!({"path": path, "pattern": "secret|inside"})),
        ("edit_file", json!({"path": path, "old_text": "s", "new_text": "z"})),
        ("write_file", json!({"path": path, "content": "mine"})),
    ] {
        let words = scene.said(tool, arguments);
        assert!(!words.contains("secret"), "{words}");
        tried.push_str(&format!("{tool}: {}\n", words.lines().next().unwrap_or_default()));
    }
    said.assert_eq(&tried);
}

#[test]
fn two_dots_do_not_lead_out() {
    check(
        "../vault/key",
        expect![[r#"
        read_file: error: ../vault/key leads out of the workspace /folder
        list_files: error: ../vault/key leads out of the workspace /folder
        search_text: error: ../vault/key leads out of the workspace /folder
        edit_file: error: ../vault/key leads out of the workspace /folder
        write_file: error: ../vault/key leads out of the workspace /folder
    "#]],
    );
}

#[test]
fn two_dots_after_a_folder_that_is_missing_do_not_lead_out() {
    check(
        "missing/../../vault/key",
        expect![[r#"
        read_file: error: missing/../../vault/key leads out of the workspace /folder
        list_files: error: missing/../../vault/key leads out of the workspace /folder
        search_text: error: missing/../../vault/key leads out of the workspace /folder
        edit_file: error: missing/../../vault/key leads out of the workspace /folder
        write_file: error: missing/../../vault/key leads out of the workspace /folder
    "#]],
    );
}

#[test]
fn an_absolute_path_outside_is_refused() {
    check(
        "$vault/key",
        expect![[r#"
        read_file: error: /vault/key leads out of the workspace /folder
        list_files: error: /vault/key leads out of the workspace /folder
        search_text: error: /vault/key leads out of the workspace /folder
        edit_file: error: /vault/key leads out of the workspace /folder
        write_file: error: /vault/key leads out of the workspace /folder
    "#]],
    );
}

#[test]
fn a_folder_whose_name_only_begins_like_the_root_is_outside() {
    check(
        "$folder-2/key",
        expect![[r#"
        read_file: error: /folder-2/key leads out of the workspace /folder
        list_files: error: /folder-2/key leads out of the workspace /folder
        search_text: error: /folder-2/key leads out of the workspace /folder
        edit_file: error: /folder-2/key leads out of the workspace /folder
        write_file: error: /folder-2/key leads out of the workspace /folder
    "#]],
    );
}

#[test]
fn an_absolute_path_inside_is_taken() {
    check(
        "$folder/inside/file",
        expect![[r#"
        read_file:     1	inside
        list_files: error: /folder/inside/file is not a folder
        search_text: inside/file:1: inside
        edit_file: Staged: edit inside/file (+1 −1). This is a proposal; nothing is written yet.
        write_file: Staged: overwrite inside/file (+1 −1). This is a proposal; nothing is written yet.
    "#]],
    );
}

#[test]
fn a_link_to_a_folder_outside_is_refused() {
    check(
        "folder-link/key",
        expect![[r#"
        read_file: error: folder-link/key leads out of the workspace /folder
        list_files: error: folder-link/key leads out of the workspace /folder
        search_text: error: folder-link/key leads out of the workspace /folder
        edit_file: error: folder-link/key leads out of the workspace /folder
        write_file: error: folder-link/key leads out of the workspace /folder
    "#]],
    );
}

#[test]
fn a_link_to_a_file_outside_is_refused() {
    check(
        "file-link",
        expect![[r#"
        read_file: error: file-link leads out of the workspace /folder
        list_files: error: file-link leads out of the workspace /folder
        search_text: error: file-link leads out of the workspace /folder
        edit_file: error: file-link is a symbolic link; name the file that it points to
        write_file: error: file-link is a symbolic link; name the file that it points to
    "#]],
    );
}

#[test]
fn a_relative_link_out_is_refused() {
    check(
        "relative-link",
        expect![[r#"
        read_file: error: relative-link leads out of the workspace /folder
        list_files: error: relative-link leads out of the workspace /folder
        search_text: error: relative-link leads out of the workspace /folder
        edit_file: error: relative-link is a symbolic link; name the file that it points to
        write_file: error: relative-link is a symbolic link; name the file that it points to
    "#]],
    );
}

#[test]
fn a_link_to_nothing_outside_is_not_written_through() {
    check(
        "dangling-link",
        expect![[r#"
        read_file: error: there is no dangling-link in the workspace
        list_files: error: there is no dangling-link in the workspace
        search_text: error: there is no dangling-link in the workspace
        edit_file: error: dangling-link is a symbolic link; name the file that it points to
        write_file: error: dangling-link is a symbolic link; name the file that it points to
    "#]],
    );
}

#[test]
fn links_that_stay_inside_are_followed_but_the_last_is_never_written_through() {
    check(
        "inner-folder-link/file",
        expect![[r#"
        read_file:     1	inside
        list_files: error: inner-folder-link/file is not a folder
        search_text: inside/file:1: inside
        edit_file: Staged: edit inside/file (+1 −1). This is a proposal; nothing is written yet.
        write_file: Staged: overwrite inside/file (+1 −1). This is a proposal; nothing is written yet.
    "#]],
    );
    check(
        "inner-file-link",
        expect![[r#"
        read_file:     1	inside
        list_files: error: inner-file-link is not a folder
        search_text: inside/file:1: inside
        edit_file: error: inner-file-link is a symbolic link; name the file that it points to
        write_file: error: inner-file-link is a symbolic link; name the file that it points to
    "#]],
    );
}

#[test]
fn the_root_itself_is_a_folder() {
    check(
        ".",
        expect![[r#"
            read_file: error: . is a folder, not a file
            list_files: dangling-link
            search_text: inside/file:1: inside
            edit_file: error: . is a folder, not a file
            write_file: error: . is a folder, not a file
        "#]],
    );
}

#[test]
fn an_empty_path_and_a_zero_byte_are_refused() {
    check(
        "",
        expect![[r#"
        read_file: error: the path is empty
        list_files: error: the path is empty
        search_text: error: the path is empty
        edit_file: error: the path is empty
        write_file: error: the path is empty
    "#]],
    );
    check(
        "a\0b",
        expect![[r#"
        read_file: error: a\u{0}b cannot be used: file name contained an unexpected NUL byte
        list_files: error: a\u{0}b cannot be used: file name contained an unexpected NUL byte
        search_text: error: a\u{0}b cannot be used: file name contained an unexpected NUL byte
        edit_file: error: a\u{0}b cannot be used: Invalid argument (os error 22)
        write_file: error: a\u{0}b cannot be used: Invalid argument (os error 22)
    "#]],
    );
}

#[test]
fn a_walk_does_not_follow_links_out() {
    let scene = Scene::new();
    fs::create_dir(scene.outside("vault")).unwrap();
    fs::write(scene.outside("vault/key"), "secret").unwrap();
    symlink(scene.outside("vault"), scene.root().join("folder")).unwrap();
    symlink(scene.outside("vault/key"), scene.root().join("file")).unwrap();
    assert_eq!(scene.said("list_files", json!({})), "file\nfolder\n");
    assert_eq!(
        scene.said("search_text", json!({"pattern": "secret"})),
        "[no matches]\n[2 files were not searched: links, binary or too large]\n"
    );
}

#[test]
fn a_named_pipe_does_not_hang_anything() {
    let scene = Scene::new();
    let made = std::process::Command::new("mkfifo").arg(scene.root().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(scene.said("read_file", json!({"path": "pipe"})), "error: pipe is a named pipe, not a file\n");
    assert_eq!(
        scene.said("write_file", json!({"path": "pipe", "content": ""})),
        "error: pipe is a named pipe, not a file\n"
    );
}

#[test]
fn the_repository_itself_is_not_written() {
    let scene = Scene::new();
    scene.write(".git/config", "[core]");
    for path in [".git/config", ".git/hooks/pre-commit", "sub/.GIT/config"] {
        let said = scene.said("write_file", json!({"path": path, "content": "x"}));
        assert_eq!(said, format!("error: {path} lies in .git, where file tools do not write\n"));
    }
}

#[test]
fn a_folder_that_becomes_a_link_after_staging_is_not_written_through() {
    let scene = Scene::new();
    scene.write("deep/file", "old\n");
    let edit = scene.stage("edit_file", json!({"path": "deep/file", "old_text": "old", "new_text": "new"}));
    let new = scene.stage("write_file", json!({"path": "deep/new", "content": "new\n"}));
    fs::rename(scene.root().join("deep"), scene.outside("deep")).unwrap();
    symlink(scene.outside("deep"), scene.root().join("deep")).unwrap();

    assert_eq!(
        scene.apply(&edit),
        "error: Not applied: edit deep/file (+1 −1): deep/file leads out of the workspace /folder\n"
    );
    assert_eq!(
        scene.apply(&new),
        "error: Not applied: create deep/new (+1): deep/new leads out of the workspace /folder\n"
    );
    assert_eq!(fs::read_to_string(scene.outside("deep/file")).unwrap(), "old\n");
    assert!(!scene.outside("deep/new").exists());
    assert_eq!(
        scene.observe("deep/file")[0]
            .state
            .to_string()
            .replace(&scene.outside("").display().to_string(), "/"),
        "unreadable: deep/file leads out of the workspace /folder"
    );
}

#[test]
fn a_file_that_becomes_a_link_after_staging_is_not_written_through() {
    let scene = Scene::new();
    scene.write("file", "old\n");
    fs::write(scene.outside("key"), "old\n").unwrap();
    let edit = scene.stage("edit_file", json!({"path": "file", "old_text": "old", "new_text": "new"}));
    fs::remove_file(scene.root().join("file")).unwrap();
    symlink(scene.outside("key"), scene.root().join("file")).unwrap();
    assert_eq!(
        scene.apply(&edit),
        "error: Not applied: edit file (+1 −1): file is a symbolic link; name the file that it points to\n"
    );
    assert_eq!(fs::read_to_string(scene.outside("key")).unwrap(), "old\n");
}

#[test]
fn a_hard_link_is_cut_instead_of_written_through() {
    let scene = Scene::new();
    fs::write(scene.outside("key"), "old\n").unwrap();
    fs::hard_link(scene.outside("key"), scene.root().join("file")).unwrap();
    let edit = scene.stage("edit_file", json!({"path": "file", "old_text": "old", "new_text": "new"}));
    scene.apply(&edit);
    assert_eq!(scene.read("file").as_deref(), Some("new\n"));
    assert_eq!(fs::read_to_string(scene.outside("key")).unwrap(), "old\n");
}

#[test]
fn the_folder_of_what_later_runs_go_by_is_no_workspace() {
    let folder = tempfile::tempdir().unwrap();
    for inside in [".trunkline", ".trunkline/tools", "sub/.Trunkline"] {
        let inside = folder.path().join(inside);
        fs::create_dir_all(&inside).unwrap();
        let Err(refused) = trunkline_tools::CodingTools::new(&inside) else { panic!("{}", inside.display()) };
        assert!(refused.to_string().ends_with("work in the project's folder"), "{refused}");
    }
    fs::create_dir(folder.path().join(".trunkline-x")).unwrap();
    assert!(trunkline_tools::CodingTools::new(folder.path().join(".trunkline-x")).is_ok());
}
