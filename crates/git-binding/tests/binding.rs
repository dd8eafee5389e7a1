//! What binding does and what it refuses.

use trunkline_decision_objects::{Diff, GroundsError, PatchSet};
use trunkline_git_binding::{BindError, Bound, Branch, BranchMove, State};

use crate::given::{Scratch, committed, committed_on_head, decision_id, given_up, reference, run_id};

#[test]
fn a_decision_is_bound_with_all_that_it_rests_on_and_its_branch_moves() {
    let scratch = Scratch::begun();
    let (repository, base) = (scratch.open(), scratch.oid("HEAD"));
    let commit = scratch.candidate(base, 1);
    let binding = committed_on_head(1, base, commit);
    assert_eq!(repository.state(&binding).expect("a state"), State::Neither);

    let Bound::Now { reference: name, link } = repository.bind(&binding).expect("it is bound") else {
        panic!("again")
    };
    assert_eq!(name, reference(1));
    assert_eq!(
        (link.commit, link.base, link.tree),
        (Some(commit), Some(base), Some(scratch.oid("HEAD^{tree}")))
    );
    assert_eq!(link.branch.as_deref(), Some("refs/heads/main"));
    assert!(link.patch_id.is_some());
    assert_eq!(scratch.oid("main"), commit);
    let note = format!("trunkline: decision {}", binding.decision.id());
    assert_eq!(scratch.git(&["reflog", "-1", "--format=%gs", "main"]), note);

    let read = repository.bound(run_id(1)).expect("it is read").expect("it is there");
    assert_eq!((read.run, read.decision, read.link), (binding.run.clone(), binding.decision.clone(), link));
    assert_eq!((read.patch_sets, read.evidence), (binding.patch_sets.clone(), binding.evidence.clone()));
    assert_eq!(repository.all().expect("a list").decisions.len(), 1);
    assert_eq!(repository.state(&binding).expect("a state"), State::Both);
}

#[test]
fn a_run_is_bound_once() {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    assert!(matches!(repository.bind(&given_up(1, 10)), Ok(Bound::Now { .. })));
    let refs = scratch.refs();
    assert!(matches!(repository.bind(&given_up(1, 10)), Ok(Bound::Already { state: State::Both, .. })));
    match repository.bind(&given_up(1, 11)) {
        Err(BindError::AlreadyBound { run, first }) => assert_eq!((run, first), (run_id(1), decision_id(10))),
        other => panic!("{other:?}"),
    }
    assert_eq!(scratch.refs(), refs);
}

#[test]
fn a_branch_that_moved_is_told_and_nothing_is_bound() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    let meanwhile = scratch.save("other", "1\n", "meanwhile");
    match scratch.open().bind(&committed_on_head(1, base, commit)) {
        Err(BindError::BranchMoved { branch, expected, found }) => {
            assert_eq!((branch.as_str(), expected, found), ("refs/heads/main", Some(base), Some(meanwhile)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(scratch.open().bound(run_id(1)).expect("it is read"), None);
}

#[test]
fn a_lock_that_a_killed_git_left_is_named_and_left_to_a_person() {
    for (options, lock) in
        [([].as_slice(), "refs/heads/main.lock"), (&["--ref-format=reftable"], "reftable/tables.list.lock")]
    {
        let scratch = Scratch::begun_with(options);
        let base = scratch.oid("HEAD");
        let binding = committed_on_head(1, base, scratch.candidate(base, 1));
        let lock = scratch.root().join(".git").join(lock);
        std::fs::write(&lock, "").expect("a lock");
        match scratch.open().bind(&binding) {
            Err(BindError::Locked { said }) => {
                assert!(said.contains(".lock") && !said.contains("hint:"), "{said}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scratch.open().state(&binding).expect("a state"), State::Neither);
        std::fs::remove_file(lock).expect("a person removes it");
        assert!(matches!(scratch.open().bind(&binding), Ok(Bound::Now { .. })));
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let scratch = Scratch::begun();
    let (repository, commit) = (scratch.open(), scratch.oid("HEAD"));
    let (one, two) = (committed(1, commit), committed(2, commit));
    let refused = |change: &dyn Fn(&mut trunkline_git_binding::Binding)| {
        let mut binding = one.clone();
        change(&mut binding);
        repository.bind(&binding).expect_err("it is refused")
    };
    assert!(matches!(refused(&|binding| binding.run = two.run.clone()), BindError::OtherRun { .. }));
    assert!(matches!(
        refused(&|binding| binding.patch_sets.extend(two.patch_sets.clone())),
        BindError::OtherRun { .. }
    ));
    assert!(matches!(
        refused(&|binding| binding.evidence.extend(two.evidence.clone())),
        BindError::OtherRun { .. }
    ));
    let missing = refused(&|binding| binding.patch_sets.clear());
    assert!(missing.to_string().contains("`patch_sets`"), "{missing}");
    assert!(matches!(missing, BindError::Grounds(GroundsError::MissingPatchSet { .. })));
    let missing = refused(&|binding| binding.evidence.clear());
    assert!(missing.to_string().contains("`evidence`"), "{missing}");
    assert!(matches!(missing, BindError::Grounds(GroundsError::MissingEvidence { .. })));
    let other = scratch.candidate(commit, 3);
    assert!(matches!(refused(&|binding| binding.commit = Some(other)), BindError::OtherCommit { .. }));
    let moved = |to| Some(BranchMove { branch: Branch::Head, from: Some(commit), to });
    assert!(matches!(refused(&|binding| binding.move_branch = moved(other)), BindError::OtherCommit { .. }));
    let twice = refused(&|binding| {
        let set = &binding.patch_sets[0];
        let again = PatchSet::new(set.id(), set.run(), None, Vec::new(), Diff::kept("+another\n"));
        binding.patch_sets.push(again.expect("a legal patch set"));
    });
    assert!(matches!(twice, BindError::TwoOfOneName { .. }), "{twice}");
    assert!(!scratch.refs().contains("trunkline"));
}

#[test]
fn what_the_verdict_or_the_move_names_must_be_a_commit_of_the_repository() {
    let scratch = Scratch::begun();
    let (repository, base) = (scratch.open(), scratch.oid("HEAD"));
    for text in ["1".repeat(40), "1".repeat(64), scratch.oid("HEAD^{tree}").to_string()] {
        let nowhere = text.parse().expect("an id");
        let outcome = repository.bind(&committed(1, nowhere));
        assert!(matches!(outcome, Err(BindError::NoSuchObject { .. })), "{outcome:?}");
        let mut binding = given_up(2, 2);
        binding.move_branch = committed_on_head(2, base, nowhere).move_branch;
        let outcome = repository.bind(&binding);
        assert!(matches!(outcome, Err(BindError::NoSuchObject { .. })), "{outcome:?}");
    }
    assert_eq!(scratch.oid("main"), base);
    assert!(!scratch.refs().contains("trunkline"));
}

#[test]
fn a_decision_whose_verdict_names_no_commit_can_be_given_one() {
    let scratch = Scratch::begun();
    let mut binding = given_up(1, 1);
    binding.commit = Some(scratch.oid("HEAD"));
    let Ok(Bound::Now { link, .. }) = scratch.open().bind(&binding) else { panic!("it is not bound") };
    assert_eq!((link.commit, link.tree), (binding.commit, Some(scratch.oid("HEAD^{tree}"))));
    assert_eq!(scratch.open().find("HEAD").expect("a search").len(), 1);
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let scratch = Scratch::begun();
    let (repository, commit) = (scratch.open(), scratch.oid("HEAD"));
    let with = |megabytes: usize| {
        let mut binding = committed(1, commit);
        let set = &binding.patch_sets[0];
        let diff = Diff::kept("+".repeat(megabytes << 20));
        binding.patch_sets = vec![PatchSet::new(set.id(), set.run(), None, Vec::new(), diff).expect("legal")];
        binding
    };
    match repository.bind(&with(64)) {
        Err(BindError::TooLarge { limit, .. }) => assert_eq!(limit, 64 << 20),
        other => panic!("{other:?}"),
    }
    assert!(!scratch.refs().contains("trunkline"));
    let large = with(63);
    assert!(matches!(repository.bind(&large), Ok(Bound::Now { .. })));
    let read = repository.bound(large.run.id()).expect("it is read").expect("it is there");
    assert_eq!(read.patch_sets, large.patch_sets);
}
