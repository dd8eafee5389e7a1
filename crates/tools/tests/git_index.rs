//! The user's index beside commits, by example.

use std::fs;
use std::path::Path;
use std::process::Command;

use trunkline_agent_traits::{Binding, Bound, Commits, Deciding, GitBinding, Prepared, Workspace};

use crate::git_binding::{DECISION, Scene, binding, git};
use crate::scene::block_on;

/// A run that has changed `a.txt`, and whose process was killed between the branch and the index.
fn killed() -> (Scene, Prepared, Binding) {
    killed_with("a.txt")
}

/// Another file than that.
fn killed_with(file: &str) -> (Scene, Prepared, Binding) {
    let scene = Scene::new();
    let deciding = scene.work(file);
    let prepared = scene.prepare(&deciding);
    // What the branch's log says is how a branch is known that was put back since.
    let mut moved = Command::new("git");
    moved.arg("-C").arg(&scene.root).args(["update-ref", "-m", &format!("trunkline: decision {DECISION}")]);
    assert!(moved.args(["HEAD", &prepared.commit]).status().unwrap().success());
    let binding = binding(&prepared);
    (scene, prepared, binding)
}

/// Starts what may fail, such as a merge that ends in a conflict.
fn try_git(folder: &Path, arguments: &str) {
    let mut command = Command::new("git");
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_EDITOR", "true")]);
    command.arg("-C").arg(folder).args(arguments.split(' ')).output().unwrap();
}

#[test]
fn an_index_that_was_not_told_is_told_also_where_head_went_on() {
    for then in [
        &["status"][..],
        &["add b.txt", "commit -q -m theirs -- b.txt"],
        &["checkout -q -b other"],
        &["checkout -q --detach"],
        &["checkout -q -b other", "add b.txt", "commit -q -m theirs -- b.txt"],
        &["tag -a -m x v1", "gc -q"],
    ] {
        let (scene, _, binding) = killed();
        fs::write(scene.root.join("b.txt"), "by a person\n").unwrap();
        then.iter().for_each(|command| drop(scene.git(command)));
        assert!(scene.git("status --short").starts_with("MM a.txt\n"), "{then:?}");
        assert!(matches!(scene.bind(&binding), Bound::Done { .. }));
        let status = scene.git("status --short -- a.txt sub");
        assert_eq!(status, "", "{then:?}");
        // Again where nothing is left to be moved or bound.
        scene.git("update-index --cacheinfo 100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,sub/c.txt");
        let before = scene.git("status --porcelain=v2");
        assert!(matches!(scene.bind(&binding), Bound::Done { .. }));
        assert_eq!(scene.git("status --porcelain=v2"), before, "{then:?}");
    }
}

/// Git sets the first path of a commit apart from its parent by a line end.
#[test]
fn a_file_that_the_run_added_is_told_also_where_it_comes_first() {
    for file in ["0-new", "b-new", "z-new"] {
        let (scene, _, binding) = killed_with(file);
        assert_eq!(scene.git("status --short"), format!("D  {file}\n?? {file}\n"));
        scene.bind(&binding);
        assert_eq!(scene.git("status --short"), "");
    }
}

#[test]
fn what_a_person_has_undone_since_stays_undone() {
    for undo in [
        // The files with the index, on the branch, the branch itself.
        &["checkout FROM -- a.txt"][..],
        &["restore --source=FROM --staged --worktree a.txt"],
        &["reset -q --hard", "revert --no-commit HEAD"],
        &["reset -q --hard", "revert --no-edit HEAD"],
        &["commit -q -m back"],
        &["reset -q --soft FROM"],
        &["reset -q --hard FROM"],
        &["checkout -q -f -b other FROM"],
    ] {
        let (scene, prepared, binding) = killed();
        for command in undo {
            scene.git(&command.replace("FROM", prepared.from.as_deref().unwrap()));
        }
        let before = (scene.git("status --porcelain=v2"), scene.head());
        block_on(scene.workspace.bind(&binding)).unwrap();
        assert_eq!((scene.git("status --porcelain=v2"), scene.head()), before, "{undo:?}");
    }
}

/// It cannot be told from an index that was not told of the commit. Nothing is lost but that it was staged: what was
/// staged is what the commit before has.
#[test]
fn who_undoes_a_file_in_the_index_alone_before_the_resume_does_so_in_vain() {
    let (scene, prepared, binding) = killed();
    scene.bind(&binding);
    scene.git(&format!("reset -q {} -- a.txt", prepared.from.as_deref().unwrap()));
    assert_eq!(scene.git("status --short"), "MM a.txt\n");
    scene.bind(&binding);
    assert_eq!(scene.git("status --short"), "");
}

#[test]
fn an_index_of_any_kind_stays_of_its_kind() {
    // In parts.
    let (scene, _, binding) = killed();
    scene.git("config core.splitIndex true");
    scene.git("update-index --split-index");
    scene.bind(&binding);
    assert_eq!(scene.git("status --short"), "");
    assert_ne!(scene.git("rev-parse --shared-index-path"), "");

    // With whole folders as one entry.
    let (scene, _, binding) = killed();
    scene.git("sparse-checkout set --cone --sparse-index nowhere");
    let folders = || scene.git("ls-files --sparse").lines().any(|line| line == "sub/");
    assert!(folders());
    scene.bind(&binding);
    assert_eq!(scene.git("status --short"), "");
    assert!(folders());

    // With files that git was told not to look at.
    let (scene, _, binding) = killed();
    scene.git("update-index --skip-worktree sub/c.txt");
    fs::remove_file(scene.root.join("sub/c.txt")).unwrap();
    scene.bind(&binding);
    assert_eq!(scene.git("ls-files -t"), "H a.txt\nS sub/c.txt\n");
    assert_eq!(scene.git("status --short"), "");

    // With files that were announced, the run's own among them.
    let scene = Scene::new();
    fs::write(scene.root.join("mine.txt"), "mine\n").unwrap();
    let deciding = scene.work("new.txt");
    scene.git("add -N new.txt mine.txt");
    scene.bind(&self::binding(&scene.prepare(&deciding)));
    assert_eq!(scene.git("status --short"), " A mine.txt\n");

    // With a conflict in it, of which no state tells.
    let scene = Scene::new();
    fs::write(scene.root.join("sub/c.txt"), "stashed\n").unwrap();
    scene.git("stash -q");
    fs::write(scene.root.join("sub/c.txt"), "committed\n").unwrap();
    scene.git("commit -q -a -m theirs");
    try_git(&scene.root, "stash pop");
    let conflict = scene.git("ls-files -u");
    assert_eq!(conflict.lines().count(), 3);
    let deciding = scene.work("a.txt");
    scene.bind(&self::binding(&scene.prepare(&deciding)));
    assert_eq!(scene.git("ls-files -u"), conflict);
    assert_eq!(scene.git("status --short"), "UU sub/c.txt\n");
}

#[test]
fn what_is_staged_above_or_below_a_path_of_the_commit_stays() {
    let scene = Scene::new();
    let base = block_on(scene.workspace.base()).unwrap();
    fs::remove_dir_all(scene.root.join("sub")).unwrap();
    fs::write(scene.root.join("sub"), "a file now\n").unwrap();
    let tree = block_on(scene.workspace.changes(&base, &[])).unwrap().tree.unwrap();
    let deciding = Deciding { base, tree, ..scene.work("a.txt") };
    scene.git("update-index --add --cacheinfo 100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,sub/mine.txt");
    scene.bind(&binding(&scene.prepare(&deciding)));
    assert_eq!(scene.git("ls-tree -r --name-only HEAD"), "a.txt\nsub\n");
    assert!(scene.git("ls-files").contains("sub/mine.txt\n"));
}

#[test]
fn the_index_of_another_worktree_is_not_touched() {
    let scene = Scene::new();
    let linked = scene.home().join("linked");
    scene.git(&format!("worktree add -q --force {} main", linked.display()));
    let deciding = scene.work("a.txt");
    let before = fs::read(scene.root.join(".git/worktrees/linked/index")).unwrap();
    scene.bind(&binding(&scene.prepare(&deciding)));
    assert_eq!(scene.git("status --short"), "");
    assert_eq!(fs::read(scene.root.join(".git/worktrees/linked/index")).unwrap(), before);
}

/// Two branches that disagree about `sub/c.txt`, and something begun on the first one.
fn begun(init: &str, command: &str) -> Scene {
    let scene = Scene::made(init, Path::to_owned);
    for (branch, text) in [("theirs", "theirs\n"), ("main", "ours\n")] {
        if branch == "theirs" {
            scene.git("checkout -q -b theirs");
        } else {
            scene.git("checkout -q main");
        }
        fs::write(scene.root.join("sub/c.txt"), text).unwrap();
        scene.git(&format!("commit -q -a -m {branch}"));
    }
    scene.git("format-patch -q -1 theirs -o ../patches");
    for command in command.split("; ") {
        try_git(&scene.root, command);
    }
    scene
}

#[test]
fn nothing_is_committed_in_the_middle_of_a_merge_or_its_like() {
    for init in ["init -q -b main", "init -q -b main --ref-format=reftable"] {
        for (begins, what, ends) in [
            ("merge theirs", "a merge is", "merge --abort"),
            ("merge --no-ff --no-commit theirs -s ours", "a merge is", "merge --abort"),
            ("rebase theirs", "a rebase is", "rebase --abort"),
            ("am ../patches/0001-theirs.patch", "a rebase, or an am, is", "am --abort"),
            ("cherry-pick theirs", "a cherry-pick is", "cherry-pick --abort"),
            ("revert --no-commit HEAD", "a revert is", "revert --abort"),
        ] {
            let scene = begun(init, begins);
            let deciding = scene.work("a.txt");
            let looks = || {
                [
                    scene.git("for-each-ref"),
                    scene.head(),
                    scene.git("status --porcelain=v2"),
                    scene.git("reflog"),
                ]
            };
            let before = looks();
            let faults = [
                block_on(scene.workspace.commit(&deciding)).unwrap_err(),
                block_on(scene.workspace.write_commit(&deciding)).unwrap_err(),
            ];
            for fault in faults {
                let message = fault.to_string();
                assert!(
                    message.starts_with(what) && message.contains("then `trunkline resume`"),
                    "{message}"
                );
            }
            assert_eq!(looks(), before, "{init}, {begins}");
            // What can be committed is as it was when the run has ended.
            let text = fs::read(scene.root.join("a.txt")).unwrap();
            scene.git(ends);
            fs::write(scene.root.join("a.txt"), text).unwrap();
            let deciding = Deciding { tree: scene.work("a.txt").tree, ..deciding };
            assert!(block_on(scene.workspace.commit(&deciding)).unwrap().is_some(), "{init}, {begins}");
        }
    }
}

#[test]
fn a_prepared_commit_waits_for_the_end_of_a_merge() {
    let scene = begun("init -q -b main", "status");
    let deciding = scene.work("a.txt");
    let binding = binding(&scene.prepare(&deciding));
    try_git(&scene.root, "merge theirs");
    let before = (scene.git("for-each-ref"), scene.git("status --porcelain=v2"));
    let fault = block_on(scene.workspace.bind(&binding)).unwrap_err();
    assert!(fault.to_string().starts_with("a merge is under way"), "{fault}");
    assert_eq!((scene.git("for-each-ref"), scene.git("status --porcelain=v2")), before);
    scene.git("merge --abort");
    assert!(matches!(scene.bind(&binding), Bound::Done { .. }));
    assert_eq!(scene.git("status --short"), "");
}

#[test]
fn what_a_merge_has_put_into_the_index_stays() {
    let (scene, prepared, binding) = killed();
    scene.git("reset -q --hard");
    scene.git(&format!("checkout -q -b back {}", prepared.commit));
    scene.git("revert --no-edit HEAD");
    scene.git("checkout -q main");
    scene.git("merge -q --no-ff --no-commit back");
    // And then wrote on, so that the file says nothing either.
    fs::write(scene.root.join("a.txt"), "by a person\n").unwrap();
    let before = scene.git("status --porcelain=v2");
    scene.bind(&binding);
    assert_eq!(scene.git("status --porcelain=v2"), before);
}

/// Git allows a commit there, and nothing of a bisection is built upon it.
#[test]
fn a_commit_in_the_middle_of_a_bisection_is_one_on_a_detached_head() {
    let scene = begun("init -q -b main", "status");
    scene.git("commit -q --allow-empty -m more");
    scene.git("bisect start HEAD HEAD~2");
    let deciding = scene.work("a.txt");
    let prepared = scene.prepare(&deciding);
    assert_eq!(prepared.branch, None);
    scene.bind(&binding(&prepared));
    assert_eq!(scene.head(), prepared.commit);
    scene.git("bisect reset");
    assert_eq!(git(&scene.root, "rev-list --count main"), "3\n");
}

#[test]
fn files_of_a_commit_with_something_else_staged_are_named_as_seen_from_the_folder() {
    for (staging, advised) in [("add", "add"), ("add", "restore --staged"), ("rm -q --cached", "add")] {
        for (inside, file) in [(".", "sub/c.txt"), ("sub", "c.txt")] {
            for binds in [false, true] {
                let scene = Scene::made("init -q -b main", |root| root.join(inside));
                // The second of them the run leaves alone.
                for theirs in ["sub/c.txt", "a.txt"] {
                    fs::write(scene.root.join(theirs), "staged\n").unwrap();
                    git(&scene.root, &format!("{staging} {theirs}"));
                }
                let deciding = scene.work(file);
                let commit = match binds {
                    true => {
                        let prepared = scene.prepare(&deciding);
                        assert!(matches!(scene.bind(&binding(&prepared)), Bound::Done { .. }));
                        prepared.commit
                    }
                    false => block_on(scene.workspace.commit(&deciding)).unwrap().unwrap(),
                };
                assert_eq!(scene.head(), commit);
                let named = || block_on(scene.workspace.still_staged(&commit)).unwrap();
                assert_eq!(named(), [file], "{staging}, binds: {binds}");
                scene.git(&format!("{advised} {file}"));
                assert_eq!(named(), [""; 0], "{advised}, binds: {binds}");
                assert_eq!(git(&scene.root, "diff --cached --name-only"), "a.txt\n");
                assert_eq!(fs::read_to_string(scene.folder.join(file)).unwrap(), "by the run\n");
            }
        }
    }
}

#[test]
fn nothing_is_named_once_somebody_has_committed_since() {
    let scene = Scene::new();
    fs::write(scene.root.join("a.txt"), "staged\n").unwrap();
    scene.git("add a.txt");
    let commit = block_on(scene.workspace.commit(&scene.work("a.txt"))).unwrap().unwrap();
    let named = || block_on(scene.workspace.still_staged(&commit)).unwrap();
    assert_eq!(named(), ["a.txt"]);
    scene.git("commit -q --allow-empty -m theirs -- sub");
    assert_eq!(named(), [""; 0]);
    assert!(block_on(scene.workspace.still_staged("--output=x")).is_err(), "no name of a commit");
}
