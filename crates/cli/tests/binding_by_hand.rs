//! What a person does with the branch between our commit and its decision, with the real binary and the real git.

use crate::binding::{RUN, Wrapper, git, listed, refs, scene};
use crate::fake::{Endpoint, Scene};

const RESUME: [&str; 5] = ["resume", "--yes", "--commit", "--bind", "-q"];

/// A run that was killed when its commit was on the branch and its decision nowhere: git was killed between the two.
fn cut_off(more: &[&str]) -> (Scene, Endpoint) {
    let (scene, endpoint) = scene("init -q -b main");
    // Of the transaction only the line that moves the branch.
    let half = "case \"$*\" in *update-ref*--stdin*) in=$(cat); case \"$in\" in *'update refs/heads'*) \
                printf '%s\\n' \"$in\" | sed '/^create/d' | $real \"$@\"; kill -9 $PPID; exit 1;; \
                *) printf '%s\\n' \"$in\" | $real \"$@\"; exit $?;; esac;; esac";
    let wrapper = Wrapper::new(&scene, half);
    let arguments = [&RUN[..], more].concat();
    let ended = wrapper.put(scene.command(&arguments)).output().expect("it runs");
    assert_eq!(ended.status.code(), None, "it was killed");
    assert_eq!((git(&scene, "rev-list --count HEAD").trim(), refs(&scene.work())), ("2", 0));
    git(&scene, "reset -q");
    (scene, endpoint)
}

fn head(scene: &Scene) -> String {
    git(scene, "rev-parse HEAD").trim().to_owned()
}

#[test]
fn a_commit_that_was_taken_off_stays_off_and_the_run_ends_with_a_verdict_that_says_so() {
    for more in [&[][..], &["--trailer"]] {
        for way in ["reset -q --soft HEAD~1", "update-ref refs/heads/main HEAD~1"] {
            let (scene, _endpoint) = cut_off(more);
            let ours = head(&scene);
            git(&scene, way);
            let theirs = head(&scene);
            let said = scene.run(&[&RESUME[..4], more].concat());
            assert_eq!(said.exit, Some(0), "{way}: {}", said.err);
            assert_eq!(head(&scene), theirs, "{way}: {}", said.err);
            let [line] = &listed(&scene, &["decisions", "--json"])[..] else { panic!("{way}: one verdict") };
            let verdict = &line["decision"]["verdict"];
            assert_eq!(verdict["label"], "taken_back", "{way}: {line}");
            let reason = verdict["reason"].as_str().expect("a reason");
            assert!(reason.contains(&ours) && reason.contains(&theirs), "{reason}");
            // It is kept in git too, and nothing is left to be done.
            assert_eq!(refs(&scene.work()), 1, "{way}");
            let again = scene.run(&RESUME);
            assert_eq!((again.exit, head(&scene)), (Some(0), theirs), "{way}: {}", again.err);
            assert_eq!(scene.run(&["decisions", "--git"]).exit, Some(0));
            assert_eq!(scene.run(&["doctor", "last"]).exit, Some(0));
        }
    }
}

#[test]
fn what_went_on_from_it_or_holds_the_same_is_named_by_the_verdict() {
    for (way, mine) in [
        ("commit -q --allow-empty -m theirs", true),
        ("commit -q --amend -m theirs", false),
        ("switch -q -c other", true),
    ] {
        let (scene, _endpoint) = cut_off(&["--trailer"]);
        let ours = head(&scene);
        git(&scene, way);
        let theirs = head(&scene);
        let said = scene.run(&RESUME);
        assert_eq!((said.exit, head(&scene)), (Some(0), theirs.clone()), "{way}: {}", said.err);
        let [line] = &listed(&scene, &["decisions", "--json"])[..] else { panic!("{way}: one verdict") };
        let verdict = &line["decision"]["verdict"];
        let named = verdict["commit"].as_str().or_else(|| verdict["reason"].as_str()?.rsplit(' ').next());
        assert_eq!(named, Some(if mine { ours } else { theirs }.as_str()), "{way}: {line}");
        assert_eq!(refs(&scene.work()), 1, "{way}");
    }
}

/// Git refuses the repository, or the folder is gone: the run waits, and says how it can be ended.
#[test]
fn a_run_of_which_git_gives_no_answer_can_be_abandoned() {
    let (scene, _endpoint) = cut_off(&[]);
    std::fs::write(scene.work().join(".git/config"), "nothing that git reads\n").expect("written");
    let first = scene.run(&["resume", "--yes", "--commit"]);
    assert_eq!(first.exit, Some(1), "{}", first.err);
    assert!(first.err.contains("abandon the run with words"), "{}", first.err);
    let again = scene.run(&["resume", "--yes", "--commit"]);
    assert_eq!(again.err, first.err, "the same each time");
    assert_eq!(first.err.matches("git cannot be asked").count(), 1, "{}", first.err);
    let said = scene.run(&["decide", "abandon", "the repository is broken"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let [line] = &listed(&scene, &["decisions", "--json"])[..] else { panic!("one verdict") };
    assert_eq!(line["decision"]["verdict"]["kind"], "abandon", "{line}");
    let (scene, _endpoint) = cut_off(&[]);
    std::fs::rename(scene.work(), scene.path("moved")).expect("moved");
    let empty = scene.path("empty");
    std::fs::create_dir(&empty).expect("made");
    let abandon = |more: &[&str]| {
        let mut command = scene.command(&[&["decide"], more, &["abandon", "the folder is gone"]].concat());
        scene.said(command.current_dir(&empty).output().expect("it runs"))
    };
    let said = abandon(&[]);
    assert!(said.exit == Some(2) && said.err.contains("-C DIR"), "{}", said.err);
    let said = abandon(&["-C", empty.to_str().expect("a plain path")]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
}
