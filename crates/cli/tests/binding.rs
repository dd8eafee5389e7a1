//! Decisions that are kept in a git repository, with the real binary, the real git, and what people do with git meanwhile.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::fake::{Answer, Endpoint, Scene, calls, says};
use crate::kills;

pub(crate) const RUN: [&str; 5] = ["run", "write a.txt", "--yes", "--commit", "--bind"];

fn writes(name: &str, content: &str) -> Answer {
    calls("write_file", &json!({ "path": name, "content": content }).to_string())
}

fn git_in(folder: &Path, arguments: &str) -> String {
    let mut git = Command::new("git");
    git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let output = git.arg("-C").arg(folder).args(arguments.split(' ')).output().expect("git runs");
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(crate) fn git(scene: &Scene, arguments: &str) -> String {
    git_in(&scene.work(), arguments)
}

/// A repository with one commit of `a.txt`.
pub(crate) fn make(folder: &Path, init: &str) {
    git_in(folder, init);
    git_in(folder, "config user.name Anna");
    git_in(folder, "config user.email anna@example.org");
    std::fs::write(folder.join("a.txt"), "old\n").expect("written");
    git_in(folder, "add .");
    git_in(folder, "commit -qm first");
}

pub(crate) fn scene(init: &str) -> (Scene, Endpoint) {
    let answers =
        vec![writes("a.txt", "new\n"), says("I wrote it."), says("Nothing more."), says("Still nothing.")];
    let (scene, endpoint) = Scene::with(answers);
    make(&scene.work(), init);
    (scene, endpoint)
}

pub(crate) fn bound() -> (Scene, Endpoint) {
    let (scene, endpoint) = scene("init -q -b main");
    let said = scene.run(&RUN);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("bound: refs/trunkline/decisions/"), "{}", said.err);
    assert!(
        said.err.contains("--commit --bind"),
        "the next command goes on under the same terms: {}",
        said.err
    );
    (scene, endpoint)
}

/// What is listed of a repository, a value a line.
pub(crate) fn listed(scene: &Scene, arguments: &[&str]) -> Vec<Value> {
    let output = scene.command(arguments).output().expect("it runs");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub(crate) fn refs(folder: &Path) -> usize {
    git_in(folder, "for-each-ref refs/trunkline").lines().count()
}

#[test]
fn a_decision_is_found_by_its_commit_whatever_plain_git_has_made_of_it() {
    let (scene, _endpoint) = bound();
    let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("one decision") };
    assert_eq!(line["store"], "same");
    let commit = git(&scene, "rev-parse HEAD").trim().to_owned();
    assert_eq!(line["commit"], commit.as_str());
    assert_eq!(line["decision"]["verdict"]["commit"], commit.as_str());
    assert_eq!(git(&scene, "show -s --format=%B").trim(), "write a.txt\n\nI wrote it.");
    let by = |revision: &str| {
        let found = listed(&scene, &["decisions", "--commit", revision, "--json"]);
        found.iter().map(|line| line["found_by"].as_str().expect("a word").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(by("HEAD"), ["commit"]);
    git(&scene, "commit -q --amend -m mine");
    assert_eq!(by("main"), ["patch_id"], "amended");
    // Elsewhere, and with nothing left of what was: the change alone tells.
    git(&scene, "checkout -q -b other HEAD~1");
    std::fs::write(scene.work().join("b.txt"), "b\n").expect("written");
    git(&scene, "add b.txt");
    git(&scene, "commit -qm b");
    git(&scene, "checkout -q main");
    git(&scene, "rebase -q other");
    git(&scene, "reflog expire --expire=now --all");
    git(&scene, "gc -q --prune=now");
    assert_eq!(by("HEAD"), ["patch_id"], "rebased");
    let none = scene.run(&["decisions", "--commit", "HEAD~1"]);
    assert_eq!(none.exit, Some(1), "{}", none.err);
    assert_eq!(scene.run(&["decisions", "--commit", "no-such-branch"]).exit, Some(2));
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("as in this store"), "{}", said.out);
    // What people do with a repository neither shows nor carries it, but for a mirror.
    assert!(!git(&scene, "log --all --oneline").contains("trunkline"));
    let place = |name: &str| scene.path(name).to_str().expect("a plain path").to_owned();
    git(&scene, &format!("clone -q {} {}", place("work"), place("clone")));
    assert_eq!(refs(&scene.path("clone")), 0);
    git(&scene, &format!("init -q --bare {}", place("mirror")));
    git(&scene, &format!("push -q --mirror {}", place("mirror")));
    assert_eq!(refs(&scene.path("mirror")), 1);
    // Another store, and a bare repository: it can be read, and nobody vouches for it.
    let elsewhere = place("elsewhere.db");
    let far = ["--store", &elsewhere, "decisions", "--git", "-C", &place("mirror")].map(str::to_owned);
    let far: Vec<&str> = far.iter().map(String::as_str).collect();
    let said = scene.run(&far);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("not in this store"), "{}", said.out);
}

#[test]
fn the_commit_names_its_decision_if_asked_and_a_squash_is_found_by_that() {
    let (scene, _endpoint) = scene("init -q -b main");
    let said = scene.run(&["run", "write a.txt", "--yes", "--commit", "--bind", "--trailer", "-q"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let message = git(&scene, "show -s --format=%B");
    let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("one decision") };
    let id = line["decision"]["id"].as_str().expect("an id");
    assert!(message.trim().ends_with(&format!("Trunkline-Decision: {id}")), "{message}");
    assert_eq!(scene.run(&["run", "x", "--trailer"]).exit, Some(2), "there is nothing to put it in");
}

#[test]
fn what_ends_without_a_commit_is_bound_too_and_nothing_is_bound_unasked() {
    let (scene, _endpoint) = Scene::with(vec![says("Hello."), says("Hello again.")]);
    make(&scene.work(), "init -q -b main");
    assert_eq!(scene.run(&["run", "hello", "-q", "--commit"]).exit, Some(0));
    assert_eq!(scene.run(&["run", "hello", "-q", "--bind", "--no-bind"]).exit, Some(0));
    assert_eq!(refs(&scene.work()), 0);
    let (scene, _endpoint) = Scene::with(vec![says("Hello.")]);
    make(&scene.work(), "init -q -b main");
    assert_eq!(scene.run(&["run", "hello", "-q", "--bind"]).exit, Some(0));
    assert_eq!((refs(&scene.work()), git(&scene, "rev-list --count HEAD").trim()), (1, "1"));
    let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("one decision") };
    assert_eq!((line["store"].as_str(), line["commit"].as_str()), (Some("same"), None));
}

#[test]
fn where_nothing_can_be_bound_it_is_said_before_a_model_is_asked() {
    let (scene, endpoint) = Scene::with(vec![says("Hello.")]);
    let said = scene.run(&["run", "hello", "--bind"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("--bind needs a git repository"), "{}", said.err);
    git(&scene, "init -q --bare .");
    let said = scene.run(&["run", "hello", "--bind"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    assert!(said.err.contains("bare repository"), "{}", said.err);
    let old = Wrapper::new(&scene, "case \"$*\" in *version*) echo git version 2.20.1; exit 0;; esac");
    let said = scene.said(old.put(scene.command(&["run", "hello", "--bind"])).output().expect("it runs"));
    assert_eq!(said.exit, Some(1), "{}", said.err);
    assert!(said.err.contains("git 2.20 is too old; 2.31 or later is needed"), "{}", said.err);
    assert!(endpoint.requests().is_empty());
}

#[test]
fn every_kind_of_repository_does() {
    let (sha256, _endpoint) = scene("init -q -b main --object-format=sha256");
    let (detached, _endpoint) = scene("init -q -b main");
    git(&detached, "checkout -q --detach");
    for scene in [&sha256, &detached] {
        let said = scene.run(&RUN);
        assert_eq!(said.exit, Some(0), "{}", said.err);
        assert_eq!(git(scene, "rev-list --count HEAD").trim(), "2");
        assert_eq!((refs(&scene.work()), git(scene, "status --porcelain").as_str()), (1, ""));
        assert_eq!(scene.run(&["decisions", "--git"]).exit, Some(0));
    }
    assert_eq!(git(&detached, "rev-list --count main").trim(), "1", "no branch was moved");
    let (linked, _endpoint) = scene("init -q -b main");
    let side = linked.path("side");
    git(&linked, &format!("worktree add -q {}", side.display()));
    let folder = side.to_str().expect("a plain path");
    let said = linked.run(&["run", "write a.txt", "--yes", "--commit", "--bind", "-C", folder]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert_eq!((git(&linked, "rev-list --count side").trim(), refs(&linked.work())), ("2", 1));
    assert_eq!(git(&linked, "rev-list --count main").trim(), "1");
}

#[test]
fn a_run_that_ends_in_the_middle_of_a_merge_stays_open_until_its_end() {
    for words in [&["--commit"][..], &["--commit", "--bind"]] {
        for ends in ["merge --abort", "commit -q -m merged"] {
            let (scene, _endpoint) = scene("init -q -b main");
            git(&scene, "checkout -q -b theirs");
            std::fs::write(scene.work().join("b.txt"), "b\n").expect("written");
            git(&scene, "add b.txt");
            git(&scene, "commit -qm theirs");
            git(&scene, "checkout -q main");
            git(&scene, "merge -q --no-ff --no-commit theirs");
            let refs = git(&scene, "for-each-ref");
            let said = scene.run(&[&["run", "write a.txt", "--yes"], words].concat());
            assert_ne!(said.exit, Some(0), "{}", said.err);
            assert!(said.err.contains("a merge is under way"), "{}", said.err);
            assert_eq!(git(&scene, "for-each-ref"), refs);
            assert_eq!(git(&scene, "diff --cached --name-only"), "b.txt\n", "what the merge has staged");
            // An abort keeps what the run has written: the merge has not touched it.
            git(&scene, ends);
            let said = scene.run(&[&["resume", "--yes"], words].concat());
            assert_eq!(said.exit, Some(0), "{}", said.err);
            assert_eq!(git(&scene, "show --name-only --format= HEAD"), "a.txt\n", "{ends}");
            assert_eq!(git(&scene, "status --short"), "", "{ends}");
            assert_eq!(git(&scene, "show HEAD:a.txt"), "new\n");
        }
    }
}

#[test]
fn a_ref_that_says_something_else_than_the_store_is_told() {
    let (scene, _endpoint) = bound();
    let name = git(&scene, "for-each-ref --format=%(refname) refs/trunkline").trim().to_owned();
    git(&scene, &format!("update-ref -d {name}"));
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.err.contains("its ref is gone"), "{}", said.err);
    // Somebody puts a file there that is none of ours.
    let tree = git(&scene, "rev-parse HEAD^{tree}").trim().to_owned();
    git(&scene, &format!("update-ref {name} {tree}"));
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.err.contains("holds no decision"), "{}", said.err);
}

#[test]
fn what_a_person_decides_is_bound_too_or_made_good_later() {
    let (scene, _endpoint) = bound();
    let said = scene.run(&["decide", "rollback", "last", "--yes", "--commit", "--bind"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.err.contains("bound: refs/trunkline/"), "{}", said.err);
    assert_eq!((git(&scene, "rev-list --count HEAD").trim(), refs(&scene.work())), ("3", 2));
    assert_eq!(git(&scene, "diff HEAD~2 HEAD"), "");
    assert_eq!(git(&scene, "status --porcelain"), "");
    let found = listed(&scene, &["decisions", "--commit", "HEAD", "--json"]);
    assert_eq!(found[0]["decision"]["verdict"]["kind"], "rollback", "{found:?}");
    assert_eq!(scene.run(&["decisions", "--git"]).exit, Some(0));
    // A run that was begun to be bound, and ended by somebody who did not think of it.
    let (scene, _endpoint) = scene_at_its_limit();
    assert_eq!(scene.run(&["decide", "abandon", "enough"]).exit, Some(0));
    assert_eq!(refs(&scene.work()), 0);
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    assert!(said.err.contains("is not bound yet") && said.err.contains("--bind"), "{}", said.err);
    let said = scene.run(&["resume", "--bind"]);
    assert_eq!((said.exit, refs(&scene.work())), (Some(0), 1), "{}", said.err);
    assert_eq!(scene.run(&["decisions", "--git"]).exit, Some(0));
}

pub(crate) fn scene_at_its_limit() -> (Scene, Endpoint) {
    let (scene, endpoint) = scene("init -q -b main");
    let said = scene.run(&["run", "write a.txt", "--yes", "--bind", "--max-turns", "1"]);
    assert_eq!(said.exit, Some(1), "{}", said.err);
    (scene, endpoint)
}

/// A git that something is put in front of.
pub(crate) struct Wrapper {
    folder: PathBuf,
    count: PathBuf,
}

impl Wrapper {
    /// `first` is shell that runs before the real git does, with its arguments and its number in `$n`; `$real` is the real
    /// one. The process that asked is its parent.
    pub(crate) fn new(scene: &Scene, first: &str) -> Self {
        let path = std::env::var_os("PATH").expect("a search path");
        let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file());
        let real = real.expect("git is installed");
        let (folder, count) = (scene.path("wrapped"), scene.path("count"));
        std::fs::create_dir_all(&folder).expect("made");
        let (real, counted) = (real.display(), count.display());
        let script = format!(
            "#!/bin/sh\nreal={real}\nn=$(cat {counted} 2>/dev/null || echo 0)\nn=$((n + 1))\necho $n > {counted}\n\
             {first}\nexec $real \"$@\"\n"
        );
        let file = folder.join("git");
        std::fs::write(&file, script).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        Wrapper { folder, count }
    }

    pub(crate) fn put(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").expect("a search path");
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command
    }

    fn count(&self) -> u64 {
        std::fs::read_to_string(&self.count).expect("counted").trim().parse().expect("a number")
    }
}

/// Between the commit that is prepared and the step that binds it: what a person does with git then is taken as it is.
#[test]
fn what_plain_git_does_while_the_process_is_dead_is_built_upon() {
    let ways = [
        ("gc -q --prune=now", "2"),
        ("commit -q --allow-empty -m theirs", "3"),
        ("checkout -q -b other", "2"),
        ("checkout -q --detach", "2"),
    ];
    for (way, commits) in ways {
        for moment in ["kill -9 $PPID; exit 1", "$real \"$@\"; kill -9 $PPID; exit 1"] {
            let (scene, _endpoint) = scene("init -q -b main");
            let wrapper = Wrapper::new(&scene, &format!("case \"$*\" in *update-ref*) {moment};; esac"));
            let ended = wrapper.put(scene.command(&RUN)).output().expect("it runs");
            assert_eq!(ended.status.code(), None, "{way}: it was killed");
            let is_bound = refs(&scene.work()) == 1;
            if is_bound {
                // Its index was not told of the commit any more.
                git(&scene, "reset -q");
            }
            git(&scene, way);
            let said = scene.run(&["resume", "--yes", "--commit", "--bind"]);
            assert_eq!(said.exit, Some(0), "{way}: {}", said.err);
            assert_eq!(git(&scene, "rev-list --count HEAD").trim(), commits, "{way}");
            assert_eq!(refs(&scene.work()), 1, "{way}");
            assert_eq!(git(&scene, "status --porcelain"), "", "{way}");
            let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("{way}") };
            assert_eq!(line["store"], "same", "{way}");
            let found = listed(&scene, &["decisions", "--commit", "HEAD", "--json"]);
            assert_eq!(found.len(), 1, "{way}: the head has what was decided");
        }
    }
}

/// The real binary, killed with `kill -9` by the git that it has just started, before that does anything or after it has
/// done all: between git and the store, wherever that is.
#[test]
fn killed_at_any_call_of_git_it_ends_with_one_commit_one_ref_and_one_decision() {
    let wanted = kills::set("TRUNKLINE_TEST_KILLS", kills::KILLS);
    let calls = {
        let (scene, _endpoint) = scene("init -q -b main");
        let wrapper = Wrapper::new(&scene, "");
        assert_eq!(scene.said(wrapper.put(scene.command(&RUN)).output().expect("it runs")).exit, Some(0));
        wrapper.count()
    };
    // From the last call backwards: what comes before the end of the run is tried elsewhere.
    for number in (1..=calls).rev().take(usize::try_from(wanted).expect("a few")) {
        let moments = if wanted > kills::KILLS {
            vec!["before", "after"]
        } else {
            vec![["before", "after"][usize::from(number % 2 == 0)]]
        };
        for moment in moments {
            let (scene, endpoint) = scene("init -q -b main");
            let kill = match moment {
                "before" => "kill -9 $PPID; exit 1",
                _ => "$real \"$@\"; kill -9 $PPID; exit 1",
            };
            let wrapper = Wrapper::new(&scene, &format!("if [ $n = {number} ]; then {kill}; fi"));
            let ended = wrapper.put(scene.command(&RUN)).output().expect("it runs");
            assert_eq!(ended.status.code(), None, "call {number} of {calls}, {moment}: it was killed");
            if endpoint.requests().is_empty() {
                continue; // it died before anything was promised
            }
            let said = scene.run(&["resume", "--yes", "--commit", "--bind"]);
            let place = format!("call {number} of {calls}, {moment}: {}", said.err);
            assert_eq!(said.exit, Some(0), "{place}");
            assert_eq!(git(&scene, "rev-list --count HEAD").trim(), "2", "{place}");
            assert_eq!(refs(&scene.work()), 1, "{place}");
            assert_eq!(git(&scene, "status --porcelain"), "", "{place}");
            let [line] = &listed(&scene, &["decisions", "--git", "--json"])[..] else { panic!("{place}") };
            assert_eq!(line["store"], "same", "{place}");
            assert_eq!(line["commit"].as_str(), Some(git(&scene, "rev-parse HEAD").trim()), "{place}");
            assert_eq!(listed(&scene, &["decisions", "--json"]).len(), 1, "{place}");
            assert_eq!(scene.run(&["doctor", "last"]).exit, Some(0), "{place}");
        }
    }
}
