//! `run --plan`: nothing but reading is done before a person has approved a plan.

use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, calls, calls_all, says};

fn proposes(title: &str) -> Answer {
    let steps = json!([{ "text": "write a.txt", "done_when": "it is new" }, { "text": "look at it once" }]);
    calls("propose_plan", &json!({ "title": title, "steps": steps }).to_string())
}

fn changes() -> Answer {
    calls_all(&[
        ("write_file", json!({ "path": "a.txt", "content": "new\n" }).to_string()),
        ("run_command", json!({ "command": "touch ran" }).to_string()),
        ("read_file", json!({ "path": "a.txt" }).to_string()),
    ])
}

fn scene(answers: Vec<Answer>) -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(answers);
    std::fs::write(scene.work().join("a.txt"), "old\n").expect("written");
    (scene, endpoint)
}

fn has(scene: &Scene, name: &str) -> bool {
    scene.work().join(name).exists()
}

fn content(scene: &Scene) -> String {
    std::fs::read_to_string(scene.work().join("a.txt")).expect("it is there")
}

fn json_of(scene: &Scene, arguments: &[&str]) -> Value {
    let out = scene.command(arguments).output().expect("the binary runs").stdout;
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn without_a_person_a_run_stops_and_resolve_goes_on() {
    let answers = vec![changes(), proposes("Mend it"), proposes("Mend it gently"), changes(), says("Done.")];
    let (scene, endpoint) = scene(answers);
    let said = scene.run(&["run", "--plan", "-y", "mend a.txt"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(!has(&scene, "ran") && content(&scene) == "old\n", "{}", said.err);
    assert!(
        said.err.contains("⊘ Run command (run_command) touch ran · not run: a plan has to be approved first"),
        "{}",
        said.err
    );
    assert!(said.err.contains("a plan waits for you; nothing but reading is done before\n"), "{}", said.err);
    assert!(said.err.contains("    1. write a.txt\n       done when: it is new\n"), "{}", said.err);
    assert!(said.err.contains("  approve  trunkline resolve p1 apply -s ID\n"), "{}", said.err);
    // Whoever looks is told, and what to type.
    assert!(scene.ok(&["sessions"]).contains("  a plan waits  "));
    let line = "± p1 plan: Mend it waits for you; nothing but reading is done before\n";
    for look in ["show", "tree"] {
        let said = scene.run(&[look]);
        assert!(said.out.contains(line), "{}", said.out);
        assert!(said.err.contains("  change   trunkline resolve p1 apply --edit -s ID\n"), "{}", said.err);
    }
    assert!(scene.run(&["resolve", "p1"]).err.contains("  trunkline resolve p1 apply --edit -s ID\n"));
    // Nobody approves it with all the rest.
    let all = scene.run(&["resolve", "all", "apply", "--yes"]);
    assert_eq!(all.exit, Some(1), "{}", all.err);
    assert!(
        all.err.contains("passed over: p1 of ID is a plan, which is decided on by its name\n"),
        "{}",
        all.err
    );

    let said = scene.run(&["resolve", "p1", "discard", "--reason", "gently"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 refused\n"), "{}", said.err);
    let said = scene.run(&["resume", "-y"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(endpoint.requests().last().expect("one").contains("does not want this plan: gently"));

    let edited = scene.path("plan.txt");
    std::fs::write(&edited, "Mend it gently\n1. write a.txt\n   done when: it is new\n2. look at it twice\n")
        .expect("written");
    let said = scene.run(&["resolve", "p2", "apply", "--edit", edited.to_str().expect("UTF-8")]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p2 approved\n"), "{}", said.err);
    assert!(
        scene.ok(&["resolve", "p2"]).contains("approved with this text:\n    Mend it gently\n      1. write")
    );
    let late = scene.run(&["resolve", "p2", "apply"]);
    assert_eq!(late.exit, Some(1), "{}", late.out);
    assert!(late.err.contains("p2 was approved already, with another text"), "{}", late.err);
    assert!(!has(&scene, "ran"), "a plan permits no command");

    // From there on all is as without a plan.
    let said = scene.run(&["resume", "-y"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Done.\n"), "{}", said.err);
    assert!(has(&scene, "ran") && content(&scene) == "new\n", "{}", said.err);
    let told = endpoint.requests().pop().expect("one");
    assert!(told.contains("changed it: this text counts") && told.contains("2. look at it twice"), "{told}");
}

#[test]
fn after_the_plan_a_command_is_asked_about_as_without() {
    let (scene, _endpoint) = scene(vec![proposes("Mend it"), changes(), says("Done.")]);
    assert_eq!(scene.run(&["run", "--plan", "mend a.txt"]).exit, Some(1));
    assert_eq!(scene.run(&["resolve", "p1", "apply"]).exit, Some(0));
    let said = scene.run(&["resume"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("  p2 overwrite a.txt") && !has(&scene, "ran"), "{}", said.err);
}

#[test]
fn programs_are_told_the_plan_and_what_makes_no_sense_is_refused() {
    let (scene, _endpoint) = scene(vec![proposes("Mend\u{1b}[2J it\u{202e}"), says("Done.")]);
    let told = json_of(&scene, &["run", "--plan", "--json", "mend a.txt"]);
    assert_eq!((&told["stop"], &told["waiting"]), (&json!("waiting"), &json!(["p1"])));
    assert_eq!(told["plan"]["title"], "Mend[2J it");
    assert_eq!(told["plan"]["steps"][0]["done_when"], "it is new");
    assert_eq!(json_of(&scene, &["sessions", "--json"])["sessions"][0]["state"], "a plan waits");
    for (arguments, why) in [
        (vec!["resolve", "p1", "apply", "--edit"], "no editor is named: set VISUAL or EDITOR"),
        (vec!["resolve", "p1", "apply", "--edit", "none.txt"], "cannot read none.txt"),
        (vec!["resolve", "p1", "apply", "--edit", "a.txt"], "a.txt holds no plan: the plan has no steps"),
        (vec!["resolve", "p1", "discard", "--edit", "a.txt"], "a plan that is refused needs no text"),
        (vec!["resolve", "all", "apply", "--edit", "a.txt"], "--edit changes the text of one plan"),
        (vec!["resolve", "p1", "--edit", "a.txt"], "required arguments were not provided"),
    ] {
        let said = scene.run(&arguments);
        assert_eq!(said.exit, Some(2), "{arguments:?}: {}", said.err);
        assert!(said.err.contains(why), "{arguments:?}: {}", said.err);
    }
    assert_eq!(json_of(&scene, &["sessions", "--json"])["sessions"][0]["state"], "a plan waits");
}

#[test]
fn an_edit_is_no_plan() {
    let (scene, _endpoint) = scene(vec![changes()]);
    assert_eq!(scene.run(&["run", "mend a.txt"]).exit, Some(1));
    let said = scene.run(&["resolve", "p1", "apply", "--edit", "a.txt"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("p1 is no plan: --edit approves a plan with another text"), "{}", said.err);
    assert_eq!(content(&scene), "old\n");
}

/// Starts a run at a terminal; says loudly if none can be made.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
fn at_terminal(scene: &Scene, arguments: &[&str]) -> Option<crate::fake::Terminal> {
    let terminal = scene.at_terminal(arguments);
    if terminal.is_none() {
        eprintln!("SKIPPED: there is no `script` to make a terminal");
    }
    terminal
}

#[test]
fn at_a_terminal_a_plan_is_changed_in_an_editor_and_asked_about_again_also_where_all_is_approved() {
    let (mut scene, endpoint) = scene(vec![proposes("Mend it"), changes(), says("Done.")]);
    // It reads a line of the keyboard itself: nobody else may.
    let editor = scene.path("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf 'which? '; read how\nsed -i \"s/once/$how/\" \"$1\"\n")
        .expect("written");
    scene.set("EDITOR", &format!("sh {}", editor.display()));
    let Some(mut terminal) = at_terminal(&scene, &["run", "--plan", "-y", "mend a.txt"]) else { return };
    terminal.until("[a]pprove · [e]dit · [r]efuse, and why · [l]ater:", 1);
    assert!(terminal.shows().contains("    2. look at it once\n"), "{}", terminal.shows());
    terminal.types("A");
    terminal.until("no rule approves a plan", 1);
    terminal.types("e");
    terminal.until("which? ", 1);
    terminal.types("twice");
    terminal.until("[a]pprove this text", 1);
    assert!(terminal.shows().contains("      2. look at it twice\n"), "{}", terminal.shows());
    assert!(!has(&scene, "ran"), "leaving an editor approves nothing");
    terminal.types("a");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(has(&scene, "ran") && content(&scene) == "new\n", "{shown}");
    let told = endpoint.requests().pop().expect("one");
    assert!(told.contains("2. look at it twice"), "{told}");
}

#[test]
fn a_plan_that_is_left_for_later_is_approved_from_another_terminal() {
    let (scene, _endpoint) = scene(vec![proposes("Mend it"), proposes("Mend it well"), says("Done.")]);
    let Some(mut terminal) = at_terminal(&scene, &["run", "--plan", "mend a.txt"]) else { return };
    terminal.until("[a]pprove", 1);
    terminal.types("l");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(1), "{shown}");
    assert!(shown.contains("a plan waits for you"), "{shown}");
    assert!(scene.ok(&["sessions"]).contains("  a plan waits  "), "{shown}");

    let Some(mut terminal) = at_terminal(&scene, &["resume", "--yes"]) else { return };
    terminal.until("[a]pprove", 1);
    terminal.types("r say how");
    terminal.until("Mend it well", 1);
    terminal.until("[a]pprove", 2);
    let said = scene.run(&["resolve", "p2", "apply", "--wait"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p2 approved\n"), "{}", said.err);
    let (exit, shown) = terminal.end();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("Done."), "{shown}");
}
