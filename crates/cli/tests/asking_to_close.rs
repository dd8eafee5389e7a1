//! `--moves decide`: a model asks for the end of its run, and a person decides, or a rule that names the tool.

use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, calls, calls_all, says};

fn asks(decision: &str, words: &str) -> Answer {
    calls("request_decision", &json!({ "decision": decision, "words": words }).to_string())
}

fn scene(answers: Vec<Answer>) -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(answers);
    let rules = json!({ "rules": [{ "verdict": "allow", "tool": "request_decision" }] });
    std::fs::write(scene.path("rules.json"), rules.to_string()).expect("written");
    (scene, endpoint)
}

fn json_of(scene: &Scene, arguments: &[&str]) -> Value {
    let out = scene.command(arguments).output().expect("the binary runs").stdout;
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn a_retry_waits_for_a_person_under_yes_too_and_goes_on_in_their_words() {
    let answers = vec![
        calls_all(&[
            (
                "request_decision",
                json!({ "decision": "retry", "words": "use sed\u{1b}[2J\nand not awk" }).to_string(),
            ),
            ("run_command", json!({ "command": "touch ran" }).to_string()),
        ]),
        says("Done."),
    ];
    let (scene, endpoint) = scene(answers);
    let said = scene.run(&["run", "-y", "--moves", "decide", "clean up"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let told = "the model asks for the end of its run; nothing goes on before you decide\n";
    assert!(said.err.contains(told), "{}", said.err);
    assert!(said.err.contains("    > and not awk\n") && !said.err.contains('\u{1b}'), "{}", said.err);
    assert!(said.err.contains("  approve  trunkline resolve p1 apply -s ID\n"), "{}", said.err);
    assert!(said.err.contains("resume ID --yes --moves decide"), "{}", said.err);
    let all = scene.run(&["resolve", "all", "apply", "--yes"]);
    assert_eq!(all.exit, Some(1), "{}", all.err);
    let passed = "passed over: p1 of ID is a request to end the run, which is decided on by its name\n";
    assert!(all.err.contains(passed), "{}", all.err);
    assert_eq!(scene.run(&["resume", "-y"]).exit, Some(1));

    std::fs::write(scene.path("words.txt"), "use perl\n").expect("written");
    std::fs::write(scene.path("blank.txt"), "\n").expect("written");
    let (words, blank) = (scene.path("words.txt"), scene.path("blank.txt"));
    let said = scene.run(&["resolve", "p1", "apply", "--edit", blank.to_str().expect("UTF-8")]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("holds no words: it is blank"), "{}", said.err);
    let said = scene.run(&["resolve", "p1", "apply", "--edit", words.to_str().expect("UTF-8")]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p1 approved\n"), "{}", said.err);
    assert!(said.err.contains("◆ retry: use perl\n"), "{}", said.err);
    let shown = scene.ok(&["resolve", "p1"]);
    assert!(
        shown.contains("    > and not awk\n") && shown.contains("approved in these words:\n    > use perl\n")
    );
    let decisions = scene.ok(&["decisions"]);
    assert!(
        decisions.contains("by agent openai-chat/") && decisions.contains(", approved by human "),
        "{decisions}"
    );
    assert!(!scene.work().join("ran").exists(), "what was called behind it did not begin");

    assert_eq!(scene.ok(&["resume", "-y"]), "Done.\n");
    let request = endpoint.requests().pop().expect("one");
    assert!(
        request.contains("Try again from here: you asked for it, and a person approved that."),
        "{request}"
    );
}

#[test]
fn a_rule_of_the_policy_file_decides_if_it_names_the_tool() {
    let answers = vec![
        asks("retry", "again"),
        asks("checkpoint", "half is done"),
        asks("abandon", "it cannot be done"),
        asks("abandon", "it cannot be done"),
    ];
    let (scene, _endpoint) = scene(answers);
    let rules = scene.path("rules.json");
    let rules = rules.to_str().expect("UTF-8");
    let told =
        json_of(&scene, &["run", "--task", "clean up", "--moves", "decide", "--policy", rules, "--json"]);
    assert_eq!(
        (&told["stop"], &told["verdict"]["verdict"]["kind"]),
        (&json!("decided"), &json!("checkpoint"))
    );
    assert!(scene.ok(&["decisions"]).contains("approved by system r1"), "{}", scene.ok(&["decisions"]));
    assert!(scene.ok(&["decisions", "--status"]).contains("clean up"), "the task is there");
    // Without that rule nobody but a person does.
    let told = json_of(&scene, &["resume", "--moves", "decide", "--policy", "model", "--json"]);
    assert_eq!((&told["stop"], &told["waiting"]), (&json!("waiting"), &json!(["p3"])));
    assert_eq!(told["request"]["close"]["abandon"]["reason"], "it cannot be done");
    let said = scene.run(&["resolve", "p3", "discard", "--reason", "go on"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p3 refused\n"), "{}", said.err);
    // Nor does a rule for all tools that change nothing.
    std::fs::write(
        scene.path("wide.json"),
        json!({ "rules": [{ "verdict": "allow", "effects": ["pure"] }] }).to_string(),
    )
    .expect("written");
    let wide = scene.path("wide.json");
    let wide = wide.to_str().expect("UTF-8");
    let said = scene.run(&["resume", "--moves", "decide", "--policy", wide]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("± p4 give the run up: “it cannot be done”"), "{}", said.err);
    let said = scene.run(&["resolve", "p4", "apply"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "p4 approved\n"), "{}", said.err);
    assert!(scene.ok(&["decisions", "--status"]).contains("failed"), "the task has failed");
    assert_eq!(scene.run(&["decisions", "--check"]).exit, Some(0));
}

#[test]
fn nothing_of_it_is_offered_unless_it_is_asked_for_and_a_rule_that_says_nothing_is_refused() {
    let (scene, endpoint) = scene(vec![says("Hello."), says("Hello again.")]);
    scene.ok(&["run", "hi", "-q"]);
    scene.ok(&["run", "hi", "-q", "--moves", "merge,decide"]);
    let requests = endpoint.requests();
    assert!(!requests[0].contains("request_decision") && requests[1].contains("request_decision"));
    for (wrong, why) in [
        (&["--path", "a/**"][..], "request_decision ends a run and writes to no path"),
        (&["--effect", "irreversible"], "request_decision changes nothing by itself"),
    ] {
        let said = scene.run(&[&["rules", "add", "allow", "--tool", "request_decision"][..], wrong].concat());
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
    scene.ok(&["rules", "add", "allow", "--tool", "request_decision"]);
}
