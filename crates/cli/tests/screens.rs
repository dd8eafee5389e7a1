//! The help of `decisions` and `decide`: short enough for a screen, and what it says is so.

use crate::fake::{Scene, begins, says};

const HELPS: [&[&str]; 10] = [
    &["decisions", "--help"],
    &["decide", "--help"],
    &["decide", "checkpoint", "--help"],
    &["decide", "abandon", "--help"],
    &["decide", "retry", "--help"],
    &["decide", "rollback", "--help"],
    &["tools", "--help"],
    &["tools", "trust", "--help"],
    &["store", "--help"],
    &["store", "migrate", "--help"],
];

#[test]
fn a_help_is_one_screen() {
    let scene = Scene::new();
    for help in HELPS {
        let shown = scene.ok(help);
        assert!(shown.lines().count() <= 45, "{help:?}: {}", shown.lines().count());
    }
}

/// Every example of a help is taken as it stands: whatever is not there, it is not the usage that is wrong.
#[test]
fn examples_can_be_typed() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), begins("And")]);
    scene.ok(&["run", "say something", "-q"]);
    let mut tried = 0;
    for help in &HELPS[..2] {
        let shown = scene.ok(help);
        let examples = shown.split("Examples:\n").nth(1).expect("there are some");
        for line in examples.lines() {
            let example = line.trim().split("  ").next().expect("a command");
            let mut shell = std::process::Command::new("sh");
            let plain = scene.command(&[]);
            shell.args(["-c", &format!("({example}) < /dev/null")]).current_dir(scene.work()).env_clear();
            shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let said = scene.said(shell.output().expect("it runs"));
            assert!(!said.err.contains("unexpected argument"), "{example}: {}", said.err);
            assert!(!said.err.contains("Usage:"), "{example}: {}", said.err);
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried}");
}

/// What is refused names the next command, with the exit code of the help.
#[test]
fn every_refusal_says_what_to_type_next() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    scene.ok(&["run", "say something", "-q"]);
    let refused: [(&[&str], i32); 17] = [
        (&["decisions", "ffff"], 2),
        (&["decisions", "-s", "ffff"], 2),
        (&["decisions", "ffff", "-s", "last"], 2),
        (&["decisions", "last", "--node", "n1"], 2),
        (&["decisions", "last", "--check"], 2),
        (&["decisions", "--check", "records.jsonl", "-s", "last"], 2),
        (&["decisions", "--check", "/dev/null"], 2),
        (&["decisions", "--check", "no-such-file"], 1),
        (&["decisions", "--full"], 2),
        (&["decisions", "--git"], 2),
        (&["decisions", "--commit", "HEAD"], 2),
        (&["decide", "abandon", ""], 2),
        (&["decide", "abandon", "nothing is open"], 1),
        (&["decide", "rollback", "last"], 1),
        (&["decide", "rollback", "ffff"], 2),
        (&["decide", "rollback", "last", "-s", "ffff"], 2),
        (&["run", "x", "--trailer"], 2),
    ];
    for (arguments, exit) in refused {
        let said = scene.run(arguments);
        assert_eq!(said.exit, Some(exit), "{arguments:?}: {}", said.err);
        // Of a session that is not there those that are say enough.
        let says_so = ["hint:", "  trunkline ", "; there are "].iter().any(|part| said.err.contains(part));
        assert!(says_so, "{arguments:?}: {}", said.err);
    }
    let full = scene.run(&["decisions", "--full"]).err;
    assert!(full.contains("--full shows one decision, or goes with --check; name one"), "{full}");
}
