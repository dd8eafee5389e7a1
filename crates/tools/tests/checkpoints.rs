//! The files of a checkpoint, as git keeps them, and what else of a repository stays as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use tempfile::TempDir;
use trunkline_agent_traits::{Checkpoint, Checkpoints, KeptFiles, Workspace, WorkspaceFault};
use trunkline_tools::{FolderWorkspace, GitWorkspace, workspace_for};

use crate::scene::{block_on, names};

const RUN: &str = "0192f0c1-2345-7000-8000-0000000000ab";
const REFERENCE: &str = "refs/trunkline/checkpoints/ab/0192f0c1-2345-7000-8000-0000000000ab";

/// A repository of which git is told nobody's name.
struct Repository {
    home: TempDir,
}

impl Repository {
    /// With options of `git init`, and no commit.
    fn empty(options: &str) -> Self {
        let repository = Repository { home: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.root()).unwrap();
        repository.git(&format!("init -q -b main{options}"));
        repository
    }

    fn new() -> Self {
        let repository = Repository::empty("");
        for (path, text) in
            [("a.txt", "a\n"), ("b.txt", "b\n"), ("sub/c.txt", "c\n"), (".gitignore", "*.log\n")]
        {
            repository.write(path, text);
        }
        repository.save("first");
        repository
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join("work")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn save(&self, message: &str) {
        self.git("add .");
        self.git(&format!("-c user.name=Anna -c user.email=a@b commit -qm {message}"));
    }

    fn git(&self, arguments: &str) -> String {
        git(&self.root(), arguments)
    }

    /// Everything that a person sees of it.
    fn seen(&self) -> (String, String, Vec<u8>) {
        let status = self.git("status --porcelain=v2 --branch --ignored");
        let refs = self.git("for-each-ref --exclude=refs/trunkline");
        let index = fs::read(self.root().join(".git/index")).unwrap_or_default();
        (status, format!("{refs}{}", self.reflogs()), index)
    }

    fn reflogs(&self) -> String {
        let output = command(&self.root(), "reflog show HEAD").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn kept(&self) -> KeptFiles {
        keep(&GitWorkspace::open(self.root()).unwrap().unwrap(), "the parser works").unwrap()
    }
}

fn command(root: &Path, arguments: &str) -> Command {
    let mut command = Command::new("git");
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    command.arg("-C").arg(root).args(arguments.split(' '));
    command
}

fn git(root: &Path, arguments: &str) -> String {
    let output = command(root, arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn keep(workspace: &dyn Workspace, words: &str) -> Result<KeptFiles, WorkspaceFault> {
    let checkpoint = Checkpoint {
        run: RUN.to_owned(),
        node: "n7".to_owned(),
        words: words.to_owned(),
        at: 1_780_000_000_123,
    };
    block_on(workspace.as_checkpoints().unwrap().keep_files(&checkpoint))
}

#[test]
fn all_files_are_kept_and_nothing_else_is_touched() {
    let repository = Repository::new();
    repository.write("a.txt", "other\n");
    repository.write("new.txt", "new\n");
    repository.write("tool", "#!/bin/sh\n");
    fs::set_permissions(repository.root().join("tool"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::remove_file(repository.root().join("b.txt")).unwrap();
    repository.write("debug.log", "ignored\n");
    repository.write("staged.txt", "staged\n");
    repository.git("add staged.txt");
    let seen = repository.seen();
    let kept = repository.kept();
    assert_eq!(repository.seen(), seen);
    assert_eq!(kept.reference, REFERENCE);
    assert_eq!(repository.git(&format!("rev-parse {REFERENCE}")), kept.commit);
    assert_eq!(repository.git(&format!("rev-parse {REFERENCE}^{{tree}}")), kept.tree);
    assert_eq!(repository.git(&format!("rev-parse {REFERENCE}^")), repository.git("rev-parse HEAD"));
    expect![[r#"
        .gitignore
        a.txt
        new.txt
        staged.txt
        sub/c.txt
        tool"#]]
    .assert_eq(&repository.git(&format!("ls-tree -r --name-only {REFERENCE}")));
    assert!(repository.git(&format!("ls-tree {REFERENCE} tool")).starts_with("100755"));
    // Git's own clean-up leaves it.
    repository.git("gc -q --prune=now");
    assert_eq!(repository.git(&format!("show {REFERENCE}:new.txt")), "new");
}

#[test]
fn its_commit_says_what_was_said_and_is_by_nobody_in_particular() {
    let repository = Repository::new();
    let workspace = GitWorkspace::open(repository.root()).unwrap().unwrap();
    let said = format!("the \u{1b}[31mparser\0 works\r\nand {}\n\nthe printer is left", "on ".repeat(60));
    for (words, expected) in [
        (
            "the parser works".to_owned(),
            expect![[r#"
            Trunkline <trunkline@localhost> 1780000000 Trunkline <trunkline@localhost>
            Checkpoint: the parser works

            At node n7 of the session.

            Trunkline-Run: 0192f0c1-2345-7000-8000-0000000000ab"#]],
        ),
        (
            said,
            expect![[r#"
            Trunkline <trunkline@localhost> 1780000000 Trunkline <trunkline@localhost>
            Checkpoint: the  [31mparser  works

            the  [31mparser  works 
            and on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on 

            the printer is left

            At node n7 of the session.

            Trunkline-Run: 0192f0c1-2345-7000-8000-0000000000ab"#]],
        ),
    ] {
        keep(&workspace, &words).unwrap();
        expected.assert_eq(
            &repository.git(&format!("log -1 --format=%an%x20<%ae>%x20%at%x20%cn%x20<%ce>%n%B {REFERENCE}")),
        );
    }
    repository.git("fsck --strict --no-dangling");
}

#[test]
fn every_kind_of_repository() {
    // Before the first commit.
    let unborn = Repository::empty("");
    unborn.write("a.txt", "a\n");
    let seen = unborn.seen();
    let kept = unborn.kept();
    assert_eq!(unborn.seen(), seen);
    assert_eq!(unborn.git(&format!("rev-list --parents {REFERENCE}")), kept.commit);
    // With longer names.
    let sha256 = Repository::empty(" --object-format=sha256");
    sha256.write("a.txt", "a\n");
    sha256.save("first");
    assert_eq!(sha256.kept().commit.len(), 64);
    // Without a branch.
    let detached = Repository::new();
    detached.git("checkout -q --detach");
    detached.write("new.txt", "new\n");
    let seen = detached.seen();
    assert_eq!(detached.git(&format!("show {}:new.txt", detached.kept().commit)), "new");
    assert_eq!(detached.seen(), seen);
    // In a linked worktree: what stands there, on what is checked out there.
    let linked = Repository::new();
    linked.git("worktree add -q -b side ../side");
    let side = linked.root().join("../side");
    fs::write(side.join("two.txt"), "2\n").unwrap();
    let kept = keep(&GitWorkspace::open(&side).unwrap().unwrap(), "x").unwrap();
    assert_eq!(linked.git(&format!("show {REFERENCE}:two.txt")), "2");
    assert_eq!(git(&side, "status --porcelain"), "?? two.txt");
    assert_eq!(linked.git(&format!("rev-parse {REFERENCE}")), kept.commit);
    // Of a folder inside: what is outside of it is as it is staged.
    let inside = Repository::new();
    inside.write("a.txt", "other\n");
    inside.write("sub/new.txt", "new\n");
    keep(&GitWorkspace::open(inside.root().join("sub")).unwrap().unwrap(), "x").unwrap();
    assert_eq!(inside.git(&format!("diff --name-only HEAD {REFERENCE}")), "sub/new.txt");
    // Of a submodule: the commit that is checked out, and none of its files.
    let outer = Repository::new();
    let inner = Repository::new();
    let path = inner.root();
    outer.git(&format!("-c protocol.file.allow=always submodule --quiet add {} inner", path.display()));
    outer.write("inner/a.txt", "other\n");
    outer.kept();
    assert!(outer.git(&format!("ls-tree {REFERENCE} inner")).starts_with("160000 commit"));
}

#[test]
fn hooks_signatures_and_what_a_person_has_set_stand_in_no_ones_way() {
    let repository = Repository::new();
    for (key, value) in [
        ("user.useConfigOnly", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("core.logAllRefUpdates", "always"),
        ("core.splitIndex", "true"),
    ] {
        repository.git(&format!("config {key} {value}"));
    }
    let hooks = repository.root().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "pre-commit", "post-commit", "post-index-change"] {
        fs::write(hooks.join(hook), "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/ran\"\nexit 1\n")
            .unwrap();
        fs::set_permissions(hooks.join(hook), PermissionsExt::from_mode(0o755)).unwrap();
    }
    repository.write("new.txt", "new\n");
    let before = names(&repository.root().join(".git"));
    let kept = repository.kept();
    assert_eq!(repository.git(&format!("show {}:new.txt", kept.commit)), "new");
    assert_eq!(names(&repository.root().join(".git")), before);
}

#[test]
fn where_files_are_not_kept_it_is_said_why() {
    let told = |kept: Result<KeptFiles, WorkspaceFault>| kept.unwrap_err().message;
    let plain = tempfile::tempdir().unwrap();
    expect!["the folder is in no worktree of git, and nothing else keeps its files"]
        .assert_eq(&told(keep(&FolderWorkspace::new(plain.path()), "x")));
    // A bare repository has no files.
    git(plain.path(), "init -q --bare bare.git");
    expect!["the folder is in no worktree of git, and nothing else keeps its files"]
        .assert_eq(&told(keep(workspace_for(plain.path().join("bare.git")).as_ref(), "x")));
    // Something is in the place where refs go.
    let taken = Repository::new();
    fs::write(taken.root().join(".git/refs/trunkline"), "").unwrap();
    let seen = taken.seen();
    let why = told(keep(&GitWorkspace::open(taken.root()).unwrap().unwrap(), "x"));
    assert!(why.contains("refs/trunkline"), "{why}");
    assert_eq!(taken.seen(), seen);
    // What a log may have for a run is never a name of anything else.
    let repository = Repository::new();
    let workspace = GitWorkspace::open(repository.root()).unwrap().unwrap();
    let checkpoint = Checkpoint {
        run: "../../heads/main".to_owned(),
        node: "n1".to_owned(),
        words: "x".to_owned(),
        at: 0,
    };
    expect!["the run of the checkpoint cannot be read"]
        .assert_eq(&told(block_on(workspace.keep_files(&checkpoint))));
    assert_eq!(repository.git("for-each-ref refs/trunkline"), "");
}

#[test]
fn a_second_try_writes_the_same_ref_with_what_is_there_then() {
    let repository = Repository::new();
    repository.write("new.txt", "1\n");
    let first = repository.kept();
    assert_eq!(repository.kept(), first, "the same again is the same");
    repository.write("new.txt", "2\n");
    let second = repository.kept();
    assert_ne!(second.commit, first.commit);
    assert_eq!(repository.git("for-each-ref --format=%(refname) refs/trunkline"), REFERENCE);
    assert_eq!(repository.git(&format!("show {REFERENCE}:new.txt")), "2");
}
