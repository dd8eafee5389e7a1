//! What a verdict says of its run is whole: also where it was left by a move, where clocks go back, and of what was paid,
//! said and not wanted in it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::decision_objects::{Alternative, Decision};
use trunkline_runtime::message_tree::{Timestamp, Usage};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::Verdict;
use trunkline_runtime::{
    AgentBuilder, Approval, CloseAs, Compaction, CompactionSummary, Compactor, Limits, decided_runs, family,
};

use crate::fake_folder::{FakeFolder, Files, files};
use crate::story::{Story, World, replies, stop_line};

fn edit(call: &str, path: &str) -> Turn {
    Turn::new().call(call, "edit", &json!({ "path": path, "text": "new" }))
}

/// Drives end after one turn, so that runs stay open.
fn by_turns(world: &World, turns: Vec<Turn>) -> AgentBuilder {
    let mut limits = Limits::default();
    limits.turns = 1;
    world.agent(replies(turns)).limits(limits)
}

fn last(story: &Story) -> Decision {
    story.session.decisions().iter().last().unwrap().clone()
}

/// Returns what was considered in a decision, with why not.
fn considered(decision: &Decision) -> Vec<(String, String)> {
    let named = decision.considered().iter().filter_map(|one| match &one.alternative {
        Alternative::Named(name) => Some((name.as_str().to_owned(), one.reason.as_str().to_owned())),
        _ => None,
    });
    named.collect()
}

#[tokio::test]
async fn a_run_that_was_left_by_a_move_says_what_it_did() {
    let world = World::default();
    let folder = FakeFolder::of(&world.files).restores();
    let shell = Turn::new().call("c2", "shell", &json!({ "path": "make" }));
    let agent = by_turns(&world, vec![Turn::say("one"), edit("c1", "a"), shell]).approval(Approval::Always);
    let mut story = Story::begin(world, agent.workspace(Arc::new(folder.clone()))).await;
    story.prompt("first").await.unwrap();
    let before = story.session.tree().head();
    story.prompt("write a").await.unwrap();
    story.resume().await.unwrap();
    let run = story.session.open_run().unwrap();
    let left = story.session.tree().head();
    story.session.go(before).await.unwrap();

    let decision = story.session.decisions().of_run(run).unwrap().clone();
    expect!["abandon: a person left the prompt that it started from"]
        .assert_eq(&decision.verdict().to_string());
    let proposals: Vec<&str> = decision.cites().proposals.iter().map(|id| id.as_str()).collect();
    assert_eq!(proposals, ["p1"]);
    let cited: Vec<&str> = decision.cites().files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(cited, ["a"]);
    assert_eq!((decision.evidence().len(), decision.has_changes()), (1, true));
    let log = story.store().load(&story.id()).await.unwrap();
    assert!(family(&log).violations().is_empty());
    let decided = decided_runs(&log);
    let told = decided.of_decision(decision.id()).unwrap();
    assert_eq!(told.verdict.as_ref().unwrap().newest, left, "it ended where it was left");

    assert_eq!(folder.now(), files(&[("a", "new")]));
    story.session.rollback(decision.id(), None).await.unwrap();
    assert_eq!(folder.now(), Files::new());
}

#[tokio::test]
async fn a_run_that_was_left_without_its_folder_says_that_it_does_not_know() {
    let world = World::default();
    let mut story =
        Story::begin(world.clone(), by_turns(&world, vec![edit("c1", "a")]).approval(Approval::Always)).await;
    story.prompt("write a").await.unwrap();
    story.session.go(trunkline_runtime::message_tree::NodeId::ROOT).await.unwrap();
    let decision = last(&story);
    expect!["what the run has changed is not known: the session was opened without its folder"]
        .assert_eq(decision.rationale().unwrap().as_str());
    assert_eq!(decision.cites().proposals.len(), 1);
    let fault = story.session.rollback(decision.id(), None).await.unwrap_err();
    assert!(fault.to_string().contains("no change of its run is recorded"), "{fault}");
}

#[tokio::test]
async fn nothing_is_older_than_its_run_where_the_clock_goes_back() {
    const DAY: u64 = 86_400_000;
    let ways = [
        CloseAs::Checkpoint { words: "half".to_owned() },
        CloseAs::Abandon { reason: "no".to_owned() },
        CloseAs::Retry { reason: "again".to_owned() },
    ];
    for how in ways.into_iter().map(Some).chain([None]) {
        let world = World::default();
        let clock = Arc::new(AtomicU64::new(100 * DAY));
        let now = Arc::clone(&clock);
        let shell = Turn::new().call("c1", "shell", &json!({ "path": "make" }));
        let agent = by_turns(&world, vec![shell.clone(), shell, Turn::say("done"), Turn::say("done")])
            .approval(Approval::Always)
            .clock(move || Timestamp(now.fetch_add(1, Ordering::SeqCst)));
        let mut story = Story::begin(world, agent).await;
        story.prompt("make it").await.unwrap();
        clock.store(99 * DAY, Ordering::SeqCst);
        story.resume().await.unwrap();
        if let Some(how) = how {
            story.session.close_run(how).await.unwrap();
        }
        story.resume().await.unwrap();
        let log = story.store().load(&story.id()).await.unwrap();
        let violations = family(&log).violations();
        assert!(violations.is_empty(), "{violations:?}");
        assert!(story.session.decisions().iter().count() > 0);
    }
}

#[tokio::test]
async fn nothing_is_taken_back_before_it_was_done_where_the_clock_goes_back() {
    const DAY: u64 = 86_400_000;
    let world = World::default();
    let folder = FakeFolder::of(&world.files).restores();
    let clock = Arc::new(AtomicU64::new(100 * DAY));
    let now = Arc::clone(&clock);
    let agent = world
        .agent(replies(vec![edit("c1", "a"), Turn::say("done")]))
        .approval(Approval::Always)
        .workspace(Arc::new(folder.clone()))
        .clock(move || Timestamp(now.fetch_add(1, Ordering::SeqCst)));
    let mut story = Story::begin(world, agent).await;
    story.prompt("write a").await.unwrap();
    clock.store(99 * DAY, Ordering::SeqCst);
    let done = last(&story);
    let back = story.session.rollback(done.id(), None).await.unwrap();
    assert!(back.at() >= done.at(), "{} < {}", back.at(), done.at());
    let log = story.store().load(&story.id()).await.unwrap();
    let violations = family(&log).violations();
    assert!(violations.is_empty(), "{violations:?}");
}

#[tokio::test]
async fn what_a_summary_of_older_messages_cost_is_in_the_bill() {
    struct Counted;
    #[async_trait::async_trait]
    impl Compactor for Counted {
        async fn summarize(
            &self,
            _: Vec<trunkline_runtime::message_tree::Message>,
        ) -> Result<CompactionSummary, String> {
            let mut usage = Usage::default();
            (usage.input_tokens, usage.output_tokens) = (7_000, 700);
            let mut summary = CompactionSummary::new("all is well");
            summary.usage = Some(usage);
            Ok(summary)
        }
    }
    let mut bills = Vec::new();
    for compacts in [false, true] {
        let world = World::default();
        world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(80));
        let mut turns: Vec<Turn> = (0..6)
            .map(|number| Turn::new().call(format!("c{number}"), "read", &json!({ "path": "a" })))
            .collect();
        turns.push(Turn::say("done"));
        let agent = world.agent(replies(turns));
        let compaction = Compaction::new(crate::compaction::policy()).by(Arc::new(Counted));
        let agent = if compacts { agent.with_compaction(compaction) } else { agent };
        let mut story = Story::begin(world, agent).await;
        story.prompt("read it").await.unwrap();
        let compacted = story
            .session
            .tree()
            .nodes()
            .filter(|(_, node)| node.message().usage.is_some_and(|usage| usage.input_tokens == 7_000));
        let compacted = u64::try_from(compacted.count()).unwrap();
        assert_eq!(compacted > 0, compacts);
        bills.push((compacted, last(&story).cites().cost));
    }
    let output = |bill: &Option<trunkline_runtime::decision_objects::Cost>| {
        bill.as_ref().map_or(0, |bill| bill.output_tokens)
    };
    let ((_, without), (compacted, with)) = (&bills[0], &bills[1]);
    assert_eq!(output(with), output(without) + 700 * compacted);
}

#[tokio::test]
async fn what_a_person_did_not_want_is_told_with_their_reason() {
    let world = World::default();
    let both = edit("c1", "a").call("c2", "edit", &json!({ "path": "b", "text": "new" }));
    let agent = world.agent(replies(vec![both, Turn::say("done"), Turn::say("well")]));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("write").await), "waiting for p1, p2");
    let waiting: Vec<_> = story.session.proposals().pending().map(|entry| entry.id).collect();
    story.session.decide(waiting[0], Verdict::Discard, "use B instead").await.unwrap();
    story.session.decide(waiting[1], Verdict::Discard, "").await.unwrap();
    story.resume().await.unwrap();
    let told = |name: &str, why: &str| (name.to_owned(), why.to_owned());
    assert_eq!(
        considered(&last(&story)),
        [told("p1 (edit a)", "use B instead"), told("p2 (edit b)", "a person discarded it")]
    );
    story.prompt("and now").await.unwrap();
    assert_eq!(considered(&last(&story)), [], "each run has its own");
}

#[tokio::test]
async fn all_that_a_person_has_said_in_a_run_is_cited() {
    let world = World::default();
    let read = Turn::new().call("c1", "read", &json!({ "path": "a" }));
    let agent = by_turns(&world, vec![read, Turn::say("done")]);
    let mut story = Story::begin(world, agent).await;
    story.prompt("read a").await.unwrap();
    story.prompt("and mind b").await.unwrap();
    let decision = last(&story);
    let said: BTreeSet<String> = story
        .session
        .tree()
        .nodes()
        .filter(|(_, node)| ["read a", "and mind b"].contains(&node.message().text().as_str()))
        .map(|(id, _)| id.to_string())
        .collect();
    let cited: BTreeSet<String> =
        decision.cites().nodes.iter().map(|node| node.as_str().to_owned()).collect();
    assert!(said.len() == 2 && cited.is_superset(&said), "{cited:?}");
}

#[tokio::test]
async fn a_run_ends_where_the_head_is_and_not_at_what_came_last() {
    for how in [
        CloseAs::Retry { reason: "otherwise".to_owned() },
        CloseAs::Checkpoint { words: "half".to_owned() },
        CloseAs::Abandon { reason: "no".to_owned() },
    ] {
        let world = World::default();
        let read = |call: &str| Turn::new().call(call, "read", &json!({ "path": "a" }));
        let mut story = Story::begin(world.clone(), by_turns(&world, vec![read("c1"), read("c2")])).await;
        story.prompt("read a").await.unwrap();
        let wanted = story.session.tree().head();
        story.resume().await.unwrap();
        story.session.revert(wanted, None).await.unwrap();
        let head = story.session.tree().head();
        let decision = story.session.close_run(how.clone()).await.unwrap();
        let decided = decided_runs(&story.store().load(&story.id()).await.unwrap());
        let run = decided.of_decision(decision.id()).unwrap();
        assert_eq!(run.verdict.as_ref().unwrap().newest, head, "{how:?}");
    }
}
