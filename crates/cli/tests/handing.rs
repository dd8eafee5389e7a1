//! What a person hands to a tool with a decision, how a model is brought to decide, and what is not cleaned up when a session goes.

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_session_store::Note;

use crate::fake::{Answer, Endpoint, Scene, calls, says};
use crate::made::{DAY, id, with_note};

fn writes(name: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": "one\n" }).to_string())
}

fn waiting() -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(vec![writes("a.txt"), says("done")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q"]).exit, Some(1));
    (scene, endpoint)
}

#[test]
fn what_is_handed_over_is_shown_as_part_of_what_is_approved_and_kept() {
    let (scene, _endpoint) = waiting();
    let said = scene.run(&["resolve", "p1", "apply", "--extra", "mode=dry run", "--extra", "n=[1,2]"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.starts_with("apply with mode = \"dry run\", n = [1,2]\n"), "{}", said.err);
    let shown = scene.ok(&["resolve", "p1", "-s", "last"]);
    assert!(shown.contains("\nhanded to the tool: mode = \"dry run\", n = [1,2]\n"), "{shown}");
    let json: Value =
        serde_json::from_str(&scene.ok(&["resolve", "p1", "-s", "last", "--json"])).expect("JSON");
    assert_eq!(json["decision"]["extra"], json!({ "mode": "dry run", "n": [1, 2] }));
    let told = scene.ok(&["show", "last"]);
    assert!(
        told.contains(r#"A person approved p1 with {"mode":"dry run","n":[1,2]}, and it was applied."#),
        "{told}"
    );
}

#[test]
fn what_cannot_be_handed_over_is_said_and_decides_nothing() {
    let (scene, _endpoint) = waiting();
    let deep = format!("deep={}1{}", "[".repeat(100), "]".repeat(100));
    let mut told = String::new();
    for (arguments, exit) in [
        (vec!["p1", "apply", "--extra", "mode"], 2),
        (vec!["p1", "apply", "--extra", "=dry"], 2),
        (vec!["p1", "apply", "--extra", "a=1", "--extra", "a=2"], 2),
        (vec!["p1", "undo", "--extra", "a=1"], 2),
        (vec!["p1", "--extra", "a=1"], 2),
        (vec!["p1", "apply", "--extra", &deep], 1),
    ] {
        let said = scene.run(&[&["resolve"], arguments.as_slice()].concat());
        assert_eq!(said.exit, Some(exit), "{}", said.err);
        let fault = said.err.lines().find(|line| line.contains("error:")).unwrap_or_default();
        told += &format!("{}\n", fault.replace(&deep, "DEEP"));
    }
    expect![[r#"
        error: invalid value 'mode' for '--extra <KEY=VALUE>': it is KEY=VALUE, as in --extra copies=2
        error: invalid value '=dry' for '--extra <KEY=VALUE>': the key before `=` is empty
        error: --extra gives a twice
        error: --extra goes with apply or discard; undo only proposes
        error: the following required arguments were not provided:
        error: `extra` is nested deeper than 64 levels
    "#]]
    .assert_eq(&told);
    assert!(scene.ok(&["resolve", "p1"]).contains("\nproposed\n"));
}

/// Runs a model that stages an edit, looks somewhere else and answers, and returns what it was sent.
fn brought(how: &[&str]) -> (Scene, Endpoint, String) {
    let looks = || calls("list_files", "{}");
    let (scene, endpoint) = Scene::with(vec![writes("a.txt"), looks(), looks(), says("done"), says("done")]);
    let run = [&["run", "write a.txt", "-q", "--policy", "model"], how].concat();
    let said = scene.run(&run);
    let mut told = format!("exit {:?}\n", said.exit);
    for request in endpoint.requests() {
        let (_, body) = request.split_once("\r\n\r\n").expect("a head and a body");
        let request: Value = serde_json::from_str(body).expect("JSON");
        let reminded = request["messages"].to_string().matches("Not done yet").count();
        told += &format!("{reminded} reminders, tool_choice {}\n", request["tool_choice"]);
    }
    (scene, endpoint, told)
}

#[test]
fn how_a_model_is_brought_to_decide_is_a_setting_that_the_session_keeps() {
    let mut told = String::new();
    for how in
        [&[][..], &["--tool-choice", "remind"], &["--tool-choice", "at-once"], &["--tool-choice", "never"]]
    {
        told += &format!("{how:?} {}", brought(how).2);
    }
    expect![[r#"
        [] exit Some(1)
        0 reminders, tool_choice null
        0 reminders, tool_choice null
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        1 reminders, tool_choice null
        ["--tool-choice", "remind"] exit Some(1)
        0 reminders, tool_choice null
        0 reminders, tool_choice null
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        1 reminders, tool_choice null
        ["--tool-choice", "at-once"] exit Some(1)
        0 reminders, tool_choice null
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        0 reminders, tool_choice {"function":{"name":"resolve"},"type":"function"}
        ["--tool-choice", "never"] exit Some(1)
        0 reminders, tool_choice null
        0 reminders, tool_choice null
        0 reminders, tool_choice null
        0 reminders, tool_choice null
    "#]]
    .assert_eq(&told);
    // A later command that says nothing of it goes by what the session was begun with.
    let (scene, endpoint, _) = brought(&["--tool-choice", "never"]);
    let asked = endpoint.requests().len();
    let said = scene.run(&["resume", "-q", "--policy", "model", "-p", "and now?"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    let last = endpoint.requests().last().cloned().unwrap_or_default();
    assert!(endpoint.requests().len() > asked && !last.contains("Not done yet"), "{last}");
}

#[test]
fn a_session_that_goes_names_what_no_tool_has_cleaned_up() {
    let scene = Scene::new();
    let proposal = json!({
        "label": "send a mail", "source_tool": "send_mail", "payload": {}, "effect": "irreversible",
        "proposed_by": { "kind": "model" }, "deciders": ["person"], "hears_end": true,
    });
    let staged = json!({ "proposal": "p1", "at": DAY, "change": { "staged": proposal } });
    scene.import(&with_note(1, DAY, Note::new("resolve", "event", Timestamp(DAY), staged.to_string())));
    let said = scene.run(&["delete", &id(1), "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let told = "waits for a decision: p1; not cleaned up by its tool: p1\n";
    assert!(said.err.contains(told), "{}", said.err);
}
