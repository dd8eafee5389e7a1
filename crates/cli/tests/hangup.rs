//! A terminal that goes away: as when somebody asks to stop, unless they said beforehand that it may.

use std::io::Read;
use std::process::{Child, Command};

use crate::fake::{Scene, begins, calls, says};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Waits until a command has said something on stderr.
fn until(child: &mut Child, words: &str) -> String {
    let mut told = Vec::new();
    let stderr = child.stderr.as_mut().expect("piped");
    while !String::from_utf8_lossy(&told).contains(words) {
        let mut some = [0; 256];
        let count = stderr.read(&mut some).expect("readable");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&some[..count]);
    }
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
fn what_was_streamed_is_kept_and_the_run_can_go_on() {
    for twice in [false, true] {
        let (scene, _endpoint) = Scene::with(vec![begins("I was about to"), says("say more.")]);
        let mut child = scene.command(&["run", "talk"]).spawn().expect("it starts");
        until(&mut child, "about to");
        signal(&child, "-HUP");
        if twice {
            // Closing a window sends it from the shell and from the system.
            until(&mut child, "stopping");
            let _ = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
        }
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        let shown = scene.ok(&["show"]);
        assert!(shown.contains("I was about to") && shown.contains("(stopped: cancelled)"), "{shown}");
        assert_eq!(scene.run(&["resume", "--quiet"]).out, "say more.\n");
    }
}

#[test]
fn a_command_is_ended_with_its_group() {
    for name in ["-HUP", "-QUIT", "-TERM"] {
        is_ended_with_its_group_by(name);
    }
}

fn is_ended_with_its_group_by(name: &str) {
    let command = r#"{"command":"sh -c 'echo $$ > pid; exec sleep 60' & wait"}"#;
    let (scene, _endpoint) = Scene::with(vec![calls("run_command", command), says("Done.")]);
    let mut child = scene.command(&["run", "wait", "--yes"]).spawn().expect("it starts");
    let file = scene.work().join("pid");
    let pid = || std::fs::read_to_string(&file).ok().filter(|pid| pid.ends_with('\n'));
    scene.until("the command runs", || pid().is_some());
    signal(&child, name);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let status = format!("/proc/{}/status", pid().expect("it ran").trim());
    let lives = || std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    scene.until("it is gone", || !lives());
}

#[test]
fn the_second_of_those_that_ask_to_stop_leaves_at_once() {
    let (scene, _endpoint) = Scene::with(vec![begins("I was about to"), says("say more.")]);
    let mut child = scene.command(&["run", "talk"]).spawn().expect("it starts");
    until(&mut child, "about to");
    signal(&child, "-QUIT");
    until(&mut child, "stopping");
    // It may have ended by now.
    let _ = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status();
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "and leaves no core");
}

#[test]
fn where_it_is_ignored_it_stays_so() {
    let (scene, _endpoint) = Scene::with(vec![begins("I was about to"), says("say more.")]);
    let plain = scene.command(&[]);
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec trunkline run talk"]).current_dir(scene.work()).env_clear();
    nohup.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    nohup.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut child = nohup.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    until(&mut child, "about to");
    signal(&child, "-HUP");
    // It goes on: what ends it is the other one.
    signal(&child, "-TERM");
    let told = until(&mut child, "stopping");
    assert_eq!(told.matches("stopping").count(), 1, "{told}");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let shown = scene.ok(&["show"]);
    assert!(shown.contains("(stopped: cancelled)"), "{shown}");
}
