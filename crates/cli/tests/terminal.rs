//! A person at a terminal is shown what is wanted, and answers.

use serde_json::json;

use crate::fake::{Answer, Endpoint, Scene, Terminal, calls, says};

/// Starts a run at a terminal; says loudly if none can be made.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
fn asked(answers: Vec<Answer>) -> Option<(Scene, Endpoint, Terminal)> {
    let (scene, endpoint) = Scene::with(answers);
    std::fs::create_dir(scene.work().join("src")).expect("a folder");
    let Some(terminal) = scene.at_terminal(&["run", "do it"]) else {
        eprintln!("SKIPPED: there is no `script` to make a terminal");
        return None;
    };
    terminal.until("[a]pply", 1);
    Some((scene, endpoint, terminal))
}

fn writes(name: &str, content: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": content }).to_string())
}

fn two_files() -> Answer {
    let edits =
        json!([{ "path": "src/a.rs", "content": "a\n" }, { "path": "src/b.rs", "content": "b\nb\n" }]);
    calls("edit_files", &json!({ "edits": edits }).to_string())
}

fn has(scene: &Scene, name: &str) -> bool {
    scene.work().join(name).exists()
}

#[test]
fn the_diff_is_shown_and_what_was_typed_before_is_no_answer() {
    let Some((scene, _endpoint, mut terminal)) = asked(vec![writes("a.txt", "one\n"), says("Done.")]) else {
        return;
    };
    assert!(terminal.shows().contains("    +one\n"), "{}", terminal.shows());
    terminal.types("what?");
    terminal.until("type a, d, ", 1);
    assert!(!has(&scene, "a.txt"));
    terminal.types("a");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(has(&scene, "a.txt") && shown.contains("✓ p1 done"), "{shown}");
}

#[test]
fn later_closes_the_question_and_leaves_the_proposal() {
    let Some((scene, _endpoint, mut terminal)) = asked(vec![writes("a.txt", "one\n")]) else { return };
    terminal.types("l");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(1), "{shown}");
    assert!(shown.contains("waiting for you"), "{shown}");
    let told = scene.ok(&["resolve", "p1"]);
    assert!(told.contains("\nproposed\nasked ") && told.contains(", and left for later"), "{told}");
}

#[test]
fn some_of_several_files_can_be_applied() {
    let Some((scene, _endpoint, mut terminal)) = asked(vec![two_files(), says("Done.")]) else { return };
    terminal.types("f");
    terminal.until("which of them?", 1);
    assert!(terminal.shows().contains("  1  src/a.rs  +1\n  2  src/b.rs  +2\n"), "{}", terminal.shows());
    terminal.types("3");
    terminal.until("it does not write", 1);
    terminal.types("f 2");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("counts as discarded: src/a.rs"), "{shown}");
    assert!(!has(&scene, "src/a.rs") && has(&scene, "src/b.rs"));
    let told = scene.ok(&["resolve", "p1"]);
    assert!(told.contains("left out, and so discarded: src/a.rs"), "{told}");
}

#[test]
fn an_answer_can_be_given_ahead_and_the_rule_is_shown_before_it_counts() {
    let answers =
        vec![writes("src/a.rs", "a\n"), writes("src/b.rs", "b\n"), writes("other.txt", "c\n"), says("Done.")];
    let Some((scene, _endpoint, mut terminal)) = asked(answers) else { return };
    terminal.types("A");
    terminal.until("which rule?", 1);
    let offered = "\
  1  allow what is written to src/a.rs (reversible), in this session
  2  allow what is written to src/** (reversible), in this session
  3  allow write_file, whatever it does (reversible), in this session
";
    assert!(terminal.shows().contains(offered), "{}", terminal.shows());
    terminal.types("");
    terminal.until("no rule was given", 1);
    assert!(!has(&scene, "src/a.rs"));
    terminal.types("A 2");
    // The second is written without a question, the third is outside of the folder.
    terminal.until("[a]pply", 3);
    assert!(has(&scene, "src/a.rs") && has(&scene, "src/b.rs") && !has(&scene, "other.txt"));
    terminal.types("d not here");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("approved by the policy r1: allowed by r1"), "{shown}");
    let listed = scene.ok(&["rules"]);
    assert!(
        listed.starts_with(
            "r1   allow  what is written to src/** (reversible)  in this session  by the person"
        ),
        "{listed}"
    );
    assert!(listed.contains(", used "), "{listed}");
}

#[test]
fn a_decision_in_another_terminal_answers_the_question() {
    let Some((scene, _endpoint, terminal)) = asked(vec![writes("a.txt", "one\n"), says("Done.")]) else {
        return;
    };
    let listed = scene.ok(&["resolve"]);
    assert!(listed.contains("  written by process "), "{listed}");
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 applied\n"), "{}", said.err);
    assert!(said.err.contains("left a note, it will be read before its next step"), "{}", said.err);
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("Done.") && has(&scene, "a.txt"), "{shown}");
    let late = scene.run(&["resolve", "p1", "discard"]);
    assert_eq!(late.exit, Some(1), "{}", late.err);
}

#[test]
fn all_that_wait_in_a_session_that_is_written_elsewhere_are_left_to_its_writer() {
    let Some((scene, _endpoint, terminal)) = asked(vec![writes("a.txt", "one\n"), says("Done.")]) else {
        return;
    };
    let said = scene.run(&["resolve", "all", "apply", "--yes", "--wait"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 applied\n"), "{}", said.err);
    assert_eq!(terminal.end().0, Some(0));
    assert!(has(&scene, "a.txt"));
}

#[test]
fn a_rule_that_is_given_elsewhere_answers_the_question_too() {
    let Some((scene, _endpoint, terminal)) = asked(vec![writes("src/a.rs", "a\n"), says("Done.")]) else {
        return;
    };
    let said = scene.run(&["rules", "add", "allow", "--path", "src/**"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("· rule r1 by the person"), "{shown}");
    assert!(has(&scene, "src/a.rs"));
}

#[test]
fn nothing_that_is_proposed_moves_the_cursor() {
    let hostile = "one\u{1b}[2J\u{1b}[1A\u{9b}31m\u{202e}two\n";
    let Some((_scene, _endpoint, mut terminal)) = asked(vec![writes("a.txt", hostile), says("Done.")]) else {
        return;
    };
    terminal.types("A");
    terminal.until("which rule?", 1);
    terminal.types("");
    terminal.types("s");
    terminal.types("d \u{1b}[2J");
    let (_, shown) = terminal.end();
    let typed_back = shown.replace("^[", "");
    let bad = |c: char| c != '\n' && c != '\r' && (c.is_control() || c == '\u{202e}');
    assert!(!typed_back.contains(bad), "{typed_back:?}");
}

#[test]
fn whoever_never_wants_to_be_asked_is_not_even_at_a_terminal() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "one\n")]);
    let Some(terminal) = scene.at_terminal(&["run", "do it", "--non-interactive"]) else { return };
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(1), "{shown}");
    assert!(!shown.contains("[a]pply") && shown.contains("waiting for you"), "{shown}");
    assert!(shown.contains("resolve p1 apply -s "), "{shown}");
}

#[test]
fn of_one_who_answers_and_one_who_decides_elsewhere_one_decides() {
    for _ in 0..3 {
        let Some((scene, _endpoint, mut terminal)) = asked(vec![writes("a.txt", "one\n"), says("Done.")])
        else {
            return;
        };
        let elsewhere = scene.command(&["resolve", "p1", "discard", "--wait"]).spawn().expect("it starts");
        terminal.types("a");
        let said = scene.said(elsewhere.wait_with_output().expect("it ends"));
        let (exit, shown) = terminal.end();
        assert_eq!(exit, Some(0), "{shown}");
        let out = scene.command(&["export"]).output().expect("it runs").stdout;
        let log = String::from_utf8(out).expect("UTF-8").replace('\\', "");
        assert_eq!(log.matches(r#""decided":{"verdict""#).count(), 1, "{shown}{}", said.err);
        assert_eq!(has(&scene, "a.txt"), said.exit == Some(1), "{shown}{}", said.err);
        if said.exit == Some(1) {
            assert!(said.err.contains("error: p1 is applied: the person approved it "), "{}", said.err);
        }
    }
}

#[test]
fn an_undo_can_be_asked_for_while_the_run_goes_on() {
    let answers = vec![writes("a.txt", "one\n"), writes("b.txt", "two\n"), says("Done.")];
    let Some((scene, _endpoint, mut terminal)) = asked(answers) else { return };
    terminal.types("a");
    terminal.until("[a]pply", 2);
    let said = scene.run(&["resolve", "p1", "undo", "--wait"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("± p3 undo p1: create a.txt"), "{}", said.out);
    assert_eq!(scene.run(&["resolve", "p3", "apply", "--wait"]).out, "p3 applied\n");
    assert!(!has(&scene, "a.txt"));
    terminal.until("[a]pply", 3);
    terminal.types("a");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(has(&scene, "b.txt"));
}

#[test]
fn an_interrupt_at_the_question_names_what_waits_and_how_to_decide() {
    let Some((scene, _endpoint, mut terminal)) = asked(vec![writes("a.txt", "one\n")]) else { return };
    terminal.types("\u{3}");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(130), "{shown}");
    let end = shown.split_once("cancelled; what the model had written is kept").map_or("", |(_, end)| end);
    assert!(end.contains("  p1 create a.txt (+1)") && end.contains("resolve p1 apply -s "), "{shown}");
    assert!(!has(&scene, "a.txt"));
}
