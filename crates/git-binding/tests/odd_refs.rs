//! Refs that are links to other refs.

use trunkline_git_binding::{BindError, Bound, Branch, BranchMove, Head, State};

use crate::given::{Scratch, committed, committed_on_head, given_up, reference, run_id};

const FORMATS: [&[&str]; 2] = [&[], &["--ref-format=reftable"]];

#[test]
fn a_link_in_the_place_of_a_decision_is_named_and_not_followed() {
    for options in FORMATS {
        let scratch = Scratch::begun_with(options);
        let (repository, base) = (scratch.open(), scratch.oid("HEAD"));
        // To a branch, and to what is another run's decision.
        repository.bind(&given_up(7, 7)).expect("it is bound");
        for target in ["refs/heads/main".to_owned(), reference(7)] {
            scratch.git(&["symbolic-ref", &reference(1), &target]);
            let refs = scratch.refs();
            let binding = committed_on_head(1, base, scratch.candidate(base, 1));
            let faults = [
                repository.state(&binding).map(drop),
                repository.bind(&binding).map(drop),
                repository.recover(&binding).map(drop),
                repository.bound(run_id(1)).map(drop),
            ];
            for fault in faults {
                match fault {
                    Err(BindError::NotADecision { reference: named, why }) => {
                        assert_eq!(named, reference(1));
                        assert!(why.contains(&target), "{why}");
                    }
                    other => panic!("{other:?}"),
                }
            }
            let all = repository.all().expect("a list");
            assert_eq!((all.decisions.len(), all.unreadable.len()), (1, 1));
            assert_eq!(all.unreadable[0].reference, reference(1));
            assert_eq!(scratch.refs(), refs);
            // As the command that binds says it.
            scratch.git(&["update-ref", "--no-deref", "-d", &reference(1)]);
        }
        assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
    }
}

/// Git does not list it. It holds nothing, and what it points to is not made.
#[test]
fn a_link_to_nowhere_in_the_place_of_a_decision_gives_way() {
    for options in FORMATS {
        let scratch = Scratch::begun_with(options);
        scratch.git(&["symbolic-ref", &reference(1), "refs/heads/nowhere"]);
        assert!(matches!(scratch.open().bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
        assert!(!scratch.refs().contains("nowhere"), "{}", scratch.refs());
        assert_eq!(scratch.open().state(&given_up(1, 1)).expect("a state"), State::Both);
        assert!(scratch.open().bound(run_id(1)).expect("it is read").is_some());
    }
}

#[test]
fn a_branch_that_is_another_name_of_a_branch_moves_that_one() {
    for options in FORMATS {
        for checked_out in [false, true] {
            let scratch = Scratch::begun_with(options);
            let (repository, base) = (scratch.open(), scratch.oid("HEAD"));
            scratch.git(&["branch", "other"]);
            scratch.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/other"]);
            let commit = scratch.candidate(base, 1);
            let mut binding = committed(1, commit);
            let branch = if checked_out {
                scratch.git(&["switch", "-q", "alias"]);
                let Ok(Head::Branch { name, .. }) = repository.head() else { panic!("it is on a branch") };
                assert_eq!(name, "refs/heads/other", "what moves is what is named");
                Branch::Head
            } else {
                Branch::Named("refs/heads/alias".to_owned())
            };
            binding.move_branch = Some(BranchMove { branch, from: Some(base), to: commit });
            assert!(matches!(repository.bind(&binding), Ok(Bound::Now { .. })));
            assert_eq!(repository.state(&binding).expect("a state"), State::Both);
            assert_eq!((scratch.oid("main"), scratch.oid("other")), (base, commit));
            assert_eq!(scratch.git(&["symbolic-ref", "refs/heads/alias"]), "refs/heads/other");
            // Put back, by its own name: that is seen.
            scratch.git(&["update-ref", "refs/heads/other", &base.to_string()]);
            assert!(matches!(repository.recover(&binding), Err(BindError::BranchElsewhere { .. })));
            assert_eq!(scratch.oid("other"), base);
        }
    }
}
