//! Binding survives the death of git at every call, and of the process at any time.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{BindError, Bound, Branch, BranchMove, Repository, State};

use crate::faulty::{DEATHS, Death, Faulty};
use crate::given::{Scratch, committed, committed_on_head, plan, reference, run_id};

#[test]
fn after_a_death_at_any_call_a_recovery_leaves_decision_and_branch_in_agreement() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        for death in DEATHS {
            for dies_at in 0.. {
                let scratch = Scratch::begun_with(options);
                let base = scratch.oid("HEAD");
                let commit = scratch.candidate(base, 1);
                let binding = committed_on_head(1, base, commit);
                let (dying, faulty) = Faulty::open(&scratch, dies_at, death);
                let outcome = dying.bind(&binding);
                if outcome.is_ok() {
                    assert_eq!(dies_at, faulty.calls(), "it had as many calls as it made");
                    break;
                }
                let alive = scratch.open();
                let found = alive.state(&binding).expect("a state");
                let half = match death {
                    Death::Before | Death::After => [State::Neither, State::Both],
                    Death::OnlyUpdate => [State::Neither, State::BranchOnly],
                };
                assert!(half.contains(&found), "{death:?} at {dies_at}: {found:?}");
                // A recovery may die as well.
                let (dying, _) = Faulty::open(&scratch, dies_at % 4, Death::Before);
                let _ = dying.recover(&binding);
                alive.recover(&binding).expect("it is recovered");
                assert_eq!(alive.state(&binding).expect("a state"), State::Both, "{death:?} at {dies_at}");
                assert_eq!(scratch.oid("main"), commit);
                let read = alive.bound(run_id(1)).expect("it is read").expect("it is there");
                assert_eq!(read.decision, binding.decision);
                assert_eq!((read.link.base, read.link.commit), (Some(base), Some(commit)));
                let refs = scratch.refs();
                assert_eq!(alive.recover(&binding).expect("once more"), State::Both);
                assert_eq!(scratch.refs(), refs);
            }
        }
    }
}

#[test]
fn a_recovery_leaves_a_branch_that_went_on_where_it_is() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    let binding = committed_on_head(1, base, commit);
    let (dying, _) = Faulty::open(&scratch, 5, Death::OnlyUpdate);
    assert!(dying.bind(&binding).is_err());
    scratch.git(&["reset", "-q", "--hard"]);
    let later = scratch.save("later", "1\n", "later");
    assert_eq!(scratch.open().recover(&binding).expect("it is recovered"), State::BranchOnly);
    assert_eq!(scratch.oid("main"), later);
    assert!(scratch.open().bound(run_id(1)).expect("it is read").is_some());
}

#[test]
fn a_recovery_does_not_judge_a_branch_that_somebody_moved_elsewhere() {
    for bound in [false, true] {
        let scratch = Scratch::begun();
        let base = scratch.oid("HEAD");
        let binding = committed_on_head(1, base, scratch.candidate(base, 1));
        if bound {
            scratch.open().bind(&binding).expect("it is bound");
            scratch.git(&["reset", "-q", "--hard", &base.to_string()]);
        }
        let elsewhere = scratch.save("elsewhere", "1\n", "elsewhere");
        let refs = scratch.refs();
        match (bound, scratch.open().recover(&binding)) {
            (false, Err(BindError::BranchMoved { found, .. })) => assert_eq!(found, Some(elsewhere)),
            (true, Err(BindError::BranchElsewhere { found, .. })) => assert_eq!(found, Some(elsewhere)),
            other => panic!("{other:?}"),
        }
        assert_eq!(scratch.refs(), refs);
    }
}

#[test]
fn a_recovery_does_not_move_a_branch_that_a_person_put_back() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        for detached in [false, true] {
            for bound in [false, true] {
                let scratch = Scratch::begun_with(options);
                if detached {
                    scratch.git(&["switch", "-q", "--detach"]);
                }
                let base = scratch.oid("HEAD");
                let binding = committed_on_head(1, base, scratch.candidate(base, 1));
                if bound {
                    scratch.open().bind(&binding).expect("it is bound");
                } else {
                    let transaction = 5 + usize::from(detached); // where HEAD is has to be asked for
                    let (dying, _) = Faulty::open(&scratch, transaction, Death::OnlyUpdate);
                    assert!(dying.bind(&binding).is_err());
                    assert_eq!(scratch.open().state(&binding).expect("a state"), State::BranchOnly);
                }
                assert!(!scratch.open().was_taken_off(&binding).expect("a state"), "it is there");
                scratch.git(&["reset", "-q", "--hard", &base.to_string()]);
                let refs = scratch.refs();
                assert_eq!(scratch.open().was_taken_off(&binding).expect("a state"), !bound);
                match (bound, scratch.open().recover(&binding)) {
                    (false, Err(error @ BindError::BranchMoved { .. })) => {
                        assert!(error.to_string().contains("put back"), "{error}");
                    }
                    (true, Err(BindError::BranchElsewhere { found, .. })) => assert_eq!(found, Some(base)),
                    other => panic!("{other:?}"),
                }
                assert_eq!((scratch.refs(), scratch.oid("HEAD")), (refs, base));
                // To somewhere else is off as well.
                scratch.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
                assert_eq!(scratch.open().was_taken_off(&binding).expect("a state"), !bound);
                scratch.git(&["reset", "-q", "--hard", &base.to_string()]);
                // Who binds means it.
                if !bound {
                    assert!(matches!(scratch.open().bind(&binding), Ok(Bound::Now { .. })));
                }
            }
        }
    }
}

#[test]
fn what_git_wrote_into_the_reflog_before_it_was_killed_is_no_move() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    let binding = committed_on_head(1, base, commit);
    let line = format!("{base} {commit} A <a@b> 1 +0000\ttrunkline: decision {}\n", binding.decision.id());
    let log = scratch.root().join(".git/logs/refs/heads/main");
    let mut lines = std::fs::read_to_string(&log).expect("a reflog");
    lines.push_str(&line);
    std::fs::write(&log, lines).expect("a file");
    assert_eq!(scratch.open().recover(&binding).expect("it is bound"), State::Neither);
    assert_eq!(scratch.oid("main"), commit);
}

/// What this crate relies on, and no page of git's says: a transaction moves the refs in the order that they are given in.
#[test]
fn a_git_that_is_killed_between_the_two_refs_has_moved_the_branch() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    std::fs::write(scratch.folder.path().join("commits"), format!("{base}\n{commit}\n")).expect("a list");
    // Git waits here for somebody who reads, when it comes to the decision.
    let log = scratch.root().join(".git/logs").join(reference(1));
    std::fs::create_dir_all(log.parent().expect("a folder")).expect("a folder");
    assert!(Command::new("mkfifo").arg(&log).status().expect("mkfifo runs").success());
    let mut child = child_in(&scratch);
    let branch = scratch.root().join(".git/refs/heads/main");
    while std::fs::read_to_string(&branch).expect("a ref").trim() != commit.to_string() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before the branch was moved");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(child, true);
    std::fs::remove_file(log).expect("it is there");

    let (repository, binding) = (scratch.open(), committed_on_head(1, base, commit));
    assert_eq!(repository.state(&binding).expect("a state"), State::BranchOnly);
    match repository.recover(&binding) {
        Err(BindError::Locked { said }) => remove_lock(&said, scratch.root()),
        other => panic!("{other:?}"),
    }
    assert_eq!(repository.recover(&binding).expect("it is recovered"), State::BranchOnly);
    assert_eq!(repository.state(&binding).expect("a state"), State::Both);
}

const CHILD: &str = "TRUNKLINE_TEST_BINDS_IN";

/// How many runs the child that is killed binds, one on top of the other.
const RUNS: u128 = 12;

/// Not a test of its own: what [`a_process_that_is_killed_at_any_time_is_recovered`] starts and kills.
#[test]
fn child_that_binds() {
    let Some(root) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let repository = Repository::open(&root).expect("git works").expect("a repository");
    let commits = std::fs::read_to_string(root.join("../commits")).expect("a list");
    let commits: Vec<GitOid> = commits.lines().map(|line| line.parse().expect("an id")).collect();
    for (run, pair) in (1..).zip(commits.windows(2)) {
        let mut binding = committed(run, pair[1]);
        binding.move_branch = Some(BranchMove { branch: Branch::Head, from: Some(pair[0]), to: pair[1] });
        repository.bind(&binding).expect("nobody else is there");
    }
}

fn child_in(scratch: &Scratch) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "kills::child_that_binds"])
        .env(CHILD, scratch.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("a child")
}

fn kill(mut child: Child, with_its_git: bool) {
    if with_its_git {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
    child.wait().expect("it is dead");
}

#[test]
fn a_process_that_is_killed_at_any_time_is_recovered() {
    let mut halfway = 0;
    let mut found = Vec::new();
    for round in 0..16 {
        let reftable = ["--ref-format=reftable"];
        let scratch = Scratch::begun_with(if round % 4 == 3 { &reftable } else { &[] });
        let repository = scratch.open();
        let mut commits = vec![scratch.oid("HEAD")];
        for run in 1..=RUNS {
            let parent = *commits.last().expect("there is a first");
            let tree = scratch.tree_with(&parent.to_string(), &format!("file-{run}"), "text\n");
            commits.push(repository.write_commit(&plan(tree, vec![parent], run)).expect("a commit"));
        }
        let list: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        std::fs::write(scratch.folder.path().join("commits"), list).expect("a list");

        let child = child_in(&scratch);
        std::thread::sleep(Duration::from_millis(10 + 17 * round));
        // Every second time its git dies with it, and may leave locks.
        kill(child, round % 2 == 0);

        for (run, pair) in (1..).zip(commits.windows(2)) {
            let mut binding = committed(run, pair[1]);
            binding.move_branch = Some(BranchMove { branch: Branch::Head, from: Some(pair[0]), to: pair[1] });
            found.push(loop {
                match repository.recover(&binding) {
                    Ok(state) => break state,
                    // No other git runs here, so this is what the error asks a person for.
                    Err(BindError::Locked { said }) => remove_lock(&said, scratch.root()),
                    // A git that outlived its parent was faster.
                    Err(BindError::Git(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            });
            let read = repository.bound(run_id(run)).expect("it is read").expect("it is there");
            assert_eq!(read.decision, binding.decision);
        }
        // Binding goes in order, so all but one are done or not begun.
        let torn = found.iter().filter(|state| **state == State::BranchOnly).count();
        let known = |state: &State| matches!(state, State::Both | State::BranchOnly | State::Neither);
        assert!(
            torn <= 1 && found.iter().all(known) && found.is_sorted_by_key(|state| *state == State::Neither),
            "{found:?}"
        );
        halfway += usize::from(found.first() == Some(&State::Both) && found.last() == Some(&State::Neither));
        found.clear();
        assert_eq!(Some(scratch.oid("main")), commits.last().copied());
        scratch.git(&["fsck", "--strict", "--no-dangling"]);
    }
    assert!(halfway > 0, "no child was killed on its way");
}

/// Does what the error says: `… Unable to create '/…/main.lock': File exists …`, `… a tables.list.lock below …`.
fn remove_lock(said: &str, root: &Path) {
    let named = said.split('\'').find(|word| word.ends_with(".lock")).map(PathBuf::from);
    let file = named.unwrap_or_else(|| root.join(".git/reftable/tables.list.lock"));
    std::fs::remove_file(file).expect("it is there");
}
