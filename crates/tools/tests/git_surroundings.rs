//! What stands around a repository: the variables of whoever calls, names that git is told, branches that are renamed.

use std::fs;
use std::path::Path;
use std::process::Command;

use trunkline_agent_traits::{BindingState, Bound, Commits, GitBinding, Prepared, Workspace};
use trunkline_tools::GitWorkspace;

use crate::git_binding::{DECISION, Scene, binding};
use crate::scene::block_on;

const FOLDER: &str = "TRUNKLINE_TEST_SURROUNDED";

/// Not a test of its own: what is started with other variables. Adds files, one of them with rules, and finds them again.
#[test]
fn child_that_is_surrounded() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let git = GitWorkspace::open(&folder).unwrap().unwrap();
    let base = block_on(git.base()).unwrap();
    for (file, text) in [("new.txt", "by the run\n"), (".gitignore", "*.log\n"), ("x.log", "ignored\n")] {
        fs::write(Path::new(&folder).join(file), text).unwrap();
    }
    let own = block_on(git.own_changes(&base, &[], &[])).unwrap();
    let files = block_on(git.changes(&base, &[])).unwrap().files;
    let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        (files, own.others),
        (vec![".gitignore", "new.txt"], vec![".gitignore".to_owned(), "new.txt".to_owned()])
    );
}

#[test]
fn variables_that_make_git_say_more_or_read_paths_otherwise_do_no_harm() {
    for (variable, value) in [
        ("GIT_TRACE", "1"),
        ("GIT_TRACE", "2"),
        ("GIT_TRACE2", "1"),
        ("GIT_NOGLOB_PATHSPECS", "1"),
        ("GIT_GLOB_PATHSPECS", "1"),
        ("GIT_ICASE_PATHSPECS", "1"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_DIR", "/nowhere"),
        ("GIT_EXTERNAL_DIFF", "false"),
    ] {
        for unborn in [false, true] {
            let scene = Scene::new();
            if unborn {
                scene.git("checkout -q --orphan fresh");
            }
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "git_surroundings::child_that_is_surrounded"]);
            let output = child.env(FOLDER, &scene.root).env(variable, value).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{variable}={value}: {said}");
        }
    }
}

/// What a person has set for their own commits and their own index.
#[test]
fn settings_change_neither_what_is_written_nor_what_is_found() {
    let scene = Scene::new();
    for (setting, value) in
        [("trailer.separators", "=#"), ("i18n.commitEncoding", "ISO-8859-1"), ("core.splitIndex", "true")]
    {
        scene.git(&format!("config {setting} {value}"));
    }
    scene.git("update-index --split-index");
    let parts = || {
        let names = fs::read_dir(scene.root.join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("sharedindex.")).count()
    };
    let before = parts();
    let mut deciding = scene.work("a.txt");
    deciding.message = "größer".to_owned();
    let commit = block_on(scene.workspace.commit(&deciding)).unwrap().unwrap();
    assert_eq!(block_on(scene.workspace.find_commit(&deciding)).unwrap(), Some(commit));
    assert_eq!(scene.git("log -1 --format=%s --encoding=UTF-8").trim(), "größer");
    for text in ["one\n", "two\n"] {
        fs::write(scene.root.join("a.txt"), text).unwrap();
        block_on(scene.workspace.look()).unwrap().unwrap();
    }
    assert!(parts() <= before.max(1) + 1, "looks leave nothing: {before} and {}", parts());
}

/// Its disk is not there, say: what a run has announced to git is not to be decided without it.
#[test]
fn a_worktree_whose_repository_is_gone_is_not_a_plain_folder() {
    let scene = Scene::new();
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    scene.git(&format!("worktree add -q --detach {}", tree.display()));
    assert!(GitWorkspace::open(&tree).unwrap().is_some());
    fs::rename(scene.root.join(".git"), scene.root.join("elsewhere")).unwrap();
    let fault = GitWorkspace::open(&tree).unwrap_err();
    assert!(fault.message.contains("not a git repository: "), "{fault}");
    assert!(GitWorkspace::open(&scene.root).unwrap().is_none(), "nothing says that there is one");
}

#[test]
fn what_cannot_be_bound_is_told_beforehand() {
    let scene = Scene::new();
    scene.workspace.check_binding().unwrap();
    scene.git("symbolic-ref HEAD refs/heads/x\"y");
    scene.workspace.check_binding().unwrap();
    let head = scene.root.join(".git/HEAD");
    fs::write(&head, b"ref: refs/heads/caf\xe9\n").unwrap();
    let fault = scene.workspace.check_binding().unwrap_err().message;
    assert!(fault.contains("not the full name of a branch"), "{fault}");
    scene.git("symbolic-ref HEAD refs/heads/main");
    let config = scene.root.join(".git/config");
    let text = [&fs::read(&config).unwrap()[..], b"[user]\n\tname = Ren\xe9\n"].concat();
    fs::write(&config, text).unwrap();
    let fault = scene.workspace.check_binding().unwrap_err().message;
    assert!(fault.contains("`user.name`"), "{fault}");
}

/// A run whose process was killed between the branch and the decision.
fn killed() -> (Scene, Prepared) {
    let scene = Scene::new();
    let deciding = scene.work("a.txt");
    let prepared = scene.prepare(&deciding);
    let mut moved = Command::new("git");
    moved.arg("-C").arg(&scene.root).args(["update-ref", "-m", &format!("trunkline: decision {DECISION}")]);
    assert!(moved.args(["HEAD", &prepared.commit]).status().unwrap().success());
    (scene, prepared)
}

#[test]
fn half_of_a_binding_is_brought_to_its_end_also_where_the_branch_has_another_name() {
    for then in [
        &["branch -m main trunk"][..],
        &["branch -m main trunk", "commit -q --allow-empty -m theirs --only"],
        &["branch -m main trunk", "pack-refs --all", "gc -q"],
        &["checkout -q --detach", "branch -q -D main"],
        &["checkout -q -b other", "branch -q -D main"],
    ] {
        let (scene, prepared) = killed();
        let binding = binding(&prepared);
        then.iter().for_each(|command| drop(scene.git(command)));
        let head = scene.head();
        assert_eq!(scene.state(&binding), BindingState::BranchOnly, "{then:?}");
        assert!(matches!(scene.bind(&binding), Bound::Done { .. }), "{then:?}");
        assert!(scene.is_bound());
        assert_eq!((scene.head(), scene.git("status --porcelain")), (head, String::new()), "{then:?}");
        assert!(matches!(scene.bind(&binding), Bound::Done { .. }), "again");
    }
}

#[test]
fn where_the_branch_is_gone_and_nothing_holds_the_commit_nothing_is_bound() {
    for then in [
        &["branch -m main trunk", "reset -q --hard HEAD~1"][..],
        &["checkout -q --detach HEAD~1", "branch -q -D main"],
    ] {
        let (scene, prepared) = killed();
        scene.git("reset -q --hard");
        then.iter().for_each(|command| drop(scene.git(command)));
        let bound = scene.bind(&binding(&prepared));
        assert!(matches!(bound, Bound::Overtaken { .. } | Bound::TakenBack { .. }), "{bound:?}");
        assert!(!scene.is_bound());
    }
}

#[test]
fn what_git_has_thrown_away_of_an_open_run_is_told_with_what_can_be_done() {
    let scene = Scene::new();
    fs::write(scene.root.join("c.txt"), "staged\n").unwrap();
    scene.git("add c.txt");
    let deciding = scene.work("a.txt");
    scene.git("gc -q --prune=now");
    let faults = [
        block_on(scene.workspace.own_changes(&deciding.base, &[], &[])).map(drop).unwrap_err(),
        block_on(scene.workspace.changes(&deciding.base, &[])).map(drop).unwrap_err(),
        block_on(scene.workspace.write_commit(&deciding)).map(drop).unwrap_err(),
    ];
    for fault in faults {
        assert!(fault.message.contains("`trunkline decide abandon"), "{fault}");
    }
}
