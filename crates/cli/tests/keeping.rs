//! The store: what leaves it, what comes back, and what is said when it cannot be used.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::Value;

use crate::fake::{Scene, says};
use crate::made::{id, session};

fn scene_with_a_session() -> Scene {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    assert_eq!(scene.run(&["run", "greet", "-q"]).exit, Some(0));
    scene
}

#[test]
fn the_import_of_an_export_is_the_identity() {
    let scene = scene_with_a_session();
    let file = scene.path("session.jsonl");
    let (file, other) = (file.to_str().expect("plain"), scene.path("other.db"));
    let other = other.to_str().expect("plain");
    scene.ok(&["export", "-o", file]);
    assert_eq!(scene.ok(&["--store", other, "import", file]), "ID\n");
    let out = scene.command(&["--store", other, "export"]).output().expect("it runs").stdout;
    assert_eq!(std::fs::read(file).expect("written"), out);
    let again = scene.run(&["--store", other, "import", file]);
    assert_eq!(
        (again.exit, again.out.as_str()),
        (Some(0), ""),
        "an import that was cut off can be done again"
    );
    expect![[r#"
        1 session there already, with the same records
    "#]]
    .assert_eq(&again.err);
    assert_eq!(scene.run(&["export", "-o", file]).exit, Some(2), "an existing file is not replaced");
    assert_eq!(std::fs::metadata(file).expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_was_cut_off_is_refused_whole() {
    let scene = scene_with_a_session();
    let whole = scene.command(&["export"]).output().expect("it runs").stdout;
    let text = String::from_utf8(whole).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(scene.path("cut.jsonl"), lines[..lines.len() - 2].join("\n")).expect("written");
    let cut = scene.path("cut.jsonl");
    let said = scene.run(&[
        "--store",
        scene.path("new.db").to_str().expect("plain"),
        "import",
        cut.to_str().expect("plain"),
    ]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.starts_with("error: the file was cut off: "), "{}", said.err);
    assert_eq!(scene.run(&["import", "nowhere.jsonl"]).exit, Some(2));
}

#[test]
fn an_export_that_was_cut_between_sessions_is_taken_in_and_told() {
    let scene = Scene::new();
    let sessions =
        [session(1, "umbrella", 1_000, &["Will it rain?"]), session(2, "a crash", 2_000, &["Fix it."])];
    scene.import(&sessions.concat());
    let whole = scene.command(&["export", "--all"]).output().expect("it runs").stdout;
    let whole = String::from_utf8(whole).expect("UTF-8");
    assert!(whole.trim_end().lines().last().is_some_and(|line| line.starts_with("{\"trunkline\":\"end\"")));
    let second = whole.rfind("{\"trunkline\":\"session\"").expect("the second session");
    let file = scene.path("cut.jsonl");
    std::fs::write(&file, &whole[..second]).expect("written");
    let other = scene.path("other.db");
    let other = other.to_str().expect("plain");
    let said = scene.run(&["--store", other, "import", file.to_str().expect("plain")]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), "ID\n"), "{}", said.err);
    expect![[r#"
        error: the export was cut off: its last line is missing, and 1 of 2 sessions are there
          1 session before it was taken in
    "#]]
    .assert_eq(&said.err);
    // Nothing is a whole export too.
    scene.ok(&["--store", other, "delete", &id(1), "--yes"]);
    let nothing = scene.command(&["--store", other, "export", "--all"]).output().expect("it runs").stdout;
    assert!(nothing.starts_with(b"{\"trunkline\":\"end\""), "{}", String::from_utf8_lossy(&nothing));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_refused_before_a_file_is_made_beside_it() {
    let scene = Scene::new();
    let null = scene.path("null.db");
    std::os::unix::fs::symlink("/dev/null", &null).expect("made");
    for command in [
        &["sessions"][..],
        &["run", "hello", "--provider", "ollama", "-m", "m"],
        &["demo"],
        &["doctor"],
        &["doctor", "--fix"],
    ] {
        let said = scene.run(&[&["--store", null.to_str().expect("plain")][..], command].concat());
        assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{command:?}: {}", said.err);
        assert!(said.err.contains("it is a device, a pipe or a socket, and no file"), "{}", said.err);
    }
    assert!(!scene.path("null.db.locks").exists());
}

#[test]
fn a_file_that_is_no_database_is_named_and_not_touched() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("store")).expect("made");
    std::fs::write(scene.store(), "a shopping list, and quite a long one\n".repeat(40)).expect("written");
    let before = std::fs::read(scene.store()).expect("there");
    for command in ["sessions", "tree"] {
        let said = scene.run(&[command]);
        assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
        let first = said.err.lines().next().unwrap_or_default();
        assert!(first.starts_with("error: TMP/store/sessions.db is not a session store"), "{}", said.err);
    }
    assert_eq!(std::fs::read(scene.store()).expect("there"), before);
}

#[test]
fn a_damaged_database_gives_one_line_and_no_panic() {
    let scene = scene_with_a_session();
    let mut bytes = std::fs::read(scene.store()).expect("there");
    assert!(
        bytes.len() > 8192 && !scene.path("store/sessions.db-wal").exists(),
        "it was closed, so it is whole"
    );
    // Everything after the first page, which holds the schema.
    bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0xab);
    std::fs::write(scene.store(), bytes).expect("written");
    for command in ["sessions", "show", "resume"] {
        let said = scene.run(&[command]);
        assert_eq!(said.exit, Some(3), "{command}: {}", said.err);
        assert!(said.err.starts_with("error: ") && !said.err.contains("panicked"), "{command}: {}", said.err);
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused_in_one_line() {
    let scene = scene_with_a_session();
    let mut bytes = std::fs::read(scene.store()).expect("there");
    // SQLite keeps `user_version` in bytes 60 to 63 of the file.
    bytes.splice(60..64, [0, 0, 0, 99]);
    std::fs::write(scene.store(), bytes).expect("written");
    let said = scene.run(&["sessions"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.contains("was written by a newer version (schema 99"), "{}", said.err);
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_reading() {
    let scene = Scene::new();
    let said = scene.run(&["tree"]);
    assert_eq!(said.exit, Some(2));
    expect![[r#"
        error: there is no session store at TMP/store/sessions.db
          hint: `trunkline demo` or `trunkline run` makes one; --store names another
    "#]]
    .assert_eq(&said.err);
    let listed: Value = serde_json::from_str(&scene.ok(&["sessions", "--json"])).expect("JSON");
    assert_eq!(listed["sessions"], Value::Array(Vec::new()));
    assert!(!scene.path("store").exists());
}

#[test]
fn only_its_owner_can_read_the_store() {
    let scene = scene_with_a_session();
    let mode = |name: &str| std::fs::metadata(scene.path(name)).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode("store"), mode("store/sessions.db")), (0o700, 0o600));
}

#[test]
fn a_disk_without_room_gives_one_line_and_loses_nothing() {
    let scene = scene_with_a_session();
    // A limit on the size of files stands for the disk; with its signal ignored, writes fail instead.
    let script = "trap '' XFSZ; ulimit -f 400; exec \"$0\" run - -q";
    std::fs::write(scene.path("prompt"), "a long story ".repeat(100_000)).expect("written");
    let command = scene.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(command.get_program()).current_dir(scene.work()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::fs::File::open(scene.path("prompt")).expect("opened"));
    let said = scene.said(shell.output().expect("sh runs"));
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert!(said.err.starts_with("error: ") && said.err.contains("TMP/store/sessions.db"), "{}", said.err);
    assert!(!said.err.contains("panicked"), "{}", said.err);
    assert!(scene.ok(&["sessions"]).contains("greet"));
    let first = scene.ids().pop().expect("the first session");
    assert!(scene.ok(&["show", &first]).contains("Hello."));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scene = scene_with_a_session();
    for command in [&["show", "--json"][..], &["tree"], &["export"], &["sessions"], &[]] {
        let mut child = scene.command(command).spawn().expect("it starts");
        drop(child.stdout.take());
        let said = scene.said(child.wait_with_output().expect("it ends"));
        assert!(!said.err.contains("panicked") && !said.err.contains("error"), "{command:?}: {}", said.err);
        assert!(matches!(said.exit, Some(0 | 2)), "{command:?}");
    }
}

#[test]
fn a_session_that_is_deleted_while_it_is_exported_leaves_no_half_of_it() {
    let scene = Scene::new();
    // More than is read at once, and more than a pipe takes.
    let long: Vec<String> = (0..2_000).map(|number| format!("{number:0200}")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    scene.import(&[session(1, "rain", 1_000, &long), session(2, "sun", 2_000, &["Dry."])].concat());
    let mut child = scene.command(&["export", "--all"]).spawn().expect("it starts");
    let mut out = child.stdout.take().expect("a pipe");
    let mut exported = vec![0];
    out.read_exact(&mut exported).expect("it has begun");
    scene.ok(&["delete", &id(1), "--yes"]);
    out.read_to_end(&mut exported).expect("it goes on");
    assert_eq!(scene.said(child.wait_with_output().expect("it ends")).exit, Some(0));
    std::fs::write(scene.path("all.jsonl"), &exported).expect("written");
    let (file, other) = (scene.path("all.jsonl"), scene.path("other.db"));
    let (file, other) = (file.to_str().expect("plain"), other.to_str().expect("plain"));
    let said = scene.run(&["--store", other, "import", file]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "ID\nID\n"), "{}", said.err);
}

#[test]
fn an_import_is_not_stopped_by_its_output_and_says_what_could_not_be_told() {
    let three = [1, 2, 3].map(|number| session(number, "rain", 1_000, &["Will it rain?"])).concat();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for (stdout, why) in [
        (Stdio::piped(), "error: stdout was closed before everything was told\n"),
        (Stdio::from(full()), "error: cannot write to stdout: No space left on device"),
    ] {
        let scene = Scene::new();
        std::fs::write(scene.path("three.jsonl"), &three).expect("written");
        let mut command = scene.command(&["import", scene.path("three.jsonl").to_str().expect("plain")]);
        let mut child = command.stdout(stdout).spawn().expect("it starts");
        drop(child.stdout.take());
        let said = scene.said(child.wait_with_output().expect("it ends"));
        assert_eq!(said.exit, Some(1), "{}", said.err);
        assert!(said.err.starts_with("3 sessions with 6 records"), "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
        assert!(said.err.contains("was done to its end all the same"), "{}", said.err);
        assert_eq!(scene.ids().len(), 3);
    }
}

#[test]
fn lines_of_json_move_no_cursor_on_a_terminal_and_say_the_same() {
    let scene = Scene::new();
    let hostile = "a\u{9b}2J b\u{202e}c\u{7f}";
    let made = session(1, "title \u{9b}", 1_000, &[hostile]);
    scene.import(&made);
    let shown = |arguments: &str, lines: usize| {
        // `script` gives what it runs a terminal for its stdout.
        let plain = scene.command(&[]);
        let mut command = Command::new("script");
        command
            .args(["-qec", &format!("trunkline {arguments}"), "/dev/null"])
            .current_dir(scene.work())
            .env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        let mut text = String::new();
        for _ in 0..lines {
            std::io::BufRead::read_line(&mut out, &mut text).expect("UTF-8");
        }
        // It may wait for more; its terminal goes with it.
        let _ = child.kill();
        child.wait().expect("it ends");
        Some(text.replace("\r\n", "\n"))
    };
    let (Some(exported), Some(followed)) =
        (shown(&format!("export {}", id(1)), 3), shown("follow --json -n 3", 2))
    else {
        eprintln!("SKIPPED: there is no `script` to make a terminal");
        return;
    };
    for text in [&exported, &followed] {
        assert!(text.contains(r"a\u009b2J b\u202ec\u007f"), "{text}");
        assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
    }
    let read = |text: &str| {
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    assert_eq!(read(&exported)[1..], read(&made)[1..]);
    assert_eq!(read(&followed), read(&made)[1..]);
    let piped =
        String::from_utf8(scene.command(&["export"]).output().expect("it runs").stdout).expect("UTF-8");
    let records: Vec<&str> = piped.lines().skip(1).take(2).collect();
    assert_eq!(records, made.lines().skip(1).collect::<Vec<_>>(), "a pipe gets the bytes");
}
