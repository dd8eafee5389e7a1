//! Several at once.

use std::sync::Barrier;

use trunkline_decision_objects::DecisionId;
use trunkline_git_binding::{BindError, Bound, Packed, State};

use crate::given::{Scratch, committed_on_head, decision_id, given_up, run_id};

/// Runs this many threads from one start, and returns what each made of it.
fn together<T: Send>(count: u128, act: impl Fn(u128) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(usize::try_from(count).expect("a few"));
    std::thread::scope(|scope| {
        let start = |number| {
            let (barrier, act) = (&barrier, &act);
            scope.spawn(move || {
                barrier.wait();
                act(number)
            })
        };
        let threads: Vec<_> = (1..=count).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn of_several_who_decide_a_run_one_wins_and_all_others_name_it() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        for run in 1..=4 {
            let scratch = Scratch::begun_with(options);
            let outcomes = together(6, |number| scratch.open().bind(&given_up(run, number)));
            let read = scratch.open().bound(run_id(run)).expect("it is read").expect("it is there");
            let won: Vec<DecisionId> = (1_u128..)
                .zip(&outcomes)
                .filter(|(_, outcome)| matches!(outcome, Ok(Bound::Now { .. })))
                .map(|(number, _)| decision_id(number))
                .collect();
            assert_eq!(won, [read.decision.id()]);
            for outcome in outcomes {
                match outcome {
                    Ok(Bound::Now { .. }) => {}
                    Err(BindError::AlreadyBound { first, .. }) => assert_eq!(first, won[0]),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn the_same_decision_from_several_is_bound_once() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commit = scratch.candidate(base, 1);
    let binding = committed_on_head(1, base, commit);
    let outcomes = together(5, |_| scratch.open().bind(&binding).expect("bound, now or already"));
    let now = outcomes.iter().filter(|outcome| matches!(outcome, Bound::Now { .. })).count();
    assert_eq!(now, 1);
    assert_eq!(scratch.open().recover(&binding).expect("a state"), State::Both);
    assert_eq!(scratch.git(&["reflog", "show", "--format=%gs", "main"]).lines().count(), 2);
}

#[test]
fn of_several_who_move_a_branch_one_wins_and_the_others_bind_nothing() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let commits: Vec<_> = (1..=5).map(|run| scratch.candidate(base, run)).collect();
    let commit = |run: u128| commits[usize::try_from(run - 1).expect("a few")];
    let outcomes = together(5, |run| scratch.open().bind(&committed_on_head(run, base, commit(run))));
    let all = scratch.open().all().expect("a list").decisions;
    let [winner] = all.as_slice() else { panic!("{} are bound", all.len()) };
    assert_eq!(winner.link.commit, Some(scratch.oid("main")));
    for (run, outcome) in (1_u128..).zip(outcomes) {
        match outcome {
            Ok(Bound::Now { .. }) => assert_eq!(winner.decision.run(), run_id(run)),
            Err(BindError::BranchMoved { found, .. }) => assert_eq!(found, winner.link.commit),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn many_are_bound_while_others_pack_and_clean_up() {
    let scratch = Scratch::begun();
    together(4, |thread| {
        for number in 0..15_u128 {
            match (thread, number) {
                (1, _) => scratch.open().pack_all_refs().expect("they are packed"),
                (2, 0..3) => {
                    scratch.git(&["gc", "-q"]);
                }
                (2, _) => {}
                (thread, number) => {
                    let run = thread << 8 | number;
                    let bound = scratch.open().bind(&given_up(run, run));
                    assert!(matches!(bound, Ok(Bound::Now { .. })), "{bound:?}");
                }
            }
        }
    });
    let all = scratch.open().all().expect("a list");
    assert_eq!((all.decisions.len(), all.unreadable.len()), (30, 0));
    scratch.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn refs_are_packed_in_time_and_only_ours() {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    assert!(matches!(repository.bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
    assert_eq!(repository.pack_if_due().expect("counted"), Packed::NotDue { loose: 0 });
    // As many refs more, by plain git, which is faster.
    let tree = scratch.git(&["rev-parse", &crate::given::reference(1)]);
    let list: String =
        (2..2_000).map(|run| format!("create {} {tree}\n", crate::given::reference(run))).collect();
    let file = scratch.folder.path().join("refs");
    std::fs::write(&file, list).expect("a file");
    let stdin = std::fs::File::open(&file).expect("a file");
    let made = crate::given::plain_git(scratch.root()).args(["update-ref", "--stdin"]).stdin(stdin).status();
    assert!(made.expect("git runs").success());

    let before = scratch.refs();
    assert!(matches!(repository.pack_if_due(), Ok(Packed::Now { loose: 1_000.. })));
    assert_eq!(scratch.refs(), before);
    let packed = std::fs::read_to_string(scratch.root().join(".git/packed-refs")).expect("a file");
    assert_eq!(packed.matches("refs/trunkline/").count(), 1_999);
    assert!(!packed.contains("refs/heads/main"), "others stay as they are");
    assert!(matches!(repository.pack_if_due(), Ok(Packed::NotDue { .. })));
    assert!(
        matches!(repository.bind(&given_up(1, 2)), Err(BindError::AlreadyBound { .. })),
        "packed counts, too"
    );

    let tables = Scratch::begun_with(&["--ref-format=reftable"]);
    assert_eq!(tables.open().pack_if_due().expect("an answer"), Packed::ByItself);
}

#[test]
fn several_who_bind_different_runs_do_not_disturb_each_other() {
    for options in [[].as_slice(), &["--ref-format=reftable"]] {
        let scratch = Scratch::begun_with(options);
        let bind = |thread: u128| {
            let repository = scratch.open();
            let runs = (0..8_u128).map(|number| thread << 8 | number);
            runs.map(|run| repository.bind(&given_up(run, run)))
                .filter(|outcome| matches!(outcome, Ok(Bound::Now { .. })))
                .count()
        };
        assert_eq!(together(4, bind), [8; 4]);
        assert_eq!(scratch.open().all().expect("a list").decisions.len(), 32);
    }
}
