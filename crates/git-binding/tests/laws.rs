//! Any sequence of bindings, deaths and plain git leaves what a small model says.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{BindError, Binding, Bound, State};

use crate::faulty::{DEATHS, Death, Faulty};
use crate::given::{Scratch, committed_on_head, given_up};

#[derive(Debug, Clone)]
enum Act {
    /// Binds a run that is not bound yet, from where the branch is or from where it was at first; git may die.
    Bind { run: u128, moves: bool, stale: bool, death: Option<(usize, Death, bool)> },
    /// Binds what is bound already.
    Again { run: u128 },
    /// Decides otherwise what is bound already.
    Otherwise { run: u128 },
    /// A person commits.
    Person,
    /// A person cleans up.
    CleanUp,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let death = (0_usize..7, prop::sample::select(DEATHS.as_slice()), any::<bool>());
    let bind = (1_u128..5, any::<bool>(), prop::bool::weighted(0.2), prop::option::of(death));
    let act = prop_oneof![
        4 => bind.prop_map(|(run, moves, stale, death)| Act::Bind { run, moves, stale, death }),
        1 => (1_u128..5).prop_map(|run| Act::Again { run }),
        1 => (1_u128..5).prop_map(|run| Act::Otherwise { run }),
        1 => Just(Act::Person),
        1 => Just(Act::CleanUp),
    ];
    prop::collection::vec(act, 1..8)
}

/// What should be.
struct Model {
    bound: BTreeMap<u128, Binding>,
    main: GitOid,
}

fn bind(
    scratch: &Scratch,
    model: &mut Model,
    binding: Binding,
    run: u128,
    death: Option<(usize, Death, bool)>,
) {
    let goes_to = binding.move_branch.as_ref().map_or(model.main, |wanted| wanted.to);
    let stale = binding.move_branch.as_ref().is_some_and(|wanted| wanted.from != Some(model.main));
    let alive = scratch.open();
    let Some((dies_at, death, recovers)) = death else {
        match alive.bind(&binding) {
            Err(BindError::BranchMoved { found, .. }) => assert!(stale && found == Some(model.main)),
            Ok(Bound::Now { .. }) if !stale => {
                model.bound.insert(run, binding);
                model.main = goes_to;
            }
            other => panic!("{other:?}"),
        }
        return;
    };
    let (dying, _) = Faulty::open(scratch, dies_at, death);
    let told = dying.bind(&binding).is_ok();
    let torn = death == Death::OnlyUpdate;
    let done = if recovers || (torn && !told) {
        match alive.recover(&binding) {
            Ok(_) => true,
            Err(BindError::BranchMoved { .. }) if stale => false,
            Err(error) => panic!("{error}"),
        }
    } else {
        match alive.state(&binding).expect("a state") {
            State::Both => true,
            State::Neither => false,
            State::Elsewhere { bound: false, .. } if stale => false,
            state => panic!("{state:?}"),
        }
    };
    assert!(done || !told, "what was told to be bound is");
    assert!(!(done && stale));
    if done {
        model.bound.insert(run, binding);
        model.main = goes_to;
    }
}

fn act(scratch: &Scratch, model: &mut Model, act: Act, first: GitOid, number: usize) {
    let fresh = u128::try_from(number).expect("a few") << 32;
    match act {
        Act::Bind { run, moves, stale, death } if !model.bound.contains_key(&run) => {
            let binding = if moves {
                let from = if stale { first } else { model.main };
                let mut binding = committed_on_head(run, from, scratch.candidate(from, fresh + run));
                if model.main == first {
                    // Then it is not stale at all.
                    binding.move_branch.as_mut().expect("it moves").from = Some(first);
                }
                binding
            } else {
                given_up(run, fresh + run)
            };
            bind(scratch, model, binding, run, death);
        }
        Act::Again { run } => {
            if let Some(binding) = model.bound.get(&run) {
                let again = scratch.open().bind(binding);
                assert!(matches!(again, Ok(Bound::Already { state: State::Both, .. })), "{again:?}");
            }
        }
        Act::Otherwise { run } | Act::Bind { run, .. } => {
            if let Some(binding) = model.bound.get(&run) {
                match scratch.open().bind(&given_up(run, fresh + run)) {
                    Err(BindError::AlreadyBound { first, .. }) => assert_eq!(first, binding.decision.id()),
                    other => panic!("{other:?}"),
                }
            }
        }
        Act::Person => {
            scratch.git(&["reset", "-q", "--hard"]);
            model.main = scratch.save(&format!("person-{number}"), "text\n", "by a person");
        }
        Act::CleanUp => {
            scratch.git(&["gc", "-q", "--prune=now"]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_decisions_and_branch_are_what_the_model_says(acts in acts(), tables in any::<bool>()) {
        let scratch = Scratch::begun_with(if tables { &["--ref-format=reftable"] } else { &[] });
        let first = scratch.oid("main");
        let mut model = Model { bound: BTreeMap::new(), main: first };
        for (number, next) in (1..).zip(acts) {
            act(&scratch, &mut model, next, first, number);
            prop_assert_eq!(scratch.oid("main"), model.main);
            let all = scratch.open().all().expect("a list");
            prop_assert!(all.unreadable.is_empty());
            let found: Vec<_> = all.decisions.into_iter().map(|bound| bound.decision).collect();
            let expected: Vec<_> = model.bound.values().map(|binding| binding.decision.clone()).collect();
            prop_assert_eq!(found, expected);
        }
        scratch.git(&["fsck", "--strict", "--no-dangling"]);
    }
}
