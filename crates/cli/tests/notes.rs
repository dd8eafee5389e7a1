//! What others may do while a run holds the session: read everything, and leave notes.

use crate::fake::{Scene, begins, calls, says};

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
    assert!(resumed.err.contains("✉ a note (move) had no effect: the head is "), "{}", resumed.err);
    assert!(endpoint.requests()[1].contains("and the second"));
}

#[test]
fn a_verdict_can_be_left_as_a_note() {
    let edit = r#"{"path":"a.txt","content":"one\n"}"#;
    let (scene, endpoint) =
        Scene::with(vec![calls("write_file", edit), begins("Let me wait"), says("Done.")]);
    assert_eq!(scene.run(&["run", "write", "-q"]).exit, Some(1));
    // A second prompt does not settle the first proposal; while its turn goes on, somebody else decides.
    let child = scene.command(&["resume", "--policy", "model"]).spawn().expect("it starts");
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
