//! What others write in the folder of a run stays theirs, with the real binary and real git.

use serde_json::json;

use crate::deciding_runs::{git, in_git, writes};
use crate::fake::{Answer, Endpoint, Scene, calls, says};

fn runs(command: &str) -> Answer {
    calls("run_command", &json!({ "command": command }).to_string())
}

fn put(scene: &Scene, path: &str, content: &str) {
    std::fs::write(scene.work().join(path), content).expect("written");
}

fn read(scene: &Scene, path: &str) -> Option<String> {
    std::fs::read_to_string(scene.work().join(path)).ok()
}

/// A run that stands at its limit behind its first call.
fn begun(answers: Vec<Answer>) -> (Scene, Endpoint) {
    let (scene, endpoint) = Scene::with(answers);
    in_git(&scene);
    let said = scene.run(&["run", "work", "-q", "--yes", "--max-turns", "1"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    (scene, endpoint)
}

#[test]
fn a_file_of_a_person_stays_out_of_the_commit_and_survives_the_rollback() {
    for first in [runs("echo new > a.txt"), writes("a.txt", "new\n")] {
        let (scene, _endpoint) = begun(vec![first, runs("echo b > b.txt"), says("Done.")]);
        for name in ["mine.txt", "more.txt", "of.txt", "them.txt"] {
            put(&scene, name, "mine\n");
        }
        let said = scene.run(&["resume", "--yes", "--commit"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        let told = "left alone, changed by somebody else meanwhile: mine.txt, more.txt, of.txt and 1 more";
        assert!(said.err.contains(told), "{}", said.err);
        assert_eq!(git(&scene, "show --name-only --format= HEAD"), "a.txt\nb.txt\n");
        let said = scene.run(&["decide", "rollback", "last", "--yes", "--commit"]);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert_eq!((read(&scene, "a.txt").as_deref(), read(&scene, "b.txt")), (Some("old\n"), None));
        assert_eq!(read(&scene, "mine.txt").as_deref(), Some("mine\n"));
        assert_eq!(git(&scene, "diff HEAD~2 HEAD --stat"), "");
    }
}

#[test]
fn two_sessions_in_one_folder_commit_each_its_own() {
    let answers = vec![
        writes("one.txt", "1\n"),
        runs("echo 2 > two.txt; rm a.txt"),
        says("Done."),
        runs("echo 3 > three.txt"),
        says("Done."),
    ];
    let (scene, _endpoint) = begun(answers);
    let first = scene.ids().remove(0);
    let said = scene.run(&["run", "more work", "-q", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(git(&scene, "show --name-only --format= HEAD"), "a.txt\ntwo.txt\n");
    let said = scene.run(&["resume", &first, "-q", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!(git(&scene, "show --name-only --format= HEAD"), "one.txt\nthree.txt\n");
    assert_eq!(git(&scene, "status --porcelain"), "");
}

#[test]
fn what_was_announced_and_not_committed_is_looked_at_again() {
    let ways: [(&str, &str); 3] =
        [("as it was", "new\n"), ("written again", "newer\n"), ("stashed", "old\n")];
    for bind in [false, true] {
        for (way, content) in ways {
            let (scene, _endpoint) = begun(vec![runs("echo new > a.txt"), says("Done.")]);
            let resume = || match bind {
                true => scene.run(&["resume", "-q", "--yes", "--commit", "--bind"]),
                false => scene.run(&["resume", "-q", "--yes", "--commit"]),
            };
            put(&scene, ".git/index.lock", "");
            let said = resume();
            assert!(said.err.contains("another git process holds the index"), "{}", said.err);
            std::fs::remove_file(scene.work().join(".git/index.lock")).expect("it is there");
            match way {
                "stashed" => drop(git(&scene, "stash -q")),
                _ => put(&scene, "a.txt", content),
            }
            let said = resume();
            assert_eq!(said.exit, Some(0), "{way}: {}", said.err);
            assert_eq!(read(&scene, "a.txt").as_deref(), Some(content), "{way}");
            assert_eq!(git(&scene, "show HEAD:a.txt"), content, "{way}");
            let commits = if way == "stashed" { "1\n" } else { "2\n" };
            assert_eq!(git(&scene, "rev-list --count HEAD"), commits, "{way}");
            assert_eq!(git(&scene, "status --porcelain"), "", "{way}");
        }
    }
}

/// What `git pull --rebase --autostash` does.
#[test]
fn what_others_commit_to_a_file_of_the_run_stays_in_it_and_in_a_rollback() {
    for by_a_command in [true, false] {
        for more in [&["--commit"][..], &["--commit", "--bind"], &[]] {
            let first = match by_a_command {
                true => runs("sed -i s/one/run/ a.txt"),
                false => writes("a.txt", "run\ntwo\nthree\n"),
            };
            let (scene, _endpoint) = Scene::with(vec![first, says("Done.")]);
            in_git(&scene);
            put(&scene, "a.txt", "one\ntwo\nthree\n");
            git(&scene, "commit -qam three");
            let said = scene.run(&["run", "work", "-q", "--yes", "--max-turns", "1"]);
            assert_eq!(said.exit, Some(1), "{}", said.err);
            git(&scene, "stash -q");
            put(&scene, "a.txt", "one\ntwo\ntheirs\n");
            git(&scene, "commit -qam theirs");
            put(&scene, "a.txt", "run\ntwo\ntheirs\n");
            let said = scene.run(&[&["resume", "-q", "--yes"], more].concat());
            assert_eq!(said.exit, Some(0), "{}", said.err);
            let diff = scene.ok(&["decisions", "last", "--diff"]);
            assert!(diff.contains("+run") && !diff.contains("+theirs"), "{diff}");
            let said = scene.run(&[&["decide", "rollback", "last", "--yes"], more].concat());
            assert_eq!(said.exit, Some(0), "{}", said.err);
            assert_eq!(read(&scene, "a.txt").as_deref(), Some("one\ntwo\ntheirs\n"));
        }
    }
}

#[test]
fn what_somebody_else_has_committed_is_not_the_runs_commit() {
    let (scene, _endpoint) = begun(vec![runs("echo new > a.txt"), says("Done.")]);
    git(&scene, "commit -qam theirs");
    let said = scene.run(&["resume", "--yes", "--commit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let shown = scene.ok(&["decisions", "last"]);
    let words = format!("somebody else has committed the same already, in {}", git(&scene, "rev-parse HEAD"));
    assert!(shown.contains(words.trim()), "{shown}");
    assert_eq!(git(&scene, "log -1 --format=%s"), "theirs\n");
}

#[test]
fn a_run_whose_trees_are_gone_can_be_abandoned() {
    let (scene, _endpoint) = Scene::with(vec![runs("echo new > a.txt"), says("Done.")]);
    in_git(&scene);
    put(&scene, "dirty.txt", "before\n");
    assert_eq!(scene.run(&["run", "work", "-q", "--yes", "--max-turns", "1"]).exit, Some(1));
    git(&scene, "gc -q --prune=now");
    assert_eq!(scene.run(&["decide", "checkpoint", "here"]).exit, Some(1));
    let said = scene.run(&["decide", "abandon", "its trees are gone"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let shown = scene.ok(&["decisions", "last"]);
    assert!(shown.contains("what the run has changed is not known"), "{shown}");
}

#[test]
fn a_rollback_that_was_announced_and_not_committed_is_looked_at_again() {
    for changed in [false, true] {
        let (scene, _endpoint) = begun(vec![runs("echo new > a.txt"), says("Done.")]);
        assert_eq!(scene.run(&["resume", "-q", "--yes", "--commit"]).exit, Some(0));
        put(&scene, ".git/index.lock", "");
        let said = scene.run(&["decide", "rollback", "last", "--yes", "--commit"]);
        assert!(said.err.contains("another git process holds the index"), "{}", said.err);
        assert_eq!(read(&scene, "a.txt").as_deref(), Some("old\n"), "it was put back by then");
        std::fs::remove_file(scene.work().join(".git/index.lock")).expect("it is there");
        put(&scene, "other.txt", "mine\n");
        if changed {
            put(&scene, "a.txt", "mine\n");
        }
        let said = scene.run(&["resume", "-q", "--yes"]);
        let commits = git(&scene, "rev-list --count HEAD");
        match changed {
            false => {
                assert_eq!((said.exit, commits.as_str()), (Some(0), "3\n"), "{}", said.err);
                assert_eq!(git(&scene, "show --name-only --format= HEAD"), "a.txt\n");
            }
            true => {
                assert_eq!(commits, "2\n", "{}", said.err);
                assert_eq!(read(&scene, "a.txt").as_deref(), Some("mine\n"));
            }
        }
        assert_eq!(read(&scene, "other.txt").as_deref(), Some("mine\n"));
    }
}
