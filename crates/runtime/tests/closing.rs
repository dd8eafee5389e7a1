//! Runs that a person ends: put down, given up, or to be tried again.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::decision_objects::{Alternative, Predecessor, RunRecord, Verdict};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::Verdict as Answer;
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{Approval, Cancel, CloseAs, Limits, RuntimeError, Said, Stop};

use crate::fake_folder::{Act, FakeFolder};
use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

fn all_ways() -> [CloseAs; 3] {
    let text = || "the \u{1b}[31mother\u{1b}[0m way\nand so on".to_owned();
    [
        CloseAs::Checkpoint { words: text() },
        CloseAs::Abandon { reason: text() },
        CloseAs::Retry { reason: text() },
    ]
}

/// A run that has written `a` and stops at the limit of turns: open, with nothing unsettled.
async fn at_the_limit(world: &World) -> Story {
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = world.agent(replies(vec![edit, Turn::say("done"), Turn::say("again")]));
    let mut story = Story::begin(world.clone(), agent.approval(Approval::Always).limits(limits)).await;
    assert_eq!(stop_line(&story.prompt("write a").await), "at the limit of turns");
    assert!(story.session.open_run().is_some());
    story
}

/// Returns every run that was opened, oldest first.
async fn opened(store: &dyn SessionStore, id: &SessionId) -> Vec<RunRecord> {
    let log = store.load(id).await.unwrap();
    let opened = log.records.iter().filter_map(|(_, record)| match record {
        Record::Note(note) if (note.layer.as_str(), note.kind.as_str()) == ("decision", "opened") => {
            let body: serde_json::Value = serde_json::from_str(&note.body).unwrap();
            Some(RunRecord::parse(body["run"].as_str().unwrap().as_bytes()).unwrap())
        }
        _ => None,
    });
    opened.collect()
}

#[tokio::test]
async fn a_checkpoint_closes_the_run_and_what_comes_next_continues_it() {
    for words in [None, Some("and then b")] {
        let mut story = at_the_limit(&World::default()).await;
        let run = story.session.open_run().unwrap();
        let closed = story.session.close_run(CloseAs::Checkpoint { words: "a is written".to_owned() }).await;
        let decision = closed.unwrap();
        expect!["checkpoint: a is written"].assert_eq(&decision.verdict().to_string());
        assert_eq!((decision.run(), story.session.open_run().is_some()), (run, false));
        assert_eq!(decision.decided_by().id.as_str(), "user");
        let stop = match words {
            Some(words) => story.prompt(words).await,
            None => story.resume().await,
        };
        assert_eq!(stop_line(&stop), "decided other: answered");
        let runs = opened(story.store.as_ref(), &story.id()).await;
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[1].opening().predecessor, Some(Predecessor::Continues(run)));
    }
}

#[tokio::test]
async fn every_reply_is_paid_by_one_run() {
    let world = World::default();
    let turns = vec![Turn::say("one"), Turn::say("two"), Turn::say("three"), Turn::say("four")];
    let mut story = Story::begin(world.clone(), world.agent(replies(turns))).await;
    story.prompt("first").await.unwrap();
    story.prompt("second").await.unwrap();
    // A run goes on from a message that is older than what others were paid for.
    for to in [1, 3] {
        story.session.go(NodeId::new(to)).await.unwrap();
        assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    }
    let replies = story.session.tree().nodes().filter_map(|(_, node)| node.message().usage);
    let paid: Vec<u64> = replies.map(|usage| usage.output_tokens).collect();
    let billed = story.session.decisions().iter().map(|one| one.cites().cost.unwrap().output_tokens);
    assert_eq!((paid.len(), billed.sum::<u64>()), (4, paid.iter().sum::<u64>()));
}

#[tokio::test]
async fn what_was_given_up_rests_until_somebody_says_more() {
    let mut story = at_the_limit(&World::default()).await;
    story.session.close_run(CloseAs::Abandon { reason: "nobody needs it".to_owned() }).await.unwrap();
    let asked = story.world.requests.lock().unwrap().len();
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
    assert_eq!(story.world.requests.lock().unwrap().len(), asked, "the model is not asked");
    assert_eq!(stop_line(&story.prompt("something else").await), "decided other: answered");
    let runs = opened(story.store.as_ref(), &story.id()).await;
    assert_eq!(runs.last().unwrap().opening().predecessor, None, "an abandoned run has no successor");
}

#[tokio::test]
async fn a_run_that_is_to_be_tried_again_has_its_successor_in_the_same_batch() {
    let mut story = at_the_limit(&World::default()).await;
    let run = story.session.open_run().unwrap();
    let before = story.store.info(&story.id()).await.unwrap().records;
    let decision =
        story.session.close_run(CloseAs::Retry { reason: "write b instead".to_owned() }).await.unwrap();
    expect!["retry: write b instead"].assert_eq(&decision.verdict().to_string());
    let runs = opened(story.store.as_ref(), &story.id()).await;
    assert_eq!(runs[1].opening().predecessor, Some(Predecessor::RetryOf(run)));
    assert_eq!(runs[1].opening().goal, "write b instead");
    assert_eq!(story.session.open_run(), Some(runs[1].id()));
    assert!(story.store.info(&story.id()).await.unwrap().records > before);
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(story.world.last_request().contains("write b instead"), "{}", story.world.last_request());
}

#[tokio::test]
async fn no_run_is_closed_twice_and_none_without_words() {
    for how in all_ways() {
        let mut story = at_the_limit(&World::default()).await;
        let mute = match how {
            CloseAs::Checkpoint { .. } => CloseAs::Checkpoint { words: " \n".to_owned() },
            CloseAs::Abandon { .. } => CloseAs::Abandon { reason: String::new() },
            _ => CloseAs::Retry { reason: "\t".to_owned() },
        };
        let records = story.store.info(&story.id()).await.unwrap().records;
        assert!(matches!(story.session.close_run(mute).await, Err(RuntimeError::Refused { .. })));
        assert_eq!(story.store.info(&story.id()).await.unwrap().records, records);
        story.session.close_run(how.clone()).await.unwrap();
        if !matches!(how, CloseAs::Retry { .. }) {
            let again = story.session.close_run(how).await;
            assert!(matches!(again, Err(RuntimeError::NoOpenRun)), "{again:?}");
        }
    }
}

#[tokio::test]
async fn a_run_is_not_closed_while_something_in_it_may_still_be_written() {
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let agent = world.agent(replies(vec![edit, Turn::say("done")])).approval(Approval::Person);
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("write a").await), "waiting for p1");
    for how in all_ways() {
        let fault = story.session.close_run(how).await.unwrap_err();
        assert!(matches!(&fault, RuntimeError::Unsettled { proposals } if *proposals == ["p1"]));
        expect!["p1 is unsettled in this run: decide on what is proposed, or discard it, first"]
            .assert_eq(&fault.to_string());
    }
    assert!(story.session.open_run().is_some());
}

#[tokio::test]
async fn calls_that_have_not_run_do_not_run_and_say_so() {
    let world = World::default();
    let sleep =
        Turn::new().call("c1", "sleep", &json!({ "path": "x" })).call("c2", "sleep", &json!({ "path": "y" }));
    let agent = world.agent(replies(vec![sleep, Turn::say("done")]));
    let mut story = Story::begin(world, agent).await;
    let id = story.id();
    let store: Arc<MemoryStore> = story.store.clone();
    let run = async {
        while story.world.effects().is_empty() {
            tokio::task::yield_now().await;
        }
        let run = opened(store.as_ref(), &id).await[0].id();
        let close = CloseAs::Abandon { reason: "it sleeps".to_owned() };
        let letter = post(store.as_ref(), &id, &Order::CloseRun { run, close }, Timestamp(1)).await.unwrap();
        settled(store.as_ref(), &id, letter).await.unwrap()
    };
    let (cancel, world) = (Cancel::new(), story.world.clone());
    let (stop, letter) = tokio::join!(story.session.prompt("sleep", &cancel), run);
    assert_eq!(stop_line(&stop), "decided abandon: it sleeps");
    assert!(matches!(letter, Settled::Done { .. }), "{letter:?}");
    assert_eq!(world.effects(), ["sleeps"], "the second call never began");
    assert!(story.session.open_run().is_none());
    let tree = story.tree();
    assert!(tree.contains("not run"), "{tree}");
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
}

#[tokio::test]
async fn a_letter_that_means_another_run_closes_none() {
    let mut story = at_the_limit(&World::default()).await;
    let (id, old) = (story.id(), story.session.open_run().unwrap());
    story.session.close_run(CloseAs::Checkpoint { words: "so far".to_owned() }).await.unwrap();
    let close = CloseAs::Abandon { reason: "late".to_owned() };
    let request = Order::CloseRun { run: old, close };
    let letter = post(story.store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
    // The next run begins before anybody reads it.
    assert_eq!(stop_line(&story.prompt("go on").await), "decided other: answered");
    let Settled::Refused { reason } = settled(story.store.as_ref(), &id, letter).await.unwrap() else {
        panic!("it took effect")
    };
    assert!(reason.contains("is over") || reason.contains("no run is open"), "{reason}");
}

#[tokio::test]
async fn a_letter_that_means_another_run_ends_no_turn() {
    let world = World::default();
    let turns = vec![Turn::say("one"), Turn::say("I am").hang()];
    let mut story = Story::begin(world.clone(), world.agent(replies(turns))).await;
    assert_eq!(stop_line(&story.prompt("first").await), "decided other: answered");
    let (store, id) = (story.store.clone(), story.id());
    let old = opened(store.as_ref(), &id).await[0].id();
    let cancel = Cancel::new();
    let other = async {
        while world.requests.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        let close = CloseAs::Abandon { reason: "late".to_owned() };
        post(store.as_ref(), &id, &Order::CloseRun { run: old, close }, Timestamp(1)).await.unwrap();
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let ended = cancel.is_cancelled();
        cancel.cancel();
        ended
    };
    let (stop, ended) = tokio::join!(story.session.prompt("second", &cancel), other);
    assert_eq!((stop_line(&stop).as_str(), ended), ("cancelled", false));
    assert!(story.session.open_run().is_some());
}

/// A person closed the run while nobody wrote the session: what is said next is no part of it.
#[tokio::test]
async fn a_close_letter_that_nobody_has_read_comes_before_the_next_prompt() {
    for how in all_ways() {
        let retry = matches!(how, CloseAs::Retry { .. });
        let mut story = at_the_limit(&World::default()).await;
        let (store, id, run) = (story.store.clone(), story.id(), story.session.open_run().unwrap());
        post(store.as_ref(), &id, &Order::CloseRun { run, close: how }, Timestamp(1)).await.unwrap();
        assert_eq!(stop_line(&story.prompt("something else").await), "decided other: answered");
        let runs = opened(store.as_ref(), &id).await;
        let decided: Vec<_> = story.session.decisions().iter().map(|one| one.run()).collect();
        assert_eq!(decided, [run, runs[1].id()]);
        assert_eq!(runs.len(), 2);
        // What is to be tried again is a run already, and the words join that one.
        assert_eq!(runs[1].opening().goal == "something else", !retry);
        assert!(story.world.last_request().contains("something else"));
    }
}

/// Whoever decided on what waits and closed the run then has said both in this order.
#[tokio::test]
async fn what_was_posted_before_a_close_letter_is_taken_in_before_it() {
    for cancelled in [false, true] {
        let world = World::default();
        let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
        let agent = world.agent(replies(vec![edit, Turn::say("done")])).approval(Approval::Person);
        let mut story = Story::begin(world, agent).await;
        assert_eq!(stop_line(&story.prompt("write a").await), "waiting for p1");
        let (store, id, run) = (story.store.clone(), story.id(), story.session.open_run().unwrap());
        let discard = Order::Verdict {
            proposal: "p1".parse().unwrap(),
            said: Said::new(Answer::Discard, "no"),
            seen: None,
        };
        let close = CloseAs::Abandon { reason: "never mind".to_owned() };
        let words = Order::Prompt { text: "these words wait".to_owned() };
        let mut posted = Vec::new();
        for request in [words, Order::Cancel, discard, Order::CloseRun { run, close }] {
            posted.push(post(store.as_ref(), &id, &request, Timestamp(1)).await.unwrap());
        }
        if cancelled {
            let cancel = Cancel::new();
            cancel.cancel();
            let stop = story.session.resume(&cancel).await;
            assert_eq!(stop_line(&stop), "decided abandon: never mind");
        } else {
            story.prompt("new work").await.unwrap();
        }
        for letter in &posted[2..] {
            let settled = settled(store.as_ref(), &id, *letter).await.unwrap();
            assert!(matches!(settled, Settled::Done { .. }), "{settled:?}");
        }
        let first = story.session.decisions().iter().next().unwrap();
        assert_eq!((first.run(), first.verdict().to_string().as_str()), (run, "abandon: never mind"));
        let runs = opened(store.as_ref(), &id).await;
        assert_eq!(runs.get(1).map(|run| run.opening().goal.as_str()), (!cancelled).then_some("new work"));
    }
}

#[tokio::test]
async fn a_close_letter_that_is_refused_says_what_stood_in_its_way() {
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = world.agent(replies(vec![edit])).approval(Approval::Always).limits(limits);
    let folder = FakeFolder::plain();
    folder.fail(&[Act::Changes], usize::MAX, "the disk is gone");
    let mut story = Story::begin(world, agent.workspace(Arc::new(folder))).await;
    assert_eq!(stop_line(&story.prompt("write a").await), "at the limit of turns");
    let (id, run) = (story.id(), story.session.open_run().unwrap());
    let close = CloseAs::Checkpoint { words: "so far".to_owned() };
    let request = Order::CloseRun { run, close };
    let letter = post(story.store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
    story.session.read_letters().await.unwrap();
    let Settled::Refused { reason } = settled(story.store.as_ref(), &id, letter).await.unwrap() else {
        panic!("it took effect")
    };
    expect!["the workspace cannot be used: the disk is gone"].assert_eq(&reason);
}

#[tokio::test]
async fn what_was_done_and_is_not_wanted_is_an_alternative() {
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = world.agent(replies(vec![edit])).approval(Approval::Always).limits(limits);
    let agent = agent.workspace(Arc::new(FakeFolder::counting()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("write a").await.unwrap();
    let decision = story.session.close_run(CloseAs::Abandon { reason: "wrong".to_owned() }).await.unwrap();
    assert!(matches!(decision.verdict(), Verdict::Abandon { .. }));
    let considered = decision.considered();
    assert!(matches!(considered[0].alternative, Alternative::PatchSet(_)), "{considered:?}");
    assert_eq!(considered[0].reason.as_str(), "wrong");
}

/// A run is closed whole or not at all, however its writer dies; said again it is closed, or was.
#[tokio::test]
async fn a_close_survives_a_kill_at_its_write() {
    for death in [Death::Lost, Death::Kept, Death::Fenced, Death::Once] {
        for how in all_ways() {
            let story = at_the_limit(&World::default()).await;
            let Story { world: _world, store, agent, session, .. } = story;
            let id = session.id().clone();
            drop(session);
            let mortal = Arc::new(Mortal::new(store.clone(), usize::MAX, death));
            let mut session = agent.open(mortal.clone(), &id).await.unwrap();
            mortal.die();
            session.close_run(how.clone()).await.unwrap_err();
            drop(session);
            let mut session = agent.open(store.clone(), &id).await.unwrap();
            let decided = session.decisions().iter().count();
            let runs = opened(store.as_ref(), &id).await.len();
            let retry = usize::from(matches!(how, CloseAs::Retry { .. }));
            match decided {
                0 => assert_eq!((runs, session.open_run().is_some()), (1, true)),
                _ => assert_eq!((decided, runs, session.open_run().is_some()), (1, 1 + retry, retry == 1)),
            }
            assert_eq!(decided, usize::from(death == Death::Kept), "{death:?}");
            if decided == 0 {
                session.close_run(how).await.unwrap();
            }
            assert_eq!(session.decisions().iter().count(), 1);
        }
    }
}

/// What the store said of the write is not what counts: whatever is asked next finds what it has kept.
#[tokio::test]
async fn a_close_whose_write_failed_is_said_again_and_there_is_one_verdict() {
    for (death, how) in
        [Death::Once, Death::Unheard].into_iter().flat_map(|death| all_ways().map(|how| (death, how)))
    {
        let Story { world: _world, store, agent, session, .. } = at_the_limit(&World::default()).await;
        let (id, run) = (session.id().clone(), session.open_run().unwrap());
        drop(session);
        let mortal = Arc::new(Mortal::new(store.clone(), usize::MAX, death));
        let mut session = agent.open(mortal.clone(), &id).await.unwrap();
        mortal.die();
        session.close_run(how.clone()).await.unwrap_err();
        // Reading is enough to find out.
        session.read_letters().await.unwrap();
        let kept = session.open_run() != Some(run);
        assert_eq!(kept, death == Death::Unheard);
        if !kept {
            session.close_run(how.clone()).await.unwrap();
        }
        let decided: Vec<_> = session.decisions().iter().map(|one| one.run()).collect();
        assert_eq!(decided, [run]);
        let again = matches!(how, CloseAs::Retry { .. });
        assert_eq!(
            (session.open_run().is_some(), opened(store.as_ref(), &id).await.len()),
            (again, 1 + usize::from(again))
        );
    }
}

#[tokio::test]
async fn two_who_close_one_run_give_it_one_verdict() {
    let story = at_the_limit(&World::default()).await;
    let Story { store, agent, session, .. } = story;
    let id = session.id().clone();
    let mut first = session;
    let mut second = agent.take_over(store.clone(), &id).await.unwrap();
    let close = || CloseAs::Abandon { reason: "no".to_owned() };
    let (one, two) = tokio::join!(first.close_run(close()), second.close_run(close()));
    assert!(matches!(one, Err(RuntimeError::TakenOver { .. })), "{one:?}");
    assert!(two.is_ok());
    assert!(matches!(second.resume(&Cancel::new()).await, Ok(Stop::Idle)));
}

#[tokio::test]
async fn a_verdict_cites_what_it_rests_on() {
    let world = World::default();
    let turn = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" })).call(
        "c2",
        "shell",
        &json!({ "path": "check" }),
    );
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    let Ok(Stop::Decided(decision)) = story.prompt("write a").await else { panic!("no verdict") };
    let cited = decision.cites();
    let names = |names: &[trunkline_runtime::decision_objects::NonBlank]| -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    };
    // The prompt, the answer, and the message whose calls wrote and proved something.
    let head = story.session.tree().head().to_string();
    assert_eq!(names(&cited.nodes), ["n1".to_owned(), head, "n2".to_owned()]);
    assert_eq!(names(&cited.proposals), ["p1"]);
    let log = story.store.load(&story.id()).await.unwrap();
    let evidence = log.records.iter().find_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "evidence" => Some(note.body.clone()),
        _ => None,
    });
    let evidence: serde_json::Value = serde_json::from_str(&evidence.unwrap()).unwrap();
    assert_eq!(evidence["decision"], json!(decision.id().to_string()));
    assert_eq!((&evidence["output"], &evidence["exit_code"]), (&json!("5e".repeat(32)), &json!(0)));
}

/// It began where its files could be looked at, and now they cannot: nothing may look as if nothing had changed.
#[tokio::test]
async fn a_run_is_put_down_where_its_files_are_or_given_up_anywhere() {
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = || world.agent(replies(vec![edit.clone()])).approval(Approval::Always).limits(limits);
    let there = agent().workspace(Arc::new(FakeFolder::counting())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = there.start(store.clone(), "t", None).await.unwrap();
    session.prompt("write a", &Cancel::new()).await.unwrap();
    let id = session.id().clone();
    drop(session);
    let mut session = agent().build().unwrap().open(store, &id).await.unwrap();
    for how in all_ways() {
        let given_up = matches!(how, CloseAs::Abandon { .. });
        let closed = session.close_run(how).await;
        if !given_up && session.open_run().is_some() {
            assert!(matches!(closed, Err(RuntimeError::Workspace(_))), "{closed:?}");
        } else if given_up {
            let said = closed.unwrap().print();
            assert!(said.contains("not known: the session was opened without its folder"), "{said}");
        }
    }
    assert!(session.open_run().is_none());
}
