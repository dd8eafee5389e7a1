//! What is written beside the conversation counts against limits on tokens: summaries of branches that were left, and of spans.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use trunkline_runtime::message_tree::{Entry, NodeId, Usage};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::revert::CompactPolicy;
use trunkline_runtime::session_store::{Log, MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{
    Agent, AgentBuilder, Bounds, Cancel, Compaction, Event, LeftBranch, Limits, NewTask, Order, Reverts,
    RuntimeError, Summarizer, SummaryError, View, family_of,
};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

/// Says what a branch came to, or fails, and counts a hundred thousand tokens either way.
#[derive(Clone, Default)]
struct Costly {
    fails: bool,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl Summarizer for Costly {
    async fn summarize(&self, branch: LeftBranch) -> Result<String, SummaryError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        branch.meter.count(&Usage { input_tokens: 90_000, output_tokens: 10_000, ..Usage::default() });
        match self.fails {
            true => Err(SummaryError::Other { reason: "no model".to_owned() }),
            false => Ok("a was read for nothing".to_owned()),
        }
    }
}

impl Costly {
    fn count(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A branch that is left without a word, and an answer on the way back.
fn leaves_a_branch() -> Vec<Turn> {
    let read = |id: &str| Turn::new().call(id, "read", &json!({ "path": "a" }));
    let left = json!({ "category": "failure", "step": "n3", "summary": "" });
    let back = Turn::new().call("c3", "revert_to_state", &left);
    vec![read("c1"), read("c2"), back, Turn::say("b then")]
}

fn agent(world: &World, turns: Vec<Turn>, summarizer: Costly) -> AgentBuilder {
    world.files.lock().unwrap().insert("a".to_owned(), "a file".to_owned());
    let told = Arc::clone(&world.told);
    let agent = world.agent(replies(turns)).with_reverts(Reverts::default()).summarizer(summarizer);
    agent.on_event(move |event| {
        if let Event::SummaryFailed { head_move, reason } = event {
            told.lock().unwrap().push(format!("{head_move}: {reason}"));
        }
    })
}

fn limits(tokens: u64) -> Limits {
    let mut limits = Limits::default();
    limits.tokens = tokens;
    limits
}

fn task(tokens: u64) -> NewTask {
    let mut task = NewTask::new("write a");
    task.bounds.tokens = Some(tokens);
    task
}

fn spent_notes(log: &Log) -> Vec<&str> {
    let notes = log.records.iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "task_spent" => Some(note.body.as_str()),
        _ => None,
    });
    notes.collect()
}

/// What all messages of the log have cost, which are all of one task.
fn said(log: &Log) -> u64 {
    let usages = log.records.iter().filter_map(|(_, record)| match record {
        Record::Entry(Entry::Node { message, .. }) => message.usage,
        _ => None,
    });
    usages.map(|usage| usage.input_tokens + usage.output_tokens).sum()
}

#[tokio::test]
async fn a_summary_counts_against_the_tokens_of_its_drive_and_is_no_turn() {
    let world = World::default();
    let mut turns = leaves_a_branch();
    let reads = (4..12).map(|call| Turn::new().call(format!("c{call}"), "read", &json!({ "path": "a" })));
    turns.splice(3..3, reads);
    let mut limits = limits(50_000);
    limits.turns = 12;
    let summarizer = Costly::default();
    let agent = agent(&world, turns, summarizer.clone()).limits(limits);
    let mut story = Story::begin(world, agent).await;
    // The answers have a few tokens each; the summary comes while some of them are waited for.
    assert_eq!(stop_line(&story.prompt("do it").await), "at the limit of tokens");
    assert_eq!(summarizer.count(), 1);
    let log = story.store.load(&story.id()).await.unwrap();
    assert!(said(&log) < 50_000, "{} were said", said(&log));
    assert_eq!(spent_notes(&log), Vec::<&str>::new(), "without a task no record is needed");
    // The next drive has its own.
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
}

#[tokio::test]
async fn a_summary_is_not_asked_for_where_the_limit_is_reached_and_that_is_told() {
    for bound_of_task in [false, true] {
        let world = World::default();
        let told = Arc::clone(&world.told);
        let summarizer = Costly::default();
        let mut agent = agent(&world, leaves_a_branch(), summarizer.clone());
        if !bound_of_task {
            agent = agent.limits(limits(1));
        }
        let mut story = Story::begin(world, agent).await;
        if bound_of_task {
            story.session.order(Order::GiveTask { task: task(1) }).await.unwrap();
        }
        story.prompt("do it").await.unwrap();
        story.session.revert(NodeId::new(1), None).await.unwrap();
        story.session.finish_summaries().await.unwrap();
        let why = match bound_of_task {
            true => "m0: it is not asked for, since the task has had its 1 tokens",
            false => "m0: it is not asked for, since the limit of 1 tokens is reached",
        };
        assert_eq!(*told.lock().unwrap(), [why]);
        assert_eq!((summarizer.count(), story.session.notes().len()), (0, 1));
        assert_eq!(story.session.notes()[0].text(), "called read");
        // A later process that may spend more asks for it.
        if bound_of_task {
            let mut bounds = Bounds::default();
            bounds.tokens = Some(500_000);
            let mut story = story.restart().await;
            story.resume().await.unwrap();
            assert_eq!(summarizer.count(), 0, "the bound stands in the log");
            story.session.order(Order::BoundTask { bounds }).await.unwrap();
            story.resume().await.unwrap();
            story.session.finish_summaries().await.unwrap();
            assert_eq!(summarizer.count(), 1);
        }
    }
}

#[tokio::test]
async fn a_summary_is_spent_on_the_task_however_it_ends() {
    for fails in [false, true] {
        let world = World::default();
        let agent = agent(&world, leaves_a_branch(), Costly { fails, ..Costly::default() });
        let mut story = Story::begin(world, agent).await;
        story.session.order(Order::GiveTask { task: task(500_000) }).await.unwrap();
        story.prompt("do it").await.unwrap();
        story.session.finish_summaries().await.unwrap();
        let log = story.store.load(&story.id()).await.unwrap();
        let view = View::of(&log).unwrap();
        let task = view.task().unwrap();
        assert_eq!((task.tokens, task.turns), (said(&log) + 100_000, 4));
        assert_eq!(spent_notes(&log).len(), 1);
        assert!(family_of(&log).violations().is_empty());
    }
}

/// Gives the task, goes through it and waits for summaries, as far as that was not done before.
async fn go_through(
    agent: &Agent,
    store: &Arc<dyn SessionStore>,
    id: &SessionId,
) -> Result<(), RuntimeError> {
    let mut session = agent.open(Arc::clone(store), id).await?;
    if View::of(&store.load(id).await?)?.task().is_none() {
        session.order(Order::GiveTask { task: task(500_000) }).await?;
    }
    match session.tree().len() {
        1 => session.prompt("do it", &Cancel::new()).await?,
        _ => session.resume(&Cancel::new()).await?,
    };
    session.finish_summaries().await
}

#[tokio::test]
async fn what_a_summary_has_cost_is_counted_once_with_a_kill_at_every_write() {
    for death in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut writes = 0;
        loop {
            let (world, costly) = (World::default(), Costly::default());
            let turns = leaves_a_branch();
            let script = move |request: &Request| {
                let lesson = request.messages.iter().any(|one| one.text().contains("[revert-lesson]"));
                let results = request.messages.iter().filter(|one| one.results().next().is_some()).count();
                turns[if lesson { 3 } else { results.min(2) }].clone()
            };
            let agent = world.agent(script).with_reverts(Reverts::default()).summarizer(costly.clone());
            let agent = agent.build().unwrap();
            let store = Arc::new(MemoryStore::new());
            let id = agent.start(store.clone(), "t", None).await.unwrap().id().clone();
            let mortal: Arc<dyn SessionStore> = Arc::new(Mortal::new(store.clone(), writes, death));
            let killed = go_through(&agent, &mortal, &id).await.is_err();
            let inner: Arc<dyn SessionStore> = store.clone();
            if killed {
                go_through(&agent, &inner, &id).await.unwrap();
            }
            let log = inner.load(&id).await.unwrap();
            let view = View::of(&log).unwrap();
            let came = view.notes().iter().filter(|note| note.text().contains("for nothing")).count();
            let counted = spent_notes(&log).len();
            // A summary and what it has cost are one batch: both are there, or neither.
            assert_eq!(counted, came, "{death:?} {writes}");
            assert_eq!(counted, 1, "{death:?} {writes}");
            assert_eq!(view.task().unwrap().tokens, said(&log) + 100_000, "{death:?} {writes}");
            if !killed {
                break;
            }
            writes += 1;
        }
        assert!(writes > 10, "{writes} writes were tried");
    }
}

#[tokio::test]
async fn a_summary_of_a_span_that_is_put_nowhere_is_spent_on_the_task_too() {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "word ".repeat(2_000));
    let is_summary = |request: &Request| request.tools.is_empty();
    let calls = Arc::new(AtomicUsize::new(0));
    let agent = world.agent(move |request| {
        if is_summary(request) {
            return Turn::say(" ");
        }
        match calls.fetch_add(1, Ordering::SeqCst) {
            turn if turn < 8 => Turn::new().call(format!("c{turn}"), "read", &json!({ "path": "a" })),
            _ => Turn::say("done"),
        }
    });
    let agent = agent.with_compaction(Compaction::new(CompactPolicy::new(12_000).keep(20, 1)));
    let mut story = Story::begin(world.clone(), agent).await;
    story.session.order(Order::GiveTask { task: task(1_000_000) }).await.unwrap();
    story.prompt("do it").await.unwrap();
    let log = story.store.load(&story.id()).await.unwrap();
    let spent: u64 = spent_notes(&log)
        .iter()
        .map(|body| {
            let note: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(note["on"], "compaction");
            note["usage"]["input_tokens"].as_u64().unwrap() + note["usage"]["output_tokens"].as_u64().unwrap()
        })
        .sum();
    assert!(spent > 0, "no summary was asked for");
    assert_eq!(View::of(&log).unwrap().task().unwrap().tokens, said(&log) + spent);
}
