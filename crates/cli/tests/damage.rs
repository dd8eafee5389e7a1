//! Proof that a store is whole, and what is said and done when it is not.

use expect_test::expect;
use serde_json::Value;

use crate::fake::{Answer, Scene, says};
use crate::made::{id, session};

fn scene() -> Scene {
    let scene = Scene::new();
    let sessions = [
        session(1, "umbrella", 1_000, &["Will it rain?", "It will."]),
        session(2, "a crash", 2_000, &["Fix it."]),
    ];
    scene.import(&sessions.concat());
    scene
}

/// Changes a word in the database, as somebody with an editor would.
pub(crate) fn change(scene: &Scene, from: &str, to: &str) {
    let mut bytes = std::fs::read(scene.store()).expect("there");
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, part)| *part == from.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty() && from.len() == to.len(), "{from:?} is in the file");
    for at in places {
        bytes.splice(at..at + to.len(), to.bytes());
    }
    std::fs::write(scene.store(), bytes).expect("written");
}

#[test]
fn a_sound_store_is_said_to_be_so_and_gives_receipts() {
    let scene = scene();
    expect![[r#"
        ✓ 2 sessions with 5 records verified: everything is as it was written
    "#]]
    .assert_eq(&scene.ok(&["doctor"]));
    expect![[r#"
        ✓ 2 sessions with 5 records verified: nothing had to be mended
    "#]]
    .assert_eq(&scene.ok(&["doctor", "--fix"]));
    let out = scene.command(&["doctor", &id(1)]).output().expect("it runs").stdout;
    let out = String::from_utf8(out).expect("UTF-8");
    let receipt = out.lines().nth(1).and_then(|line| line.strip_prefix("receipt ")).expect("a receipt");
    assert!(receipt.starts_with("3:") && receipt.len() == 66, "{receipt}");
    assert!(scene.ok(&["doctor", &id(1), "--receipt", receipt]).contains("is what it was, and whole"));
    // The receipt of another session, and of more than there is.
    for (wrong, why) in [
        (receipt.replace("3:", "2:"), "not what it was: record 2 has the digest "),
        (receipt.replace("3:", "4:"), "its end is missing: it has 3 records and the receipt is for record 4"),
    ] {
        let said = scene.run(&["doctor", &id(1), "--receipt", &wrong]);
        assert_eq!(said.exit, Some(3));
        assert!(said.out.contains(why), "{}", said.out);
    }
    assert_eq!(scene.run(&["doctor", &id(1), "--receipt", "3"]).exit, Some(2));
}

#[test]
fn a_word_that_was_changed_is_found_and_named_and_the_rest_is_saved() {
    let scene = scene();
    change(&scene, "It will.", "It wont.");
    let said = scene.run(&["doctor", &id(1)]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.out.contains(" breaks at record 3"), "{}", said.out);
    assert_eq!(scene.run(&["doctor", &id(2)]).exit, Some(0), "the other one is whole");
    let said = scene.run(&["doctor"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.out.contains("record 3") && said.out.contains("✗ "), "{}", said.out);
    assert!(said.err.contains("mend it  trunkline doctor --fix"), "{}", said.err);
    let told: Value = serde_json::from_str(&scene.run(&["doctor", "--json"]).out).expect("JSON");
    assert_eq!((&told["sound"], &told["findings"][0]["seq"]), (&false.into(), &3.into()), "{told:#}");
    let fixed = scene.run(&["doctor", "--fix"]);
    assert_eq!(fixed.exit, Some(3), "something is lost: {}", fixed.out);
    assert!(
        fixed.out.contains("kept 2 of 3 records") && fixed.out.contains("set aside: TMP/store/"),
        "{}",
        fixed.out
    );
    assert!(scene.ok(&["doctor"]).starts_with("✓ 2 sessions with 4 records verified"));
    let shown = scene.ok(&["show", &id(1)]);
    assert!(shown.contains("Will it rain?") && !shown.contains("It wont."), "{shown}");
}

#[test]
fn a_damaged_session_does_not_keep_the_others_from_being_exported() {
    let scene = Scene::new();
    // More than is read at once, so that much of it is written before the damage is found.
    let long: Vec<String> =
        (0..1_500).map(|number| format!("{number} drops")).chain(["The end.".into()]).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let others =
        [session(1, "umbrella", 1_000, &["Will it rain?"]), session(3, "a crash", 3_000, &["Fix it."])];
    scene.import(&[others[0].as_str(), &session(2, "rain", 2_000, &long), &others[1]].concat());
    // No JSON any more.
    change(&scene, "The end.\"", "The end.}");
    let file = scene.path("all.jsonl");
    let name = file.to_str().expect("plain");
    let records = |text: &str| {
        let records = text.lines().filter(|line| !line.starts_with("{\"trunkline\""));
        records.map(str::to_owned).collect::<Vec<_>>()
    };
    for arguments in [&["export", "--all"][..], &["export", &id(1), &id(2), &id(3)]] {
        let said = scene.run(&[arguments, &["-o", name]].concat());
        assert_eq!(said.exit, Some(3), "{}", said.err);
        assert!(
            said.err.contains("left out: session ID: record 1502 of session ID is damaged: "),
            "{}",
            said.err
        );
        assert!(said.err.contains("4 records of 2 sessions written to TMP/all.jsonl"), "{}", said.err);
        assert!(said.err.contains("look at it  trunkline doctor"), "{}", said.err);
        let written = std::fs::read_to_string(&file).expect("written");
        assert_eq!(records(&written), records(&others.concat()));
        assert!(written.contains("\"of\":3") && written.contains("\"sessions\":2"), "{written}");
        std::fs::remove_file(&file).expect("it is there");
        let piped = scene.command(arguments).output().expect("it runs");
        assert_eq!((piped.status.code(), String::from_utf8(piped.stdout)), (Some(3), Ok(written)));
    }
    let alone = scene.run(&["export", &id(2), "-o", name]);
    assert_eq!(alone.exit, Some(3));
    assert!(alone.err.starts_with("error: record 1502 of session ID is damaged: "), "{}", alone.err);
    assert!(!file.exists(), "nobody should take it for a session");
}

#[test]
fn a_store_that_is_in_use_is_examined_but_not_mended() {
    let (scene, endpoint) = Scene::with(vec![crate::fake::begins("Thinking")]);
    let child = scene.command(&["run", "think"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || endpoint.requests().len() == 1);
    assert_eq!(scene.run(&["doctor"]).exit, Some(0));
    let said = scene.run(&["doctor", "--fix"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("hint: end the runs that use it first"), "{}", said.err);
    assert_eq!(scene.run(&["cancel", "--wait"]).exit, Some(0));
    child.wait_with_output().expect("it ends");
    assert_eq!(scene.run(&["doctor", "--fix"]).exit, Some(0));
}

#[test]
fn a_file_of_another_program_is_refused_however_often_it_is_tried() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.store().parent().expect("a folder")).expect("made");
    for text in ["Dear Sir or Madam,\n".repeat(400), "SQLite format 3\0 of somebody else".to_owned()] {
        std::fs::write(scene.store(), &text).expect("written");
        for arguments in [&["sessions"][..], &["doctor"], &["doctor", "--fix"], &["doctor", "--fix"]] {
            let said = scene.run(arguments);
            assert_eq!(said.exit, Some(1), "{arguments:?}: {}{}", said.out, said.err);
        }
        assert_eq!(std::fs::read(scene.store()).expect("there"), text.as_bytes(), "not a byte was changed");
    }
}

#[test]
fn mending_says_what_is_lost_although_nothing_is_found_of_it() {
    // The list of sessions cannot be read: nobody can tell what stood in it.
    let lost = scene();
    let mut bytes = std::fs::read(lost.store()).expect("there");
    bytes[..4 * 4096].fill(0);
    std::fs::write(lost.store(), bytes).expect("written");
    let fixed = lost.run(&["doctor", "--fix"]);
    assert_eq!(fixed.exit, Some(3), "{}", fixed.out);
    assert!(
        fixed.out.contains("✗ ") && fixed.out.contains("nothing tells if there was more"),
        "{}",
        fixed.out
    );
}

/// A letter in the name of a table, and a byte in the name of a column that is no text.
#[test]
fn a_damaged_schema_is_no_empty_store() {
    for (name, byte) in
        [("sqlite_sequence", b'y'), ("workspace", 0xda), ("workspace", b'x'), ("records", 0x80)]
    {
        let scene = scene();
        let mut bytes = std::fs::read(scene.store()).expect("there");
        let at =
            bytes.windows(name.len()).position(|part| part == name.as_bytes()).expect("it is in the schema");
        bytes[at + 3] = byte;
        std::fs::write(scene.store(), &bytes).expect("written");
        for command in [&["sessions"][..], &["export", "--all"], &["show"], &["doctor"], &["title", "x"]] {
            let said = scene.run(command);
            assert_eq!(said.exit, Some(3), "{name} {byte}: {command:?}: {}{}", said.out, said.err);
            let all = said.out + &said.err;
            assert!(all.contains("schema") && !all.contains("panicked"), "{name} {byte}: {command:?}: {all}");
        }
        let fixed = scene.run(&["doctor", "--fix"]);
        assert_eq!(fixed.exit, Some(0), "{name} {byte}: {}", fixed.out);
        assert!(scene.ok(&["doctor"]).starts_with("✓ 2 sessions with 5 records verified"));
    }
}

/// What decides where a run works, and what is shown as the session's own, is what was written.
#[test]
fn a_folder_or_title_that_was_put_under_a_session_is_noticed() {
    let scene = scene();
    change(&scene, "umbrella", "raincoat");
    for command in [&["sessions"][..], &["show", &id(1)], &["resume", &id(1)], &["doctor"]] {
        let said = scene.run(command);
        assert_eq!(said.exit, Some(3), "{command:?}: {}{}", said.out, said.err);
        assert!((said.out + &said.err).contains("is not what was written"), "{command:?}");
    }
    let fixed = scene.run(&["doctor", "--fix"]);
    assert_eq!(fixed.exit, Some(3), "nothing tells what it was: {}", fixed.out);
    assert!(
        fixed.out.contains("it is taken as it is: ") && fixed.out.contains("\"raincoat\""),
        "{}",
        fixed.out
    );
    assert!(scene.ok(&["sessions"]).contains("raincoat"));
    assert!(scene.ok(&["doctor"]).starts_with("✓ 2 sessions"));
}

/// The store is moved away during a run: everything that is said can be done.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_is_moved_away_during_a_run_is_told_and_brought_together() {
    let (scene, endpoint) = Scene::with(vec![Answer::Busy(3), says("unheard")]);
    let child = scene.command(&["run", "think"]).spawn().expect("it starts");
    scene.until("the run waits to ask its model again", || endpoint.requests().len() == 1);
    let moved = scene.path("moved.db");
    std::fs::rename(scene.store(), &moved).expect("moved");
    drop(endpoint);
    let said = scene.said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.err.contains("the database was moved to TMP/moved.db while it was open"), "{}", said.err);
    assert!(
        said.err.contains("records that are nowhere else is still TMP/store/sessions.db-wal"),
        "{}",
        said.err
    );
    assert!(!said.err.contains("the session is kept"), "{}", said.err);
    let said = scene.run(&["resume"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.err.contains("there is no database, but its write-ahead log"), "{}", said.err);
    let moved = moved.to_str().expect("plain");
    let fixed = scene.run(&["doctor", "--fix", "--database", moved]);
    assert_eq!(fixed.exit, Some(0), "{}{}", fixed.out, fixed.err);
    let listed = scene.run(&["--store", moved, "sessions"]);
    assert!(listed.exit == Some(0) && listed.out.contains("think"), "{}{}", listed.out, listed.err);
}
