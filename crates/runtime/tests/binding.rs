//! Decisions that are bound to a repository, with kills at every write of the store and at every call of git, and with a
//! person who moves the branches meanwhile.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, Limit, Limits, RuntimeError, Stop};

use crate::binding_scene::{Before, CALM, Life, Scene, block_on, model};
use crate::fake_git::{Act, Fault};
use crate::story::replies;

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::Before), Just(Fault::After), Just(Fault::BranchOnly)]
}

const ACTS: [Act; 6] = [Act::Commit, Act::Back, Act::Elsewhere, Act::Amend, Act::Switch, Act::Delete];

fn lives() -> impl Strategy<Value = Life> {
    let before = prop_oneof![
        4 => Just(Before::Nothing),
        2 => prop::sample::select(&ACTS[..]).prop_map(Before::Person),
        1 => Just(Before::Words),
        1 => Just(Before::Abandon),
    ];
    let store = prop::option::of((0..12_usize, any::<bool>()));
    let git = prop::option::of((0..4_usize, faults()));
    let person = prop::option::of((0..6_usize, prop::sample::select(&ACTS[..])));
    (store, git, person, before, prop::bool::weighted(0.9))
        .prop_map(|(store, git, person, before, binds)| Life { store, git, person, before, binds })
}

/// How many records a life leaves at most: the whole story leaves 25, and a race is run five times.
const MOST: usize = 60;

fn source(fault: &RuntimeError) -> String {
    std::error::Error::source(fault).map(ToString::to_string).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_killed_git_and_the_log_end_with_the_same_decisions(
        lives in prop::collection::vec(lives(), 1..7),
        names in any::<bool>(),
    ) {
        block_on(async {
            let mut scene = Scene::new(names);
            let mut records = 0;
            for life in &lives {
                // A life that is cut off says so; what counts is what the next one makes of it.
                if let Err(fault) = scene.live(life).await {
                    let said = fault.to_string() + &source(&fault);
                    assert!(!said.contains("keeps moving"), "nobody moves it that often: {said}");
                }
                let now = scene.records().await;
                assert!(now <= records + MOST, "{life:?} left {} records", now - records);
                records = now;
            }
            scene.check().await;
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_stands_in_the_way_the_same_error_again_leaves_no_record(
        lives in prop::collection::vec(lives(), 0..4),
        names in any::<bool>(),
        broken in prop::option::of(0..4_usize),
        unfit in any::<bool>(),
    ) {
        block_on(async {
            let mut scene = Scene::new(names);
            for life in &lives {
                let _ = scene.live(life).await;
            }
            let mut last = None;
            for _ in 0..4 {
                let git = scene.folder.git.clone();
                (git.lock().unwrap().broken, git.lock().unwrap().unfit) = (broken, unfit);
                let ended = scene.live(&CALM).await.map_err(|fault| fault.to_string() + &source(&fault));
                let now = (ended.err(), scene.records().await);
                if let Some((Some(fault), records)) = &last && now.0.as_ref() == Some(fault) {
                    assert_eq!(now.1, *records, "{fault}");
                }
                last = Some(now);
            }
            (scene.folder.git.lock().unwrap().broken, scene.folder.git.lock().unwrap().unfit) = (None, false);
            scene.check().await;
        });
    }
}

/// Every write and every call of the plain story, one after the other, and then the same in the life that recovers.
#[test]
fn a_kill_at_every_write_and_at_every_call_of_git_leaves_one_commit_and_one_ref() {
    let faults = [Fault::Before, Fault::After, Fault::BranchOnly];
    let calm = CALM;
    let writes =
        (0..16).flat_map(|left| [true, false].map(|kept| Life { store: Some((left, kept)), ..calm.clone() }));
    let calls = (0..4).flat_map(|left| faults.map(|fault| Life { git: Some((left, fault)), ..calm.clone() }));
    let lives: Vec<Life> = writes.chain(calls).collect();
    let mut cut_off = 0;
    for first in &lives {
        for second in lives.iter().step_by(3).chain([&calm]) {
            block_on(async {
                let mut scene = Scene::new(true);
                cut_off += usize::from(scene.live(first).await.is_err());
                let _ = scene.live(second).await;
                scene.check().await;
                let git = scene.folder.git.lock().unwrap();
                assert_eq!((git.refs.len(), git.line().len()), (1, 2), "{first:?} {second:?}");
            });
        }
    }
    assert!(cut_off > lives.len() * 5, "the kills hit something: {cut_off}");
}

#[test]
fn a_run_that_git_holds_is_decided_whatever_was_said_since() {
    block_on(async {
        let mut scene = Scene::new(true);
        let calm = CALM;
        // The second call is the bind; nobody hears that it was done.
        let cut = Life { git: Some((1, Fault::After)), ..calm.clone() };
        assert!(matches!(scene.live(&cut).await, Err(RuntimeError::Workspace(_))));
        let stop = scene.live(&Life { before: Before::Words, ..calm }).await.unwrap();
        let Stop::Decided(second) = stop else { panic!("{stop:?}") };
        scene.check().await;
        let git = scene.folder.git.lock().unwrap();
        assert_eq!(git.refs.len(), 2, "the words began a run of their own");
        assert_eq!(git.refs[&second.run().to_string()], second.print());
    });
}

#[test]
fn what_is_decided_without_a_commit_is_bound_after_it_is_recorded() {
    block_on(async {
        let mut scene = Scene::new(true);
        let calm = CALM;
        let unborn = Life { git: Some((0, Fault::Before)), ..calm.clone() };
        scene.live(&unborn).await.unwrap_err();
        // Git fails in the life that abandons it, so the next one has to make it good.
        let abandon = Life { before: Before::Abandon, git: Some((0, Fault::Before)), ..calm };
        let Ok(Stop::Decided(decision)) = scene.live(&abandon).await else { panic!("no verdict") };
        assert!(matches!(decision.verdict(), Verdict::Abandon { .. }));
        assert!(scene.folder.git.lock().unwrap().refs.is_empty());
        scene.check().await;
        let git = scene.folder.git.lock().unwrap();
        assert_eq!(git.refs[&decision.run().to_string()], decision.print());
        assert_eq!(git.line().len(), 1, "nothing is committed for it");
    });
}

#[test]
fn nothing_is_bound_unless_it_is_asked_for() {
    block_on(async {
        let mut scene = Scene::new(true);
        let quiet = Life { binds: false, ..CALM };
        let Ok(Stop::Decided(_)) = scene.live(&quiet).await else { panic!("no verdict") };
        let again = scene.agent(true).open(scene.store.clone(), scene.session.as_ref().unwrap()).await;
        again.unwrap().resume(&Cancel::new()).await.unwrap();
        let git = scene.folder.git.lock().unwrap();
        assert_eq!((git.refs.len(), git.calls), (0, 0), "also not later, by somebody who binds");
    });
}

#[test]
fn without_its_folder_nothing_is_done_to_a_run_that_git_may_hold() {
    block_on(async {
        let mut scene = Scene::new(true);
        let cut = Life { git: Some((1, Fault::After)), ..CALM };
        scene.live(&cut).await.unwrap_err();
        let id = scene.session.clone().unwrap();
        let blind = scene.world.agent(model).build().unwrap();
        let mut session = blind.open(scene.store.clone(), &id).await.unwrap();
        let fault = session.prompt("go on", &Cancel::new()).await.unwrap_err();
        assert!(matches!(&fault, RuntimeError::Workspace(fault) if fault.message.contains("its folder")));
        drop(session);
        scene.check().await;
        assert_eq!(scene.folder.git.lock().unwrap().refs.len(), 1);
    });
}

#[test]
fn what_a_log_from_elsewhere_was_about_to_bind_is_not_bound_here() {
    block_on(async {
        for fault in [Fault::Before, Fault::BranchOnly] {
            let mut scene = Scene::new(true);
            let calm = CALM;
            scene.live(&Life { git: Some((1, fault)), ..calm.clone() }).await.unwrap_err();
            let id = scene.session.clone().unwrap();
            let old = scene.store.load(&id).await.unwrap();
            let distrust = trunkline_runtime::distrust(Timestamp(1));
            scene.store.post(&id, &distrust.kind, &distrust.body, distrust.at).await.unwrap();
            let Ok(Stop::Decided(decision)) = scene.live(&calm).await else { panic!("no verdict") };
            let text = serde_json::to_string(&decision.print()).unwrap();
            let foreign = old.records.iter().any(|(_, record)| {
                matches!(record, Record::Note(note) if note.kind == "binding" && note.body.contains(&text))
            });
            assert!(!foreign, "{fault:?}: the end of the run was computed here");
            let git = scene.folder.git.lock().unwrap();
            assert_eq!(git.refs[&decision.run().to_string()], decision.print());
        }
    });
}

/// What was applied elsewhere, and proved there, is nothing that the verdict here says of the files here.
#[test]
fn what_an_imported_run_has_applied_elsewhere_is_no_part_of_its_verdict_here() {
    for imported in [false, true] {
        block_on(async {
            let scene = Scene::new(true);
            let turn = Turn::new().call("c1", "edit", &json!({ "path": "Cargo.toml", "text": "new" }));
            let turn = turn.call("c2", "shell", &json!({ "path": "check" }));
            let mut limits = Limits::default();
            limits.turns = 1;
            let agent = |turns| {
                let agent = scene.world.agent(replies(turns)).approval(Approval::Always);
                agent.workspace(Arc::new(scene.folder.clone()))
            };
            let there = agent(vec![turn]).limits(limits).build().unwrap();
            let mut session = there.start(scene.store.clone(), "t", None).await.unwrap();
            let stop = session.prompt("write", &Cancel::new()).await.unwrap();
            assert_eq!(stop, Stop::Limit(Limit::Turns));
            let id = session.id().clone();
            drop(session);
            if imported {
                let distrust = trunkline_runtime::distrust(Timestamp(1));
                scene.store.post(&id, &distrust.kind, &distrust.body, distrust.at).await.unwrap();
            }
            let here = agent(vec![Turn::say("done")]).build().unwrap();
            let mut session = here.open(scene.store.clone(), &id).await.unwrap();
            let Ok(Stop::Decided(decision)) = session.resume(&Cancel::new()).await else {
                panic!("no verdict")
            };
            let said = (
                decision.verdict().to_string().starts_with("other: applied"),
                decision.print().contains("approved_by"),
                !decision.cites().proposals.is_empty(),
                !decision.evidence().is_empty(),
            );
            assert_eq!(said, (!imported, !imported, !imported, !imported), "{}", decision.print());
            if imported {
                let fault = session.rollback(decision.id(), None).await.unwrap_err();
                assert!(matches!(fault, RuntimeError::Refused { .. }), "{fault}");
            }
        });
    }
}
