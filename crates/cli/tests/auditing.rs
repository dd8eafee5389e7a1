//! `trunkline audit`: what it finds, how it says so, and what it leaves alone.

use std::os::unix::fs::symlink;

use expect_test::expect;
use serde_json::{Value, json};

use crate::fake::Scene;
use crate::logs::{
    BROKEN_CHAT, BROKEN_LIST, SOUND_LIST, answered, broken_session, session, sound_session, text, typed,
};

/// Returns a scene whose working folder holds these files.
fn scene_with(files: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    for (name, text) in files {
        let path = scene.work().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    scene
}

#[test]
fn what_can_be_resumed_is_ok() {
    let scene = scene_with(&[("a.jsonl", &sound_session())]);
    let said = scene.run(&["audit", "a.jsonl"]);
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
    expect![[r#"
        ✓ anthropic       4 messages  a.jsonl  ok
        1 conversation judged: nothing would be refused
    "#]]
    .assert_eq(&said.out);
}

#[test]
fn what_would_be_refused_is_named_with_the_next_command() {
    let scene = scene_with(&[("a b.jsonl", &broken_session())]);
    let said = scene.run(&["audit", "a b.jsonl", "--verbose"]);
    assert_eq!(said.exit, Some(3));
    expect![[r#"
        ✗ anthropic       4 messages  a b.jsonl  1 problem: call without result
            n1 block 1: call "toolu_1" has no result next to it
              refused with: messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a corresponding `tool_result` block in the next message.
            a repair would take 1 repair
        1 conversation judged: 1 would be refused
    "#]]
    .assert_eq(&said.out);
    expect![[r#"
        what a repair would do: trunkline repair 'a b.jsonl' --for anthropic
    "#]]
    .assert_eq(&said.err);
}

#[test]
fn json_is_a_line_for_each_session_and_wire() {
    let scene = scene_with(&[("a.json", BROKEN_LIST), ("b.json", SOUND_LIST)]);
    let said = scene.run(&["audit", "a.json", "b.json", "--wire", "anthropic,openai-chat", "--json"]);
    assert_eq!((said.exit, said.err.as_str()), (Some(3), ""));
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<Value> = lines
        .iter()
        .map(|line| json!([line["path"], line["wire"], line["format"], line["broken"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["a.json", "anthropic", "anthropic", true]),
            json!(["a.json", "openai-chat", "anthropic", true]),
            json!(["b.json", "anthropic", "anthropic", false]),
            json!(["b.json", "openai-chat", "anthropic", false]),
        ]
    );
    let violation = &lines[0]["violations"][0];
    assert_eq!(
        (&violation["violation"], &violation["call_id"]),
        (&json!("unanswered"), &json!("toolu_1")),
        "{violation}"
    );
    assert_eq!(violation["at"], json!({ "message": 1, "node": "n1", "block": 0 }));
    assert!(violation["provider_text"].as_str().is_some_and(|text| text.contains("`tool_result`")));
    assert_eq!(lines[0]["repairs"]["repairs"], json!(1));
    assert_eq!(lines[0]["repairs"]["losses"], json!(0));
}

#[test]
fn a_folder_is_walked_and_what_is_not_known_is_counted() {
    let scene = scene_with(&[
        ("logs/x/broken.jsonl", &broken_session()),
        ("logs/x/sound.jsonl", &sound_session()),
        ("logs/chat.json", BROKEN_CHAT),
        ("logs/package.json", r#"{"name":"x","version":"1.0.0"}"#),
        ("logs/empty.jsonl", ""),
        ("logs/notes.md", "no"),
        ("outside.jsonl", &broken_session()),
    ]);
    symlink(scene.work().join("outside.jsonl"), scene.work().join("logs/link.jsonl")).expect("linked");
    symlink(scene.work(), scene.work().join("logs/loop")).expect("linked");
    let said = scene.run(&["audit", "logs"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    expect![[r#"
        ✗ openai-chat     4 messages  logs/chat.json  1 problem: call without result
        ✗ anthropic       4 messages  logs/x/broken.jsonl  1 problem: call without result
        ✓ anthropic       4 messages  logs/x/sound.jsonl  ok
        3 conversations judged: 2 would be refused; 5 other files skipped
    "#]]
    .assert_eq(&said.out);
    let broken = scene.run(&["audit", "logs", "--broken"]);
    assert_eq!(broken.out.lines().count(), 3, "{}", broken.out);
}

#[test]
fn what_cannot_be_read_does_not_hide_the_rest() {
    let scene = scene_with(&[("a.jsonl", &sound_session()), ("list.txt", "milk\nbread\n")]);
    let said = scene.run(&["audit", "nowhere", "list.txt", "a.jsonl"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.out.contains("✓ anthropic") && said.out.contains("; 2 could not be read"), "{}", said.out);
    assert!(said.err.starts_with("cannot read nowhere: "), "{}", said.err);
    assert!(said.err.contains("cannot read list.txt: not a format that is known"), "{}", said.err);
    let json = scene.run(&["audit", "nowhere", "--json"]);
    let line: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((json.exit, &line["path"], line["error"].is_string()), (Some(1), &json!("nowhere"), true));
}

#[test]
fn something_broken_outweighs_something_unreadable() {
    let scene = scene_with(&[("a.jsonl", &broken_session())]);
    assert_eq!(scene.run(&["audit", "nowhere", "a.jsonl"]).exit, Some(3));
}

#[test]
fn it_wants_a_wire_that_there_is() {
    let scene = scene_with(&[("a.jsonl", &sound_session())]);
    let said = scene.run(&["audit", "a.jsonl", "--wire", "fortran"]);
    assert_eq!(said.exit, Some(2));
    assert!(said.err.contains("anthropic") && said.err.contains("mistral"), "{}", said.err);
}

#[test]
fn a_list_is_a_request_unless_it_is_said_to_be_a_history() {
    let list = r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"hello"}]}]"#;
    let scene = scene_with(&[("a.json", list)]);
    let said = scene.run(&["audit", "a.json", "--wire", "anthropic"]);
    assert_eq!(said.exit, Some(3));
    assert!(said.out.contains("1 problem: ends with the assistant"), "{}", said.out);
    assert_eq!(scene.run(&["audit", "a.json", "--wire", "anthropic", "--as", "history"]).exit, Some(0));
}

#[test]
fn all_wires_are_asked_at_once() {
    let scene = scene_with(&[("a.json", SOUND_LIST)]);
    let said = scene.run(&["audit", "a.json", "--wire", "all"]);
    let lines = said.out.lines().count();
    assert!(lines > 15, "{}", said.out);
    assert!(said.out.contains(&format!("1 conversation judged for {} wires", lines - 1)), "{}", said.out);
}

#[test]
fn half_a_character_is_a_problem_although_no_wire_has_a_rule_for_it() {
    let log = broken_session().replace("Yes.", r"Yes \ud83d").replace(r"\\ud83d", r"\ud83d");
    let scene = scene_with(&[("a.jsonl", &log)]);
    let said = scene.run(&["audit", "a.jsonl"]);
    assert_eq!(said.exit, Some(3));
    assert!(said.out.contains("2 problems: "), "{}", said.out);
    assert!(said.out.contains("half of a character"), "{}", said.out);
}

#[test]
fn what_lost_text_is_not_called_good_although_nothing_would_be_refused() {
    let scene = scene_with(&[("a.jsonl", &format!("{}{{\"type\":\"us", sound_session()))]);
    let said = scene.run(&["audit", "a.jsonl", "-v"]);
    assert_eq!(said.exit, Some(3));
    assert!(said.out.contains("damaged · 1 damaged line\n    line 6: not JSON"), "{}", said.out);
    assert!(
        said.out.ends_with("1 conversation judged: nothing would be refused; 1 damaged\n"),
        "{}",
        said.out
    );
    assert!(said.err.contains("repair a.jsonl --for anthropic"), "{}", said.err);
    let told = scene.run(&["audit", "a.jsonl", "--json"]).out;
    assert!(told.contains("\"broken\":false") && told.contains("\"damaged\":true"), "{told}");
}

#[test]
fn records_that_share_a_line_are_all_judged_and_the_line_is_told() {
    let log = sound_session();
    let glued = log.replacen("}\n{", "}{", 1);
    assert_ne!(log, glued);
    let scene = scene_with(&[("a.jsonl", &glued), ("b.jsonl", &log)]);
    let said = scene.run(&["audit", "a.jsonl", "b.jsonl"]);
    let messages = |line: &str| line.split_whitespace().nth(2).map(str::to_owned);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(messages(lines[0]), messages(lines[1]), "{}", said.out);
    assert!(lines[0].contains("damaged · 1 damaged line") && lines[1].ends_with("ok"), "{}", said.out);
}

#[test]
fn an_id_that_is_taken_twice_is_told() {
    let log = sound_session();
    let hook = |parent: &str| {
        format!("{{\"type\":\"hook\",\"uuid\":\"X\",\"parentUuid\":\"{parent}\",\"sessionId\":\"s\"}}\n")
    };
    let scene = scene_with(&[("a.jsonl", &format!("{log}{}{}", hook("a"), hook("b")))]);
    let said = scene.run(&["audit", "a.jsonl", "-v"]);
    assert!(said.out.contains(" · 1 repeated id"), "{}", said.out);
    assert!(said.out.contains("has the id of another one above it"), "{}", said.out);
    let said = scene.run(&["repair", "a.jsonl"]);
    assert!(said.out.contains("1 repeated id told apart (line "), "{}", said.out);
}

#[test]
fn a_missing_parent_is_told_and_is_no_problem() {
    let log = sound_session().replacen("00000000-0000-4000-8000-000000000003\"", "gone\"", 1);
    let scene = scene_with(&[("a.jsonl", &log)]);
    let said = scene.run(&["audit", "a.jsonl", "-v"]);
    assert_eq!(said.exit, Some(0));
    assert!(said.out.contains("ok · 1 missing parent\n    line "), "{}", said.out);
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let title = "\u{1b}]0;owned\u{7}\u{202e}title\r\n\u{9b}2J";
    let mut log = session(vec![typed("hi"), answered("msg_1", text("\u{1b}[2Jhello"))]);
    log.push_str(&format!(
        "{}\n",
        json!({ "type": "custom-title", "customTitle": title, "sessionId": crate::logs::SESSION })
    ));
    log.push_str("\u{1b}[31mred\n");
    let scene = scene_with(&[("\u{1b}[31m\u{202e}a\nb.jsonl", &log), ("bad\u{1b}[2J.json", BROKEN_LIST)]);
    for arguments in
        [&["audit", "."][..], &["audit", ".", "-v", "--as", "request"], &["audit", "./no\u{1b}[2J"]]
    {
        let said = scene.run(arguments);
        let all = said.out + &said.err;
        assert!(!all.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}', '\r']), "{all:?}");
    }
    let typed = scene.run(&["audit", ".", "--as", "request"]);
    assert!(!typed.err.contains("repair"), "a name that cannot be typed is not suggested: {:?}", typed.err);
}

#[test]
fn thousands_of_files_come_in_order() {
    let scene = Scene::new();
    let (sound, broken) = (sound_session(), broken_session());
    for number in 0..3_000 {
        let folder = scene.work().join(format!("project-{:02}", number / 100));
        std::fs::create_dir_all(&folder).expect("made");
        let log = if number % 10 == 3 { &broken } else { &sound };
        std::fs::write(folder.join(format!("{number:04}.jsonl")), log).expect("written");
    }
    let said = scene.run(&["audit", "."]);
    assert_eq!((said.exit, said.out.lines().count()), (Some(3), 3_001));
    let names: Vec<&str> = said.out.lines().filter_map(|line| line.split("./project-").nth(1)).collect();
    assert!(names.len() == 3_000 && names.is_sorted());
    assert!(said.out.ends_with("3000 conversations judged: 300 would be refused\n"));
}

#[test]
fn an_audit_needs_no_store_and_no_home_and_changes_nothing() {
    let scene = scene_with(&[("a.jsonl", &broken_session())]);
    let mut command = scene.command(&["audit", "."]);
    command.env_remove("HOME").env_remove("TRUNKLINE_STORE");
    assert_eq!(command.output().expect("it runs").status.code(), Some(3));
    assert!(!scene.path("store").exists());
    assert_eq!(std::fs::read(scene.work().join("a.jsonl")).expect("there"), broken_session().as_bytes());
    assert_eq!(std::fs::read_dir(scene.work()).expect("a folder").count(), 1);
}

#[test]
fn a_reader_that_goes_away_ends_it_in_silence() {
    let files: Vec<(String, String)> =
        (0..200).map(|number| (format!("{number}.jsonl"), broken_session())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let scene = scene_with(&files);
    for arguments in [&["audit", "."][..], &["audit", ".", "--json"]] {
        let mut child = scene.command(arguments).spawn().expect("it starts");
        drop(child.stdout.take());
        let said = scene.said(child.wait_with_output().expect("it ends"));
        assert!(!said.err.contains("panicked") && !said.err.contains("error"), "{}", said.err);
    }
}
