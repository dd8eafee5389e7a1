//! What binding does and what it refuses.

use trunkline_git_binding::{BindError, Bound, State};

use crate::given::{Scratch, committed_on_head, decision_id, given_up, reference, run_id};

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
