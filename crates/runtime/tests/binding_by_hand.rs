//! What a person does with the branch while a decision is not bound yet, and causes that do not go away.

use trunkline_runtime::decision_objects::{Decision, Verdict};
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::session_store::{Batch, Claim, Position, Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, CloseAs, RuntimeError, Stop};

use crate::binding_scene::{Before, CALM, Life, Scene, block_on, model};
use crate::fake_git::{Act, Fault};

/// A run whose commit is on the branch, and whose decision nobody holds: git was killed in between.
const CUT_OFF: Life = Life { git: Some((1, Fault::BranchOnly)), ..CALM };

fn decided(stop: Result<Stop, RuntimeError>) -> Decision {
    match stop {
        Ok(Stop::Decided(decision)) => *decision,
        other => panic!("no verdict: {other:?}"),
    }
}

fn message(fault: RuntimeError) -> String {
    match fault {
        RuntimeError::Workspace(fault) => fault.message,
        other => panic!("{other}"),
    }
}

#[test]
fn a_commit_that_a_person_took_off_is_not_put_back_and_the_verdict_says_so() {
    for names in [true, false] {
        for act in [Act::Commit, Act::Back, Act::Elsewhere, Act::Amend, Act::Switch, Act::Delete] {
            block_on(async {
                let mut scene = Scene::new(names);
                scene.live(&CUT_OFF).await.unwrap_err();
                let ours = scene.folder.git.lock().unwrap().tip().unwrap();
                let life = Life { before: Before::Person(act), ..CALM };
                // What is half done is brought to its end as soon as the session is opened.
                scene.live(&life).await.unwrap();
                let decision = scene.last().await;
                let (mine, tip) = {
                    let git = scene.folder.git.lock().unwrap();
                    assert_eq!(git.refs[&decision.run().to_string()], decision.print(), "{act:?}");
                    (git.line().contains(&ours), git.tip().unwrap())
                };
                match (act, decision.verdict()) {
                    (
                        Act::Back | Act::Elsewhere | Act::Amend,
                        Verdict::Other { label, reason, patch_set },
                    ) => {
                        assert_eq!(label.as_str(), "taken_back");
                        assert!(reason.as_str().contains(&ours), "{reason}");
                        assert!(patch_set.is_some() && !mine);
                    }
                    (Act::Commit | Act::Switch, Verdict::Commit { commit, .. }) => {
                        assert_eq!((commit.to_string(), mine), (ours, true));
                    }
                    // Where its branch is gone nobody can tell that it was there.
                    (Act::Delete, Verdict::Commit { commit, .. }) => {
                        assert_eq!(commit.to_string(), tip);
                    }
                    (_, verdict) => panic!("{act:?}: {verdict}"),
                }
                let records = scene.records().await;
                assert_eq!(scene.live(&CALM).await.unwrap(), Stop::Idle);
                assert_eq!(scene.records().await, records, "that is the end of it");
                scene.check().await;
            });
        }
    }
}

#[test]
fn nor_does_somebody_who_commits_without_binding_put_it_back() {
    block_on(async {
        let mut scene = Scene::new(false);
        scene.live(&CUT_OFF).await.unwrap_err();
        scene.folder.git.lock().unwrap().disturb(Act::Back);
        let agent = scene.world.agent(model).approval(Approval::Always);
        let agent = agent.workspace(std::sync::Arc::new(scene.folder.clone())).commits(true);
        let id = scene.session.clone().unwrap();
        let mut session = agent.build().unwrap().open(scene.store.clone(), &id).await.unwrap();
        let decision = decided(session.resume(&Cancel::new()).await);
        assert!(decision.verdict().to_string().contains("taken_back"), "{}", decision.verdict());
        assert_eq!(scene.folder.git.lock().unwrap().line().len(), 1);
    });
}

#[test]
fn words_that_come_after_it_begin_a_commit_of_their_own() {
    block_on(async {
        let mut scene = Scene::new(true);
        scene.live(&CUT_OFF).await.unwrap_err();
        scene.folder.git.lock().unwrap().disturb(Act::Back);
        let words = Life { before: Before::Words, ..CALM };
        let decision = decided(scene.live(&words).await);
        assert!(matches!(decision.verdict(), Verdict::Commit { .. }), "{}", decision.verdict());
        scene.check().await;
    });
}

/// What stands in the way stays: the same words each time, and nothing more in the log.
#[test]
fn a_resume_that_ends_as_the_one_before_leaves_no_record() {
    for (unfit, broken) in [(true, None), (false, Some(0)), (false, Some(1)), (false, Some(2))] {
        for names in [true, false] {
            block_on(async {
                let mut scene = Scene::new(names);
                let mut said: Vec<(String, usize)> = Vec::new();
                for _ in 0..4 {
                    scene.folder.git.lock().unwrap().unfit = unfit;
                    scene.folder.git.lock().unwrap().broken = broken;
                    let Err(fault) = scene.live(&CALM).await else { break };
                    said.push((message(fault), scene.records().await));
                }
                said.dedup();
                match (unfit, broken) {
                    // It is bound by then, or there is no such call.
                    (false, Some(2)) => assert!(said.len() <= 1, "{said:?}"),
                    // Before there is a note nothing has to be asked first.
                    (false, Some(1)) => assert!(said.len() <= 2, "{said:?}"),
                    _ => assert_eq!(said.len(), 1, "{said:?}"),
                }
                if unfit {
                    let (text, _) = &said[0];
                    let run = scene.open_run().await;
                    assert!(text.contains("it cannot be read") && text.contains(&run), "{text}");
                    assert!(text.contains("abandon") && !text.contains("keeps moving"), "{text}");
                    let abandon = Life { before: Before::Abandon, ..CALM };
                    let decision = decided(scene.live(&abandon).await);
                    assert!(matches!(decision.verdict(), Verdict::Abandon { .. }));
                }
            });
        }
    }
}

#[test]
fn who_races_is_tried_again_a_few_times_and_each_time_anew() {
    block_on(async {
        let mut scene = Scene::new(true);
        scene.folder.git.lock().unwrap().racing = true;
        let text = message(scene.live(&CALM).await.unwrap_err());
        assert!(text.contains("keeps moving the branch") && text.contains("it was moved"), "{text}");
        let before = scene.records().await;
        let again = message(scene.live(&CALM).await.unwrap_err());
        assert_eq!((again, scene.records().await), (text, before + 5), "five tries, a note each");
        scene.folder.git.lock().unwrap().racing = false;
        let decision = decided(scene.live(&CALM).await);
        assert!(matches!(decision.verdict(), Verdict::Commit { .. }));
        scene.check().await;
    });
}

/// The folder is gone, or git is: nobody can tell what git holds. A person can give the run up with words.
#[test]
fn a_run_that_git_cannot_be_asked_about_can_be_abandoned() {
    for with_folder in [true, false] {
        block_on(async {
            let mut scene = Scene::new(true);
            scene.live(&CUT_OFF).await.unwrap_err();
            scene.folder.git.lock().unwrap().broken = Some(0);
            let id = scene.session.clone().unwrap();
            let agent = match with_folder {
                true => scene.agent(true),
                false => scene.world.agent(model).build().unwrap(),
            };
            let mut session = agent.open(scene.store.clone(), &id).await.unwrap();
            let run = session.open_run().unwrap().to_string();
            let retry = CloseAs::Retry { reason: "again".to_owned() };
            let records = scene.records().await;
            for fault in [
                session.resume(&Cancel::new()).await.unwrap_err(),
                session.prompt("go on", &Cancel::new()).await.unwrap_err(),
                session.close_run(retry).await.unwrap_err(),
            ] {
                let text = message(fault);
                assert!(text.contains(&run) && text.contains("abandon the run with words"), "{text}");
            }
            assert_eq!(scene.records().await, records);
            let abandon = CloseAs::Abandon { reason: "its folder is gone".to_owned() };
            let decision = session.close_run(abandon).await.unwrap();
            assert!(matches!(decision.verdict(), Verdict::Abandon { .. }));
            assert_eq!(session.decisions().iter().count(), 1);
            assert!(session.open_run().is_none());
            if !with_folder {
                assert_eq!(session.resume(&Cancel::new()).await.unwrap(), Stop::Idle);
            }
        });
    }
}

/// Likewise by a letter, which reaches whoever holds the session all the while.
#[test]
fn such_a_run_can_be_abandoned_by_a_letter() {
    for way in 0..3 {
        block_on(async {
            let mut scene = Scene::new(true);
            scene.live(&CUT_OFF).await.unwrap_err();
            scene.folder.git.lock().unwrap().broken = Some(0);
            let id = scene.session.clone().unwrap();
            let mut session = scene.agent(true).open(scene.store.clone(), &id).await.unwrap();
            let run = session.open_run().unwrap();
            let close = |close| Order::CloseRun { run, close };
            let retry = close(CloseAs::Retry { reason: "again".to_owned() });
            let abandon = close(CloseAs::Abandon { reason: "its folder is gone".to_owned() });
            let post = async |request| post(scene.store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
            let waits = post(retry).await;
            message(session.resume(&Cancel::new()).await.unwrap_err());
            assert_eq!(scene.store.inbox(&id).await.unwrap().len(), 1, "that one waits for git");
            let letter = post(abandon).await;
            match way {
                0 => session.read_letters().await.unwrap(),
                1 => drop(session.resume(&Cancel::new()).await),
                _ => drop(session.prompt("something else", &Cancel::new()).await),
            }
            let first = session.decisions().iter().next().unwrap();
            assert_eq!(
                (first.run(), first.verdict().to_string().as_str()),
                (run, "abandon: its folder is gone")
            );
            for letter in [waits, letter] {
                let settled = settled(scene.store.as_ref(), &id, letter).await.unwrap();
                assert_eq!(matches!(settled, Settled::Done { .. }), letter != waits, "{settled:?}");
            }
        });
    }
}

/// Nobody knows whether git holds it: nothing says that it is open.
#[test]
fn what_did_not_say_whether_it_was_bound_is_not_said_to_be_open() {
    for fault in [Fault::Before, Fault::After, Fault::BranchOnly] {
        block_on(async {
            let mut scene = Scene::new(true);
            let text = message(scene.live(&Life { git: Some((1, fault)), ..CALM }).await.unwrap_err());
            assert!(!text.contains("still open") && text.contains("may be decided in git"), "{text}");
            assert!(
                text.contains("the power went out") && text.contains("abandon the run with words"),
                "{text}"
            );
        });
    }
}

#[test]
fn what_is_not_bound_is_told_once_with_what_to_do() {
    block_on(async {
        let mut scene = Scene::new(true);
        let unborn = Life { git: Some((0, Fault::Before)), ..CALM };
        scene.live(&unborn).await.unwrap_err();
        let abandon = Life { before: Before::Abandon, ..CALM };
        scene.folder.git.lock().unwrap().broken = Some(0);
        let run = decided(scene.live(&abandon).await).run().to_string();
        scene.told.lock().unwrap().clear();
        let records = scene.records().await;
        assert_eq!(scene.live(&CALM).await.unwrap(), Stop::Idle);
        let told = scene.told.lock().unwrap().clone();
        assert_eq!(
            told.len(),
            1,
            "once, though it was tried when it was opened and when it was driven: {told:?}"
        );
        assert!(told[0].starts_with(&run) && told[0].contains("trunkline resume --bind"), "{told:?}");
        assert_eq!(scene.records().await, records);
    });
}

/// A log that something has damaged: it can be looked at, and its run be ended.
#[test]
fn what_was_about_to_be_bound_and_cannot_be_read_is_no_dead_end() {
    block_on(async {
        let mut scene = Scene::new(true);
        scene.live(&CUT_OFF).await.unwrap_err();
        let id = scene.session.clone().unwrap();
        let log = scene.store.load(&id).await.unwrap();
        let mut notes = log.records.iter().filter_map(|(_, record)| match record {
            Record::Note(note) if note.kind == "binding" => Some(note.clone()),
            _ => None,
        });
        let mut note = notes.next_back().unwrap();
        note.body = note.body.replace("\"body\":\"{", "\"body\":\"{{");
        let lease = scene.store.claim(&id, Claim::TakeOver).await.unwrap();
        let info = scene.store.info(&id).await.unwrap();
        let at = Position { seq: info.records, head: info.head };
        scene.store.append(&lease, Batch::new(at, vec![Record::Note(note)])).await.unwrap();
        drop(lease);
        let text = message(scene.live(&CALM).await.unwrap_err());
        assert!(text.contains("abandon the run with words"), "{text}");
        let abandon = Life { before: Before::Abandon, ..CALM };
        assert!(matches!(decided(scene.live(&abandon).await).verdict(), Verdict::Abandon { .. }));
    });
}
