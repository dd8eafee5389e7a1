//! Steps back that are proposed when a run gets nowhere.

use crate::fake::{Answer, Endpoint, Scene, begins, calls, says};

fn stuck() -> Vec<Answer> {
    let mut answers = vec![calls("list_files", "{}")];
    answers.extend((0..5).map(|_| calls("read_file", r#"{"path":"missing.txt"}"#)));
    answers
}

fn scene() -> (Scene, Endpoint) {
    let mut answers = stuck();
    answers.push(says("I cannot read it."));
    let (scene, endpoint) = Scene::with(answers);
    let said = scene.run(&["run", "read it", "--system", "/dev/null"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("⤺ p0: 5 turns in a row did the same"), "{}", said.err);
    (scene, endpoint)
}

const OPEN: &str =
    "⤺ p0: 5 turns in a row did the same with the same outcome (read_file); proposed: go back to n5\n";

#[test]
fn p64_a_person_takes_a_step_back_that_is_proposed() {
    let (scene, endpoint) = scene();
    assert!(endpoint.requests()[6].contains("[revert-proposal] 5 turns in a row"));
    assert_eq!(scene.ok(&["revert"]), OPEN);
    assert!(scene.ok(&["tree"]).contains(OPEN));
    assert_eq!(scene.ok(&["revert", "--accept"]), "⤺ left n6–n15 (10 nodes), head at n5\n");
    assert!(scene.ok(&["tree"]).contains("“no progress: 5 turns in a row"));
    let said = scene.run(&["revert"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""));
    assert_eq!(said.err, "no step back is proposed; name the last node to keep, such as n5\n");
    let again = scene.run(&["revert", "--accept", "p0"]);
    assert_eq!(again.exit, Some(1));
    assert_eq!(again.err, "error: p0 is not an open proposal of a step back; none is\n");
}

#[test]
fn a_person_declines_one_and_wrong_names_are_wrong_usage() {
    let (scene, _endpoint) = scene();
    assert_eq!(scene.run(&["revert", "--decline", "x"]).exit, Some(2));
    assert_eq!(scene.run(&["revert", "n1", "--accept"]).exit, Some(2));
    assert_eq!(scene.ok(&["revert", "--decline", "p0", "it is fine"]), "p0 declined\n");
    assert_eq!(scene.run(&["revert", "--accept"]).exit, Some(1));
}

#[test]
fn whoever_cannot_write_leaves_a_note_that_takes_the_step() {
    let mut answers = stuck();
    answers.extend([begins("Hm"), says("Another way.")]);
    let (scene, endpoint) = Scene::with(answers);
    let child = scene.command(&["run", "read it"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || scene.is_running() && endpoint.requests().len() == 7);
    let said = scene.run(&["revert", "--accept"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), ""), "{}", said.err);
    assert!(said.err.contains("left a note, it will be read before its next step"), "{}", said.err);
    assert_eq!(scene.run(&["cancel"]).exit, Some(0));
    assert_eq!(scene.said(child.wait_with_output().expect("it ends")).exit, Some(130));
    assert_eq!(scene.ok(&["resume", "-q"]), "Another way.\n");
    assert!(
        endpoint.requests()[7].contains("[revert-lesson] the user went back here: no progress"),
        "{}",
        endpoint.requests()[7]
    );
}
