//! What others may do while a run holds the session: read everything, and leave notes.

use crate::fake::{Said, Scene, begins, calls, says};

#[test]
fn whoever_cannot_write_leaves_a_note_and_the_writer_reads_it() {
    let (scene, endpoint) = Scene::with(vec![begins("Thinking about"), says("Both, then.")]);
    let child = scene.command(&["run", "the first thing"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || scene.is_running() && endpoint.requests().len() == 1);

    assert!(scene.ok(&["sessions"]).contains("  running  "));
    assert!(scene.ok(&["show"]).contains("the first thing"), "reading needs no lock");
    let moved = scene.run(&["revert", "n0"]);
    assert_eq!((moved.exit, moved.out.as_str()), (Some(0), ""), "{}", moved.err);
    assert!(moved.err.contains("left a note, it will be read before its next step"), "{}", moved.err);
    assert!(moved.err.starts_with("session ID is being written by process "), "{}", moved.err);
    assert_eq!(scene.run(&["resume", "-p", "and the second"]).exit, Some(0));
    let second = scene.run(&["resume"]);
    assert_eq!(second.exit, Some(1));
    assert!(second.err.contains("is being written by process "), "{}", second.err);
    assert_eq!(scene.run(&["cancel"]).exit, Some(0));

    let said = scene.said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.exit, Some(130), "{}", said.err);
    assert_eq!(scene.run(&["cancel"]).exit, Some(1), "nobody is there any more");
    let resumed = scene.run(&["resume"]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (Some(0), "Both, then.\n"), "{}", resumed.err);
    // The head had only grown meanwhile: the move is made, and the prompt that came after it stands.
    assert!(!resumed.err.contains("had no effect"), "{}", resumed.err);
    assert!(scene.ok(&["reflog"]).contains("→ n0"), "{}", scene.ok(&["reflog"]));
    assert!(endpoint.requests()[1].contains("and the second"));
}

#[test]
fn a_verdict_can_be_left_as_a_note() {
    let edit = r#"{"path":"a.txt","content":"one\n"}"#;
    let (scene, endpoint) =
        Scene::with(vec![calls("write_file", edit), begins("Let me wait"), says("Done.")]);
    // While the model may decide and thinks about it, somebody else does.
    let child = scene.command(&["run", "write", "--policy", "model"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || endpoint.requests().len() == 2);
    let said = scene.run(&["resolve", "p1", "apply"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("left a note"), "{}", said.err);
    assert!(!scene.work().join("a.txt").exists());
    assert_eq!(scene.run(&["cancel"]).exit, Some(0));
    assert_eq!(scene.said(child.wait_with_output().expect("it ends")).exit, Some(130));
    assert_eq!(scene.ok(&["resume", "-q"]), "Done.\n");
    assert!(scene.work().join("a.txt").exists());
}

/// Runs a command from where the folder of the session is not, as on another machine.
fn elsewhere(scene: &Scene, arguments: &[&str]) -> Said {
    let moved = scene.path("moved");
    if scene.work().exists() {
        std::fs::rename(scene.work(), &moved).expect("renamed");
    }
    let mut command = scene.command(arguments);
    scene.said(command.current_dir(&moved).output().expect("it runs"))
}

#[test]
fn a_verdict_is_left_as_a_note_where_the_folder_of_the_session_is_not() {
    let edit = r#"{"path":"a.txt","content":"one\n"}"#;
    let (scene, endpoint) = Scene::with(vec![calls("write_file", edit), begins("Let me wait")]);
    let child = scene.command(&["run", "write", "--policy", "model"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || endpoint.requests().len() == 2);
    for verdict in ["apply", "discard"] {
        let said = elsewhere(&scene, &["resolve", "p1", verdict]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert!(said.err.starts_with("session ID is being written by process "), "{}", said.err);
        assert!(said.err.contains("left a note"), "{}", said.err);
    }
    assert_eq!(elsewhere(&scene, &["cancel"]).exit, Some(0));
    child.wait_with_output().expect("it ends");
    let said = elsewhere(&scene, &["resolve", "p1", "apply"]);
    assert_eq!(said.exit, Some(2), "it would have to write there itself: {}", said.err);
    assert!(said.err.contains("the session's folder TMP/work is not there"), "{}", said.err);
}

#[test]
fn a_move_is_left_as_a_note_while_something_is_applied_where_the_folder_is() {
    let command = r#"{"command":"while ! test -e go; do sleep 0.05; done"}"#;
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", command)]);
    assert_eq!(scene.run(&["run", "wait", "-q"]).exit, Some(1));
    let child = scene.command(&["resolve", "p1", "apply"]).spawn().expect("it starts");
    scene.until("the command runs", || scene.ok(&["resolve", "--all"]).contains("applying"));
    let said = elsewhere(&scene, &["revert", "n1"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("left a note"), "{}", said.err);
    std::fs::write(scene.path("moved/go"), "").expect("written");
    let applied = scene.said(child.wait_with_output().expect("it ends"));
    assert!(applied.err.contains("⤺ left n2–n3, back at n1"), "{}", applied.err);
}
