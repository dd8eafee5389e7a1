//! Runs that are recorded, and played with nobody to ask.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use expect_test::expect;

use crate::fake::{Answer, Said, Scene, anthropic_says, begins, calls, says};

const KEY: &str = "sk-0123456789abcdef";

/// Plays a recording in another folder, at another time, without any variable.
fn replayed(tape: &Path, prompt: &str, more: &[&str]) -> (Scene, Said) {
    let scene = Scene::new();
    let said = scene.run(&[&["run", prompt, "--replay", tape.to_str().expect("plain")], more].concat());
    (scene, said)
}

fn tape_of(scene: &Scene) -> (String, String) {
    let tape = scene.path("tape");
    (tape.to_str().expect("plain").to_owned(), std::fs::read_to_string(tape).expect("it was recorded"))
}

/// Returns the last lines that tell of the tape.
fn about_the_tape(said: &Said) -> &str {
    let is_about = |line: &&str| line.starts_with("recorded ") || line.starts_with("replayed ");
    said.err.lines().rfind(is_about).unwrap_or_default()
}

#[test]
fn a_recorded_run_is_played_with_the_server_gone() {
    let (mut scene, endpoint) = Scene::with(vec![calls("list_files", "{}"), says("Nothing here.")]);
    scene.set("OPENAI_API_KEY", KEY);
    let recorded = scene.run(&["run", "look around", "--record", "../tape"]);
    assert_eq!((recorded.exit, recorded.out.as_str()), (Some(0), "Nothing here.\n"), "{}", recorded.err);
    assert_eq!(about_the_tape(&recorded), "recorded in ../tape");
    assert!(recorded.err.contains(" --record ../tape -p"), "{}", recorded.err);
    assert!(endpoint.requests()[1].contains(KEY));
    drop(endpoint);

    let (path, tape) = tape_of(&scene);
    assert!(!tape.contains(KEY) && !tape.contains("look around"), "neither key nor prompt: {tape}");
    assert_eq!(tape.lines().count(), 3, "{tape}");
    let (elsewhere, played) = replayed(Path::new(&path), "look around", &[]);
    assert_eq!((played.exit, played.out.as_str()), (Some(0), "Nothing here.\n"), "{}", played.err);
    assert!(about_the_tape(&played).starts_with("replayed 2 of 2 exchanges of "), "{}", played.err);
    assert_eq!(elsewhere.ok(&["tree"]), scene.ok(&["tree"]));
}

#[test]
fn the_recording_knows_the_wire() {
    let (scene, _endpoint) = Scene::with_anthropic(vec![anthropic_says("Hello.")]);
    assert_eq!(scene.run(&["run", "hi", "-q", "--record", "../tape"]).out, "Hello.\n");
    let (path, tape) = tape_of(&scene);
    assert!(tape.contains(r#""origin":{"provider":"anthropic","model":"claude-"#), "{tape}");
    let (_, played) = replayed(Path::new(&path), "hi", &["-q"]);
    assert_eq!((played.out.as_str(), played.err.as_str()), ("Hello.\n", ""));
}

#[test]
fn another_prompt_has_no_recorded_answer() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    scene.run(&["run", "hi", "-q", "--record", "../tape"]);
    let (path, _) = tape_of(&scene);
    let (_, played) = replayed(Path::new(&path), "ho", &["-q"]);
    assert_eq!((played.exit, played.out.as_str()), (Some(1), ""));
    expect![[r#"
        error: request 1 has no recorded answer: it differs from what was recorded, which goes on with exchange 1
          hint: replay it with the prompt, the files and the flags of the recording, or record anew with --record
          hint: the session is kept; go on with: trunkline resume ID
    "#]].assert_eq(&played.err);
}

#[test]
fn files_that_differ_are_found_at_the_request_that_tells_of_them() {
    let (scene, _endpoint) = Scene::with(vec![calls("read_file", r#"{"path":"a"}"#), says("One.")]);
    std::fs::write(scene.work().join("a"), "1\n").expect("written");
    assert_eq!(scene.run(&["run", "read a", "-q", "--record", "../tape"]).out, "One.\n");
    let (path, _) = tape_of(&scene);

    let elsewhere = Scene::new();
    std::fs::write(elsewhere.work().join("a"), "2\n").expect("written");
    let played = elsewhere.run(&["run", "read a", "-q", "--replay", &path]);
    assert_eq!((played.exit, played.out.as_str()), (Some(1), ""));
    assert!(
        played.err.starts_with(
            "error: request 2 has no recorded answer: it differs from what was recorded, which goes on with exchange 2\n"
        ),
        "{}",
        played.err
    );
    std::fs::write(elsewhere.work().join("a"), "1\n").expect("written");
    assert_eq!(elsewhere.run(&["run", "read a", "-q", "--replay", &path]).out, "One.\n");
}

#[test]
fn what_a_command_says_may_differ_and_that_is_told() {
    let command = calls("run_command", r#"{"command":"cat number"}"#);
    let (scene, _endpoint) = Scene::with(vec![command, calls("list_files", "{}"), says("I see.")]);
    std::fs::write(scene.work().join("number"), "1\n").expect("written");
    assert_eq!(scene.run(&["run", "which?", "-q", "--yes", "--record", "../tape"]).out, "I see.\n");
    let (path, _) = tape_of(&scene);
    let elsewhere = Scene::new();
    std::fs::write(elsewhere.work().join("number"), "2\n").expect("written");
    let played = elsewhere.run(&["run", "which?", "-q", "--yes", "--replay", &path]);
    assert_eq!((played.exit, played.out.as_str()), (Some(0), "I see.\n"), "{}", played.err);
    expect![[r#"
        from request 2 on the run differs from the recorded one (2 of 3 requests): a command or a failed tool said something else; what was recorded was played in order
    "#]].assert_eq(&played.err);
}

#[test]
fn a_kill_loses_at_most_the_exchange_that_was_under_way() {
    let answers = vec![calls("list_files", "{}"), begins("I was about to"), says("There is nothing.")];
    let (scene, endpoint) = Scene::with(answers);
    let mut command = scene.command(&["run", "look", "--record", "../tape"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    scene.until("the second request", || endpoint.requests().len() == 2);
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let (path, tape) = tape_of(&scene);
    assert_eq!(tape.lines().count(), 2, "{tape}");

    let (_, played) = replayed(Path::new(&path), "look", &["-q"]);
    assert!(
        played.err.contains("request 2 has no recorded answer: all 1 recorded exchanges were played"),
        "{}",
        played.err
    );

    // A line that was not written to its end goes, and what is taken up is recorded behind the rest.
    std::fs::write(&path, format!("{tape}{{\"wire\":\"open")).expect("written");
    let resumed = scene.run(&["resume", "-q", "--record", "../tape"]);
    assert_eq!(resumed.out, "There is nothing.\n", "{}", resumed.err);
    let (_, played) = replayed(Path::new(&path), "look", &["-q"]);
    assert_eq!(played.out, "There is nothing.\n", "{}", played.err);
}

#[test]
fn what_was_interrupted_ends_its_replay_at_that_place() {
    let (scene, endpoint) = Scene::with(vec![begins("I was about to")]);
    let mut child = scene.command(&["run", "talk", "--record", "../tape"]).spawn().expect("it starts");
    let mut told = child.stderr.take().expect("piped");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("about to") {
        let mut some = [0; 256];
        let count = told.read(&mut some).expect("readable");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&some[..count]);
    }
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    told.read_to_end(&mut seen).expect("readable");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    drop(endpoint);
    let (path, _) = tape_of(&scene);
    let (elsewhere, played) = replayed(Path::new(&path), "talk", &["-q"]);
    assert_eq!((played.exit, played.out.as_str()), (Some(1), ""), "{}", played.err);
    // What was asked again then is in no recording; what had come is kept.
    let tree = elsewhere.ok(&["tree"]);
    assert!(tree.contains("I was about to  cut off"), "{tree}");
}

#[test]
fn a_refusal_is_played_too() {
    let refusal = Answer::Refusal(401, r#"{"error":{"message":"no such key: sk-0123456789abcdef"}}"#);
    let (mut scene, _endpoint) = Scene::with(vec![refusal]);
    scene.set("OPENAI_API_KEY", KEY);
    let recorded = scene.run(&["run", "hi", "-q", "--record", "../tape"]);
    let (path, tape) = tape_of(&scene);
    assert!(!tape.contains(KEY), "{tape}");
    let (_, played) = replayed(Path::new(&path), "hi", &["-q"]);
    let first = |said: &Said| said.err.lines().next().unwrap_or_default().to_owned();
    assert_eq!((played.exit, first(&played)), (Some(1), first(&recorded)));
}

#[test]
fn attempts_that_failed_are_played_before_the_one_that_did_not() {
    let busy = Answer::Refusal(503, r#"{"error":{"message":"busy"}}"#);
    let (scene, _endpoint) = Scene::with(vec![busy, calls("list_files", "{}"), says("Nothing.")]);
    assert_eq!(scene.run(&["run", "look", "-q", "--record", "../tape"]).out, "Nothing.\n");
    let (path, tape) = tape_of(&scene);
    assert_eq!(tape.lines().count(), 4, "{tape}");
    let (_, played) = replayed(Path::new(&path), "look", &[]);
    assert_eq!(played.out, "Nothing.\n", "{}", played.err);
    assert!(played.err.contains("busy"), "{}", played.err);
    assert!(about_the_tape(&played).starts_with("replayed 3 of 3 exchanges of "), "{}", played.err);
}

#[test]
fn what_is_no_recording_is_wrong_usage() {
    let scene = Scene::new();
    std::fs::write(scene.path("notes"), "remember the milk\n").expect("written");
    std::fs::write(scene.path("empty"), "{\"trunkline_cassette\":1}\n").expect("written");
    let mut told = String::new();
    for arguments in [
        &["--replay", "../nowhere"][..],
        &["--replay", "../notes"],
        &["--replay", "../empty"],
        &["--base-url", "http://127.0.0.1:1", "-m", "m", "--record", "../notes"],
    ] {
        let said = scene.run(&[&["run", "hi"], arguments].concat());
        assert_eq!(said.exit, Some(2), "{}", said.err);
        told.push_str(&said.err);
    }
    expect![[r#"
        error: cannot replay ../nowhere: No such file or directory (os error 2)
        error: cannot replay ../notes: not a cassette: the first line is not {"trunkline_cassette":1}
        error: cannot replay ../empty: nothing was recorded in it
        error: cannot record to ../notes: not a cassette: the first line is not {"trunkline_cassette":1}
          hint: --record names a new file, or one that was recorded before
    "#]]
    .assert_eq(&told);
    assert_eq!(std::fs::read_to_string(scene.path("notes")).expect("there"), "remember the milk\n");
    let both = scene.run(&["run", "hi", "--replay", "../empty", "--provider", "openai"]);
    assert!(both.exit == Some(2) && both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn a_recording_is_played_up_to_a_line_that_was_torn_and_written_on() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    scene.run(&["run", "hi", "-q", "--record", "../tape"]);
    let (path, tape) = tape_of(&scene);
    let exchange = tape.lines().nth(1).expect("one exchange");
    for more in [format!("{}{exchange}\n", &exchange[..40]), tape.clone(), tape[..40].to_owned()] {
        std::fs::write(&path, format!("{tape}{more}")).expect("written");
        let (_, played) = replayed(Path::new(&path), "hi", &[]);
        assert_eq!((played.exit, played.out.as_str()), (Some(0), "Hello.\n"), "{}", played.err);
        let told =
            format!("{path} was read up to line 3, where a line was cut off or another recording begins\n");
        assert!(played.err.contains(&told), "{}", played.err);
        assert!(about_the_tape(&played).starts_with("replayed 1 of 1 exchanges of "), "{}", played.err);
    }
    // A whole line that is no exchange was written so by somebody.
    std::fs::write(&path, format!("{tape}{{}}\n")).expect("written");
    let (_, played) = replayed(Path::new(&path), "hi", &[]);
    assert!(played.err.contains("line 3 of the cassette"), "{}", played.err);
}
