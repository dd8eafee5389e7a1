//! How the command speaks: help, colours, names of sessions, exit codes.

use expect_test::expect;

use crate::fake::{Scene, says};

#[test]
fn alone_it_prints_help_that_fits_one_screen() {
    let said = Scene::new().run(&[]);
    assert_eq!((said.exit, said.err.as_str()), (Some(2), ""));
    assert!(said.out.ends_with("New here? `trunkline demo` shows a whole run in seconds.\n"), "{}", said.out);
    assert!(said.out.lines().count() <= 45, "{} lines", said.out.lines().count());
    let help = Scene::new().ok(&["--help"]);
    assert!(help.contains("Exit codes: 0 done · 1 failed"), "{help}");
}

#[test]
fn every_part_has_help_and_nothing_else_is_understood() {
    let parts = [
        "demo",
        "run",
        "resume",
        "sessions",
        "show",
        "follow",
        "tree",
        "decide",
        "decisions",
        "resolve",
        "tools",
        "revert",
        "go",
        "merge",
        "name",
        "reflog",
        "undo",
        "redo",
        "cancel",
        "tag",
        "title",
        "archive",
        "unarchive",
        "delete",
        "prune",
        "export",
        "import",
        "doctor",
        "audit",
        "repair",
        "sanitize",
    ];
    let scene = Scene::new();
    for part in parts {
        assert!(scene.ok(&[part, "--help"]).contains("Usage: trunkline"), "{part}");
        assert_eq!(scene.ok(&["help", part]), scene.ok(&[part, "--help"]));
    }
    assert_eq!(scene.run(&["frobnicate"]).exit, Some(2));
    assert_eq!(scene.run(&["run"]).exit, Some(2));
    assert_eq!(scene.run(&["run", "x", "--yes", "--policy", "model"]).exit, Some(2));
}

fn scene_with(prompts: &[&str]) -> Scene {
    let (scene, _endpoint) = Scene::with(prompts.iter().map(|_| says("Done.")).collect());
    for prompt in prompts {
        assert_eq!(scene.run(&["run", prompt, "-q"]).exit, Some(0));
    }
    scene
}

#[test]
fn colours_go_where_they_are_wanted() {
    let mut scene = scene_with(&["paint"]);
    let is_painted = |text: String| text.contains('\u{1b}');
    assert!(!is_painted(scene.ok(&["tree"])), "a pipe");
    assert!(is_painted(scene.ok(&["--color", "always", "tree"])));
    scene.set("CLICOLOR_FORCE", "1");
    assert!(is_painted(scene.ok(&["tree"])));
    assert!(!is_painted(scene.ok(&["--color", "never", "tree"])));
    assert!(!is_painted(scene.ok(&["tree", "--json"])), "data is never painted");
}

#[test]
fn no_color_is_heard() {
    let mut scene = scene_with(&["paint"]);
    scene.set("NO_COLOR", "1");
    assert!(!scene.ok(&["tree"]).contains('\u{1b}'));
    assert!(!scene.run(&["tree", "zz"]).err.contains('\u{1b}'));
}

#[test]
fn a_session_is_named_by_any_beginning_that_only_it_has() {
    let scene = scene_with(&["first", "second"]);
    let ids = scene.ids();
    let [newer, older] = ids.as_slice() else { panic!("two sessions: {ids:?}") };
    assert!(scene.ok(&["show"]).contains("second"), "the last one is meant when none is named");
    assert!(scene.ok(&["show", "last"]).contains("second"));
    let shared = newer.bytes().zip(older.bytes()).take_while(|(one, two)| one == two).count();
    assert!(scene.ok(&["show", &older[..=shared]]).contains("first"));
    assert!(scene.ok(&["show", &newer[..=shared].to_uppercase()]).contains("second"));
    assert!(scene.ok(&["show", older]).contains("first"));

    let said = scene.run(&["show", &older[..4]]);
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    let told = said.err.split_once(" is ").map_or("", |(_, told)| told);
    assert_eq!(
        told,
        "the beginning of 2 sessions\n  ID  just now      second  TMP/work\n  ID  just now      first  TMP/work\n"
    );
}

#[test]
fn a_name_that_was_printed_stays_good_when_other_sessions_begin() {
    let (scene, _endpoint) = Scene::with(vec![says("One."), says("Two.")]);
    let output = scene.command(&["run", "first"]).output().expect("it runs");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    let name = told.split("trunkline tree ").nth(1).and_then(|rest| rest.lines().next()).expect("a name");
    assert_eq!(scene.run(&["run", "second", "-q"]).exit, Some(0));
    assert!(scene.ok(&["show", name]).contains("first"), "{name}");
}

#[test]
fn help_says_what_a_move_leaves_alone() {
    for command in ["revert", "go", "merge", "undo", "redo"] {
        assert!(Scene::new().ok(&[command, "--help"]).contains("Files are not changed by this"), "{command}");
    }
}

#[test]
fn an_unknown_session_is_one_line_with_those_that_there_are() {
    let scene = scene_with(&["only"]);
    for command in ["show", "tree", "resume", "export", "undo", "cancel", "reflog"] {
        let said = scene.run(&[command, "zz"]);
        assert_eq!((said.exit, said.out.as_str()), (Some(2), ""), "{command}");
        expect![[r#"
            error: there is no session "zz"; there are ID (only)
        "#]]
        .assert_eq(&said.err);
    }
}

#[test]
fn an_unknown_proposal_is_wrong_usage() {
    let scene = scene_with(&["only"]);
    let said = scene.run(&["resolve", "p7", "apply"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: there is no proposal "p7": nothing was proposed in this session
    "#]]
    .assert_eq(&said.err);
}

#[test]
fn a_folder_that_is_not_there_is_wrong_usage() {
    let (scene, _endpoint) = Scene::with(Vec::new());
    let said = scene.run(&["run", "x", "-C", "nowhere"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.err.starts_with("error: cannot use nowhere: "), "{}", said.err);
    assert!(!scene.path("store").exists(), "nothing was begun");
}
