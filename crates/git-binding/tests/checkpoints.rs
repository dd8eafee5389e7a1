//! States of the files that are kept: what they look like, what else is touched, and what kills leave.

use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{BindError, Checkpoint, CheckpointPlan, Repository};

use crate::faulty::{Death, Faulty};
use crate::given::{Scratch, git_in, run_id};

/// What is kept of run `number`: what is checked out, and a file more.
fn plan_of(scratch: &Scratch, number: u128) -> CheckpointPlan {
    let tree = match scratch.git(&["rev-parse", "-q", "--verify", "--default", "HEAD"]) {
        head if !head.is_empty() => scratch.tree_with(&head, "parser.rs", &format!("{number}\n")),
        _ => panic!("there is a commit"),
    };
    plan(tree, number)
}

fn plan(tree: GitOid, number: u128) -> CheckpointPlan {
    let message = "Checkpoint: the parser works".to_owned();
    CheckpointPlan { run: run_id(number), tree, message, at: 1_780_000_000 }
}

fn kept(repository: &Repository, plan: &CheckpointPlan) -> Checkpoint {
    repository.keep(plan).expect("it is kept")
}

#[test]
fn a_commit_that_a_ref_of_the_run_keeps() {
    let scratch = Scratch::begun();
    let before = scratch.surroundings();
    let plan = plan_of(&scratch, 1);
    let kept = kept(&scratch.open(), &plan);
    assert_eq!(kept.reference, CheckpointPlan::reference(plan.run));
    assert_eq!(scratch.surroundings(), before, "nothing else is touched");
    let head = scratch.git(&["rev-parse", "HEAD"]);
    let text = scratch.git(&["cat-file", "-p", &kept.reference]).replace(&head, "HEAD");
    let expected = r#"
        tree TREE
        parent HEAD
        author Trunkline <trunkline@localhost> 1780000000 +0000
        committer Trunkline <trunkline@localhost> 1780000000 +0000

        Checkpoint: the parser works

        Trunkline-Run: 00000000-0000-0000-0000-000000000001
    "#;
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(text.replace(&plan.tree.to_string(), "TREE").lines().collect::<Vec<_>>(), expected);
    assert!(scratch.git(&["show", "--stat", "--format=", &kept.commit.to_string()]).contains("parser.rs"));
    // It is no decision, and no decision is one of these.
    let all = scratch.open().all().expect("a list");
    assert!(all.decisions.is_empty() && all.unreadable.is_empty());
    assert_eq!(scratch.open().checkpoints().expect("a list"), [kept]);
}

#[test]
fn git_does_not_prune_it_and_prunes_it_once_its_ref_is_gone() {
    let scratch = Scratch::begun();
    let plan = plan_of(&scratch, 1);
    let repository = scratch.open();
    let kept = kept(&repository, &plan);
    scratch.git(&["gc", "-q", "--prune=now"]);
    assert!(repository.has_state(kept.commit, plan.tree).expect("an answer"));
    assert_eq!(repository.checkpoints().expect("a list"), std::slice::from_ref(&kept));
    assert_eq!(scratch.git(&["show", &format!("{}:parser.rs", kept.reference)]), "1");
    scratch.git(&["update-ref", "-d", &kept.reference]);
    scratch.git(&["gc", "-q", "--prune=now"]);
    assert!(!repository.has_state(kept.commit, plan.tree).expect("an answer"));
    assert!(repository.checkpoints().expect("a list").is_empty());
}

#[test]
fn the_same_again_is_the_same_and_another_try_writes_over_it() {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    let plan = plan_of(&scratch, 1);
    let first = kept(&repository, &plan);
    assert_eq!(kept(&repository, &plan), first);
    let later = CheckpointPlan { at: plan.at + 7, ..plan };
    let second = kept(&repository, &later);
    assert_ne!(second.commit, first.commit);
    assert_eq!(repository.checkpoints().expect("a list"), [second]);
}

#[test]
fn every_kind_of_repository() {
    for options in [
        ["--object-format=sha1", "--ref-format=reftable"],
        ["--object-format=sha256", "--ref-format=files"],
        ["--object-format=sha256", "--ref-format=reftable"],
    ] {
        let scratch = Scratch::begun_with(&options);
        let kept = kept(&scratch.open(), &plan_of(&scratch, 1));
        scratch.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(scratch.oid(&kept.reference), kept.commit);
    }
}

#[test]
fn before_the_first_commit_it_has_no_parent() {
    let scratch = Scratch::new();
    std::fs::write(scratch.root().join("new"), "text\n").expect("a file");
    scratch.git(&["add", "new"]);
    let tree = scratch.git(&["write-tree"]).parse().expect("a tree");
    let kept = kept(&scratch.open(), &plan(tree, 1));
    assert_eq!(scratch.git(&["rev-list", "--parents", "-1", &kept.reference]), kept.commit.to_string());
    // What was staged is staged, and nothing is committed.
    assert_eq!(scratch.git(&["status", "--porcelain"]), "A  new");
}

#[test]
fn linked_worktrees_share_it() {
    let scratch = Scratch::begun();
    scratch.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = scratch.folder.path().join("side");
    std::fs::write(side.join("two"), "2\n").expect("a file");
    git_in(&side, &["add", "two"]);
    git_in(&side, &["commit", "-q", "-m", "two"]);
    let repository = Repository::open(&side).expect("git works").expect("a repository");
    let kept = kept(&repository, &plan_of(&scratch, 1));
    // It stands on what is checked out there.
    assert_eq!(
        scratch.git(&["rev-parse", &format!("{}^", kept.reference)]),
        scratch.git(&["rev-parse", "side"])
    );
    assert_eq!(scratch.open().checkpoints().expect("a list"), [kept]);
}

#[test]
fn a_user_that_git_knows_nothing_of_who_signs_and_has_hooks() {
    let scratch = Scratch::begun();
    let plan = plan_of(&scratch, 1);
    scratch.git(&["config", "user.useConfigOnly", "true"]);
    scratch.git(&["config", "commit.gpgSign", "true"]);
    scratch.git(&["config", "gpg.program", "/bin/false"]);
    let hook = scratch.root().join(".git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a file");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let kept = kept(&scratch.open(), &plan);
    assert_eq!(scratch.oid(&kept.reference), kept.commit);
}

#[test]
fn a_link_in_its_place_is_replaced_and_not_followed() {
    let scratch = Scratch::begun();
    let head = scratch.oid("main");
    let reference = CheckpointPlan::reference(run_id(1));
    scratch.git(&["symbolic-ref", &reference, "refs/heads/main"]);
    let kept = kept(&scratch.open(), &plan_of(&scratch, 1));
    assert_eq!(scratch.oid("main"), head, "the branch is where it was");
    assert_eq!(scratch.oid(&reference), kept.commit);
}

#[test]
fn what_cannot_be_kept_is_told_and_changes_nothing() {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    let nowhere = GitOid::Sha1([7; 20]);
    let refs = scratch.refs();
    let error = repository.keep(&plan(nowhere, 1)).expect_err("there is no such tree");
    assert!(matches!(error, BindError::NoSuchObject { oid, expected: "tree" } if oid == nowhere));
    let odd = CheckpointPlan { message: "a\0b".to_owned(), ..plan_of(&scratch, 1) };
    assert!(matches!(repository.keep(&odd), Err(BindError::CommitText { .. })));
    assert_eq!(scratch.refs(), refs);
    // Somebody has a ref where a folder has to be.
    scratch.git(&["update-ref", "refs/trunkline/checkpoints", "HEAD"]);
    let refs = scratch.refs();
    assert!(matches!(repository.keep(&plan_of(&scratch, 1)), Err(BindError::Git(_))));
    assert_eq!(scratch.refs(), refs);
}

#[test]
fn a_ref_that_somebody_else_has_written_meanwhile_stays_theirs() {
    let scratch = Scratch::begun();
    let plan = plan_of(&scratch, 1);
    let theirs = CheckpointPlan { at: plan.at + 1, ..plan.clone() };
    let dies_never = usize::MAX;
    let (repository, faulty) = Faulty::open(&scratch, dies_never, Death::Before);
    let kept_theirs = kept(&scratch.open(), &theirs);
    scratch.git(&["update-ref", "-d", &kept_theirs.reference]);
    // The ref is read in the first call; the last one but none writes it.
    faulty.before_update({
        let (root, commit) = (scratch.root().to_owned(), kept_theirs.commit.to_string());
        let reference = kept_theirs.reference.clone();
        move || drop(git_in(&root, &["update-ref", &reference, &commit]))
    });
    assert!(matches!(repository.keep(&plan), Err(BindError::Git(_))));
    assert_eq!(scratch.oid(&kept_theirs.reference), kept_theirs.commit);
}

#[test]
fn after_a_death_at_any_call_the_next_try_leaves_one_ref_that_fits() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        for death in [Death::Before, Death::After] {
            for dies_at in 0.. {
                let scratch = Scratch::begun_with(options);
                let surroundings = scratch.surroundings();
                let plan = plan_of(&scratch, 1);
                let (dying, faulty) = Faulty::open(&scratch, dies_at, death);
                if dying.keep(&plan).is_ok() {
                    assert_eq!(dies_at, faulty.calls(), "it had as many calls as it made");
                    break;
                }
                let alive = scratch.open();
                let half = alive.checkpoints().expect("a list");
                assert!(half.len() <= 1 && half.iter().all(|half| half.tree == Some(plan.tree)));
                // The next try comes later, and from another process.
                let later = CheckpointPlan { at: plan.at + 60, ..plan };
                let kept = kept(&alive, &later);
                assert_eq!(alive.checkpoints().expect("a list"), std::slice::from_ref(&kept));
                assert_eq!(scratch.oid(&kept.reference), kept.commit);
                assert_eq!(scratch.surroundings(), surroundings);
            }
        }
    }
}
