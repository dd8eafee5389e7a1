//! Binding survives the death of git at every call, and of the process at any time.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{BindError, Branch, BranchMove, Repository, State};

use crate::faulty::{DEATHS, Death, Faulty};
use crate::given::{Scratch, committed, committed_on_head, plan, run_id};

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
                    Death::OnlyCreate => [State::Neither, State::RefOnly],
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
    for death in [Death::Before, Death::OnlyCreate] {
        let scratch = Scratch::begun();
        let base = scratch.oid("HEAD");
        let commit = scratch.candidate(base, 1);
        let binding = committed_on_head(1, base, commit);
        let (dying, _) = Faulty::open(&scratch, 5, death);
        assert!(dying.bind(&binding).is_err());
        let elsewhere = scratch.save("elsewhere", "1\n", "elsewhere");
        let refs = scratch.refs();
        match (death, scratch.open().recover(&binding)) {
            (Death::Before, Err(BindError::BranchMoved { found, .. })) => assert_eq!(found, Some(elsewhere)),
            (Death::OnlyCreate, Err(BindError::BranchElsewhere { found, .. })) => {
                assert_eq!(found, Some(elsewhere));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scratch.refs(), refs);
    }
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

        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "kills::child_that_binds"])
            .env(CHILD, scratch.root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a child");
        std::thread::sleep(Duration::from_millis(10 + 17 * round));
        // Every second time its git dies with it, and may leave locks.
        if round % 2 == 0 {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        }
        let _ = child.kill();
        child.wait().expect("it is dead");

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
        let torn = found.iter().filter(|state| !matches!(state, State::Both | State::Neither)).count();
        assert!(torn <= 1 && found.is_sorted_by_key(|state| *state == State::Neither), "{found:?}");
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
