//! A binding to a commit that its branch holds already, as of a run that has committed by a command: nothing has to move.

use trunkline_git_binding::{BindError, Bound, State};

use crate::faulty::{DEATHS, Faulty};
use crate::given::{Scratch, committed_on_head, run_id};

#[test]
fn it_is_bound_or_not_whatever_is_killed() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        for death in DEATHS {
            for dies_at in 0.. {
                let scratch = Scratch::begun_with(options);
                let commit = scratch.oid("HEAD");
                let binding = committed_on_head(1, commit, commit);
                let (alive, reflog) = (scratch.open(), scratch.git(&["reflog", "show", "main"]));
                assert_eq!(alive.state(&binding).expect("a state"), State::Neither);
                let (dying, faulty) = Faulty::open(&scratch, dies_at, death);
                let told = dying.bind(&binding).is_ok();
                let state = alive.state(&binding).expect("a state");
                assert!(matches!(state, State::Neither | State::Both), "{state:?}");
                assert!(!told || state == State::Both);
                // Nothing was begun as long as nothing is bound.
                assert_eq!(alive.recover(&binding).expect("it is bound"), state);
                assert_eq!(alive.recover(&binding).expect("once more"), State::Both);
                assert!(matches!(alive.bind(&binding), Ok(Bound::Already { state: State::Both, .. })));
                assert_eq!(scratch.oid("main"), commit);
                assert_eq!(scratch.git(&["reflog", "show", "main"]), reflog, "the branch was not moved");
                if told {
                    assert_eq!(dies_at, faulty.calls());
                    break;
                }
            }
        }
    }
}

#[test]
fn a_branch_that_went_on_holds_the_commit_and_one_that_was_moved_elsewhere_does_not() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.save("file-1", "1\n", "by a command");
    let binding = committed_on_head(1, commit, commit);
    let later = scratch.save("later", "1\n", "later");
    assert_eq!(scratch.open().state(&binding).expect("a state"), State::Neither);
    // Taken back, by somebody else.
    scratch.git(&["reset", "-q", "--hard", &base.to_string()]);
    let elsewhere =
        State::Elsewhere { bound: false, branch: "refs/heads/main".to_owned(), found: Some(base) };
    assert_eq!(scratch.open().state(&binding).expect("a state"), elsewhere);
    for outcome in [scratch.open().bind(&binding).map(drop), scratch.open().recover(&binding).map(drop)] {
        assert!(matches!(outcome, Err(BindError::BranchMoved { .. })), "{outcome:?}");
    }
    assert!(scratch.open().bound(run_id(1)).expect("it is read").is_none());
    scratch.git(&["reset", "-q", "--hard", &later.to_string()]);
    assert!(matches!(scratch.open().bind(&binding), Ok(Bound::Now { .. })));
    assert_eq!((scratch.oid("main"), scratch.open().state(&binding).expect("a state")), (later, State::Both));
    scratch.git(&["reset", "-q", "--hard", &base.to_string()]);
    assert!(matches!(scratch.open().recover(&binding), Err(BindError::BranchElsewhere { .. })));
}
