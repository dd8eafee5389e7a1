//! Tools that a project declares: offered once a person has trusted them, and no longer than they stay what they were.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, Terminal, calls, calls_all, says};

const USES: &str = r#"{"name": "uses", "description": "Lists where a word is used.", "access": "reads",
    "arguments": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    "command": ["./uses.sh", "--", "{word}"]}"#;
const STAMP: &str =
    r#"{"name": "stamp", "description": "Stamps.", "access": "writes", "command": ["sh", "stamp.sh"]}"#;

fn scene(answers: Vec<Answer>) -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(answers);
    fs::create_dir_all(scene.work().join(".trunkline/tools")).expect("a folder");
    write(&scene, ".trunkline/tools/uses.json", USES);
    write(&scene, ".trunkline/tools/stamp.json", STAMP);
    write(&scene, "uses.sh", "#!/bin/sh\ngrep -n -- \"$2\" a.txt\n");
    write(&scene, "stamp.sh", "echo stamped > stamp.txt\n");
    write(&scene, "a.txt", "one\ntwo\n");
    fs::set_permissions(scene.work().join("uses.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    (scene, endpoint)
}

fn write(scene: &Scene, path: &str, text: &str) {
    fs::write(scene.work().join(path), text).expect("written");
}

fn has(scene: &Scene, path: &str) -> bool {
    scene.work().join(path).exists()
}

/// Trusts a tool as somebody does who has looked at it elsewhere.
fn trust(scene: &Scene, name: &str) {
    let output = scene.command(&["tools", "--json"]).output().expect("the binary runs");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tools = listed["tools"].as_array().expect("a list");
    let digest = tools.iter().find(|tool| tool["name"] == name).expect("it is there")["digest"].as_str();
    scene.ok(&["tools", "trust", name, "--digest", digest.expect("a digest")]);
}

/// The names of the tools that a request offers.
fn offered(request: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(&request[request.find('{').expect("a body")..]).expect("JSON");
    let tools = body["tools"].as_array().expect("a list");
    tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn nothing_is_offered_that_nobody_has_trusted_whatever_is_agreed_to() {
    let (scene, endpoint) = scene(vec![says("Hello."), says("Hello."), says("Hello.")]);
    let said = scene.run(&["run", "hello", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let told = "note: stamp, uses are not offered: 2 tools of this project that you have not trusted; see `trunkline tools`\n";
    assert!(said.err.contains(told), "{}", said.err);
    let without = offered(&endpoint.requests()[0]);
    assert!(!without.contains(&"uses".to_owned()) && without.contains(&"read_file".to_owned()));
    assert_eq!(scene.run(&["tools", "trust", "uses"]).exit, Some(2), "nobody can be asked");
    trust(&scene, "uses");
    let said = scene.run(&["run", "hello"]);
    assert!(said.err.contains("tools of this project: uses\n"), "{}", said.err);
    let mut with = offered(&endpoint.requests()[1]);
    with.retain(|name| !without.contains(name));
    assert_eq!(with, ["uses"]);
    scene.ok(&["tools", "forget", "uses"]);
    scene.ok(&["run", "hello", "-q"]);
    assert_eq!(offered(&endpoint.requests()[2]), without);
}

#[test]
fn a_project_that_declares_nothing_has_the_requests_that_it_had() {
    let (scene, endpoint) = scene(vec![says("Hello."), says("Hello.")]);
    scene.ok(&["run", "hello", "-q"]);
    fs::remove_dir_all(scene.work().join(".trunkline")).expect("gone");
    let said = scene.run(&["run", "hello"]);
    assert!(!said.err.contains("note:") && !said.err.contains("tools of this project"), "{}", said.err);
    let bodies: Vec<String> = endpoint
        .requests()
        .iter()
        .map(|request| request[request.find('{').expect("a body")..].to_owned())
        .collect();
    assert_eq!(bodies[0], bodies[1]);
    assert!(!scene.path(".local/share/trunkline/trusted_tools.json").exists());
    let said = scene.run(&["tools"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
}

#[test]
fn the_list_says_how_each_stands_and_what_is_none() {
    let (scene, _endpoint) = scene(vec![]);
    trust(&scene, "uses");
    trust(&scene, "stamp");
    write(&scene, "stamp.sh", "echo other > stamp.txt\n");
    write(&scene, ".trunkline/tools/run_command.json", &STAMP.replace("stamp", "run_command"));
    write(
        &scene,
        ".trunkline/tools/revert_to_state.json",
        &STAMP.replace("\"stamp\"", "\"revert_to_state\""),
    );
    write(&scene, ".trunkline/tools/odd.json", "{\"name\": \"\u{1b}[31m");
    write(
        &scene,
        ".trunkline/tools/either.json",
        &USES
            .replace("uses\"", "either\"")
            .replace("{\"type\": \"string\"}", "{\"type\": \"string\", \"minLength\": \"a\"}"),
    );
    let said = scene.run(&["tools"]);
    // How a fault of a schema is worded hangs on how its check was built.
    let lines = said.err.lines().map(|line| match line.split_once(" is not valid: ") {
        Some((what, _)) => format!("{what} is not valid\n"),
        None => format!("{line}\n"),
    });
    let err: String = lines.collect();
    expect![[r#"
        stamp                 changed       writes          Stamps.
                              changed since: stamp.sh
        uses                  trusted       reads           Lists where a word is used.
        --
        no tool: .trunkline/tools/odd.json: line 1 has characters that nobody can see
        no tool: .trunkline/tools/revert_to_state.json: the name "revert_to_state" is that of a tool that comes with the program
        no tool: .trunkline/tools/run_command.json: the name "run_command" is that of a tool that comes with the program
        no tool: .trunkline/tools/either.json: the schema of tool "either" is not valid
          look at one, and trust it: trunkline tools trust stamp
    "#]].assert_eq(&format!("{}--\n{err}", said.out));
    let said = scene.run(&["tools", "show", "stamp"]);
    expect![[r#"
        .trunkline/tools/stamp.json
        {"name": "stamp", "description": "Stamps.", "access": "writes", "command": ["sh", "stamp.sh"]}

        starts sh stamp.sh
          with stamp.sh as it is now (69b17156f8fb)
        may change files and more: each call is asked about, as a command is
        can read what you can, and use the network
        changed since: stamp.sh
    "#]]
    .assert_eq(&without_the_system(&said.out));
    let said = scene.run(&["tools", "trust", "odd"]);
    expect![[r#"
        error: .trunkline/tools/odd.json is no tool: line 1 has characters that nobody can see
    "#]]
    .assert_eq(&said.err);
    let said = scene.run(&["tools", "trust", "missing"]);
    expect![[r#"
        error: this project declares no tool "missing"
          hint: it declares stamp, uses; 4 others are no tools, `trunkline tools` says why
    "#]]
    .assert_eq(&said.err);
    let said = scene.run(&["tools", "forget", "missing"]);
    expect![[r#"
        error: no tool "missing" of TMP/work was trusted
          hint: trusted there: stamp, uses
    "#]]
    .assert_eq(&said.err);
    let said = scene.run(&["tools", "trust", "stamp", "--digest", "0123"]);
    expect![[r#"
        error: the digest of stamp is not 0123
          hint: look at it: trunkline tools show stamp; its first 16 digits are enough
    "#]]
    .assert_eq(&said.err);
}

/// Where a program is, and with it the digest, is another on every system.
fn without_the_system(shown: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with("  which is /") && !line.starts_with("digest ");
    shown.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_temporary_folder_that_is_not_there_refuses_no_tool() {
    let (mut scene, _endpoint) = scene(vec![]);
    scene.set("TMPDIR", "/nowhere/tmp");
    let said = scene.run(&["tools"]);
    assert!(said.out.contains("uses") && said.out.contains("stamp"), "{}{}", said.out, said.err);
    assert!(!said.err.contains("temporary folder"), "{}", said.err);
}

#[test]
fn what_reads_runs_unasked_and_its_result_is_told() {
    let (scene, endpoint) = scene(vec![calls("uses", r#"{"word":"two"}"#), says("Line 2.")]);
    trust(&scene, "uses");
    let said = scene.run(&["run", "where is two"]);
    // Where the kernel has no Landlock it waits like a command.
    if !said.err.contains("(Landlock)") {
        eprintln!("SKIPPED: without Landlock nothing runs unasked");
        assert_eq!(said.exit, Some(1), "{}", said.err);
        return;
    }
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "Line 2.\n"), "{}", said.err);
    assert!(endpoint.requests()[1].contains("2:two"), "{}", endpoint.requests()[1]);
}

#[test]
fn arguments_that_do_not_fit_never_reach_the_program() {
    let words = [r#"{"word":5}"#, r#"{}"#, r#"{"word":"two","more":1}"#, r#"{"word""#];
    let mut answers: Vec<Answer> = words.iter().map(|arguments| calls("uses", arguments)).collect();
    answers.push(says("Done."));
    let (scene, endpoint) = scene(answers);
    write(&scene, "uses.sh", "#!/bin/sh\necho it ran\n");
    trust(&scene, "uses");
    scene.ok(&["run", "go", "-q", "--yes"]);
    let last = endpoint.requests().pop().expect("a request");
    assert!(!last.contains("it ran") && last.matches("not run: ").count() == words.len(), "{last}");
}

#[test]
fn what_writes_waits_like_a_command_also_in_another_process() {
    let (scene, endpoint) = scene(vec![calls("stamp", "{}"), says("Stamped.")]);
    trust(&scene, "stamp");
    assert_eq!(scene.run(&["run", "stamp it", "-q"]).exit, Some(1));
    assert!(!has(&scene, "stamp.txt"));
    let shown = scene.ok(&["resolve", "p1"]);
    assert!(
        shown.contains("stamp: sh stamp.sh")
            && shown.contains("a tool of this project: .trunkline/tools/stamp.json"),
        "{shown}"
    );
    assert_eq!(scene.ok(&["resolve", "p1", "apply"]), "p1 applied\n");
    assert!(has(&scene, "stamp.txt"));
    assert_eq!(scene.ok(&["resume", "-q"]), "Stamped.\n");
    assert!(endpoint.requests()[1].contains("exit code 0"));
}

#[test]
fn what_was_approved_does_not_run_once_it_has_changed() {
    let (scene, endpoint) = scene(vec![calls("stamp", "{}"), says("I see.")]);
    trust(&scene, "stamp");
    assert_eq!(scene.run(&["run", "stamp it", "-q"]).exit, Some(1));
    write(&scene, "stamp.sh", "echo evil > evil.txt\n");
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert!(!has(&scene, "evil.txt") && !has(&scene, "stamp.txt"), "{}", said.err);
    assert_eq!(scene.ok(&["resume", "-q"]), "I see.\n");
    assert!(!has(&scene, "evil.txt"));
    let told = &endpoint.requests()[1];
    assert!(told.contains("not run: there is no tool"), "{told}");
}

#[test]
fn what_was_approved_does_not_run_as_something_else_that_was_trusted_meanwhile() {
    let (scene, endpoint) = scene(vec![calls("stamp", "{}"), says("I see.")]);
    trust(&scene, "stamp");
    assert_eq!(scene.run(&["run", "stamp it", "-q"]).exit, Some(1));
    write(&scene, "other.sh", "echo other > other.txt\n");
    write(&scene, ".trunkline/tools/stamp.json", &STAMP.replace("stamp.sh", "other.sh"));
    trust(&scene, "stamp");
    scene.run(&["resolve", "p1", "apply"]);
    assert_eq!(scene.ok(&["resume", "-q"]), "I see.\n");
    assert!(!has(&scene, "stamp.txt") && !has(&scene, "other.txt"));
    let told = &endpoint.requests()[1];
    assert!(told.contains("not what was approved any more"), "{told}");
}

#[test]
fn a_rule_names_a_tool_that_the_project_declares() {
    let stages = r#"{"name": "bump", "description": "Bumps.", "access": "reads", "stages": true, "command": ["sh", "bump.sh"]}"#;
    let (scene, endpoint) = scene(vec![
        says("Hello."),
        calls("bump", "{}"),
        calls("uses", r#"{"word":"two"}"#),
        says("Then not."),
    ]);
    write(&scene, ".trunkline/tools/bump.json", stages);
    write(&scene, "bump.sh", "echo it ran >&2; echo '{\"edits\":[]}'\n");
    write(&scene, "uses.sh", "#!/bin/sh\necho it ran\n");
    ["bump", "uses"].iter().for_each(|name| trust(&scene, name));
    scene.ok(&["run", "hello", "-q"]);
    for wrong in [
        &["deny", "--tool", "bum"][..],
        &["allow", "--tool", "uses"],
        &["ask", "--tool", "uses"],
        &["deny", "--tool", "stamp", "--path", "src/**"],
        &["allow", "--tool", "bump", "--command", "sh bump.sh"],
    ] {
        let said = scene.run(&[&["rules", "add"], wrong].concat());
        assert_eq!(said.exit, Some(2), "{wrong:?}: {}{}", said.out, said.err);
    }
    for sound in [
        &["allow", "--tool", "stamp", "--command", "sh stamp.sh"][..],
        &["ask", "--tool", "stamp"],
        &["deny", "--tool", "bump", "--path", "src/**"],
        &["deny", "--tool", "bump"],
        &["deny", "--tool", "uses", "--command", "./uses.sh"],
    ] {
        scene.ok(&[&["rules", "add"], sound].concat());
    }
    assert_eq!(scene.ok(&["resume", "-q", "-p", "go", "--yes"]), "Then not.\n");
    let last = endpoint.requests().pop().expect("a request");
    assert!(!last.contains("it ran") && last.matches("not run: forbidden by").count() == 2, "{last}");
}

#[test]
fn a_rule_for_commands_goes_by_the_words_of_a_tool() {
    let (scene, endpoint) = scene(vec![calls("stamp", "{}"), says("Then not.")]);
    trust(&scene, "stamp");
    write(
        &scene,
        "rules.json",
        r#"{"rules":[{"verdict":"deny","target":{"command":{"words":["sh","stamp.sh"]}},"reason":"not today"}]}"#,
    );
    assert_eq!(scene.ok(&["run", "stamp it", "-q", "--policy", "rules.json"]), "Then not.\n");
    assert!(!has(&scene, "stamp.txt") && endpoint.requests()[1].contains("not today"));
}

#[test]
fn a_model_cannot_put_another_script_in_the_place_of_one_that_is_trusted() {
    let other = json!({"path": "stamp.sh", "content": "echo evil > evil.txt\n"}).to_string();
    let (scene, endpoint) = scene(vec![calls("write_file", &other), calls("stamp", "{}"), says("Done.")]);
    trust(&scene, "stamp");
    assert_eq!(scene.ok(&["run", "go", "-q", "--yes"]), "Done.\n");
    assert!(!has(&scene, "evil.txt") && !has(&scene, "stamp.txt"));
    let told = &endpoint.requests()[2];
    assert!(told.contains("stamp is not trusted any more, because of a change: stamp.sh"), "{told}");
}

#[test]
fn a_tool_that_a_run_declares_is_asked_about_and_not_offered_in_it() {
    let mine = json!({"path": ".trunkline/tools/mine.json", "content": STAMP.replace("stamp\"", "mine\"")})
        .to_string();
    let several = json!({"edits": [{"path": "b.txt", "content": "b\n"}, {"path": ".trunkline/tools/more.json", "content": "{}"}]}).to_string();
    let command = r#"{"command":"echo {} > .trunkline/tools/third.json"}"#;
    let answers = vec![
        calls_all(&[("write_file", mine), ("edit_files", several), ("run_command", command.to_owned())]),
        calls("mine", "{}"),
        says("Done."),
    ];
    let (scene, endpoint) = scene(answers);
    let said = scene.run(&["run", "go", "-q", "--yes"]);
    assert_eq!(said.exit, Some(1), "under --yes too it waits for a person: {}", said.err);
    for path in
        [".trunkline/tools/mine.json", "b.txt", ".trunkline/tools/more.json", ".trunkline/tools/third.json"]
    {
        assert!(!has(&scene, path), "{path}");
    }
    for id in ["p1", "p2", "p3"] {
        scene.run(&["resolve", id, "apply"]);
    }
    assert!(has(&scene, ".trunkline/tools/mine.json"), "a person has decided so");
    assert_eq!(scene.ok(&["resume", "-q", "--yes"]), "Done.\n");
    assert!(endpoint.requests()[2].contains("there is no tool \\\"mine\\\""), "{}", endpoint.requests()[2]);
    assert!(!has(&scene, "stamp.txt"));
}

#[test]
fn what_a_tool_stages_is_decided_on_like_other_edits() {
    let stages = r#"{"name": "bump", "description": "Bumps.", "access": "reads", "stages": true, "command": ["sh", "bump.sh"]}"#;
    let (scene, endpoint) = scene(vec![calls("bump", "{}"), says("Bumped.")]);
    write(&scene, ".trunkline/tools/bump.json", stages);
    write(
        &scene,
        "bump.sh",
        r#"echo '{"edits":[{"path":"a.txt","old_text":"one","new_text":"1"},{"path":".trunkline/x","content":"x"}]}'"#,
    );
    trust(&scene, "bump");
    let said = scene.run(&["run", "bump", "--yes"]);
    assert_eq!(said.exit, Some(1), "one of its files a person decides on: {}", said.err);
    let shown = scene.ok(&["resolve", "p1"]);
    assert!(shown.contains("edit 2 files (+2 −1): a.txt, .trunkline/x"), "{shown}");
    let told = "    [proposed by bump, a tool of this project: .trunkline/tools/bump.json]\n";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(scene.ok(&["resolve", "p1", "apply", "--only", "a.txt"]), "p1 applied\n");
    assert_eq!(fs::read_to_string(scene.work().join("a.txt")).expect("there"), "1\ntwo\n");
    assert!(!has(&scene, ".trunkline/x"));
    assert_eq!(scene.ok(&["resume", "-q", "--yes"]), "Bumped.\n");
    assert!(endpoint.requests()[1].contains("Nothing is written before a person approves it"));
}

#[test]
fn a_file_of_trust_in_the_project_or_open_to_others_trusts_nothing() {
    let (mut scene, endpoint) = scene(vec![says("Hello."), says("Hello.")]);
    trust(&scene, "uses");
    let kept = scene.path(".local/share/trunkline/trusted_tools.json");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o666)).expect("a mode");
    let said = scene.run(&["run", "hello"]);
    assert!(said.err.contains("could have been written by others"), "{}", said.err);
    assert!(!offered(&endpoint.requests()[0]).contains(&"uses".to_owned()));
    let inside = scene.work().join("data");
    fs::create_dir_all(inside.join("trunkline")).expect("a folder");
    fs::copy(&kept, inside.join("trunkline/trusted_tools.json")).expect("a copy");
    fs::set_permissions(inside.join("trunkline/trusted_tools.json"), fs::Permissions::from_mode(0o600))
        .expect("a mode");
    scene.set("XDG_DATA_HOME", inside.to_str().expect("a plain path"));
    let said = scene.run(&["run", "hello"]);
    assert!(said.err.contains("lies inside the project"), "{}", said.err);
    assert!(!offered(&endpoint.requests()[1]).contains(&"uses".to_owned()));
}

#[test]
fn thousands_of_files_are_a_line_and_the_run_goes_on() {
    let (scene, _endpoint) = scene(vec![says("Hello."), says("Hello.")]);
    for number in 0..20 {
        write(&scene, &format!(".trunkline/tools/bad{number}.json"), "{");
    }
    let said = scene.run(&["run", "hello"]);
    assert_eq!((said.exit, said.err.matches("is no tool: ").count()), (Some(0), 5), "{}", said.err);
    assert!(said.err.contains("note: 15 more files there are no tools: `trunkline tools`"), "{}", said.err);
    for number in 0..3_000 {
        write(&scene, &format!(".trunkline/tools/bad{number}.json"), "{");
    }
    let said = scene.run(&["run", "hello"]);
    assert_eq!((said.exit, said.err.matches("note: ").count()), (Some(0), 1), "{}", said.err);
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tried")]
fn at_terminal(scene: &Scene, arguments: &[&str]) -> Option<Terminal> {
    let terminal = scene.at_terminal(arguments);
    if terminal.is_none() {
        eprintln!("SKIPPED: there is no `script` to make a terminal");
    }
    terminal
}

#[test]
fn at_a_terminal_all_of_it_is_shown_and_the_answer_counts() {
    let (scene, _endpoint) = scene(vec![]);
    let Some(mut terminal) = at_terminal(&scene, &["tools", "trust", "uses"]) else { return };
    terminal.until("trust uses in this folder? [y/N]", 1);
    let shown = terminal.shows();
    assert!(
        shown.contains("\"command\": [\"./uses.sh\", \"--\", \"{word}\"]")
            && shown.contains("with uses.sh as it is now"),
        "{shown}"
    );
    terminal.types("");
    assert_eq!(terminal.end().0, Some(1));
    assert!(scene.ok(&["tools"]).contains("not trusted"));
    let Some(mut terminal) = at_terminal(&scene, &["tools", "trust", "uses"]) else { return };
    terminal.until("[y/N]", 1);
    // Whoever changes it while it is looked at is too late.
    write(&scene, "uses.sh", "#!/bin/sh\necho evil\n");
    terminal.types("y");
    let (exit, shown) = terminal.end();
    assert!(exit == Some(1) && shown.contains("uses is not what was shown any more"), "{shown}");
    let Some(mut terminal) = at_terminal(&scene, &["tools", "trust", "uses"]) else { return };
    terminal.until("[y/N]", 1);
    terminal.types("y");
    assert_eq!(terminal.end().0, Some(0));
    assert!(scene.ok(&["tools"]).contains("uses                  trusted"));
}

#[test]
fn under_yes_a_person_at_the_terminal_is_asked_about_the_folder_alone() {
    let answers = vec![
        calls("write_file", r#"{"path":"b.txt","content":"b\n"}"#),
        calls("write_file", r#"{"path":".trunkline/tools/x.json","content":"{}\n"}"#),
        says("Done."),
    ];
    let (scene, _endpoint) = scene(answers);
    let Some(mut terminal) = at_terminal(&scene, &["run", "go", "--yes"]) else { return };
    terminal.until("[a]pply", 1);
    assert!(has(&scene, "b.txt"), "that was not asked about");
    assert!(!has(&scene, ".trunkline/tools/x.json"));
    terminal.types("a");
    let (exit, shown) = terminal.end();
    assert_eq!((exit, shown.matches("[a]pply").count()), (Some(0), 1), "{shown}");
    assert!(has(&scene, ".trunkline/tools/x.json"));
}
