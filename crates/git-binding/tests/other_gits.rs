//! Gits that are older than the installed one, and gits that talk nonsense.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use trunkline_git_binding::{
    BindError, Bound, Branch, Git, GitCommand, GitFault, Packed, RefFormat, Repository, State,
};

use crate::given::{Scratch, committed_on_head, given_up, plan, reference, run_id};

/// The installed git under another version; what it would not know, it refuses.
struct Posing {
    git: GitCommand,
    version: &'static str,
    unknown: &'static [&'static str],
}

impl Git for Posing {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        if arguments == ["version"] {
            return Ok(format!("git version {}\n", self.version).into_bytes());
        }
        let option = |argument: &&str| self.unknown.iter().any(|unknown| argument.starts_with(unknown));
        assert!(!arguments.iter().any(option), "git {} does not know {arguments:?}", self.version);
        self.git.run(arguments, input)
    }
}

fn posing(
    scratch: &Scratch,
    version: &'static str,
    unknown: &'static [&'static str],
) -> Result<Repository, BindError> {
    let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
    Repository::over(Posing { git, version, unknown })
}

#[test]
fn a_git_that_is_too_old_is_told() {
    let scratch = Scratch::begun();
    for version in ["2.30.9", "1.99", "2.9.5 (Apple Git-1)"] {
        let refused = posing(&scratch, version, &[]).expect_err("too old");
        assert!(matches!(refused, BindError::TooOld { .. }), "{refused}");
    }
    for version in ["", "two", "2", "\u{1b}[31m"] {
        let refused = posing(&scratch, version, &[]).expect_err("no version");
        assert!(matches!(refused, BindError::Answer { .. }), "{refused}");
        assert!(!refused.to_string().contains(char::is_control));
    }
}

#[test]
fn older_gits_are_not_asked_what_they_do_not_know() {
    let scratch = Scratch::begun();
    let unknown = &["--show-ref-format", "--attr-source", "--include"];
    let old = posing(&scratch, "2.31.0.windows.1", unknown).expect("it is new enough");
    assert_eq!((old.facts().git_version, old.facts().ref_format), ((2, 31), RefFormat::Files));
    let base = scratch.oid("HEAD");
    let binding = committed_on_head(1, base, scratch.candidate(base, 1));
    let Ok(Bound::Now { link, .. }) = old.bind(&binding) else { panic!("it is not bound") };
    assert_eq!(old.state(&binding).expect("a state"), State::Both);
    // Without attributes in play, the patch id is the same by old and new.
    scratch.git(&["update-ref", "-d", &reference(1)]);
    scratch.git(&["update-ref", "HEAD", &base.to_string()]);
    assert!(matches!(scratch.open().bind(&binding), Ok(Bound::Now { link: again, .. }) if again == link));

    let tree = scratch.git(&["rev-parse", &reference(1)]);
    for run in 0..100 {
        // All in a folder that is looked into.
        scratch.git(&["update-ref", &reference(0x1000 + (run << 8)), &tree]);
    }
    let before = scratch.refs();
    assert!(matches!(old.pack_if_due(), Ok(Packed::AllOnly { loose: 1_000.. })));
    old.pack_all_refs().expect("asked for, it is done");
    assert_eq!(scratch.refs(), before);
    assert_eq!(old.pack_if_due().expect("counted"), Packed::NotDue { loose: 0 });
}

/// The installed git, and what it was asked to write objects with.
struct Listening {
    git: GitCommand,
    heard: Mutex<Vec<String>>,
}

impl Git for Listening {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        self.heard.lock().expect("one thread").push(arguments.join(" "));
        self.git.run(arguments, input)
    }
}

#[test]
fn objects_are_synced_unless_the_user_wants_it_otherwise() {
    for setting in [None, Some("core.fsync"), Some("core.fsyncObjectFiles")] {
        let scratch = Scratch::begun();
        scratch.git(&["config", "--unset", "core.fsync"]);
        if let Some(setting) = setting {
            let value = if setting == "core.fsync" { "none" } else { "false" };
            scratch.git(&["config", setting, value]);
        }
        let tree = scratch.oid("HEAD^{tree}");
        let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
        let listening = Arc::new(Listening { git, heard: Mutex::new(Vec::new()) });
        let repository = Repository::over(Arc::clone(&listening)).expect("it is opened");
        assert!(!repository.facts().partial);
        repository.write_commit(&plan(tree, vec![], 1)).expect("a commit");
        assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
        let heard = listening.heard.lock().expect("one thread");
        for command in ["hash-object", "unpack-objects"] {
            let written = heard.iter().find(|line| line.contains(command)).expect("it is written");
            assert_eq!(written.starts_with("-c core.fsync=committed "), setting.is_none(), "{written}");
        }
    }
}

type Answer = Result<Vec<u8>, GitFault>;

/// The installed git, but for the first call of one command, of which something else is made.
struct Once<F> {
    git: GitCommand,
    command: &'static str,
    otherwise: Mutex<Option<F>>,
}

impl<F: FnOnce(Answer) -> Answer + Send> Git for Once<F> {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let ours = arguments.contains(&self.command);
        let otherwise = self.otherwise.lock().expect("one thread").take_if(|_| ours);
        let answer = self.git.run(arguments, input);
        match otherwise {
            Some(otherwise) => otherwise(answer),
            None => answer,
        }
    }
}

fn once<F>(scratch: &Scratch, command: &'static str, otherwise: F) -> Repository
where
    F: FnOnce(Answer) -> Answer + Send + 'static,
{
    let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
    let git = Once { git, command, otherwise: Mutex::new(Some(otherwise)) };
    Repository::over(git).expect("it is opened")
}

#[test]
fn a_folder_that_gc_took_away_is_no_reason_to_give_up() {
    let scratch = Scratch::begun();
    let command = "unpack-objects";
    let said = "error: unable to create temporary file: No such file or directory".to_owned();
    let repository = once(&scratch, command, |_| {
        Err(GitFault::Failed { command: command.to_owned(), code: Some(128), said })
    });
    assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
}

/// As git 2.47 says it, in a repository on a full and on a read-only file system, and in one of somebody else's.
#[test]
fn a_repository_that_cannot_be_written_is_told_with_what_to_do() {
    let room = "the disk is full, or a quota is; make room and try again";
    let writable = "the file system is read-only; make it writable and try again";
    let allowed = "this user may not write there; see to the permissions and try again";
    for (command, said, told) in [
        ("unpack-objects", "fatal: unable to write loose object file: No space left on device", room),
        ("unpack-objects", "error: unable to write file: Disk quota exceeded", room),
        ("update-ref", "fatal: prepare: cannot update ref 'x': couldn't write '/r/.git/x.lock'", room),
        ("update-index", "fatal: sha1 file '/r/.git/index.lock' write error. Out of diskspace", room),
        (
            "unpack-objects",
            "error: unable to create temporary file: Read-only file system; fatal: no",
            writable,
        ),
        ("update-ref", "fatal: Unable to create '/r/.git/x.lock': Read-only file system", writable),
        ("update-index", "fatal: Unable to create '/r/.git/index.lock': Permission denied", allowed),
        ("unpack-objects", "error: insufficient permission for adding an object to .git/objects", allowed),
        ("update-ref", "fatal: cannot lock ref 'x': unable to create directory for .git/refs/x", allowed),
    ] {
        let fault = GitFault::Failed { command: command.to_owned(), code: Some(128), said: said.to_owned() };
        assert_eq!(fault.to_string(), format!("git {command}: {told} ({said})"));
        if command == "unpack-objects" {
            let scratch = Scratch::begun();
            let repository = once(&scratch, command, move |_| Err(fault));
            let error = repository.bind(&given_up(1, 1)).expect_err("nothing can be written");
            assert_eq!(error.to_string(), format!("git {command}: {told} ({said})"));
        }
    }
    let said = "warning: unable to access '/etc/gitconfig': Permission denied; fatal: not a tree object";
    let fault = GitFault::Failed { command: "ls-tree".to_owned(), code: Some(128), said: said.to_owned() };
    assert_eq!(fault.to_string(), format!("git ls-tree: {said}"), "of which nobody knows more");
}

#[test]
fn a_branch_that_was_read_before_another_bound_is_read_again() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    let binding = committed_on_head(1, base, commit);
    assert!(matches!(scratch.open().bind(&binding), Ok(Bound::Now { .. })));
    let repository = once(&scratch, "for-each-ref", move |answer| {
        let text = String::from_utf8(answer?).expect("names of refs");
        Ok(text.replace(&commit.to_string(), &base.to_string()).into_bytes())
    });
    assert_eq!(repository.state(&binding).expect("a state"), State::Both);
}

/// Says the same to everything, once the repository is open.
struct Babbling {
    git: GitCommand,
    says: Mutex<Option<Vec<u8>>>,
}

impl Git for Babbling {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        match &*self.says.lock().expect("one thread") {
            Some(says) => Ok(says.clone()),
            None => self.git.run(arguments, input),
        }
    }
}

fn babbling() -> (Arc<Babbling>, Repository) {
    let scratch = Scratch::begun();
    let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
    let babbling = Arc::new(Babbling { git, says: Mutex::new(None) });
    let repository = Repository::over(Arc::clone(&babbling)).expect("it is opened");
    (babbling, repository)
}

/// Pieces of what git says, and anything.
fn babble() -> impl Strategy<Value = Vec<u8>> {
    let oid = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    let piece = prop_oneof![
        Just(oid.as_bytes().to_vec()),
        Just(b"\n".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\t\0".to_vec()),
        Just(b"100644 blob ".to_vec()),
        Just(format!("{oid} blob 3\nabc\n").into_bytes()),
        Just(format!("{oid} blob 18446744073709551615\n").into_bytes()),
        Just(format!("{oid} {}\n", reference(1)).into_bytes()),
        Just(format!("commit {oid}\ntree {oid}\nparents \n").into_bytes()),
        Just(b"refs/heads/main\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_git_that_talks_nonsense_is_survived(says in babble()) {
        thread_local!(static OPEN: (Arc<Babbling>, Repository) = babbling());
        let (git, repository) = OPEN.with(Clone::clone);
        *git.says.lock().expect("one thread") = Some(says);
        let oid = "da39a3ee5e6b4b0d3255bfef95601890afd80709".parse().expect("an id");
        let mut binding = committed_on_head(1, oid, oid);
        let _ = repository.head();
        let _ = repository.all();
        let _ = repository.bound(run_id(1));
        let _ = repository.find("HEAD");
        let _ = repository.state(&binding);
        let _ = repository.bind(&binding);
        let _ = repository.recover(&binding);
        if let Some(wanted) = &mut binding.move_branch {
            wanted.branch = Branch::Named("refs/heads/main".into());
        }
        let _ = repository.bind(&binding);
        let _ = repository.bind(&given_up(1, 1));
        let _ = repository.write_commit(&plan(oid, vec![oid], 1));
    }
}
