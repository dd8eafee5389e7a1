//! What a person has staged of a file that a run then commits: it stays, and they are told.

use serde_json::json;

use crate::binding::make;
use crate::deciding_runs::{git, rolled_back};
use crate::fake::{Endpoint, Scene, calls_all, says};

const TOLD: &str = "something else is still staged of what was committed: ";

/// A repository with one commit, and a model that writes files.
fn scene(names: &[&str]) -> (Scene, Endpoint) {
    let write = |name: &&str| ("write_file", json!({ "path": name, "content": "new\n" }).to_string());
    let calls: Vec<_> = names.iter().map(write).collect();
    let (scene, endpoint) = Scene::with(vec![calls_all(&calls), says("Done.")]);
    make(&scene.work(), "init -q -b main");
    (scene, endpoint)
}

/// Stages something of these files.
fn stage(scene: &Scene, names: &[&str]) {
    for name in names {
        std::fs::write(scene.work().join(name), "mine\n").expect("written");
    }
    git(scene, "add --all");
}

#[test]
fn who_has_staged_something_else_of_a_committed_file_is_told_once() {
    for terms in [&["--commit"][..], &["--commit", "--bind"], &["--commit", "--quiet"]] {
        for is_staged in [true, false] {
            let (scene, _endpoint) = scene(&["a.txt"]);
            if is_staged {
                stage(&scene, &["a.txt"]);
            }
            let said = scene.run(&[&["run", "write it", "--yes"], terms].concat());
            assert_eq!(said.exit, Some(0), "{}", said.err);
            let lines: Vec<&str> = said.err.lines().filter(|line| line.contains("taged")).collect();
            if !is_staged {
                assert_eq!(lines, [""; 0], "{terms:?}");
                continue;
            }
            let [told, hint] = lines[..] else { panic!("two lines: {}", said.err) };
            assert_eq!(told, format!("· {TOLD}a.txt"), "{terms:?}");
            assert!(
                hint.contains("`git add FILE`") && hint.contains("`git restore --staged FILE`"),
                "{hint}"
            );
            // And so it is.
            assert!(git(&scene, "diff --cached").contains("-new\n+mine\n"), "{terms:?}");
        }
    }
}

#[test]
fn of_many_files_some_are_named_and_none_acts_on_the_terminal() {
    let names = ["\u{1b}[2J.txt", "a.txt", "b.txt", "c.txt", "d.txt"];
    let (scene, _endpoint) = scene(&names);
    stage(&scene, &names);
    let said = scene.run(&["run", "write it", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let told = format!("{TOLD}\u{241b}[2J.txt, a.txt, b.txt and 2 more\n");
    assert!(said.err.contains(&told) && !said.err.contains('\u{1b}'), "{:?}", said.err);
}

#[test]
fn a_rollback_that_is_committed_says_it_too() {
    for terms in [&[][..], &["--bind"]] {
        let (scene, _endpoint) = rolled_back();
        git(&scene, "add .");
        git(&scene, "commit -qm theirs");
        stage(&scene, &["a.txt"]);
        std::fs::write(scene.work().join("a.txt"), "new\n").expect("written");
        let said = scene.run(&[&["decide", "rollback", "last", "--yes", "--commit"], terms].concat());
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert_eq!(said.err.matches(&format!("{TOLD}a.txt\n")).count(), 1, "{terms:?}: {}", said.err);
    }
}
