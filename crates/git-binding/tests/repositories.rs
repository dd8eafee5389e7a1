//! Every kind of repository.

use std::process::Command;

use trunkline_git_binding::{
    BindError, Bound, Branch, BranchMove, Git, GitCommand, GitFault, Head, ObjectFormat, RefFormat,
    Repository, State,
};

use crate::given::{Scratch, committed, committed_on_head, git_in, given_up, plain_git, reference, run_id};

/// Binds a commit on `HEAD`, reads it, and sees that plain git finds nothing wrong.
fn works(scratch: &Scratch, repository: &Repository, run: u128) {
    let base = match repository.head().expect("a head") {
        Head::Branch { at: Some(at), .. } | Head::Detached { at } => at,
        head => panic!("{head:?}"),
    };
    let commit = scratch.candidate(base, run);
    let binding = committed_on_head(run, base, commit);
    assert!(matches!(repository.bind(&binding), Ok(Bound::Now { .. })));
    assert_eq!(repository.state(&binding).expect("a state"), State::Both);
    let read = repository.bound(run_id(run)).expect("it is read").expect("it is there");
    assert_eq!((read.decision, read.evidence), (binding.decision.clone(), binding.evidence.clone()));
    let found = repository.find(&commit.to_string()).expect("a search");
    assert_eq!(found.first().expect("it is found").run, run_id(run));
    assert!(matches!(repository.bind(&binding), Ok(Bound::Already { state: State::Both, .. })));
    scratch.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_folder_outside_git_has_no_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Repository::open(folder.path()).expect("an answer").is_none());
    assert!(Repository::open(&folder.path().join("not-there")).is_err());
}

#[test]
fn both_hashes_and_both_ways_to_keep_refs() {
    for (hash, object_format) in [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)] {
        for (refs, ref_format) in [("files", RefFormat::Files), ("reftable", RefFormat::Reftable)] {
            let options = [format!("--object-format={hash}"), format!("--ref-format={refs}")];
            let scratch = Scratch::begun_with(&[&options[0], &options[1]]);
            let repository = scratch.open();
            let facts = repository.facts();
            assert_eq!((facts.object_format, facts.ref_format), (object_format, ref_format));
            assert!(!facts.bare && !facts.linked_worktree && !facts.shallow && !facts.partial);
            works(&scratch, &repository, 1);
        }
    }
}

#[test]
fn a_bare_repository() {
    let scratch = Scratch::begun();
    let bare = scratch.folder.path().join("bare.git");
    git_in(scratch.folder.path(), &["clone", "-q", "--bare", "repository", "bare.git"]);
    let Scratch { folder, .. } = scratch;
    let scratch = Scratch::at(folder, bare);
    let repository = scratch.open();
    assert!(repository.facts().bare);
    works(&scratch, &repository, 1);
}

#[test]
fn a_linked_worktree_shares_the_decisions_and_has_its_own_head() {
    let main = Scratch::begun();
    let root = main.folder.path().join("linked tree");
    main.git(&["worktree", "add", "-q", "-b", "side", root.to_str().expect("UTF-8")]);
    let before = main.oid("main");
    let linked = Repository::open(&root).expect("git works").expect("a repository");
    assert!(linked.facts().linked_worktree && !main.open().facts().linked_worktree);
    let commit = main.candidate(before, 1);
    let binding = committed_on_head(1, before, commit);
    assert!(matches!(linked.bind(&binding), Ok(Bound::Now { .. })));
    assert_eq!((main.oid("main"), main.oid("side")), (before, commit));
    let read = main.open().bound(run_id(1)).expect("it is read").expect("the main one has it as well");
    assert_eq!(read.link.branch.as_deref(), Some("refs/heads/side"));
    assert!(matches!(main.open().bind(&given_up(1, 9)), Err(BindError::AlreadyBound { .. })));
}

#[test]
fn a_detached_head_moves_by_itself() {
    let scratch = Scratch::begun();
    scratch.git(&["switch", "-q", "--detach"]);
    let before = scratch.oid("main");
    let repository = scratch.open();
    works(&scratch, &repository, 1);
    assert_eq!(scratch.oid("main"), before);
    let Head::Detached { at } = repository.head().expect("a head") else { panic!("attached") };
    let read = repository.bound(run_id(1)).expect("it is read").expect("it is there");
    assert_eq!((read.link.commit, read.link.branch), (Some(at), None));
}

/// Somebody checks a branch out just before the transaction.
struct Switching(GitCommand);

impl Git for Switching {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        if arguments.first() == Some(&"update-ref") {
            self.0.run(&["symbolic-ref", "HEAD", "refs/heads/main"], b"")?;
        }
        self.0.run(arguments, input)
    }
}

#[test]
fn a_head_that_somebody_puts_on_a_branch_meanwhile_stays_there() {
    let scratch = Scratch::begun();
    scratch.git(&["switch", "-q", "--detach"]);
    let base = scratch.oid("HEAD");
    let binding = committed_on_head(1, base, scratch.candidate(base, 1));
    let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
    let repository = Repository::over(Switching(git)).expect("it is opened");
    assert!(matches!(repository.bind(&binding), Ok(Bound::Now { .. })));
    assert_eq!(scratch.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn an_unborn_branch_is_born_once() {
    let scratch = Scratch::new();
    let repository = scratch.open();
    assert_eq!(repository.head().expect("a head"), Head::Branch { name: "refs/heads/main".into(), at: None });
    let tree = scratch.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]).parse().expect("an id");
    let commit = repository.write_commit(&crate::given::plan(tree, vec![], 1)).expect("a commit");
    let mut binding = committed(1, commit);
    binding.move_branch = Some(BranchMove { branch: Branch::Head, from: None, to: commit });
    let Ok(Bound::Now { link, .. }) = repository.bind(&binding) else { panic!("it is not bound") };
    assert_eq!((link.base, link.patch_id), (None, None));
    assert_eq!(scratch.oid("main"), commit);
    let mut again = committed(2, commit);
    again.move_branch = Some(BranchMove { branch: Branch::Head, from: None, to: commit });
    assert!(matches!(repository.bind(&again), Err(BindError::BranchMoved { .. })));
}

#[test]
fn a_branch_by_its_full_name() {
    let scratch = Scratch::begun();
    let (repository, base) = (scratch.open(), scratch.oid("HEAD"));
    let commit = scratch.candidate(base, 1);
    let mut binding = committed(1, commit);
    let named = |name: &str| Some(BranchMove { branch: Branch::Named(name.into()), from: None, to: commit });
    for name in [
        "main",
        "HEAD",
        "refs/tags/v1",
        "refs/heads/",
        "refs/heads/a b",
        "refs/heads/a\nb",
        "refs/heads/*",
        "",
    ] {
        binding.move_branch = named(name);
        assert!(matches!(repository.bind(&binding), Err(BindError::BranchName { .. })), "{name:?}");
    }
    // A quote means something to git where a word begins, and only blanks of ASCII end one.
    let odd = ["agent/fix-é", "x\"y", "\"x\"", "nb\u{a0}sp", "id\u{3000}sp", "x\'y", "x$y;z"];
    for (run, name) in (1..).zip(odd) {
        let mut binding = committed(run, commit);
        binding.move_branch = named(&format!("refs/heads/{name}"));
        let bound = repository.bind(&binding).expect("bound");
        assert!(
            matches!(bound, Bound::Now { link, .. } if link.branch == Some(format!("refs/heads/{name}")))
        );
        assert_eq!((scratch.oid(name), scratch.oid("main")), (commit, base));
        scratch.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]);
        assert!(matches!(repository.head(), Ok(Head::Branch { at: Some(at), .. }) if at == commit));
        assert_eq!(repository.state(&binding).expect("a state"), State::Both);
        let held = repository.held(&[(commit, Some(&format!("refs/heads/{name}")))]).expect("it is there");
        assert_eq!(held[0].to_string(), format!("on refs/heads/{name}"));
        scratch.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    }
}

#[test]
fn a_shallow_clone_says_so_and_binds() {
    let scratch = Scratch::begun();
    scratch.save("more", "1\n", "more");
    let url = format!("file://{}", scratch.root().display());
    git_in(scratch.folder.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
    let root = scratch.folder.path().join("shallow");
    let Scratch { folder, .. } = scratch;
    let shallow = Scratch::at(folder, root);
    assert!(shallow.open().facts().shallow);
    works(&shallow, &shallow.open(), 1);
}

#[test]
fn what_a_partial_clone_lacks_of_a_decision_is_told_with_what_brings_it() {
    let scratch = Scratch::begun();
    scratch.open().bind(&given_up(1, 1)).expect("bound");
    scratch.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", scratch.root().display());
    git_in(scratch.folder.path(), &["clone", "-q", "--bare", "--filter=tree:0", &url, "partial"]);
    let root = scratch.folder.path().join("partial");
    let refs = "refs/trunkline/*:refs/trunkline/*";
    git_in(&root, &["fetch", "-q", "origin", refs]);
    let repository = Repository::open(&root).expect("git works").expect("a repository");
    let why = repository.all().expect("a list").unreadable.remove(0).why;
    let fetch = format!("`git fetch --refetch --no-filter origin '{refs}'`");
    assert!(why.contains(&fetch), "{why}");
    let why = repository.state(&given_up(1, 1)).expect_err("it is not there").to_string();
    assert!(why.contains(&fetch), "{why}");
    git_in(&root, &["fetch", "-q", "--refetch", "--no-filter", "origin", refs]);
    assert_eq!(repository.all().expect("a list").decisions.len(), 1);
}

#[test]
fn a_partial_clone_says_so_and_fetches_nothing() {
    let scratch = Scratch::begun();
    scratch.git(&["config", "uploadpack.allowFilter", "true"]);
    let (old, new) = (scratch.oid("HEAD"), scratch.save("README", "second\n", "second"));
    let url = format!("file://{}", scratch.root().display());
    git_in(scratch.folder.path(), &["clone", "-q", "--bare", "--filter=blob:none", &url, "partial"]);
    let root = scratch.folder.path().join("partial");
    let missing = || {
        let list = git_in(&root, &["rev-list", "--objects", "--all", "--missing=print"]);
        list.lines().filter(|line| line.starts_with('?')).count()
    };
    let before = missing();
    assert!(before > 0);
    let repository = Repository::open(&root).expect("git works").expect("a repository");
    assert!(repository.facts().partial);
    let Ok(Bound::Now { link, .. }) = repository.bind(&committed(1, new)) else { panic!("it is not bound") };
    assert_eq!((link.base, link.patch_id), (Some(old), None));
    assert_eq!(missing(), before);
}

#[cfg(unix)]
#[test]
fn a_path_with_an_odd_name() {
    use std::os::unix::ffi::OsStringExt;
    let scratch = Scratch::begun();
    for name in [b"a b\nc".to_vec(), b"-x".to_vec(), "é'\"$(x)".as_bytes().to_vec(), vec![b'l', 0xff, b'1']]
    {
        let root = scratch.folder.path().join(std::ffi::OsString::from_vec(name));
        let made = plain_git(scratch.folder.path())
            .args(["clone", "-q", "repository"])
            .arg("--")
            .arg(&root)
            .status();
        if !made.expect("git runs").success() {
            let copied = Command::new("cp").arg("-R").arg("--").arg(scratch.root()).arg(&root).status();
            assert!(copied.expect("cp runs").success());
        }
        let repository = Repository::open(&root.join(".git")).expect("git works").expect("a repository");
        assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })), "{root:?}");
        assert_eq!(repository.all().expect("a list").decisions.len(), 1);
    }
    assert_eq!(scratch.open().all().expect("a list").decisions.len(), 0);
}

const CHILD: &str = "TRUNKLINE_TEST_ELSEWHERE";

/// Not a test of its own: what [`variables_that_point_git_elsewhere_are_ignored`] starts.
#[test]
fn child_with_variables() {
    let Some(root) = std::env::var_os(CHILD) else { return };
    let repository = Repository::open(root.as_ref()).expect("git works").expect("a repository");
    assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
}

#[test]
fn variables_that_point_git_elsewhere_are_ignored() {
    let (here, elsewhere) = (Scratch::begun(), Scratch::begun());
    let there = elsewhere.root().join(".git");
    let status = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "repositories::child_with_variables"])
        .env(CHILD, here.root())
        .env("GIT_DIR", &there)
        .env("GIT_COMMON_DIR", &there)
        .env("GIT_WORK_TREE", elsewhere.root())
        .env("GIT_INDEX_FILE", there.join("index"))
        .env("GIT_OBJECT_DIRECTORY", there.join("objects"))
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_CONFIG", there.join("config"))
        .stdout(std::process::Stdio::null())
        .status()
        .expect("a child");
    assert!(status.success());
    assert!(here.refs().contains(&reference(1)));
    assert!(!elsewhere.refs().contains("trunkline"));
}

const SETTINGS: &str = "TRUNKLINE_TEST_SETTINGS";

/// Not a test of its own: what [`settings_that_variables_give_count_but_for_hooks`] starts.
#[test]
fn child_with_settings() {
    let Some(root) = std::env::var_os(SETTINGS) else { return };
    let git = GitCommand::discover(root.as_ref()).expect("git works").expect("a repository");
    let answer = |key: &str| git.run(&["config", "--get", key], b"").expect("it is set");
    for name in ["by-count", "by=parameters", "of-the-repository"] {
        assert_eq!(answer(&format!("hook.{name}.enabled")), b"false\n", "{name}");
    }
    assert_eq!(answer("core.hooksPath"), b"/dev/null\n");
    let committer = Repository::over(git).and_then(|repository| repository.configured_committer());
    let committer = committer.expect("git is told");
    assert_eq!((committer.name.as_str(), committer.email.as_str()), ("Carol", "carol@example.org"));
}

#[test]
fn settings_that_variables_give_count_but_for_hooks() {
    let scratch = Scratch::begun();
    scratch.git(&["config", "hook.of-the-repository.event", "reference-transaction"]);
    let settings = [
        ("user.name", "Carol"),
        ("hook.by-count.event", "reference-transaction"),
        ("hook.by-count.enabled", "true"),
        ("core.hooksPath", "/elsewhere"),
    ];
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "repositories::child_with_settings"]).env(SETTINGS, scratch.root());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("GIT_") {
            child.env_remove(variable);
        }
    }
    child.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    child.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (place, (key, value)) in settings.iter().enumerate() {
        child.env(format!("GIT_CONFIG_KEY_{place}"), key).env(format!("GIT_CONFIG_VALUE_{place}"), value);
    }
    // As `git -c` hands on what it was given.
    child.env(
        "GIT_CONFIG_PARAMETERS",
        "'user.email'='carol@example.org' 'hook.by=parameters.event'='update' \
         'hook.by=parameters.enabled'='true' 'hook.of-the-repository.enabled'='true'",
    );
    let output = child.output().expect("a child");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}
