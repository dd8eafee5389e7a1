//! Intents and tasks in sessions that are killed, left letters and taken up again.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::decision_objects::{IntentEventKind, NonBlank, Object, ObjectKind, TaskState};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{Log, MemoryStore, Record, SessionId, SessionStore, Snapshot};
use trunkline_runtime::{
    Agent, Approval, Bounds, Cancel, CloseAs, Done, EndTask, Limits, NewTask, RuntimeError, Session,
    candidates, family_of, selections,
};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

const KINDS: [&str; 5] = ["intent", "task", "task_bounds", "task_ended", "selection"];

fn notes_of<'l>(log: &'l Log, kinds: &'l [&str]) -> impl Iterator<Item = &'l str> {
    log.records.iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.layer == "decision" && kinds.contains(&note.kind.as_str()) => {
            Some(note.kind.as_str())
        }
        _ => None,
    })
}

fn count(log: &Log, kind: ObjectKind) -> usize {
    family_of(log).iter().filter(|object| object.kind() == kind).count()
}

#[tokio::test]
async fn nothing_is_recorded_of_what_a_session_is_for_unless_that_is_asked_for() {
    let world = World::default();
    let mut story = Story::begin(world.clone(), world.agent(replies(vec![Turn::say("yes")]))).await;
    story.prompt("can you?").await.unwrap();
    let log = story.store.load(&story.id()).await.unwrap();
    assert_eq!(notes_of(&log, &KINDS).count(), 0);
    let family = family_of(&log);
    let runs = family.iter().filter_map(|object| match object {
        Object::Run(run) => Some(run.opening()),
        _ => None,
    });
    assert!(runs.into_iter().all(|opening| opening.intent.is_none() && opening.task.is_none()));
}

/// What a person does with a task, as far as it was not done before.
async fn go_through(
    agent: &Agent,
    store: &Arc<dyn SessionStore>,
    id: &SessionId,
) -> Result<(), RuntimeError> {
    let mut session: Session = agent.open(Arc::clone(store), id).await?;
    let log = store.load(id).await?;
    if count(&log, ObjectKind::Task) == 0 {
        let mut task = NewTask::new("write a");
        task.acceptance_criteria.push("a is there".to_owned());
        let given = session.order(Order::GiveTask { task }).await?;
        assert!(matches!(given, Done::TaskGiven(_)), "{given:?}");
    }
    let prompted = session.tree().len() > 1;
    match prompted {
        true => drop(session.resume(&Cancel::new()).await?),
        false => drop(session.prompt("write a, please", &Cancel::new()).await?),
    }
    let ended = family_of(&store.load(id).await?).iter().any(|object| match object {
        Object::TaskEvent(event) => event.content().state == TaskState::Done,
        _ => false,
    });
    if !ended {
        session.order(Order::EndTask { end: EndTask::Done { reason: "it is there".to_owned() } }).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_task_survives_a_kill_at_every_write() {
    for death in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut writes = 0;
        loop {
            let world = World::default();
            let turn = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
            let agent = world.agent(move |request| {
                match request.messages.iter().any(|one| one.results().next().is_some()) {
                    true => Turn::say("I wrote a."),
                    false => turn.clone(),
                }
            });
            let agent = agent.approval(Approval::Always).keeps_intents(true).build().unwrap();
            let store = Arc::new(MemoryStore::new());
            let id = agent.start(store.clone(), "t", None).await.unwrap().id().clone();
            let mortal: Arc<dyn SessionStore> = Arc::new(Mortal::new(store.clone(), writes, death));
            let killed = go_through(&agent, &mortal, &id).await.is_err();
            let inner: Arc<dyn SessionStore> = store.clone();
            if killed {
                go_through(&agent, &inner, &id).await.unwrap();
            }
            let log = inner.load(&id).await.unwrap();
            let family = family_of(&log);
            let violations: Vec<String> = family.violations().iter().map(ToString::to_string).collect();
            assert!(violations.is_empty(), "{death:?} {writes}: {violations:#?}");
            let counts: Vec<&str> = notes_of(&log, &KINDS).collect();
            assert_eq!(counts, ["intent", "task", "task_ended"], "{death:?} {writes}");
            let ends: Vec<&IntentEventKind> = family
                .iter()
                .filter_map(|object| match object {
                    Object::IntentEvent(event) => Some(&event.content().kind),
                    _ => None,
                })
                .collect();
            assert_eq!(ends, [&IntentEventKind::Completed { result_commit: None }]);
            for object in family.iter() {
                if let Object::Run(run) = object {
                    assert!(run.opening().task.is_some() && run.opening().intent.is_some());
                }
            }
            if !killed {
                break;
            }
            writes += 1;
        }
        assert!(writes > 10, "{writes} writes were tried");
    }
}

#[tokio::test]
async fn what_is_said_of_a_task_can_be_left_for_whoever_writes_the_session() {
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("I did it.")])).keeps_intents(true);
    let mut story = Story::begin(world, agent).await;
    let (store, id) = (story.store.clone(), story.id());
    let leave = async |order: Order| post(store.as_ref(), &id, &order, Timestamp(1)).await.unwrap();
    let given = leave(Order::GiveTask { task: NewTask::new("write a") }).await;
    let bounds = leave(Order::BoundTask {
        bounds: {
            let mut bounds = Bounds::default();
            bounds.retries = Some(1);
            bounds
        },
    })
    .await;
    let second = leave(Order::GiveTask { task: NewTask::new("write b") }).await;
    let done = leave(Order::EndTask { end: EndTask::Done { reason: String::new() } }).await;
    story.session.read_letters().await.unwrap();
    let settled = async |letter| match settled(store.as_ref(), &id, letter).await.unwrap() {
        Settled::Done { .. } => "done".to_owned(),
        Settled::Refused { reason } => reason,
        _ => "otherwise".to_owned(),
    };
    assert_eq!(settled(given).await, "done");
    assert_eq!(settled(bounds).await, "done");
    assert!(settled(second).await.contains("has a task already"));
    assert!(settled(done).await.contains("no run has worked on this task yet"));
    assert_eq!(stop_line(&story.prompt("go").await), "decided other: answered");
    let later = leave(Order::EndTask { end: EndTask::Done { reason: "seen".to_owned() } }).await;
    story.session.read_letters().await.unwrap();
    assert_eq!(settled(later).await, "done");
    assert!(family_of(&store.load(&id).await.unwrap()).violations().is_empty());
}

#[tokio::test]
async fn a_bound_on_retries_holds_for_the_next_process_too() {
    let world = World::default();
    let mut limits = Limits::default();
    limits.turns = 0;
    let agent = world.agent(replies(vec![])).keeps_intents(true).limits(limits);
    let mut story = Story::begin(world, agent).await;
    let mut task = NewTask::new("write a");
    task.bounds.retries = Some(1);
    story.session.order(Order::GiveTask { task }).await.unwrap();
    assert_eq!(stop_line(&story.prompt("go").await), "at the limit of turns");
    let retry = || CloseAs::Retry { reason: "otherwise".to_owned() };
    let mut story = story.restart().await;
    story.session.close_run(retry()).await.unwrap();
    let mut story = story.restart().await;
    let fault = story.session.close_run(retry()).await.unwrap_err().to_string();
    assert!(fault.contains("used all of its retries (1)"), "{fault}");
    let mut more = Bounds::default();
    more.retries = Some(2);
    story.session.order(Order::BoundTask { bounds: more }).await.unwrap();
    story.session.close_run(retry()).await.unwrap();
    assert!(family_of(&story.store.load(&story.id()).await.unwrap()).violations().is_empty());
}

#[tokio::test]
async fn a_session_that_is_taken_up_from_a_snapshot_is_for_the_same() {
    let world = World::default();
    let turns = (0..9).map(|turn| Turn::say(format!("answer {turn}"))).collect();
    let agent = world.agent(replies(turns)).keeps_intents(true).snapshot_after(0);
    let mut story = Story::begin(world, agent).await;
    for turn in 0..6 {
        story.prompt(&format!("prompt {turn}")).await.unwrap();
    }
    story.session.go(NodeId::new(1)).await.unwrap();
    let mut story = story.restart().await.restart().await;
    assert!(!story.session.is_whole(), "it is taken up from a snapshot");
    story.prompt("and another way").await.unwrap();
    let log = story.store.load(&story.id()).await.unwrap();
    assert_eq!(count(&log, ObjectKind::Intent), 1);
    assert!(family_of(&log).violations().is_empty());
}

#[tokio::test]
async fn a_session_with_a_task_is_taken_up_from_a_snapshot_and_knows_what_was_spent() {
    let world = World::default();
    let turns = (0..9).map(|turn| Turn::say(format!("answer {turn}"))).collect();
    let agent = world.agent(replies(turns)).keeps_intents(true).snapshot_after(0);
    let mut story = Story::begin(world, agent).await;
    let mut task = NewTask::new("write a");
    task.bounds.turns = Some(7);
    story.session.order(Order::GiveTask { task }).await.unwrap();
    for turn in 0..6 {
        story.prompt(&format!("prompt {turn}")).await.unwrap();
    }
    story.session.go(NodeId::new(1)).await.unwrap();
    let mut story = story.restart().await.restart().await;
    assert!(!story.session.is_whole(), "it is taken up from a snapshot");
    assert_eq!(stop_line(&story.prompt("another way").await), "decided other: answered");
    assert_eq!(stop_line(&story.prompt("and on").await), "at the limit of turns of the task");

    // One of an older form is passed over, and so is one that says nothing of the task.
    let (store, id) = (story.store.clone(), story.id());
    let kept = store.snapshot(&id).await.unwrap().expect("one was kept");
    let tally = kept.bytes.iter().rposition(|byte| *byte == 0).expect("it ends with a tally");
    for (form, bytes) in [(2, kept.bytes.clone()), (3, kept.bytes[..tally].to_vec())] {
        let Story { agent, session, .. } = story;
        drop(session);
        let lease = store.lease(&id).await.unwrap();
        store.keep_snapshot(&lease, Snapshot::new(kept.seq, kept.digest, form, bytes)).await.unwrap();
        drop(lease);
        let session = agent.open(store.clone(), &id).await.unwrap();
        assert!(session.is_whole(), "form {form}");
        story = Story { agent, session, ..story };
        assert_eq!(stop_line(&story.resume().await), "at the limit of turns of the task");
    }
}

#[tokio::test]
async fn a_choice_among_candidates_is_kept_and_a_later_one_takes_its_place() {
    let world = World::default();
    let edits = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "one" })).call(
        "c2",
        "edit",
        &json!({ "path": "a", "text": "two" }),
    );
    let agent = world.agent(replies(vec![edits, Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("write a").await.unwrap();
    let (store, id) = (story.store.clone(), story.id());
    let log = store.load(&id).await.unwrap();
    let Some(first) = candidates(&log).into_iter().next() else { panic!("there is a candidate") };
    for reason in ["shorter", "safer"] {
        let (run, patch_set) = (first.patch_set.run(), first.patch_set.id());
        story.session.order(Order::Select { run, patch_set, reason: reason.to_owned() }).await.unwrap();
    }
    let log = store.load(&id).await.unwrap();
    let chosen = selections(&log);
    assert_eq!(chosen.len(), 1);
    assert_eq!(
        (chosen[0].patch_set.as_str(), chosen[0].reason.as_str()),
        (first.patch_set.id().to_string().as_str(), "safer")
    );
    assert_eq!(candidates(&log)[0], first, "a choice changes no candidate");
    let family = family_of(&log);
    assert_eq!((count(&log, ObjectKind::Selection), family.violations()), (2, vec![]));
    let selections = family.iter().filter_map(|object| match object {
        Object::Selection(selection) => selection.content().reason.as_ref().map(NonBlank::as_str),
        _ => None,
    });
    assert_eq!(selections.collect::<Vec<_>>(), ["shorter", "safer"]);
}
