//! `trunkline repair`: what it shows, what it writes, and what it never touches.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use expect_test::expect;
use serde_json::{Value, json};

use crate::fake::Scene;
use crate::logs::{
    BROKEN_CHAT, BROKEN_LIST, SOUND_LIST, answered, broken_session, call, session, sound_session, text, typed,
};

fn scene_with(name: &str, content: &str) -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.work().join(name), content).expect("written");
    scene
}

/// Returns the files in the working folder but the given one, by name.
fn others(scene: &Scene, given: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(scene.work()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut others: Vec<PathBuf> = entries.filter(|path| !path.ends_with(given)).collect();
    others.sort();
    others
}

#[test]
fn a_preview_writes_nothing() {
    let scene = scene_with("a.jsonl", &broken_session());
    let said = scene.run(&["repair", "a.jsonl", "--for", "anthropic"]);
    assert_eq!(said.exit, Some(3));
    expect![[r#"
        1 repair for anthropic, in 4 messages of claude-code
        + n1             answered call toolu_1: no result  “Bash {"command":"cargo test"}”
    "#]]
    .assert_eq(&said.out);
    expect![[r#"
        nothing was written; this writes a new file:
          trunkline repair a.jsonl --for anthropic --apply
    "#]]
    .assert_eq(&said.err);
    assert_eq!(others(&scene, "a.jsonl"), [] as [PathBuf; 0]);
}

#[test]
fn a_repaired_session_is_a_new_one_that_can_be_resumed() {
    let scene = scene_with("a.jsonl", &broken_session());
    let said = scene.run(&["repair", "a.jsonl", "--for", "anthropic", "--apply"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.ends_with("written: ID.jsonl\n"), "{}", said.out);
    expect![[r#"
        read again: nothing in it would be refused; the given file is as it was
        next: cd '/project/my app' && claude --resume ID
    "#]]
    .assert_eq(&said.err);
    assert_eq!(std::fs::read_to_string(scene.work().join("a.jsonl")).expect("there"), broken_session());
    let new = others(&scene, "a.jsonl");
    let [new] = new.as_slice() else { panic!("one new file: {new:?}") };
    assert_eq!(std::fs::metadata(new).expect("there").permissions().mode() & 0o777, 0o600);
    let id = new.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
    let text = std::fs::read_to_string(new).expect("there");
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(record["sessionId"], json!(id), "{record}");
    }
    assert!(text.contains("tool call interrupted; no result was recorded"));
    assert_eq!(scene.run(&["audit", "."]).out.matches('✓').count(), 1);

    assert_eq!(scene.run(&["repair", "a.jsonl", "--for", "anthropic", "--apply"]).exit, Some(0));
    assert_eq!(others(&scene, "a.jsonl").len(), 2, "two runs make two files");
}

#[test]
fn a_repaired_list_stands_beside_the_given_one_and_keeps_what_was_not_touched() {
    let scene = scene_with("chat.v1.json", BROKEN_LIST);
    for name in ["chat.v1.repaired.json", "chat.v1.repaired-2.json"] {
        let said = scene.run(&["repair", "chat.v1.json", "--for", "anthropic", "--apply"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert!(said.out.ends_with(&format!("written: {name}\n")), "{}", said.out);
    }
    assert_eq!(std::fs::read_to_string(scene.work().join("chat.v1.json")).expect("there"), BROKEN_LIST);
    let new = std::fs::read_to_string(scene.work().join("chat.v1.repaired.json")).expect("there");
    let body: Value = serde_json::from_str(&new).expect("JSON");
    assert_eq!(body["max_tokens"], json!(100));
    assert!(new.contains(r#""cache_control": {"type": "ephemeral"}"#), "{new}");
    assert!(new.contains(r#"{"command":  "cargo test"}"#), "{new}");
    assert_eq!(scene.run(&["audit", "chat.v1.repaired.json"]).exit, Some(0));
}

#[test]
fn the_wire_is_that_of_the_file_unless_it_is_named() {
    let scene = scene_with("chat.json", BROKEN_CHAT);
    let said = scene.run(&["repair", "chat.json"]);
    assert_eq!(said.exit, Some(3));
    assert!(said.out.starts_with("1 repair for openai-chat, in 4 messages of openai-chat\n"), "{}", said.out);
    let other = scene.run(&["repair", "chat.json", "--for", "mistral", "--apply"]);
    assert_eq!(other.exit, Some(0), "{}", other.err);
    assert!(other.out.contains("renamed call call_1 to "), "{}", other.out);
    assert_eq!(scene.run(&["audit", "chat.repaired.json", "--wire", "mistral"]).exit, Some(0));
}

#[test]
fn a_session_of_which_nothing_would_be_left_is_not_written() {
    let scene = scene_with("a.jsonl", &session(vec![answered("msg_1", text("\n\n"))]));
    assert_eq!(scene.run(&["repair", "a.jsonl"]).exit, Some(3));
    let said = scene.run(&["repair", "a.jsonl", "--apply"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.starts_with("error: nothing that was said would be left"), "{}", said.err);
    assert_eq!(others(&scene, "a.jsonl"), [] as [PathBuf; 0]);
}

#[test]
fn where_nothing_is_broken_nothing_is_written() {
    let scene = scene_with("a.jsonl", &sound_session());
    let said = scene.run(&["repair", "a.jsonl", "--for", "anthropic", "--apply"]);
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.out, "nothing to repair for anthropic, in 4 messages of claude-code\n");
    assert_eq!(others(&scene, "a.jsonl"), [] as [PathBuf; 0]);
    let list = scene_with("a.json", SOUND_LIST);
    assert_eq!(list.run(&["repair", "a.json", "--apply"]).exit, Some(0));
    assert_eq!(others(&list, "a.json"), [] as [PathBuf; 0]);
}

#[test]
fn half_a_character_is_repaired_too() {
    let log = sound_session().replace("They pass.", r"They pass \ud83d").replace(r"\\ud83d", r"\ud83d");
    let scene = scene_with("a.jsonl", &log);
    let preview = scene.run(&["repair", "a.jsonl"]);
    assert_eq!(preview.exit, Some(3), "{}", preview.out);
    let said = scene.run(&["repair", "a.jsonl", "--apply"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let new = others(&scene, "a.jsonl");
    assert_eq!(scene.run(&["audit", new[0].to_str().expect("plain")]).exit, Some(0));
}

#[test]
fn the_next_prompt_is_judged_and_never_written() {
    let at_the_end = session(vec![typed("run the tests"), answered("msg_1", call("toolu_1"))]);
    let blank_end = session(vec![typed("run the tests"), answered("msg_1", text("\n\n"))]);
    for log in [at_the_end, blank_end, broken_session()] {
        for wire in ["anthropic", "anthropic-strict", "bedrock", "gemini-3", "mistral-strict"] {
            let scene = scene_with("a.jsonl", &log);
            let said = scene.run(&["repair", "a.jsonl", "--for", wire, "--apply", "--out", "b.jsonl"]);
            assert_eq!(said.exit, Some(0), "{wire}: {}", said.err);
            if said.out.starts_with("nothing to repair") {
                continue;
            }
            let new = std::fs::read_to_string(scene.work().join("b.jsonl")).expect("written");
            assert!(!new.contains("next prompt") && !said.out.contains("next prompt"), "{wire}: {new}");
            assert!(!new.contains("\"continue\""), "a session needs no words at its end: {wire}: {new}");
            assert_eq!(scene.run(&["audit", "b.jsonl", "--wire", wire]).exit, Some(0), "{wire}");
        }
    }
}

#[test]
fn what_is_only_laid_out_differently_on_the_wire_is_written_as_it_was_read() {
    let log = [sound_session(), broken_session()].concat();
    let mut records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for record in &mut records[5..] {
        let text = record.to_string().replace("toolu_1", "toolu_2").replace("msg_", "msg_b");
        *record = serde_json::from_str(&text).expect("JSON");
    }
    let scene = scene_with("a.jsonl", &session(records));
    let said = scene.run(&["repair", "a.jsonl", "--for", "openai-chat", "--apply", "--out", "b.jsonl"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.starts_with("1 repair for openai-chat, "), "{}", said.out);
    let new = std::fs::read_to_string(scene.work().join("b.jsonl")).expect("written");
    assert!(new.contains(r#""toolUseResult":{"stdout":"ok"}"#), "{new}");
}

#[test]
fn nothing_that_exists_is_replaced() {
    let scene = scene_with("a.json", BROKEN_LIST);
    for out in ["a.json", "other.json"] {
        std::fs::write(scene.work().join("other.json"), "mine").expect("written");
        let said = scene.run(&["repair", "a.json", "--apply", "--out", out]);
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.starts_with(&format!("error: {out} exists already\n")), "{}", said.err);
    }
    assert_eq!(std::fs::read_to_string(scene.work().join("a.json")).expect("there"), BROKEN_LIST);
    assert_eq!(std::fs::read_to_string(scene.work().join("other.json")).expect("there"), "mine");
    let said = scene.run(&["repair", "a.json", "--out", "new.json"]);
    assert_eq!(said.exit, Some(2), "--out without --apply");
    assert_eq!(scene.run(&["repair", "a.json", "--apply", "--out", "new.json"]).exit, Some(0));
    assert!(scene.work().join("new.json").exists());
}

#[test]
fn a_folder_that_takes_no_file_is_one_line() {
    let scene = scene_with("a.jsonl", &broken_session());
    let said = scene.run(&["repair", "a.jsonl", "--apply", "--out", "nowhere/new.jsonl"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.starts_with("error: cannot write nowhere/new.jsonl: "), "{}", said.err);

    let folder = scene.work().join("locked");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("a.jsonl"), broken_session()).expect("written");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).expect("locked");
    if std::fs::write(folder.join("probe"), "").is_ok() {
        eprintln!("SKIPPED: this user may write anywhere, no read-only folder was tried");
    } else {
        let said = scene.run(&["repair", "locked/a.jsonl", "--apply"]);
        assert_eq!(said.exit, Some(1));
        assert!(said.err.contains("--out names a file in another folder"), "{}", said.err);
    }
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("unlocked");
}

#[test]
fn a_disk_without_room_leaves_no_half_file() {
    let scene = scene_with("a.json", &BROKEN_LIST.replace("run the tests", &"long ".repeat(100_000)));
    // A limit on the size of files stands for the disk; with its signal ignored, writes fail instead.
    let script = "trap '' XFSZ; ulimit -f 10; exec \"$0\" repair a.json --apply";
    let command = scene.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(command.get_program()).current_dir(scene.work());
    let said = scene.said(shell.output().expect("sh runs"));
    assert_eq!(said.exit, Some(1));
    assert!(said.err.starts_with("error: cannot write a.repaired.json: "), "{}", said.err);
    assert_eq!(others(&scene, "a.json"), [] as [PathBuf; 0]);
}

#[test]
fn whoever_is_killed_while_writing_leaves_no_file_under_its_final_name() {
    for (name, log) in [("a.json", BROKEN_LIST.to_owned()), ("a.jsonl", broken_session())] {
        let scene = scene_with(name, &log.replace("run the tests", &"long ".repeat(100_000)));
        // The signal kills in the middle of the writing, where the limit on the size of files is met.
        let script = "ulimit -c 0; ulimit -f 10; exec \"$0\" repair \"$1\" --apply";
        let command = scene.command(&[]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).arg(command.get_program()).arg(name).current_dir(scene.work());
        let output = shell.output().expect("sh runs");
        assert_eq!(output.status.code(), None, "it was killed: {output:?}");
        let left = others(&scene, name);
        let [hidden] = left.as_slice() else { panic!("one hidden file: {left:?}") };
        let told = hidden.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(told.starts_with(".trunkline-") && told.ends_with(".tmp"), "{told}");
        assert_eq!(std::fs::metadata(hidden).expect("there").permissions().mode() & 0o777, 0o600);
        // What was left does not stand in the way.
        let said = scene.run(&["repair", name, "--apply"]);
        assert_eq!((said.exit, others(&scene, name).len()), (Some(0), 2), "{}", said.err);
    }
}

#[test]
fn a_list_for_another_wire_keeps_its_shape_and_says_so() {
    let scene = scene_with("a.json", BROKEN_CHAT);
    let said = scene.run(&["repair", "a.json", "--for", "anthropic", "--apply"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    expect![[r#"
        the file keeps its own shape, openai-chat; this writes the wire's: trunkline sanitize --wire anthropic < a.json
        read again: nothing in it would be refused; the given file is as it was
    "#]]
    .assert_eq(&said.err);
    let preview = scene.run(&["repair", "a.json", "--for", "gemini-3"]);
    assert!(
        preview.err.starts_with("the file keeps its own shape, openai-chat\nnothing was written"),
        "{}",
        preview.err
    );
    assert!(!scene.run(&["repair", "a.json", "--for", "mistral"]).err.contains("shape"));
    std::fs::write(scene.work().join("words.json"), r#"[{"role":"user","content":"hi"}]"#).expect("written");
    assert_eq!(
        scene.run(&["repair", "words.json", "--for", "anthropic"]).err,
        "",
        "words are of every shape"
    );
}

#[test]
fn a_session_for_another_wire_is_for_a_client_that_speaks_it() {
    let scene = scene_with("a.jsonl", &broken_session());
    let said = scene.run(&["repair", "a.jsonl", "--for", "openai-chat", "--apply"]);
    assert!(
        said.err.contains("next, for a client that sends it to openai-chat: cd '/project/my app' && claude"),
        "{}",
        said.err
    );
}

#[test]
fn a_damaged_line_or_a_missing_parent_alone_is_repaired() {
    let torn = format!("{}{{\"type\":\"us\n", sound_session());
    let bridged = sound_session().replacen(
        "\"parentUuid\":\"00000000-0000-4000-8000-000000000003\"",
        "\"parentUuid\":\"gone\"",
        1,
    );
    assert!(bridged.contains("gone"));
    for (log, told, exit) in [
        (torn, "in the file: 1 damaged line left out or replaced (line 6)\n", 3),
        (bridged, "in the file: 1 missing parent bridged (line 5)\n", 0),
    ] {
        let scene = scene_with("a.jsonl", &log);
        assert_eq!(scene.run(&["audit", "a.jsonl"]).exit, Some(exit), "nothing would be refused");
        let preview = scene.run(&["repair", "a.jsonl"]);
        let account = format!("0 repairs for anthropic, in 4 messages of claude-code\n{told}");
        assert_eq!((preview.exit, preview.out), (Some(3), account));
        let said = scene.run(&["repair", "a.jsonl", "--apply", "--out", "b.jsonl"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        let again = scene.run(&["repair", "b.jsonl"]);
        assert!(again.exit == Some(0) && again.out.starts_with("nothing to repair"), "{}", again.out);
        assert!(scene.run(&["audit", "b.jsonl"]).out.contains("  ok\n"));
    }
}

/// A session that a person went back in: both ways have the id of the session.
fn forked_session() -> String {
    let mut log = broken_session();
    let back = json!({
        "type": "user", "message": { "role": "user", "content": "another way" }, "isSidechain": false,
        "uuid": "00000000-0000-4000-8000-000000000009", "parentUuid": null, "userType": "external",
        "sessionId": crate::logs::SESSION, "timestamp": "2026-11-02T11:00:00.000Z", "version": "2.1.42",
    });
    log.push_str(&format!("{back}\n"));
    log
}

#[test]
fn conversations_of_one_id_are_told_apart_by_number() {
    let scene = scene_with("a.jsonl", &forked_session());
    let said = scene.run(&["repair", "a.jsonl", "--session", crate::logs::SESSION]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(
        said.err.contains("#1  ID  1 message\n") && said.err.contains("#2  ID  4 messages\n"),
        "{}",
        said.err
    );
    for named in [&format!("{}#2", crate::logs::SESSION), "5f0c#2", "#2", "2"] {
        let said = scene.run(&["repair", "a.jsonl", "--session", named]);
        assert_eq!(said.exit, Some(3), "{named}: {}", said.err);
        assert!(said.out.contains("in 4 messages"), "{named}: {}", said.out);
    }
    for named in ["5f0c#3", "#0", "#", "#x", "99999999999999999999999"] {
        assert_eq!(scene.run(&["repair", "a.jsonl", "--session", named]).exit, Some(2), "{named}");
    }
}

#[test]
fn what_a_new_session_does_not_have_is_said_last() {
    let snapshot = json!({ "type": "file-history-snapshot", "messageId": "m", "snapshot": {} });
    let scene = scene_with("a.jsonl", &format!("{}{snapshot}\n", forked_session()));
    let said = scene.run(&["repair", "a.jsonl", "--session", "#2", "--apply"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.ends_with("\nleft out: 1 record of other kinds, 1 record of other conversations\n"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_not_a_log_is_one_line() {
    let scene = scene_with("a.json", "{\"name\": \"x\"}");
    let said = scene.run(&["repair", "a.json"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
    assert!(said.err.starts_with("error: cannot read a.json: not a format that is known"), "{}", said.err);
    assert_eq!(scene.run(&["repair", "nowhere.json"]).exit, Some(1));
    assert_eq!(scene.run(&["repair"]).exit, Some(2));
    assert_eq!(scene.run(&["repair", "a.json", "--for", "fortran"]).exit, Some(2));
    for (name, bytes) in [("empty", vec![]), ("binary", (0..=255).cycle().take(5000).collect::<Vec<u8>>())] {
        std::fs::write(scene.work().join(name), bytes).expect("written");
        let said = scene.run(&["repair", name, "--apply"]);
        assert_eq!(said.exit, Some(1), "{name}");
        assert!(!said.err.contains("panicked"), "{}", said.err);
    }
}

#[test]
fn a_conversation_that_is_not_there_is_wrong_usage_with_those_that_are() {
    let scene = scene_with("a.jsonl", &broken_session());
    let said = scene.run(&["repair", "a.jsonl", "--session", "zz"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: no conversation has an id that begins with "zz"
          #1  ID  4 messages
    "#]]
    .assert_eq(&said.err);
    assert_eq!(scene.run(&["repair", "a.jsonl", "--session", "5f0c"]).exit, Some(3));
}

#[test]
fn json_tells_the_same() {
    let scene = scene_with("a.json", BROKEN_LIST);
    let preview: Value = serde_json::from_str(&scene.run(&["repair", "a.json", "--json"]).out).expect("JSON");
    assert_eq!((&preview["account"]["repairs"], &preview["written"]), (&json!(1), &Value::Null));
    assert_eq!(preview["repairs"][0]["row"], json!("A1"));
    let said = scene.run(&["repair", "a.json", "--json", "--apply"]);
    let applied: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.exit, &applied["written"]), (Some(0), &json!("a.repaired.json")));
    assert_eq!(applied["problems"], json!([]));
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_writing() {
    let scene = scene_with("a.json", BROKEN_LIST);
    let mut child = scene.command(&["repair", "a.json", "--apply"]).spawn().expect("it starts");
    drop(child.stdout.take());
    let said = scene.said(child.wait_with_output().expect("it ends"));
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
    assert_eq!(scene.run(&["audit", "a.repaired.json"]).exit, Some(0));
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let log = broken_session()
        .replace("toolu_1", r"toolu\u001b[2J\u202e")
        .replace("cargo test", r"\u001b]0;x\u0007 \u009b2J")
        .replace("/project/my app", r"/project/\u001b[31m\n; rm -rf ~");
    let scene = scene_with("a\u{1b}[2J.jsonl", &log);
    for arguments in [&["repair", "a\u{1b}[2J.jsonl"][..], &["repair", "a\u{1b}[2J.jsonl", "--apply"]] {
        let said = scene.run(arguments);
        assert!(matches!(said.exit, Some(0 | 3)), "{}", said.err);
        let all = said.out + &said.err;
        assert!(!all.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{all:?}");
        assert!(!all.contains("rm -rf"), "{all:?}");
    }
}
