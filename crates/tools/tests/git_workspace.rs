//! Folders in git repositories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use tempfile::TempDir;
use trunkline_agent_traits::{Base, Changes, Commits, Deciding, Touched, Workspace};
use trunkline_tools::GitWorkspace;

use crate::scene::block_on;

/// A repository with one commit of `a.txt`, `b.txt` and `sub/c.txt`.
struct Repository {
    home: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Repository::empty();
        repository.write("a.txt", "a\n");
        repository.write("b.txt", "b\n");
        repository.write("sub/c.txt", "c\n");
        repository.write(".gitignore", "*.log\n");
        repository.git("add .");
        repository.git("commit -qm first");
        repository
    }

    fn empty() -> Self {
        let repository = Repository { home: tempfile::tempdir().unwrap() };
        repository.git("init -q -b main");
        repository.git("config user.name Anna");
        repository.git("config user.email anna@example.org");
        repository
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap()
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    fn git(&self, arguments: &str) -> String {
        git(&self.root(), arguments)
    }

    fn open(&self) -> GitWorkspace {
        GitWorkspace::open(self.root()).unwrap().unwrap()
    }
}

fn git(root: &Path, arguments: &str) -> String {
    let output = Command::new("git")
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .arg("-C")
        .arg(root)
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn deciding(base: &Base, changes: &Changes) -> Deciding {
    Deciding {
        run: "0192-run".to_owned(),
        patch_set: "p1".to_owned(),
        base: base.clone(),
        tree: changes.tree.clone().unwrap(),
        message: "Do the work\n\nBecause it was asked for.".to_owned(),
        at: 1_700_000_000_123,
        decision: None,
        made: None,
    }
}

fn files(changes: &Changes) -> String {
    let count = |lines: Option<u32>| lines.map_or("-".to_owned(), |lines| lines.to_string());
    let line = |file: &trunkline_agent_traits::ChangedFile| {
        format!("{:?} {} +{} -{}\n", file.change, file.path, count(file.added), count(file.deleted))
    };
    changes.files.iter().map(line).collect()
}

/// Makes the user's own changes, begins a run, makes the run's changes, and commits them.
fn check(before: impl FnOnce(&Repository), during: impl FnOnce(&Repository), said: Expect) {
    let repository = Repository::new();
    before(&repository);
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    during(&repository);
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let committed = block_on(workspace.commit(&deciding(&base, &changes)));
    let told = match &committed {
        Ok(None) => "nothing to commit\n".to_owned(),
        Ok(Some(commit)) => {
            assert_eq!(repository.git("rev-parse HEAD").trim(), commit);
            let again = commit_of(&workspace, &deciding(&base, &changes));
            assert_eq!(again, *commit, "the second call finds the commit of the first");
            repository.git("show --stat=60 --format=%an:%B HEAD")
        }
        Err(fault) => format!("{fault}\n"),
    };
    let status = repository.git("status --short");
    said.assert_eq(&format!("{}-- commit\n{told}-- status\n{status}", files(&changes)));
}

#[test]
fn what_the_run_changed_is_committed_and_the_worktree_is_clean() {
    check(
        |_| {},
        |repository| {
            repository.write("a.txt", "a\nmore\n");
            repository.write("new/d e.txt", "d\n");
            repository.remove("b.txt");
        },
        expect![[r#"
            Modified a.txt +1 -0
            Deleted b.txt +0 -1
            Added new/d e.txt +1 -0
            -- commit
            Anna:Do the work

            Because it was asked for.

            Trunkline-Run: 0192-run
            Trunkline-Patch-Set: p1


             a.txt       | 1 +
             b.txt       | 1 -
             new/d e.txt | 1 +
             3 files changed, 2 insertions(+), 1 deletion(-)
            -- status
        "#]],
    );
}

#[test]
fn what_the_user_had_changed_before_is_not_committed() {
    check(
        |repository| {
            repository.write("b.txt", "b, but better\n");
            repository.write("untracked.txt", "mine\n");
            repository.write("sub/c.txt", "staged\n");
            repository.git("add sub/c.txt");
        },
        |repository| repository.write("a.txt", "run\n"),
        expect![[r#"
            Modified a.txt +1 -1
            -- commit
            Anna:Do the work

            Because it was asked for.

            Trunkline-Run: 0192-run
            Trunkline-Patch-Set: p1


             a.txt | 2 +-
             1 file changed, 1 insertion(+), 1 deletion(-)
            -- status
             M b.txt
            M  sub/c.txt
            ?? untracked.txt
        "#]],
    );
}

#[test]
fn ignored_files_are_not_seen() {
    check(
        |_| {},
        |repository| repository.write("x.log", "x"),
        expect![[r#"
            -- commit
            nothing to commit
            -- status
        "#]],
    );
}

#[test]
fn what_a_crash_left_of_a_write_is_not_seen() {
    let repository = Repository::new();
    for root in [repository.root(), repository.root().join("sub")] {
        let workspace = GitWorkspace::open(&root).unwrap().unwrap();
        let base = block_on(workspace.base()).unwrap();
        fs::write(root.join(".trunkline-0123456789abcdef.tmp"), "half").unwrap();
        assert_eq!(block_on(workspace.changes(&base, &[])).unwrap().tree, base.tree);
    }
}

#[test]
fn binary_files_and_strange_names_go_through() {
    check(
        |_| {},
        |repository| {
            repository.write("bytes", b"\0\xff");
            repository.write("tab\tquote\"\u{e9}\n.txt", "x\n");
            repository.write(":(top)*", "x\n");
        },
        expect![[r#"
            Added :(top)* +1 -0
            Added bytes +- --
            Added tab	quote"é
            .txt +1 -0
            -- commit
            Anna:Do the work

            Because it was asked for.

            Trunkline-Run: 0192-run
            Trunkline-Patch-Set: p1


             :(top)*                      |   1 +
             bytes                        | Bin 0 -> 2 bytes
             "tab\tquote\"\303\251\n.txt" |   1 +
             3 files changed, 2 insertions(+)
            -- status
        "#]],
    );
}

#[test]
fn the_diff_is_a_unified_one() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    expect![[r#"
        diff --git a/a.txt b/a.txt
        index 7898192..f5bdd21 100644
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -a
        +run
    "#]]
    .assert_eq(&changes.diff);
    repository.write("a.txt", "x\n".repeat(1_000_000));
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    assert!(changes.diff.ends_with("+x\n[the diff goes on; it was cut at 1000000 bytes]\n"));
    assert!(changes.diff.len() < 1_000_100);
}

#[test]
fn looking_changes_neither_index_nor_files() {
    let repository = Repository::new();
    repository.write("b.txt", "staged\n");
    repository.git("add b.txt");
    repository.write("b.txt", "and then changed\n");
    repository.write("new", "x");
    let before = (repository.git("status --porcelain=v2"), repository.git("log --format=%H"));
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    assert_eq!(changes.files, []);
    assert_eq!(changes.tree, base.tree);
    assert_eq!(before, (repository.git("status --porcelain=v2"), repository.git("log --format=%H")));
}

#[test]
fn a_change_right_after_an_add_is_seen_although_size_and_second_are_the_same() {
    let repository = Repository::new();
    let workspace = repository.open();
    for round in 0..5 {
        repository.write("a.txt", format!("{round}\n"));
        repository.git("add a.txt");
        let base = block_on(workspace.base()).unwrap();
        repository.write("a.txt", format!("{}\n", round + 1));
        assert_eq!(block_on(workspace.changes(&base, &[])).unwrap().files.len(), 1);
    }
}

#[test]
fn a_folder_inside_a_repository_sees_and_commits_only_itself() {
    let repository = Repository::new();
    let workspace = GitWorkspace::open(repository.root().join("sub")).unwrap().unwrap();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "outside\n");
    repository.write("sub/c.txt", "inside\n");
    repository.write("sub/deep/d.txt", "new\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    assert_eq!(files(&changes), "Modified c.txt +1 -1\nAdded deep/d.txt +1 -0\n");
    commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(repository.git("show --name-only --format= HEAD"), "sub/c.txt\nsub/deep/d.txt\n");
    assert_eq!(repository.git("status --short"), " M a.txt\n");
}

#[test]
fn the_first_commit_of_a_repository_has_no_parent() {
    let repository = Repository::empty();
    repository.write("mine.txt", "mine\n");
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    assert_eq!(base.commit, None);
    repository.write("a.txt", "a\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let deciding = deciding(&base, &changes);
    let commit = commit_of(&workspace, &deciding);
    assert_eq!(repository.git("log --format=%H%P main").trim(), commit);
    assert_eq!(repository.git("ls-tree -r --name-only HEAD"), "a.txt\n");
    assert_eq!(repository.git("status --short"), "?? mine.txt\n");
    assert_eq!(commit_of(&workspace, &deciding), commit);
}

#[test]
fn a_commit_that_somebody_made_meanwhile_is_built_upon() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    repository.write("b.txt", "theirs\n");
    repository.git("commit -qm theirs b.txt");
    let commit = commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(repository.git("log --format=%s"), "Do the work\ntheirs\nfirst\n");
    assert_eq!(repository.git("show --name-only --format= HEAD"), "a.txt\n");
    repository.write("b.txt", "later\n");
    repository.git("commit -qm later b.txt");
    let again = commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(again, commit, "found behind a later commit");
    assert_eq!(repository.git("status --short"), "");
}

#[test]
fn a_crash_between_commit_and_index_is_mended_by_the_next_call() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let deciding = deciding(&base, &changes);
    let commit = commit_of(&workspace, &deciding);
    repository.git(&format!("reset -q {} -- a.txt", base.commit.as_deref().unwrap()));
    assert_eq!(repository.git("status --short"), "MM a.txt\n");
    assert_eq!(commit_of(&workspace, &deciding), commit);
    assert_eq!(repository.git("status --short"), "");
}

#[test]
fn another_runs_commit_is_not_taken_for_ours() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let mut deciding = deciding(&base, &changes);
    deciding.message = "quotes another\n\nTrunkline-Patch-Set: other".to_owned();
    let commit = commit_of(&workspace, &deciding);
    deciding.patch_set = "other".to_owned();
    repository.write("a.txt", "other\n");
    deciding.tree = block_on(workspace.changes(&base, &[])).unwrap().tree.unwrap();
    assert_ne!(commit_of(&workspace, &deciding), commit);
}

/// Commits and returns what was made or found.
fn commit_of(workspace: &GitWorkspace, deciding: &Deciding) -> String {
    block_on(workspace.commit(deciding)).unwrap().expect("there is something to commit")
}

#[test]
fn an_untracked_file_that_came_and_went_is_nothing_to_commit() {
    let repository = Repository::new();
    repository.write("scratch.txt", "mine\n");
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    fs::remove_file(repository.root().join("scratch.txt")).unwrap();
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    assert_eq!(changes.files.len(), 1, "it is a change of the files all the same");
    let deciding = deciding(&base, &changes);
    assert_eq!(block_on(workspace.commit(&deciding)), Ok(None));
    assert_eq!(block_on(workspace.find_commit(&deciding)), Ok(None));
}

#[test]
fn what_the_run_has_committed_itself_is_its_commit() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    repository.git("commit -q -a -m by-a-command");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let commit = commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(repository.git("rev-parse HEAD").trim(), commit);
    assert_eq!(repository.git("rev-list --count HEAD").trim(), "2");
}

#[test]
fn a_detached_head_and_a_linked_worktree_work() {
    let repository = Repository::new();
    let linked = tempfile::tempdir().unwrap();
    let linked = fs::canonicalize(linked.path()).unwrap().join("linked");
    repository.git(&format!("worktree add -q --detach {}", linked.display()));
    let workspace = GitWorkspace::open(&linked).unwrap().unwrap();
    let base = block_on(workspace.base()).unwrap();
    fs::write(linked.join("a.txt"), "run\n").unwrap();
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let commit = commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(git(&linked, "rev-parse HEAD").trim(), commit);
    assert_eq!(git(&linked, "status --short"), "");
    assert_eq!(repository.git("log --format=%s main"), "first\n", "no branch was moved");
}

#[test]
fn who_told_git_no_name_commits_under_ours() {
    let repository = Repository::new();
    // An empty name hides one that this machine may have.
    for key in ["name", "email"] {
        let root = repository.root();
        let set =
            Command::new("git").arg("-C").arg(root).args(["config", &format!("user.{key}"), ""]).status();
        assert!(set.unwrap().success());
    }
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    commit_of(&workspace, &deciding(&base, &changes));
    assert_eq!(repository.git("log -1 --format=%an=%ae=%cn"), "Trunkline=trunkline@localhost=Trunkline\n");
}

#[test]
fn hooks_and_programs_that_the_repository_names_are_not_started() {
    let repository = Repository::new();
    let trap = "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/sprung\"\n";
    for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
        repository.write(&format!(".git/hooks/{hook}"), trap);
        let path = repository.root().join(format!(".git/hooks/{hook}"));
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let program = repository.root().join(".git/hooks/pre-commit").display().to_string();
    for key in ["core.fsmonitor", "diff.external", "diff.trap.textconv", "gpg.program"] {
        repository.git(&format!("config {key} {program}"));
    }
    repository.git("config commit.gpgSign true");
    repository.write(".git/info/attributes", "*.txt diff=trap\n");
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    commit_of(&workspace, &deciding(&base, &changes));
    assert!(!repository.root().join("sprung").exists());
}

#[test]
fn masses_of_untracked_files_are_refused_instead_of_copied() {
    let repository = Repository::new();
    fs::File::create(repository.root().join("disk.img")).unwrap().set_len(1 << 33).unwrap();
    let fault = block_on(repository.open().base()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        format!(
            "8589 MB of files in {} are neither committed nor ignored; name them in .gitignore",
            repository.root().display()
        )
    );
}

#[test]
fn a_run_that_cannot_be_a_trailer_is_refused() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let mut deciding = deciding(&base, &block_on(workspace.changes(&base, &[])).unwrap());
    deciding.run = "a\nb".to_owned();
    let fault = block_on(workspace.commit(&deciding)).unwrap_err();
    assert_eq!(fault.to_string(), "\"a\\nb\" cannot name anything in a commit");
}

#[test]
fn the_inside_of_a_repository_is_no_workspace() {
    let repository = Repository::new();
    assert!(GitWorkspace::open(repository.root().join(".git")).unwrap().is_none());
    assert!(GitWorkspace::open(repository.root().join("nowhere")).is_err());
}

#[test]
fn a_file_that_git_ignores_is_a_change_if_it_was_applied() {
    let repository = Repository::new();
    repository.write(".gitignore", "secret.txt\n");
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("secret.txt", "new\n");
    let touched = [Touched { path: "secret.txt".to_owned(), before: None }];
    let changes = block_on(workspace.changes(&base, &touched)).unwrap();
    assert_eq!(changes.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["secret.txt"]);
    assert_eq!(
        block_on(workspace.commit(&deciding(&base, &changes))),
        Ok(None),
        "and is still not committed"
    );
}

#[test]
fn nothing_is_committed_while_another_git_holds_the_index() {
    let repository = Repository::new();
    let workspace = repository.open();
    let base = block_on(workspace.base()).unwrap();
    repository.write("a.txt", "run\n");
    let deciding = deciding(&base, &block_on(workspace.changes(&base, &[])).unwrap());
    let lock = repository.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let fault = block_on(workspace.commit(&deciding)).unwrap_err();
    assert!(fault.to_string().starts_with("another git process holds the index"), "{fault}");
    assert_eq!(repository.git("rev-list --count HEAD").trim(), "1");
    fs::remove_file(&lock).unwrap();
    commit_of(&workspace, &deciding);
    assert_eq!(repository.git("status --short"), "");
}
