//! Seeing a session grow, waiting for one's notes, and taking a session over.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::fake::{Scene, begins, says};
use crate::made::{id, session};

#[test]
fn whoever_follows_sees_the_end_and_then_everything_that_comes() {
    let (scene, _endpoint) = Scene::with(vec![says("It is a parser."), says("Since Monday.")]);
    assert_eq!(scene.run(&["run", "what is this?", "-q"]).exit, Some(0));
    let mut follower =
        scene.command(&["follow", "-n", "2"]).stderr(Stdio::inherit()).spawn().expect("it starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("it goes on").expect("UTF-8");
    assert_eq!(next(), "◆ other: answered — the model answered and no file was changed");
    assert_eq!(scene.run(&["resume", "-p", "since when?", "-q"]).exit, Some(0));
    assert_eq!(next(), "› since when? n3");
    assert_eq!(next(), "Since Monday. n4");
    assert_eq!(next(), "◆ other: answered — the model answered and no file was changed");
    assert_eq!(scene.run(&["delete", "last", "--yes"]).exit, Some(0));
    assert_eq!(follower.wait().expect("it ends").code(), Some(0), "there is nothing more to see");
}

#[test]
fn followed_lines_of_json_are_those_of_an_export() {
    let scene = Scene::new();
    scene.import(&session(1, "rain", 1_000, &["Will it rain?", "In \u{1b}[31mred"]));
    let mut follower = scene.command(&["follow", "--json", "-n", "100"]).spawn().expect("it starts");
    let lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let seen: Vec<String> = lines.take(3).map(|line| line.expect("UTF-8")).collect();
    follower.kill().expect("it can be killed");
    follower.wait().expect("it ends");
    let exported = scene.command(&["export", &id(1)]).output().expect("it runs").stdout;
    let exported = String::from_utf8(exported).expect("UTF-8");
    let exported: Vec<&str> = exported.lines().filter(|line| !line.starts_with("{\"trunkline\"")).collect();
    assert_eq!(seen, exported);
}

#[test]
fn whoever_leaves_a_note_can_wait_for_what_becomes_of_it() {
    let (scene, endpoint) = Scene::with(vec![begins("Thinking about"), says("Well.")]);
    let child = scene.command(&["run", "the first thing"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || scene.is_running() && endpoint.requests().len() == 1);
    // It is read after the cancel: the head has moved by then.
    let reverting = scene.command(&["revert", "n0", "--wait"]).spawn().expect("it starts");
    let id = scene.ids().pop().expect("the session");
    scene.until("the note is there", || scene.letters(&id) == 1);
    let cancelled = scene.run(&["cancel", "--wait"]);
    assert_eq!(cancelled.exit, Some(0), "{}", cancelled.err);
    assert!(cancelled.err.contains("it has taken effect, in record "), "{}", cancelled.err);
    assert_eq!(scene.said(child.wait_with_output().expect("it ends")).exit, Some(130));
    // The writer ended without reading it.
    let reverted = scene.said(reverting.wait_with_output().expect("it ends"));
    assert_eq!(reverted.exit, Some(1), "{}", reverted.err);
    assert!(reverted.err.contains("error: "), "{}", reverted.err);
}

#[test]
fn a_writer_whose_session_was_taken_over_writes_nothing_more_and_says_who_has_it() {
    let (scene, endpoint) = Scene::with(vec![begins("I am still"), says("I have it now.")]);
    let first = scene.command(&["run", "begin"]).spawn().expect("it starts");
    scene.until("the run waits for its model", || scene.is_running() && endpoint.requests().len() == 1);
    let refused = scene.run(&["resume"]);
    assert_eq!(refused.exit, Some(1));
    assert!(refused.err.contains("or if it hangs, `trunkline resume ID --take-over`"), "{}", refused.err);
    let taken = scene.run(&["resume", "--take-over"]);
    assert_eq!((taken.exit, taken.out.as_str()), (Some(0), "I have it now.\n"), "{}", taken.err);
    let fenced = scene.said(first.wait_with_output().expect("it ends"));
    assert_eq!((fenced.exit, fenced.out.as_str()), (Some(1), ""), "{}", fenced.err);
    assert!(fenced.err.contains("error: session ID was taken over by "), "{}", fenced.err);
    assert!(fenced.err.contains("it goes on there; see it with: trunkline follow ID"), "{}", fenced.err);
    let shown = scene.ok(&["show"]);
    assert!(shown.contains("I have it now.") && !shown.contains("I am still"), "{shown}");
}
