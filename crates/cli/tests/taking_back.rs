//! What is meant by the name of a decision that is to be taken back, and what is said where that is not possible.

use serde_json::Value;

use crate::deciding_runs::{at_the_limit, git, in_git, rolled_back, writes};
use crate::fake::{Scene, begins, says};

/// The ids of the decisions and of the runs of a session, the newest first; no decision while a run is open.
fn ids(scene: &Scene) -> Vec<(Option<String>, String)> {
    let told = scene.command(&["decisions", "--json"]).output().expect("it runs").stdout;
    let id = |value: &Value| value["id"].as_str().map(str::to_owned);
    let lines = String::from_utf8(told).expect("UTF-8");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| (id(&line["decision"]), id(&line["run"]).expect("a run"))).collect()
}

fn content(scene: &Scene) -> String {
    std::fs::read_to_string(scene.work().join("a.txt")).expect("there")
}

#[test]
fn a_decision_is_named_by_its_run_too() {
    let (scene, _endpoint) = rolled_back();
    let (_, run) = ids(&scene).remove(0);
    assert_eq!(scene.run(&["run", "another session", "-q", "--yes"]).exit, Some(0));
    let said = scene.run(&["decide", "rollback", &run, "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(content(&scene), "old\n");
}

#[test]
fn why_something_is_taken_back_stands_in_the_decision() {
    let (scene, _endpoint) = rolled_back();
    let blank = scene.run(&["decide", "rollback", "last", "--yes", "--reason", " "]);
    assert_eq!((blank.exit, content(&scene).as_str()), (Some(2), "new\n"), "{}", blank.err);
    assert!(blank.err.contains("nothing was said with --reason"), "{}", blank.err);
    let said = scene.run(&["decide", "rollback", "last", "--yes", "--reason", "it broke the build"]);
    assert_eq!((said.exit, content(&scene).as_str()), (Some(0), "old\n"), "{}", said.err);
    let shown = scene.run(&["decisions", "last"]).out;
    let line = shown.lines().find(|line| line.trim_start().starts_with("rationale")).unwrap_or(&shown);
    assert!(line.ends_with("it broke the build"), "{shown}");
    // One without stays as it was.
    assert_eq!(scene.run(&["decide", "rollback", "last", "--yes"]).exit, Some(0));
    let shown = scene.run(&["decisions", "last"]).out;
    assert!(!shown.contains("rationale"), "{shown}");
}

#[test]
fn what_is_not_there_and_what_is_open_are_told_apart() {
    let (scene, _endpoint) = at_the_limit(Vec::new());
    let (decision, run) = ids(&scene).remove(0);
    assert_eq!(decision, None);
    let open = scene.run(&["decide", "rollback", &run, "--yes"]);
    assert_eq!(open.exit, Some(1), "{}", open.err);
    assert!(open.err.contains("is open: nothing was decided yet"), "{}", open.err);
    assert!(open.err.contains("decide abandon \"…\" -s "), "{}", open.err);
    let nobody = scene.run(&["decide", "rollback", "ffffffff", "--yes"]);
    assert_eq!(nobody.exit, Some(2), "{}", nobody.err);
    assert!(nobody.err.contains("there is no decision \"ID\" in this store"), "{}", nobody.err);
    let within = scene.run(&["decide", "rollback", "ffffffff", "--yes", "-s", "last"]);
    assert_eq!(within.exit, Some(2), "{}", within.err);
    assert!(within.err.contains("there is no decision \"ID\" in session "), "{}", within.err);
    let last = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert!(last.err.contains("no change by a run of session "), "{}", last.err);
}

#[test]
fn a_change_that_was_brought_back_is_taken_back_by_the_rollback_that_brought_it() {
    let (scene, _endpoint) = rolled_back();
    let (first, _) = ids(&scene).remove(0);
    let first = first.expect("decided");
    for content_then in ["old\n", "new\n"] {
        assert_eq!(scene.run(&["decide", "rollback", "last", "--yes"]).exit, Some(0));
        assert_eq!(content(&scene), content_then);
    }
    let (second, _) = ids(&scene).remove(0);
    let second = second.expect("decided");
    // Ids are told by their places in what is printed.
    let said = scene.command(&["decide", "rollback", &first, "--yes"]).output().expect("it runs");
    let said_err = String::from_utf8(said.stderr).expect("UTF-8");
    assert_eq!(said.status.code(), Some(1), "{said_err}");
    assert!(said_err.contains(&format!("its changes were brought back by {second}")), "{said_err}");
    assert!(said_err.contains(&format!("decide rollback {second} -s ")), "{said_err}");
    assert_eq!(scene.run(&["decide", "rollback", &second, "--yes"]).exit, Some(0));
    assert_eq!(content(&scene), "old\n");
    // Now the first is undone, by a rollback of a rollback of its rollback, and that is all there is to say.
    let said = scene.run(&["decide", "rollback", &first, "--yes"]);
    assert!(said.err.contains("was already rolled back"), "{}", said.err);
}

#[test]
fn files_of_a_run_that_is_tried_again_are_taken_back_when_that_has_ended() {
    let (scene, _endpoint) = at_the_limit(vec![says("Done otherwise.")]);
    let said = scene.run(&["decide", "retry", "otherwise"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.contains("or, when the run that is open now has ended,\n  take them back   "),
        "{}",
        said.err
    );
    assert_eq!(scene.run(&["resume", "-q", "--yes"]).exit, Some(0));
    let (retried, _) = ids(&scene).remove(1);
    let said = scene.run(&["decide", "rollback", &retried.expect("decided"), "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
}

#[test]
fn commands_that_are_printed_work_from_where_they_are_pasted() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "new\n"), says("Done."), begins("And")]);
    in_git(&scene);
    let folder = scene.work().to_str().expect("UTF-8").to_owned();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let asked = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command.current_dir(elsewhere.path()).args(["-C", &folder]);
        String::from_utf8(command.output().expect("it runs").stderr).expect("UTF-8")
    };
    let said = asked(&["decisions", "--git"]);
    assert!(said.contains(&format!("--commit --bind -C {folder}\n")), "{said}");
    let said = asked(&["decisions", "--commit", "HEAD"]);
    assert!(said.contains(&format!("decisions --git -C {folder}`")), "{said}");
    assert_eq!(git(&scene, "status --porcelain"), "");
}

/// The folder of a session was moved, and is named for one command: so it is for those that this one prints.
#[test]
fn what_decide_prints_goes_on_in_the_folder_that_was_named() {
    let (scene, _endpoint) = rolled_back();
    let moved = scene.path("moved folder");
    std::fs::rename(scene.work(), &moved).expect("moved");
    let folder = moved.to_str().expect("UTF-8").to_owned();
    let decide = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        let output = command.current_dir(scene.path(".")).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (exit, said) = decide(&["decide", "rollback", "last", "--yes", "-C", &folder]);
    assert_eq!(exit, Some(0), "{said}");
    let next = said.lines().find(|line| line.contains("decide rollback ")).expect("it can be taken back");
    assert!(next.ends_with(&format!(" -C '{folder}'")), "{said}");
    let words: Vec<&str> = next.split_whitespace().skip_while(|word| *word != "rollback").collect();
    let (exit, said) = decide(&["decide", "rollback", words[1], "--yes", "-C", &folder]);
    assert_eq!(exit, Some(0), "{said}");
}
