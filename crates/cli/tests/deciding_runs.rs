//! Runs that a person ends with `decide`, and what runs have done taken back, with the real binary and real git.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use trunkline_message_tree::Timestamp;
use trunkline_session_store::Note;

use crate::approval::with_notes_of;
use crate::decisions_shown::write;
use crate::fake::{Answer, Endpoint, Scene, begins, calls, calls_all, says};
use crate::kills;

pub(crate) fn writes(name: &str, content: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": content }).to_string())
}

pub(crate) fn git(scene: &Scene, arguments: &str) -> String {
    let mut git = Command::new("git");
    git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let output = git.arg("-C").arg(scene.work()).args(arguments.split(' ')).output().expect("git runs");
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A repository with one commit of `a.txt`.
pub(crate) fn in_git(scene: &Scene) {
    git(scene, "init -q -b main");
    git(scene, "config user.name Anna");
    git(scene, "config user.email anna@example.org");
    std::fs::write(scene.work().join("a.txt"), "old\n").expect("written");
    git(scene, "add .");
    git(scene, "commit -qm first");
}

/// A run that has written `a.txt` and stands at its limit.
pub(crate) fn at_the_limit(more: Vec<Answer>) -> (Scene, Endpoint) {
    let mut answers = vec![writes("a.txt", "new\n")];
    answers.extend(more);
    let (scene, endpoint) = Scene::with(answers);
    in_git(&scene);
    let said = scene.run(&["run", "write a.txt", "-q", "--yes", "--max-turns", "1"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    (scene, endpoint)
}

#[test]
fn files_that_git_ignores_are_named_where_a_run_may_commit() {
    for (names, committed) in [(["x.log", "y.log"].as_slice(), false), (&["x.log", "b.txt"], true)] {
        let mut answers: Vec<Answer> = names.iter().map(|name| writes(name, "new\n")).collect();
        answers.extend([says("Done."), says("Nothing more.")]);
        let (scene, _endpoint) = Scene::with(answers);
        in_git(&scene);
        std::fs::write(scene.work().join(".git/info/exclude"), "*.log\n").expect("written");
        let said = scene.run(&["run", "write", "--yes", "--commit"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        let ignored =
            names.iter().filter(|name| name.ends_with(".log")).copied().collect::<Vec<_>>().join(", ");
        let told = format!("not committed, because git ignores it: {ignored}\n");
        assert_eq!(said.err.matches(&told).count(), 1, "{}", said.err);
        assert_eq!(git(&scene, "rev-list --count HEAD").trim(), if committed { "2" } else { "1" });
        // Another run, which changes nothing, has nothing to say of it.
        let said = scene.run(&["resume", "--yes", "--commit", "-p", "go on"]);
        assert!(!said.err.contains("git ignores"), "{}", said.err);
    }
}

#[test]
fn a_run_is_put_down_given_up_or_tried_again() {
    let ways = [
        ("checkpoint", "checkpoint: half of it"),
        ("abandon", "abandon: half of it"),
        ("retry", "retry: half of it"),
    ];
    for (word, verdict) in ways {
        let (scene, endpoint) = at_the_limit(vec![says("Well.")]);
        let said = scene.run(&["decide", word, "half of it"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert!(said.out.contains(verdict), "{}", said.out);
        assert!(
            said.err.contains("1 file changed") && said.err.contains("trunkline resume ID"),
            "{}",
            said.err
        );
        let again = scene.run(&["decide", word, "again"]);
        let resumed = scene.run(&["resume", "-q", "--yes"]);
        match word {
            // Another run is open already, with the reason as its prompt.
            "retry" => {
                assert_eq!(again.exit, Some(0), "{}", again.err);
                assert!(endpoint.requests().last().expect("one").contains("again"));
            }
            _ => assert!(again.err.contains("no run is open here"), "{}", again.err),
        }
        let asked = if word == "abandon" { 1 } else { 2 };
        assert_eq!(endpoint.requests().len(), asked, "{word}: {}", resumed.err);
        assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
    }
}

#[test]
fn a_run_with_something_unsettled_is_not_closed() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "new\n")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    let said = scene.run(&["decide", "abandon", "no"]);
    assert_eq!(said.exit, Some(1));
    assert!(
        said.err.contains("p1 is unsettled") && said.err.contains("trunkline resolve -s ID"),
        "{}",
        said.err
    );
    assert_eq!(scene.run(&["decide", "abandon", " "]).exit, Some(2));
    assert_eq!(scene.run(&["decide", "abandon"]).exit, Some(2));
}

#[test]
fn whoever_writes_the_session_closes_the_run_and_stops() {
    let (scene, endpoint) = Scene::with(vec![begins("Thinking")]);
    let mut run = scene.command(&["run", "think", "-q"]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    scene.until("it is asked", || endpoint.requests().len() == 1 && scene.is_running());
    let said = scene.run(&["decide", "abandon", "it only thinks", "--wait"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("left a note") && said.err.contains("it has taken effect"), "{}", said.err);
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(1), "an abandoned run did not do what it was for");
    assert!(scene.ok(&["sessions"]).contains("abandoned"));
}

pub(crate) fn rolled_back() -> (Scene, Endpoint) {
    let both = calls_all(&[
        ("write_file", json!({ "path": "a.txt", "content": "new\n" }).to_string()),
        ("write_file", json!({ "path": "more/b.txt", "content": "b\n" }).to_string()),
    ]);
    let (scene, endpoint) = Scene::with(vec![both, says("Done."), says("I see.")]);
    in_git(&scene);
    let said = scene.run(&["run", "write both", "-q", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    (scene, endpoint)
}

#[test]
fn what_a_run_has_written_is_shown_asked_about_and_taken_back() {
    let (scene, endpoint) = rolled_back();
    let shown = scene.run(&["decide", "rollback", "last", "--dry-run"]);
    assert_eq!(shown.exit, Some(0), "{}", shown.err);
    assert!(shown.out.contains("restore a.txt\nremove more/b.txt\n"), "{}", shown.out);
    assert!(shown.out.contains("  -new\n") && shown.out.contains("  +old\n"), "{}", shown.out);
    let unasked = scene.run(&["decide", "rollback", "last"]);
    assert_eq!(unasked.exit, Some(2), "{}", unasked.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("rollback: of ID"), "{}", said.out);
    assert_eq!(git(&scene, "status --porcelain"), "");
    assert!(!scene.work().join("more").exists());
    // The model hears of it with the next prompt.
    assert_eq!(scene.run(&["resume", "-q", "--yes", "-p", "and now?"]).exit, Some(0));
    assert!(endpoint.requests().last().expect("one").contains("A person takes back"));
}

#[test]
fn with_leave_to_commit_it_is_a_commit() {
    let (scene, _endpoint) = rolled_back();
    git(&scene, "add .");
    git(&scene, "commit -qm theirs");
    let said = scene.run(&["decide", "rollback", "last", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(
        git(&scene, "log --format=%s -1").trim().split(' ').take(2).collect::<Vec<_>>(),
        ["Roll", "back"]
    );
    assert_eq!(git(&scene, "diff HEAD~2 HEAD --stat"), "");
}

/// As it stands when a rollback was killed before its first file: it is in the log, and nothing was restored.
fn cut_off(scene: &Scene, commits: bool) {
    git(scene, "add .");
    git(scene, "commit -qm theirs");
    let exported = scene.command(&["export", "last"]).output().expect("it runs").stdout;
    let of = decided(&exported);
    let mut opened: Value = serde_json::from_str(&note(&exported, "opened")).expect("JSON");
    let record = opened["run"].as_str().expect("a text").to_owned();
    let run: Value = serde_json::from_str(&record).expect("JSON");
    let run = run["id"].as_str().expect("a name");
    let (beginning, _) = run.split_at(run.len() - 4);
    opened["run"] = record.replace(run, &format!("{beginning}0000")).into();
    let of_head = |what: &str| git(scene, &format!("rev-parse {what}")).trim().to_owned();
    opened["base"] = json!({ "commit": of_head("HEAD"), "tree": of_head("HEAD^{tree}") });
    let files = ["a.txt", "more/b.txt"];
    let restoring = json!({ "of": of, "commits": commits, "files": files });
    for (kind, body) in [("opened", opened), ("restoring", restoring)] {
        write(scene, Note::new("decision", kind, Timestamp(1), body.to_string()));
    }
}

#[test]
fn what_was_cut_off_is_finished_by_what_comes_next_and_told() {
    let ways: [&[&str]; 3] = [
        &["decide", "rollback", "last", "--yes"],
        &["decide", "checkpoint", "half of it"],
        &["resume", "--yes"],
    ];
    for way in ways {
        let (mut scene, endpoint) = rolled_back();
        cut_off(&scene, true);
        drop(endpoint);
        // Nobody is there to be asked anything.
        for name in ["OPENAI_BASE_URL", "TRUNKLINE_MODEL"] {
            scene.set(name, "");
        }
        let said = scene.run(way);
        assert_eq!(said.exit, Some(0), "{way:?}: {}", said.err);
        assert!(said.err.contains("a rollback that was cut off is finished"), "{way:?}: {}", said.err);
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("rollback: of ID"), "{way:?}: {told}");
        assert!(git(&scene, "log --format=%s -1").starts_with("Roll back "), "it was wanted as a commit");
        assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "old\n");
        assert!(!scene.work().join("more").exists());
        // With something to say there has to be somebody to hear it.
        let said = scene.run(&["resume", "--yes", "-p", "and now?"]);
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.contains("no model to ask"), "{}", said.err);
    }
}

#[test]
fn a_dry_run_finishes_nothing() {
    let (scene, _endpoint) = rolled_back();
    cut_off(&scene, true);
    let log = git(&scene, "log --format=%H");
    let said = scene.run(&["decide", "rollback", "last", "--dry-run"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("a rollback was cut off here, and is finished first"), "{}", said.err);
    assert_eq!(git(&scene, "log --format=%H"), log);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
}

#[test]
fn what_stands_in_its_way_by_then_is_told_and_nothing_is_half_done() {
    let (scene, _endpoint) = rolled_back();
    cut_off(&scene, false);
    // One of them was restored, and the other has been written since.
    std::fs::write(scene.work().join("a.txt"), "old\n").expect("written");
    std::fs::write(scene.work().join("more/b.txt"), "mine\n").expect("written");
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("could not be finished and was given up"), "{}", said.err);
    assert!(said.out.contains("b.txt has been changed since"), "{}", said.out);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
    assert_eq!(std::fs::read_to_string(scene.work().join("more/b.txt")).expect("there"), "mine\n");
}

#[test]
fn what_a_closed_run_had_written_is_taken_back() {
    for word in ["checkpoint", "abandon"] {
        let (scene, _endpoint) = at_the_limit(Vec::new());
        let open = scene.run(&["decide", "rollback", "last", "--yes"]);
        assert_eq!(open.exit, Some(1), "{}", open.err);
        assert_eq!(scene.run(&["decide", word, "half of it"]).exit, Some(0));
        let said = scene.run(&["decide", "rollback", "last", "--yes"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert_eq!(git(&scene, "status --porcelain"), "", "{word}");
    }
}

#[test]
fn an_open_run_has_to_end_first_and_hides_no_plan() {
    let (scene, _endpoint) = at_the_limit(vec![says("Done."), writes("c.txt", "c\n")]);
    assert_eq!(scene.run(&["resume", "-q", "--yes"]).exit, Some(0));
    assert_eq!(scene.run(&["resume", "-q", "-p", "more", "--yes", "--max-turns", "1"]).exit, Some(1));
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    for command in ["a run is open", "trunkline resume ID", "trunkline decide abandon"] {
        assert!(said.err.contains(command), "{command}: {}", said.err);
    }
    let shown = scene.run(&["decide", "rollback", "last", "--dry-run"]);
    assert_eq!(shown.exit, Some(0), "{}", shown.err);
    assert!(shown.out.contains("restore a.txt\n"), "{}", shown.out);
    assert!(shown.err.contains("a run is open"), "{}", shown.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
}

#[test]
fn what_cannot_be_done_outside_of_git_is_not_offered() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "new\n"), says("Done.")]);
    assert_eq!(scene.run(&["run", "write it", "-q", "--yes"]).exit, Some(0));
    let said = scene.run(&["decide", "rollback", "last", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("--commit needs a git repository"), "{}", said.err);
    assert!(scene.work().join("a.txt").exists());
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(!said.err.contains("take it back") && said.err.contains("go on"), "{}", said.err);
    assert!(!scene.work().join("a.txt").exists());
}

#[test]
fn a_file_that_was_changed_since_keeps_all_of_them() {
    let (scene, _endpoint) = rolled_back();
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("a.txt has been changed since"), "{}", said.err);
    assert!(scene.work().join("more/b.txt").exists());
    let said = scene.run(&["decide", "rollback", "ffffffff", "--yes"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("there is no decision") && said.err.contains("other: applied"), "{}", said.err);
}

#[test]
fn what_stands_in_the_way_says_what_is_otherwise_and_what_to_do() {
    let git_hint = "`git diff -- FILE`";
    for in_a_repository in [true, false] {
        let both = calls_all(&[
            ("write_file", json!({ "path": "a.txt", "content": "new\n" }).to_string()),
            ("write_file", json!({ "path": "b.txt", "content": "b\n" }).to_string()),
        ]);
        let (scene, _endpoint) = Scene::with(vec![both, says("Done.")]);
        std::fs::write(scene.work().join("b.txt"), "old b\n").expect("written");
        if in_a_repository {
            in_git(&scene);
        }
        scene.ok(&["run", "write both", "-q", "--yes"]);
        std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
        std::fs::remove_file(scene.work().join("b.txt")).expect("removed");
        let refused = scene.run(&["decide", "rollback", "last", "--yes"]);
        assert_eq!(refused.exit, Some(1), "{}", refused.err);
        for part in [
            "nothing was changed",
            "\n  a.txt has been changed since: its text is not what the run left\n",
            "\n  b.txt has been removed since: it is not there any more\n",
            "`trunkline decisions --all` lists them",
            "with --dry-run looks again",
        ] {
            assert!(refused.err.contains(part), "{part}: {}", refused.err);
        }
        assert_eq!(refused.err.contains(git_hint), in_a_repository, "{}", refused.err);
        let looked = scene.run(&["decide", "rollback", "last", "--dry-run"]);
        assert!(
            looked.exit == Some(1) && looked.err.contains("a.txt has been changed since"),
            "{}",
            looked.err
        );
        assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "mine\n");
    }
}

#[test]
fn what_is_put_aside_with_git_stash_is_not_in_the_way_any_more() {
    let (scene, _endpoint) = rolled_back();
    git(&scene, "add .");
    git(&scene, "commit -qm theirs");
    std::fs::write(scene.work().join("a.txt"), "mine\n").expect("written");
    assert_eq!(scene.run(&["decide", "rollback", "last", "--yes"]).exit, Some(1));
    git(&scene, "stash -q");
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "old\n");
}

#[test]
fn what_only_lost_its_permission_is_told_apart() {
    use std::os::unix::fs::PermissionsExt;
    let (scene, _endpoint) = rolled_back();
    let file = scene.work().join("a.txt");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
    let said = scene.run(&["decide", "rollback", "last", "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(
        said.err.contains("a.txt has been changed since: only whether it may be executed"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_put_down_is_not_committed_and_that_is_said() {
    let (scene, _endpoint) = at_the_limit(vec![writes("b.txt", "b\n"), says("Done.")]);
    let said = scene.run(&["decide", "checkpoint", "half of it"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("the files stay as they are, not committed"), "{}", said.err);
    assert!(said.err.contains("`git commit` them, or\n"), "{}", said.err);
    assert!(said.err.contains("take them back   trunkline decide rollback ID -s ID\n"), "{}", said.err);
    // And so it is: a later run commits what it has done itself.
    scene.ok(&["resume", "-q", "--yes", "--commit", "-p", "now b.txt"]);
    assert_eq!(git(&scene, "show --format= --name-only HEAD").trim(), "b.txt");
    assert_eq!(git(&scene, "status --porcelain").trim(), "M a.txt");
    for help in [scene.ok(&["decide", "--help"]), scene.ok(&["decide", "checkpoint", "--help"])] {
        assert!(help.contains("not committed"), "{help}");
    }
    // Where nothing was changed there is nothing to say.
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), begins("And")]);
    scene.ok(&["run", "say something", "-q"]);
    scene.run(&["resume", "-p", "and more", "--max-turns", "0"]);
    let said = scene.run(&["decide", "checkpoint", "later"]);
    assert_eq!((said.exit, said.err.contains("files stay")), (Some(0), false), "{}", said.err);
}

#[test]
fn a_decision_is_found_in_whatever_session_it_is() {
    let answers = vec![writes("a.txt", "new\n"), says("Done."), says("Well."), says("Once more.")];
    let (scene, _endpoint) = Scene::with(answers);
    in_git(&scene);
    assert_eq!(scene.run(&["run", "write it", "-q", "--yes"]).exit, Some(0));
    let id = decided(&scene.command(&["export", "last"]).output().expect("it runs").stdout);
    assert_eq!(scene.run(&["run", "another session", "-q", "--yes"]).exit, Some(0));
    // Both were made within the same hundred years.
    let said = scene.run(&["decide", "rollback", "01", "--yes"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("is the beginning of decisions in 2 sessions"), "{}", said.err);
    let nobody = scene.run(&["decide", "rollback", "ffffffff", "--yes"]);
    assert!(nobody.err.contains("decisions --all"), "{}", nobody.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
    let said = scene.run(&["decide", "rollback", &id, "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(git(&scene, "status --porcelain"), "");
}

/// Returns the first decision of an exported session.
fn decided(exported: &[u8]) -> String {
    let decided = note(exported, "decided");
    let decided: Value = serde_json::from_str(&decided).expect("JSON");
    decided["id"].as_str().expect("a name").to_owned()
}

/// Returns the body of the first note on a run that is of some kind.
fn note(exported: &[u8], kind: &str) -> String {
    let exported = std::str::from_utf8(exported).expect("UTF-8");
    let mut records = exported.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let found = records.find(|record| record["layer"] == "decision" && record["kind"] == kind);
    match &found.expect("it is there")["body"] {
        Value::String(body) => body.clone(),
        body => body.to_string(),
    }
}

#[test]
fn an_import_that_says_it_was_rolling_back_writes_no_file() {
    let (scene, _endpoint) = rolled_back();
    let exported = scene.command(&["export", "last"]).output().expect("it runs").stdout;
    // A file as somebody may hand it over: the run was just about to be taken back.
    let of = decided(&exported);
    let opened = note(&exported, "opened");
    let run: Value = serde_json::from_str(&opened).expect("JSON");
    let run: Value = serde_json::from_str(run["run"].as_str().expect("a text")).expect("JSON");
    let run = run["id"].as_str().expect("a name");
    let (beginning, _) = run.split_at(run.len() - 4);
    let opened = opened.replace(run, &format!("{beginning}0000"));
    let notes = [("opened", opened), ("restoring", json!({ "of": of }).to_string())];
    let file = scene.path("forged.jsonl");
    std::fs::write(&file, with_notes_of("decision", &exported, &notes)).expect("written");
    let other = scene.path("other.db");
    let other = other.to_str().expect("a plain path");
    scene.ok(&["--store", other, "import", file.to_str().expect("a plain path")]);
    let resumed = scene.run(&["--store", other, "resume", "-q", "--yes"]);
    assert_eq!(
        std::fs::read_to_string(scene.work().join("a.txt")).expect("there"),
        "new\n",
        "{}",
        resumed.err
    );
    assert!(scene.work().join("more/b.txt").exists());
    let said = scene.run(&["--store", other, "decide", "rollback", &of, "--yes"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("brought here from elsewhere"), "{}", said.err);
}

/// Killed at moments from a seeded sequence, a rollback is whole, or is made whole by whoever opens the session next.
#[test]
fn a_rollback_that_is_killed_is_brought_to_its_end() {
    let mut seed = kills::set("TRUNKLINE_TEST_SEED", kills::SEED);
    for _ in 0..kills::set("TRUNKLINE_TEST_KILLS", kills::KILLS).min(8) {
        let (scene, _endpoint) = rolled_back();
        let mut command = scene.command(&["decide", "rollback", "last", "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        kills::kill_at(&mut child, Duration::from_millis(kills::next(&mut seed) % 250));
        let _ = child.wait();
        // Whatever opens it does the rest; what had not begun can be asked for again.
        scene.run(&["resume", "-q", "--yes"]);
        if !git(&scene, "status --porcelain").is_empty() {
            assert_eq!(std::fs::read_to_string(scene.work().join("a.txt")).expect("there"), "new\n");
            assert!(scene.work().join("more/b.txt").exists(), "not half of it");
            assert_eq!(scene.run(&["decide", "rollback", "last", "--yes"]).exit, Some(0));
        }
        assert_eq!(git(&scene, "status --porcelain"), "", "nothing lies about either");
        let log: Vec<Value> = scene
            .ok(&["export", "last"])
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let decided =
            log.iter().filter(|record| record["layer"] == "decision" && record["kind"] == "decided");
        assert_eq!(decided.count(), 2, "one verdict for each run");
        scene.ok(&["doctor", "last"]);
    }
}
